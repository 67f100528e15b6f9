// Changes what kernels store: two tools of this kind show which one comes first.
#include HANDLES

namespace {

struct Order : luthier::Tool {
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Instr &instr : kernel.instrs())
      if (instr.mnemonic() == "global_store_dword") {
        const luthier::RegRange data = instr.memory()->data;
        at.before(instr).call(hooks::change, luthier::arg::reg(data), FACTOR, MORE).into(data);
      }
  }
};

} // namespace

LUTHIER_TOOL(Order)
