// SOP2: scalar instructions with two sources (manual, section 12.1).

#include "vgpu/exec/modes.h"
#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

#include <bit>

namespace luthier::vgpu {

namespace {

/// A bit-wise operation whose SCC says whether any bit is set.
template <class T, auto F> constexpr Row bitwise(std::string_view mnemonic) {
  return salu<[](T a, T b, Scc &scc) {
    const T d = F(a, b);
    scc.set = d != 0;
    return d;
  }>(mnemonic);
}

/// A shift by the low five (32-bit) or six (64-bit) bits of the second source.
template <class T, auto F> constexpr Row shift(std::string_view mnemonic) {
  return salu<[](T a, u32 b, Scc &scc) {
    const T d = F(a, b & (sizeof(T) * 8 - 1));
    scc.set = d != 0;
    return d;
  }>(mnemonic);
}

/// Bit field extract: the field is [offset, offset + width) of `a`, the second source holds offset and width.
template <class T, class U> constexpr Row extract(std::string_view mnemonic) {
  return salu<[](T a, u32 b, Scc &scc) {
    constexpr u32 kBits = sizeof(T) * 8;
    const u32 offset = b & (kBits - 1);
    const u32 width = b >> 16 & 0x7f;
    const T shifted = static_cast<T>(a >> offset);
    T d = shifted;
    if (width == 0)
      d = 0;
    else if (width < kBits) // up, then down with T's own kind of extension
      d = static_cast<T>(static_cast<T>(static_cast<U>(shifted) << (kBits - width)) >> (kBits - width));
    scc.set = d != 0;
    return d;
  }>(mnemonic);
}

template <unsigned Shift> constexpr Row shiftAdd(std::string_view mnemonic) {
  return salu<[](u32 a, u32 b, Scc &scc) {
    const u64 d = (u64(a) << Shift) + b;
    scc.set = d >> 32 != 0;
    return u32(d);
  }>(mnemonic);
}

const Inst *s_cbranch_g_fork(Wave &w, const Inst *i) {
  return forkBranch(w, i, scalarOperand<u64>(w, *i, 0), scalarOperand<u64>(w, *i, 1));
}

const Inst *s_rfe_restore_b64(Wave &w, const Inst *i) {
  return w.illegal(i, "returns from a trap handler, and none is running");
}

constexpr Row kRows[] = {
    salu<[](u32 a, u32 b, Scc &scc) {
      const u32 d = a + b;
      scc.set = d < a;
      return d;
    }>("s_add_u32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      scc.set = b > a;
      return a - b;
    }>("s_sub_u32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      i32 d;
      scc.set = __builtin_add_overflow(i32(a), i32(b), &d);
      return u32(d);
    }>("s_add_i32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      i32 d;
      scc.set = __builtin_sub_overflow(i32(a), i32(b), &d);
      return u32(d);
    }>("s_sub_i32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      const u64 d = u64(a) + b + scc.set;
      scc.set = d >> 32 != 0;
      return u32(d);
    }>("s_addc_u32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      const u64 subtrahend = u64(b) + scc.set;
      scc.set = subtrahend > a;
      return u32(a - subtrahend);
    }>("s_subb_u32"),

    salu<[](i32 a, i32 b, Scc &scc) {
      scc.set = a < b;
      return a < b ? a : b;
    }>("s_min_i32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      scc.set = a < b;
      return a < b ? a : b;
    }>("s_min_u32"),
    salu<[](i32 a, i32 b, Scc &scc) {
      scc.set = a > b;
      return a > b ? a : b;
    }>("s_max_i32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      scc.set = a > b;
      return a > b ? a : b;
    }>("s_max_u32"),

    salu<[](u32 a, u32 b, Scc scc) { return scc.set ? a : b; }>("s_cselect_b32"),
    salu<[](u64 a, u64 b, Scc scc) { return scc.set ? a : b; }>("s_cselect_b64"),

    bitwise<u32, [](u32 a, u32 b) { return a & b; }>("s_and_b32"),
    bitwise<u64, [](u64 a, u64 b) { return a & b; }>("s_and_b64"),
    bitwise<u32, [](u32 a, u32 b) { return a | b; }>("s_or_b32"),
    bitwise<u64, [](u64 a, u64 b) { return a | b; }>("s_or_b64"),
    bitwise<u32, [](u32 a, u32 b) { return a ^ b; }>("s_xor_b32"),
    bitwise<u64, [](u64 a, u64 b) { return a ^ b; }>("s_xor_b64"),
    bitwise<u32, [](u32 a, u32 b) { return a & ~b; }>("s_andn2_b32"),
    bitwise<u64, [](u64 a, u64 b) { return a & ~b; }>("s_andn2_b64"),
    bitwise<u32, [](u32 a, u32 b) { return a | ~b; }>("s_orn2_b32"),
    bitwise<u64, [](u64 a, u64 b) { return a | ~b; }>("s_orn2_b64"),
    bitwise<u32, [](u32 a, u32 b) { return ~(a & b); }>("s_nand_b32"),
    bitwise<u64, [](u64 a, u64 b) { return ~(a & b); }>("s_nand_b64"),
    bitwise<u32, [](u32 a, u32 b) { return ~(a | b); }>("s_nor_b32"),
    bitwise<u64, [](u64 a, u64 b) { return ~(a | b); }>("s_nor_b64"),
    bitwise<u32, [](u32 a, u32 b) { return ~(a ^ b); }>("s_xnor_b32"),
    bitwise<u64, [](u64 a, u64 b) { return ~(a ^ b); }>("s_xnor_b64"),

    shift<u32, [](u32 a, u32 n) { return a << n; }>("s_lshl_b32"),
    shift<u64, [](u64 a, u32 n) { return a << n; }>("s_lshl_b64"),
    shift<u32, [](u32 a, u32 n) { return a >> n; }>("s_lshr_b32"),
    shift<u64, [](u64 a, u32 n) { return a >> n; }>("s_lshr_b64"),
    shift<i32, [](i32 a, u32 n) { return a >> n; }>("s_ashr_i32"),
    shift<i64, [](i64 a, u32 n) { return a >> n; }>("s_ashr_i64"),

    salu<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>("s_bfm_b32"),
    salu<[](u32 a, u32 b) { return ((u64(1) << (a & 63)) - 1) << (b & 63); }>("s_bfm_b64"),
    extract<u32, u32>("s_bfe_u32"),
    extract<i32, u32>("s_bfe_i32"),
    extract<u64, u64>("s_bfe_u64"),
    extract<i64, u64>("s_bfe_i64"),

    salu<[](u32 a, u32 b) { return a * b; }>("s_mul_i32"),
    salu<[](u32 a, u32 b) { return u32(u64(a) * b >> 32); }>("s_mul_hi_u32"),
    salu<[](i32 a, i32 b) { return i32(i64(a) * b >> 32); }>("s_mul_hi_i32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      u32 d = a - b;
      d = i32(d) < 0 ? 0 - d : d;
      scc.set = d != 0;
      return d;
    }>("s_absdiff_i32"),
    shiftAdd<1>("s_lshl1_add_u32"),
    shiftAdd<2>("s_lshl2_add_u32"),
    shiftAdd<3>("s_lshl3_add_u32"),
    shiftAdd<4>("s_lshl4_add_u32"),
    salu<[](u32 a, u32 b) { return b << 16 | (a & 0xffff); }>("s_pack_ll_b32_b16"),
    salu<[](u32 a, u32 b) { return (b & 0xffff0000) | (a & 0xffff); }>("s_pack_lh_b32_b16"),
    salu<[](u32 a, u32 b) { return (b & 0xffff0000) | a >> 16; }>("s_pack_hh_b32_b16"),
    salu<[](u32 a, u32 b) { return b << 16 | a >> 16; }>("s_pack_hl_b32_b16"),
    salu<[](u64 a, u64 b) { return a + b; }>("s_add_nc_u64"),
    salu<[](u64 a, u64 b) { return a - b; }>("s_sub_nc_u64"),
    salu<[](u64 a, u64 b) { return a * b; }>("s_mul_u64"),

    plain("s_cbranch_g_fork", s_cbranch_g_fork, Type::U64, Type::U64),
    plain("s_rfe_restore_b64", s_rfe_restore_b64, Type::U64, Type::U32, kEndsRun).refused(why::kNoDebugger),
};

} // namespace

const Inst *forkBranch(Wave &w, const Inst *i, u64 pass, u64 target) {
  const u64 exec = w.exec();
  const u64 passed = pass & exec, failed = ~pass & exec;
  if (passed == exec)
    return w.jump(target);
  if (failed == exec)
    return i->next();
  const u32 depth = w.mode >> kCspShift;
  const auto push = [&](u64 pc, u64 mask) {
    w.setScalar64(depth * 4, mask);
    w.setScalar64(depth * 4 + 2, pc);
    w.mode = (w.mode & ~kCsp) | (depth + 1) << kCspShift;
  };
  if (depth == 7)
    return w.illegal(i, "overflows the branch stack");
  if (std::popcount(failed) < std::popcount(passed)) {
    push(target, passed);
    w.setExec(failed);
    return i->next();
  }
  push(nextPc(w, i), failed);
  w.setExec(passed);
  return w.jump(target);
}

std::span<const Row> sop2Rows() { return kRows; }

} // namespace luthier::vgpu
