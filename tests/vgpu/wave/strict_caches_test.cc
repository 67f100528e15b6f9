// Caches that keep what they have read (strict_caches.h).
#include "vgpu/wave/strict_caches.h"

#include "engine.h"
#include "vgpu/wave/strict_resources.h"

#include <gtest/gtest.h>

namespace luthier::vgpu::test {
namespace {

class StrictCachesTest : public testing::Test {
protected:
  /// One wave: s[6:7] is the address of `in`, whose dwords are 100, 101, ...; v1 is 0, v2 is 7. What `code` leaves in
  /// v4 is returned.
  uint32_t run(const std::string &code, bool strict = true) {
    const uint64_t in = engine_.memory(4096), out = engine_.memory(4096);
    for (unsigned n = 0; n < 64; ++n)
      Engine::at<uint32_t>(in, n) = 100 + n;
    Launch launch;
    launch.kernelObject = engine_.kernel("s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
                                         "s_waitcnt lgkmcnt(0)\n"
                                         "s_mov_b32 s8, 0\n"
                                         "v_mov_b32 v1, 0\nv_mov_b32 v2, 7\nv_mov_b32 v4, 0\n" +
                                             code +
                                             "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
                                             "global_store_dword v1, v4, s[4:5]\ns_endpgm",
                                         bits_);
    launch.grid = {64, 1, 1};
    launch.workgroup = {64, 1, 1};
    launch.kernarg = engine_.arguments(out, in);
    if (strict)
      launch.strictResources = strict_ = std::make_shared<StrictResources>(1, vectorL1_);
    EXPECT_TRUE(engine_.run(launch)) << code;
    return Engine::at<uint32_t>(out, 0);
  }

