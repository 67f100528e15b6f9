// Compiled kernels on every target that the virtual GPU executes, through the direct API: under no ROCr that need
// accept them. What is in them is what compilers write differently for each.

#include "luthier/vgpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace luthier::vgpu {
namespace {

std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');)
    names.push_back(name);
  return names;
}

/// Launches under each of the checks, and without.
struct Mode {
  const char *name;
  LaunchOptions options;
};
const Mode kModes[] = {
    {"plain", {}},
    {"strict waits", {.strictWaits = true}},
    {"strict resources", {.strictResources = 1}},
    {"strict caches", {.strictResources = 2, .strictL1 = true}},
};

class TargetTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override { load(std::string(TARGET_KERNELS "/targets.") + GetParam() + ".co"); }
  void load(const std::string &file) {
    // "gfx1030_wave64": compiled for waves of that size.
    auto made = VirtualGpu::create({.target = GetParam().substr(0, GetParam().find('_')), .threads = 2});
    ASSERT_TRUE(made) << made.error().message();
    gpu = std::move(*made);
    auto loaded = gpu->loadFile(file);
    ASSERT_TRUE(loaded) << loaded.error().message();
    module = std::move(*loaded);
  }
  template <class T> T *allocate(uint64_t count) {
    auto memory = gpu->allocate<T>(count);
    EXPECT_TRUE(memory) << memory.error().message();
    return memory ? *memory : nullptr;
  }
  /// Runs a kernel in every mode; `check` looks at what it has done.
  template <class Check>
  void runAll(const char *name, Size3 grid, Size3 workgroup, const Arguments &arguments, Check check,
              LaunchOptions more = {}) {
    const Kernel *kernel = module->kernel(name);
    ASSERT_NE(kernel, nullptr) << name;
    for (const Mode &mode : kModes) {
      SCOPED_TRACE(std::string(GetParam()) + ", " + mode.name);
      LaunchOptions options = mode.options;
      options.grid = grid;
      options.workgroup = workgroup;
      options.dynamicLds = more.dynamicLds;
      options.stackBytes = more.stackBytes;
      auto report = gpu->run(*kernel, options, arguments);
      ASSERT_TRUE(report) << report.error().message();
      check();
    }
  }

  std::unique_ptr<VirtualGpu> gpu;
  std::unique_ptr<Module> module;
};

INSTANTIATE_TEST_SUITE_P(Targets, TargetTest, testing::ValuesIn(split(TARGETS)),
                         [](const auto &info) { return info.param; });

TEST_P(TargetTest, VectorAdd) {
  const uint32_t count = 1000;
  auto *a = allocate<float>(count), *b = allocate<float>(count), *c = allocate<float>(count);
  for (uint32_t n = 0; n < count; ++n)
    a[n] = static_cast<float>(n), b[n] = 0.5f;
  runAll("vector_add", {1024}, {256}, Arguments(a, b, c, count), [&] {
    for (uint32_t n = 0; n < count; ++n)
      ASSERT_EQ(std::exchange(c[n], 0), static_cast<float>(n) + 0.5f);
  });
}

TEST_P(TargetTest, Ids) {
  const Size3 group = {4, 3, 5}, groups = {3, 2, 4};
  auto *out = allocate<uint32_t>(60 * 24);
  runAll("item_ids", {12, 6, 20}, group, Arguments(out), [&] {
    for (uint32_t g = 0; g < 24; ++g)
      for (uint32_t i = 0; i < 60; ++i) {
        const uint32_t expected = i % 4 | i / 4 % 3 << 5 | i / 12 << 10 | g % groups.x << 15 |
                                  g / groups.x % groups.y << 20 | g / (groups.x * groups.y) << 25;
        ASSERT_EQ(std::exchange(out[g * 60 + i], 0), expected) << g << " " << i;
      }
  });
}

