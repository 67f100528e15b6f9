// Races and barriers (race.h, barrier_check.h) where compilers do not lead: split barriers, waits one by one, and what
// hand-written code may do. HIP programs are in tests/check.

#include "engine.h"
#include "vgpu/wave/barrier_check.h"
#include "vgpu/wave/in_flight.h"
#include "vgpu/wave/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::vgpu::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class OrderChecks : public testing::Test {
protected:
  /// Runs `code` in one workgroup of four waves. v0 is the work-item, v1 four times that, s[6:7] the address of `out_`.
  Fault run(const char *target, unsigned lanes, const std::string &code) {
    DeviceConfig config;
    config.target = isa::findTarget(target);
    Engine engine(1, config);
    auto &device = engine.device();
    device.checkedCode = std::make_shared<CheckedCode>();
    auto races = std::make_shared<RaceCheck>(*device.checkedCode);
    races->onRace = [this](const Wave &, const Inst *inst, const Race &race) {
      races_.push_back(race);
      seconds_.push_back(checkedInst(inst).operands.mnemonic);
    };
    device.raceCheck = races;
    auto barriers = std::make_shared<BarrierCheck>();
    barriers->onProblem = [this](const Wave &, const BarrierProblem &problem) { problems_.push_back(problem.kind); };
    device.barrierCheck = barriers;
    const std::string start = config.target->splitCounters
                                  ? "s_load_b64 s[6:7], s[0:1], 0x0\ns_wait_kmcnt 0x0\n"
                                  : "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n";
    Launch launch;
    launch.kernelObject =
        engine.kernel(start +
                          "v_and_b32 v0, 0x3ff, v0\n"
                          "v_lshlrev_b32 v1, 2, v0\n" +
                          code + "\ns_endpgm\n",
                      lanes == 32 ? DescriptorBits{.rsrc1 = 7 | 0xf0 << 12, .rsrc2 = 2 << 1, .properties = 8 | 1 << 10}
                                  : DescriptorBits{});
    launch.kernarg = engine.arguments(engine.memory(4096));
    launch.grid = {4 * lanes, 1, 1};
    launch.workgroup = {static_cast<uint16_t>(4 * lanes), 1, 1};
    launch.groupSegmentSize = 4096;
    const auto running = engine.start(launch);
    EXPECT_TRUE(running->ended());
    return running->fault;
  }
  std::vector<MissingOrder> missing() const {
    std::vector<MissingOrder> all;
    for (const Race &race : races_)
      if (std::ranges::find(all, race.missing) == all.end())
        all.push_back(race.missing);
    return all;
  }

  std::vector<Race> races_;
  std::vector<std::string_view> seconds_; ///< the second instruction of each
  std::vector<BarrierProblem::Kind> problems_;
};

constexpr const char *kStore = "ds_store_b32 v1, v0\n", *kLoad = "ds_load_b32 v2, v1 offset:128\n";

