#include "isa/pending_scalars.h"

#include "decoded_code.h"

#include <gmock/gmock.h>

namespace luthier::isa {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Numbers of the instructions before which a wait must come. Waits are taken as done.
std::vector<size_t> heldUp(const std::string &text, const RegSet &read, const RegSet &written = {}) {
  const Code code("gfx1201", text, 32);
  PendingScalars state(read, written);
  std::vector<size_t> list;
  for (size_t n = 0; n < code.sequence.instrs().size(); ++n) {
    if (state.holdUp(code[n])) {
      list.push_back(n);
      state.wait();
    }
    state.execute(code[n]);
  }
  return list;
}
std::vector<size_t> heldUp(const std::string &text) { return heldUp(text, PendingScalars::all()); }

RegSet setOf(RegRange range) {
  RegSet set;
  set.insert(range);
  return set;
}

TEST(PendingScalars, Targets) {
  EXPECT_TRUE(hasPendingScalars(*findTarget("gfx1200")) && hasPendingScalars(*findTarget("gfx1201")));
  EXPECT_FALSE(hasPendingScalars(*findTarget("gfx1151")) || hasPendingScalars(*findTarget("gfx90a")));
}

TEST(PendingScalars, TheWaitIsWhatItSays) {
  const Code code("gfx1201", "s_wait_alu depctr_va_sdst(0) depctr_va_vcc(0) depctr_sa_sdst(0)", 32);
  uint32_t word = 0;
  ASSERT_EQ(code.bytes.size(), sizeof word);
  memcpy(&word, code.bytes.data(), sizeof word);
  EXPECT_EQ(word, kScalarWait);
}

TEST(PendingScalars, WritesOfScalarsAreHeldFromAll) {
  EXPECT_THAT(heldUp("s_mov_b32 s4, 1\ns_add_co_u32 s5, s4, 1"), ElementsAre(1));
  EXPECT_THAT(heldUp("s_mov_b32 s4, 1\nv_mov_b32 v0, s4"), ElementsAre(1));
  EXPECT_THAT(heldUp("s_mov_b32 s4, 1\ns_mov_b64 s[6:7], s[4:5]\ns_mov_b32 s8, s4"), ElementsAre(1));
  EXPECT_THAT(heldUp("s_mov_b32 vcc_lo, s4\ns_cbranch_vccz 0"), ElementsAre(1));
  EXPECT_THAT(heldUp("s_mov_b32 s4, 1\ns_mov_b32 s4, 2\ns_mov_b32 s5, s6"), IsEmpty());
}

TEST(PendingScalars, WritesOfVectorsAreHeldFromVectors) {
  EXPECT_THAT(heldUp("v_readfirstlane_b32 s4, v0\nv_mov_b32 v1, s4"), ElementsAre(1));
  EXPECT_THAT(heldUp("v_readfirstlane_b32 s4, v0\ns_mov_b32 s5, s4"), IsEmpty());
  EXPECT_THAT(heldUp("v_cmp_eq_u32 vcc_lo, v0, v1\nv_cndmask_b32 v0, v1, v2, vcc_lo"), ElementsAre(1));
}

TEST(PendingScalars, WhatMakesThemSeen) {
  EXPECT_THAT(heldUp("s_mov_b32 s4, 1\ns_wait_alu depctr_sa_sdst(0)\nv_mov_b32 v0, s4"), IsEmpty());
  EXPECT_THAT(heldUp("s_mov_b32 s4, 1\ns_wait_alu depctr_va_sdst(0)\nv_mov_b32 v0, s4"), ElementsAre(2));
  EXPECT_THAT(heldUp("v_readfirstlane_b32 s4, v0\ns_wait_alu depctr_va_sdst(0)\nv_mov_b32 v0, s4"), IsEmpty());
  EXPECT_THAT(heldUp("v_cmp_eq_u32 vcc_lo, v0, v1\ns_wait_alu depctr_va_sdst(0)\nv_mov_b32 v0, vcc_lo"),
              ElementsAre(2));
  EXPECT_THAT(heldUp("v_cmp_eq_u32 vcc_lo, v0, v1\ns_wait_alu depctr_va_vcc(0)\nv_mov_b32 v0, vcc_lo"), IsEmpty());
  EXPECT_THAT(heldUp("s_mov_b32 s4, 1\ns_load_b32 s8, s[0:1], 0x0\nv_mov_b32 v0, s4"), IsEmpty());
  EXPECT_THAT(heldUp("s_mov_b32 s4, 1\nglobal_load_b32 v1, v2, s[0:1]\nv_mov_b32 v0, s4"), ElementsAre(2));
}

/// EXEC, M0 and SCC are none of it; nor are registers that no vector instruction has read.
TEST(PendingScalars, OthersAreFree) {
  EXPECT_THAT(heldUp("s_mov_b32 exec_lo, -1\ns_mov_b32 s4, exec_lo"), IsEmpty());
  EXPECT_THAT(heldUp("s_mov_b32 m0, 1\ns_mov_b32 s4, m0"), IsEmpty());
  EXPECT_THAT(heldUp("s_cmp_eq_u32 s4, s5\ns_cselect_b32 s6, 1, 0"), IsEmpty());
  const RegSet read = setOf({sgpr(4), 2});
  EXPECT_THAT(heldUp("s_mov_b32 s6, 1\nv_mov_b32 v0, s6", read), IsEmpty());
  EXPECT_THAT(heldUp("s_mov_b32 s5, 1\nv_mov_b32 v0, s5", read), ElementsAre(1));
  EXPECT_THAT(heldUp("v_mov_b32 v0, s5", read, read), ElementsAre(0)) << "written before";
}

TEST(PendingScalars, PathsMeet) {
  const Code code("gfx1201", "s_mov_b32 s4, 1\ns_mov_b32 s5, s4", 32);
  PendingScalars one(PendingScalars::all()), other(PendingScalars::all());
  other.execute(code[0]);
  EXPECT_TRUE(one.merge(other));
  EXPECT_FALSE(one.merge(other));
  EXPECT_TRUE(one.holdUp(code[1]));
}

} // namespace
} // namespace luthier::isa
