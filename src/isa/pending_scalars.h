// ValuReadSgpr, a mistake of gfx12 (SeamHazard): which SGPRs must not be read before a wait.
//
// Once a VALU instruction has read one half of an aligned pair of SGPRs, the hardware keeps the pair near the vector
// unit. If a later ALU instruction writes it, whoever reads it next may get the old value. The rule, as LLVM has it
// from version 20 on (AMDGPUWaitSGPRHazards):
//
//   VALU reads a pair; SALU writes one of it; SALU or VALU reads that one     s_wait_alu sa_sdst(0) before the last
//   VALU reads a pair; VALU writes one of it; VALU reads that one             s_wait_alu va_sdst(0), for VCC va_vcc(0)
//
// Scalar loads and buffer instructions in between make all writes seen. Which pairs were read is forgotten only after
// some ds_nop in a row, so that the first of the three may be anywhere before.
#pragma once

#include "isa/target.h"
#include "luthier/instr.h"

namespace luthier::isa {

/// What makes all writes seen: s_wait_alu depctr_va_sdst(0) depctr_va_vcc(0) depctr_sa_sdst(0).
inline constexpr uint32_t kScalarWait = 0xbf88f19c;

inline bool hasPendingScalars(const Target &target) {
  return (target.seamHazards & setOf({SeamHazard::ValuReadSgpr})) != 0;
}

/// SGPRs and VCC whose last write may not be seen yet, at a point of the code.
class PendingScalars {
public:
  /// All that VALU instructions may have read.
  static RegSet all();

  /// `read`: whole pairs that VALU instructions may have read by now. `written`: those that have just been written.
  explicit PendingScalars(const RegSet &read, const RegSet &written = {}) : read_(read) { wroteAll(written); }

  /// Whether a wait must come before `instr`.
  bool holdUp(const Instr &instr) const;
  void wait() { byScalar_ = byVector_ = {}; }
  void execute(const Instr &instr);
  /// Either may be the case; says whether this changed.
  bool merge(const PendingScalars &other);
  /// Any of `written` may just have been written, by whatever.
  void wroteAll(const RegSet &written) {
    byScalar_ |= written & read_;
    byVector_ |= written & read_;
  }
  RegSet pending() const { return byScalar_ | byVector_; }

private:
  RegSet read_;
  RegSet byScalar_, byVector_; ///< written by SALU and by VALU instructions
};

} // namespace luthier::isa
