// A kernel's instructions as the translator gets them: records, where control goes, and which registers are touched.
//
// The engine collects them (wave/kernel_code.h), since it knows memory and decoders; `analyse` adds what follows from
// them alone. All of it is about registers and control flow: what an instruction computes is only in its row.
#pragma once

#include "luthier/reg.h"
#include "vgpu/state/wave.h"

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace luthier::vgpu {

struct GuestInstruction {
  static constexpr uint32_t kNowhere = ~0u;

  Inst record;                ///< a copy, which may outlive the original
  const Inst *original;       ///< what handlers are called with
  RegSet reads, writes;       ///< what is written in part, or perhaps not at all, is in both
  uint32_t next = kNowhere;   ///< index of the instruction behind it; nowhere if control never goes on there
  uint32_t target = kNowhere; ///< of a branch (kBranches)
  bool endsProgram = false;
  bool memory = false; ///< accesses memory or LDS
  bool leaves = false; ///< control may go anywhere: calls, returns
  bool usual = false;  ///< attempts know all of its modifiers and operands

  // By `analyse`.

  bool startsBlock = false;
  bool entry = false;     ///< waves may begin or go on here in translated code
  bool full = false;      ///< EXEC is expected to be full before it; translated code checks wherever EXEC is written
  bool fullAfter = false; ///< the same behind it
  RegSet live;            ///< before it
  RegSet written;         ///< possibly, since a wave has come in at an entry

  /// What the wave's own record must have for the interpreter to go on in front of it.
  RegSet left() const { return written & live; }
};

struct GuestCode {
  GuestCode() = default;
  GuestCode(GuestCode &&) noexcept = default;
  GuestCode &operator=(GuestCode &&) noexcept = default;

  std::vector<GuestInstruction> instructions; ///< by address
  uint32_t entry = 0;                         ///< the kernel's first
  uint32_t flatScratch = kFlatScratch;        ///< as WaveState has it
  bool needsGroup = false;                    ///< has instructions that wait for other waves
  bool keepsAll = false;                      ///< somebody will look at all registers, those of ended waves too

  /// Adds an instruction, with a copy of the constants that its record points to.
  GuestInstruction &add(const Inst &inst);

private:
  std::deque<std::array<uint32_t, 2 * kMaxLanes>> constants_;
};

/// Fills in the fields that say so.
void analyse(GuestCode &code);

/// Vector registers of a set as indices into Wave::v, sorted.
std::vector<uint16_t> vectorsOf(const RegSet &registers);

} // namespace luthier::vgpu
