// WMMA and SWMMAC: products of 16 x K and K x 16 matrices that lie across the lanes of a wave (manuals of RDNA3 and
// RDNA4, "Wave Matrix Multiply Accumulate"). EXEC is ignored.
//
// Where elements sit. The RDNA4 manual has tables for gfx12; AMD's matrix instruction calculator has both.
// - gfx11: lane i holds row i of A (column i of B, likewise), all K of it in ascending order; every group of 16 lanes
//   holds the same, of which the first is read here. Rows of C and D alternate between the groups of lanes. A 16-bit D
//   fills one half of each register, which op_sel says; the other stays.
// - gfx12: nothing is repeated. One or two bits of k choose the group of 16 lanes, the others the element in the lane
//   (Split). Of C and D, a group holds 8 (or 4) consecutive rows; 16-bit results are packed.
// - SWMMAC (gfx12): of every four values of k, A holds two, and source 2 which: two bits for each. C is D.
//
// Arithmetic: how products add up is the target's (isa/matrix.h). Chosen here: 16-bit results are computed as f32 and
// rounded once; integers that clamp do so at the end.

#include "vgpu/exec/dot.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

using isa::MatrixArithmetic;
using isa::MatrixFormat;
using isa::MatrixSum;

constexpr unsigned kSide = 16; ///< rows and columns of C and D

/// Formats of A and B.
struct InF16 : HalfFormat {
  using Value = f32;
  static constexpr MatrixFormat kFormat = MatrixFormat::F16;
  static constexpr unsigned kBits = 16;
  static f32 value(u32 x, Fp8Kind, bool) { return HalfFormat::value(x); }
};
struct InBf16 : BrainFormat {
  using Value = f32;
  static constexpr MatrixFormat kFormat = MatrixFormat::Bf16;
  static constexpr unsigned kBits = 16;
  static f32 value(u32 x, Fp8Kind, bool) { return BrainFormat::value(x); }
};
template <class Format> struct InFp8 {
  using Value = f32;
  static constexpr MatrixFormat kFormat = MatrixFormat::Fp8Fp8;
  static constexpr unsigned kBits = 8;
  static f32 value(u32 x, Fp8Kind kind, bool) { return fromFp8<Format>(x, kind); }
};
template <unsigned Bits> struct InInteger {
  using Value = i32;
  static constexpr MatrixFormat kFormat = MatrixFormat::I8;
  static constexpr unsigned kBits = Bits;
  static i32 value(u32 x, Fp8Kind, bool isSigned) {
    const u32 top = x << (32 - Bits);
    return isSigned ? static_cast<i32>(top) >> (32 - Bits) : static_cast<i32>(top >> (32 - Bits));
  }
};

/// Formats of C and D.
enum class Out { F32, F16, Bf16, I32 };
constexpr bool isHalf(Out out) { return out == Out::F16 || out == Out::Bf16; }

constexpr unsigned kNone = 31;
/// Which bits of k say which group of 16 lanes holds an element: bit 0 of the group's number and, in waves of 64 lanes,
/// bit 1. The other bits of k are the number of the element in the lane.
struct Split {
  unsigned first, second;

  static unsigned without(unsigned k, unsigned bit) {
    return bit == kNone ? k : (k & ((1u << bit) - 1)) | (k >> (bit + 1) << bit);
  }
  unsigned group(unsigned k) const {
    const unsigned high = N == 64 && second != kNone ? k >> second & 1 : 0;
    return (k >> first & 1) + 2 * high;
  }
  unsigned element(unsigned k) const {
    if (N == 32 || second == kNone)
      return without(k, first);
    return first > second ? without(without(k, first), second) : without(without(k, second), first);
  }
  /// Elements of K that a lane holds.
  constexpr unsigned perLane(unsigned k) const { return k / (N == 64 && second != kNone ? 4 : 2); }
};

/// gfx12: of A, which SWMMAC has half of K of, and of B.
constexpr Split splitOfA(unsigned bits, unsigned k) {
  if (bits == 16)
    return {2, 3};
  if (bits == 8)
    return {3, 2};
  return k == 16 ? Split{3, kNone} : Split{4, 3};
}
constexpr Split splitOfB(unsigned bits, unsigned k, bool sparse) {
  if (!sparse)
    return splitOfA(bits, k);
  if (bits == 16)
    return {3, 4};
  return k == 64 ? Split{5, 4} : Split{4, 3};
}

