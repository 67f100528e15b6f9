#include "vgpu/wave/old_decoder.h"

#include "isa/format.h"
#include "support/log.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/wave.h"

#include <bit>
#include <cstring>

namespace luthier::vgpu {

using isa::field;
using isa::Format;
using isa::signedField;

namespace {

constexpr uint8_t kGlc = 16, kAcc = 64;

const Inst *notAnInstruction(Wave &w, const Inst *i) { return w.illegal(i, "is not an instruction of this GPU"); }
const Inst *notImplemented(Wave &w, const Inst *i) { return w.illegal(i, "is not implemented by the virtual GPU"); }

const Inst *graphicsSource(Wave &w, const Inst *i) {
  return w.illegal(i, "reads a source that only graphics has (LDS_DIRECT or POPS_EXITING_WAVE_ID)");
}

/// The nine floating-point inline constants: 0.5, 1, 2, 4 and their negatives, and 1/(2 pi) as the manual gives it.
uint64_t floatConstant(uint32_t code, Type type) {
  static constexpr double kValues[] = {0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0};
  const uint32_t index = code - isa::src::kFloatFirst;
  const bool inverseTwoPi = index == 8;
  switch (type) {
  case Type::F64:
  case Type::U64:
  case Type::I64:
    return inverseTwoPi ? 0x3fc45f306dc9c882 : std::bit_cast<uint64_t>(kValues[index]);
  case Type::F16:
  case Type::PkF16: // in the low half; the high half is 0
    return inverseTwoPi ? 0x3118 : std::bit_cast<uint16_t>(static_cast<_Float16>(kValues[index]));
  default: // 16-bit integers too: they see the f32 value (LLVM, getInlineEncodingV216)
    return inverseTwoPi ? 0x3e22f983 : std::bit_cast<uint32_t>(static_cast<float>(kValues[index]));
  }
}

/// A literal dword as an operand of `type` (manual, "Literal Expansion to 64 bits").
uint64_t literalConstant(uint32_t literal, Type type) {
  switch (type) {
  case Type::F64:
    return static_cast<uint64_t>(literal) << 32;
  case Type::I64:
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(literal)));
  default:
    return literal;
  }
}

} // namespace

struct alignas(64) OldDecoder::Lanes {
  uint32_t low[kMaxLanes];
  uint32_t high[kMaxLanes];
};

OldDecoder::OldDecoder(const isa::Target &target) : target_(target), level_(execLevel()) {
  for (std::span<const Row> table : level_.tables)
    for (const Row &row : table) {
      names_.emplace_back(row.mnemonic);
      rows_.push_back(&row);
      index_.emplace(names_.back(), static_cast<uint16_t>(rows_.size() - 1));
    }
  auto disassembler = isa::Disassembler::create(target);
  if (disassembler)
    disassembler_ = std::move(*disassembler);
  else
    log::error("{}", disassembler.error().message());
}

OldDecoder::~OldDecoder() = default;

bool OldDecoder::implements(const Inst &inst) { return inst.fn != notAnInstruction && inst.fn != notImplemented; }

std::string OldDecoder::mnemonic(uint16_t opcode) const {
  std::lock_guard lock(mutex_);
  return names_[opcode];
}

std::string OldDecoder::text(std::span<const uint8_t> bytes, uint64_t pc) {
  std::lock_guard lock(mutex_);
  return disassembler_ ? disassembler_->text(bytes, pc) : "<no disassembler>";
}

Result<isa::InstrSequence> OldDecoder::instruction(std::span<const uint8_t> bytes, uint64_t pc) {
  std::lock_guard lock(mutex_);
  if (!instructions_)
    instructions_ = LUTHIER_TRY(isa::Decoder::create(target_));
  return instructions_->decodeOne(bytes, pc);
}

uint16_t OldDecoder::opcodeOf(const std::string &mnemonic) {
  if (auto it = index_.find(mnemonic); it != index_.end())
    return it->second;
  names_.push_back(mnemonic);
  rows_.push_back(nullptr);
  const auto opcode = static_cast<uint16_t>(rows_.size() - 1);
  index_.emplace(names_.back(), opcode);
  return opcode;
}

