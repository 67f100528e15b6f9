// Kernels that call the host through AMD's device libraries, as HIP programs do: what they were compiled against
// decides the protocol.
using u32 = unsigned;
using u64 = unsigned long long;
typedef u64 Words2 __attribute__((ext_vector_type(2)));

#define DEVICE __attribute__((device))
extern "C" DEVICE Words2 __ockl_hostcall_preview(u32 service, u64, u64, u64, u64, u64, u64, u64, u64);
extern "C" DEVICE Words2 __ockl_hostcall_internal(void *buffer, u32 service, u64, u64, u64, u64, u64, u64, u64, u64);
extern "C" DEVICE Words2 __ockl_call_host_function(u64 function, u64, u64, u64, u64, u64, u64, u64);
extern "C" DEVICE int printf(const char *, ...);

static DEVICE u32 globalId() {
  return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
}
#define KERNEL extern "C" __attribute__((global)) void

KERNEL ocklCall(u64 *answers) {
  const u32 i = globalId();
  const Words2 answer = __ockl_hostcall_preview(42, i, 1, 2, 3, 4, 5, 6, 7);
  answers[2 * i] = answer.x;
  answers[2 * i + 1] = answer.y;
}

KERNEL ocklCallOn(void *buffer, u64 *answers) {
  const u32 i = globalId();
  if (i % 2)
    answers[i] = __ockl_hostcall_internal(buffer, 42, i, 1, 2, 3, 4, 5, 6, 7).x;
}

KERNEL ocklFunction(u64 function, u64 *answers) {
  const u32 i = globalId();
  const Words2 answer = __ockl_call_host_function(function, i, 10, 20, 30, 40, 50, 60);
  answers[2 * i] = answer.x;
  answers[2 * i + 1] = answer.y;
}

/// What clang makes of HIP's printf.
KERNEL hipPrintf(const int *numbers, const char *text) {
  const u32 i = globalId();
  if (numbers[i] % 2 == 0)
    printf("item %03u: %s %d, %10.3s|%-8s|, %#llx, %.3f, %c\n", i, "even", numbers[i], text, text, 0x100000000ull + i,
           i / 8.0, 'a' + i % 26);
  else
    printf("item %03u: odd\n", i);
}
