// Global wave sync: who may pass, and that waves of a grid wait for each other through it.

#include "engine.h"
#include "vgpu/state/global_wave_sync.h"

#include <gtest/gtest.h>

namespace luthier::vgpu::test {
namespace {

TEST(GlobalWaveSync, BarrierIsCompleteWithOneWaveMoreThanItsValue) {
  GlobalWaveSync gws;
  gws.init(3, 2);
  const uint64_t first = gws.arrive(3, 0), second = gws.arrive(3, 0);
  EXPECT_FALSE(gws.called(first));
  EXPECT_FALSE(gws.called(second));
  const uint64_t third = gws.arrive(3, 0);
  EXPECT_TRUE(gws.called(first) && gws.called(second) && gws.called(third));
  EXPECT_TRUE(gws.called(gws.arrive(3, 1))) << "the last value was 0: a barrier for one";
  EXPECT_FALSE(gws.called(gws.arrive(3, 0))) << "and then 1: a barrier for two";
}

TEST(GlobalWaveSync, SemaphoreLetsAsManyPassAsWereReleased) {
  GlobalWaveSync gws;
  gws.init(1, 1);
  EXPECT_TRUE(gws.called(gws.acquire(1)));
  const uint64_t waiting = gws.acquire(1);
  EXPECT_FALSE(gws.called(waiting));
  gws.release(2, 1);
  EXPECT_FALSE(gws.called(waiting)) << "another resource";
  gws.release(1, 2);
  EXPECT_TRUE(gws.called(waiting));
  EXPECT_TRUE(gws.called(gws.acquire(1)));
  EXPECT_FALSE(gws.called(gws.acquire(1)));
}

TEST(GlobalWaveSync, ReleaseAllIsForThoseWhoWaitNow) {
  GlobalWaveSync gws;
  const uint64_t first = gws.acquire(1), second = gws.acquire(1), other = gws.acquire(2);
  EXPECT_FALSE(gws.called(first));
  gws.releaseAll(1);
  EXPECT_TRUE(gws.called(first));
  EXPECT_TRUE(gws.called(second));
  EXPECT_FALSE(gws.called(other));
  EXPECT_FALSE(gws.called(gws.acquire(1)));
}

// Workgroup 0 writes and releases the others in bulk; they wait, read what it wrote, and write it to their place.
TEST(GlobalWaveSync, WavesOfAGridWait) {
  constexpr uint32_t kGroups = 8;
  Engine engine(2);
  const uint64_t data = engine.memory(64 * kGroups * 4);
  Launch launch;
  launch.kernelObject = engine.kernel(prologue(64) + R"(
      s_mov_b32 m0, 0
      s_cmp_eq_u32 s2, 0
      s_cbranch_scc1 first
      ds_gws_sema_p offset:7 gds
      s_waitcnt lgkmcnt(0)
      s_load_dword s9, s[6:7], 0x0 glc
      s_waitcnt lgkmcnt(0)
      v_mov_b32 v3, s9
      global_store_dword v2, v3, s[6:7]
      s_endpgm
    first:
      s_sleep 1
      s_sleep 1
      s_sleep 1
      v_mov_b32 v3, 42
      global_store_dword v2, v3, s[6:7]
      s_waitcnt vmcnt(0)
      v_mov_b32 v4, 7
      ds_gws_sema_br v4 offset:7 gds
      s_waitcnt lgkmcnt(0)
      s_endpgm)");
  launch.grid = {64 * kGroups, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.kernarg = engine.arguments(data);
  ASSERT_TRUE(engine.run(launch));
  for (uint32_t n = 0; n < 64 * kGroups; ++n)
    ASSERT_EQ(engine.at<uint32_t>(data, n), 42u) << n;
}

} // namespace
} // namespace luthier::vgpu::test