TEST_P(TargetTest, Lds) {
  auto *data = allocate<uint32_t>(512);
  for (uint32_t n = 0; n < 512; ++n)
    data[n] = n;
  bool reversed = false;
  runAll("reverse", {512}, {256}, Arguments(data),
         [&] {
           reversed = !reversed;
           for (uint32_t n = 0; n < 512; ++n)
             ASSERT_EQ(data[n], reversed ? (n & ~255u) + 255 - n % 256 : n);
         },
         {.dynamicLds = 1024});
}

TEST_P(TargetTest, Scratch) {
  const uint32_t count = 512;
  auto *indices = allocate<uint32_t>(count), *out = allocate<uint32_t>(count);
  for (uint32_t n = 0; n < count; ++n)
    indices[n] = n * 7;
  runAll("scratch_array", {count}, {128}, Arguments(indices, out), [&] {
    for (uint32_t n = 0; n < count; ++n)
      ASSERT_EQ(std::exchange(out[n], 0), n * 100 + (n * 7 & 31));
  });
}

TEST_P(TargetTest, Calls) {
  auto *out = allocate<uint32_t>(128);
  uint32_t fibonacci[12] = {0, 1};
  for (unsigned n = 2; n < 12; ++n)
    fibonacci[n] = fibonacci[n - 1] + fibonacci[n - 2];
  runAll("recursion", {128}, {64}, Arguments(out),
         [&] {
           for (uint32_t n = 0; n < 128; ++n)
             ASSERT_EQ(std::exchange(out[n], 0), fibonacci[n % 12]);
         },
         {.stackBytes = 8192});
}

TEST_P(TargetTest, GenericPointers) {
  auto *out = allocate<uint32_t>(128);
  for (uint32_t which = 0; which < 3; ++which)
    runAll("generic_pointers", {64}, {64}, Arguments(out, which), [&] {
      for (uint32_t n = 0; n < 64; ++n) {
        ASSERT_EQ(std::exchange(out[n], 0), 1000 + n) << which;
        ASSERT_EQ(std::exchange(out[64 + n], 0), which == 2 ? 1000 + n : 0) << which;
      }
    });
}

TEST_P(TargetTest, HalvesOfRegisters) {
  const uint32_t count = 128;
  auto *a = allocate<int16_t>(count), *b = allocate<int16_t>(count);
  auto *out = allocate<int16_t>(2 * count);
  for (uint32_t n = 0; n < count; ++n)
    a[n] = static_cast<int16_t>(n * 311), b[n] = static_cast<int16_t>(-7 * static_cast<int>(n));
  const auto expected = [](int16_t x) { return static_cast<int16_t>(x * x + x); };
  runAll("halves", {count}, {64}, Arguments(a, b, out), [&] {
    for (uint32_t n = 0; n < count; ++n) {
      ASSERT_EQ(std::exchange(out[2 * n], int16_t{0}), expected(a[n])) << n;
      ASSERT_EQ(std::exchange(out[2 * n + 1], int16_t{0}), expected(b[n])) << n;
    }
  });
  auto *x = allocate<_Float16>(count), *y = allocate<_Float16>(count);
  auto *pairs = allocate<_Float16>(2 * count), *single = allocate<_Float16>(count);
  for (uint32_t n = 0; n < count; ++n)
    x[n] = static_cast<_Float16>(n * 0.25f), y[n] = static_cast<_Float16>(8.0f - static_cast<float>(n));
  runAll("half_floats", {count}, {64}, Arguments(x, y, pairs, single), [&] {
    for (uint32_t n = 0; n < count; ++n) {
      ASSERT_EQ(static_cast<float>(pairs[2 * n]), 3 * static_cast<float>(x[n])) << n;
      ASSERT_EQ(static_cast<float>(pairs[2 * n + 1]), 3 * static_cast<float>(y[n])) << n;
      ASSERT_EQ(single[n], static_cast<_Float16>(static_cast<float>(x[n]) * static_cast<float>(y[n]) + 1)) << n;
    }
  });
}

