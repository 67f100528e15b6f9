// Where NaNs and infinities come from: of each launch, the first instruction and lane that made one of finite inputs.
#include "nan_origin_hooks.h"
#include "origin.h"

#include <luthier/result_type.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <set>

namespace {

using namespace nan_origin;
using luthier::Instr;
using luthier::Operand;
using luthier::OperandKind;

/// How an instruction's registers are to be read.
struct Forms {
  struct Input {
    unsigned operand, words;
    Form form;
  };
  std::vector<Input> inputs;
  Form result = NotFloat;
  unsigned words = 0; ///< of the result; 0: the instruction makes no floating-point number
  bool known = true;  ///< or it does, in a way that is not understood here
};

Form formOf(unsigned bits, bool two) { return bits == 64 ? F64 : bits == 32 ? F32 : two ? TwoF16 : F16; }

Forms formsOf(const luthier::Function &function, const Instr &instr) {
  Forms forms;
  const std::string_view name = instr.mnemonic();
  const luthier::ResultType type = luthier::resultTypeOf(instr);
  if (!(instr.is(luthier::Property::Vector) || instr.is(luthier::Property::Matrix)) ||
      (type.kind != luthier::ResultType::Float && type.kind != luthier::ResultType::BFloat) ||
      instr.memorySpace() != luthier::MemorySpace::None)
    return forms;
  const auto has = [](std::string_view text, std::string_view part) { return text.find(part) != text.npos; };
  // Halves of registers that modifiers select, values of other lanes, two results, formats within a register.
  const std::string text = function.text(instr);
  if (instr.is(luthier::Property::Matrix) || instr.is(luthier::Property::CrossLane) ||
      instr.is(luthier::Property::Dual) || type.kind == luthier::ResultType::BFloat || has(text, "sel:") ||
      has(text, "op_sel") || has(name, "_mix") || has(name, "v_dot")) {
    forms.known = false;
    forms.words = 1;
    return forms;
  }
  const std::string_view last = name.substr(name.rfind('_') + 1);
  const bool two = has(name, "_pk");
  const unsigned bits = last == "f64" ? 64 : last == "f32" ? 32 : last == "f16" ? 16 : 0;
  const std::span<const Operand> operands = instr.operands();
  for (unsigned n = 0; n < operands.size(); ++n) {
    const Operand &operand = operands[n];
    const bool isRegister = operand.kind == OperandKind::Register;
    if (isRegister && operand.written && forms.words == 0)
      forms.words = operand.regs.count;
    if (operand.kind == OperandKind::Modifier || (isRegister && (!operand.read || operand.regs.empty())) ||
        forms.inputs.size() == kInputs)
      continue;
    // The exponent of v_ldexp_*, and what integers are converted from, are no floating-point numbers.
    const bool number = bits && !(has(name, "ldexp") && forms.inputs.size() == 1);
    const unsigned words = isRegister ? operand.regs.count : bits == 64 ? 2 : 1;
    forms.inputs.push_back({n, words, number ? formOf(bits, two && bits == 16 && !has(name, "cvt_")) : NotFloat});
  }
  forms.result = formOf(type.bits, two && type.bits == 16);
  forms.known =
      (forms.words == 1 || forms.words == 2) && !forms.inputs.empty() &&
      std::ranges::all_of(forms.inputs, [](const auto &input) { return input.words == 1 || input.words == 2; });
  return forms;
}

std::string toText(uint64_t value, Form form, unsigned words) {
  char text[64];
  const auto low = static_cast<uint32_t>(value), high = static_cast<uint32_t>(value >> 32);
  if (form == F64)
    std::snprintf(text, sizeof text, "%g", std::bit_cast<double>(value));
  else if (form == F32 && words == 1)
    std::snprintf(text, sizeof text, "%g", static_cast<double>(std::bit_cast<float>(low)));
  else if (form == F32)
    std::snprintf(text, sizeof text, "%g|%g", static_cast<double>(std::bit_cast<float>(low)),
                  static_cast<double>(std::bit_cast<float>(high)));
  else if (form == F16)
    std::snprintf(text, sizeof text, "%g", static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(low))));
  else if (form == TwoF16)
    std::snprintf(text, sizeof text, "%g|%g", static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(low))),
                  static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(low >> 16))));
  else
    std::snprintf(text, sizeof text, "0x%x", low);
  return text;
}