const uint32_t *OldDecoder::constantLanes(uint64_t value) {
  auto &lanes = constants_[value];
  if (!lanes) {
    lanes = std::make_unique<Lanes>();
    for (unsigned n = 0; n < kMaxLanes; ++n) {
      lanes->low[n] = static_cast<uint32_t>(value);
      lanes->high[n] = static_cast<uint32_t>(value >> 32);
    }
  }
  return lanes->low;
}

void OldDecoder::setVgprSource(Inst &out, unsigned n, uint32_t vgpr) {
  out.srcKind[n] = SrcKind::Vgpr;
  out.src[n].reg = vgpr;
}

void OldDecoder::setSource(Inst &out, unsigned n, uint32_t code, Type type, uint32_t literal) {
  auto constant = [&](uint64_t value) {
    if (type == Type::PkF32)
      value = (value & 0xffffffff) | value << 32;
    out.srcKind[n] = SrcKind::Constant;
    out.src[n].lanes = constantLanes(value);
  };
  if (code >= isa::src::kVgpr0) {
    setVgprSource(out, n, code - isa::src::kVgpr0);
  } else if (code < isa::src::kIntZero) {
    out.srcKind[n] = SrcKind::Scalar;
    out.src[n].reg = code;
  } else if (code <= isa::src::kIntLast) {
    const int64_t value = code <= 192 ? static_cast<int64_t>(code) - 128 : 192 - static_cast<int64_t>(code);
    constant(is64(type) && type != Type::PkF32 ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value));
  } else if (code >= isa::src::kFloatFirst && code <= isa::src::kFloatLast) {
    constant(floatConstant(code, type));
  } else if (code == isa::src::kLiteral) {
    constant(literalConstant(literal, type));
  } else {
    out.srcKind[n] = SrcKind::Special;
    out.src[n].reg = code;
  }
}

void OldDecoder::decode(std::span<const uint8_t> bytes, uint64_t pc, Inst &out) {
  std::lock_guard lock(mutex_);
  out = {};
  out.words = 1;
  out.fn = notAnInstruction;
  if (!disassembler_)
    return;
  auto decoded = disassembler_->disassemble(bytes, pc);
  if (!decoded)
    return;
  out.words = static_cast<uint8_t>(decoded->size / 4);
  out.opcode = opcodeOf(decoded->mnemonic);
  out.row = rows_[out.opcode];
  out.fn = notImplemented;
  if (!out.row)
    return;
  uint64_t bits = 0;
  memcpy(&bits, bytes.data(), std::min<size_t>(8, bytes.size()));
  out.fn = out.row->handler;
  fill(out, *out.row, isa::formatOf(target_, static_cast<uint32_t>(bits)), bits);
}

void OldDecoder::fill(Inst &out, const Row &row, Format format, uint64_t bits) {
  const auto literal = static_cast<uint32_t>(bits >> 32);
  switch (format) {
  case Format::Sop1:
    out.dst = static_cast<uint16_t>(field(bits, 16, 7));
    setSource(out, 0, field(bits, 0, 8), row.src[0], literal);
    break;
  case Format::Sop2:
    out.dst = static_cast<uint16_t>(field(bits, 16, 7));
    setSource(out, 0, field(bits, 0, 8), row.src[0], literal);
    setSource(out, 1, field(bits, 8, 8), row.src[1], literal);
    break;
  case Format::Sopc:
    setSource(out, 0, field(bits, 0, 8), row.src[0], literal);
    setSource(out, 1, field(bits, 8, 8), row.src[1], literal);
    break;
  case Format::Sopk:
    out.dst = static_cast<uint16_t>(field(bits, 16, 7));
    out.imm = signedField(bits, 0, 16);
    out.control = literal;
    break;
  case Format::Sopp:
    out.imm = signedField(bits, 0, 16);
    break;
  case Format::Vop1:
  case Format::Vop2:
  case Format::Vopc:
    fillVop12c(out, row, format, bits);
    break;
  case Format::Vop3:
    fillVop3(out, row, bits);
    break;
  case Format::Vop3p:
    fillVop3p(out, row, bits);
    break;
  case Format::Smem:
  case Format::Ds:
  case Format::Flat:
  case Format::Mubuf:
  case Format::Mtbuf:
    fillMemory(out, format, bits);
    break;
  default:
    out.fn = notImplemented;
  }
  for (const Type type : {row.dst, row.src[0], row.src[1], row.src[2]})
    if (row.dst != Type::F32 && (type == Type::F64 || type == Type::F16 || type == Type::PkF16))
      out.flags |= kF64Mode;
  // Modifiers go through the general path where the row has a lane loop; other handlers look at them themselves.
  const bool modified = out.flags & (kClamp | kOpSelDst | kSdwa | kDpp) || out.omod ||
                        ((row.traits & kKeepsHigh) && is16(row.dst)) || out.srcMods[0] || out.srcMods[1] ||
                        out.srcMods[2];
  if (modified && row.loop && out.fn == row.handler && format != Format::Vop3p)
    out.fn = level_.general;
  for (unsigned n = 0; n < 3; ++n)
    if (out.srcKind[n] == SrcKind::Special &&
        (out.src[n].reg == isa::src::kLdsDirect || out.src[n].reg == isa::src::kPopsExitingWaveId))
      out.fn = graphicsSource;
  // LLVM disassembles these with any source; their handlers take it for a register that they may write or that is an
  // AccVGPR.
  if ((row.mnemonic == "v_swap_b32" || row.mnemonic == "v_accvgpr_mov_b32") && out.srcKind[0] != SrcKind::Vgpr)
    out.fn = notAnInstruction;
  thread(out, row);
}

