// Where kernels are on the roofline: floating-point operations by type, bytes by memory, their ratio, and time.
#include "roofline_hooks.h"

#include <luthier/ratio.h>
#include <luthier/run_counts.h>
#include <luthier/work.h>

#include <algorithm>
#include <map>

struct Roofline : luthier::Tool {
  bool alternate = flag("alternate", "let every second launch of a kernel run unmodified, and take times from these");
  struct Sums {
    uint64_t launches = 0, timed = 0, nanoseconds = 0;
    std::map<std::string, uint64_t> flops, bytes; // by type, and by memory
    uint64_t matrix = 0, all = 0;                 // flops
  };
  std::map<luthier::KernelId, Sums> kernels;
  luthier::RunCounts counts{*this, LUTHIER_RUN_COUNTS(hooks)};
  static constexpr const char *kTypes[] = {"f64", "f32", "f16", "bf16"};

  void start() override {
    report().columns({"kernel", "launches", "FLOPs", "matrix", "f64", "f32", "f16", "bf16", "other", "global bytes",
                      "LDS bytes", "scratch bytes", "scalar bytes", "FLOP/byte", "ms", "GFLOP/s", "GB/s"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override { counts.count(kernel, at); }

  luthier::Decision launch(luthier::Launch &launch) override {
    return alternate && launch.numberOfKernel() % 2 == 0 ? luthier::Decision::Observed
                                                         : luthier::Decision::Instrumented;
  }

  void finished(const luthier::Launch &launch) override {
    counts.finished(launch);
    Sums &sums = kernels[launch.kernel().id()];
    sums.launches += launch.instrumented();
    if (launch.instrumented() == alternate)
      return;
    ++sums.timed;
    sums.nanoseconds += launch.endTime() - launch.beginTime();
  }

  static std::string memoryOf(luthier::MemorySpace space) {
    switch (space) {
    case luthier::MemorySpace::Lds:
    case luthier::MemorySpace::Gds:
      return "lds";
    case luthier::MemorySpace::Scratch:
      return "scratch";
    case luthier::MemorySpace::Scalar:
      return "scalar";
    default:
      return "global";
    }
  }

  void exit() override {
    counts.forEach([&](const luthier::InstrCount &count) {
      const luthier::Work work = luthier::workOf(*count.function, *count.instr);
      Sums &sums = kernels[count.kernel];
      const uint64_t flops = work.flopsPerLane * count.lanes + work.flopsPerWave * count.waves;
      sums.flops[std::ranges::count(kTypes, work.flopType) ? work.flopType : "other"] += flops;
      sums.all += flops;
      sums.matrix += work.flopsPerWave * count.waves;
      sums.bytes[memoryOf(count.instr->memorySpace())] +=
          work.bytesPerLane * count.lanes + work.bytesPerWave * count.waves;
    });
    for (auto &[kernel, sums] : kernels) {
      // Times of other launches than those that were counted: as much work each.
      const double nanoseconds = static_cast<double>(sums.nanoseconds) * luthier::ratio(sums.launches, sums.timed, 9);
      const uint64_t global = sums.bytes["global"];
      report().row(kernel, sums.launches, sums.all, sums.matrix, sums.flops["f64"], sums.flops["f32"],
                   sums.flops["f16"], sums.flops["bf16"], sums.flops["other"], global, sums.bytes["lds"],
                   sums.bytes["scratch"], sums.bytes["scalar"], luthier::ratio(sums.all, global),
                   luthier::rounded(nanoseconds * 1e-6, 3), luthier::ratio(sums.all, nanoseconds),
                   luthier::ratio(global, nanoseconds));
    }
  }
};
LUTHIER_TOOL(Roofline)
