// Before an instruction, each lane notes what goes in and whether all of it is finite. After it, a lane whose result is
// not, though all that went in was, has made a NaN or infinity: the launch's first such lane leaves a record.
#include "origin.h"

#include <luthier/hook.h>

LUTHIER_PER_LANE uint32_t finite, inputs[2 * nan_origin::kInputs];
LUTHIER_PER_LAUNCH uint32_t origin[nan_origin::kWords];
LUTHIER_PER_SITE uint64_t made; // by lanes

namespace {

/// Of a register: a float, or one or two numbers of 16 bits; 0: not a floating-point number.
__device__ bool isFinite(uint32_t value, uint32_t form) {
  const bool low = (value & 0x7c00) != 0x7c00, high = (value & 0x7c000000) != 0x7c000000;
  return form == nan_origin::F32      ? (value & 0x7f800000) != 0x7f800000
         : form == nan_origin::F16    ? low
         : form == nan_origin::TwoF16 ? low && high
                                      : true;
}
__device__ bool isFinite(uint64_t value, uint32_t form) {
  const uint32_t low = static_cast<uint32_t>(value), high = static_cast<uint32_t>(value >> 32);
  return form == nan_origin::F64 ? (high & 0x7ff00000) != 0x7ff00000 : isFinite(low, form) && isFinite(high, form);
}

__device__ void look(uint64_t value, uint32_t words, bool finiteResult, uint32_t site) {
  if (finiteResult || !finite)
    return;
  luthier::atomicAdd(made, 1);
  if (luthier::isFirstLane() && luthier::atomicCompareExchange(origin[nan_origin::Taken], 0, 1) == 0) {
    origin[nan_origin::Site] = site;
    for (uint32_t n = 0; n < 3; ++n) {
      origin[nan_origin::Group + n] = luthier::workgroupId(n);
      origin[nan_origin::Thread + n] = luthier::workitemId(n);
    }
    origin[nan_origin::Result] = static_cast<uint32_t>(value);
    origin[nan_origin::Result + 1] = static_cast<uint32_t>(value >> 32);
    for (uint32_t n = 0; n < 2 * nan_origin::kInputs; ++n)
      origin[nan_origin::Inputs + n] = inputs[n];
  }
}

} // namespace

#define INPUT(n)                                                                                                       \
  LUTHIER_HOOK(lane) void input##n##Of32(uint32_t value, uint32_t form) {                                              \
    finite = (n == 0 || finite) && isFinite(value, form);                                                              \
    inputs[2 * n] = value;                                                                                             \
    inputs[2 * n + 1] = 0;                                                                                             \
  }                                                                                                                    \
  LUTHIER_HOOK(lane) void input##n##Of64(uint64_t value, uint32_t form) {                                              \
    finite = (n == 0 || finite) && isFinite(value, form);                                                              \
    inputs[2 * n] = static_cast<uint32_t>(value);                                                                      \
    inputs[2 * n + 1] = static_cast<uint32_t>(value >> 32);                                                            \
  }
INPUT(0)
INPUT(1)
INPUT(2)

LUTHIER_HOOK(lane) void resultOf32(uint32_t value, uint32_t form, uint32_t site) {
  look(value, 1, isFinite(value, form), site);
}
LUTHIER_HOOK(lane) void resultOf64(uint64_t value, uint32_t form, uint32_t site) {
  look(value, 2, isFinite(value, form), site);
}