/// Gives the record a threaded handler where there is one for it.
void OldDecoder::thread(Inst &out, const Row &row) {
  if (out.fn != row.handler || !row.threaded)
    return;
  unsigned uniform = 0;
  for (unsigned n = 0; n < 3; ++n) {
    if (out.srcKind[n] == SrcKind::Special || (row.src[n] == Type::Mask && out.srcKind[n] != SrcKind::Scalar))
      return;
    if (row.loop && row.src[n] != Type::Mask &&
        (out.srcKind[n] == SrcKind::Scalar || out.srcKind[n] == SrcKind::Constant))
      uniform |= 1u << n;
  }
  if (const Handler handler = row.threaded[uniform]) {
    out.fn = handler;
    out.threaded = true;
  }
}

void OldDecoder::fuse(Inst &first, const Inst &second) {
  if (!first.threaded || !second.threaded || !first.row->fusion || second.row->mnemonic != first.row->fusion->second)
    return;
  const bool chained = second.src[2].reg == first.sdst && second.sdst == first.sdst; // the mask is source 2
  const auto isUniform = [](const Inst &inst) { return inst.srcKind[0] != SrcKind::Vgpr; };
  // The second must not see the mask as a number either: it is never written.
  const bool reads = second.srcKind[0] == SrcKind::Scalar && second.src[0].reg - first.sdst < 2;
  if (!chained || reads || first.srcKind[1] != SrcKind::Vgpr || second.srcKind[1] != SrcKind::Vgpr)
    return;
  first.fn = first.row->fusion->handlers[isUniform(first) | isUniform(second) << 1];
}

void OldDecoder::fillVop12c(Inst &out, const Row &row, Format format, uint64_t bits) {
  auto second = static_cast<uint32_t>(bits >> 32);
  const uint32_t src0 = field(bits, 0, 9);
  if (format != Format::Vopc)
    out.dst = static_cast<uint16_t>(field(bits, 17, 8));
  out.sdst = kVcc;
  if (format != Format::Vop1)
    setVgprSource(out, 1, field(bits, 9, 8));

  if (src0 == isa::src::kSdwa) {
    out.flags |= kSdwa;
    out.control = second;
    setSource(out, 0, field(second, 0, 8) + (field(second, 23, 1) ? 0 : isa::src::kVgpr0), row.src[0], 0);
    if (format != Format::Vop1)
      setSource(out, 1, field(bits, 9, 8) + (field(second, 31, 1) ? 0 : isa::src::kVgpr0), row.src[1], 0);
    out.srcMods[0] = static_cast<uint8_t>(field(second, 20, 1) * kNeg | field(second, 21, 1) * kAbs);
    out.srcMods[1] = static_cast<uint8_t>(field(second, 28, 1) * kNeg | field(second, 29, 1) * kAbs);
    if (format == Format::Vopc) {
      if (field(second, 15, 1))
        out.sdst = static_cast<uint16_t>(field(second, 8, 7));
    } else {
      out.flags |= static_cast<uint8_t>(field(second, 13, 1) * kClamp);
      out.omod = static_cast<uint8_t>(field(second, 14, 2));
    }
  } else if (src0 == isa::src::kDpp) {
    out.flags |= kDpp;
    out.control = second;
    setVgprSource(out, 0, field(second, 0, 8));
    out.srcMods[0] = static_cast<uint8_t>(field(second, 20, 1) * kNeg | field(second, 21, 1) * kAbs);
    out.srcMods[1] = static_cast<uint8_t>(field(second, 22, 1) * kNeg | field(second, 23, 1) * kAbs);
  } else {
    setSource(out, 0, src0, row.src[0], second);
  }
  // v_madmk/v_fmamk multiply by the literal, v_madak/v_fmaak add it.
  if (row.mnemonic.find("mk_") != std::string_view::npos && format == Format::Vop2) {
    setVgprSource(out, 2, field(bits, 9, 8));
    setSource(out, 1, isa::src::kLiteral, row.src[1], second);
  } else if (row.mnemonic.find("ak_") != std::string_view::npos && format == Format::Vop2) {
    setSource(out, 2, isa::src::kLiteral, row.src[2], second);
  }
  if (row.traits & kAccumulates)
    setVgprSource(out, 2, out.dst);
  if (row.traits & kReadsMask)
    setSource(out, row.src[1] == Type::Mask ? 1 : 2, isa::src::kVccLo, Type::Mask, 0);
}

