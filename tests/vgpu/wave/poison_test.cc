// Poison mode with claims made by hand: what is called dead is overwritten where it is called dead, nothing else is,
// and a wrong claim changes results.

#include "vgpu/wave/poison.h"

#include "harness.h"
#include "luthier/reg.h"

#include <gtest/gtest.h>

namespace luthier::vgpu::test {
namespace {

constexpr uint64_t kHalf = 0x00000000ffffffff;

class PoisonTest : public testing::Test {
protected:
  /// Claims `dead` before the instruction at `offset` bytes from the start; nothing elsewhere.
  void claim(uint64_t offset, const DeadRegisters &dead, uint64_t seed = 1) {
    const uint64_t at = t_.codeAddress() + offset;
    t_.poison(std::make_shared<Poison>([=](uint64_t, uint64_t pc) { return pc == at ? dead : DeadRegisters(); }, seed));
  }
  static RegSet set(std::initializer_list<Reg> regs) {
    RegSet result;
    for (const Reg reg : regs)
      result.insert(reg);
    return result;
  }
  unsigned changedLanes(unsigned reg) {
    unsigned changed = 0;
    for (const uint32_t lane : t_.lanes(reg))
      changed += lane != kPoison;
    return changed;
  }

  ExecTest t_;
};

TEST_F(PoisonTest, VectorRegistersInTheirLanes) {
  t_.exec(kHalf);
  claim(4, {set({vgpr(1), vgpr(3), agpr(5)}), set({vgpr(2), vgpr(3)})});
  ASSERT_TRUE(t_.run("s_nop 0\ns_nop 0\ns_nop 0"));
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(t_.v(1, lane) != kPoison, lane < 32) << lane;
    EXPECT_EQ(t_.v(2, lane) != kPoison, lane >= 32) << lane;
    EXPECT_NE(t_.v(3, lane), kPoison) << lane;
    EXPECT_EQ(t_.acc(5, lane) != kPoison, lane < 32) << lane;
  }
  for (unsigned reg = 0; reg < 512; ++reg)
    if (reg != 1 && reg != 2 && reg != 3 && reg != kAccBase + 5) {
      EXPECT_EQ(changedLanes(reg), 0u) << reg;
    }
  EXPECT_EQ(t_.exec(), kHalf);
}

TEST_F(PoisonTest, ScalarRegisters) {
  const RegSet dead = set({sgpr(7), Reg::VccLo, Reg::VccHi, Reg::M0, Reg::Scc});
  claim(0, {dead, dead});
  t_.vcc(0x1234567812345678);
  t_.m0(5);
  t_.scc(true);
  ASSERT_TRUE(t_.run("s_nop 0"));
  EXPECT_NE(t_.s(7), kPoison);
  EXPECT_EQ(t_.s(6), kPoison);
  EXPECT_EQ(t_.s(8), kPoison);
  EXPECT_NE(t_.s(kVcc), 0x12345678u);
  EXPECT_NE(t_.s(kVcc + 1), 0x12345678u);
  EXPECT_NE(t_.m0(), 5u);
  EXPECT_FALSE(t_.scc());
}

TEST_F(PoisonTest, ExecAndModeStay) {
  RegSet all;
  for (Reg reg = Reg::S0; reg < Reg::End; reg = reg + 1)
    all.insert(reg);
  claim(0, {all, all});
  t_.exec(kHalf);
  ASSERT_TRUE(t_.run("s_nop 0"));
  EXPECT_EQ(t_.exec(), kHalf);
  EXPECT_EQ(t_.mode(), kDefaultMode);
  EXPECT_EQ(changedLanes(255), 64u);
}

TEST_F(PoisonTest, GarbageDiffersAndIsRepeatable) {
  const RegSet dead = set({vgpr(1), vgpr(2)});
  std::vector<uint32_t> seen[3];
  for (unsigned run = 0; run < 3; ++run) {
    t_.poison(
        std::make_shared<Poison>([=](uint64_t, uint64_t) { return DeadRegisters{dead, dead}; }, run == 2 ? 9u : 4u));
    ASSERT_TRUE(t_.run("v_mov_b32 v10, v1\nv_mov_b32 v1, 0\nv_mov_b32 v11, v1\nv_mov_b32 v12, v2"));
    for (unsigned reg = 10; reg <= 12; ++reg)
      seen[run].insert(seen[run].end(), t_.lanes(reg).begin(), t_.lanes(reg).end());
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_NE(seen[0], seen[2]);
  EXPECT_NE(std::vector(seen[0].begin(), seen[0].begin() + 64),
            std::vector(seen[0].begin() + 64, seen[0].begin() + 128));
}

// What the whole check relies on.
TEST_F(PoisonTest, WrongClaimChangesTheResult) {
  const char *code = "v_mov_b32 v1, 7\nv_mov_b32 v2, 3\nv_add_u32 v3, v1, v2";
  claim(8, {set({vgpr(2), vgpr(3)}), {}}); // before the second write of v2's neighbour: v1 is needed, v2 too
  ASSERT_TRUE(t_.run(code));
  EXPECT_NE(t_.v(3, 0), 10u);
  claim(4, {set({vgpr(2), vgpr(3)}), set({vgpr(2)})}); // v2 is about to be written
  ASSERT_TRUE(t_.run(code));
  EXPECT_EQ(t_.v(3, 0), 10u);
}

// Loads in flight are kept apart from registers (waits.h), so what lands is what was loaded.
TEST_F(PoisonTest, WorksWithStrictWaits) {
  const uint64_t memory = t_.buffer(std::vector<uint32_t>(64, 42));
  for (unsigned lane = 0; lane < 64; ++lane)
    t_.setV64(10, lane, memory + 4 * lane);
  t_.strictWaits(true);
  claim(8, {set({vgpr(1)}), {}}); // behind the load, before the wait
  ASSERT_TRUE(t_.run("global_load_dword v1, v[10:11], off\ns_nop 0\ns_waitcnt vmcnt(0)\nv_add_u32 v2, 1, v1"));
  EXPECT_EQ(t_.v(2, 0), 43u);
}

} // namespace
} // namespace luthier::vgpu::test