/// Lane and register of C[row][..] and D[row][..]; column 0.
struct PlaceOfD {
  unsigned lane, reg, half; ///< `half`: of gfx12's 16-bit results
};
template <bool Packed> PlaceOfD placeOfD(unsigned row, bool repeats) {
  constexpr unsigned kGroups = N / 16, kRows = kSide / kGroups; // rows that a lane holds
  if (repeats)
    return {16 * (row % kGroups), row / kGroups, 0};
  const unsigned group = N == 64 ? row / 8 + 2 * (row / 4 % 2) : row / 8;
  const unsigned at = row % kRows;
  return Packed ? PlaceOfD{16 * group, at / 2, at % 2} : PlaceOfD{16 * group, at, 0};
}

template <class A, class B, unsigned K, Out Result, bool Sparse> struct Wmma {
  using Value = typename A::Value;
  using Sum = std::conditional_t<Result == Out::I32, i64, f32>;
  static constexpr bool kInteger = Result == Out::I32;
  static constexpr unsigned kStored = Sparse ? K / 2 : K; ///< of a row of A

  /// An element of a register tuple, in its low bits.
  template <unsigned Bits> static u32 element(const Wave &w, unsigned reg, unsigned lane, unsigned index) {
    return w.v[reg + index * Bits / 32][lane] >> (index * Bits % 32);
  }

  /// neg_lo and neg_hi of A and B are for elements in low and high halves; of C they are neg and abs.
  static u32 signOf(u8 mods, unsigned index) { return (mods & (index % 2 ? kNegHi : kNeg)) ? 0x8000 : 0; }

  template <class Input>
  static Value valueAt(const Wave &w, const Inst &i, unsigned source, const MatrixArithmetic &rule, unsigned lane,
                       unsigned index) {
    u32 raw = element<Input::kBits>(w, i.src[source].reg, lane, index);
    if constexpr (Input::kBits == 16)
      raw ^= signOf(i.srcMods[source], index);
    const Value x = Input::value(raw, rule.fp8, i.srcMods[source] & kNeg);
    if constexpr (Input::kBits == 16)
      return rule.flushes ? flushedToPlus(x, Input::kLeastNormal) : x;
    else
      return x;
  }

  static f32 halfValue(u32 x) { return Result == Out::Bf16 ? BrainFormat::value(x) : HalfFormat::value(x); }

  static const Inst *handler(Wave &w, const Inst *i) {
    const bool validC = i->srcKind[2] == SrcKind::Vgpr || (!Sparse && i->srcKind[2] == SrcKind::Constant);
    if (i->srcKind[0] != SrcKind::Vgpr || i->srcKind[1] != SrcKind::Vgpr || !validC)
      return w.illegal(i, "has an operand that matrix instructions do not take");
    const u8 inputs = i->srcMods[0] | i->srcMods[1];
    if ((kInteger && ((inputs & kNegHi) || (i->srcMods[2] & (kNeg | kNegHi)))) ||
        (A::kBits == 8 && !kInteger && (inputs & (kNeg | kNegHi))) || (!kInteger && (i->flags & kClamp)) ||
        (Sparse && (i->srcMods[2] & (kNeg | kNegHi))))
      return w.illegal(i, "has modifiers that the virtual GPU does not support for it");
    if (isHalf(Result) && (w.mode & mode::kFp16Overflow))
      return w.illegal(i, "runs with MODE.FP16_OVFL, which the virtual GPU does not support");
    const auto rule = MatrixArithmetic::unpacked(i->imm);
    if (!kInteger && rule.sum != MatrixSum::FmaChain && (Sparse || rule.sum != MatrixSum::FramedBlock))
      return w.illegal(i, "is added up in a way that the virtual GPU does not have");
    if (Sparse && rule.repeatsInputs)
      return w.illegal(i, "is not an instruction of this GPU");
    HostMode mode(HostMode::kNearest);
    execute(w, *i, rule);
    return i->next();
  }

  [[gnu::noinline]] static void execute(Wave &w, const Inst &i, const MatrixArithmetic &rule) {
    constexpr Split ofA = splitOfA(A::kBits, kStored), ofB = splitOfB(A::kBits, K, Sparse);
    Value a[kSide][kStored], b[K + 1][kSide] = {}; // the last row is of elements that no index selects
    for (unsigned k = 0; k < kStored; ++k)
      for (unsigned n = 0; n < kSide; ++n)
        a[n][k] = rule.repeatsInputs ? valueAt<A>(w, i, 0, rule, n, k)
                                     : valueAt<A>(w, i, 0, rule, 16 * ofA.group(k) + n, ofA.element(k));
    for (unsigned k = 0; k < K; ++k)
      for (unsigned n = 0; n < kSide; ++n)
        b[k][n] = rule.repeatsInputs ? valueAt<B>(w, i, 1, rule, n, k)
                                     : valueAt<B>(w, i, 1, rule, 16 * ofB.group(k) + n, ofB.element(k));
    Sum sum[kSide][kSide];
    for (unsigned row = 0; row < kSide; ++row)
      for (unsigned column = 0; column < kSide; ++column)
        sum[row][column] = addend(w, i, rule, row, column);
    for (unsigned row = 0; row < kSide; ++row) {
      const Value *rows[kStored];
      for (unsigned k = 0; k < kStored; ++k)
        rows[k] = Sparse ? b[selected(w, i, row, k)] : b[k];
      addUp(sum[row], a[row], rows, rule);
    }
    for (unsigned row = 0; row < kSide; ++row)
      for (unsigned column = 0; column < kSide; ++column)
        store(w, i, rule, row, column, sum[row][column]);
  }

  /// The k of element k of A as it is stored, by the indices of its group of four; K if they name no place.
  static unsigned selected(const Wave &w, const Inst &i, unsigned row, unsigned k) {
    constexpr Split split = splitOfA(A::kBits, kStored);
    const unsigned set = (i.srcMods[0] & kOpSel ? 1 : 0) + (i.srcMods[1] & kOpSel ? 2 : 0);
    const unsigned firstBit = set * 2 * split.perLane(kStored);
    const u32 word = w.v[i.src[2].reg][16 * split.group(k) + row] >> (firstBit & 31);
    const unsigned pair = 2 * (split.element(k) & ~1u);
    const unsigned first = word >> pair & 3, second = word >> (pair + 2) & 3;
    // The manual's expansion: the first of a pair is never at 3, the second never at 0 and not where the first is.
    const bool none = k % 2 ? second == 0 || second == first : first == 3;
    return none ? K : k / 2 * 4 + (k % 2 ? second : first);
  }

  static void addUp(Sum *sum, const Value *a, const Value *const *rows, const MatrixArithmetic &rule) {
    if constexpr (kInteger) {
      for (unsigned k = 0; k < kStored; ++k)
        for (unsigned n = 0; n < kSide; ++n)
          sum[n] += i64(a[k]) * rows[k][n];
    } else if (rule.sum == MatrixSum::FramedBlock) {
      if constexpr (A::kBits == 16)
        for (unsigned k = 0; k < kStored; k += 2)
          addFramedBlock<2>(sum, a + k, rows + k, kSide, A::kLeastExponent);
    } else {
      for (unsigned k = 0; k < kStored; ++k)
        for (unsigned n = 0; n < kSide; ++n)
          sum[n] = __builtin_fmaf(a[k], rows[k][n], sum[n]);
    }
  }

  /// C, with its modifiers.
  static Sum addend(const Wave &w, const Inst &i, const MatrixArithmetic &rule, unsigned row, unsigned column) {
    const PlaceOfD place = placeOfD<isHalf(Result)>(row, rule.repeatsInputs);
    u32 raw;
    if (!Sparse && i.srcKind[2] == SrcKind::Constant) {
      raw = i.src[2].lanes[0];
      raw = Result == Out::Bf16 ? raw >> 16 : raw; // the upper half of an f32
    } else {
      raw = w.v[(Sparse ? i.dst : i.src[2].reg) + place.reg][place.lane + column];
      if (isHalf(Result) && half(i, rule, place))
        raw >>= 16;
    }
    if constexpr (kInteger) {
      return static_cast<i32>(raw);
    } else {
      const f32 x = isHalf(Result) ? halfValue(raw) : bits<f32>(raw);
      const u32 keep = i.srcMods[2] & kNegHi && !Sparse ? 0x7fffffff : 0xffffffff;
      return bits<f32>((rawBits(x) & keep) ^ (i.srcMods[2] & kNeg && !Sparse ? 0x80000000 : 0));
    }
  }
  static bool half(const Inst &i, const MatrixArithmetic &rule, const PlaceOfD &place) {
    return rule.repeatsInputs ? (i.srcMods[2] & kOpSel) != 0 : place.half != 0;
  }

  static void store(Wave &w, const Inst &i, const MatrixArithmetic &rule, unsigned row, unsigned column, Sum x) {
    const PlaceOfD place = placeOfD<isHalf(Result)>(row, rule.repeatsInputs);
    u32 &d = w.v[i.dst + place.reg][place.lane + column];
    if constexpr (kInteger) {
      d = i.flags & kClamp ? static_cast<u32>(saturateI32(x)) : static_cast<u32>(x);
    } else if constexpr (isHalf(Result)) {
      const u32 bits16 = Result == Out::Bf16 ? BrainFormat::rounded(x) : HalfFormat::rounded(x);
      d = half(i, rule, place) ? (d & 0xffff) | bits16 << 16 : (d & 0xffff0000) | bits16;
    } else {
      d = rawBits(x);
    }
  }
};