void OldDecoder::fillVop3(Inst &out, const Row &row, uint64_t bits) {
  const bool scalarResult = row.traits & kWritesMask;
  const bool compare = row.dst == Type::Mask;
  out.dst = static_cast<uint16_t>(field(bits, 0, 8));
  for (unsigned n = 0; n < 3; ++n) {
    if (row.src[n] == Type::None)
      continue;
    setSource(out, n, field(bits, 32 + 9 * n, 9), row.src[n], 0);
    out.srcMods[n] = static_cast<uint8_t>(field(bits, 61 + n, 1) * kNeg);
    if (!scalarResult || compare)
      out.srcMods[n] |= static_cast<uint8_t>(field(bits, 8 + n, 1) * kAbs | field(bits, 11 + n, 1) * kOpSel);
  }
  if (compare)
    out.sdst = out.dst;
  else if (scalarResult)
    out.sdst = static_cast<uint16_t>(field(bits, 8, 7));
  else
    out.flags |= static_cast<uint8_t>(field(bits, 14, 1) * kOpSelDst);
  out.flags |= static_cast<uint8_t>(field(bits, 15, 1) * kClamp);
  out.omod = static_cast<uint8_t>(field(bits, 59, 2));
  if (row.traits & kAccumulates)
    setVgprSource(out, 2, out.dst);
}

void OldDecoder::fillVop3p(Inst &out, const Row &row, uint64_t bits) {
  out.dst = static_cast<uint16_t>(field(bits, 0, 8));
  if (row.mnemonic.starts_with("v_mfma_") || row.mnemonic.starts_with("v_accvgpr_")) {
    fillMai(out, row, bits);
    return;
  }
  // A source of v_fma_mix is an f16 where op_sel_hi says so; constants follow.
  const bool mix = row.mnemonic.starts_with("v_fma_mix") || row.mnemonic.starts_with("v_mad_mix");
  for (unsigned n = 0; n < 3; ++n) {
    if (row.src[n] == Type::None)
      continue;
    const uint32_t selectHigh = n == 2 ? field(bits, 14, 1) : field(bits, 59 + n, 1);
    setSource(out, n, field(bits, 32 + 9 * n, 9), mix && selectHigh ? Type::F16 : row.src[n], 0);
    out.srcMods[n] = static_cast<uint8_t>(field(bits, 61 + n, 1) * kNeg | field(bits, 8 + n, 1) * kNegHi |
                                          field(bits, 11 + n, 1) * kOpSel | selectHigh * kOpSelHi);
    if ((out.srcMods[n] & (kOpSel | kOpSelHi)) != kOpSelHi)
      out.imm |= kPackedSelects;
    if (out.srcMods[n] & (kNeg | kNegHi))
      out.imm |= kPackedModifies;
  }
  if (field(bits, 15, 1)) {
    out.flags |= kClamp;
    out.imm |= kPackedModifies;
  }
}

