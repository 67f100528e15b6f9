// How the matrix units of each target add up. The ISA manuals do not say; MMA-Sim (arXiv 2511.10909 and its code,
// microsoft/MMA-Sim) measured CDNA 1 to 3 and reports that its models agree with them bit for bit.
//
// A rule belongs to a target and an input format. K is taken in ascending order, `block` values at a time; the result
// of a block is the C of the next. A new target is a table here (and rows in vgpu/exec/mfma.cc for new shapes); a
// format whose rule is not in it does not execute.
//
// Not described, as no row needs them yet: gfx942's xf32 (inputs cut to 10 bits of significand, then TruncatedBlock of
// 4) and its fp8 and bf8 (as TruncatedBlock of 16, but with the sums of even and of odd k apart). Nobody has published
// what gfx950, gfx11 and gfx12 do.
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
  I8,
};

enum class MatrixSum : uint8_t {
  Unknown,
  FmaChain, ///< a fused multiply-add for each k
  Wraps,    ///< integers modulo 2^32
  /// Each product is rounded to f32, they are added in pairs, the pairs' sums in pairs, and last C is added.
  Pairwise,
  /// The exact sum of C and the products, rounded to f32 once.
  ExactBlock,
  /// Exact products, cut off 24 bits below the greatest one's exponent, are added; then C is, with both rounded down
  /// to what the adder holds, and the sum is rounded down to 31 bits of fraction before it is rounded to f32.
  TruncatedBlock,
};

struct MatrixArithmetic {
  MatrixSum sum = MatrixSum::Unknown;
  uint8_t block = 1; ///< values of k that are added at once; fewer if K is less
  /// Subnormal values of A, B and of the first C are +0, and results of each multiplication and addition that are
  /// subnormal become zeros of their sign. False: subnormals are kept.
  bool flushes = false;

  /// For a record of the virtual GPU, which has room for one number.
  constexpr int32_t packed() const { return static_cast<int32_t>(sum) | block << 8 | flushes << 16; }
  static constexpr MatrixArithmetic unpacked(int32_t x) {
    return {static_cast<MatrixSum>(x & 0xff), static_cast<uint8_t>(x >> 8 & 0xff), (x >> 16 & 1) != 0};
  }
};

/// A target's rules. All round to nearest, ties to even, unless said otherwise.
struct MatrixUnit {
  MatrixArithmetic f64, f32, f16, bf16, bf16x4, i8;

  constexpr MatrixArithmetic of(MatrixFormat format) const {
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
    case MatrixFormat::None:
      break;
    }
    return {};
  }
};

inline constexpr MatrixUnit kMatrixUnitGfx908 = {
    .f64 = {},
    .f32 = {MatrixSum::FmaChain},
    .f16 = {MatrixSum::ExactBlock, 4},
    .bf16 = {MatrixSum::ExactBlock, 2},
    .bf16x4 = {},
    .i8 = {MatrixSum::Wraps},
};
inline constexpr MatrixUnit kMatrixUnitGfx90a = {
    .f64 = {MatrixSum::FmaChain},
    .f32 = {MatrixSum::FmaChain},
    .f16 = {MatrixSum::Pairwise, 4, true},
    .bf16 = {MatrixSum::Pairwise, 2, true},
    .bf16x4 = {MatrixSum::Pairwise, 4, true},
    .i8 = {MatrixSum::Wraps},
};
inline constexpr MatrixUnit kMatrixUnitGfx942 = {
    .f64 = {MatrixSum::FmaChain},
    .f32 = {MatrixSum::FmaChain},
    .f16 = {MatrixSum::TruncatedBlock, 8},
    .bf16 = {},
    .bf16x4 = {MatrixSum::TruncatedBlock, 8}, // its only bf16 forms have the _1k forms' shapes
    .i8 = {MatrixSum::Wraps},
};

} // namespace luthier::isa