template <class A, class B, unsigned K, Out Result, bool Sparse> constexpr Row row(std::string_view mnemonic) {
  constexpr Type type = Result == Out::I32 ? Type::I32 : Result == Out::F16 ? Type::F16 : Type::F32;
  Row out =
      raw(mnemonic, Wmma<A, B, K, Result, Sparse>::handler, type, Type::U32, Type::U32, Sparse ? Type::U32 : type);
  out.matrix = A::kFormat;
  return Result == Out::I32 ? out : out.chosen(why::kWmma);
}
template <class A, class B, unsigned K, Out Result> constexpr Row wmma(std::string_view mnemonic) {
  return row<A, B, K, Result, false>(mnemonic);
}
template <class A, class B, unsigned K, Out Result> constexpr Row swmmac(std::string_view mnemonic) {
  return row<A, B, K, Result, true>(mnemonic);
}

using InE4m3 = InFp8<Fp8>;
using InE5m2 = InFp8<Bf8>;

constexpr Row kRows[] = {
    wmma<InF16, InF16, 16, Out::F32>("v_wmma_f32_16x16x16_f16"),
    wmma<InBf16, InBf16, 16, Out::F32>("v_wmma_f32_16x16x16_bf16"),
    wmma<InF16, InF16, 16, Out::F16>("v_wmma_f16_16x16x16_f16"),
    wmma<InBf16, InBf16, 16, Out::Bf16>("v_wmma_bf16_16x16x16_bf16"),
    wmma<InInteger<8>, InInteger<8>, 16, Out::I32>("v_wmma_i32_16x16x16_iu8"),
    wmma<InInteger<4>, InInteger<4>, 16, Out::I32>("v_wmma_i32_16x16x16_iu4"),
    wmma<InInteger<4>, InInteger<4>, 32, Out::I32>("v_wmma_i32_16x16x32_iu4"),
    wmma<InE4m3, InE4m3, 16, Out::F32>("v_wmma_f32_16x16x16_fp8_fp8"),
    wmma<InE4m3, InE5m2, 16, Out::F32>("v_wmma_f32_16x16x16_fp8_bf8"),
    wmma<InE5m2, InE4m3, 16, Out::F32>("v_wmma_f32_16x16x16_bf8_fp8"),
    wmma<InE5m2, InE5m2, 16, Out::F32>("v_wmma_f32_16x16x16_bf8_bf8"),

    swmmac<InF16, InF16, 32, Out::F32>("v_swmmac_f32_16x16x32_f16"),
    swmmac<InBf16, InBf16, 32, Out::F32>("v_swmmac_f32_16x16x32_bf16"),
    swmmac<InF16, InF16, 32, Out::F16>("v_swmmac_f16_16x16x32_f16"),
    swmmac<InBf16, InBf16, 32, Out::Bf16>("v_swmmac_bf16_16x16x32_bf16"),
    swmmac<InInteger<8>, InInteger<8>, 32, Out::I32>("v_swmmac_i32_16x16x32_iu8"),
    swmmac<InInteger<4>, InInteger<4>, 32, Out::I32>("v_swmmac_i32_16x16x32_iu4"),
    swmmac<InInteger<4>, InInteger<4>, 64, Out::I32>("v_swmmac_i32_16x16x64_iu4"),
    swmmac<InE4m3, InE4m3, 32, Out::F32>("v_swmmac_f32_16x16x32_fp8_fp8"),
    swmmac<InE4m3, InE5m2, 32, Out::F32>("v_swmmac_f32_16x16x32_fp8_bf8"),
    swmmac<InE5m2, InE4m3, 32, Out::F32>("v_swmmac_f32_16x16x32_bf8_fp8"),
    swmmac<InE5m2, InE5m2, 32, Out::F32>("v_swmmac_f32_16x16x32_bf8_bf8"),
};

} // namespace

std::span<const Row> wmmaRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
