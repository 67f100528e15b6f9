// Puts hooks in the place of f32 arithmetic: as if the GPU computed with fewer bits. Would a shorter type do?
#include "replace_hooks.h"

#include <algorithm>
#include <map>

struct Replace : luthier::Tool {
  uint64_t bits =
      number("bits", 23, "of the fraction of results: 23 is f32 as it is, 10 as in f16, 7 as in bf16", 1, 23);
  std::map<luthier::KernelId, std::pair<uint64_t, uint64_t>> counts; // instructions replaced, and left as they are

  void start() override { report().columns({"kernel", "instructions replaced", "left"}); }

  /// An encoding whose operands are what the instruction computes with: no modifiers, no other lanes, no parts.
  static bool isPlain(const luthier::Function &function, const luthier::Instr &instr) {
    const std::string text = function.text(instr);
    return !instr.is(luthier::Property::CrossLane) && !instr.is(luthier::Property::Dual) &&
           text.find("sel:") == text.npos && text.find('|') == text.npos && text.find(" clamp") == text.npos &&
           text.find(" mul:") == text.npos && text.find(" div:") == text.npos && text.find(" -v") == text.npos &&
           text.find(" -s") == text.npos;
  }

  /// False where the instruction stays.
  bool replace(const luthier::Function &function, const luthier::Instr &instr, luthier::Site at) const {
    using luthier::arg::source;
    const std::string_view name = instr.mnemonic();
    const luthier::RegRange result = instr.operands().front().regs;
    const auto dropped = static_cast<uint32_t>(23 - bits);
    if (!isPlain(function, instr))
      return false;
    if (name == "v_add_f32")
      at.replace(instr).call(hooks::add, source(0), source(1), dropped).into(result);
    else if (name == "v_sub_f32")
      at.replace(instr).call(hooks::sub, source(0), source(1), dropped).into(result);
    else if (name == "v_subrev_f32")
      at.replace(instr).call(hooks::sub, source(1), source(0), dropped).into(result);
    else if (name == "v_mul_f32")
      at.replace(instr).call(hooks::mul, source(0), source(1), dropped).into(result);
    else if (name == "v_fma_f32")
      at.replace(instr).call(hooks::fma, source(0), source(1), source(2), dropped).into(result);
    else // v_fmac_f32: what it adds to is where the result goes
      at.replace(instr).call(hooks::fma, source(0), source(1), luthier::arg::reg(result), dropped).into(result);
    return true;
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    constexpr std::string_view kNames[] = {"v_add_f32", "v_sub_f32", "v_subrev_f32",
                                           "v_mul_f32", "v_fma_f32", "v_fmac_f32"};
    auto &[replaced, left] = counts[kernel.id()] = {};
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (std::ranges::count(kNames, instr.mnemonic()))
          ++(replace(function, instr, at) ? replaced : left);
  }

  void exit() override {
    for (const auto &[kernel, count] : counts)
      report().row(kernel, count.first, count.second);
  }
};
LUTHIER_TOOL(Replace)
