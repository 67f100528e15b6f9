// Waves of 32 and of 64 lanes on one GPU, as each kernel's descriptor says, and what RDNA's waves start with.

#include "engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace luthier::vgpu::test {
namespace {

using testing::HasSubstr;

constexpr uint16_t kKernargPtr = 8, kWave32 = 1 << 10;
constexpr uint32_t kRsrc1 = 7 | 0xf0 << 12;

DeviceConfig configOf(const char *target) {
  DeviceConfig config;
  config.target = isa::findTarget(target);
  return config;
}

class WaveSize : public testing::Test {
protected:
  /// Starts the first workgroup of a launch and does not run it.
  Workgroup &start(Engine &engine, const DescriptorBits &bits) {
    launch.kernelObject = engine.kernel("s_endpgm", bits);
    dispatch = engine.device().prepare(launch, {});
    EXPECT_FALSE(dispatch->aborted()) << dispatch->fault().text;
    group = Workgroup::startNext(*dispatch, pool, nullptr);
    return *group;
  }
  Wave &wave(unsigned index = 0) { return *group->waves()[index]; }

  Launch launch;
  WavePool pool;
  std::shared_ptr<Dispatch> dispatch;
  std::unique_ptr<Workgroup> group;
};

TEST_F(WaveSize, IsWhatTheDescriptorSays) {
  Engine engine(1, configOf("gfx1030"));
  launch.grid = {100, 1, 1};
  launch.workgroup = {100, 1, 1};
  start(engine, {.rsrc1 = kRsrc1, .rsrc2 = 0, .properties = kWave32});
  ASSERT_EQ(group->waveCount(), 4u);
  EXPECT_EQ(wave(0).lanes, 32u);
  EXPECT_EQ(wave(0).exec(), 0xffffffffull);
  EXPECT_EQ(wave(3).exec(), 0xfull);
  EXPECT_EQ(wave(3).v[0][3], 99u);
  EXPECT_EQ(wave(0).vgprCount, 64u);
  group.reset();
  start(engine, {.rsrc1 = kRsrc1, .rsrc2 = 0, .properties = 0});
  ASSERT_EQ(group->waveCount(), 2u);
  EXPECT_EQ(wave(0).lanes, 64u);
  EXPECT_EQ(wave(0).exec(), ~0ull);
  EXPECT_EQ(wave(1).exec(), (1ull << 36) - 1);
  EXPECT_EQ(wave(0).vgprCount, 32u) << "the same count stands for half as many";
}

TEST_F(WaveSize, IsRefusedWhereThereIsNone) {
  Engine engine(1);
  launch.grid = {64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.kernelObject = engine.kernel("s_endpgm", {.properties = kWave32});
  EXPECT_THAT(engine.device().prepare(launch, {})->fault().text, HasSubstr("waves of 32 lanes"));
}

/// The same bytes may mean another thing to waves of the other size: v_cmp_eq_u32 s4, v0, v0 there, s[4:5] here.
TEST_F(WaveSize, KernelsOfBothShareAGpu) {
  Engine engine(2, configOf("gfx1100"));
  const uint64_t out = engine.memory(4096);
  const std::string code = "s_load_b64 s[6:7], s[0:1], 0x0\n"
                           "s_mov_b32 s4, 0\ns_mov_b32 s5, 0x77\n"
                           ".long 0xd44a0004, 0x00020100\n" // v_cmp_eq_u32 s4, v0, v0
                           "v_mov_b32 v2, 0\nv_mov_b32 v3, s4\nv_mov_b32 v4, s5\n"
                           "s_waitcnt lgkmcnt(0)\n"
                           "global_store_b64 v2, v[3:4], s[6:7]\n"
                           "s_endpgm\n";
  const uint64_t kernels[] = {
      engine.kernel(code, {.rsrc1 = kRsrc1, .rsrc2 = 2 << 1, .properties = kKernargPtr | kWave32}),
      engine.kernel(code, {.rsrc1 = kRsrc1, .rsrc2 = 2 << 1, .properties = kKernargPtr})};
  launch.grid = {64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.kernarg = engine.arguments(out);
  for (unsigned n = 0; n < 4; ++n) {
    launch.kernelObject = kernels[n & 1];
    ASSERT_TRUE(engine.run(launch));
    EXPECT_EQ(engine.at<uint64_t>(out), n & 1 ? ~0ull : 0x77ffffffffull);
  }
}

TEST_F(WaveSize, WorkgroupIdsOfGfx12AreInTtmps) {
  Engine engine(1, configOf("gfx1201"));
  launch.grid = {128, 2, 3};
  launch.workgroup = {64, 1, 1};
  launch.kernelObject =
      engine.kernel("s_endpgm", {.rsrc1 = kRsrc1, .rsrc2 = 2 << 1 | 7 << 7, .properties = kKernargPtr | kWave32});
  dispatch = engine.device().prepare(launch, {});
  ASSERT_FALSE(dispatch->aborted()) << dispatch->fault().text;
  for (unsigned n = 0; n < 12; ++n) {
    group = Workgroup::startNext(*dispatch, pool, nullptr);
    ASSERT_EQ(group->waveCount(), 2u);
    EXPECT_EQ(wave(0).s[kTtmp + 9], n % 2);
    EXPECT_EQ(wave(0).s[kTtmp + 7], n / 2 % 2 | n / 4 << 16);
    EXPECT_EQ(wave(1).s[kTtmp + 8] >> 25 & 0x1f, 1u);
    EXPECT_EQ(wave(0).s[2], 0u) << "and in no SGPR";
    group.reset();
  }
}

TEST_F(WaveSize, Gfx12HasNoModeForClampAndIeee) {
  launch.grid = {32, 1, 1};
  launch.workgroup = {32, 1, 1};
  Engine twelve(1, configOf("gfx1201")), eleven(1, configOf("gfx1100"));
  start(twelve, {.rsrc1 = kRsrc1, .rsrc2 = 0, .properties = kWave32});
  EXPECT_EQ(wave().mode & (mode::kDx10Clamp | mode::kIeee), mode::kDx10Clamp | mode::kIeee) << "as if both were set";
  group.reset();
  start(eleven, {.rsrc1 = kRsrc1, .rsrc2 = 0, .properties = kWave32});
  EXPECT_EQ(wave().mode & (mode::kDx10Clamp | mode::kIeee), 0u);
}

TEST_F(WaveSize, WhatIsNotImplementedIsRefusedByName) {
  launch.grid = {32, 1, 1};
  launch.workgroup = {32, 1, 1};
  Engine twelve(1, configOf("gfx1201")), ten(1, configOf("gfx1030"));
  launch.kernelObject = twelve.kernel("s_endpgm", {.rsrc1 = kRsrc1, .rsrc2 = 1 << 6, .properties = kWave32});
  EXPECT_THAT(twelve.device().prepare(launch, {})->fault().text, HasSubstr("DYNAMIC_VGPR"));
  launch.kernelObject = ten.kernel("s_endpgm", {.rsrc1 = kRsrc1, .rsrc2 = 0, .rsrc3 = 1, .properties = 0});
  EXPECT_THAT(ten.device().prepare(launch, {})->fault().text, HasSubstr("SHARED_VGPR_COUNT"));
}

TEST_F(WaveSize, TheScratchResourceIsSwizzledByTheWave) {
  Engine engine(1, configOf("gfx1030"));
  launch.grid = {64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.privateSegmentSize = 16;
  launch.scratch = std::make_shared<ScratchRing>();
  launch.scratch->reset(0x700000000000, 64 * 1024, 4, {1, 2, 3, 4});
  for (const bool wave32 : {false, true}) {
    start(engine,
          {.rsrc1 = kRsrc1, .rsrc2 = 4 << 1 | 1, .properties = static_cast<uint16_t>(1 | (wave32 ? kWave32 : 0))});
    EXPECT_EQ(wave().s[0], 1u);
    EXPECT_EQ(wave().s[3], 4u | (wave32 ? 2u : 3u) << 21 | 1u << 23);
    EXPECT_EQ(wave().s[4], wave().scratchBase - 0x700000000000) << "the wave's offset";
    group.reset();
  }
}

TEST_F(WaveSize, ArchitectedScratchNeedsNoSetup) {
  Engine engine(1, configOf("gfx1201"));
  launch.grid = {64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.privateSegmentSize = 16;
  launch.scratch = std::make_shared<ScratchRing>();
  launch.scratch->reset(0x700000000000, 64 * 1024, 4, {});
  start(engine, {.rsrc1 = kRsrc1, .rsrc2 = 1, .properties = kWave32});
  for (unsigned n = 0; n < 2; ++n)
    EXPECT_EQ(wave(n).scalar64(wave(n).flatScratch), wave(n).scratchBase);
}

/// Work-items hand a value to the one 32 further on, which is in another wave, again and again.
TEST_F(WaveSize, SplitBarriersKeepWavesTogether) {
  Engine engine(2, configOf("gfx1201"));
  const uint64_t out = engine.memory(4096 * 16);
  for (const bool wave32 : {true, false}) {
    launch.kernelObject = engine.kernel(
        "s_load_b64 s[6:7], s[0:1], 0x0\n"
        "v_and_b32 v0, 0x3ff, v0\n"
        "v_mov_b32 v1, v0\n"
        "v_lshlrev_b32 v2, 2, v0\n"
        "v_add_nc_u32 v3, 128, v2\n"
        "v_and_b32 v3, 0x3ff, v3\n" // 256 work-items
        "s_mov_b32 s8, 20\n"
        "again:\n"
        "ds_store_b32 v2, v1\n"
        "s_wait_dscnt 0x0\n"
        "s_barrier_signal -1\n"
        "s_nop 3\n"
        "s_barrier_wait -1\n"
        "ds_load_b32 v1, v3\n"
        "s_wait_dscnt 0x0\n"
        "s_barrier_signal -1\n"
        "s_barrier_wait -1\n"
        "s_sub_co_i32 s8, s8, 1\n"
        "s_cmp_lg_u32 s8, 0\n"
        "s_cbranch_scc1 again\n"
        "s_wait_kmcnt 0x0\n"
        "s_mov_b32 s9, ttmp9\n"
        "s_lshl_b32 s9, s9, 10\n"
        "v_add_nc_u32 v2, s9, v2\n"
        "global_store_b32 v2, v1, s[6:7]\n"
        "s_endpgm\n",
        {.rsrc1 = kRsrc1, .rsrc2 = 2 << 1, .properties = static_cast<uint16_t>(kKernargPtr | (wave32 ? kWave32 : 0))});
    launch.grid = {256 * 8, 1, 1};
    launch.workgroup = {256, 1, 1};
    launch.groupSegmentSize = 1024;
    launch.kernarg = engine.arguments(out);
    ASSERT_TRUE(engine.run(launch));
    for (unsigned item = 0; item < 256 * 8; ++item)
      ASSERT_EQ(engine.at<uint32_t>(out, item), (item + 32 * 20) % 256) << item;
  }
}

/// A wave that has ended is not waited for.
TEST_F(WaveSize, SplitBarriersDoNotWaitForWavesThatEnded) {
  Engine engine(1, configOf("gfx1201"));
  launch.kernelObject = engine.kernel("v_cmp_gt_u32 vcc_lo, 32, v0\n"
                                      "s_cbranch_vccnz first\n"
                                      "s_barrier_signal -1\n"
                                      "s_barrier_wait -1\n"
                                      "first:\n"
                                      "s_endpgm\n",
                                      {.rsrc1 = kRsrc1, .rsrc2 = 0, .properties = kWave32});
  launch.grid = {128, 1, 1};
  launch.workgroup = {128, 1, 1};
  ASSERT_TRUE(engine.run(launch));
}

} // namespace
} // namespace luthier::vgpu::test
