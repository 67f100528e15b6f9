// Comparisons of integers: v_cmp_lt_i32, s_cmp_eq_u32 and their like.
#include "form_compares_hooks.h"

struct Compares : luthier::Tool {
  void start() override { report().columns({"kernel", "right", "wrong"}); }

  /// Of "v_cmp_le_i32": less 1, equal 2, greater 4, signed 8; 0 of all else.
  static uint32_t whatOf(std::string_view name, const std::string &text) {
    if ((!name.starts_with("v_cmp_") && !name.starts_with("s_cmp_")) || name.size() != 12 ||
        text.find("sdwa") != std::string::npos || !(name.ends_with("_i32") || name.ends_with("_u32")))
      return 0;
    constexpr std::pair<std::string_view, uint32_t> kWays[] = {{"lt", 1}, {"eq", 2}, {"le", 3}, {"gt", 4},
                                                               {"lg", 5}, {"ne", 5}, {"ge", 6}};
    for (const auto &[way, bits] : kWays)
      if (name.substr(6, 2) == way)
        return bits | (name[9] == 'i' ? 8 : 0);
    return 0;
  }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    using namespace luthier::arg;
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (const uint32_t what = whatOf(instr.mnemonic(), function.text(instr))) {
          if (instr.mnemonic()[0] == 'v')
            at.after(instr).call(hooks::vector, source(0), source(1), result(), what);
          else
            at.after(instr).call(hooks::scalar, source(0), source(1), result(), what);
        }
  }
  void finished(const luthier::Launch &launch) override {
    if (launch.instrumented())
      report().row(launch.kernel(), launch.read(hooks::right), launch.read(hooks::wrong));
  }
};
LUTHIER_TOOL(Compares)
