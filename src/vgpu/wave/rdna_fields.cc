#include "vgpu/wave/rdna_fields.h"

#include <algorithm>
#include <cstring>

namespace luthier::vgpu {

using isa::FieldLayout;
using isa::Format;

namespace {

/// SRC0 of vector instructions whose first source is in a dword of its own. DPP8 comes in two kinds.
constexpr uint32_t kDpp8Code = 233, kDpp8FetchingCode = 234;
/// SADDR of gfx10's scratch instructions without any register in the address.
constexpr uint32_t kNoAddress = 127;

} // namespace

RdnaFields::RdnaFields(std::span<const uint8_t> code, const isa::Target &target)
    : layout_(isa::fieldLayoutOf(target)), m0BehindNull_(target.m0BehindNull) {
  memcpy(words_, code.data(), std::min(code.size(), sizeof words_));
}

RdnaFields RdnaFields::ofHalf(bool second, std::span<const uint8_t> code, const isa::Target &target) {
  enum : uint32_t { kFmac = 0, kMove = 8, kConditionalMask = 9, kDotF16 = 12, kDotBf16 = 13 };
  RdnaFields half(code, target);
  const uint32_t opcode = second ? half.get(17, 5) : half.get(22, 4), dstX = half.get(56, 8);
  // Of the two results, one is in an even register and one in an odd one.
  half.dst = second ? half.get(49, 7) << 1 | (~dstX & 1) : dstX;
  half.set(0, half.get(second ? 32 : 0, 9));
  if (opcode != kMove)
    half.setVector(1, half.get(second ? 41 : 9, 8));
  if (opcode == kFmac || opcode == kDotF16 || opcode == kDotBf16)
    half.setVector(2, half.dst);
  half.readsVcc = opcode == kConditionalMask;
  return half;
}

RdnaFields::RdnaFields(Format format, std::span<const uint8_t> code, const Row &row, const isa::Target &target)
    : RdnaFields(code, target) {
  switch (format) {
  case Format::Sop1:
    dst = scalar(get(16, 7));
    set(0, get(0, 8));
    break;
  case Format::Sop2:
    dst = scalar(get(16, 7));
    [[fallthrough]];
  case Format::Sopc:
    set(0, get(0, 8));
    set(1, get(8, 8));
    break;
  case Format::Sopk:
    dst = scalar(get(16, 7));
    hardwareRegister = get(0, 16);
    break;
  case Format::Vop1:
  case Format::Vop2:
  case Format::Vopc:
    vop(format, row);
    break;
  case Format::Vop3:
  case Format::Vop3p:
    vop3(row);
    break;
  case Format::LdsDirect:
    dst = get(0, 8);
    break;
  case Format::Ds:
    setVector(0, get(32, 8));
    setVector(1, get(40, 8));
    setVector(2, get(48, 8));
    dst = get(56, 8);
    break;
  default:
    layout_ == FieldLayout::Gfx12 ? longMemory(format) : memory(format);
    break;
  }
  if (row.traits & kAccumulates)
    setVector(2, dst);
  if (row.traits & kWritesExec) // v_cmpx, and nothing else
    sdst = kNull;
}

uint32_t RdnaFields::get(unsigned low, unsigned width) const {
  uint64_t bits = words_[low / 32];
  if (low / 32 + 1 < std::size(words_))
    bits |= static_cast<uint64_t>(words_[low / 32 + 1]) << 32;
  return isa::field(bits, low % 32, width);
}

uint32_t RdnaFields::scalar(uint32_t code) const {
  constexpr uint32_t kOlderM0 = 124, kOlderNull = 125;
  if (code == (m0BehindNull_ ? kOlderNull : kOlderM0))
    return kM0;
  return code == (m0BehindNull_ ? kOlderM0 : kOlderNull) ? kNull : code;
}

void RdnaFields::set(unsigned n, uint32_t code) {
  const bool constant = (code >= isa::src::kIntZero && code <= isa::src::kIntLast) ||
                        (code >= isa::src::kFloatFirst && code <= isa::src::kFloatLast) || code == isa::src::kLiteral;
  if (code >= isa::src::kVgpr0)
    return setVector(n, code - isa::src::kVgpr0);
  srcKind[n] = code < isa::src::kIntZero ? SrcKind::Scalar : constant ? SrcKind::Constant : SrcKind::Special;
  src[n] = code < isa::src::kIntZero ? scalar(code) : code;
  if (src[n] == kNull)
    srcKind[n] = SrcKind::Constant;
}

void RdnaFields::dpp(unsigned dwords, uint32_t code) {
  const unsigned at = 32 * dwords;
  setVector(0, get(at, 8));
  // DPP16 leaves lanes alone whose row or bank is masked, or whose source is outside, unless BOUND_CTRL makes it 0.
  if (code == isa::src::kDpp)
    keepsRest = get(at + 24, 8) != 0xff || !get(at + 19, 1);
}

void RdnaFields::vop(Format format, const Row &row) {
  const bool one = format == Format::Vop1, compare = format == Format::Vopc;
  const uint32_t src0 = get(0, 9), src1 = get(9, 8);
  if (!compare)
    dst = get(17, 8);
  if (!one)
    setVector(1, src1);
  if (src0 == isa::src::kSdwa && layout_ == FieldLayout::Gfx10) {
    set(0, get(32, 8) + (get(55, 1) ? 0 : isa::src::kVgpr0));
    if (!one)
      set(1, src1 + (get(63, 1) ? 0 : isa::src::kVgpr0));
    if (compare && get(47, 1))
      sdst = scalar(get(40, 7));
    keepsRest = !compare && get(40, 3) != 6 && get(43, 2) == 2; // not the dword; preserved
  } else if (src0 == isa::src::kDpp || src0 == kDpp8Code || src0 == kDpp8FetchingCode) {
    dpp(1, src0);
  } else {
    set(0, src0);
  }
  // v_fmamk multiplies by the literal, v_fmaak adds it.
  if (contains(row.mnemonic, "mk_") && !one && !compare) {
    setVector(2, src1);
    set(1, isa::src::kLiteral);
  } else if (contains(row.mnemonic, "ak_") && !one && !compare) {
    set(2, isa::src::kLiteral);
  }
  if (row.traits & kReadsMask)
    set(row.src[1] == Type::Mask ? 1 : 2, isa::src::kVccLo);
  if (row.traits & kScalarDst)
    dst = scalar(dst);
  if (layout_ == FieldLayout::Gfx10)
    return;
  // From gfx11 on, operands of 16 bits are halves of the first 128 registers.
  for (unsigned n = 0; n < 3; ++n)
    if (srcKind[n] == SrcKind::Vgpr && is16(row.src[n]))
      src[n] &= 0x7f;
  if (is16(row.dst)) {
    highResult = dst >> 7;
    dst &= 0x7f;
  }
}

void RdnaFields::vop3(const Row &row) {
  dst = get(0, 8);
  for (unsigned n = 0; n < 3; ++n) {
    if (row.src[n] == Type::None)
      continue;
    const uint32_t code = get(32 + 9 * n, 9);
    if (n == 0 && (code == isa::src::kDpp || code == kDpp8Code || code == kDpp8FetchingCode))
      dpp(2, code);
    else
      set(n, code);
  }
  if (row.dst == Type::Mask)
    sdst = dst = scalar(dst);
  else if (row.traits & kWritesMask)
    sdst = scalar(get(8, 7));
  else if (row.traits & kScalarDst)
    dst = scalar(dst);
  else
    highResult = get(14, 1);
}

void RdnaFields::memory(Format format) {
  const bool older = layout_ == FieldLayout::Gfx10;
  const auto scalarOrNone = [&](uint32_t code) {
    const uint32_t reg = scalar(code);
    return reg == kNull ? uint32_t{kNoScalar} : reg;
  };
  switch (format) {
  case Format::Smem:
    dst = scalar(get(6, 7));
    set(0, get(0, 6) * 2);
    glc = get(older ? 16 : 14, 1);
    sdst = scalarOrNone(get(57, 7));
    break;
  case Format::Flat: {
    const uint32_t segment = get(older ? 14 : 16, 2), saddr = get(48, 7);
    setVector(0, get(32, 8));
    setVector(1, get(40, 8));
    dst = get(56, 8);
    glc = get(older ? 16 : 14, 1);
    lds = older && get(13, 1);
    sdst = segment == 0 || (older && saddr == kNoAddress) ? kNoScalar : scalarOrNone(saddr); // FLAT itself has none
    byVgpr = older ? sdst == kNoScalar && saddr != kNoAddress : get(55, 1) != 0;
    break;
  }
  case Format::Mubuf:
  case Format::Mtbuf:
    addresses = get(older ? 12 : 54, 1) + get(older ? 13 : 55, 1); // OFFEN, IDXEN
    setVector(0, get(32, 8));
    dst = get(40, 8);
    sdst = scalar(get(48, 5) * 4);
    set(2, get(56, 8));
    glc = get(14, 1);
    // gfx11 has instructions for what was a bit: BUFFER_LOAD_LDS_U8 to BUFFER_LOAD_LDS_FORMAT_X.
    lds = format == Format::Mubuf && (older ? get(16, 1) != 0 : get(18, 8) >= 45 && get(18, 8) <= 50);
    break;
  default:
    break;
  }
}

void RdnaFields::longMemory(Format format) {
  const auto scalarOrNone = [&](uint32_t code) {
    const uint32_t reg = scalar(code);
    return reg == kNull ? uint32_t{kNoScalar} : reg;
  };
  glc = get(52, 1); // of TH, which has the place of GLC for atomics
  switch (format) {
  case Format::Smem:
    dst = scalar(get(6, 7));
    set(0, get(0, 6) * 2);
    glc = false;
    sdst = scalarOrNone(get(57, 7));
    break;
  case Format::Flat:
    setVector(0, get(64, 8));
    setVector(1, get(55, 8));
    dst = get(32, 8);
    sdst = get(24, 2) == 0 ? kNoScalar : scalarOrNone(get(0, 7)); // FLAT itself has none
    byVgpr = get(49, 1);
    break;
  case Format::Mubuf:
  case Format::Mtbuf:
    addresses = get(62, 1) + get(63, 1); // OFFEN, IDXEN
    setVector(0, get(64, 8));
    dst = get(32, 8);
    sdst = scalar(get(41, 9));
    set(2, get(0, 7));
    break;
  default:
    break;
  }
}

} // namespace luthier::vgpu
