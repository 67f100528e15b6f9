// A kernel that is launched again and again is translated in the background, and computes what it did before. Ends
// while another one is being translated, which must not disturb the end of the process.
//
// Usage: hot_kernel CODE_OBJECT [--interpreted]     ends with 77 where the CPU has no translation

#include "luthier/vgpu.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace luthier::vgpu;

namespace {

template <class T> T need(luthier::Result<T> result) {
  if (!result) {
    fprintf(stderr, "%s\n", result.error().message().c_str());
    exit(1);
  }
  return std::move(*result);
}

} // namespace

int main(int argc, char **argv) {
  const bool interpreted = argc > 2 && strcmp(argv[2], "--interpreted") == 0;
  if (!__builtin_cpu_supports("x86-64-v4"))
    return 77;
  auto gpu = need(VirtualGpu::create({.threads = 2}));
  auto module = need(gpu->loadFile(argv[1])), again = need(gpu->loadFile(argv[1]));
  constexpr uint32_t kItems = 1 << 20; // 16384 waves
  auto *x = need(gpu->allocate<float>(kItems)), *y = need(gpu->allocate<float>(kItems));
  for (uint32_t n = 0; n < kItems; ++n)
    x[n] = static_cast<float>(n % 1000), y[n] = 0;
  const LaunchOptions options{.grid = {kItems}, .workgroup = {256}};
  const Arguments arguments(x, y, 1.0f, kItems);
  uint64_t translated = 0;
  int launches = 0;
  // Sums stay exact: below 2^24.
  for (; launches < (interpreted ? 20 : 10000) && translated == 0; ++launches)
    translated = need(gpu->run(*module->kernel("saxpy"), options, arguments)).translatedWaves;
  for (uint32_t n = 0; n < kItems; ++n)
    if (y[n] != x[n] * static_cast<float>(launches)) {
      fprintf(stderr, "element %u is %g after %d launches\n", n, y[n], launches);
      return 1;
    }
  printf("%llu waves were translated in launch %d\n", static_cast<unsigned long long>(translated), launches);
  if ((translated != 0) == interpreted)
    return 1;
  for (int n = 0; n < 3; ++n)
    need(gpu->run(*again->kernel("saxpy"), options, arguments));
  return 0;
}
