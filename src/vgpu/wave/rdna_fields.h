// Where the manuals of RDNA 1 to 4 have an instruction's registers (chapter "Microcode Formats"), for what must not
// take them from LLVM (footprint.h). Scalar and vector ALU have their fields where gfx9 has them; memory does not.
#pragma once

#include "isa/format.h"
#include "isa/target.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/instruction_fields.h"

#include <cstdint>
#include <span>

namespace luthier::vgpu {

struct RdnaFields : InstructionFields {
  RdnaFields(isa::Format format, std::span<const uint8_t> code, const Row &row, const isa::Target &target);

  /// Of one half of a VOPD, X or Y: all operands have 32 bits. A result that is added to is the third source.
  static RdnaFields ofHalf(bool second, std::span<const uint8_t> code, const isa::Target &target);
  bool readsVcc = false; ///< of such a half

private:
  RdnaFields(std::span<const uint8_t> code, const isa::Target &target);
  /// A field of `width` bits at bit `low`, counted from the first dword on.
  uint32_t get(unsigned low, unsigned width) const;
  /// The number that Wave::s has for the scalar register with this code.
  uint32_t scalar(uint32_t code) const;
  void set(unsigned n, uint32_t code);

  void vop(isa::Format format, const Row &row);
  void vop3(const Row &row);
  /// The dword behind the instruction of `dwords` dwords, which has what SRC0 stands for.
  void dpp(unsigned dwords, uint32_t code);
  void memory(isa::Format format);
  /// The same of gfx12, whose instructions have three dwords.
  void longMemory(isa::Format format);

  uint32_t words_[4] = {};
  isa::FieldLayout layout_;
  bool m0BehindNull_;
};

} // namespace luthier::vgpu
