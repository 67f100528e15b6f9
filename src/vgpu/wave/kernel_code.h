// The instructions that a kernel can reach, for the translator (vgpu/translate/).
#pragma once

#include "support/result.h"
#include "vgpu/translate/guest_code.h"

namespace luthier::vgpu {

class Dispatch;

/// Follows all branches from the entry of the dispatch's kernel. An error says what is on the way of a translation.
Result<GuestCode> kernelCode(const Dispatch &dispatch);

} // namespace luthier::vgpu
