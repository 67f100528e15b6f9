// Workgroups over worker threads: all of them run, waiting ones do not starve others, faults and aborts end dispatches.

#include "engine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace luthier::vgpu::test {
namespace {

/// Adds 1 to element x of an array of dwords.
const char *const kIncrement = "v_mov_b32 v3, 1\n"
                               "global_atomic_add v2, v3, s[6:7]\n"
                               "s_endpgm\n";

class SchedulerTest : public testing::TestWithParam<unsigned> {
protected:
  SchedulerTest() : engine(GetParam()) {}
  Engine engine;
};

INSTANTIATE_TEST_SUITE_P(Threads, SchedulerTest, testing::Values(1u, 2u, 5u));

TEST_P(SchedulerTest, EveryWorkItemRunsOnce) {
  const uint32_t items = 100'003; // the last workgroup is partial
  const uint64_t data = engine.memory(items * 4 + 4096);
  Launch launch;
  launch.kernelObject = engine.kernel(prologue(256) + kIncrement);
  launch.grid = {items, 1, 1};
  launch.workgroup = {256, 1, 1};
  launch.kernarg = engine.arguments(data);
  ASSERT_TRUE(engine.run(launch));
  for (uint32_t n = 0; n < items; ++n)
    ASSERT_EQ(engine.at<uint32_t>(data, n), 1u) << n;
  EXPECT_EQ(engine.at<uint32_t>(data, items), 0u);
}

TEST_P(SchedulerTest, WavesOfAWorkgroupMeetAtBarriers) {
  // Each of 1024 work-items writes its id to LDS, waits, and reads the one 512 further on.
  const uint64_t data = engine.memory(4096);
  Launch launch;
  launch.kernelObject = engine.kernel(prologue(1024) + R"(
    v_lshlrev_b32 v3, 2, v0
    ds_write_b32 v3, v0
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_xor_b32 v3, 0x800, v3
    ds_read_b32 v4, v3
    s_waitcnt lgkmcnt(0)
    global_store_dword v2, v4, s[6:7]
    s_endpgm)");
  launch.grid = {1024, 1, 1};
  launch.workgroup = {1024, 1, 1};
  launch.groupSegmentSize = 4096;
  launch.kernarg = engine.arguments(data);
  ASSERT_TRUE(engine.run(launch));
  for (uint32_t n = 0; n < 1024; ++n)
    ASSERT_EQ(engine.at<uint32_t>(data, n), n ^ 512) << n;
}

TEST_P(SchedulerTest, BarriersDoNotWaitForWavesThatHaveEnded) {
  // Waves but the first end at once; the first meets nobody at 100 barriers.
  Launch launch;
  const uint64_t data = engine.memory(4096);
  launch.kernelObject = engine.kernel(prologue(256) + R"(
    v_readfirstlane_b32 s9, v0
    s_cmp_lg_u32 s9, 0
    s_cbranch_scc1 done
    s_movk_i32 s10, 100
  again:
    s_barrier
    s_sub_u32 s10, s10, 1
    s_cmp_lg_u32 s10, 0
    s_cbranch_scc1 again
    v_mov_b32 v3, 7
    global_store_dword v2, v3, s[6:7]
  done:
    s_endpgm)");
  launch.grid = {256, 1, 1};
  launch.workgroup = {256, 1, 1};
  launch.kernarg = engine.arguments(data);
  ASSERT_TRUE(engine.run(launch));
  EXPECT_EQ(engine.at<uint32_t>(data, 63), 7u);
  EXPECT_EQ(engine.at<uint32_t>(data, 64), 0u);
}

TEST_P(SchedulerTest, LookSeesWhereWavesAre) {
  // Of four waves, the first turns until the host sets a flag; the others wait for it at the barrier, but for the last,
  // which has ended.
  const uint64_t flag = engine.memory(4096);
  Launch launch;
  launch.kernelObject = engine.kernel(prologue(256) + R"(
    v_readfirstlane_b32 s9, v0
    v_mov_b32 v4, 0
    s_cmp_eq_u32 s9, 192
    s_cbranch_scc1 done
    s_cmp_lg_u32 s9, 0
    s_cbranch_scc1 meet
  spin:
    global_load_dword v3, v4, s[6:7] glc
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v3
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 spin
  meet:
    s_barrier
  done:
    s_endpgm)");
  launch.grid = {512, 1, 1};
  launch.workgroup = {256, 1, 1};
  launch.kernarg = engine.arguments(flag);
  EXPECT_TRUE(engine.look().dispatches.empty());
  const auto running = engine.start(launch);
  Running seen;
  const auto there = [&] {
    seen = engine.look();
    return seen.dispatches.size() == 1 && seen.dispatches[0].waves.size() == 6 &&
           std::ranges::count(seen.dispatches[0].waves, Stop::Barrier, &WavePlace::stop) == 4;
  };
  for (int tries = 0; !there() && tries < 10'000; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(there());
  EXPECT_EQ(seen.silentWorkers, 0u);
  const RunningDispatch &dispatch = seen.dispatches[0];
  EXPECT_EQ(dispatch.kernel, "test_kernel");
  EXPECT_EQ(dispatch.groupsStarted, 2u);
  EXPECT_EQ(dispatch.groupsEnded, 0u);
  for (const WavePlace &wave : dispatch.waves) {
    EXPECT_EQ(wave.stop, wave.wave == 0 ? Stop::None : Stop::Barrier);
    EXPECT_EQ(wave.waves, 4u);
    EXPECT_EQ(wave.ended, 1u);
    EXPECT_EQ(wave.atBarrier, 2u);
    constexpr uint32_t kBarrier = 0xbf8a0000;
    if (wave.stop == Stop::Barrier)
      EXPECT_EQ(engine.at<uint32_t>(wave.pc), kBarrier);
    else
      EXPECT_GT(wave.pc, dispatch.entry);
  }
  engine.at<uint32_t>(flag) = 1;
  EXPECT_TRUE(running->completed());
}

TEST_P(SchedulerTest, WorkgroupsMayWaitForLaterOnes) {
  // Workgroup n waits until workgroup n + 1 has set its flag: only the last one can go first.
  const uint32_t groups = 40;
  const uint64_t flags = engine.memory((groups + 1) * 4);
  engine.at<uint32_t>(flags, groups) = 1;
  Launch launch;
  launch.kernelObject = engine.kernel(prologue(64) + R"(
    v_mov_b32 v4, 0
    s_lshl_b32 s9, s2, 2
    s_add_u32 s6, s6, s9
    s_addc_u32 s7, s7, 0
  spin:
    global_load_dword v3, v4, s[6:7] offset:4 glc
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v3
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 spin
    v_mov_b32 v3, 1
    global_store_dword v4, v3, s[6:7]
    s_endpgm)");
  launch.grid = {groups * 64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.kernarg = engine.arguments(flags);
  ASSERT_TRUE(engine.run(launch));
  for (uint32_t n = 0; n < groups; ++n)
    EXPECT_EQ(engine.at<uint32_t>(flags, n), 1u);
}

TEST_P(SchedulerTest, WorkgroupsOfALargeGridMayWaitForEarlierOnes) {
  // A grid many times what the GPU holds: workers take several workgroups at a time. Workgroup n counts on from what
  // workgroup n - 1 leaves.
  Engine small(GetParam(), {.computeUnits = 1});
  const uint32_t groups = 500;
  const uint64_t counts = small.memory((groups + 1) * 4);
  small.at<uint32_t>(counts, 0) = 1;
  Launch launch;
  launch.kernelObject = small.kernel(prologue(64) + R"(
    v_mov_b32 v4, 0
    s_lshl_b32 s9, s2, 2
    s_add_u32 s6, s6, s9
    s_addc_u32 s7, s7, 0
  spin:
    global_load_dword v3, v4, s[6:7] glc
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v3
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 spin
    v_add_u32 v3, 1, v3
    global_store_dword v4, v3, s[6:7] offset:4
    s_endpgm)");
  launch.grid = {groups * 64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.kernarg = small.arguments(counts);
  ASSERT_TRUE(small.run(launch));
  for (uint32_t n = 0; n <= groups; ++n)
    ASSERT_EQ(small.at<uint32_t>(counts, n), n + 1) << n;
}

TEST_P(SchedulerTest, EveryWorkItemOfALargeGridRunsOnce) {
  Engine small(GetParam(), {.computeUnits = 1});
  const uint32_t items = 100'003;
  const uint64_t data = small.memory(items * 4 + 4096);
  Launch launch;
  launch.kernelObject = small.kernel(prologue(256) + kIncrement);
  launch.grid = {items, 1, 1};
  launch.workgroup = {256, 1, 1};
  launch.kernarg = small.arguments(data);
  ASSERT_TRUE(small.run(launch));
  for (uint32_t n = 0; n < items; ++n)
    ASSERT_EQ(small.at<uint32_t>(data, n), 1u) << n;
}

TEST_P(SchedulerTest, AnEndlessDispatchDoesNotStopAnother) {
  const uint64_t flag = engine.memory(4096), data = engine.memory(4096);
  Launch endless;
  endless.kernelObject = engine.kernel(prologue(64) + R"(
    v_mov_b32 v4, 0
  spin:
    global_load_dword v3, v4, s[6:7] glc
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v3
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 spin
    s_endpgm)");
  endless.grid = {64 * 8, 1, 1};
  endless.workgroup = {64, 1, 1};
  endless.kernarg = engine.arguments(flag);
  auto waiting = engine.start(endless);

  Launch quick;
  quick.kernelObject = engine.kernel(prologue(64) + kIncrement);
  quick.grid = {640, 1, 1};
  quick.workgroup = {64, 1, 1};
  quick.kernarg = engine.arguments(data);
  for (int n = 0; n < 20; ++n)
    ASSERT_TRUE(engine.run(quick));
  EXPECT_EQ(engine.at<uint32_t>(data, 639), 20u);

  EXPECT_FALSE(waiting->isDone());
  __atomic_store_n(&engine.at<uint32_t>(flag), 1, __ATOMIC_RELEASE);
  EXPECT_TRUE(waiting->completed());
}

TEST_P(SchedulerTest, TwoDispatchesMayWaitForEachOther) {
  // Each sets its own flag and waits for the other's.
  const uint64_t flags = engine.memory(4096);
  Launch launch;
  launch.kernelObject = engine.kernel(prologue(64) + R"(
    s_load_dwordx2 s[12:13], s[0:1], 0x8
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v3, 1
    v_mov_b32 v4, 0
    global_store_dword v4, v3, s[6:7]
  spin:
    s_sleep 1
    global_load_dword v3, v4, s[12:13] glc
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v3
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 spin
    s_endpgm)");
  launch.grid = {64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.kernarg = engine.arguments(flags, flags + 64);
  auto first = engine.start(launch);
  launch.kernarg = engine.arguments(flags + 64, flags);
  auto second = engine.start(launch);
  EXPECT_TRUE(first->completed());
  EXPECT_TRUE(second->completed());
}

TEST_P(SchedulerTest, EndlessDispatchesCanBeAborted) {
  Launch launch;
  launch.kernelObject = engine.kernel("spin: s_branch spin");
  launch.grid = {64 * 1000, 1, 1};
  launch.workgroup = {64, 1, 1};
  auto running = engine.start(launch);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(running->isDone());
  running->dispatch->abort({Fault::Kind::Aborted, 0, false, "enough"});
  ASSERT_TRUE(running->ended());
  EXPECT_EQ(running->fault.kind, Fault::Kind::Aborted);
  EXPECT_EQ(running->fault.text, "enough");
}

TEST_P(SchedulerTest, AbortingIsTooLateForWhatHasEnded) {
  Launch launch;
  launch.kernelObject = engine.kernel("s_endpgm");
  launch.grid = {64, 1, 1};
  launch.workgroup = {64, 1, 1};
  auto running = engine.start(launch);
  ASSERT_TRUE(running->completed());
  running->dispatch->abort({Fault::Kind::Aborted, 0, false, "too late"});
  EXPECT_EQ(running->dispatch->fault().kind, Fault::Kind::None);
  EXPECT_FALSE(running->dispatch->aborted());
}

TEST_P(SchedulerTest, DispatchesAreAbortedWithTheGpu) {
  std::shared_ptr<Engine::Started> running;
  {
    Engine local(GetParam());
    Launch launch;
    launch.kernelObject = local.kernel("spin: s_branch spin");
    launch.workgroup = {64, 1, 1};
    launch.grid = {64, 1, 1};
    running = local.start(launch);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // The worker may not have taken it up; if it has, it has told.
  if (running->isDone())
    EXPECT_EQ(running->fault.kind, Fault::Kind::Aborted);
}

TEST_P(SchedulerTest, AFaultEndsTheWholeDispatch) {
  Launch launch;
  launch.kernelObject = engine.kernel(prologue(64) + R"(
    s_cmp_lg_u32 s2, 7
    s_cbranch_scc1 spin
    v_mov_b32 v4, 0
    s_mov_b32 s6, 0x1000
    s_mov_b32 s7, 0
    global_load_dword v3, v4, s[6:7]
    s_waitcnt vmcnt(0)
    s_endpgm
  spin:
    s_branch spin)");
  launch.grid = {64 * 20, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.kernarg = engine.arguments(uint64_t{0});
  auto running = engine.start(launch);
  ASSERT_TRUE(running->ended());
  EXPECT_EQ(running->fault.kind, Fault::Kind::Memory);
  EXPECT_EQ(running->fault.address, 0x1000u);
  EXPECT_FALSE(running->fault.write);
  for (const char *part : {"test_kernel", "global_load_dword", "(7, 0, 0)", "0x1000"})
    EXPECT_NE(running->fault.text.find(part), std::string::npos) << part << " is not in:\n" << running->fault.text;
}

TEST_P(SchedulerTest, ScratchSlotsLimitButDoNotStop) {
  const uint64_t data = engine.memory(64 * 64 * 4), scratch = engine.memory(2 * 64 * 64);
  Launch launch;
  launch.kernelObject = engine.kernel(prologue(64) + kIncrement);
  launch.grid = {64 * 64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.kernarg = engine.arguments(data);
  launch.privateSegmentSize = 64;
  launch.scratch = std::make_shared<ScratchRing>();
  launch.scratch->reset(scratch, 64 * 64, 2, {});
  ASSERT_TRUE(engine.run(launch));
  for (uint32_t n = 0; n < 64 * 64; ++n)
    ASSERT_EQ(engine.at<uint32_t>(data, n), 1u);
  std::vector<uint32_t> slots;
  EXPECT_TRUE(launch.scratch->acquire(2, slots)); // all were given back
  EXPECT_NE(slots[0], slots[1]);
  EXPECT_FALSE(launch.scratch->acquire(1, slots));
}

TEST_P(SchedulerTest, ManyDispatchesFromManyThreads) {
  constexpr unsigned kThreads = 4, kLaunches = 200;
  const uint64_t data = engine.memory(64 * 4);
  Launch launch;
  launch.kernelObject = engine.kernel(prologue(64) + kIncrement);
  launch.grid = {64, 1, 1};
  launch.workgroup = {64, 1, 1};
  launch.kernarg = engine.arguments(data);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (unsigned n = 0; n < kLaunches; ++n)
        EXPECT_TRUE(engine.run(launch));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (uint32_t n = 0; n < 64; ++n)
    EXPECT_EQ(engine.at<uint32_t>(data, n), kThreads * kLaunches);
}

struct BadLaunch {
  const char *name;
  void (*change)(Launch &);
  const char *message;
};

class BadLaunches : public testing::TestWithParam<BadLaunch> {};

TEST_P(BadLaunches, AreRefusedBeforeAWaveRuns) {
  Engine engine(1);
  Launch launch;
  launch.kernelObject = engine.kernel("s_endpgm");
  GetParam().change(launch);
  auto running = engine.start(launch);
  ASSERT_TRUE(running->ended());
  EXPECT_EQ(running->fault.kind, Fault::Kind::BadLaunch);
  EXPECT_NE(running->fault.text.find(GetParam().message), std::string::npos) << running->fault.text;
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, BadLaunches,
    testing::Values(BadLaunch{"noKernel", [](Launch &l) { l.kernelObject = 0; }, "kernel object"},
                    BadLaunch{"unmappedKernel", [](Launch &l) { l.kernelObject = 0x123000; }, "kernel object"},
                    BadLaunch{"emptyGrid", [](Launch &l) { l.grid[1] = 0; }, "zero"},
                    BadLaunch{"emptyWorkgroup", [](Launch &l) { l.workgroup[2] = 0; }, "zero"},
                    BadLaunch{"largeWorkgroup", [](Launch &l) { l.workgroup = {1025, 1, 1}; }, "1024"},
                    BadLaunch{"hugeWorkgroup", [](Launch &l) { l.workgroup = {65535, 65535, 2}; }, "1024"},
                    BadLaunch{"largeLds", [](Launch &l) { l.groupSegmentSize = 65537; }, "LDS"},
                    BadLaunch{"noScratch", [](Launch &l) { l.privateSegmentSize = 4; }, "scratch"}),
    [](const auto &info) { return info.param.name; });

} // namespace
} // namespace luthier::vgpu::test
