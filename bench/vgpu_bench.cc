// Speed of the virtual GPU beside native code: six kernels on the virtual GPU and on PoCL, with 1 and 2 threads on both
// sides, and the start-up of an empty HIP program.
//
// Ratios are what counts, since absolute figures depend on the machine and its neighbours: both sides take turns launch
// by launch, and the fastest launch of each is taken. Where others use the machine too, wall times say little and the
// processor time of all threads says more, so both are shown. Results of the two sides are compared. PoCL reads its
// number of threads once in a process, so each number gets a process of its own.
//
// Usage: vgpu_bench [KERNEL...]    default: all

#include "luthier/vgpu.h"
#include "opencl.h"

#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <variant>

namespace luthier::vgpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLaunches = 25;   ///< of each side at least, after one that warms up and is counted
constexpr double kMeasured = 1; ///< seconds at least: of short launches, the best one is only found among many
constexpr double kWarmUp = 1.0; ///< seconds for more of those, until the kernel is translated
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Of all threads of this process, in seconds.
double processorTime() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

[[noreturn]] void die(const std::string &what) {
  fmt::print(stderr, "vgpu_bench: {}\n", what);
  exit(1);
}

template <class T> T need(Result<T> result) {
  if (!result)
    die(result.error().message());
  return std::move(*result);
}

/// A buffer that each side has for itself, with its first contents. Its elements are dwords.
struct Buffer {
  std::vector<uint32_t> contents;
  bool result = false;
  float tolerance = 0; ///< relative, of float results; 0: bit for bit
};

struct Case {
  const char *name;
  uint32_t grid;
  std::vector<Buffer> buffers;                                ///< the kernel's first arguments
  std::vector<std::variant<int32_t, uint32_t, float>> values; ///< the others
};

Buffer zeros(size_t count, float tolerance = 0) { return {std::vector<uint32_t>(count), true, tolerance}; }
/// Numbers without a visible pattern, cheaply: a linear congruential generator's high bits.
Buffer randomInts(size_t count) {
  Buffer buffer{std::vector<uint32_t>(count)};
  uint64_t state = 1;
  for (uint32_t &x : buffer.contents)
    x = static_cast<uint32_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 32);
  return buffer;
}
/// In [-1, 1).
Buffer randomFloats(size_t count) {
  Buffer buffer = randomInts(count);
  for (uint32_t &x : buffer.contents)
    x = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(x)) * 0x1p-31f);
  return buffer;
}

constexpr uint32_t kGroup = 256;

std::vector<Case> makeCases() {
  constexpr uint32_t kItems = 64 * 1024, kLength = 4 << 20, kEach = 16, kMatrix = 512, kBodies = 4096;
  return {
      {"fma_loop", kItems, {zeros(kItems)}, {1000, 0.999f, 0.001f}},
      {"saxpy", kLength, {randomFloats(kLength), zeros(kLength)}, {2.0f, kLength}},
      {"matmul",
       kMatrix * kMatrix,
       {randomFloats(kMatrix * kMatrix), randomFloats(kMatrix * kMatrix), zeros(kMatrix * kMatrix)},
       {kMatrix}},
      {"reduction", kLength / kEach, {randomFloats(kLength), zeros(kLength / kEach / kGroup)}, {kEach}},
      // The two sides have different reciprocal square roots.
      {"nbody", kBodies, {randomFloats(kBodies * 4), zeros(kBodies * 4, 1e-3f)}, {kBodies}},
      {"histogram", kLength / kEach, {randomInts(kLength), zeros(256)}, {kEach}},
  };
}

/// The least of several launches, in seconds.
struct Time {
  double wall = 1e9, processor = 1e9;

  template <class F> void launch(const F &run) {
    const auto start = Clock::now();
    const double before = processorTime();
    run();
    processor = std::min(processor, processorTime() - before);
    wall = std::min(wall, since(start));
  }
};

/// What one case gave with one number of threads.
struct Speed {
  Time virtualGpu, native;
  double waveInstructions, laneOperations;
};

