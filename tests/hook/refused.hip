// Files that are refused as a whole: one per CASE_... that is defined.

#include <luthier/hook.h>

__device__ uint32_t helper(uint32_t n);
extern __device__ uint32_t elsewhere;
LUTHIER_DEVICE uint32_t memory;

#if defined CASE_lds
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) {
  static __attribute__((shared)) uint32_t local[64];
  local[n & 63] = n;
  return local[63 - (n & 63)];
}
#elif defined CASE_recursion
__device__ uint32_t helper(uint32_t n) { return n < 2 ? n : helper(n - 1) + helper(n - 2); }
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return helper(n); }
#elif defined CASE_recursion_depth
LUTHIER_RECURSION(many) __device__ uint32_t helper(uint32_t n) { return n < 2 ? n : helper(n - 1) + helper(n - 2); }
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return helper(n); }
#elif defined CASE_recursive_hook
__device__ uint32_t hook(uint32_t n);
LUTHIER_RECURSION(4) __device__ uint32_t helper(uint32_t n) { return n < 2 ? n : hook(n - 1); }
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return helper(n); }
#elif defined CASE_undefined_function
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return helper(n); }
#elif defined CASE_printf
extern "C" __device__ int printf(const char *, ...);
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return printf("%u\n", n); }
#elif defined CASE_undefined_variable
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return elsewhere + n; }
#elif defined CASE_huge_aggregate
struct Huge {
  uint32_t words[40];
};
LUTHIER_HOOK(lane) uint32_t hook(Huge n) { return n.words[1]; }
#elif defined CASE_result
struct Large {
  uint32_t words[3];
  uint64_t more;
};
LUTHIER_HOOK(lane) Large hook(uint32_t n) { return {{n, n, n}, n}; }
#elif defined CASE_kind
LUTHIER_HOOK(thread) uint32_t hook(uint32_t n) { return n; }
#elif defined CASE_storage
__attribute__((device, used, annotate("luthier:variable:per_thread"))) uint32_t odd;
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return n; }
#elif defined CASE_mark
__attribute__((device, used, annotate("luthier:what"))) uint32_t odd;
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return n; }
#elif defined CASE_barrier
LUTHIER_HOOK(wave) void hook() { __builtin_amdgcn_s_barrier(); }
#elif defined CASE_pointer_call
__device__ uint32_t (*pointer)(uint32_t);
__device__ uint32_t other(uint32_t n, uint32_t m) { return n + m; }
__device__ uint32_t (*taken)(uint32_t, uint32_t) = other; // of another type
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return pointer(n); }
#elif defined CASE_pointer_elsewhere
__device__ uint32_t (*pointer)(uint32_t) = helper;
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return pointer == helper ? n : 0; }
#elif defined CASE_address
__device__ uint32_t *pointer = &memory;
LUTHIER_HOOK(lane) uint32_t hook(uint32_t n) { return *pointer + n; }
#elif defined CASE_initialized_per_wave
LUTHIER_PER_WAVE uint32_t odd = 3;
LUTHIER_HOOK(wave) void hook(uint32_t n) { odd += n; }
#elif defined CASE_large_per_wave
LUTHIER_PER_WAVE uint32_t odd[17];
LUTHIER_HOOK(wave) void hook(uint32_t n) { odd[3] += n; }
#elif defined CASE_initialized_per_lane
LUTHIER_PER_LANE uint32_t odd = 3;
LUTHIER_HOOK(lane) void hook(uint32_t n) { odd += n; }
#elif defined CASE_large_per_lane
LUTHIER_PER_LANE uint32_t odd[17];
LUTHIER_HOOK(lane) void hook(uint32_t n) { odd[3] += n; }
#elif defined CASE_initialized_per_workgroup
LUTHIER_PER_WORKGROUP uint32_t odd = 3;
LUTHIER_HOOK(lane) void hook(uint32_t n) { odd = n; }
#elif defined CASE_large_lds
LUTHIER_LDS uint32_t odd[16385];
LUTHIER_HOOK(lane) void hook(uint32_t n) { odd[n] = n; }
#elif defined CASE_misplaced_lds
__attribute__((device, used, annotate("luthier:variable:lds"))) uint32_t odd;
LUTHIER_HOOK(lane) void hook(uint32_t n) { odd = n; }
#elif defined CASE_misplaced_device
__attribute__((shared, used, annotate("luthier:variable:per_launch"))) uint32_t odd;
LUTHIER_HOOK(lane) void hook(uint32_t n) { odd = n; }
#elif defined CASE_variadic
LUTHIER_HOOK(wave) void hook(uint32_t n, ...) {}
#elif defined CASE_empty
__device__ uint32_t hook(uint32_t n) { return n; }
#endif
