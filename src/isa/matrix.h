// How the matrix units and dot products of each target add up. The ISA manuals do not say; what others have measured:
// - CDNA 1 to 3: MMA-Sim (arXiv 2511.10909 and its code, microsoft/MMA-Sim), which reports that its models agree with
//   them bit for bit;
// - gfx11: V_DOT2_F32_F16 and _BF16 of a gfx1151 (ROCm/rocm-systems issue 12056). The RDNA3 manual says that WMMA uses
//   the dot instructions.
// The RDNA4 manual writes "fused multiply add" for WMMA and adds the terms of dot products to C one after the other;
// nobody has published measurements of gfx12 or gfx950.
//
// A rule belongs to a target and an input format. K is taken in ascending order, `block` values at a time; the result
// of a block is the C of the next. A new target is a table here (and rows in vgpu/exec/mfma.cc or wmma.cc for new
// shapes); a format whose rule is not in it does not execute.
//
// Nor has anybody published how the sparse forms of gfx942 add up.
#pragma once

#include <cstdint>

namespace luthier::isa {

/// Formats of A and B, by the names of the instructions.
enum class MatrixFormat : uint8_t {
  None,
  F64,
  F32,
  F16,
  Bf16,
  Bf16x4, ///< the _1k forms, which take twice as many values at a time
  I8,     ///< and smaller integers
  Xf32,   ///< f32 of which 10 bits of significand count
  Fp8Fp8, ///< A's format and B's; the two formats add up in the same way
  Fp8Bf8,
  Bf8Fp8,
  Bf8Bf8,
  DotF16,  ///< v_dot2_f32_f16
  DotBf16, ///< v_dot2_f32_bf16
  Fp8Conversion,
};

/// What FP8 (E4M3) and BF8 (E5M2) are.
enum class Fp8Kind : uint8_t {
  None,
  Fnuz, ///< exponents biased by 8 and 16; no infinities, no -0, whose code is the only NaN
  Ocp,  ///< biased by 7 and 15; BF8 as IEEE 754 has it, FP8 without infinities
};

enum class MatrixSum : uint8_t {
  Unknown,
  None,     ///< of conversions
  FmaChain, ///< a fused multiply-add for each k
  Wraps,    ///< integers modulo 2^32
  /// Each product is rounded to f32, they are added in pairs, the pairs' sums in pairs, and last C is added.
  Pairwise,
  /// The exact sum of C and the products, rounded to f32 once.
  ExactBlock,
  /// Exact products, cut off 24 bits below the greatest one's exponent, are added; then C is, with both rounded down
  /// to what the adder holds, and the sum is rounded down to 31 bits of fraction before it is rounded to f32.
  TruncatedBlock,
  /// The same for the products of even and of odd k apart. Their sums are rounded down to 24 bits below the greater
  /// one's exponent and added, and C does not count if its exponent is more than 25 less than theirs.
  SplitTruncatedBlock,
  /// C and exact products, cut off 24 bits below the greatest exponent (of a product: the sum of its operands'), are
  /// added as integers. A term whose sign is not C's is negated by inverting its bits, so it counts one unit more. The
  /// sum is rounded to f32 once.
  FramedBlock,
};

struct MatrixArithmetic {
  MatrixSum sum = MatrixSum::Unknown;
  uint8_t block = 1; ///< values of k that are added at once; fewer if K is less
  /// Subnormal values of A, B and of the first C are +0, and results of each multiplication and addition that are
  /// subnormal become zeros of their sign. False: subnormals are kept. (FramedBlock: those of A and B; results are
  /// flushed in any case.)
  bool flushes = false;
  /// Sums are rounded to nearest and keep subnormals whatever MODE says, which only decides about A's and B's. Of f32;
  /// false: all is as MODE says.
  bool sumsIgnoreMode = false;
  /// BLGP negates A, B and C, and CBSZ and ABID mean nothing. Of f64; false: it has none of these.
  bool negates = false;
  /// MODE.FP16_OVFL clamps results that overflow.
  bool clampsByMode = false;
  bool cutsBf16 = false; ///< v_dot2_bf16_bf16 rounds its result towards zero
  // Of the whole unit.
  bool repeatsInputs = false;
  Fp8Kind fp8 = Fp8Kind::None;

  /// For a record of the virtual GPU, which has room for one number.
  constexpr int32_t packed() const {
    return static_cast<int32_t>(sum) | block << 8 | flushes << 16 | sumsIgnoreMode << 17 | negates << 18 |
           clampsByMode << 19 | cutsBf16 << 20 | repeatsInputs << 21 | static_cast<int32_t>(fp8) << 22;
  }
  /// Inlined wherever it is called: handlers of a CPU level must not bring what others would share.
  [[gnu::always_inline]] static constexpr MatrixArithmetic unpacked(int32_t x) {
    const auto flag = [x](unsigned bit) __attribute__((always_inline)) { return (x >> bit & 1) != 0; };
    return {static_cast<MatrixSum>(x & 0xff),
            static_cast<uint8_t>(x >> 8 & 0xff),
            flag(16),
            flag(17),
            flag(18),
            flag(19),
            flag(20),
            flag(21),
            static_cast<Fp8Kind>(x >> 22 & 3)};
  }
};

/// A target's rules. All round to nearest, ties to even, unless said otherwise.
struct MatrixUnit {
  MatrixArithmetic f64 = {}, f32 = {}, f16 = {}, bf16 = {}, bf16x4 = {}, i8 = {}, xf32 = {}, fp8 = {};
  MatrixArithmetic dotF16 = {}, dotBf16 = {};
  Fp8Kind fp8Kind = Fp8Kind::None;
  bool repeatsInputs = false; ///< WMMA: all groups of 16 lanes hold A and B; the rows of D alternate between them

