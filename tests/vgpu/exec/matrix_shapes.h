// All matrix instructions of gfx90a: what they take, and where every element sits.
//
// Layouts are those that AMD's matrix instruction calculator prints, written down per instruction.
#pragma once

namespace luthier::vgpu::test {

enum class In { F32, F16, Bf16, Bf16x4, I8, F64 };

struct Shape {
  const char *mnemonic;
  In in;
  unsigned m, k, blocks;
  /// Lane of A[i][k] (of B[k][i] too), and lane and register of D[i][j].
  unsigned (*lane)(unsigned i, unsigned k, unsigned block);
  unsigned (*laneOfD)(unsigned i, unsigned j, unsigned block);
  unsigned (*registerOfD)(unsigned i, unsigned block);
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

inline unsigned registersOfInput(In in) { return in == In::F16 || in == In::Bf16x4 || in == In::F64 ? 2 : 1; }
inline unsigned registersOfD(const Shape &s) { return (s.in == In::F64 ? 2 : 1) * s.m * s.m * s.blocks / 64; }

/// Values of k that a lane holds.
inline unsigned valuesPerLane(In in) {
  return in == In::F16 || in == In::Bf16x4 || in == In::I8 ? 4 : in == In::Bf16 ? 2 : 1;
}

} // namespace luthier::vgpu::test
