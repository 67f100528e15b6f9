// VOP3P-MAI: matrix multiply-add (manual, chapter 7) and moves between VGPRs and AccVGPRs.
//
// One engine for all shapes: D = A B + C for `blocks` independent pairs of an M x K and a K x N matrix. Where elements
// sit (the manual leaves it out; AMD's matrix instruction calculator has it):
// - A lane holds kPack consecutive values of k: as many as fit its registers (one f32, four f16, eight fp8, ...). Lanes
//   go through the rows of A first (the columns of B, C and D likewise), then through groups of k, then through blocks.
// - Of D, a lane holds the rows of one column in groups of four consecutive registers. Groups of four rows go
//   through the lanes before they go through the registers; blocks come last, in lanes where there is room.
// - f64 has its own order: single rows instead of groups of four, and blocks before k.
//
// EXEC is ignored. CBSZ and ABID let a block of A serve a group of blocks, BLGP rearranges the lanes of B.
//
// Sparse forms (MI300's manual, 7.4): of every four values of k, A has two. Which ones is in the lanes of the third
// source, two bits for each value that a lane of A holds; C is where D is.
//
// Arithmetic. How products are added up is the target's (isa/matrix.h, engines in matrix.h). Documented: f32 follows
// MODE's denormals, f64 rounds to nearest and keeps denormals whatever MODE says, f16 and bf16 of gfx90a flush them,
// integers wrap around. Not documented, and chosen here: f32 results of gfx908 and gfx90a round as MODE says for f32,
// those of smaller formats to nearest whatever MODE says; sparse forms add up the products that there are as dense ones
// do theirs.

#include "vgpu/exec/fp8.h"
#include "vgpu/exec/matrix.h"
#include "vgpu/exec/packed.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

using isa::MatrixArithmetic;
using isa::MatrixFormat;
using isa::MatrixSum;

/// How the elements of A and B sit in the registers of a lane, and what they are in the computation. `kBlock` is the
/// most that an engine of blocks adds up at once.
struct InputF32 {
  using Value = f32;
  static constexpr MatrixFormat kFormat = MatrixFormat::F32;
  static constexpr unsigned kPack = 1, kBits = 32;
  [[gnu::always_inline]] static f32 value(u32 x) { return bits<f32>(x); }
};
/// What matrix units take in blocks. The format is a constant of the type, or told by the instruction.
struct InputXf32 {
  using Value = f32;
  static constexpr MatrixFormat kFormat = MatrixFormat::Xf32;
  static constexpr unsigned kPack = 2, kBits = 32, kBlock = 4;
  static constexpr i32 leastExponent() { return -126; }
  [[gnu::always_inline]] static f32 value(u32 x) { return bits<f32>(x & 0xffffe000); } // 10 bits, as measured
};
struct InputF16 {
  using Value = f32;
  static constexpr MatrixFormat kFormat = MatrixFormat::F16;
  static constexpr unsigned kPack = 4, kBits = 16, kExactBlock = 4, kBlock = 8;
  static constexpr f32 kLeastNormal = 0x1p-14f;
  static constexpr i32 leastExponent() { return -14; }
  [[gnu::always_inline]] static f32 value(u32 x) { return static_cast<f32>(bits<f16>(static_cast<u16>(x))); }
};
/// The first bf16 instructions have two values to a lane, the _1k ones four.
template <unsigned Pack> struct InputBf16 {
  using Value = f32;
  static constexpr MatrixFormat kFormat = Pack == 2 ? MatrixFormat::Bf16 : MatrixFormat::Bf16x4;
  static constexpr unsigned kPack = Pack, kBits = 16, kExactBlock = 2, kBlock = 8;
  static constexpr f32 kLeastNormal = 0x1p-126f;
  static constexpr i32 leastExponent() { return -126; }
  [[gnu::always_inline]] static f32 value(u32 x) { return bits<f32>(x << 16); }
};
/// fp8 or bf8, for A and B each on its own.
struct InputF8 {
  using Value = f32;
  static constexpr unsigned kPack = 8, kBits = 8, kBlock = 16;
  bool isBf8;
  i32 leastExponent() const { return 1 - (isBf8 ? Bf8::bias(Fp8Kind::Fnuz) : Fp8::bias(Fp8Kind::Fnuz)); }
  [[gnu::always_inline]] f32 value(u32 x) const {
    return isBf8 ? fromFp8<Bf8>(x, Fp8Kind::Fnuz) : fromFp8<Fp8>(x, Fp8Kind::Fnuz);
  }
};
/// The last i8 instructions have eight values to a lane.
template <unsigned Pack> struct InputI8 {
  using Value = u32; // sums wrap around
  static constexpr MatrixFormat kFormat = MatrixFormat::I8;
  static constexpr unsigned kPack = Pack, kBits = 8;
  [[gnu::always_inline]] static u32 value(u32 x) { return static_cast<u32>(static_cast<i8>(x)); }
};
struct InputF64 {
  using Value = f64;
  static constexpr MatrixFormat kFormat = MatrixFormat::F64;
};

