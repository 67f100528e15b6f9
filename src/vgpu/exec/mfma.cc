// VOP3P-MAI: matrix multiply-add (manual, chapter 7) and moves between VGPRs and AccVGPRs.
//
// One engine for all shapes: D = A B + C for `blocks` independent pairs of an M x K and a K x N matrix. Where elements
// sit (the manual leaves it out; AMD's matrix instruction calculator has it):
// - A lane holds kPack consecutive values of k: as many as fit its registers (one f32, four f16, four i8, ...). Lanes
// go
//   through the rows of A first (the columns of B, C and D likewise), then through groups of k, then through blocks.
// - Of D, a lane holds the rows of one column in groups of four consecutive registers. Groups of four rows go
//   through the lanes before they go through the registers; blocks come last, in lanes where there is room.
// - f64 has its own order: single rows instead of groups of four, and blocks before k.
//
// EXEC is ignored. CBSZ and ABID let a block of A serve a group of blocks, BLGP rearranges the lanes of B.
//
// Arithmetic. How products are added up is the target's (isa/matrix.h, engines in matrix.h). Documented: f32 follows
// MODE's denormals, f64 rounds to nearest and keeps denormals whatever MODE says, f16 and bf16 of gfx90a flush them,
// integers wrap around. Not documented, and chosen here: f32 results round as MODE says for f32, those of f16 and bf16
// to nearest whatever MODE says.

#include "vgpu/exec/matrix.h"
#include "vgpu/exec/packed.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

using isa::MatrixArithmetic;
using isa::MatrixFormat;
using isa::MatrixSum;

/// How the elements of A and B sit in the registers of a lane, and what they are in the computation.
struct InputF32 {
  using Value = f32;
  static constexpr MatrixFormat kFormat = MatrixFormat::F32;
  static constexpr unsigned kPack = 1, kBits = 32;
  [[gnu::always_inline]] static f32 value(u32 x) { return bits<f32>(x); }
};
struct InputF16 {
  using Value = f32;
  static constexpr MatrixFormat kFormat = MatrixFormat::F16;
  static constexpr unsigned kPack = 4, kBits = 16, kExactBlock = 4;
  static constexpr i32 kLeastExponent = -14;
  static constexpr f32 kLeastNormal = 0x1p-14f;
  [[gnu::always_inline]] static f32 value(u32 x) { return static_cast<f32>(bits<f16>(static_cast<u16>(x))); }
};
/// The first bf16 instructions have two values to a lane, the _1k ones four.
template <unsigned Pack> struct InputBf16 {
  using Value = f32;
  static constexpr MatrixFormat kFormat = Pack == 2 ? MatrixFormat::Bf16 : MatrixFormat::Bf16x4;
  static constexpr unsigned kPack = Pack, kBits = 16, kExactBlock = 2;
  static constexpr i32 kLeastExponent = -126;
  static constexpr f32 kLeastNormal = 0x1p-126f;
  [[gnu::always_inline]] static f32 value(u32 x) { return bits<f32>(x << 16); }
};
struct InputI8 {
  using Value = u32; // sums wrap around
  static constexpr MatrixFormat kFormat = MatrixFormat::I8;
  static constexpr unsigned kPack = 4, kBits = 8;
  [[gnu::always_inline]] static u32 value(u32 x) { return static_cast<u32>(static_cast<i8>(x)); }
};
struct InputF64 {
  using Value = f64;
  static constexpr MatrixFormat kFormat = MatrixFormat::F64;
};

/// A row of B or D. Written as a vector: left to itself, the compiler vectorises over k or not at all.
template <class Value, unsigned Columns> struct RowOf {
  typedef Value type __attribute__((ext_vector_type(Columns)));
};

/// The modifier fields, as the decoder leaves them in `Inst::control`.
struct Modifiers {
  u32 cbsz, abid, blgp;
  explicit Modifiers(u32 control) : cbsz(control & 7), abid(control >> 4 & 15), blgp(control >> 8 & 7) {}
};

/// Which lane of B's registers serves as lane n.
[[gnu::always_inline]] inline unsigned laneOfB(u32 blgp, unsigned n) {
  switch (blgp) {
  case 1: // the first half for both
    return n & 31;
  case 2: // the second half for both
    return n | 32;
  case 3: // down by 16
    return (n + 16) & 63;
  case 4: // one quarter for all
  case 5:
  case 6:
  case 7:
    return (n & 15) + 16 * (blgp - 4);
  }
  return n;
}

