// The fields of an instruction that name registers or decide about them, wherever a generation's encoding has them.
// gfx9_fields.h and rdna_fields.h read them from the bit positions in the manuals, for what must not take them from
// LLVM (footprint.h).
#pragma once

#include "vgpu/state/wave.h"

#include <cstdint>
#include <string_view>

namespace luthier::vgpu {

/// Whether `part` occurs in an instruction's name.
inline bool contains(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

/// Vector registers are numbered as in Wave::v, AccVGPRs from kAccBase on; scalar ones as in Wave::s, whatever numbers
/// the generation gives to M0 and the null register.
struct InstructionFields {
  /// In the place of a scalar register: the null register, which is as good as none.
  static constexpr uint32_t kNull = kDiscarded;

  SrcKind srcKind[3] = {};
  uint32_t src[3] = {};
  uint32_t dst = 0;
  uint32_t sdst = kVcc;          ///< VALU: a lane mask that is written. Memory: a scalar address, offset or resource
  uint32_t addresses = 0;        ///< buffers: registers of the address
  uint32_t hardwareRegister = 0; ///< SOPK: {size - 1 [15:11], offset [10:6], number [5:0]}
  bool glc = false, lds = false, acc = false;
  bool byVgpr = false;     ///< scratch: a vector register is part of the address
  bool highResult = false; ///< op_sel: the result goes to the high half
  bool keepsRest = false;  ///< what the result leaves of its register stays: SDWA, DPP with lanes left out

  void setVector(unsigned n, uint32_t reg) {
    srcKind[n] = SrcKind::Vgpr;
    src[n] = reg;
  }
};

} // namespace luthier::vgpu
