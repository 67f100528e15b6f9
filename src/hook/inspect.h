// Reads off a fragment's code what its placement must know.
#pragma once

#include "hook/fragment.h"
#include "isa/target.h"

namespace luthier::hook {

/// Decodes `fragment.bytes` and fills in everything below `relocations`. A wait at the end that only waits for stores
/// is dropped. Code that a fragment cannot have is an error that names the hook.
Result<void> inspect(Fragment &fragment, const isa::Target &target, unsigned waveSize);

/// The same for code that is placed as it was written (Fragment::asWritten): of what is said above, only waits change.
Result<void> inspectAssembly(Fragment &fragment, const isa::Target &target, unsigned waveSize);

/// Why a fragment cannot have this instruction; null when it can.
const char *refusal(const Fragment &fragment, const Instr &instr);

/// Whether an instruction names registers by a variable, which no fragment can have.
Result<bool> indexesRegisters(const Fragment &fragment, const isa::Target &target, unsigned waveSize);

} // namespace luthier::hook
