// Speed of the virtual GPU: arithmetic (fma loop) and memory (saxpy) with 1 and 2 worker threads, and the start-up of
// an empty HIP program. All ratios come from one run, since absolute figures depend on the machine and its neighbours.

#include "luthier/vgpu.h"

#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace luthier::vgpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLaunches = 25; ///< timed, after one that is counted; the fastest is taken
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

[[noreturn]] void die(const std::string &what) {
  fmt::print(stderr, "vgpu_bench: {}\n", what);
  exit(1);
}

template <class T> T need(Result<T> result) {
  if (!result)
    die(result.error().message());
  return std::move(*result);
}

struct Speed {
  double seconds;
  double waveInstructions, laneOperations; ///< per second
};

/// The fastest of several launches; instruction counts come from one counted launch before.
Speed measure(VirtualGpu &gpu, const Kernel &kernel, LaunchOptions options, const Arguments &arguments) {
  options.count = true;
  const LaunchReport counted = need(gpu.run(kernel, options, arguments));
  options.count = false;
  double best = 1e9;
  for (int n = 0; n < kLaunches; ++n) {
    const auto start = Clock::now();
    (void)need(gpu.run(kernel, options, arguments));
    best = std::min(best, since(start));
  }
  return {best, static_cast<double>(counted.instructions.waves) / best,
          static_cast<double>(counted.instructions.lanes) / best};
}

struct Results {
  Speed fma, saxpy;
};

Results measureAll(unsigned threads) {
  auto gpu = need(VirtualGpu::create({.threads = threads}));
  auto module = need(gpu->loadFile(VGPU_BENCH_KERNELS));
  auto kernel = [&](const char *name) -> const Kernel & {
    const Kernel *found = module->kernel(name);
    if (!found)
      die(fmt::format("no kernel {}", name));
    return *found;
  };
  constexpr uint32_t kItems = 64 * 1024, kRounds = 1000, kLength = 4 << 20;
  Results results;
  float *out = need(gpu->allocate<float>(kItems));
  results.fma = measure(*gpu, kernel("fma_loop"), {.grid = {kItems}, .workgroup = {256}},
                        Arguments(out, int(kRounds), 0.999f, 0.001f));
  float *x = need(gpu->allocate<float>(kLength));
  float *y = need(gpu->allocate<float>(kLength));
  std::fill(x, x + kLength, 1.0f);
  results.saxpy =
      measure(*gpu, kernel("saxpy"), {.grid = {kLength}, .workgroup = {256}}, Arguments(x, y, 2.0f, kLength));
  if (y[kLength - 1] != 2.0f * (1 + kLaunches))
    die("saxpy computed a wrong result");
  return results;
}

/// Wall time of a command, the best of several runs; its output is discarded.
double timeCommand(const std::string &command) {
  double best = 1e9;
  for (int n = 0; n < 5; ++n) {
    const auto start = Clock::now();
    const int status = system((command + " >/dev/null 2>&1").c_str());
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
      die("cannot run " + command);
    best = std::min(best, since(start));
  }
  return best;
}

} // namespace
} // namespace luthier::vgpu

int main() {
  using namespace luthier::vgpu;
  const Results one = measureAll(1), two = measureAll(2);
  fmt::print("{:<10} {:>7} {:>16} {:>18} {:>10} {:>9}\n", "kernel", "threads", "M wave-instr/s", "G lane-operations/s",
             "seconds", "speed-up");
  auto row = [](const char *name, int threads, const Speed &speed, double speedUp) {
    fmt::print("{:<10} {:>7} {:>16.1f} {:>19.2f} {:>10.4f} {:>9.2f}\n", name, threads, speed.waveInstructions / 1e6,
               speed.laneOperations / 1e9, speed.seconds, speedUp);
  };
  row("fma_loop", 1, one.fma, 1);
  row("fma_loop", 2, two.fma, one.fma.seconds / two.fma.seconds);
  row("saxpy", 1, one.saxpy, 1);
  row("saxpy", 2, two.saxpy, one.saxpy.seconds / two.saxpy.seconds);

  // The same program without a GPU shows what loading HIP costs; device initialisation, which HIP does itself too, is
  // in the difference.
  const double without = timeCommand(VGPU_BENCH_EMPTY);
  const double with = timeCommand(VGPU_BENCH_LUTHIER " run --gpu gfx90a -- " VGPU_BENCH_EMPTY);
  fmt::print("\nempty HIP program: {:.3f} s without a GPU, {:.3f} s on the virtual GPU, difference {:.3f} s\n", without,
             with, with - without);
}
