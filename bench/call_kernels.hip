// The kernels of the virtual GPU's benchmark with a call of a counting function in every block: what a hook costs when
// it is called as functions are. The calls are placed by Clang's coverage pass, behind its optimizations; without
// knowledge of what the callee clobbers (no IPRA), so that everything that the calling convention gives away is
// saved. The compiler allocates registers knowing of the calls, which no tool that works on binaries can: this is the
// least that calls can cost.
extern "C" __attribute__((device)) unsigned long long total;
__attribute__((device)) unsigned long long total;

extern "C" __attribute__((device, noinline, used, no_sanitize("coverage"))) void __sanitizer_cov_trace_pc() {
  const unsigned lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  if (lane == __builtin_amdgcn_readfirstlane(lane)) // once per wave
    __hip_atomic_fetch_add(&total, 1ull, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

#include "vgpu_kernels.hip"
