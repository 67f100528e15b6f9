// The modes of MODE that change what vector instructions do: GPR indexing and VSKIP.
//
// Vector handlers know nothing of them. While one is on, `Wave::run` leaves the interpreter to `runModal`, which
// rewrites vector instructions or leaves them out. Compilers write the sequence s_set_gpr_idx_on, v_mov_b32,
// s_set_gpr_idx_off; all other code pays nothing.
#pragma once

#include "vgpu/state/wave.h"

namespace luthier::vgpu {

/// MODE fields beside those in wave.h (manual, section 3.5).
inline constexpr uint32_t kGprIdxEn = 1u << 27;
inline constexpr uint32_t kVskip = 1u << 28;
inline constexpr unsigned kCspShift = 29; ///< stack pointer of s_cbranch_g_fork and its like
inline constexpr uint32_t kCsp = 7u << kCspShift;
inline constexpr uint32_t kModal = kGprIdxEn | kVskip;

/// Executes one instruction while a mode is on; returns what a handler returns.
const Inst *executeModal(Wave &w, const Inst *i);

/// Executes until the modes are left (Stop::Mode), the wave stops otherwise, or `budget` is used up.
void runModal(Wave &w, uint64_t &budget);

} // namespace luthier::vgpu