  constexpr MatrixArithmetic of(MatrixFormat format) const {
    MatrixArithmetic rule = sumOf(format);
    rule.repeatsInputs = repeatsInputs;
    rule.fp8 = fp8Kind;
    return rule;
  }

private:
  constexpr MatrixArithmetic sumOf(MatrixFormat format) const {
    switch (format) {
    case MatrixFormat::F64:
      return f64;
    case MatrixFormat::F32:
      return f32;
    case MatrixFormat::F16:
      return f16;
    case MatrixFormat::Bf16:
      return bf16;
    case MatrixFormat::Bf16x4:
      return bf16x4;
    case MatrixFormat::I8:
      return i8;
    case MatrixFormat::Xf32:
      return xf32;
    case MatrixFormat::Fp8Fp8:
    case MatrixFormat::Fp8Bf8:
    case MatrixFormat::Bf8Fp8:
    case MatrixFormat::Bf8Bf8:
      return fp8;
    case MatrixFormat::DotF16:
      return dotF16;
    case MatrixFormat::DotBf16:
      return dotBf16;
    case MatrixFormat::Fp8Conversion:
      return {fp8Kind == Fp8Kind::None ? MatrixSum::Unknown : MatrixSum::None};
    case MatrixFormat::None:
      break;
    }
    return {};
  }
};

/// v_dot2_f32_f16 of gfx9 and gfx10 flushes subnormals; how it adds up is chosen, in the order of the manuals' formula.
inline constexpr MatrixArithmetic kDot2Gfx9 = {MatrixSum::Pairwise, 2, true};

/// gfx906 and gfx1030 have dot products alone.
inline constexpr MatrixUnit kDotProducts = {.dotF16 = kDot2Gfx9};
inline constexpr MatrixUnit kMatrixUnitGfx908 = {
    .f64 = {},
    .f32 = {MatrixSum::FmaChain},
    .f16 = {MatrixSum::ExactBlock, 4},
    .bf16 = {MatrixSum::ExactBlock, 2},
    .bf16x4 = {},
    .i8 = {MatrixSum::Wraps},
    .dotF16 = kDot2Gfx9,
};
inline constexpr MatrixUnit kMatrixUnitGfx90a = {
    .f64 = {MatrixSum::FmaChain},
    .f32 = {MatrixSum::FmaChain},
    .f16 = {MatrixSum::Pairwise, 4, true},
    .bf16 = {MatrixSum::Pairwise, 2, true},
    .bf16x4 = {MatrixSum::Pairwise, 4, true},
    .i8 = {MatrixSum::Wraps},
    .dotF16 = kDot2Gfx9,
};
inline constexpr MatrixUnit kMatrixUnitGfx942 = {
    .f64 = {.sum = MatrixSum::FmaChain, .negates = true, .clampsByMode = true},
    .f32 = {.sum = MatrixSum::FmaChain, .sumsIgnoreMode = true, .clampsByMode = true},
    .f16 = {.sum = MatrixSum::TruncatedBlock, .block = 8, .clampsByMode = true},
    .bf16 = {},
    .bf16x4 = {.sum = MatrixSum::TruncatedBlock,
               .block = 8,
               .clampsByMode = true}, // it has the _1k forms' shapes alone
    .i8 = {.sum = MatrixSum::Wraps, .clampsByMode = true},
    .xf32 = {.sum = MatrixSum::TruncatedBlock, .block = 4, .clampsByMode = true},
    .fp8 = {.sum = MatrixSum::SplitTruncatedBlock, .block = 16, .clampsByMode = true},
    .dotF16 = kDot2Gfx9,
    .fp8Kind = Fp8Kind::Fnuz,
};
inline constexpr MatrixUnit kMatrixUnitGfx11 = {
    .f16 = {MatrixSum::FramedBlock, 2},
    .bf16 = {MatrixSum::FramedBlock, 2, true},
    .i8 = {MatrixSum::Wraps},
    .dotF16 = {MatrixSum::FramedBlock, 2},
    .dotBf16 = {MatrixSum::FramedBlock, 2, true},
    .repeatsInputs = true,
};
inline constexpr MatrixUnit kMatrixUnitGfx12 = {
    .f16 = {MatrixSum::FmaChain},
    .bf16 = {MatrixSum::FmaChain},
    .i8 = {MatrixSum::Wraps},
    .fp8 = {MatrixSum::FmaChain},
    .dotF16 = {MatrixSum::FmaChain},
    .dotBf16 = {.sum = MatrixSum::FmaChain, .cutsBf16 = true}, // triton-lang/triton issue 11227
    .fp8Kind = Fp8Kind::Ocp,
};

} // namespace luthier::isa