/// Where C comes from: registers, or one constant for all elements.
struct Accumulator {
  const u32 *lanes;
  unsigned stride; ///< between registers, in dwords
  Accumulator(const Wave &w, const Inst &i)
      : lanes(i.srcKind[2] == SrcKind::Vgpr ? w.v[i.src[2].reg] : i.src[2].lanes),
        stride(i.srcKind[2] == SrcKind::Vgpr ? N : 0) {}
};

bool validOperands(const Inst &i) {
  return i.srcKind[0] == SrcKind::Vgpr && i.srcKind[1] == SrcKind::Vgpr &&
         (i.srcKind[2] == SrcKind::Vgpr || i.srcKind[2] == SrcKind::Constant);
}

/// Adds up one element of k after the other.
struct OneByOne {
  static constexpr unsigned kLength = 1;
  static constexpr bool kFlushes = false;
  template <class Input, unsigned, class Vector, class Value>
  [[gnu::always_inline]] static void add(Vector &sum, const Value *a, const Value *const *b) {
    multiplyAdd(sum, a[0], b[0]);
  }
};
template <unsigned Length, bool Flushes> struct Pairwise {
  static constexpr unsigned kLength = Length;
  static constexpr bool kFlushes = Flushes;
  template <class Input, unsigned, class Vector>
  [[gnu::always_inline]] static void add(Vector &sum, const f32 *a, const f32 *const *b) {
    addPairwise<Length>(sum, a, b);
  }
};
template <unsigned Length> struct Exact {
  static constexpr unsigned kLength = Length;
  static constexpr bool kFlushes = false;
  template <class Input, unsigned Columns, class Vector>
  [[gnu::always_inline]] static void add(Vector &sum, const f32 *a, const f32 *const *b) {
    f32 row[Columns];
    memcpy(row, &sum, sizeof row);
    addExactBlock<Length>(row, a, b, Columns);
    memcpy(&sum, row, sizeof row);
  }
};
template <unsigned Length> struct Truncated {
  static constexpr unsigned kLength = Length;
  static constexpr bool kFlushes = false;
  template <class Input, unsigned Columns, class Vector>
  [[gnu::always_inline]] static void add(Vector &sum, const f32 *a, const f32 *const *b) {
    f32 row[Columns];
    memcpy(row, &sum, sizeof row);
    addTruncatedBlock<Length>(row, a, b, Columns, Input::kLeastExponent);
    memcpy(&sum, row, sizeof row);
  }
};