TEST_F(OrderChecks, SplitBarriersOrderWhatIsBeforeTheSignal) {
  run("gfx1201", 32,
      std::string(kStore) + "s_wait_dscnt 0x0\ns_barrier_signal -1\ns_barrier_wait -1\n" + kLoad + "s_wait_dscnt 0x0");
  EXPECT_THAT(races_, IsEmpty());
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(OrderChecks, SplitBarriersDoNotOrderWhatIsBehindTheSignal) {
  run("gfx1201", 32,
      "s_barrier_signal -1\n" + std::string(kStore) + "s_wait_dscnt 0x0\ns_barrier_wait -1\n" + kLoad +
          "s_wait_dscnt 0x0");
  EXPECT_THAT(missing(), ElementsAre(MissingOrder::Barrier));
}

TEST_F(OrderChecks, SplitBarriersDoNotWait) {
  run("gfx1201", 32,
      std::string(kStore) + "s_barrier_signal -1\ns_wait_dscnt 0x0\ns_barrier_wait -1\n" + kLoad + "s_wait_dscnt 0x0");
  EXPECT_THAT(missing(), ElementsAre(MissingOrder::BarrierWait));
}

TEST_F(OrderChecks, SplitBarriersAreSignalledAndWaitedForInTurn) {
  run("gfx1201", 32, "s_barrier_signal -1\ns_barrier_signal -1\ns_barrier_wait -1");
  EXPECT_THAT(problems_, testing::Contains(BarrierProblem::Kind::SignalledTwice));
  problems_.clear();
  run("gfx1201", 32, "s_barrier_signal -1");
  EXPECT_THAT(problems_, testing::Each(BarrierProblem::Kind::EndsSignalled));
  EXPECT_EQ(problems_.size(), 4u);
}

TEST_F(OrderChecks, AWorkgroupThatCannotGoOnEnds) {
  const Fault fault = run("gfx1201", 32, "s_barrier_wait -1");
  EXPECT_THAT(fault.text, testing::HasSubstr("no wave of workgroup (0, 0, 0) of test_kernel can go on"));
  EXPECT_THAT(problems_, testing::Contains(BarrierProblem::Kind::WaitsUnsignalled));
  EXPECT_THAT(problems_, testing::Contains(BarrierProblem::Kind::Stuck));
}

constexpr const char *kWrite = "ds_write_b32 v1, v0\n", *kRead = "ds_read_b32 v2, v1 offset:256\n",
                     *kWaitAll = "s_waitcnt vmcnt(0) lgkmcnt(0)\n";

TEST_F(OrderChecks, WaitsMayLeaveYoungerOperations) {
  // The write is covered, the read behind it is not: nobody writes what it reads.
  run("gfx90a", 64, std::string(kWrite) + "ds_read_b32 v3, v1\ns_waitcnt lgkmcnt(1)\ns_barrier\n" + kRead + kWaitAll);
  EXPECT_THAT(races_, IsEmpty());
  run("gfx90a", 64,
      "ds_read_b32 v3, v1 offset:2048\n" + std::string(kWrite) + "s_waitcnt lgkmcnt(1)\ns_barrier\n" + kRead +
          kWaitAll);
  EXPECT_THAT(missing(), ElementsAre(MissingOrder::BarrierWait));
}

TEST_F(OrderChecks, ReadsMayStillBeOnTheirWayWhenOthersWrite) {
  run("gfx90a", 64, std::string(kRead) + "s_barrier\n" + kWrite + kWaitAll);
  EXPECT_THAT(missing(), ElementsAre(MissingOrder::BarrierWait));
  EXPECT_THAT(seconds_, testing::Each(testing::StrEq("ds_write_b32")));
  races_.clear();
  run("gfx90a", 64, std::string(kRead) + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + kWrite + kWaitAll);
  EXPECT_THAT(races_, IsEmpty());
}

TEST_F(OrderChecks, BytesOfADwordAreApart) {
  // Wave n writes byte n of each dword, and byte 0.
  const std::string own = "v_and_b32 v3, 63, v0\nv_lshlrev_b32 v3, 2, v3\nv_lshrrev_b32 v4, 6, v0\n";
  run("gfx90a", 64, own + "v_add_u32 v3, v3, v4\nds_write_b8 v3, v0\n" + kWaitAll);
  EXPECT_THAT(races_, IsEmpty());
  run("gfx90a", 64, own + "ds_write_b8 v3, v0\n" + kWaitAll);
  EXPECT_THAT(missing(), ElementsAre(MissingOrder::Barrier));
}

TEST_F(OrderChecks, TwoPlacesOfOneInstruction) {
  run("gfx90a", 64,
      std::string(kWrite) + kWaitAll + "s_barrier\nds_write2st64_b32 v1, v0, v0 offset0:4 offset1:5\n" + kWaitAll);
  EXPECT_THAT(seconds_, testing::Each(testing::StrEq("ds_write2st64_b32")));
  EXPECT_FALSE(races_.empty()); // each wave's second place is the next one's first
}

class InFlightTest : public testing::Test {
protected:
  static Operands load(MemorySpace space, CounterSet counters) {
    Operands operands;
    operands.space = space;
    operands.counters = counters;
    return operands;
  }
  static WaitLimits limit(Counter counter, uint16_t most) {
    WaitLimits limits;
    limits.most[static_cast<unsigned>(counter)] = most;
    return limits;
  }
  const isa::Target &target_ = *isa::findTarget("gfx90a");
  InFlight inFlight_;
};

TEST_F(InFlightTest, IsDoneInTheOrderOfIssue) {
  const Operands global = load(MemorySpace::Global, setOf(Counter::Vector));
  for (uint32_t n = 1; n <= 3; ++n)
    inFlight_.issue(n, global, target_, n == 2 ? Effect::Store : Effect::Load, Effect::None);
  EXPECT_EQ(inFlight_.doneUpTo(Effect::Load, 3), 0u);
  EXPECT_EQ(inFlight_.doneUpTo(Effect::Store, 3), 1u);
  inFlight_.wait(limit(Counter::Vector, 1), 0);
  EXPECT_EQ(inFlight_.doneUpTo(Effect::Store, 3), 3u);
  EXPECT_EQ(inFlight_.doneUpTo(Effect::Load, 3), 2u);
  inFlight_.wait(limit(Counter::Vector, 0), 1);
  EXPECT_EQ(inFlight_.doneUpTo(Effect::Load, 3), 2u);
  inFlight_.wait(limit(Counter::Vector, 0), 0);
  EXPECT_EQ(inFlight_.doneUpTo(Effect::Load, 3), 3u);
}

TEST_F(InFlightTest, OnlyNoneLeftSaysAnythingWithoutAnOrder) {
  inFlight_.issue(1, load(MemorySpace::Lds, setOf(Counter::Scalar)), target_, Effect::None, Effect::Lds);
  inFlight_.issue(2, load(MemorySpace::Scalar, setOf(Counter::Scalar)), target_, Effect::None, Effect::None);
  inFlight_.wait(limit(Counter::Scalar, 1), 0);
  EXPECT_EQ(inFlight_.doneUpTo(Effect::Lds, 2), 0u);
  inFlight_.wait(limit(Counter::Scalar, 0), 0);
  EXPECT_EQ(inFlight_.doneUpTo(Effect::Lds, 2), 2u);
}

TEST_F(InFlightTest, CountersHaveAnEnd) {
  for (uint32_t n = 1; n <= 100; ++n)
    inFlight_.issue(n, load(MemorySpace::Global, setOf(Counter::Vector)), target_, Effect::Store, Effect::None);
  EXPECT_EQ(inFlight_.doneUpTo(Effect::Store, 100), 36u);
}

} // namespace
} // namespace luthier::vgpu::test
