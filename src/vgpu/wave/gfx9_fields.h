// Where the manuals of Vega and CDNA have an instruction's registers: the bit positions of chapter "Microcode Formats",
// for what must not take them from LLVM (footprint.h).
#pragma once

#include "isa/format.h"
#include "isa/target.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/instruction_fields.h"

#include <cstdint>

namespace luthier::vgpu {

struct Gfx9Fields : InstructionFields {
  Gfx9Fields(isa::Format format, uint64_t bits, const Row &row, const isa::Target &target);

private:
  void set(unsigned n, uint32_t code);
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