void compare(const Case &test, const Buffer &buffer, const uint32_t *ours, const uint32_t *native) {
  for (size_t n = 0; n < buffer.contents.size(); ++n) {
    const float x = std::bit_cast<float>(ours[n]), y = std::bit_cast<float>(native[n]);
    const bool equal =
        buffer.tolerance > 0 ? std::abs(x - y) <= buffer.tolerance * std::max(1.0f, std::abs(y)) : ours[n] == native[n];
    if (!equal)
      die(fmt::format("{}: element {} is {:#x} ({}) on the virtual GPU, {:#x} ({}) natively", test.name, n, ours[n], x,
                      native[n], y));
  }
}

Speed measure(VirtualGpu &gpu, const Module &module, bench::OpenCl &native, const Case &test) {
  const Kernel *kernel = module.kernel(test.name);
  if (!kernel)
    die(fmt::format("no kernel {}", test.name));
  Arguments arguments;
  std::vector<bench::OpenClArgument> nativeArguments;
  std::vector<uint32_t *> ours, theirs;
  for (const Buffer &buffer : test.buffers) {
    const size_t count = buffer.contents.size();
    ours.push_back(need(gpu.allocate<uint32_t>(count)));
    theirs.push_back(need(gpu.allocate<uint32_t>(count)));
    std::copy(buffer.contents.begin(), buffer.contents.end(), ours.back());
    std::copy(buffer.contents.begin(), buffer.contents.end(), theirs.back());
    native.share(theirs.back(), count * 4);
    arguments.add(ours.back());
    nativeArguments.push_back({.buffer = theirs.back()});
  }
  for (const auto &value : test.values)
    std::visit(
        [&](const auto &x) {
          arguments.add(x);
          nativeArguments.push_back({.bytes = &x, .size = sizeof x});
        },
        value);

  LaunchOptions options{.grid = {test.grid}, .workgroup = {kGroup}, .count = true};
  const LaunchReport counted = need(gpu.run(*kernel, options, arguments));
  native.run(test.name, test.grid, kGroup, nativeArguments);
  options.count = false;
  // Compiling is not measured on either side: PoCL does it at the first launch, the virtual GPU in the background if
  // the kernel is one that it can translate. Both go on computing with what they have computed.
  for (const auto start = Clock::now(); since(start) < kWarmUp;) {
    const LaunchReport report = need(gpu.run(*kernel, options, arguments));
    native.run(test.name, test.grid, kGroup, nativeArguments);
    if (report.translatedWaves)
      break;
  }
  Speed best{};
  const auto start = Clock::now();
  for (int n = 0; n < kLaunches || since(start) < kMeasured; ++n) {
    best.virtualGpu.launch([&] { (void)need(gpu.run(*kernel, options, arguments)); });
    best.native.launch([&] { native.run(test.name, test.grid, kGroup, nativeArguments); });
  }
  for (size_t n = 0; n < test.buffers.size(); ++n)
    if (test.buffers[n].result)
      compare(test, test.buffers[n], ours[n], theirs[n]);
  best.waveInstructions = static_cast<double>(counted.instructions.waves);
  best.laneOperations = static_cast<double>(counted.instructions.lanes);
  return best;
}

/// Measures all cases in a process of their own.
std::vector<Speed> measureAll(unsigned threads, const std::vector<Case> &cases) {
  int ends[2];
  if (pipe(ends) != 0)
    die("no pipe");
  const pid_t child = fork();
  if (child < 0)
    die("no process");
  if (child == 0) {
    close(ends[0]);
    auto gpu = need(VirtualGpu::create({.threads = threads}));
    auto module = need(gpu->loadFile(VGPU_BENCH_KERNELS));
    bench::OpenCl native(threads, VGPU_BENCH_OPENCL_KERNELS);
    for (const Case &test : cases) {
      const Speed speed = measure(*gpu, *module, native, test);
      if (write(ends[1], &speed, sizeof speed) != sizeof speed)
        die("the pipe is closed");
    }
    fflush(stdout);
    _exit(0);
  }
  close(ends[1]);
  std::vector<Speed> speeds(cases.size());
  for (Speed &speed : speeds)
    if (read(ends[0], &speed, sizeof speed) != sizeof speed)
      exit(1); // the child has said why
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return speeds;
}

