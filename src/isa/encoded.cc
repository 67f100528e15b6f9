// EncodedInstr out of LLVM's MCInst. LLVM names most of what an encoding holds; two things are left to read from the
// bits: which source is a literal, and what the assembler has no syntax for.

#include "isa/encoded.h"

#include "isa/format.h"
#include "isa/llvm_mc.h"
#include "isa/source_field.h"

#include <algorithm>
#include <bit>

namespace luthier::isa {

namespace {

/// The number of the inline constant that LLVM expands to `value`; 0 if none is. The bits are those of f16, bf16, f32
/// or f64, as the operand is; no pattern stands for two different numbers.
int64_t inlineFloat(uint64_t value) {
  static constexpr double kValues[] = {0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0};
  static constexpr uint64_t kInverseTwoPi[] = {0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882};
  for (unsigned n = 0; n < 8; ++n) {
    const auto single = std::bit_cast<uint32_t>(static_cast<float>(kValues[n]));
    if (value == single || value == single >> 16 || value == std::bit_cast<uint64_t>(kValues[n]) ||
        value == std::bit_cast<uint16_t>(static_cast<_Float16>(kValues[n])))
      return src::kFloatFirst + n;
  }
  return std::ranges::find(kInverseTwoPi, value) != std::end(kInverseTwoPi) ? src::kFloatLast : 0;
}

constexpr uint8_t kHighResult = 8; ///< in EncodedInstr::opSel

uint8_t highHalf(Role role) {
  switch (role) {
  case Role::Destination:
    return kHighResult;
  case Role::Source0:
  case Role::Source1:
  case Role::Source2:
    return static_cast<uint8_t>(1u << (static_cast<unsigned>(role) - static_cast<unsigned>(Role::Source0)));
  default:
    return 0;
  }
}

/// What OPX and OPY of VOPD stand for.
Opcode dualOpcode(const Target &target, unsigned number) {
  static constexpr Opcode kOpcodes[] = {
      Opcode::V_FMAC_F32, Opcode::V_FMAAK_F32,  Opcode::V_FMAMK_F32,        Opcode::V_MUL_F32, Opcode::V_ADD_F32,
      Opcode::V_SUB_F32,  Opcode::V_SUBREV_F32, Opcode::V_MUL_DX9_ZERO_F32, Opcode::V_MOV_B32, Opcode::V_CNDMASK_B32,
      Opcode::V_MAX_F32,  Opcode::V_MIN_F32,    Opcode::V_DOT2ACC_F32_F16,  Opcode::V_NOP,     Opcode::V_NOP,
      Opcode::V_NOP,      Opcode::V_ADD_NC_U32, Opcode::V_LSHLREV_B32,      Opcode::V_AND_B32,
  };
  if (number >= std::size(kOpcodes))
    return Opcode::V_NOP;
  if (target.encoding >= EncodingFamily::Gfx12 && kOpcodes[number] == Opcode::V_MAX_F32)
    return Opcode::V_MAX_NUM_F32;
  if (target.encoding >= EncodingFamily::Gfx12 && kOpcodes[number] == Opcode::V_MIN_F32)
    return Opcode::V_MIN_NUM_F32;
  return kOpcodes[number];
}

/// False for a value that no constant has.
bool setConstant(EncodedOperand &out, const Form &form, const uint8_t *bytes, unsigned size, int64_t value) {
  if (size > 4 && isLiteral(form.literal, out.role, bytes)) {
    out.kind = SourceKind::Literal;
    out.value = wordAt(bytes + size - 4);
  } else if (value >= -16 && value <= 64) {
    out.kind = SourceKind::Integer;
    out.value = value;
  } else {
    out.kind = SourceKind::Float;
    out.value = inlineFloat(static_cast<uint64_t>(value));
  }
  return out.kind != SourceKind::Float || out.value != 0;
}

/// LLVM takes no notice of it where a target has no GDS.
int64_t gdsBit(const Target &target, const uint8_t *bytes) {
  return wordAt(bytes) >> (target.encoding < EncodingFamily::Gfx10 ? 16 : 17) & 1;
}

/// LLVM's modifier has one bit that is the sign or sign extension, whichever the form has; the encoding has both.
int64_t sdwaModifiers(const uint8_t *bytes, unsigned source) {
  const uint32_t fields = wordAt(bytes + 4) >> (19 + 8 * source);
  return (fields & 1 ? kSignExtend : 0) | (fields & 2 ? kNegate : 0) | (fields & 4 ? kAbsolute : 0);
}

} // namespace

bool EncodedInstr::writesImplicitly(Reg reg) const {
  return std::ranges::any_of(
      kImplicitRegisters.subspan(form->implicits + form->implicitReadCount, form->implicitWriteCount),
      [&](RegRange range) { return range.contains(reg); });
}

bool decodeEncoded(const LlvmMc &mc, const Target &target, std::span<const uint8_t> bytes, uint64_t address,
                   EncodedInstr &out) {
  llvm::MCInst inst;
  uint64_t size = 0;
  bool highResult = false;
  if (!mc.decode(bytes, address, inst, size, &highResult))
    return false;
  const Form &form = formOf(inst.getOpcode());
  if (!form.size)
    return false;
  out.opcode = static_cast<Opcode>(form.opcode);
  out.size = static_cast<uint8_t>(size);
  out.space = form.space;
  out.properties = form.properties;
  out.flags = form.flags;
  out.form = &form;
  out.count = 0;
  // Of op_sel, LLVM has what assembly can say, which is less than there is.
  out.opSel = form.flags & kOpSelField ? wordAt(bytes.data()) >> 11 & 0xf : 0;
  if (highResult)
    out.opSel |= kHighResult;
  if (form.literal == LiteralField::Dual) {
    out.first = dualOpcode(target, field(wordAt(bytes.data()), 22, 4));
    out.second = dualOpcode(target, field(wordAt(bytes.data()), 17, 5));
  }
  for (const OperandForm &operand : operandsOf(form)) {
    if (operand.index >= inst.getNumOperands() || out.count == EncodedInstr::kMost)
      continue;
    const llvm::MCOperand &from = inst.getOperand(operand.index);
    EncodedOperand &to = out.list[out.count++];
    to = {operand.role, SourceKind::Number, operand.written, {}, from.isImm() ? from.getImm() : 0};
    if (from.isReg()) {
      const RegisterRow &reg = kRegisterRows[from.getReg()];
      to.kind = reg.code && !reg.count ? SourceKind::Computed : SourceKind::Register;
      const RegisterOperand found = registerOperand(reg, operand.half);
      to.regs = found.regs;
      if (found.high && !(form.flags & kOpSelField))
        out.opSel |= highHalf(operand.role);
      to.value = reg.code;
    } else if (operand.shape == OperandShape::Value) {
      if (!setConstant(to, form, bytes.data(), out.size, to.value))
        return false;
    } else if (operand.shape == OperandShape::Constant) {
      to.kind = SourceKind::Literal;
      to.value = form.literal == LiteralField::Dual ? wordAt(bytes.data() + 8) : to.value & 0xffffffff;
    } else if (operand.role == Role::BranchTarget || operand.role == Role::Immediate ||
               operand.role == Role::HardwareRegister) {
      to.value = signExtended(to.value, 16);
    } else if (operand.role == Role::Offset && hasFlatOffset(form.space)) {
      to.value = flatOffset(target, form.space, to.value);
    } else if (operand.role == Role::FetchInactive) {
      to.value = to.value == 1 || to.value == src::kDpp8Inactive; // DPP8 has the number of its source
    } else if (operand.role == Role::Gds) {
      to.value |= gdsBit(target, bytes.data());
    } else if (operand.role >= Role::Source0Modifiers && operand.role <= Role::Source2Modifiers) {
      const unsigned source = static_cast<unsigned>(operand.role) - static_cast<unsigned>(Role::Source0Modifiers);
      if (form.flags & kSdwa)
        to.value = sdwaModifiers(bytes.data(), source);
      else if (!(form.flags & kPacked))
        to.value &= kNegate | kAbsolute;
    }
  }
  return true;
}

} // namespace luthier::isa
