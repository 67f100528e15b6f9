// Puts one of the hooks of printing.hip where it is told to.
#include "printing_hooks.h"

#include <luthier/tool.h>

namespace {

class Printing : public luthier::Tool {
public:
  void start() override { report().columns({"calls"}); }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    if (at_ == "entry")
      return call(at.entry(kernel));
    if (at_ == "exit")
      return call(at.exit(kernel));
    uint64_t n = 0;
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (at_ == "stores" ? instr.memory() && instr.memory()->store : n++ % every_ == 0)
          call(at.before(instr));
  }

  void exit() override { report().row(calls_); }

private:
  void call(luthier::Point point) {
    const luthier::Arg pc = luthier::arg::pc();
    if (hook_ == "lanes")
      point.call(hooks::lanes, pc);
    else if (hook_ == "one")
      point.call(hooks::one);
    else if (hook_ == "divergent")
      point.call(hooks::divergent);
    else if (hook_ == "wave")
      point.call(hooks::wave, pc);
    else if (hook_ == "kinds")
      point.call(hooks::kinds, pc);
    else if (hook_ == "longer")
      point.call(hooks::longer);
    else if (hook_ == "check")
      point.call(hooks::check, most_);
    else if (hook_ == "checkWave")
      point.call(hooks::checkWave, most_);
    else if (hook_ == "everywhere")
      point.call(hooks::everywhere, pc);
    else if (hook_ == "ask")
      point.call(hooks::ask, reinterpret_cast<const void *>(&answer));
    else if (hook_ == "unknown")
      point.call(hooks::unknown);
  }

  static void answer(uint64_t *output, const uint64_t *input) {
    ++calls_;
    output[0] = input[0] * 3 + 1;
  }

  static inline uint64_t calls_ = 0; ///< of `answer`, on the consumer's thread
  std::string hook_ = option("hook", "lanes", "which hook");
  std::string at_ = option("at", "entry", "entry, exit, stores, or instructions");
  uint64_t every_ = number("every", 1, "at: each so many instructions");
  uint32_t most_ = static_cast<uint32_t>(number("most", 64, "what assertions allow"));
};

} // namespace

LUTHIER_TOOL(Printing)