class NanOrigin : public luthier::Tool {
public:
  void start() override {
    report().columns({"kernel", "launch", "address", "instruction", "source", "group", "thread", "result", "inputs",
                      "lanes of all launches"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const Instr &instr : function.instrs())
        if (const Forms forms = formsOf(function, instr); forms.words && forms.known)
          watch(instr, forms, at);
        else if (forms.words)
          notSeen_.insert(std::string(instr.mnemonic()));
  }

  void finished(const luthier::Launch &launch) override {
    if (const std::vector<uint32_t> words = launch.read(hooks::origin); words[Taken])
      found_.push_back({launch.kernel().id(), launch.numberOfKernel(), words});
  }

  void exit() override {
    std::map<std::pair<luthier::KernelId, uint32_t>, luthier::SiteValue<uint64_t>> sites;
    for (auto &site : read(hooks::made))
      sites.try_emplace({site.kernel, static_cast<uint32_t>(site.address())}, site);
    for (const Found &each : found_) {
      const auto &site = sites.at({each.kernel, each.words[Site]});
      const Forms forms = formsOf(*site.function, *site.instr);
      std::string inputs;
      for (unsigned n = 0; n < forms.inputs.size(); ++n)
        inputs += (n ? ", " : "") + toText(each.pair(Inputs + 2 * n), forms.inputs[n].form, forms.inputs[n].words);
      report().row(each.kernel, each.launch, site.addressText(), site.text(), site.sourceText(), each.triple(Group),
                   each.triple(Thread), toText(each.pair(Result), forms.result, forms.words), inputs, site.value);
    }
    std::string names;
    for (const std::string &name : notSeen_)
      names += (names.empty() ? "" : ", ") + name;
    if (!names.empty())
      warn("results of these are not looked at, here or in other forms: " + names);
  }

private:
  struct Found {
    luthier::KernelId kernel;
    uint64_t launch;
    std::vector<uint32_t> words;

    uint64_t pair(unsigned n) const { return words[n] | uint64_t{words[n + 1]} << 32; }
    std::string triple(unsigned n) const {
      return std::to_string(words[n]) + "," + std::to_string(words[n + 1]) + "," + std::to_string(words[n + 2]);
    }
  };

  static void watch(const Instr &instr, const Forms &forms, luthier::Site at) {
    using namespace hooks;
    constexpr luthier::Hook<uint32_t, uint32_t> kOf32[] = {input0Of32, input1Of32, input2Of32};
    constexpr luthier::Hook<uint64_t, uint32_t> kOf64[] = {input0Of64, input1Of64, input2Of64};
    luthier::Point before = at.before(instr), after = at.after(instr);
    for (unsigned n = 0; n < forms.inputs.size(); ++n) {
      const auto &[operand, words, form] = forms.inputs[n];
      const auto &source = instr.operands()[operand];
      if (words == 1)
        before.call(kOf32[n], luthier::arg::operand(operand), static_cast<uint32_t>(form));
      else if (source.kind == OperandKind::Literal) // the upper half of a double
        before.call(kOf64[n], static_cast<uint64_t>(source.value) << 32, static_cast<uint32_t>(form));
      else
        before.call(kOf64[n], luthier::arg::operand(operand), static_cast<uint32_t>(form));
    }
    const auto form = static_cast<uint32_t>(forms.result), site = static_cast<uint32_t>(instr.address());
    if (forms.words == 1)
      after.call(resultOf32, luthier::arg::result(), form, site);
    else
      after.call(resultOf64, luthier::arg::result(), form, site);
  }

  std::vector<Found> found_;
  std::set<std::string> notSeen_; ///< opcodes
};

} // namespace

LUTHIER_TOOL(NanOrigin)
