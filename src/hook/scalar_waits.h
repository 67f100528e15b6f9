// The waits that ValuReadSgpr of gfx12 asks for inside fragments (isa/pending_scalars.h). LLVM adds them from version
// 20 on, LLVM 19 knows nothing of it; so fragments get those that are missing when they are read.
#pragma once

#include "hook/fragment.h"

namespace luthier::hook {

/// Adds what is missing to fragment.bytes and moves branches and relocations; fragment.code is that of the old bytes.
/// True when something was added.
///
/// Fragments are renamed later, by which registers of different pairs may come to share one: so every register counts
/// as read by vector instructions before. What comes before the fragment is the placer's (rewrite/neighbours.h).
bool addScalarWaits(Fragment &fragment, const isa::Target &target);

} // namespace luthier::hook
