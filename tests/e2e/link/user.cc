// A code object with a kernel that calls a function of another one.
#include "foreign.h"

#define PROVIDED extern "C" __attribute__((noinline))

extern "C" unsigned foreignMix(unsigned seed, unsigned extra);

PROVIDED unsigned userHelp(unsigned value) { return helped(value); }

extern "C" __attribute__((amdgpu_kernel)) void callForeign(unsigned *out, unsigned extra) {
  const unsigned n = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  out[n] = foreignMix(n, extra) + n;
}