  Engine engine_{1};
  bool vectorL1_ = false;
  std::shared_ptr<StrictResources> strict_;
  DescriptorBits bits_{.rsrc1 = 7 | 2 << 6 | 0xf0 << 12 | 1 << 21 | 1 << 23, .rsrc3 = 15};
};

const std::string kScalarLoad = "s_load_dword s9, s[6:7], 0x4\ns_waitcnt lgkmcnt(0)\n";
const std::string kVectorStore = "global_store_dword v1, v2, s[6:7] offset:4\ns_waitcnt vmcnt(0)\n";

TEST_F(StrictCachesTest, ScalarLoadsDoNotSeeVectorStores) {
  const std::string end = "v_mov_b32 v4, s9";
  EXPECT_EQ(run(kScalarLoad + kVectorStore + kScalarLoad + end), 101u);
  EXPECT_EQ(strict_->totals.staleWords, 1u);
  EXPECT_EQ(run(kScalarLoad + kVectorStore + kScalarLoad + end, false), 7u) << "not strict";
  EXPECT_EQ(run(kScalarLoad + kVectorStore + "s_dcache_inv\n" + kScalarLoad + end), 7u);
  EXPECT_EQ(run(kVectorStore + kScalarLoad + end), 7u) << "not read before";
  // Of the same line.
  EXPECT_EQ(run("s_load_dword s9, s[6:7], 0x3c\ns_waitcnt lgkmcnt(0)\n" + kVectorStore + kScalarLoad + end), 101u);
  EXPECT_EQ(run("s_load_dword s9, s[6:7], 0x40\ns_waitcnt lgkmcnt(0)\n" + kVectorStore + kScalarLoad + end), 7u);
  // Its own stores, and loads that ask for what is there.
  EXPECT_EQ(
      run(kScalarLoad + "s_mov_b32 s10, 9\ns_store_dword s10, s[6:7], 0x4\ns_waitcnt lgkmcnt(0)\n" + kScalarLoad + end),
      9u);
  EXPECT_EQ(run(kScalarLoad + kVectorStore + "s_load_dword s9, s[6:7], 0x4 glc\n" + end), 7u);
}

TEST_F(StrictCachesTest, BufferLoadsInAndOutOfBounds) {
  const std::string resource = "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_mov_b32 s14, 12\ns_mov_b32 s15, 0x27000\n";
  const std::string load = "s_buffer_load_dwordx4 s[16:19], s[12:15], 0x0\ns_waitcnt lgkmcnt(0)\n";
  EXPECT_EQ(run(resource + load + kVectorStore + load + "v_mov_b32 v4, s17"), 101u);
  EXPECT_EQ(run(resource + load + kVectorStore + load + "v_mov_b32 v4, s19"), 0u) << "behind its end";
}

TEST_F(StrictCachesTest, VectorL1IsASwitchOfItsOwn) {
  const std::string load = "global_load_dword v4, v1, s[6:7] offset:4\ns_waitcnt vmcnt(0)\n";
  // Memory changes behind the L1's back: by a scalar store.
  const std::string change = "s_mov_b32 s10, 9\ns_store_dword s10, s[6:7], 0x4\ns_waitcnt lgkmcnt(0)\n";
  EXPECT_EQ(run(load + change + load), 9u);
  vectorL1_ = true;
  EXPECT_EQ(run(load + change + load), 101u);
  EXPECT_EQ(strict_->totals.staleWords, 64u);
  EXPECT_EQ(run(load + change + "buffer_wbinvl1_vol\n" + load), 9u);
  EXPECT_EQ(run(load + change + "buffer_wbinvl1\n" + load), 9u);
  EXPECT_EQ(run(load + change + "buffer_invl2\n" + load), 101u) << "L2 alone";
  EXPECT_EQ(run(load + change + "global_load_dword v4, v1, s[6:7] offset:4 glc\n"), 9u);
  EXPECT_EQ(run(load + kVectorStore + load), 7u) << "its own store";
  EXPECT_EQ(run(load + change + "global_atomic_add v1, v2, s[6:7] offset:4\ns_waitcnt vmcnt(0)\n" + load), 9 + 64 * 7u);
}

TEST_F(StrictCachesTest, EveryKindOfVectorLoad) {
  vectorL1_ = true;
  // -2 (0xfffffffe) is stored behind the L1's back where 101 (0x65) was.
  const std::string change = "s_mov_b32 s10, -2\ns_store_dword s10, s[6:7], 0x4\ns_waitcnt lgkmcnt(0)\n";
  const std::string address = "v_mov_b32 v10, s6\nv_mov_b32 v11, s7\n";
  const std::string resource = "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_mov_b32 s14, 64\ns_mov_b32 s15, 0x27000\n";
  struct Case {
    const char *load;
    uint32_t value, fresh;
  };
  for (const Case &c : {Case{"global_load_ubyte v4, v1, s[6:7] offset:4", 0x65, 0xfe},
                        {"global_load_sbyte v4, v1, s[6:7] offset:4", 0x65, 0xfffffffe},
                        {"global_load_sshort v4, v1, s[6:7] offset:4", 0x65, 0xfffffffe},
                        {"global_load_short_d16_hi v4, v1, s[6:7] offset:4", 0x650000, 0xfffe0000},
                        {"global_load_sbyte_d16 v4, v1, s[6:7] offset:4", 0x65, 0xfffe},
                        {"global_load_dwordx2 v[4:5], v1, s[6:7] offset:4", 0x65, 0xfffffffe},
                        {"flat_load_dword v4, v[10:11] offset:4", 0x65, 0xfffffffe},
                        {"buffer_load_dword v4, off, s[12:15], 0 offset:4", 0x65, 0xfffffffe},
                        {"buffer_load_dword v4, off, s[12:15], 0 offset:64", 0, 0}}) {
    const std::string load = std::string(c.load) + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n";
    EXPECT_EQ(run(address + resource + load + change + load), c.value) << c.load;
    EXPECT_EQ(run(address + resource + change + load), c.fresh) << c.load;
  }
}

/// Two workgroups on two compute units, one on each: one waits for what the other writes.
TEST_F(StrictCachesTest, UnitsSeeEachOtherWhenTheyAsk) {
  vectorL1_ = true;
  for (const char *invalidate : {"buffer_wbinvl1_vol", "s_nop 0"}) {
    Engine engine(1, {.computeUnits = 2});
    const uint64_t memory = engine.memory(4096);
    Launch launch;
    launch.kernelObject = engine.kernel(std::string("s_load_dwordx2 s[6:7], s[0:1], 0x0\n"
                                                    "s_waitcnt lgkmcnt(0)\n"
                                                    "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\n"
                                                    "s_cmp_eq_u32 s2, 0\n"
                                                    "s_cbranch_scc0 writer\n"
                                                    "s_movk_i32 s8, 1000\n"
                                                    "again:\n"
                                                    "global_load_dword v4, v1, s[6:7]\n"
                                                    "s_waitcnt vmcnt(0)\n") +
                                            invalidate +
                                            "\nv_readfirstlane_b32 s9, v4\n"
                                            "s_cmp_lg_u32 s9, 0\n"
                                            "s_cbranch_scc1 seen\n"
                                            "s_sleep 1\n"
                                            "s_sub_i32 s8, s8, 1\n"
                                            "s_cmp_lg_u32 s8, 0\n"
                                            "s_cbranch_scc1 again\n"
                                            "s_endpgm\n"
                                            "seen:\n"
                                            "global_store_dword v1, v2, s[6:7] offset:64\n"
                                            "s_endpgm\n"
                                            "writer:\n"
                                            "s_sleep 1\ns_sleep 1\n"
                                            "global_store_dword v1, v2, s[6:7]\n"
                                            "s_endpgm",
                                        bits_);
    launch.grid = {128, 1, 1};
    launch.workgroup = {64, 1, 1};
    launch.kernarg = engine.arguments(memory);
    launch.strictResources = std::make_shared<StrictResources>(1, true);
    ASSERT_TRUE(engine.run(launch));
    EXPECT_EQ(Engine::at<uint32_t>(memory, 16) == 1, invalidate[0] == 'b') << invalidate;
  }
}

} // namespace
} // namespace luthier::vgpu::test