// VOP3P-MAI: AccVGPRs become register-file indices. Where VGPRs are not unified, C and D always are AccVGPRs.
void OldDecoder::fillMai(Inst &out, const Row &row, uint64_t bits) {
  const bool read = row.mnemonic.starts_with("v_accvgpr_read"), write = row.mnemonic.starts_with("v_accvgpr_write");
  const bool accumulator = !read && (write || !target_.accumulatorOperands || field(bits, 15, 1));
  if (accumulator)
    out.dst = static_cast<uint16_t>(out.dst + kAccBase);
  for (unsigned n = 0; n < 3; ++n) {
    if (row.src[n] == Type::None)
      continue;
    setSource(out, n, field(bits, 32 + 9 * n, 9), row.src[n], 0);
    const bool acc = read || (!write && (n == 2 ? accumulator : field(bits, 59 + n, 1) != 0));
    if (out.srcKind[n] == SrcKind::Vgpr && acc)
      out.src[n].reg += kAccBase;
  }
  out.control = field(bits, 8, 3) | field(bits, 11, 4) << 4 | field(bits, 61, 3) << 8; // CBSZ, ABID, BLGP
}

void OldDecoder::fillMemory(Inst &out, Format format, uint64_t bits) {
  auto accumulator = [&](unsigned bit) -> uint32_t {
    const bool acc = target_.accumulatorOperands && field(bits, bit, 1);
    out.flags |= acc ? kAcc : 0;
    return acc ? kAccBase : 0;
  };
  switch (format) {
  case Format::Smem:
    out.dst = static_cast<uint16_t>(field(bits, 6, 7));
    out.srcKind[0] = SrcKind::Scalar;
    out.src[0].reg = field(bits, 0, 6) * 2;
    out.control = static_cast<uint32_t>(bits);
    out.imm = field(bits, 17, 1) ? signedField(bits, 32, 21) : 0;
    out.sdst = kNoScalar;
    if (field(bits, 14, 1)) // SOFFSET_EN
      out.sdst = static_cast<uint16_t>(field(bits, 57, 7));
    else if (!field(bits, 17, 1)) // the offset field names a register
      out.sdst = static_cast<uint16_t>(field(bits, 32, 7));
    out.flags |= field(bits, 16, 1) ? kGlc : 0;
    break;
  case Format::Ds: {
    const uint32_t acc = accumulator(25);
    out.imm = static_cast<int32_t>(field(bits, 0, 16)); // offset1 in the high byte
    out.flags |= field(bits, 16, 1) ? kLds : 0;
    setVgprSource(out, 0, field(bits, 32, 8));
    setVgprSource(out, 1, field(bits, 40, 8) + acc);
    setVgprSource(out, 2, field(bits, 48, 8) + acc);
    out.dst = static_cast<uint16_t>(field(bits, 56, 8) + acc);
    break;
  }
  case Format::Flat: {
    const uint32_t acc = accumulator(55);
    const bool flat = field(bits, 14, 2) == 0;
    out.imm = flat ? static_cast<int32_t>(field(bits, 0, 12)) : signedField(bits, 0, 13);
    out.flags |= static_cast<uint8_t>((field(bits, 13, 1) ? kLds : 0) | (field(bits, 16, 1) ? kGlc : 0));
    setVgprSource(out, 0, field(bits, 32, 8));
    setVgprSource(out, 1, field(bits, 40, 8) + acc);
    out.sdst = flat ? kNoScalar : static_cast<uint16_t>(field(bits, 48, 7));
    out.dst = static_cast<uint16_t>(field(bits, 56, 8) + acc);
    out.control = static_cast<uint32_t>(bits);
    break;
  }
  case Format::Mubuf:
  case Format::Mtbuf: {
    const uint32_t acc = accumulator(55);
    out.imm = static_cast<int32_t>(field(bits, 0, 12));
    out.control = static_cast<uint32_t>(bits);
    out.flags |= field(bits, 14, 1) ? kGlc : 0;
    if (format == Format::Mubuf)
      out.flags |= field(bits, 16, 1) ? kLds : 0;
    setVgprSource(out, 0, field(bits, 32, 8));
    out.dst = static_cast<uint16_t>(field(bits, 40, 8) + acc);
    setVgprSource(out, 1, out.dst);
    out.sdst = static_cast<uint16_t>(field(bits, 48, 5) * 4);
    setSource(out, 2, field(bits, 56, 8), Type::U32, 0);
    break;
  }
  default:
    break;
  }
}

} // namespace luthier::vgpu
