#include "analysis/issue_rules.h"

#include "code.h"

#include <fmt/format.h>

namespace luthier::analysis::test {
namespace {

std::string clauses(std::string_view source, std::string_view target) {
  const Code code(source, {.target = target});
  std::string text;
  for (const IssueFinding &finding : findClauseErrors(code.target(), code.cfg()))
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", code.cfg().indexOf(*finding.instr), finding.why);
  return text;
}

TEST(Clauses, AreOfOneKind) {
  constexpr std::string_view kLoads =
      "s_clause 0x1\nglobal_load_b32 v0, v[2:3], off\nbuffer_load_b32 v1, off, s[0:3], 0\n"
      "s_endpgm";
  EXPECT_EQ(clauses(kLoads, "gfx1100"), "");
  EXPECT_EQ(
      clauses("s_clause 0x1\nglobal_load_b32 v0, v[2:3], off\nglobal_store_b32 v[2:3], v1, off\ns_endpgm", "gfx1100"),
      "2: number 2 of a clause of 2 is not of its kind (vector memory loads)");
  EXPECT_EQ(clauses("s_clause 0x1\nglobal_load_b32 v0, v[2:3], off\nflat_load_b32 v1, v[2:3]\ns_endpgm", "gfx1201"),
            "2: number 2 of a clause of 2 is not of its kind (vector memory loads)");
  // Up to gfx10, loads and stores may be mixed, and on gfx1010 anything is just the end.
  constexpr std::string_view kMixed =
      "s_clause 0x1\nglobal_load_dword v0, v[2:3], off\nglobal_store_dword v[2:3], v1, off\n"
      "s_endpgm";
  EXPECT_EQ(clauses(kMixed, "gfx1030"), "");
  constexpr std::string_view kOther = "s_clause 0x1\nglobal_load_dword v0, v[2:3], off\nds_read_b32 v1, v4\ns_endpgm";
  EXPECT_EQ(clauses(kOther, "gfx1030"), "2: number 2 of a clause of 2 is not of its kind (vector memory loads)");
  EXPECT_EQ(clauses(kOther, "gfx1010"), "");
}

TEST(Clauses, HaveNothingElseInThem) {
  EXPECT_EQ(clauses("s_clause 0x1\nglobal_load_b32 v0, v[2:3], off\ns_mov_b32 s0, 0\ns_endpgm", "gfx1100"),
            "2: number 2 of a clause of 2 must not be in a clause");
  EXPECT_EQ(clauses("s_clause 0x1\nglobal_load_b32 v0, v[2:3], off\ns_waitcnt vmcnt(0)\ns_endpgm", "gfx1100"),
            "2: number 2 of a clause of 2 must not be in a clause");
  EXPECT_EQ(clauses("s_clause 0x2\nglobal_load_b32 v0, v[2:3], off\ns_nop 0\nglobal_load_b32 v1, v[2:3], off\ns_endpgm",
                    "gfx1100"),
            "");
  EXPECT_EQ(clauses("s_clause 0x1\ns_nop 0\nglobal_load_b32 v1, v[2:3], off\ns_endpgm", "gfx1100"),
            "1: a clause must not begin with it");
  EXPECT_EQ(clauses("s_clause 0x0\nglobal_load_b32 v1, v[2:3], off\ns_endpgm", "gfx1100"),
            "0: a clause has at least two instructions");
}

TEST(Clauses, AreNotEnteredInTheMiddle) {
  EXPECT_EQ(clauses("s_cbranch_scc0 middle\ns_clause 0x1\nglobal_load_b32 v0, v[2:3], off\nmiddle:\n"
                    "global_load_b32 v1, v[2:3], off\ns_endpgm",
                    "gfx1100"),
            "1: the clause has 2 instructions, and the block ends after 1");
}

/// v_dual_* with two halves: opcode, first source, second source, destination of each.
struct DualHalf {
  unsigned opcode, src0, vsrc1, vdst;
};
std::string dual(DualHalf x, DualHalf y, std::string_view target = "gfx1100", unsigned waveSize = 32) {
  const uint64_t word = uint64_t{x.src0} | uint64_t{x.vsrc1} << 9 | uint64_t{y.opcode} << 17 |
                        uint64_t{x.opcode} << 22 | uint64_t{0x32} << 26 | uint64_t{y.src0} << 32 |
                        uint64_t{y.vsrc1} << 41 | uint64_t{y.vdst >> 1} << 49 | uint64_t{x.vdst} << 56;
  const bool literal =
      x.src0 == 255 || y.src0 == 255 || x.opcode == 1 || x.opcode == 2 || y.opcode == 1 || y.opcode == 2;
  const Code code(fmt::format(".long {:#x}\n.long {:#x}\n{}s_endpgm", static_cast<uint32_t>(word),
                              static_cast<uint32_t>(word >> 32), literal ? ".long 0x42280000\n" : ""),
                  {.target = target, .waveSize = 32});
  EXPECT_TRUE(code[0].is(Property::Dual));
  const auto findings = findDualIssueErrors(code.target(), waveSize, code.cfg());
  return findings.empty() ? "" : findings.front().why;
}
constexpr unsigned v(unsigned n) { return 256 + n; }
constexpr unsigned kFmac = 0, kFmamk = 2, kMul = 3, kAdd = 4, kMov = 8, kCndmask = 9;

TEST(DualIssue, SourcesAreInDifferentBanks) {
  EXPECT_EQ(dual({kAdd, v(0), 1, 4}, {kMul, v(1), 2, 5}), "");
  EXPECT_EQ(dual({kAdd, v(0), 1, 4}, {kMul, v(4), 2, 5}), "both halves read their first source from bank 0: v0 and v4");
  EXPECT_EQ(dual({kAdd, v(0), 1, 4}, {kMul, v(1), 5, 5}),
            "both halves read their second source from bank 1: v1 and v5");
  EXPECT_EQ(dual({kMov, v(0), 0, 4}, {kMul, v(1), 4, 5}), ""); // a move has one source
  EXPECT_EQ(dual({kMov, v(0), 0, 4}, {kMov, v(4), 0, 5}), "both halves read their first source from bank 0: v0 and v4");
  EXPECT_EQ(dual({kMov, v(0), 0, 4}, {kMov, v(4), 0, 5}, "gfx1201"), "");
  EXPECT_EQ(dual({kFmac, v(0), 1, 4}, {kFmamk, v(1), 2, 5}),
            "both halves read their third source from an even register: v4 and v2");
}

TEST(DualIssue, ThereIsRoomForTwoScalars) {
  EXPECT_EQ(dual({kAdd, 4, 1, 4}, {kMul, 5, 2, 5}), "");
  EXPECT_EQ(dual({kCndmask, 4, 1, 4}, {kMul, 4, 2, 5}), "");
  EXPECT_EQ(dual({kCndmask, 4, 1, 4}, {kMul, 5, 2, 5}), "both halves read 3 scalar sources, and there is room for 2");
  EXPECT_EQ(dual({kAdd, 255, 1, 4}, {kMul, 5, 2, 5}), "");
}

TEST(DualIssue, NeedsWavesOf32) {
  EXPECT_EQ(dual({kAdd, v(0), 1, 4}, {kMul, v(1), 2, 5}, "gfx1100", 64), "dual issue needs waves of 32 lanes");
}

} // namespace
} // namespace luthier::analysis::test
