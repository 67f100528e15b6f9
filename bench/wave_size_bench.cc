// The cost of waves of 32 lanes beside those of 64: the kernels of vgpu_bench, compiled for an RDNA target in both
// sizes and executed by the virtual GPU on one thread. What counts is the processor's time per lane operation: an
// instruction of a wave of 32 lanes does half as much as one of 64, and has to be taken up just as often.
//
// Usage: wave_size_bench [KERNEL...]    default: all

#include "luthier/vgpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <variant>
#include <vector>

namespace {

using namespace luthier;
using namespace luthier::vgpu;

constexpr uint32_t kGroup = 256, kItems = 16 * 1024, kLength = 1 << 20, kEach = 16, kMatrix = 256, kBodies = 1024;
/// The sizes take turns, so that whatever else the machine does falls on both.
constexpr int kTurns = 9;
constexpr double kSeconds = 0.05; ///< of a turn

template <class T> T need(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "error: {}\n", result.error().message());
    exit(1);
  }
  return std::move(*result);
}

struct Case {
  const char *name;
  uint32_t grid;
  std::vector<size_t> buffers; ///< the kernel's first arguments, in dwords
  std::vector<std::variant<int32_t, uint32_t, float>> values;
};

const Case kCases[] = {
    {"fma_loop", kItems, {kItems}, {1000, 0.999f, 0.001f}},
    {"saxpy", kLength, {kLength, kLength}, {2.0f, kLength}},
    {"matmul", kMatrix *kMatrix, {kMatrix * kMatrix, kMatrix *kMatrix, kMatrix *kMatrix}, {kMatrix}},
    {"reduction", kLength / kEach, {kLength, kLength / kEach / kGroup}, {kEach}},
    {"nbody", kBodies, {kBodies * 4, kBodies * 4}, {kBodies}},
    {"histogram", kLength / kEach, {kLength, 256}, {kEach}},
};

double processorTime() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A kernel of one size of waves, ready to be launched.
class Run {
public:
  Run(VirtualGpu &gpu, const Module &module, const Case &test) : gpu_(gpu), kernel_(module.kernel(test.name)) {
    if (!kernel_)
      exit(1);
    for (const size_t count : test.buffers) {
      auto *buffer = need(gpu.allocate<uint32_t>(count));
      for (size_t n = 0; n < count; ++n)
        buffer[n] = std::bit_cast<uint32_t>(static_cast<float>(n % 1000) * 0x1p-10f);
      arguments_.add(buffer);
    }
    for (const auto &value : test.values)
      std::visit([&](const auto &x) { arguments_.add(x); }, value);
    options_ = {.grid = {test.grid}, .workgroup = {kGroup}, .count = true};
    counted_ = need(gpu.run(*kernel_, options_, arguments_));
    options_.count = false;
  }

  /// Nanoseconds of the processor's time for a lane operation, over as many launches as its clock can tell apart.
  double measure() {
    const double start = processorTime();
    double taken = 0;
    unsigned launches = 0;
    for (; taken < kSeconds; taken = processorTime() - start, ++launches)
      (void)need(gpu_.run(*kernel_, options_, arguments_));
    return taken * 1e9 / launches / static_cast<double>(counted_.instructions.lanes);
  }
  double lanesPerInstruction() const {
    return static_cast<double>(counted_.instructions.lanes) / static_cast<double>(counted_.instructions.waves);
  }

private:
  VirtualGpu &gpu_;
  const Kernel *kernel_;
  Arguments arguments_;
  LaunchOptions options_;
  LaunchReport counted_;
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

} // namespace

int main(int argc, char **argv) {
  auto gpu = need(VirtualGpu::create({.target = "gfx1030", .threads = 1}));
  auto narrow = need(gpu->loadFile(WAVE_SIZE_KERNELS_32)), wide = need(gpu->loadFile(WAVE_SIZE_KERNELS_64));
  fmt::print("{:12} {:>14} {:>14} {:>7}  ns per lane operation; (per instruction)\n", "kernel", "wave32", "wave64",
             "ratio");
  for (const Case &test : kCases) {
    if (argc > 1 &&
        std::none_of(argv + 1, argv + argc, [&](const char *name) { return test.name == std::string_view(name); }))
      continue;
    Run small(*gpu, *narrow, test), large(*gpu, *wide, test);
    std::vector<double> smalls, larges, ratios;
    for (int n = 0; n < kTurns; ++n) {
      smalls.push_back(small.measure());
      larges.push_back(large.measure());
      ratios.push_back(smalls.back() / larges.back());
    }
    fmt::print("{:12} {:7.3f} ({:4.1f}) {:7.3f} ({:4.1f}) {:7.2f}\n", test.name, median(smalls),
               median(smalls) * small.lanesPerInstruction(), median(larges),
               median(larges) * large.lanesPerInstruction(), median(ratios));
  }
  return 0;
}
