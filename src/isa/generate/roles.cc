#include "isa/generate/roles.h"

#include "isa/generate/llvm_tables.h"

#include <string_view>

namespace luthier::isa::generate {

Role roleOf(const LlvmInstruction &instruction, const LlvmOperand &operand) {
  const std::string_view mnemonic = instruction.mnemonic;
  if (operand.isPcRelative)
    return Role::BranchTarget;
  switch (operand.name) {
  case Name::Vdst:
  case Name::Sdst:
  case Name::VdstX:
    return Role::Destination;
  case Name::VdstY:
    return Role::DestinationY;
  case Name::Vdst1:
    return Role::Destination1;
  case Name::Src0:
  case Name::None: // SOP1
  case Name::Src0X:
    return Role::Source0;
  case Name::Vsrc1X:
    return Role::Source1;
  case Name::Vsrc2X:
    return Role::Source2;
  case Name::Src0Y:
    return Role::Source0Y;
  case Name::Vsrc1Y:
    return Role::Source1Y;
  case Name::Vsrc2Y:
    return Role::Source2Y;
  case Name::Src1:
    return mnemonic == "s_set_gpr_idx_on" ? Role::IndexModes : Role::Source1;
  case Name::Src2:
  case Name::Index: // C is where D is, and the index takes its place
    return Role::Source2;
  case Name::Imm:
  case Name::ImmDeferred:
    return Role::Constant;
  case Name::Simm16:
    return mnemonic.starts_with("s_setreg") || mnemonic.starts_with("s_getreg") ? Role::HardwareRegister
                                                                                : Role::Immediate;
  case Name::Vaddr:
  case Name::Addr:
    return Role::VectorAddress;
  case Name::Saddr:
  case Name::Srsrc:
  case Name::Sbase:
    return Role::ScalarBase;
  case Name::Soffset:
    return Role::ScalarOffset;
  case Name::Offset:
    return Role::Offset;
  case Name::Offset0:
    return Role::Offset0;
  case Name::Offset1:
    return Role::Offset1;
  case Name::Vdata:
  case Name::Sdata:
  case Name::Data0:
    return Role::Data;
  case Name::Data1:
    return Role::Data1;
  case Name::Gds:
    return Role::Gds;
  case Name::Src0Modifiers:
    return Role::Source0Modifiers;
  case Name::Src1Modifiers:
    return Role::Source1Modifiers;
  case Name::Src2Modifiers:
    return Role::Source2Modifiers;
  case Name::Clamp:
    return Role::Clamp;
  case Name::Omod:
    return Role::OutputModifier;
  case Name::DppCtrl:
    return Role::DppControl;
  case Name::Dpp8:
    return Role::Dpp8;
  case Name::Fi:
    return Role::FetchInactive;
  case Name::DstSel:
    return Role::DestinationSelect;
  case Name::Src0Sel:
    return Role::Source0Select;
  case Name::Src1Sel:
    return Role::Source1Select;
  case Name::CachePolicy:
    return Role::CachePolicy;
  case Name::Format:
    return Role::Format;
  case Name::Cbsz:
    return Role::Cbsz;
  case Name::Abid:
    return Role::Abid;
  case Name::Blgp:
    return Role::Blgp;
  case Name::RowMask:
    return Role::RowMask;
  case Name::BankMask:
    return Role::BankMask;
  case Name::BoundCtrl:
    return Role::BoundControl;
  case Name::DstUnused:
    return Role::DestinationUnused;
  case Name::Tfe:
    return Role::Tfe;
  default:
    return Role::Other;
  }
}

OperandShape shapeOf(const LlvmOperand &operand) {
  switch (operand.name) {
  case Name::Imm:
  case Name::ImmDeferred:
    return OperandShape::Constant;
  case Name::None:
  case Name::Src0:
  case Name::Src1:
  case Name::Src2:
  case Name::Src0X:
  case Name::Src0Y:
  case Name::Soffset:
    return operand.isImmediate ? OperandShape::Number : OperandShape::Value;
  case Name::Simm16:
  case Name::Offset:
  case Name::Offset0:
  case Name::Offset1:
  case Name::Sdata:
  case Name::Target:
    return operand.isRegister ? OperandShape::Value : OperandShape::Number;
  default:
    return operand.isRegister ? OperandShape::Value : OperandShape::Modifier;
  }
}

} // namespace luthier::isa::generate
