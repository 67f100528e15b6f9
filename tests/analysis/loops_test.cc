#include "analysis/loops.h"

#include "code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace luthier::analysis::test {
namespace {

/// Loops in short: "1: 1 2 3, in 0>1, back 3>1, out 2>4, depth 1".
std::string shape(const Code &code) {
  const Cfg &cfg = code.cfg();
  const Loops loops = Loops::compute(cfg);
  const auto edges = [&](const std::vector<uint32_t> &list) {
    std::string text;
    for (const uint32_t edge : list)
      text += fmt::format(" {}>{}", cfg.edges()[edge].from, cfg.edges()[edge].to);
    return text;
  };
  std::string text;
  for (const Loop &loop : loops.all())
    text += fmt::format("{}: {}, in{}, back{}, out{}, depth {}\n", loop.header, fmt::join(loop.blocks, " "),
                        edges(loop.entries), edges(loop.backEdges), edges(loop.exits), loop.depth);
  return text + (loops.irreducible() ? "irreducible\n" : "");
}

TEST(Loops, None) { EXPECT_EQ(shape(Code("s_cbranch_scc0 end\ns_nop 0\nend:\ns_endpgm")), ""); }

TEST(Loops, EntryIsTheHeader) {
  const Code code("loop:\n"
                  "s_sub_u32 s0, s0, 1\n"
                  "s_cbranch_scc0 loop\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code), "0: 0, in, back 0>0, out 0>1, depth 1\n");
}

TEST(Loops, Nested) {
  const Code code("s_nop 0\n"
                  "outer:\n" // 1
                  "s_nop 0\n"
                  "inner:\n" // 2
                  "s_sub_u32 s0, s0, 1\n"
                  "s_cbranch_scc0 inner\n"
                  "s_sub_u32 s1, s1, 1\n" // 3
                  "s_cbranch_scc1 end\n"
                  "s_branch outer\n" // 4
                  "end:\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code), "1: 1 2 3 4, in 0>1, back 4>1, out 3>5, depth 1\n"
                         "2: 2, in 1>2, back 2>2, out 2>3, depth 2\n");
  const Loops loops = Loops::compute(code.cfg());
  EXPECT_EQ(loops.innermost(0), Loops::kNone);
  EXPECT_EQ(loops.innermost(2), 1u);
  EXPECT_EQ(loops.innermost(3), 0u);
  EXPECT_EQ(loops.all()[1].parent, 0u);
  EXPECT_EQ(loops.all()[0].parent, Loops::kNone);
}

TEST(Loops, SeveralBackEdgesAndExits) {
  const Code code("s_nop 0\n"
                  "loop:\n" // 1
                  "s_cmp_eq_u32 s0, 0\n"
                  "s_cbranch_scc1 end\n"
                  "s_sub_u32 s0, s0, 1\n" // 2
                  "s_cbranch_scc0 loop\n"
                  "s_sub_u32 s1, s1, 1\n" // 3
                  "s_cbranch_scc0 loop\n"
                  "s_nop 1\n" // 4
                  "end:\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code), "1: 1 2 3, in 0>1, back 2>1 3>1, out 1>5 3>4, depth 1\n");
}

/// Two loops with one header are one.
TEST(Loops, BranchInTheBody) {
  const Code code("s_nop 0\n"
                  "loop:\n" // 1
                  "s_cbranch_scc1 other\n"
                  "s_nop 0\n" // 2
                  "s_branch join\n"
                  "other:\n" // 3
                  "s_nop 1\n"
                  "join:\n" // 4
                  "s_cbranch_vccz loop\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code), "1: 1 2 3 4, in 0>1, back 4>1, out 4>5, depth 1\n");
}

TEST(Loops, TwoEntriesAreNoLoop) {
  const Code code("s_cbranch_scc1 second\n"
                  "first:\n"
                  "s_nop 0\n"
                  "second:\n"
                  "s_sub_u32 s0, s0, 1\n"
                  "s_cbranch_scc0 first\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code), "irreducible\n");
}

/// Padding before a loop that nothing reaches is not an entry.
TEST(Loops, UnreachableCode) {
  const Code code("s_branch loop\n"
                  "s_nop 0\n"
                  "loop:\n"
                  "s_sub_u32 s0, s0, 1\n"
                  "s_cbranch_scc0 loop\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code), "2: 2, in 0>2, back 2>2, out 2>3, depth 1\n");
}

} // namespace
} // namespace luthier::analysis::test