/// Of A and B of an instruction.
template <class Input> struct Inputs {
  Input a, b;
  explicit Inputs(const Inst &) : a{}, b{} {}
};
template <> struct Inputs<InputF8> {
  InputF8 a, b;
  explicit Inputs(const Inst &i)
      : a{i.row->matrix == MatrixFormat::Bf8Fp8 || i.row->matrix == MatrixFormat::Bf8Bf8},
        b{i.row->matrix == MatrixFormat::Fp8Bf8 || i.row->matrix == MatrixFormat::Bf8Bf8} {}
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
  Accumulator(const Wave &w, const Inst &i, bool isResult = false)
      : lanes(isResult                        ? w.v[i.dst]
              : i.srcKind[2] == SrcKind::Vgpr ? w.v[i.src[2].reg]
                                              : i.src[2].lanes),
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
  [[gnu::always_inline]] static void add(Vector &sum, const Value *a, const Value *const *b, const Inputs<Input> &) {
    multiplyAdd(sum, a[0], b[0]);
  }
};
template <unsigned Length, bool Flushes> struct Pairwise {
  static constexpr unsigned kLength = Length;
  static constexpr bool kFlushes = Flushes;
  template <class Input, unsigned, class Vector>
  [[gnu::always_inline]] static void add(Vector &sum, const f32 *a, const f32 *const *b, const Inputs<Input> &) {
    addPairwise<Length>(sum, a, b);
  }
};
template <unsigned Length> struct Exact {
  static constexpr unsigned kLength = Length;
  static constexpr bool kFlushes = false;
  template <class Input, unsigned Columns, class Vector>
  [[gnu::always_inline]] static void add(Vector &sum, const f32 *a, const f32 *const *b, const Inputs<Input> &) {
    f32 row[Columns];
    memcpy(row, &sum, sizeof row);
    addExactBlock<Length>(row, a, b, Columns);
    memcpy(&sum, row, sizeof row);
  }
};
template <unsigned Length, bool Split> struct Truncated {
  static constexpr unsigned kLength = Length;
  static constexpr bool kFlushes = false;
  template <class Input, unsigned Columns, class Vector>
  [[gnu::always_inline]] static void add(Vector &sum, const f32 *a, const f32 *const *b, const Inputs<Input> &inputs) {
    f32 row[Columns];
    memcpy(row, &sum, sizeof row);
    addTruncatedBlock<Length, Split>(row, a, b, Columns, inputs.a.leastExponent(), inputs.b.leastExponent());
    memcpy(&sum, row, sizeof row);
  }
};

constexpr const char *kNoRule = "is added up in a way that the virtual GPU does not have";

/// Says no to results that MODE would clamp.
bool clampsResults(const Wave &w, const Inst &i) {
  return MatrixArithmetic::unpacked(i.imm).clampsByMode && (w.mode & mode::kFp16Overflow);
}
constexpr const char *kClamps = "runs with MODE.FP16_OVFL, which the virtual GPU does not support";

