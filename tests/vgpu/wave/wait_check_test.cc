// `luthier check wait`: what the check adds to strict waits, whose cases it goes through as well (waits_machine.h).

#include "waits_machine.h"

namespace luthier::vgpu::test {
namespace {

using testing::StartsWith;

TEST(WaitCheck, TheKernelGoesOn) {
  WaitsMachine m;
  const auto found = m.check("global_load_dword v0, v[10:11], off\n ds_read_b32 v1, v12\n"
                             "v_add_u32 v2, v0, v1\n v_mov_b32 v3, v0\n s_waitcnt vmcnt(0) lgkmcnt(0)");
  // Both operands, once each: what has been reported counts as waited for.
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].use.what, "v0");
  EXPECT_EQ(found[1].use.what, "v1");
  EXPECT_EQ(found[0].offset, found[1].offset);
  EXPECT_EQ(found[0].use.lanes, ~0ull);
}

TEST(WaitCheck, NamesTheWeakestWait) {
  WaitsMachine m;
  const auto wait = [&](const char *code) {
    const auto found = m.check(code);
    return found.empty() ? std::string() : found[0].use.wait;
  };
  EXPECT_EQ(wait("global_load_dword v0, v[10:11], off\n global_load_dword v1, v[10:11], off\n"
                 "global_load_dword v2, v[10:11], off\n v_mov_b32 v3, v0"),
            "s_waitcnt vmcnt(2)");
  EXPECT_EQ(wait("flat_load_dword v0, v[10:11]\n v_mov_b32 v3, v0"), "s_waitcnt vmcnt(0) lgkmcnt(0)");
  EXPECT_EQ(wait("s_load_dword s0, s[40:41], 0x0\n s_load_dword s1, s[40:41], 0x0\n s_mov_b32 s2, s0"),
            "s_waitcnt lgkmcnt(0)");
  WaitsMachine rdna4("gfx1201", 32);
  const auto found = rdna4.check("ds_read_b32 v0, v12\n ds_read_b32 v1, v12\n v_mov_b32 v3, v0");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].use.wait, "s_wait_dscnt 0x1");
}

class WaitCheckTargets : public testing::TestWithParam<std::pair<const char *, unsigned>> {
protected:
  /// With `wait` in the place of "WAIT" it is silent, without it is found, at the instruction that begins so.
  void expectTwins(const std::string &code, const std::string &wait, const std::string &inFlight,
                   const std::string &what, uint64_t expectedLanes) {
    const size_t at = code.find("WAIT");
    ASSERT_NE(at, std::string::npos);
    std::string safe = code, faulty = code;
    safe.replace(at, 4, wait);
    faulty.replace(at, 4, "");
    WaitsMachine m = machine();
    EXPECT_TRUE(m.check(safe).empty()) << safe;
    const auto found = m.check(faulty);
    ASSERT_EQ(found.size(), 1u) << faulty;
    EXPECT_EQ(found[0].use.what, what) << faulty;
    EXPECT_EQ(found[0].use.lanes, expectedLanes) << faulty;
    EXPECT_THAT(found[0].use.operation, StartsWith(inFlight));
  }
  WaitsMachine machine() const { return WaitsMachine(GetParam().first, GetParam().second); }
  uint64_t all() const { return GetParam().second == 64 ? ~0ull : 0xffffffff; }
};
INSTANTIATE_TEST_SUITE_P(Targets, WaitCheckTargets,
                         testing::Values(std::pair("gfx90a", 64u), std::pair("gfx1030", 32u)),
                         [](const auto &info) { return info.param.first; });

TEST_P(WaitCheckTargets, AcrossBackEdges) {
  expectTwins("s_mov_b32 s0, 2\n loop:\n WAIT\n v_mov_b32 v2, v0\n global_load_dword v0, v[10:11], off\n"
              "s_sub_u32 s0, s0, 1\n s_cmp_lg_u32 s0, 0\n s_cbranch_scc1 loop\n s_waitcnt vmcnt(0)",
              "s_waitcnt vmcnt(0)", "global_load_dword v0", "v0", all());
}

