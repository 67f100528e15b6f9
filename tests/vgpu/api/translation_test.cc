// Compiled kernels, translated and interpreted: memory must be the same to the bit. LUTHIER_VGPU_TRANSLATE is `always`
// here; what is counted is interpreted nevertheless.

#include "luthier/vgpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace luthier::vgpu {
namespace {

class TranslationTest : public testing::Test {
protected:
  void SetUp() override {
    auto made = VirtualGpu::create({.threads = 2});
    ASSERT_TRUE(made) << made.error().message();
    gpu = std::move(*made);
  }

  const Kernel &load(const char *file, const char *name) {
    auto loaded = gpu->loadFile(file);
    EXPECT_TRUE(loaded) << loaded.error().message();
    modules.push_back(std::move(*loaded));
    const Kernel *found = modules.back()->kernel(name);
    EXPECT_NE(found, nullptr) << name;
    return *found;
  }

  uint32_t *allocate(size_t words) {
    auto memory = gpu->allocate<uint32_t>(words);
    EXPECT_TRUE(memory) << memory.error().message();
    return *memory;
  }

  /// Runs interpreted, then as it comes; `out` must be the same. Returns how many waves were translated.
  uint64_t both(const Kernel &kernel, LaunchOptions options, const Arguments &arguments, uint32_t *out, size_t words) {
    std::vector<uint32_t> results[2];
    uint64_t translated = 0;
    for (const bool counted : {true, false}) {
      std::fill_n(out, words, 0);
      options.count = counted;
      const auto report = gpu->run(kernel, options, arguments);
      EXPECT_TRUE(report) << report.error().message();
      results[counted].assign(out, out + words);
      if (!report)
        return 0;
      EXPECT_TRUE(!counted || report->translatedWaves == 0);
      translated = report->translatedWaves;
    }
    for (size_t n = 0; n < words; ++n)
      if (results[0][n] != results[1][n]) {
        ADD_FAILURE() << kernel.name << ": dword " << n << " is " << results[0][n] << " translated, " << results[1][n]
                      << " interpreted";
        break;
      }
    return translated;
  }

  std::unique_ptr<VirtualGpu> gpu;
  std::vector<std::unique_ptr<Module>> modules;
};

/// Numbers of all sizes, both signs, denormals, infinities; NaNs where they are asked for.
void fill(uint32_t *memory, size_t words, bool nans) {
  uint32_t state = 1;
  for (size_t n = 0; n < words; ++n) {
    state = state * 1664525 + 1013904223;
    memory[n] = nans || (state & 0x7f800000) != 0x7f800000 ? state : 0x7f800000;
  }
}

TEST_F(TranslationTest, ElementWiseKernels) {
  constexpr uint32_t kItems = 256 * 33, kWords = kItems * 4;
  uint32_t *in = allocate(kWords), *out = allocate(kWords);
  fill(in, kWords, false);
  for (const char *name : {"integers", "floats", "doubles", "longs", "bytes", "vectors"}) {
    const Kernel &kernel = load(TRANSLATION_KERNELS, name);
    // With the last workgroup in part behind the end, and with items that are not a multiple of anything.
    for (const uint32_t count : {kItems, kItems - 256 + 64 + 3}) {
      const uint64_t translated =
          both(kernel, {.grid = {kItems}, .workgroup = {256}}, Arguments(in, out, count), out, kWords);
      EXPECT_EQ(translated, kItems / 64) << name; // those behind the end too
    }
    both(kernel, {.grid = {kItems - 77}, .workgroup = {256}}, Arguments(in, out, kItems), out, kWords);
  }
}

// Which of several NaNs comes out is for the interpreter to say; all others stay.
TEST_F(TranslationTest, SeveralNans) {
  constexpr uint32_t kItems = 256 * 33, kWords = kItems * 4;
  uint32_t *in = allocate(kWords), *out = allocate(kWords);
  fill(in, kWords, true);
  for (const char *name : {"floats", "doubles"}) {
    const uint64_t translated = both(load(TRANSLATION_KERNELS, name), {.grid = {kItems}, .workgroup = {256}},
                                     Arguments(in, out, kItems), out, kWords);
    EXPECT_LT(translated, kItems / 64) << name;
  }
}

TEST_F(TranslationTest, TwoDimensions) {
  constexpr uint32_t kWidth = 1024, kHeight = 37;
  uint32_t *out = allocate(kWidth * kHeight);
  const uint64_t translated = both(load(TRANSLATION_KERNELS, "plane"), {.grid = {kWidth, kHeight}, .workgroup = {256}},
                                   Arguments(out, kWidth), out, kWidth * kHeight);
  EXPECT_EQ(translated, kWidth * kHeight / 64);
}

TEST_F(TranslationTest, KernelsOfTheBenchmark) {
  constexpr uint32_t kItems = 256 * 64, kEach = 4, kWords = kItems * kEach;
  uint32_t *a = allocate(kWords), *b = allocate(kWords), *out = allocate(kWords);
  for (uint32_t n = 0; n < kWords; ++n) {
    const float x = std::sin(static_cast<float>(n));
    memcpy(a + n, &x, 4);
    memcpy(b + n, &x, 4);
  }
  const LaunchOptions options{.grid = {kItems}, .workgroup = {256}};
  const char *file = TRANSLATION_BENCH_KERNELS;
  EXPECT_EQ(both(load(file, "saxpy"), options, Arguments(a, out, 2.0f, kItems), out, kWords), kItems / 64);
  EXPECT_EQ(both(load(file, "fma_loop"), options, Arguments(out, 10, 0.999f, 0.001f), out, kWords), kItems / 64);
  EXPECT_EQ(both(load(file, "matmul"), options, Arguments(a, b, out, 128u), out, kWords), kItems / 64);
  EXPECT_EQ(both(load(file, "reduction"), options, Arguments(a, out, kEach), out, kWords), kItems / 64);
  EXPECT_EQ(both(load(file, "nbody"), options, Arguments(a, out, 512u), out, kWords), kItems / 64);
  EXPECT_EQ(both(load(file, "histogram"), options, Arguments(a, out, kEach), out, kWords), kItems / 64);
}

} // namespace
} // namespace luthier::vgpu
