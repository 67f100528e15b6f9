// Part of the bitcode that translated code is made of, and of nothing else: how handlers stop a wave there.
//
// An instruction that stops the wave has changed nothing, and the interpreter executes it again, with everything there
// is to report.

#include "vgpu/state/wave.h"

namespace luthier::vgpu {

const Inst *Wave::memoryFault(const Inst *, uint64_t, bool) { return nullptr; }
bool Wave::resolve(const Inst *, uint64_t &, uint64_t, bool) { return false; }
bool Wave::resolveLanes(const Inst *, uint64_t *, uint64_t, uint64_t, bool, uint64_t, uint64_t, uint64_t &) {
  return false;
}
bool Wave::outsideArguments(const Inst *, uint64_t &, uint32_t) { return false; }
bool Wave::misalignedScalar(const Inst *, uint64_t, uint32_t) { return false; }
const Inst *Wave::illegal(const Inst *, const char *) { return nullptr; }

} // namespace luthier::vgpu
