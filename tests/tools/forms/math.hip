// The device library, and a string.
#include <luthier/hook.h>

extern "C" __device__ double __ocml_log2_f64(double);
extern "C" __device__ double __ocml_rint_f64(double);

LUTHIER_PER_LAUNCH uint64_t histogram[64], logarithms, letters;

LUTHIER_HOOK(wave) void count(uint32_t site) {
  const uint32_t lanes = luthier::popcount(luthier::exec());
  if (!lanes)
    return;
  luthier::atomicAdd(histogram[lanes - 1], 1);
  luthier::atomicAdd(logarithms, static_cast<uint64_t>(__ocml_rint_f64(__ocml_log2_f64(lanes) * (1 << 20))));
  const char *const text = "neither registers nor memory";
  luthier::atomicAdd(letters, static_cast<uint64_t>(text[(site + lanes) % 28]));
}