TEST_P(TargetTest, Divisions) {
  const uint32_t count = 256;
  auto *a = allocate<double>(count), *b = allocate<double>(count), *out = allocate<double>(count);
  auto *c = allocate<float>(count), *quotients = allocate<float>(count);
  for (uint32_t n = 0; n < count; ++n) {
    a[n] = std::ldexp(1.0 + n / 7.0, static_cast<int>(n) - 128);
    b[n] = 3.0 + n / 3.0;
    c[n] = static_cast<float>(n) + 0.1f;
  }
  runAll("divisions", {count}, {64}, Arguments(a, b, out, c, quotients), [&] {
    for (uint32_t n = 0; n < count; ++n) {
      ASSERT_EQ(out[n], a[n] / b[n]) << n;
      ASSERT_NEAR(quotients[n], c[n] / static_cast<float>(b[n]), 1e-6f * std::abs(quotients[n])) << n;
    }
  });
}

TEST_P(TargetTest, Atomics) {
  auto *count = allocate<uint32_t>(1);
  auto *sum = allocate<float>(1);
  auto *greatest = allocate<uint64_t>(1);
  runAll("atomics", {300}, {100}, Arguments(count, sum, greatest), [&] {
    ASSERT_EQ(std::exchange(*count, 0), 300u);
    ASSERT_EQ(std::exchange(*sum, 0), 150.0f);
    ASSERT_EQ(std::exchange(*greatest, 0), uint64_t{299} << 33);
  });
}

TEST_P(TargetTest, Matrices) {
  if (!module->kernel("matrices"))
    return; // the compiler says that it has none
  auto *a = allocate<float>(64), *b = allocate<float>(64), *small = allocate<float>(256),
       *large = allocate<float>(2048);
  for (uint32_t n = 0; n < 64; ++n)
    a[n] = static_cast<float>(n), b[n] = static_cast<float>(n % 5) - 2;
  runAll("matrices", {64}, {64}, Arguments(a, b, small, large), [&] {
    for (uint32_t lane = 0; lane < 64; ++lane) {
      for (uint32_t row = 0; row < 4; ++row)
        ASSERT_EQ(small[row * 64 + lane], a[lane / 4 * 4 + row] * b[lane] + static_cast<float>(row + 1));
      for (uint32_t reg = 0; reg < 32; ++reg) {
        const uint32_t block = reg / 16, row = reg % 16 / 4 * 8 + lane / 32 * 4 + reg % 4;
        ASSERT_EQ(large[reg * 64 + lane], 4 * a[32 * block + row] * b[32 * block + lane % 32]) << reg << " " << lane;
      }
    }
  });
}

/// Kernels that have arguments in registers when they start, where the target can do that.
class PreloadTest : public TargetTest {
protected:
  void SetUp() override { load(std::string(TARGET_KERNELS "/preload.") + GetParam() + ".co"); }
};
INSTANTIATE_TEST_SUITE_P(Targets, PreloadTest, testing::ValuesIn(split(PRELOAD_TARGETS)),
                         [](const auto &info) { return info.param; });

TEST_P(PreloadTest, ArgumentsAreInRegisters) {
  auto *out = allocate<uint32_t>(128);
  const uint64_t sum = 0x0000000700000005;
  runAll("preloaded", {128}, {64}, Arguments(out, 3u, sum, 100u), [&] {
    for (uint32_t n = 0; n < 128; ++n)
      ASSERT_EQ(std::exchange(out[n], 0), n < 100 ? n * 3 + 12 : 0u);
  });
  // The code before the entry is not executed: it traps.
  auto stepper =
      gpu->step(*module->kernel("preloaded"), {.grid = {64}, .workgroup = {64}}, Arguments(out, 3u, sum, 100u));
  ASSERT_TRUE(stepper) << stepper.error().message();
  EXPECT_EQ((*stepper)->wave(0).pc() % 256, 0u);
  EXPECT_EQ((*stepper)->instruction(0).find("s_trap"), std::string::npos) << (*stepper)->instruction(0);
}

} // namespace
} // namespace luthier::vgpu
