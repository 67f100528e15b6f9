#include "vgpu/wave/gfx9_fields.h"

namespace luthier::vgpu {

using isa::field;

Gfx9Fields::Gfx9Fields(isa::Format format, uint64_t bits, const Row &row, const isa::Target &target) {
  using isa::Format;
  switch (format) {
  case Format::Sop1:
    dst = field(bits, 16, 7);
    set(0, field(bits, 0, 8));
    break;
  case Format::Sop2:
    dst = field(bits, 16, 7);
    [[fallthrough]];
  case Format::Sopc:
    set(0, field(bits, 0, 8));
    set(1, field(bits, 8, 8));
    break;
  case Format::Sopk:
    dst = field(bits, 16, 7);
    break;
  case Format::Vop1:
  case Format::Vop2:
  case Format::Vopc:
    vop(format, bits, row);
    break;
  case Format::Vop3:
    vop3(bits, row);
    break;
  case Format::Vop3p:
    vop3p(bits, row, target);
    break;
  case Format::Smem:
    dst = field(bits, 6, 7);
    set(0, field(bits, 0, 6) * 2);
    glc = field(bits, 16, 1);
    sdst = field(bits, 14, 1) ? field(bits, 57, 7) : field(bits, 17, 1) ? kNoScalar : field(bits, 32, 7);
    break;
  case Format::Ds:
    place(bits, 25, target);
    setVector(0, field(bits, 32, 8));
    setVector(1, field(bits, 40, 8) + accBase());
    setVector(2, field(bits, 48, 8) + accBase());
    dst = field(bits, 56, 8) + accBase();
    break;
  case Format::Flat:
    place(bits, 55, target);
    setVector(0, field(bits, 32, 8));
    setVector(1, field(bits, 40, 8) + accBase());
    dst = field(bits, 56, 8) + accBase();
    sdst = field(bits, 14, 2) == 0 ? kNoScalar : field(bits, 48, 7); // FLAT itself has none
    glc = field(bits, 16, 1);
    // What was the LDS bit says whether a scratch address has a VGPR on targets with instructions that load to LDS.
    lds = target.scratchVgprBit ? contains(row.mnemonic, "_load_lds_") : field(bits, 13, 1);
    byVgpr = target.scratchVgprBit ? field(bits, 13, 1) : sdst == kNoScalar;
    break;
  case Format::Mubuf:
  case Format::Mtbuf:
    place(bits, 55, target);
    addresses = field(bits, 12, 1) + field(bits, 13, 1); // OFFEN, IDXEN
    setVector(0, field(bits, 32, 8));
    dst = field(bits, 40, 8) + accBase();
    sdst = field(bits, 48, 5) * 4;
    set(2, field(bits, 56, 8));
    glc = field(bits, 14, 1);
    lds = format == Format::Mubuf && field(bits, 16, 1);
    break;
  default:
    break;
  }
  if (row.traits & kAccumulates)
    setVector(2, dst);
}

void Gfx9Fields::set(unsigned n, uint32_t code) {
  const bool constant = (code >= isa::src::kIntZero && code <= isa::src::kIntLast) ||
                        (code >= isa::src::kFloatFirst && code <= isa::src::kFloatLast) || code == isa::src::kLiteral;
  srcKind[n] = code >= isa::src::kVgpr0    ? SrcKind::Vgpr
               : code < isa::src::kIntZero ? SrcKind::Scalar
               : constant                  ? SrcKind::Constant
                                           : SrcKind::Special;
  src[n] = code >= isa::src::kVgpr0 ? code - isa::src::kVgpr0 : code;
}

void Gfx9Fields::vop(isa::Format format, uint64_t bits, const Row &row) {
  const bool one = format == isa::Format::Vop1, compare = format == isa::Format::Vopc;
  const auto second = static_cast<uint32_t>(bits >> 32);
  const uint32_t src0 = field(bits, 0, 9), src1 = field(bits, 9, 8);
  if (!compare)
    dst = field(bits, 17, 8);
  if (!one)
    setVector(1, src1);
  if (src0 == isa::src::kSdwa) {
    set(0, field(second, 0, 8) + (field(second, 23, 1) ? 0 : isa::src::kVgpr0));
    if (!one)
      set(1, src1 + (field(second, 31, 1) ? 0 : isa::src::kVgpr0));
    if (compare && field(second, 15, 1))
      sdst = field(second, 8, 7);
    keepsRest = !compare && field(second, 8, 3) != 6 && field(second, 11, 2) == 2; // not the dword; preserved
  } else if (src0 == isa::src::kDpp) {
    setVector(0, field(second, 0, 8));
  } else {
    set(0, src0);
  }
  // v_madmk and v_fmamk multiply by the literal, v_madak and v_fmaak add it.
  if (contains(row.mnemonic, "mk_") && !one && !compare) {
    setVector(2, src1);
    set(1, isa::src::kLiteral);
  } else if (contains(row.mnemonic, "ak_") && !one && !compare) {
    set(2, isa::src::kLiteral);
  }
  if (row.traits & kReadsMask)
    set(row.src[1] == Type::Mask ? 1 : 2, isa::src::kVccLo);
}

void Gfx9Fields::vop3(uint64_t bits, const Row &row) {
  dst = field(bits, 0, 8);
  for (unsigned n = 0; n < 3; ++n)
    if (row.src[n] != Type::None)
      set(n, field(bits, 32 + 9 * n, 9));
  if (row.dst == Type::Mask)
    sdst = dst;
  else if (row.traits & kWritesMask)
    sdst = field(bits, 8, 7);
  else
    highResult = field(bits, 14, 1);
}

void Gfx9Fields::vop3p(uint64_t bits, const Row &row, const isa::Target &target) {
  const bool read = row.mnemonic.starts_with("v_accvgpr_read"), write = row.mnemonic.starts_with("v_accvgpr_write");
  const bool mai =
      read || write || contains(row.mnemonic, "mfma"); // dot products have a rule of matrices, but not this
  const bool result = mai && !read && (write || !target.accumulatorOperands || field(bits, 15, 1));
  dst = field(bits, 0, 8) + (result ? kAccBase : 0);
  for (unsigned n = 0; n < 3; ++n) {
    if (row.src[n] == Type::None)
      continue;
    set(n, field(bits, 32 + 9 * n, 9));
    // The index of a sparse matrix is never an AccVGPR.
    const bool ofC = n == 2 && !row.mnemonic.starts_with("v_smfmac");
    if (mai && srcKind[n] == SrcKind::Vgpr && (read || (!write && (n == 2 ? ofC && result : field(bits, 59 + n, 1)))))
      src[n] += kAccBase;
  }
}

} // namespace luthier::vgpu
