// Rules about which instructions may be issued together: clauses and dual issue.
//
// s_clause N (gfx10 and later) promises that the N + 1 instructions behind it are of one kind and follow each other
// whatever happens: SMEM, LDS, or vector memory, of which gfx11 tells loads, stores and atomics, FLAT and all else
// apart (LLVM: SIInsertHardClauses; the manuals' "Instruction Clauses"). s_nop may be among them, but not as the first.
// A branch, a wait or another s_clause ends a clause before its end, and a branch into one finds no clause. On gfx1010
// another kind just ends it.
//
// A VOPD instruction (gfx11 and later, waves of 32 lanes) reads the registers of both its halves at once. Sources in
// the same position must be in different banks (register number modulo 4), third sources in different halves of them
// (modulo 2), and there are two scalar sources in all, of which a literal is one.
#pragma once

#include "analysis/cfg.h"
#include "isa/target.h"

#include <string>
#include <vector>

namespace luthier::analysis {

struct IssueFinding {
  const Instr *instr = nullptr;   ///< at fault
  const Instr *earlier = nullptr; ///< the s_clause; null for dual issue
  std::string why;
};

std::vector<IssueFinding> findClauseErrors(const isa::Target &target, const Cfg &cfg);
std::vector<IssueFinding> findDualIssueErrors(const isa::Target &target, unsigned waveSize, const Cfg &cfg);

} // namespace luthier::analysis
