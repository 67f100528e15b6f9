// Counts instructions per launch, and calls HIP, synchronously, in the function that it is told to.
#include "hip_calls_hooks.h"

#include <hip/hip_runtime_api.h>

#include <string>

namespace {

class HipCalls : public luthier::Tool {
public:
  HipCalls() {
    in_ = option("in", "", "function to call HIP in: loaded, instrument, launch, finished, exit");
    how_ = option("how", "memcpy", "memcpy or synchronize");
  }

  void start() override { report().columns({"kernel", "launch", "instructions"}); }
  void loaded(const luthier::CodeObject &) override { at("loaded"); }

  void instrument(luthier::Kernel &kernel, luthier::Site site) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks())
        site.entry(block).call(hooks::count, block.size());
    site.exit(kernel).call(hooks::flush);
    at("instrument");
  }

  luthier::Decision launch(luthier::Launch &) override {
    at("launch");
    return luthier::Decision::Instrumented;
  }

  void finished(const luthier::Launch &launch) override {
    report().row(launch.kernel(), launch.number(), launch.read(hooks::instructions));
    at("finished");
  }

  void exit() override {
    at("exit");
    warn("HIP was called " + std::to_string(calls_) + " times, with " + std::to_string(failures_) + " failures");
  }

private:
  void at(const std::string &place) {
    if (in_ != place || calls_ == 3) // which is enough
      return;
    const unsigned number = ++calls_;
    if (how_ == "synchronize") {
      failures_ += hipDeviceSynchronize() != hipSuccess;
      return;
    }
    unsigned *memory = nullptr, back = 0;
    const bool good = hipMalloc(reinterpret_cast<void **>(&memory), sizeof number) == hipSuccess &&
                      hipMemcpy(memory, &number, sizeof number, hipMemcpyHostToDevice) == hipSuccess &&
                      hipMemcpy(&back, memory, sizeof number, hipMemcpyDeviceToHost) == hipSuccess;
    failures_ += !good || back != number;
  }

  std::string in_, how_;
  unsigned calls_ = 0, failures_ = 0;
};

} // namespace

LUTHIER_TOOL(HipCalls)
