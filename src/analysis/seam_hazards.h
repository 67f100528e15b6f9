// Hazards from gfx10 on, which s_nop does not cure: what must come between a kernel's code and code that is inserted.
//
// Hardware of these generations keeps its distances (hazards.h), but for a few mistakes. Each is about two or three
// instructions, often at any distance from each other, and about what lies between. Compilers see all of a function and
// put in the least; here the question is only what makes a piece of inserted code and its surroundings forget each
// other. A target's row says which of the mistakes it has (isa::SeamHazard, with LLVM's names for them).
//
//   Drain       s_waitcnt_depctr 0, s_wait_alu 0: all that ALUs have to write is written, all that memory instructions
//               have to read is read
//   ScalarMove  s_mov_b32 null, 0: scalar loads have read their addresses
//   WaitStores  s_waitcnt_vscnt null, 0
//   ForgetReads ds_nop, 4 times in waves of 32 lanes and 8 times in others: which SGPRs VALU instructions have read
//   VectorMove  v_mov_b32 of a register to itself: a VALU instruction that is not left out
//
// Hooks themselves are the business of LLVM, which keeps to all of these but for one: LLVM 19 knows nothing of
// ValuReadSgpr of gfx12, so that hook/scalar_waits.h adds what is missing, and rewrite/neighbours.h around them.
// Branches by 0x3f dwords on gfx1010 are avoided where code is laid out (rewrite/layout.h).
#pragma once

#include "isa/target.h"
#include "luthier/instr.h"

#include <span>

namespace luthier::analysis {

enum class Cure : uint8_t { Drain = 1, ScalarMove = 2, WaitStores = 4, ForgetReads = 8, VectorMove = 16 };
using Cures = uint8_t; ///< several
constexpr bool has(Cures cures, Cure cure) { return cures & static_cast<Cures>(cure); }

/// What must come before and behind a piece of inserted code.
struct SeamCures {
  Cures before = 0, behind = 0;
  Reg moved{}; ///< the vector register of VectorMove, behind
};

/// `readByVectors`: scalar registers that VALU instructions of the kernel read. `next`: the kernel's instructions
/// behind the place, as far as they are known.
SeamCures seamCures(const isa::Target &target, unsigned waveSize, std::span<const Instr *const> inserted,
                    const RegSet &readByVectors, std::span<const Instr> next);

/// Scalar registers that VALU instructions read, by pairs: what ForgetReads is about.
RegSet scalarsReadByVectors(std::span<const Instr> code);

} // namespace luthier::analysis
