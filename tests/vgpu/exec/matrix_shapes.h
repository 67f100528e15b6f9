// All matrix instructions of gfx90a and gfx942 but the sparse ones: what they take, and where every element sits.
//
// Layouts are those that AMD's matrix instruction calculator prints, written down per instruction.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

namespace luthier::vgpu::test {

enum class In { F32, F16, Bf16, Bf16x4, I8, F64, Xf32, I8x8, Fp8, Bf8 };

struct Shape {
  const char *mnemonic;
  In in;
  unsigned m, k, blocks;
  /// Lane of A[i][k] (of B[k][i] too), and lane and register of D[i][j].
  unsigned (*lane)(unsigned i, unsigned k, unsigned block);
  unsigned (*laneOfD)(unsigned i, unsigned j, unsigned block);
  unsigned (*registerOfD)(unsigned i, unsigned block);
  In inB = in; ///< of B
};

inline unsigned blockTimes32(unsigned i, unsigned, unsigned b) { return 32 * b + i; }
inline unsigned blockTimes16(unsigned i, unsigned, unsigned b) { return 16 * b + i; }
inline unsigned blockTimes4(unsigned i, unsigned, unsigned b) { return 4 * b + i; }
template <unsigned Stride, unsigned Pack> inline unsigned byK(unsigned i, unsigned k, unsigned) {
  return Stride * (k / Pack) + i;
}
inline unsigned d32Lane(unsigned i, unsigned j, unsigned) { return (32 * (i / 4)) % 64 + j; }
inline unsigned d32Register(unsigned i, unsigned b) { return 16 * b + 4 * (i / 8) + i % 4; }
inline unsigned d16Lane(unsigned i, unsigned j, unsigned) { return 16 * (i / 4) + j; }
inline unsigned d16Register(unsigned i, unsigned b) { return 4 * b + i % 4; }
inline unsigned d4Lane(unsigned, unsigned j, unsigned b) { return 4 * b + j; }
inline unsigned d4Register(unsigned i, unsigned) { return i; }
inline unsigned f64x4Lane(unsigned i, unsigned k, unsigned b) { return 4 * b + 16 * k + i; }
inline unsigned f64x4LaneD(unsigned i, unsigned j, unsigned b) { return 16 * (i % 4) + 4 * b + j; }
inline unsigned f64x16LaneD(unsigned i, unsigned j, unsigned) { return 16 * (i % 4) + j; }
inline unsigned f64Register(unsigned i, unsigned) { return 2 * (i / 4); }

inline const Shape kShapes[] = {
    {"v_mfma_f32_32x32x1f32", In::F32, 32, 1, 2, blockTimes32, d32Lane, d32Register},
    {"v_mfma_f32_16x16x1f32", In::F32, 16, 1, 4, blockTimes16, d16Lane, d16Register},
    {"v_mfma_f32_4x4x1f32", In::F32, 4, 1, 16, blockTimes4, d4Lane, d4Register},
    {"v_mfma_f32_32x32x2f32", In::F32, 32, 2, 1, byK<32, 1>, d32Lane, d32Register},
    {"v_mfma_f32_16x16x4f32", In::F32, 16, 4, 1, byK<16, 1>, d16Lane, d16Register},
    {"v_mfma_f32_32x32x4f16", In::F16, 32, 4, 2, blockTimes32, d32Lane, d32Register},
    {"v_mfma_f32_16x16x4f16", In::F16, 16, 4, 4, blockTimes16, d16Lane, d16Register},
    {"v_mfma_f32_4x4x4f16", In::F16, 4, 4, 16, blockTimes4, d4Lane, d4Register},
    {"v_mfma_f32_32x32x8f16", In::F16, 32, 8, 1, byK<32, 4>, d32Lane, d32Register},
    {"v_mfma_f32_16x16x16f16", In::F16, 16, 16, 1, byK<16, 4>, d16Lane, d16Register},
    {"v_mfma_i32_32x32x4i8", In::I8, 32, 4, 2, blockTimes32, d32Lane, d32Register},
    {"v_mfma_i32_16x16x4i8", In::I8, 16, 4, 4, blockTimes16, d16Lane, d16Register},
    {"v_mfma_i32_4x4x4i8", In::I8, 4, 4, 16, blockTimes4, d4Lane, d4Register},
    {"v_mfma_i32_32x32x8i8", In::I8, 32, 8, 1, byK<32, 4>, d32Lane, d32Register},
    {"v_mfma_i32_16x16x16i8", In::I8, 16, 16, 1, byK<16, 4>, d16Lane, d16Register},
    {"v_mfma_f32_32x32x4bf16_1k", In::Bf16x4, 32, 4, 2, blockTimes32, d32Lane, d32Register},
    {"v_mfma_f32_16x16x4bf16_1k", In::Bf16x4, 16, 4, 4, blockTimes16, d16Lane, d16Register},
    {"v_mfma_f32_4x4x4bf16_1k", In::Bf16x4, 4, 4, 16, blockTimes4, d4Lane, d4Register},
    {"v_mfma_f32_32x32x8bf16_1k", In::Bf16x4, 32, 8, 1, byK<32, 4>, d32Lane, d32Register},
    {"v_mfma_f32_16x16x16bf16_1k", In::Bf16x4, 16, 16, 1, byK<16, 4>, d16Lane, d16Register},
    {"v_mfma_f32_32x32x2bf16", In::Bf16, 32, 2, 2, blockTimes32, d32Lane, d32Register},
    {"v_mfma_f32_16x16x2bf16", In::Bf16, 16, 2, 4, blockTimes16, d16Lane, d16Register},
    {"v_mfma_f32_4x4x2bf16", In::Bf16, 4, 2, 16, blockTimes4, d4Lane, d4Register},
    {"v_mfma_f32_32x32x4bf16", In::Bf16, 32, 4, 1, byK<32, 2>, d32Lane, d32Register},
    {"v_mfma_f32_16x16x8bf16", In::Bf16, 16, 8, 1, byK<16, 2>, d16Lane, d16Register},
    {"v_mfma_f64_16x16x4f64", In::F64, 16, 4, 1, byK<16, 1>, f64x16LaneD, f64Register},
    {"v_mfma_f64_4x4x4f64", In::F64, 4, 4, 4, f64x4Lane, f64x4LaneD, f64Register},
};

/// gfx942 has other names, for bf16 those of the _1k forms alone, and what other targets do not have.
inline const Shape kShapes942[] = {
    {"v_mfma_f32_32x32x1_2b_f32", In::F32, 32, 1, 2, blockTimes32, d32Lane, d32Register},
    {"v_mfma_f32_16x16x1_4b_f32", In::F32, 16, 1, 4, blockTimes16, d16Lane, d16Register},
    {"v_mfma_f32_4x4x1_16b_f32", In::F32, 4, 1, 16, blockTimes4, d4Lane, d4Register},
    {"v_mfma_f32_32x32x2_f32", In::F32, 32, 2, 1, byK<32, 1>, d32Lane, d32Register},
    {"v_mfma_f32_16x16x4_f32", In::F32, 16, 4, 1, byK<16, 1>, d16Lane, d16Register},
    {"v_mfma_f32_32x32x4_2b_f16", In::F16, 32, 4, 2, blockTimes32, d32Lane, d32Register},
    {"v_mfma_f32_16x16x4_4b_f16", In::F16, 16, 4, 4, blockTimes16, d16Lane, d16Register},
    {"v_mfma_f32_4x4x4_16b_f16", In::F16, 4, 4, 16, blockTimes4, d4Lane, d4Register},
    {"v_mfma_f32_32x32x8_f16", In::F16, 32, 8, 1, byK<32, 4>, d32Lane, d32Register},
    {"v_mfma_f32_16x16x16_f16", In::F16, 16, 16, 1, byK<16, 4>, d16Lane, d16Register},
    {"v_mfma_i32_32x32x4_2b_i8", In::I8, 32, 4, 2, blockTimes32, d32Lane, d32Register},
    {"v_mfma_i32_16x16x4_4b_i8", In::I8, 16, 4, 4, blockTimes16, d16Lane, d16Register},
    {"v_mfma_i32_4x4x4_16b_i8", In::I8, 4, 4, 16, blockTimes4, d4Lane, d4Register},
    {"v_mfma_f32_32x32x4_2b_bf16", In::Bf16x4, 32, 4, 2, blockTimes32, d32Lane, d32Register},
    {"v_mfma_f32_16x16x4_4b_bf16", In::Bf16x4, 16, 4, 4, blockTimes16, d16Lane, d16Register},
    {"v_mfma_f32_4x4x4_16b_bf16", In::Bf16x4, 4, 4, 16, blockTimes4, d4Lane, d4Register},
    {"v_mfma_f32_32x32x8_bf16", In::Bf16x4, 32, 8, 1, byK<32, 4>, d32Lane, d32Register},
    {"v_mfma_f32_16x16x16_bf16", In::Bf16x4, 16, 16, 1, byK<16, 4>, d16Lane, d16Register},
    {"v_mfma_f64_16x16x4_f64", In::F64, 16, 4, 1, byK<16, 1>, f64x16LaneD, f64Register},
    {"v_mfma_f64_4x4x4_4b_f64", In::F64, 4, 4, 4, f64x4Lane, f64x4LaneD, f64Register},
    {"v_mfma_i32_32x32x16_i8", In::I8x8, 32, 16, 1, byK<32, 8>, d32Lane, d32Register},
    {"v_mfma_i32_16x16x32_i8", In::I8x8, 16, 32, 1, byK<16, 8>, d16Lane, d16Register},
    {"v_mfma_f32_32x32x4_xf32", In::Xf32, 32, 4, 1, byK<32, 2>, d32Lane, d32Register},
    {"v_mfma_f32_16x16x8_xf32", In::Xf32, 16, 8, 1, byK<16, 2>, d16Lane, d16Register},
    {"v_mfma_f32_32x32x16_fp8_fp8", In::Fp8, 32, 16, 1, byK<32, 8>, d32Lane, d32Register, In::Fp8},
    {"v_mfma_f32_16x16x32_fp8_fp8", In::Fp8, 16, 32, 1, byK<16, 8>, d16Lane, d16Register, In::Fp8},
    {"v_mfma_f32_32x32x16_fp8_bf8", In::Fp8, 32, 16, 1, byK<32, 8>, d32Lane, d32Register, In::Bf8},
    {"v_mfma_f32_16x16x32_fp8_bf8", In::Fp8, 16, 32, 1, byK<16, 8>, d16Lane, d16Register, In::Bf8},
    {"v_mfma_f32_32x32x16_bf8_fp8", In::Bf8, 32, 16, 1, byK<32, 8>, d32Lane, d32Register, In::Fp8},
    {"v_mfma_f32_16x16x32_bf8_fp8", In::Bf8, 16, 32, 1, byK<16, 8>, d16Lane, d16Register, In::Fp8},
    {"v_mfma_f32_32x32x16_bf8_bf8", In::Bf8, 32, 16, 1, byK<32, 8>, d32Lane, d32Register, In::Bf8},
    {"v_mfma_f32_16x16x32_bf8_bf8", In::Bf8, 16, 32, 1, byK<16, 8>, d16Lane, d16Register, In::Bf8},
};

/// gfx908 has what gfx90a has but for f64 and the _1k forms.
inline bool has(std::string_view target, const Shape &s) {
  return target != "gfx908" || (s.in != In::F64 && s.in != In::Bf16x4);
}
inline std::span<const Shape> shapesOf(std::string_view target) {
  return target == "gfx942" ? std::span<const Shape>(kShapes942) : std::span<const Shape>(kShapes);
}

/// Bits of one value of A or B, and values of k that a lane holds.
inline unsigned bitsOf(In in) {
  switch (in) {
  case In::F64:
    return 64;
  case In::F32:
  case In::Xf32:
    return 32;
  case In::F16:
  case In::Bf16:
  case In::Bf16x4:
    return 16;
  default:
    return 8;
  }
}
inline unsigned valuesPerLane(In in) {
  switch (in) {
  case In::F64:
  case In::F32:
    return 1;
  case In::Bf16:
  case In::Xf32:
    return 2;
  case In::F16:
  case In::Bf16x4:
  case In::I8:
    return 4;
  default:
    return 8;
  }
}
inline unsigned registersOfInput(In in) { return bitsOf(in) * valuesPerLane(in) / 32; }
inline unsigned registersOfD(const Shape &s) { return (s.in == In::F64 ? 2 : 1) * s.m * s.m * s.blocks / 64; }
inline bool isInteger(In in) { return in == In::I8 || in == In::I8x8; }

/// The value of an fp8 or bf8 of gfx942, by the manual's table: bias 8 or 16, no infinity, NaN in the place of -0.
inline float smallFloat(bool bf8, uint32_t code) {
  code &= 0xff;
  if (code == 0x80)
    return NAN;
  const int mantissa = bf8 ? 2 : 3, bias = bf8 ? 16 : 8;
  const int e = int(code & 0x7f) >> mantissa, m = int(code) & ((1 << mantissa) - 1);
  const double value =
      e == 0 ? std::ldexp(m, 1 - bias - mantissa) : std::ldexp((1 << mantissa) + m, e - bias - mantissa);
  return float(code & 0x80 ? -value : value);
}
/// The code of a number that the format has.
inline uint32_t smallFloatCode(bool bf8, double value) {
  for (uint32_t code = 0; code < 256; ++code)
    if (smallFloat(bf8, code) == value)
      return code;
  return 0x80;
}

} // namespace luthier::vgpu::test