TEST_P(WaitCheckTargets, AcrossCalls) {
  expectTwins("global_load_dword v0, v[10:11], off\n s_call_b64 s[20:21], callee\n s_branch done\n callee:\n WAIT\n"
              "v_mov_b32 v2, v0\n s_setpc_b64 s[20:21]\n done:\n s_waitcnt vmcnt(0)",
              "s_waitcnt vmcnt(0)", "global_load_dword v0", "v0", all());
}

TEST_P(WaitCheckTargets, BehindBranches) {
  expectTwins("s_cmp_eq_u32 s0, s0\n ds_read_b32 v0, v12\n s_cbranch_scc1 there\n s_waitcnt lgkmcnt(0)\n there:\n"
              "WAIT\n v_mov_b32 v2, v0\n s_waitcnt lgkmcnt(0)",
              "s_waitcnt lgkmcnt(0)", "ds_read_b32 v0", "v0", all());
}

// LDS that a load writes is in LDS when vector memory's counter says so, not LDS's.
TEST_P(WaitCheckTargets, LoadsStraightToLds) {
  const std::string kind = GetParam().second == 64 ? "0x27000" : "0x30027000"; // the resource's last dword
  const std::string start = "s_mov_b64 s[4:5], s[40:41]\n s_movk_i32 s6, 0x1000\n s_mov_b32 s7, " + kind +
                            "\ns_mov_b32 m0, 64\n buffer_load_dword v12, s[4:7], 0 offen lds\n";
  expectTwins(start + "WAIT\n ds_read_b32 v0, v12 offset:64\n s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)",
              "buffer_load_dword", "LDS at offset 0x40", all());
  // Lanes that read what was there before: the first sixteen dwords.
  expectTwins(start + "WAIT\n ds_read_b32 v0, v12\n s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)", "buffer_load_dword",
              "LDS at offset 0x40", all() & ~0xffffull);
  // It says nothing of other places.
  WaitsMachine m = machine();
  EXPECT_TRUE(m.check(start + "ds_read_b32 v0, v12 offset:512\n s_waitcnt lgkmcnt(0) vmcnt(0)").empty());
}

TEST_P(WaitCheckTargets, LanesThatAreOff) {
  const bool wide = GetParam().second == 64;
  const std::string exec = wide ? "s_mov_b64 exec, " : "s_mov_b32 exec_lo, ";
  expectTwins(exec + "0xff\n global_load_dword v0, v[10:11], off\n" + exec + "-1\n WAIT\n v_mov_b32 v0, 0\n",
              "s_waitcnt vmcnt(0)", "global_load_dword v0", "v0", 0xff);
  WaitsMachine m = machine();
  EXPECT_TRUE(m.check(exec + "0xf0\n global_load_dword v0, v[10:11], off\n" + exec + "0xf\n v_mov_b32 v0, 0\n" + exec +
                      "-1\n s_waitcnt vmcnt(0)")
                  .empty());
}

TEST_P(WaitCheckTargets, StoresHaveReadTheirData) {
  WaitsMachine m = machine();
  EXPECT_TRUE(m.check("global_store_dword v[10:11], v1, off\n v_mov_b32 v1, 0\n ds_write_b32 v12, v1\n v_mov_b32 v1, 1")
                  .empty());
}

TEST(WaitCheck, MatricesOverLoads) {
  WaitsMachine m;
  const std::string load = "global_load_dwordx4 v[0:3], v[10:11], off\n";
  const std::string use = "v_mfma_f32_4x4x1f32 v[0:3], v20, v21, 0\n s_nop 7";
  EXPECT_TRUE(m.check(load + "s_waitcnt vmcnt(0)\n" + use).empty());
  const auto found = m.check(load + use);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].use.read);
  EXPECT_EQ(found[0].use.what, "v0");
}

TEST(WaitCheck, Scratch) {
  WaitsMachine m("gfx1030", 32);
  m.t.scratch(64);
  const std::string load = "scratch_load_dword v0, off, s50\n", use = "v_mov_b32 v1, v0\n s_waitcnt vmcnt(0)";
  EXPECT_TRUE(m.t.run("s_mov_b32 s50, 0\n" + load + "s_waitcnt vmcnt(0)\n" + use));
  EXPECT_FALSE(m.t.run("s_mov_b32 s50, 0\n" + load + use));
}

} // namespace
} // namespace luthier::vgpu::test
