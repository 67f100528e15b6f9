// What values instructions produce: constant, the same in all lanes, growing from lane to lane.
#include "counters.h"
#include "value_profile_hooks.h"

#include <cstdio>
#include <map>

struct ValueProfile : luthier::Tool {
  std::string of = choice("of", {"loads", "all"}, "results of loads from memory, or of all vector instructions");

  void start() override {
    report().columns({"kernel", "address", "instruction", "source", "executed", "lanes", "constant", "value", "uniform",
                      "strided", "zero"});
  }

  static std::string hexadecimal(uint64_t first) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%x", static_cast<unsigned>(first));
    return text;
  }

  /// One that writes one vector register. What reads it again, in part or in other lanes, does not matter.
  bool isWanted(const luthier::Instr &instr) const {
    const auto access = instr.memory();
    const bool load = access && access->load && !access->toLds;
    if (!load && (of == "loads" || !instr.is(luthier::Property::Vector) || instr.is(luthier::Property::Matrix)))
      return false;
    const luthier::RegRange *result = nullptr;
    for (const luthier::Operand &operand : instr.operands())
      if (operand.kind == luthier::OperandKind::Register && operand.written && !result)
        result = &operand.regs;
    return result && result->count == 1 && luthier::isVector(result->first);
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (isWanted(instr))
          at.after(instr).call(hooks::value, luthier::arg::result());
  }

  void exit() override {
    using namespace value_profile;
    std::map<std::pair<luthier::KernelId, const luthier::Instr *>, uint64_t> values;
    for (const auto &site : read(hooks::first))
      values[{site.kernel, site.instr}] = site.value;
    for (const auto &site : read(hooks::counters))
      if (const auto &n = site.value; n[Executed])
        report().row(site.kernel, site.addressText(), site.text(), site.sourceText(), n[Executed], n[Lanes],
                     n[Constant], hexadecimal(values[{site.kernel, site.instr}]), n[Uniform], n[Strided], n[Zero]);
  }
};
LUTHIER_TOOL(ValueProfile)
