// SOPC: scalar compares, which write only SCC, and two instructions that set modes (manual, section 12.4).

#include "vgpu/exec/modes.h"
#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

namespace {

template <class T, auto F> constexpr Row compare(std::string_view mnemonic) {
  return salu<[](T a, T b, Scc &scc) { scc.set = F(a, b); }>(mnemonic);
}

/// Is bit `b` of `a` equal to Value?
template <class T, bool Value> constexpr Row bitTest(std::string_view mnemonic) {
  return salu<[](T a, u32 b, Scc &scc) { scc.set = (a >> (b & (sizeof(T) * 8 - 1)) & 1) == Value; }>(mnemonic);
}

const Inst *s_setvskip(Wave &w, const Inst *i) {
  const u32 bit = scalarOperand<u32>(w, *i, 0) >> (scalarOperand<u32>(w, *i, 1) & 31) & 1;
  return w.setMode(bit ? w.mode | kVskip : w.mode & ~kVskip, i->next());
}

const Inst *s_set_gpr_idx_on(Wave &w, const Inst *i) {
  w.s[kM0] = (w.s[kM0] & ~0xf0ffu) | (scalarOperand<u32>(w, *i, 0) & 0xff) | (static_cast<u32>(i->imm) & 0xf) << 12;
  return w.setMode(w.mode | kGprIdxEn, i->next());
}

constexpr Row kRows[] = {
    compare<i32, [](i32 a, i32 b) { return a == b; }>("s_cmp_eq_i32"),
    compare<i32, [](i32 a, i32 b) { return a != b; }>("s_cmp_lg_i32"),
    compare<i32, [](i32 a, i32 b) { return a > b; }>("s_cmp_gt_i32"),
    compare<i32, [](i32 a, i32 b) { return a >= b; }>("s_cmp_ge_i32"),
    compare<i32, [](i32 a, i32 b) { return a < b; }>("s_cmp_lt_i32"),
    compare<i32, [](i32 a, i32 b) { return a <= b; }>("s_cmp_le_i32"),
    compare<u32, [](u32 a, u32 b) { return a == b; }>("s_cmp_eq_u32"),
    compare<u32, [](u32 a, u32 b) { return a != b; }>("s_cmp_lg_u32"),
    compare<u32, [](u32 a, u32 b) { return a > b; }>("s_cmp_gt_u32"),
    compare<u32, [](u32 a, u32 b) { return a >= b; }>("s_cmp_ge_u32"),
    compare<u32, [](u32 a, u32 b) { return a < b; }>("s_cmp_lt_u32"),
    compare<u32, [](u32 a, u32 b) { return a <= b; }>("s_cmp_le_u32"),
    compare<u64, [](u64 a, u64 b) { return a == b; }>("s_cmp_eq_u64"),
    compare<u64, [](u64 a, u64 b) { return a != b; }>("s_cmp_lg_u64"),
    bitTest<u32, false>("s_bitcmp0_b32"),
    bitTest<u32, true>("s_bitcmp1_b32"),
    bitTest<u64, false>("s_bitcmp0_b64"),
    bitTest<u64, true>("s_bitcmp1_b64"),
    plain("s_setvskip", s_setvskip, Type::U32, Type::U32),
    plain("s_set_gpr_idx_on", s_set_gpr_idx_on, Type::U32, Type::U32),
};

} // namespace

std::span<const Row> sopcRows() { return kRows; }

} // namespace luthier::vgpu