/// M, N, K and blocks as in the mnemonics; `Columns` is their N.
template <class Input, unsigned M, unsigned Columns, unsigned K, unsigned Blocks> struct Mfma {
  using Value = typename Input::Value;
  using Vector = typename RowOf<Value, Columns>::type;
  static constexpr unsigned kGroups = K / Input::kPack; ///< lane groups that A's k is spread over
  static constexpr unsigned kRowGroups = N / Columns / (M < N / Columns * 4 ? Blocks : 1); ///< of D, in lanes
  static constexpr unsigned kRegistersPerBlock = M / kRowGroups;
  static_assert(M * kGroups * Blocks == N && M == Columns);

  /// The elements of all lanes' registers, apart.
  template <bool Flushes> [[gnu::always_inline]] static void unpack(const u32 (*v)[kMaxLanes], Value (*out)[N]) {
    for (unsigned element = 0; element < Input::kPack; ++element) {
      const unsigned bit = element * Input::kBits;
      for (unsigned lane = 0; lane < N; ++lane) {
        const Value x = Input::value(v[bit / 32][lane] >> (bit % 32));
        if constexpr (Flushes)
          out[element][lane] = flushedToPlus(x, Input::kLeastNormal);
        else
          out[element][lane] = x;
      }
    }
  }

  static const Inst *handler(Wave &w, const Inst *i) {
    const Modifiers modifiers(i->control);
    if (!validOperands(*i))
      return w.illegal(i, "has an operand that matrix instructions do not take");
    const unsigned sharing = 1u << modifiers.cbsz; // blocks that one block of A serves
    if (sharing > Blocks || (modifiers.cbsz && modifiers.abid >= sharing))
      return w.illegal(i, "has a CBSZ or ABID that its blocks do not allow");
    return Input::kBits == 16 ? byRule(w, i) : run<OneByOne>(w, i);
  }

  /// The engine that the target's rule asks for.
  static const Inst *byRule(Wave &w, const Inst *i) {
    if constexpr (Input::kBits == 16) {
      const auto rule = MatrixArithmetic::unpacked(i->imm);
      const unsigned length = rule.block < K ? rule.block : K;
      HostMode mode(rule.flushes ? HostMode::kNearest | HostMode::kFlush : HostMode::kNearest);
      if (rule.sum == MatrixSum::Pairwise && rule.flushes && length == Input::kPack)
        return run<Pairwise<Input::kPack, true>>(w, i);
      if (rule.sum == MatrixSum::ExactBlock && length == Input::kExactBlock)
        return run<Exact<Input::kExactBlock>>(w, i);
      if (rule.sum == MatrixSum::TruncatedBlock && length == (K < 8 ? K : 8))
        return run<Truncated<(K < 8 ? K : 8)>>(w, i);
    }
    return w.illegal(i, "is added up in a way that the virtual GPU does not have");
  }

  template <class Engine> [[gnu::always_inline]] static const Inst *run(Wave &w, const Inst *i) {
    const Modifiers modifiers(i->control);
    const unsigned sharing = 1u << modifiers.cbsz;
    Value a[Input::kPack][N], b[Input::kPack][N];
    unpack<Engine::kFlushes>(&w.v[i->src[0].reg], a);
    unpack<Engine::kFlushes>(&w.v[i->src[1].reg], b);
    if (modifiers.blgp) [[unlikely]] {
      Value straight[Input::kPack][N];
      memcpy(straight, b, sizeof b);
      for (unsigned element = 0; element < Input::kPack; ++element)
        for (unsigned lane = 0; lane < N; ++lane)
          b[element][lane] = straight[element][laneOfB(modifiers.blgp, lane)];
    }

    const Accumulator c(w, *i);
    for (unsigned block = 0; block < Blocks; ++block) {
      const unsigned blockOfA = modifiers.cbsz ? (block & ~(sharing - 1)) + modifiers.abid : block;
      for (unsigned row = 0; row < M; ++row) {
        // Blocks lie side by side in the lanes where one does not fill them.
        constexpr bool kBlocksInLanes = kRowGroups * Columns < N;
        const unsigned reg = row % 4 + row / (4 * kRowGroups) * 4 + (kBlocksInLanes ? 0 : kRegistersPerBlock * block);
        const unsigned lane = Columns * (kBlocksInLanes ? block : row / 4 % kRowGroups);
        Vector sum;
        memcpy(&sum, c.lanes + reg * c.stride + lane, sizeof sum);
        if constexpr (Engine::kFlushes) {
          typedef u32 Raw __attribute__((vector_size(sizeof(Vector))));
          Raw raw;
          memcpy(&raw, &sum, sizeof raw);
          raw &= Raw((raw & 0x7fffffff) >= kMinNormal<f32>); // subnormals as +0
          memcpy(&sum, &raw, sizeof raw);
        }
        for (unsigned first = 0; first < K; first += Engine::kLength) {
          Value factors[Engine::kLength];
          const Value *rows[Engine::kLength];
          for (unsigned n = 0; n < Engine::kLength; ++n) {
            const unsigned group = (first + n) / Input::kPack, element = (first + n) % Input::kPack;
            factors[n] = a[element][M * (group + kGroups * blockOfA) + row];
            rows[n] = &b[element][Columns * (group + kGroups * block)];
          }
          Engine::template add<Input, Columns>(sum, factors, rows);
        }
        memcpy(w.v[i->dst + reg] + lane, &sum, sizeof sum);
      }
    }
    return i->next();
  }
};

/// f64: one value of k to a lane and block, single rows in lanes.
template <unsigned M, unsigned Columns, unsigned K, unsigned Blocks> struct Mfma<InputF64, M, Columns, K, Blocks> {
  static_assert(M * K * Blocks == N && M == Columns);
  using Vector = typename RowOf<f64, Columns>::type;

  static const Inst *handler(Wave &w, const Inst *i) {
    if (!validOperands(*i))
      return w.illegal(i, "has an operand that matrix instructions do not take");
    const Modifiers modifiers(i->control);
    if (modifiers.cbsz || modifiers.abid || modifiers.blgp)
      return w.illegal(i, "has CBSZ, ABID or BLGP, which f64 matrix instructions do not have");
    HostMode mode(HostMode::kNearest);

    f64 a[N], b[N];
    for (unsigned lane = 0; lane < N; ++lane) {
      a[lane] = Lane<f64>::get(w.v[i->src[0].reg], lane);
      b[lane] = Lane<f64>::get(w.v[i->src[1].reg], lane);
    }
    const Accumulator c(w, *i);
    const unsigned high = c.stride ? c.stride : N; // constants have their high halves behind the low ones
    for (unsigned block = 0; block < Blocks; ++block)
      for (unsigned row = 0; row < M; ++row) {
        const unsigned reg = 2 * (row / 4), lane = M * Blocks * (row % 4) + M * block;
        const u32 *in = c.lanes + reg * c.stride + lane;
        Vector sum;
        for (unsigned column = 0; column < Columns; ++column)
          sum[column] = bits<f64>(in[column] | static_cast<u64>(in[column + high]) << 32);
        for (unsigned k = 0; k < K; ++k) {
          const unsigned group = M * (block + Blocks * k);
          multiplyAdd(sum, a[group + row], &b[group]);
        }
        for (unsigned column = 0; column < Columns; ++column)
          Lane<f64>::put(w.v[i->dst + reg], lane + column, sum[column]);
      }
    return i->next();
  }
};

