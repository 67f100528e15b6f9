#include "random_forms.h"

#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"

#include <array>
#include <cstring>

namespace luthier::vgpu::test {

using isa::field;
using isa::Format;
namespace src = isa::src;

namespace {

// Operands that are apart even when all have the widest size they come in.
constexpr uint32_t kVdst = 64, kSdst = 20;
constexpr uint32_t kVsrc[] = {32, 40, 96};
constexpr uint32_t kSsrc[] = {24, 28, 36};

void put(uint64_t &bits, unsigned low, unsigned width, uint64_t value) {
  const uint64_t mask = ((1ull << width) - 1) << low;
  bits = (bits & ~mask) | (value << low & mask);
}

std::array<uint8_t, 16> bytesOf(uint64_t bits) {
  std::array<uint8_t, 16> bytes{};
  memcpy(bytes.data(), &bits, sizeof bits);
  return bytes;
}

} // namespace

uint32_t bufferFormat(std::string_view mnemonic) {
  const bool d16 = mnemonic.find("_d16") != std::string_view::npos;
  const uint32_t data = mnemonic.ends_with("_xyzw")  ? (d16 ? 12 : 14)
                        : mnemonic.ends_with("_xyz") ? 13
                        : mnemonic.ends_with("_xy")  ? (d16 ? 5 : 11)
                                                     : (d16 ? 2 : 4);
  return data | 7 << 4; // floats
}

Result<std::unique_ptr<InstructionMaker>> InstructionMaker::create(const isa::Target &target) {
  std::unique_ptr<InstructionMaker> maker(new InstructionMaker(target));
  maker->universe_ = LUTHIER_TRY(isa::opcodeUniverse(target));
  maker->disassembler_ = LUTHIER_TRY(isa::Disassembler::create(target));
  return maker;
}

bool InstructionMaker::implements(const isa::OpcodeForm &form) {
  Inst inst;
  decoder_.decode(bytesOf(form.bits), 0, inst);
  return Decoder::implements(inst);
}

bool InstructionMaker::fits(uint64_t bits) {
  const auto bytes = bytesOf(bits);
  const auto what = disassembler_->disassemble(bytes, 0);
  if (!what || what->mnemonic != mnemonic_ || what->form != form_)
    return false;
  // Operands that an instruction cannot have are a comment in LLVM's text; examples have them too.
  const unsigned wrong = wrongOperands(bits);
  if (wrong > wrong_)
    return false;
  Inst inst;
  decoder_.decode(bytes, 0, inst);
  if (!Decoder::implements(inst))
    return false;
  wrong_ = wrong;
  return true;
}

bool InstructionMaker::hasScalarResult(uint64_t bits) {
  Inst inst;
  decoder_.decode(bytesOf(bits), 0, inst);
  return inst.row && (inst.row->traits & kWritesMask) && inst.row->dst != Type::Mask;
}

std::string InstructionMaker::textOf(uint64_t bits) { return disassembler_->text(bytesOf(bits), 0); }

unsigned InstructionMaker::wrongOperands(uint64_t bits) {
  const std::string text = textOf(bits);
  unsigned wrong = 0;
  for (size_t at = text.find("/*Invalid"); at != std::string::npos; at = text.find("/*Invalid", at + 1))
    ++wrong;
  return wrong;
}

void InstructionMaker::fill(uint64_t &bits, unsigned low, unsigned width, std::initializer_list<uint32_t> values) {
  unsigned wrong = ~0u; // with the best of the values so far
  for (const uint32_t value : values) {
    uint64_t changed = bits;
    put(changed, low, width, value);
    if (fits(changed) && wrong_ < wrong) {
      bits = changed;
      wrong = wrong_;
    }
    if (wrong == 0)
      return;
  }
}

void InstructionMaker::fillModifiers(uint64_t &bits, std::initializer_list<unsigned> positions) {
  if (operands_ == Operandry::Apart)
    return;
  for (const unsigned position : positions)
    if (random_() % 3 == 0 && fits(bits ^ 1ull << position) && textOf(bits) != textOf(bits ^ 1ull << position))
      bits ^= 1ull << position; // bits that LLVM ignores are none of an instruction
}

uint32_t InstructionMaker::any(std::initializer_list<uint32_t> values) {
  return values.begin()[random_() / 7 % values.size()];
}

/// `wide`: the field has 9 bits and may name VGPRs.
uint32_t InstructionMaker::source(unsigned n, bool wide) {
  switch (operands_) {
  case Operandry::Apart:
    return wide ? src::kVgpr0 + kVsrc[n] : kSsrc[n];
  case Operandry::Scalar:
    return wide && n > 0 ? src::kVgpr0 + kVsrc[n] : kSsrc[n];
  case Operandry::Mixed:
    break;
  }
  if (wide && random_() / 7 % 2)
    return any({src::kVgpr0 + kVdst, src::kVgpr0 + kVsrc[n], src::kVgpr0 + kVsrc[0], src::kVgpr0 + 3});
  return any({kSsrc[n], kSsrc[0], kSdst, src::kVccLo, src::kVccLo + 1, src::kM0, src::kExecLo, src::kScc, src::kVccz,
              src::kExecz, src::kLiteral, src::kIntZero + 5, src::kFloatFirst + 2, src::kSharedBase, kFlatScratch});
}

void InstructionMaker::fillMemory(uint64_t &bits, Format format) {
  using namespace addresses;
  switch (format) {
  case Format::Smem:
    fill(bits, 32, 21, {field(bits, 17, 1) || field(bits, 14, 1) ? 8 : kScalarOffset});
    fill(bits, 57, 7, {kScalarOffset});
    fill(bits, 0, 6, {(mnemonic_.starts_with("s_buffer") ? kResource : kScalar) / 2});
    fill(bits, 6, 7, {16, kSdst});
    break;
  case Format::Ds: {
    const bool two = mnemonic_.find("read2") != std::string::npos || mnemonic_.find("write2") != std::string::npos ||
                     mnemonic_.find("wrxchg2") != std::string::npos;
    fill(bits, 0, 16, {two ? 1 | 3 << 8 : mnemonic_.find("swizzle") != std::string::npos ? 0x041fu : 16u});
    fill(bits, 32, 8, {kLds});
    fill(bits, 40, 8, {kVsrc[0]});
    fill(bits, 48, 8, {kVsrc[1]});
    fill(bits, 56, 8, {operands_ == Operandry::Mixed ? kVsrc[0] : kVdst, kVdst});
    fillModifiers(bits, {25});
    break;
  }
  case Format::Flat: {
    const bool scratch = field(bits, 14, 2) == 1, global = field(bits, 14, 2) == 2, off = field(bits, 48, 7) == 0x7f;
    fill(bits, 0, 13, {16});
    fill(bits, 32, 8, {scratch || (global && !off) ? kOffset : kVector});
    if ((scratch || global) && !off)
      fill(bits, 48, 7, {scratch ? kScalarOffset : kScalar});
    fill(bits, 40, 8, {kVsrc[0]});
    fill(bits, 56, 8, {operands_ == Operandry::Mixed ? kVsrc[0] : kVdst, kVdst});
    fillModifiers(bits, {17, 55});
    break;
  }
  case Format::Mubuf:
  case Format::Mtbuf:
    fill(bits, 0, 12, {16});
    fill(bits, 32, 8, {kOffset});
    fill(bits, 40, 8, {kVdst});
    fill(bits, 48, 5, {kResource / 4});
    fill(bits, 56, 8, {operands_ == Operandry::Apart ? src::kIntZero : kScalarOffset});
    if (format == Format::Mtbuf)
      fill(bits, 19, 7, {bufferFormat(mnemonic_)});
    fillModifiers(bits, {55});
    break;
  default:
    break;
  }
}

MadeInstruction InstructionMaker::make(const isa::OpcodeEntry &opcode, const isa::OpcodeForm &form, Operandry operands,
                                       uint32_t seed) {
  uint64_t bits = form.bits;
  const auto example = disassembler_->disassemble(bytesOf(bits), 0);
  mnemonic_ = opcode.mnemonic;
  form_ = example ? example->form : 0;
  wrong_ = wrongOperands(bits);
  operands_ = operands;
  random_.seed(seed * 2654435761u + 12345);
  const bool mixed = operands == Operandry::Mixed;
  const uint32_t vdst = mixed ? any({kVdst, kVsrc[0], kVsrc[1]}) : kVdst;
  const uint32_t sdst = mixed ? any({kSdst, kSsrc[0], src::kVccLo, src::kM0, src::kExecLo}) : kSdst;
  const bool relative = mnemonic_.starts_with("s_movrel");
  const bool jumps = mnemonic_ == "s_setpc_b64" || mnemonic_ == "s_swappc_b64";
  const uint32_t first = field(bits, 0, 9);
  const auto select = [&] {
    return mixed ? static_cast<uint32_t>(random_() / 7 % 7) : 6u;
  }; // of SDWA: byte, word, dword
  switch (form.format) {
  case Format::Sop1:
    fill(bits, 16, 7, {relative ? kSdst : sdst, kSdst});
    fill(bits, 0, 8, {jumps ? addresses::kCode : relative ? kSsrc[0] : source(0, false), kSsrc[0]});
    break;
  case Format::Sop2:
    fill(bits, 16, 7, {sdst, kSdst});
    [[fallthrough]];
  case Format::Sopc:
    fill(bits, 0, 8, {source(0, false), kSsrc[0]});
    fill(bits, 8, 8, {source(1, false), kSsrc[1]});
    break;
  case Format::Sopk:
    fill(bits, 16, 7, {sdst, kSdst});
    // A branch skips one instruction; HW_REG_MODE, its rounding bits.
    fill(bits, 0, 16, {mnemonic_.find("reg") != std::string::npos ? 1u | 1u << 11 : 1u});
    if (mnemonic_ == "s_setreg_imm32_b32")
      put(bits, 32, 32, 2);
    break;
  case Format::Sopp:
    fill(bits, 0, 16, {mnemonic_ == "s_set_gpr_idx_mode" ? 0u : 1u});
    break;
  case Format::Vop1:
  case Format::Vop2:
  case Format::Vopc:
    if (form.format != Format::Vopc)
      fill(bits, 17, 8, {vdst, kVdst});
    if (form.format != Format::Vop1)
      fill(bits, 9, 8, {mixed ? any({kVdst, kVsrc[1], kVsrc[0]}) : kVsrc[1]});
    if (first == src::kSdwa || first == src::kDpp) {
      fill(bits, 32, 8, {kVsrc[0]});
      if (first == src::kDpp) {
        if (mixed) // row_shr, wave_shl, row_mirror, row_bcast31, row_newbcast, quad_perm
          fill(bits, 40, 9, {any({0x111, 0x130, 0x140, 0x143, 0x152, 0x1b})});
        fillModifiers(bits, {51, 52, 54, 57, 62});
      } else if (form.format == Format::Vopc) {
        fill(bits, 40, 8, {mixed ? 0 : 0x80u | kSdst});
        fillModifiers(bits, {51, 52, 53, 55, 59, 60, 63});
      } else {
        fill(bits, 40, 3, {select()});
        fill(bits, 43, 2, {mixed ? any({0, 1, 2}) : 0});
        fillModifiers(bits, {45, 46, 51, 52, 53, 55, 59, 60, 63});
      }
      if (first == src::kSdwa) {
        fill(bits, 48, 3, {select()});
        if (form.format != Format::Vop1)
          fill(bits, 56, 3, {select()});
      }
    } else {
      fill(bits, 0, 9, {source(0, true), kSsrc[0]});
    }
    break;
  case Format::Vop3:
  case Format::Vop3p:
    fill(bits, 0, 8, {vdst, kVdst});
    fill(bits, 32, 9, {source(0, true), src::kVgpr0 + kVsrc[0], kSsrc[0]});
    fill(bits, 41, 9, {source(1, true), src::kVgpr0 + kVsrc[1], kSsrc[1]});
    fill(bits, 50, 9, {source(2, true), src::kVgpr0 + kVsrc[2], kSsrc[2]});
    if (hasScalarResult(bits)) // VOP3B
      fill(bits, 8, 7, {kSdst});
    else
      fillModifiers(bits, {8, 9, 10, 11, 12, 13, 14});
    fillModifiers(bits, {15, 59, 60, 61, 62, 63});
    break;
  default:
    fillMemory(bits, form.format);
  }
  if (field(bits, 0, 8) == src::kLiteral && form.format <= Format::Vopc && form.format != Format::Sopk)
    put(bits, 32, 32, 0x40490fdb);
  const auto bytes = bytesOf(bits);
  const auto made = disassembler_->disassemble(bytes, 0);
  return {opcode.mnemonic, form.format,
          made ? std::vector<uint8_t>(bytes.begin(), bytes.begin() + made->size) : std::vector<uint8_t>()};
}

std::string InstructionMaker::text(const MadeInstruction &instruction) {
  return disassembler_->text(instruction.bytes, 0);
}

} // namespace luthier::vgpu::test
