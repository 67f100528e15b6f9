// LLVM's tables of AMD GPU instructions, with the names that its public headers do not have.
//
// The meaning of an operand ("saddr", "offset1") is known to LLVM by an index whose enumeration is in a private header,
// as is the look-up function's declaration. The enumeration is not needed: an instruction whose operands are known from
// its assembly syntax tells which index stands for which name. What each index was learnt from is in llvm_tables.cc;
// an LLVM in which one of these instructions looks different fails the build.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::isa::generate {

enum class Name : uint8_t {
  None, ///< LLVM has none
  Other,
  Vdst,
  Vdst1,
  Sdst,
  VdstX,
  VdstY,
  Src0,
  Src1,
  Src2,
  Src0X,
  Src0Y,
  Vsrc1X,
  Vsrc1Y,
  Vsrc2X,
  Vsrc2Y,
  Imm,
  ImmDeferred,
  Simm16,
  Vaddr,
  Saddr,
  Srsrc,
  Sbase,
  Soffset,
  Offset,
  Offset0,
  Offset1,
  Vdata,
  VdataIn,
  Sdata,
  Addr,
  Data0,
  Data1,
  Gds,
  VdstIn,
  Old,
  Src0Modifiers,
  Src1Modifiers,
  Src2Modifiers,
  Clamp,
  Omod,
  DppCtrl,
  Dpp8,
  RowMask,
  BankMask,
  BoundCtrl,
  Fi,
  DstSel,
  DstUnused,
  Src0Sel,
  Src1Sel,
  OpSel,
  OpSelHi,
  Tfe,
  CachePolicy,
  Format, ///< of typed buffers
  Cbsz,
  Abid,
  Blgp,
  Index, ///< of sparse matrices
  Target,
  Count,
};

struct LlvmOperand {
  Name name;
  bool isRegister;  ///< can only be one
  bool isImmediate; ///< can only be one
  bool isPcRelative;
  bool isShortHalf; ///< of a class of VGPRs that has only the first 128: bit 7 selects a half
  std::optional<unsigned> tiedTo;
};

struct LlvmInstruction {
  std::string name;     ///< LLVM's: "V_ADD_F32_e32_vi"
  std::string mnemonic; ///< the vendor's: "v_add_f32"; empty for what is in no machine code
  unsigned size, defs;
  std::vector<LlvmOperand> operands;
  std::vector<unsigned> reads, writes; ///< implicit registers
};

struct LlvmRegister {
  std::string name;
  unsigned code;
};

struct LlvmTables {
  std::vector<LlvmInstruction> instructions;
  std::vector<LlvmRegister> registers;
};

Result<LlvmTables> readLlvmTables();

} // namespace luthier::isa::generate
