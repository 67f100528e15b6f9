// Flips one bit of one result of a class of instructions, in one lane. What does the application make of it?
#include "fault.h"
#include "fault_inject_hooks.h"

#include <luthier/result_type.h>

#include <cstdio>
#include <random>

namespace {

using namespace fault_inject;

class FaultInject : public luthier::Tool {
public:
  void start() override {
    report().columns(
        {"kernel", "launch", "address", "instruction", "source", "group", "thread", "bit", "before", "after"});
    std::mt19937_64 random(seed_); // the same numbers everywhere
    lane_ = static_cast<uint32_t>(random());
    bit_ = static_cast<uint32_t>(random() % 32);
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (const luthier::RegRange result = resultOf(instr); !result.empty())
          at.after(instr)
              .call(hooks::flip, luthier::arg::reg(result.first), static_cast<uint32_t>(instr.address()), n_, lane_,
                    bit_)
              .into(result);
  }

  void finished(const luthier::Launch &launch) override {
    if (std::vector<uint32_t> words = launch.read(hooks::fault); words[Done])
      done_.push_back({launch.kernel().id(), launch.number(), std::move(words)});
  }

  void exit() override {
    uint64_t all = 0;
    for (const auto &site : read(hooks::computed)) {
      all += site.value;
      for (const Fault &each : done_)
        if (each.kernel == site.kernel && each.words[Address] == static_cast<uint32_t>(site.address()))
          report().row(site.kernel, each.launch, site.addressText(), site.text(), site.sourceText(), each.triple(Group),
                       each.triple(Thread), bit_, each.hexadecimal(Before), each.hexadecimal(After));
    }
    if (done_.empty())
      warn("nothing was changed; waves have computed " + std::to_string(all) + " results of this class");
  }

private:
  struct Fault {
    luthier::KernelId kernel;
    uint64_t launch;
    std::vector<uint32_t> words;

    std::string triple(unsigned n) const {
      return std::to_string(words[n]) + "," + std::to_string(words[n + 1]) + "," + std::to_string(words[n + 2]);
    }
    std::string hexadecimal(unsigned n) const {
      char text[16];
      std::snprintf(text, sizeof text, "0x%08x", words[n]);
      return text;
    }
  };

  /// The register of an instruction of the class that is changed: the first that it writes; none of other instructions.
  luthier::RegRange resultOf(const luthier::Instr &instr) const {
    const auto access = instr.memory();
    const bool load = access && access->load && !access->toLds;
    const luthier::ResultType::Kind kind = luthier::resultTypeOf(instr).kind;
    const bool isFloat = kind == luthier::ResultType::Float || kind == luthier::ResultType::BFloat;
    if (class_ == "load" ? !load
                         : access || !instr.is(luthier::Property::Vector) || instr.is(luthier::Property::Matrix) ||
                               isFloat != (class_ == "float"))
      return {};
    for (const luthier::Operand &operand : instr.operands())
      if (operand.kind == luthier::OperandKind::Register && operand.written && luthier::isVector(operand.regs.first))
        return {operand.regs.first, 1};
    return {};
  }

  std::string class_ = choice("class", {"float", "integer", "load"},
                              "whose results: vector instructions that compute "
                              "floating-point or other numbers, or loads");
  uint64_t n_ = number("n", 0, "which result, counted from 1 over all waves and launches; 0: none, only count");
  uint64_t seed_ = number("seed", 1, "decides which lane and bit");
  uint32_t lane_ = 0, bit_ = 0;
  std::vector<Fault> done_;
};

} // namespace

LUTHIER_TOOL(FaultInject)