/// M, N, K and blocks as in the mnemonics; `Columns` is their N. `Sparse`: half of A's K is there.
template <class Input, unsigned M, unsigned Columns, unsigned K, unsigned Blocks, bool Sparse = false> struct Mfma {
  using Value = typename Input::Value;
  using Vector = typename RowOf<Value, Columns>::type;
  static constexpr unsigned kProducts = Sparse ? K / 2 : K;
  static constexpr unsigned kPackOfB = Sparse ? 2 * Input::kPack : Input::kPack;
  static constexpr unsigned kGroups = kProducts / Input::kPack; ///< lane groups that k is spread over
  static constexpr unsigned kRowGroups = N / Columns / (M < N / Columns * 4 ? Blocks : 1); ///< of D, in lanes
  static constexpr unsigned kRegistersPerBlock = M / kRowGroups;
  static_assert(M * kGroups * Blocks == N && M == Columns && (!Sparse || Blocks == 1));

  /// The elements of all lanes' registers, apart.
  template <unsigned Count, bool Flushes>
  [[gnu::always_inline]] static void unpack(const Input &input, const u32 (*v)[kMaxLanes], Value (*out)[N]) {
    for (unsigned element = 0; element < Count; ++element) {
      const unsigned bit = element * Input::kBits;
      for (unsigned lane = 0; lane < N; ++lane) {
        const Value x = input.value(v[bit / 32][lane] >> (bit % 32));
        if constexpr (Flushes)
          out[element][lane] = flushedToPlus(x, Input::kLeastNormal);
        else
          out[element][lane] = x;
      }
    }
  }

  static const Inst *handler(Wave &w, const Inst *i) {
    const Modifiers modifiers(i->control);
    if (!validOperands(*i) || (Sparse && i->srcKind[2] != SrcKind::Vgpr))
      return w.illegal(i, "has an operand that matrix instructions do not take");
    if (clampsResults(w, *i))
      return w.illegal(i, kClamps);
    const unsigned sharing = 1u << modifiers.cbsz; // blocks that one block of A serves
    if (!Sparse && (sharing > Blocks || (modifiers.cbsz && modifiers.abid >= sharing)))
      return w.illegal(i, "has a CBSZ or ABID that its blocks do not allow");
    if constexpr (std::is_same_v<Input, InputF32>)
      return ofF32(w, i);
    else if constexpr (std::is_same_v<Value, u32>)
      return run<OneByOne>(w, i);
    else
      return byRule(w, i);
  }

  static const Inst *ofF32(Wave &w, const Inst *i) {
    if (!MatrixArithmetic::unpacked(i->imm).sumsIgnoreMode)
      return run<OneByOne>(w, i);
    HostMode mode(HostMode::kNearest);
    constexpr u32 kKeepInputs = mode::kDenormF32 & mode::kDenormF32 >> 1;
    return run<OneByOne>(w, i, !(w.mode & kKeepInputs));
  }

  /// The engine that the target's rule asks for.
  static const Inst *byRule(Wave &w, const Inst *i) {
    constexpr unsigned kBlock = kProducts < Input::kBlock ? kProducts : Input::kBlock;
    const auto rule = MatrixArithmetic::unpacked(i->imm);
    const unsigned length = rule.block < kProducts ? rule.block : kProducts;
    HostMode mode(rule.flushes ? HostMode::kNearest | HostMode::kFlush : HostMode::kNearest);
    if constexpr (Input::kBits == 16 && !Sparse) {
      if (rule.sum == MatrixSum::Pairwise && rule.flushes && length == Input::kPack)
        return run<Pairwise<Input::kPack, true>>(w, i);
      if (rule.sum == MatrixSum::ExactBlock && length == Input::kExactBlock)
        return run<Exact<Input::kExactBlock>>(w, i);
    }
    constexpr bool kSplit = std::is_same_v<Input, InputF8>;
    if (rule.sum == (kSplit ? MatrixSum::SplitTruncatedBlock : MatrixSum::TruncatedBlock) && length == kBlock)
      return run<Truncated<kBlock, kSplit>>(w, i);
    return w.illegal(i, kNoRule);
  }

  /// `flushInputs`: denormals of A and B become zeros of their sign.
  template <class Engine>
  [[gnu::always_inline]] static const Inst *run(Wave &w, const Inst *i, bool flushInputs = false) {
    const Modifiers modifiers(i->control);
    const unsigned sharing = 1u << modifiers.cbsz;
    const Inputs<Input> inputs(*i);
    Value a[Input::kPack][N], b[kPackOfB][N];
    unpack<Input::kPack, Engine::kFlushes>(inputs.a, &w.v[i->src[0].reg], a);
    unpack<kPackOfB, Engine::kFlushes>(inputs.b, &w.v[i->src[1].reg], b);
    if constexpr (std::is_same_v<Input, InputF32>)
      if (flushInputs) [[unlikely]]
        for (unsigned lane = 0; lane < N; ++lane) {
          a[0][lane] = flushed(a[0][lane]);
          b[0][lane] = flushed(b[0][lane]);
        }
    if (modifiers.blgp) [[unlikely]] {
      Value straight[kPackOfB][N];
      memcpy(straight, b, sizeof b);
      for (unsigned element = 0; element < kPackOfB; ++element)
        for (unsigned lane = 0; lane < N; ++lane)
          b[element][lane] = straight[element][laneOfB(modifiers.blgp, lane)];
    }
    u32 indices[N] = {}; // D may overwrite them
    if constexpr (Sparse)
      memcpy(indices, w.v[i->src[2].reg], sizeof indices);
    // A set of indices has two bits for each of a lane's values; CBSZ other than 0 means the first.
    const unsigned set = Sparse && !(modifiers.cbsz & 3) ? modifiers.abid % (16 / Input::kPack) * 2 * Input::kPack : 0;

    const Accumulator c(w, *i, Sparse);
    for (unsigned block = 0; block < Blocks; ++block) {
      const unsigned blockOfA = !Sparse && modifiers.cbsz ? (block & ~(sharing - 1)) + modifiers.abid : block;
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
        for (unsigned first = 0; first < kProducts; first += Engine::kLength) {
          Value factors[Engine::kLength];
          const Value *rows[Engine::kLength];
          for (unsigned n = 0; n < Engine::kLength; ++n) {
            const unsigned group = (first + n) / Input::kPack, element = (first + n) % Input::kPack;
            const unsigned laneOfA = M * (group + kGroups * blockOfA) + row;
            const unsigned ofFour = Sparse ? indices[laneOfA] >> (set + 2 * element) & 3 : 0;
            factors[n] = a[element][laneOfA];
            rows[n] = &b[Sparse ? element / 2 * 4 + ofFour : element][Columns * (group + kGroups * block)];
          }
          Engine::template add<Input, Columns>(sum, factors, rows, inputs);
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
    const auto rule = MatrixArithmetic::unpacked(i->imm);
    if (!rule.negates && (modifiers.cbsz || modifiers.abid || modifiers.blgp))
      return w.illegal(i, "has CBSZ, ABID or BLGP, which f64 matrix instructions do not have");
    if (clampsResults(w, *i))
      return w.illegal(i, kClamps);
    HostMode mode(HostMode::kNearest);

    const u64 signA = u64{modifiers.blgp & 1} << 63, signB = u64{modifiers.blgp >> 1 & 1} << 63;
    const u64 signC = u64{modifiers.blgp >> 2} << 63;
    f64 a[N], b[N];
    for (unsigned lane = 0; lane < N; ++lane) {
      a[lane] = bits<f64>(Lane<u64>::get(w.v[i->src[0].reg], lane) ^ signA);
      b[lane] = bits<f64>(Lane<u64>::get(w.v[i->src[1].reg], lane) ^ signB);
    }
    const Accumulator c(w, *i);
    const unsigned high = c.stride ? c.stride : N; // constants have their high halves behind the low ones
    for (unsigned block = 0; block < Blocks; ++block)
      for (unsigned row = 0; row < M; ++row) {
        const unsigned reg = 2 * (row / 4), lane = M * Blocks * (row % 4) + M * block;
        const u32 *in = c.lanes + reg * c.stride + lane;
        Vector sum;
        for (unsigned column = 0; column < Columns; ++column)
          sum[column] = bits<f64>((in[column] | static_cast<u64>(in[column + high]) << 32) ^ signC);
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
template <unsigned M, unsigned K> constexpr Row mfmaF8(std::string_view mnemonic, MatrixFormat format) {
  Row row = raw(mnemonic, Mfma<InputF8, M, M, K, 1>::handler, Type::F32, Type::U32, Type::U32, Type::F32);
  row.matrix = format;
  return row.documented(why::kMatrix);
}
template <class Input, unsigned M, unsigned K> constexpr Row smfmac(std::string_view mnemonic, MatrixFormat format) {
  constexpr Type kType = std::is_same_v<typename Input::Value, u32> ? Type::I32 : Type::F32;
  Row row = raw(mnemonic, Mfma<Input, M, M, K, 1, true>::handler, kType, Type::U32, Type::U32, Type::U32);
  row.matrix = format;
  return kType == Type::I32 ? row.documented(why::kMatrix) : row.chosen(why::kSparseMatrix);
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

    mfma<InputI8<4>, 32, 32, 4, 2>("v_mfma_i32_32x32x4i8", Type::I32),
    mfma<InputI8<4>, 16, 16, 4, 4>("v_mfma_i32_16x16x4i8", Type::I32),
    mfma<InputI8<4>, 4, 4, 4, 16>("v_mfma_i32_4x4x4i8", Type::I32),
    mfma<InputI8<4>, 32, 32, 8, 1>("v_mfma_i32_32x32x8i8", Type::I32),
    mfma<InputI8<4>, 16, 16, 16, 1>("v_mfma_i32_16x16x16i8", Type::I32),

    mfma<InputF64, 16, 16, 4, 1>("v_mfma_f64_16x16x4f64", Type::F64),
    mfma<InputF64, 4, 4, 4, 4>("v_mfma_f64_4x4x4f64", Type::F64),

    // MI300; other shapes that it has are those above by other names (renamed.h).
    mfma<InputXf32, 16, 16, 8, 1>("v_mfma_f32_16x16x8_xf32", Type::F32),
    mfma<InputXf32, 32, 32, 4, 1>("v_mfma_f32_32x32x4_xf32", Type::F32),
    mfma<InputI8<8>, 32, 32, 16, 1>("v_mfma_i32_32x32x16_i8", Type::I32),
    mfma<InputI8<8>, 16, 16, 32, 1>("v_mfma_i32_16x16x32_i8", Type::I32),
    mfmaF8<16, 32>("v_mfma_f32_16x16x32_bf8_bf8", MatrixFormat::Bf8Bf8),
    mfmaF8<16, 32>("v_mfma_f32_16x16x32_bf8_fp8", MatrixFormat::Bf8Fp8),
    mfmaF8<16, 32>("v_mfma_f32_16x16x32_fp8_bf8", MatrixFormat::Fp8Bf8),
    mfmaF8<16, 32>("v_mfma_f32_16x16x32_fp8_fp8", MatrixFormat::Fp8Fp8),
    mfmaF8<32, 16>("v_mfma_f32_32x32x16_bf8_bf8", MatrixFormat::Bf8Bf8),
    mfmaF8<32, 16>("v_mfma_f32_32x32x16_bf8_fp8", MatrixFormat::Bf8Fp8),
    mfmaF8<32, 16>("v_mfma_f32_32x32x16_fp8_bf8", MatrixFormat::Fp8Bf8),
    mfmaF8<32, 16>("v_mfma_f32_32x32x16_fp8_fp8", MatrixFormat::Fp8Fp8),

    smfmac<InputF16, 16, 32>("v_smfmac_f32_16x16x32_f16", MatrixFormat::F16),
    smfmac<InputF16, 32, 16>("v_smfmac_f32_32x32x16_f16", MatrixFormat::F16),
    smfmac<InputBf16<4>, 16, 32>("v_smfmac_f32_16x16x32_bf16", MatrixFormat::Bf16x4),
    smfmac<InputBf16<4>, 32, 16>("v_smfmac_f32_32x32x16_bf16", MatrixFormat::Bf16x4),
    smfmac<InputI8<8>, 16, 64>("v_smfmac_i32_16x16x64_i8", MatrixFormat::I8),
    smfmac<InputI8<8>, 32, 32>("v_smfmac_i32_32x32x32_i8", MatrixFormat::I8),
    smfmac<InputF8, 16, 64>("v_smfmac_f32_16x16x64_bf8_bf8", MatrixFormat::Bf8Bf8),
    smfmac<InputF8, 16, 64>("v_smfmac_f32_16x16x64_bf8_fp8", MatrixFormat::Bf8Fp8),
    smfmac<InputF8, 16, 64>("v_smfmac_f32_16x16x64_fp8_bf8", MatrixFormat::Fp8Bf8),
    smfmac<InputF8, 16, 64>("v_smfmac_f32_16x16x64_fp8_fp8", MatrixFormat::Fp8Fp8),
    smfmac<InputF8, 32, 32>("v_smfmac_f32_32x32x32_bf8_bf8", MatrixFormat::Bf8Bf8),
    smfmac<InputF8, 32, 32>("v_smfmac_f32_32x32x32_bf8_fp8", MatrixFormat::Bf8Fp8),
    smfmac<InputF8, 32, 32>("v_smfmac_f32_32x32x32_fp8_bf8", MatrixFormat::Fp8Bf8),
    smfmac<InputF8, 32, 32>("v_smfmac_f32_32x32x32_fp8_fp8", MatrixFormat::Fp8Fp8),
};

} // namespace

std::span<const Row> mfmaRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
