#include "code.h"

#include <fmt/format.h>

namespace luthier::analysis {

/// Breaks what only Cfg::build may make.
struct CfgPeer {
  static std::vector<Block> &blocks(Cfg &cfg) { return cfg.blocks_; }
  static std::vector<Edge> &edges(Cfg &cfg) { return cfg.edges_; }
  static std::vector<uint32_t> &predecessors(Cfg &cfg) { return cfg.predecessors_; }
  static std::vector<uint32_t> &postorder(Cfg &cfg) { return cfg.postorder_; }
};

namespace test {
namespace {

/// Blocks and edges in short: "0-2>1t>2f 3-3!end", with instruction ranges.
std::string shape(const Cfg &cfg) {
  std::string text;
  for (const Block &block : cfg.blocks()) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", block.first, block.last());
    for (const Edge &edge : cfg.successors(block)) {
      const char *kind = edge.kind == EdgeKind::Fallthrough ? "f"
                         : edge.kind == EdgeKind::Taken     ? "t"
                         : edge.kind == EdgeKind::Both      ? "b"
                                                            : "i";
      text += fmt::format(">{}{}", edge.to, kind);
    }
    if (block.exit != Exit::None)
      text += fmt::format("!{}", toString(block.exit));
    if (block.call != CallKind::None)
      text += block.call == CallKind::Direct ? "!call" : "!call?";
    if (!block.reachable)
      text += "!unreachable";
  }
  return text;
}

TEST(Cfg, StraightCode) {
  const Code code("s_nop 0\ns_nop 0\ns_endpgm");
  EXPECT_EQ(shape(code.cfg()), "0-2!end");
}

TEST(Cfg, IfAndElse) {
  const Code code("s_cbranch_scc0 else\n"
                  "s_nop 0\n"
                  "s_branch join\n"
                  "else:\n"
                  "s_nop 1\n"
                  "join:\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code.cfg()), "0-0>1f>2t 1-2>3t 3-3>3f 4-4!end");
  const auto &join = code.cfg().blocks()[3];
  EXPECT_EQ(join.predecessorCount, 2u);
  EXPECT_EQ(code.cfg().blockOf(2u), 1u);
  EXPECT_EQ(code.cfg().find(code.address(3)), 3u);
  EXPECT_EQ(code.cfg().find(code.address(3) + 2), Cfg::kNone);
}

TEST(Cfg, EntryIsALoopHead) {
  const Code code("loop:\n"
                  "s_sub_u32 s0, s0, 1\n"
                  "s_cbranch_scc0 loop\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code.cfg()), "0-1>1f>0t 2-2!end");
  EXPECT_EQ(code.cfg().blocks()[0].predecessorCount, 1u);
}

TEST(Cfg, ConditionalBranchToTheNextInstruction) {
  const Code code("s_cbranch_vccz next\nnext:\ns_endpgm");
  EXPECT_EQ(shape(code.cfg()), "0-0>1b 1-1!end");
}

TEST(Cfg, BranchToItself) {
  const Code code("self:\ns_branch self");
  EXPECT_EQ(shape(code.cfg()), "0-0>0t");
}

TEST(Cfg, UnreachableBlocksAreKept) {
  const Code code("s_endpgm\n"
                  "s_nop 0\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code.cfg()), "0-0!end 1-2!end!unreachable");
}

TEST(Cfg, TailJumpAndFallingOut) {
  const Code tail("s_nop 0\ns_branch 0x100");
  EXPECT_EQ(shape(tail.cfg()), "0-1!tail");
  EXPECT_EQ(tail.cfg().blocks()[0].exitTarget, tail[1].end() + 0x400);
  const Code conditional("s_cbranch_scc0 0x100\ns_endpgm");
  EXPECT_EQ(shape(conditional.cfg()), "0-0>1f!tail 1-1!end");
  const Code falls("s_nop 0\ns_nop 0");
  EXPECT_EQ(shape(falls.cfg()), "0-1!falls out");
  EXPECT_EQ(falls.cfg().blocks()[0].exitTarget, falls[1].end());
  const Code both("s_cbranch_scc0 0x100");
  EXPECT_EQ(shape(both.cfg()), "0-0!unknown");
}

TEST(Cfg, BranchIntoAnInstruction) {
  const Code code("s_mov_b32 s0, 0x12345678\ns_branch -2");
  EXPECT_EQ(shape(code.cfg()), "0-1!tail"); // to the literal: no instruction of this function
}

TEST(Cfg, CallsEndBlocksAndGoOn) {
  const Code code("s_call_b64 s[30:31], 0x100\n"
                  "s_swappc_b64 s[30:31], s[4:5]\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code.cfg()), "0-0>1f!call 1-1>2f!call? 2-2!end");
  EXPECT_EQ(code.cfg().blocks()[0].callTarget, code[0].end() + 0x400);
}

TEST(Cfg, FarJumpThroughRegisters) {
  // What the compiler makes of a branch that is out of reach.
  const Code code("s_getpc_b64 s[4:5]\n" // 0
                  "after:\n"
                  "s_add_u32 s4, s4, target-after\n" // 1
                  "s_addc_u32 s5, s5, 0\n"           // 2
                  "s_setpc_b64 s[4:5]\n"             // 3
                  "s_nop 0\n"                        // 4
                  "target:\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code.cfg()), "0-3>2t 4-4>2f!unreachable 5-5!end");
}

TEST(Cfg, FarJumpWhoseDistanceIsAddedUp) {
  // As Tensile writes them, the generator of rocBLAS's kernels.
  const Code forwards("s_getpc_b64 s[4:5]\n" // 0
                      "after:\n"
                      "s_add_i32 s6, target-after-4, 4\n" // 1
                      "s_add_u32 s4, s4, s6\n"            // 2
                      "s_addc_u32 s5, s5, 0\n"            // 3
                      "s_setpc_b64 s[4:5]\n"              // 4
                      "s_nop 0\n"                         // 5
                      "target:\n"
                      "s_endpgm");
  EXPECT_EQ(shape(forwards.cfg()), "0-4>2t 5-5>2f!unreachable 6-6!end");
  const Code backwards("target:\n"
                       "s_nop 0\n"            // 0
                       "s_getpc_b64 s[4:5]\n" // 1
                       "after:\n"
                       "s_sub_i32 s6, 4, after-target+4\n" // 2
                       "s_add_u32 s4, s4, s6\n"            // 3
                       "s_addc_u32 s5, s5, -1\n"           // 4
                       "s_setpc_b64 s[4:5]");              // 5
  EXPECT_EQ(shape(backwards.cfg()), "0-5>0t");
}

TEST(Cfg, SignedSumsSetSccWhenTheyOverflow) {
  // The carry of s_addc_u32 below is SCC of the signed sum: 1, as 0x7fffffff + 1 overflows.
  const Code code("s_getpc_b64 s[4:5]\n" // 0
                  "after:\n"
                  "s_mov_b32 s7, 0x7fffffff\n"          // 1
                  "s_add_i32 s6, s7, 1\n"               // 2
                  "s_addc_u32 s4, s4, target-after-1\n" // 3
                  "s_setpc_b64 s[4:5]\n"                // 4
                  "s_nop 0\n"                           // 5
                  "target:\n"
                  "s_endpgm");
  EXPECT_EQ(shape(code.cfg()), "0-4>2t 5-5>2f!unreachable 6-6!end");
}

TEST(Cfg, FarJumpBackwards) {
  const Code code("target:\n"
                  "s_nop 0\n"            // 0
                  "s_getpc_b64 s[4:5]\n" // 1
                  "after:\n"
                  "s_sub_u32 s4, s4, after-target\n" // 2
                  "s_subb_u32 s5, s5, 0\n"           // 3
                  "s_setpc_b64 s[4:5]");             // 4
  EXPECT_EQ(shape(code.cfg()), "0-4>0t");
}

TEST(Cfg, JumpTable) {
  // A base that the code forms plus something unknown: the base is a possible target, and anything else is too.
  const Code code("s_getpc_b64 s[4:5]\n" // 0
                  "base:\n"
                  "s_add_u32 s4, s4, table-base\n" // 1
                  "s_addc_u32 s5, s5, 0\n"         // 2
                  "s_add_u32 s4, s4, s0\n"         // 3
                  "s_addc_u32 s5, s5, 0\n"         // 4
                  "s_setpc_b64 s[4:5]\n"           // 5
                  "table:\n"
                  "s_nop 0\n" // 6
                  "s_endpgm");
  EXPECT_EQ(shape(code.cfg()), "0-5>1i!unknown 6-7!end");
  EXPECT_TRUE(code.cfg().blocks()[1].addressTaken);
}

TEST(Cfg, ReturnsOfFunctions) {
  const CodeOptions function = {.kernel = false};
  EXPECT_EQ(shape(Code("s_setpc_b64 s[30:31]", function).cfg()), "0-0!return");
  EXPECT_EQ(shape(Code("s_setpc_b64 s[30:31]").cfg()), "0-0!unknown"); // a kernel has nowhere to return to
  EXPECT_EQ(shape(Code("s_mov_b64 s[4:5], s[30:31]\n"
                       "s_mov_b64 s[30:31], 0\n"
                       "s_setpc_b64 s[4:5]",
                       function)
                      .cfg()),
            "0-2!return");
  // Overwritten: a jump to who knows where.
  EXPECT_EQ(shape(Code("s_load_dwordx2 s[30:31], s[4:5], 0x0\ns_setpc_b64 s[30:31]", function).cfg()), "0-1!unknown");
  // Saved in lanes of a VGPR around a call.
  EXPECT_EQ(shape(Code("v_writelane_b32 v40, s30, 0\n"
                       "v_writelane_b32 v40, s31, 1\n"
                       "s_swappc_b64 s[30:31], s[4:5]\n"
                       "v_readlane_b32 s30, v40, 0\n"
                       "v_readlane_b32 s31, v40, 1\n"
                       "s_setpc_b64 s[30:31]",
                       function)
                      .cfg()),
            "0-2>1f!call? 3-5!return");
  // Behind a call, s[30:31] is not what it was.
  EXPECT_EQ(shape(Code("s_swappc_b64 s[30:31], s[4:5]\ns_setpc_b64 s[30:31]", function).cfg()),
            "0-0>1f!call? 1-1!unknown");
}

TEST(Cfg, ConstantsCrossBlocks) {
  // Formed above a loop, called in it: preserved by the call itself in s[34:35], not in s[4:5].
  const auto source = [](std::string_view pair, std::string_view low, std::string_view high) {
    return fmt::format("s_getpc_b64 {}\n"
                       "after:\n"
                       "s_add_u32 {}, {}, 0x1000\n"
                       "s_addc_u32 {}, {}, 0\n"
                       "loop:\n"
                       "s_swappc_b64 s[30:31], {}\n"
                       "s_cbranch_scc0 loop\n"
                       "s_endpgm",
                       pair, low, low, high, high, pair);
  };
  EXPECT_EQ(shape(Code(source("s[34:35]", "s34", "s35")).cfg()), "0-2>1f 3-3>2f!call 4-4>3f>1t 5-5!end");
  EXPECT_EQ(shape(Code(source("s[4:5]", "s4", "s5")).cfg()), "0-2>1f 3-3>2f!call? 4-4>3f>1t 5-5!end");
}

TEST(Cfg, ConstantsCrossPadding) {
  const Code code("s_getpc_b64 s[34:35]\n"
                  "s_branch loop\n"
                  "s_nop 0\n" // alignment, which nothing reaches
                  "loop:\n"
                  "s_swappc_b64 s[30:31], s[34:35]\n"
                  "s_cbranch_scc0 loop\n"
                  "s_endpgm");
  EXPECT_EQ(code.cfg().blocks()[2].call, CallKind::Direct);
}

TEST(Cfg, TwoDefinitionsAreNone) {
  const Code code("s_getpc_b64 s[34:35]\n"
                  "s_cbranch_scc0 call\n"
                  "s_add_u32 s34, s34, 0x1000\n"
                  "s_addc_u32 s35, s35, 0\n"
                  "call:\n"
                  "s_swappc_b64 s[30:31], s[34:35]\n"
                  "s_endpgm");
  EXPECT_EQ(code.cfg().blocks()[2].call, CallKind::Indirect);
}

TEST(Cfg, PostorderHasSuccessorsFirst) {
  const Code code("s_cbranch_scc0 a\ns_nop 0\na:\ns_endpgm");
  const auto order = code.cfg().postorder();
  EXPECT_EQ(std::vector(order.begin(), order.end()), (std::vector<uint32_t>{2, 1, 0}));
}

TEST(Verify, FindsWhatIsBroken) {
  const Code code("s_cbranch_scc0 a\ns_nop 0\na:\ns_nop 1\ns_endpgm");
  const Cfg &good = code.cfg();
  ASSERT_TRUE(verify(good));
  const std::pair<const char *, void (*)(Cfg &)> breaks[] = {
      {"an edge goes elsewhere", [](Cfg &c) { CfgPeer::edges(c)[1].to = 1; }},
      {"an edge is lost", [](Cfg &c) { --CfgPeer::blocks(c)[0].successorCount; }},
      {"an edge is only known at one end", [](Cfg &c) { CfgPeer::predecessors(c)[1] = 0; }},
      {"a block is too short", [](Cfg &c) { --CfgPeer::blocks(c)[2].count; }},
      {"a block is too long", [](Cfg &c) { ++CfgPeer::blocks(c)[0].count; }},
      {"an end is none", [](Cfg &c) { CfgPeer::blocks(c)[2].exit = Exit::None; }},
      {"an exit that is none", [](Cfg &c) { CfgPeer::blocks(c)[1].exit = Exit::Return; }},
      {"code runs out before its end", [](Cfg &c) { CfgPeer::blocks(c)[1].exit = Exit::RunsOut; }},
      {"a call that is none", [](Cfg &c) { CfgPeer::blocks(c)[1].call = CallKind::Direct; }},
      {"an edge of the wrong kind", [](Cfg &c) { CfgPeer::edges(c)[0].kind = EdgeKind::Taken; }},
      {"a block is not in the order", [](Cfg &c) { CfgPeer::postorder(c)[0] = 1; }},
  };
  for (const auto &[what, breakIt] : breaks) {
    Cfg bad = good;
    breakIt(bad);
    EXPECT_FALSE(verify(bad)) << what;
  }
}

} // namespace
} // namespace test
} // namespace luthier::analysis