/// Wall time of a command, the best of several runs; its output is discarded.
double timeCommand(const std::string &command, bool succeeds) {
  double best = 1e9;
  for (int n = 0; n < 5; ++n) {
    const auto start = Clock::now();
    const int status = system((command + " >/dev/null 2>&1").c_str());
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127 || (succeeds && WEXITSTATUS(status) != 0))
      die("cannot run " + command);
    best = std::min(best, since(start));
  }
  return best;
}

constexpr const char *kRow = "{:<10} {:>7} {:>14} {:>12} {:>10} {:>8} {:>10} {:>8} {:>7} {:>10} {:>10} {:>7}\n";

void printRow(const char *name, unsigned threads, const Speed &speed, const Speed &single) {
  auto fixed = [](double x, int digits) { return fmt::format("{:.{}f}", x, digits); };
  fmt::print(fmt::runtime(kRow), name, threads, fixed(speed.waveInstructions / speed.virtualGpu.wall / 1e6, 1),
             fixed(speed.laneOperations / speed.virtualGpu.wall / 1e9, 2), fixed(speed.virtualGpu.wall, 4),
             fixed(single.virtualGpu.wall / speed.virtualGpu.wall, 2), fixed(speed.native.wall, 4),
             fixed(single.native.wall / speed.native.wall, 2), fixed(speed.virtualGpu.wall / speed.native.wall, 2),
             fixed(speed.virtualGpu.processor, 4), fixed(speed.native.processor, 4),
             fixed(speed.virtualGpu.processor / speed.native.processor, 2));
}

} // namespace
} // namespace luthier::vgpu

int main(int argc, char **argv) {
  using namespace luthier::vgpu;
  std::vector<Case> cases = makeCases();
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  std::erase_if(cases, [&](const Case &c) {
    return !wanted.empty() && std::find(wanted.begin(), wanted.end(), c.name) == wanted.end();
  });
  if (cases.empty())
    die("no such kernel");
  const auto one = measureAll(1, cases), two = measureAll(2, cases);
  fmt::print(fmt::runtime(kRow), "", "", "M wave-", "G lane-", "vgpu", "", "PoCL", "", "vgpu /", "vgpu CPU", "PoCL CPU",
             "vgpu /");
  fmt::print(fmt::runtime(kRow), "kernel", "threads", "instructions/s", "operations/s", "seconds", "speed-up",
             "seconds", "speed-up", "PoCL", "seconds", "seconds", "PoCL");
  for (size_t n = 0; n < cases.size(); ++n) {
    printRow(cases[n].name, 1, one[n], one[n]);
    printRow(cases[n].name, 2, two[n], one[n]);
  }
  auto mean = [](const std::vector<Speed> &speeds, double Time::*time) {
    double sum = 0;
    for (const Speed &speed : speeds)
      sum += std::log(speed.virtualGpu.*time / speed.native.*time);
    return std::exp(sum / static_cast<double>(speeds.size()));
  };
  fmt::print("\nvirtual GPU / PoCL, geometric mean: {:.2f} with 1 thread, {:.2f} with 2; of processor time {:.2f} and "
             "{:.2f}\n",
             mean(one, &Time::wall), mean(two, &Time::wall), mean(one, &Time::processor), mean(two, &Time::processor));
  if (!wanted.empty())
    return 0;

  // The same program without a GPU shows what loading HIP costs; device initialisation, which HIP does itself too, is
  // in the difference.
  const double without = timeCommand(VGPU_BENCH_EMPTY, false);
  const double with = timeCommand(VGPU_BENCH_LUTHIER " run --gpu gfx90a -- " VGPU_BENCH_EMPTY, true);
  fmt::print("empty HIP program: {:.3f} s without a GPU, {:.3f} s on the virtual GPU, difference {:.3f} s\n", without,
             with, with - without);
}