const Inst *v_accvgpr_move(Wave &w, const Inst *i) {
  blend(w, w.v[i->dst], sourceLanes<false>(w, *i, 0), 1);
  return i->next();
}

template <class Input, unsigned M, unsigned Columns, unsigned K, unsigned Blocks>
constexpr Row mfma(std::string_view mnemonic, Type type) {
  Row row = raw(mnemonic, Mfma<Input, M, Columns, K, Blocks>::handler, type, Type::U32, Type::U32, type);
  row.matrix = Input::kFormat;
  return row.documented(why::kMatrix);
}

constexpr Row kRows[] = {
    raw("v_accvgpr_read_b32", v_accvgpr_move, Type::U32, Type::U32),
    raw("v_accvgpr_write_b32", v_accvgpr_move, Type::U32, Type::U32),

    mfma<InputF32, 32, 32, 1, 2>("v_mfma_f32_32x32x1f32", Type::F32),
    mfma<InputF32, 16, 16, 1, 4>("v_mfma_f32_16x16x1f32", Type::F32),
    mfma<InputF32, 4, 4, 1, 16>("v_mfma_f32_4x4x1f32", Type::F32),
    mfma<InputF32, 32, 32, 2, 1>("v_mfma_f32_32x32x2f32", Type::F32),
    mfma<InputF32, 16, 16, 4, 1>("v_mfma_f32_16x16x4f32", Type::F32),

    mfma<InputF16, 32, 32, 4, 2>("v_mfma_f32_32x32x4f16", Type::F32),
    mfma<InputF16, 16, 16, 4, 4>("v_mfma_f32_16x16x4f16", Type::F32),
    mfma<InputF16, 4, 4, 4, 16>("v_mfma_f32_4x4x4f16", Type::F32),
    mfma<InputF16, 32, 32, 8, 1>("v_mfma_f32_32x32x8f16", Type::F32),
    mfma<InputF16, 16, 16, 16, 1>("v_mfma_f32_16x16x16f16", Type::F32),

    mfma<InputBf16<2>, 32, 32, 2, 2>("v_mfma_f32_32x32x2bf16", Type::F32),
    mfma<InputBf16<2>, 16, 16, 2, 4>("v_mfma_f32_16x16x2bf16", Type::F32),
    mfma<InputBf16<2>, 4, 4, 2, 16>("v_mfma_f32_4x4x2bf16", Type::F32),
    mfma<InputBf16<2>, 32, 32, 4, 1>("v_mfma_f32_32x32x4bf16", Type::F32),
    mfma<InputBf16<2>, 16, 16, 8, 1>("v_mfma_f32_16x16x8bf16", Type::F32),

    mfma<InputBf16<4>, 32, 32, 4, 2>("v_mfma_f32_32x32x4bf16_1k", Type::F32),
    mfma<InputBf16<4>, 16, 16, 4, 4>("v_mfma_f32_16x16x4bf16_1k", Type::F32),
    mfma<InputBf16<4>, 4, 4, 4, 16>("v_mfma_f32_4x4x4bf16_1k", Type::F32),
    mfma<InputBf16<4>, 32, 32, 8, 1>("v_mfma_f32_32x32x8bf16_1k", Type::F32),
    mfma<InputBf16<4>, 16, 16, 16, 1>("v_mfma_f32_16x16x16bf16_1k", Type::F32),

    mfma<InputI8, 32, 32, 4, 2>("v_mfma_i32_32x32x4i8", Type::I32),
    mfma<InputI8, 16, 16, 4, 4>("v_mfma_i32_16x16x4i8", Type::I32),
    mfma<InputI8, 4, 4, 4, 16>("v_mfma_i32_4x4x4i8", Type::I32),
    mfma<InputI8, 32, 32, 8, 1>("v_mfma_i32_32x32x8i8", Type::I32),
    mfma<InputI8, 16, 16, 16, 1>("v_mfma_i32_16x16x16i8", Type::I32),

    mfma<InputF64, 16, 16, 4, 1>("v_mfma_f64_16x16x4f64", Type::F64),
    mfma<InputF64, 4, 4, 4, 4>("v_mfma_f64_4x4x4f64", Type::F64),
};

} // namespace

std::span<const Row> mfmaRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
