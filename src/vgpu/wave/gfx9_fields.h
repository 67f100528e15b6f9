// Where the manuals of Vega and CDNA have an instruction's registers: the bit positions of chapter "Microcode Formats",
// for what must not take them from LLVM (footprint.h).
#pragma once

#include "isa/format.h"
#include "isa/target.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"

#include <cstdint>

namespace luthier::vgpu {

/// The fields of an instruction that name registers or decide about them, by the manual's bit positions. Vector
/// registers are numbered as in Wave::v, AccVGPRs from kAccBase on.
struct Gfx9Fields {
  SrcKind srcKind[3] = {};
  uint32_t src[3] = {};
  uint32_t dst = 0;
  uint32_t sdst = kVcc;   ///< VALU: a lane mask that is written. Memory: a scalar address, offset or resource
  uint32_t addresses = 0; ///< buffers: registers of the address
  bool glc = false, lds = false, acc = false;
  bool highResult = false; ///< op_sel: the result goes to the high half
  bool keepsRest = false;  ///< SDWA: what the result leaves of its register stays

  Gfx9Fields(isa::Format format, uint64_t bits, const Row &row, const isa::Target &target);

private:
  void set(unsigned n, uint32_t code);
  void setVector(unsigned n, uint32_t reg) {
    srcKind[n] = SrcKind::Vgpr;
    src[n] = reg;
  }
  /// Memory instructions have a bit that says that their data is in AccVGPRs.
  void place(uint64_t bits, unsigned bit, const isa::Target &target) {
    acc = target.accumulatorOperands && isa::field(bits, bit, 1);
  }
  uint32_t accBase() const { return acc ? kAccBase : 0; }

  void vop(isa::Format format, uint64_t bits, const Row &row);
  void vop3(uint64_t bits, const Row &row);
  /// Of VOP3P-MAI, each operand has a bit for AccVGPRs; where there are none, C and D always are.
  void vop3p(uint64_t bits, const Row &row, const isa::Target &target);
};

} // namespace luthier::vgpu
