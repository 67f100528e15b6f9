// The registers that a wave starts with: one test per enable bit of the kernel descriptor (AMDGPUUsage, "Initial Kernel
// Execution State").

#include "engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace luthier::vgpu::test {
namespace {

constexpr uint16_t kPrivateSegmentBuffer = 1, kDispatchPtr = 2, kQueuePtr = 4, kKernargPtr = 8, kDispatchId = 16,
                   kFlatScratchInit = 32, kPrivateSegmentSize = 64;

class InitialState : public testing::Test {
protected:
  InitialState() : engine(1) {
    launch.grid = {256, 1, 1};
    launch.workgroup = {64, 1, 1};
    launch.kernarg = 0x1111222233334444;
    launch.packet = 0x5555666677778888;
    launch.queue = 0x9999aaaabbbbcccc;
    launch.dispatchId = 0xdddd0000eeee;
  }

  /// Starts the grid's next workgroup, and does not run it.
  Workgroup &start(const DescriptorBits &bits) {
    if (!dispatch) {
      launch.kernelObject = engine.kernel("s_endpgm", bits);
      dispatch = engine.device().prepare(launch, {});
      EXPECT_FALSE(dispatch->aborted()) << dispatch->fault().text;
    }
    group = Workgroup::startNext(*dispatch, pool, nullptr);
    EXPECT_NE(group, nullptr);
    return *group;
  }
  Wave &wave(unsigned index = 0) { return *group->waves()[index]; }

  Engine engine;
  Launch launch;
  WavePool pool;
  std::shared_ptr<Dispatch> dispatch;
  std::unique_ptr<Workgroup> group;
};

TEST_F(InitialState, NothingEnabled) {
  start({.rsrc2 = 0, .properties = 0});
  for (unsigned reg = 0; reg < kExec; ++reg)
    EXPECT_EQ(wave().s[reg], 0u) << reg;
  EXPECT_EQ(wave().exec(), ~0ull);
  EXPECT_EQ(wave().scc, 0u);
  EXPECT_EQ(wave().stop, Stop::None);
}

TEST_F(InitialState, UserRegistersStandInTheOrderOfTheirBits) {
  launch.scratch = std::make_shared<ScratchRing>();
  launch.scratch->reset(0x700000000000, 64 * 1024, 4, {1, 2, 3, 4});
  launch.privateSegmentSize = 16;
  start({.rsrc2 = 15 << 1, .properties = 127});
  const std::vector<uint32_t> expected = {
      1,          2,          3, 4, // private segment buffer
      0x77778888, 0x55556666,       // dispatch packet
      0xbbbbcccc, 0x9999aaaa,       // queue
      0x33334444, 0x11112222,       // kernel arguments
      0x0000eeee, 0x0000dddd,       // dispatch id
      0x00000000, 0x00007000,       // flat scratch
      16,                           // private segment size
      0,
  };
  for (unsigned reg = 0; reg < expected.size(); ++reg)
    EXPECT_EQ(wave().s[reg], expected[reg]) << reg;
}

struct UserRegister {
  const char *name;
  uint16_t bit;
  std::vector<uint32_t> values;
};

class EachUserRegister : public InitialState, public testing::WithParamInterface<UserRegister> {};

TEST_P(EachUserRegister, StandsFirstWhenAlone) {
  launch.scratch = std::make_shared<ScratchRing>();
  launch.scratch->reset(0x700000000000, 64 * 1024, 4, {1, 2, 3, 4});
  launch.privateSegmentSize = 16;
  start({.rsrc2 = 8 << 1, .properties = GetParam().bit});
  for (unsigned reg = 0; reg < 8; ++reg)
    EXPECT_EQ(wave().s[reg], reg < GetParam().values.size() ? GetParam().values[reg] : 0) << reg;
}

INSTANTIATE_TEST_SUITE_P(Bits, EachUserRegister,
                         testing::Values(UserRegister{"privateSegmentBuffer", kPrivateSegmentBuffer, {1, 2, 3, 4}},
                                         UserRegister{"dispatchPtr", kDispatchPtr, {0x77778888, 0x55556666}},
                                         UserRegister{"queuePtr", kQueuePtr, {0xbbbbcccc, 0x9999aaaa}},
                                         UserRegister{"kernargPtr", kKernargPtr, {0x33334444, 0x11112222}},
                                         UserRegister{"dispatchId", kDispatchId, {0x0000eeee, 0x0000dddd}},
                                         UserRegister{"flatScratchInit", kFlatScratchInit, {0, 0x7000}},
                                         UserRegister{"privateSegmentSize", kPrivateSegmentSize, {16}}),
                         [](const auto &info) { return info.param.name; });

TEST_F(InitialState, SystemRegistersFollowTheUserRegisters) {
  launch.grid = {8, 6, 10};
  launch.workgroup = {4, 2, 2};
  for (unsigned n = 0; n < 2 * 3 * 5; ++n) {
    start({.rsrc2 = 2 << 1 | 7 << 7 | 1 << 10, .properties = kKernargPtr});
    EXPECT_EQ(wave().s[2], n % 2);
    EXPECT_EQ(wave().s[3], n / 2 % 3);
    EXPECT_EQ(wave().s[4], n / 6);
    EXPECT_EQ(wave().s[5], 1u | 0x80000000u); // workgroup info: waves, and the first one's mark
  }
  EXPECT_EQ(Workgroup::startNext(*dispatch, pool, nullptr), nullptr);
}

TEST_F(InitialState, SystemRegistersThatAreOffTakeNoPlace) {
  launch.grid = {64, 3, 4};
  launch.workgroup = {64, 1, 1};
  for (unsigned n = 0; n < 12; ++n) {
    start({.rsrc2 = 0 << 1 | 1 << 9, .properties = 0}); // z only
    EXPECT_EQ(wave().s[0], n / 3);
    EXPECT_EQ(wave().s[1], 0u);
  }
}

TEST_F(InitialState, WorkgroupInfoMarksTheFirstWave) {
  launch.workgroup = {256, 1, 1};
  start({.rsrc2 = 1 << 10, .properties = 0});
  ASSERT_EQ(group->waveCount(), 4u);
  EXPECT_EQ(wave(0).s[0], 4u | 0x80000000u);
  for (unsigned n = 1; n < 4; ++n)
    EXPECT_EQ(wave(n).s[0], 4u);
}

TEST_F(InitialState, WorkItemIdsArePackedOnGfx90a) {
  launch.grid = {8, 4, 4};
  launch.workgroup = {8, 4, 4};
  start({.rsrc2 = 2 << 11, .properties = 0});
  ASSERT_EQ(group->waveCount(), 2u);
  for (unsigned item = 0; item < 128; ++item) {
    const unsigned x = item % 8, y = item / 8 % 4, z = item / 32;
    EXPECT_EQ(wave(item / 64).v[0][item % 64], x | y << 10 | z << 20) << item;
  }
}

TEST_F(InitialState, WorkItemIdsThatWereNotAskedForAreZero) {
  launch.grid = {8, 4, 4};
  launch.workgroup = {8, 4, 4};
  start({.rsrc2 = 0, .properties = 0});
  for (unsigned item = 0; item < 64; ++item)
    EXPECT_EQ(wave().v[0][item], item % 8) << item;
}

TEST_F(InitialState, PartialWorkgroupsHaveFewerLanes) {
  launch.grid = {100, 1, 1};
  launch.workgroup = {64, 1, 1};
  start({});
  EXPECT_EQ(wave().exec(), ~0ull);
  start({});
  EXPECT_EQ(group->waveCount(), 1u);
  EXPECT_EQ(wave().exec(), (1ull << 36) - 1);
  EXPECT_EQ(Workgroup::startNext(*dispatch, pool, nullptr), nullptr);
}

TEST_F(InitialState, PartialWorkgroupsNumberTheirItemsByTheirOwnSize) {
  launch.grid = {6, 3, 1};
  launch.workgroup = {4, 2, 1};
  start({.rsrc2 = 1 << 11, .properties = 0});
  start({.rsrc2 = 1 << 11, .properties = 0}); // 2 x 2
  EXPECT_EQ(wave().exec(), 0xfull);
  for (unsigned item = 0; item < 4; ++item)
    EXPECT_EQ(wave().v[0][item], item % 2 | item / 2 << 10);
}

TEST_F(InitialState, TheLastWaveOfAWorkgroupMayBePartial) {
  launch.workgroup = {65, 1, 1};
  start({});
  ASSERT_EQ(group->waveCount(), 2u);
  EXPECT_EQ(wave(0).exec(), ~0ull);
  EXPECT_EQ(wave(1).exec(), 1ull);
  EXPECT_EQ(wave(1).v[0][0], 64u);
}

TEST_F(InitialState, ModeComesFromTheDescriptor) {
  start({.rsrc1 = 0xa5 << 12 | 1 << 21, .rsrc2 = 0, .properties = 0});
  EXPECT_EQ(wave().mode & 0xff, 0xa5u);
  EXPECT_TRUE(wave().mode & mode::kDx10Clamp);
  EXPECT_FALSE(wave().mode & mode::kIeee);
}

TEST_F(InitialState, LdsIsZeroAndOfTheSizeAskedFor) {
  launch.groupSegmentSize = 1000;
  start({});
  EXPECT_EQ(wave().ldsSize, 1000u);
  EXPECT_TRUE(std::all_of(wave().lds, wave().lds + 1000, [](uint8_t byte) { return byte == 0; }));
}

TEST_F(InitialState, WavesHaveScratchSlotsOfTheirOwn) {
  launch.workgroup = {256, 1, 1};
  launch.privateSegmentSize = 32;
  launch.scratch = std::make_shared<ScratchRing>();
  launch.scratch->reset(0x700000000000, 64 * 32, 6, {});
  start({.rsrc2 = 1, .properties = 0});
  uint64_t seen = 0;
  for (unsigned n = 0; n < 4; ++n) {
    EXPECT_EQ(wave(n).scratchBytes, 64u * 32);
    EXPECT_EQ(wave(n).s[0], wave(n).scratchBase - 0x700000000000);
    seen |= 1ull << (wave(n).scratchBase - 0x700000000000) / (64 * 32);
  }
  EXPECT_EQ(std::popcount(seen), 4);
}

TEST_F(InitialState, NoWorkgroupStartsWithoutScratchForAllItsWaves) {
  launch.workgroup = {128, 1, 1};
  launch.privateSegmentSize = 32;
  launch.scratch = std::make_shared<ScratchRing>();
  launch.scratch->reset(0x700000000000, 64 * 32, 3, {});
  start({});
  auto first = std::move(group);
  EXPECT_EQ(Workgroup::startNext(*dispatch, pool, nullptr), nullptr);
  first.reset();
  EXPECT_NE(Workgroup::startNext(*dispatch, pool, nullptr), nullptr);
}

/// Waves that run in turns must not have the same registers in the same sets of the host's cache.
TEST(WavePool, RecordsBeginAtDifferentPlacesOfAPage) {
  WavePool pool;
  std::set<uintptr_t> places;
  std::vector<Wave *> waves;
  for (unsigned n = 0; n < 8; ++n) {
    waves.push_back(pool.take());
    const auto place = reinterpret_cast<uintptr_t>(waves.back()) % AddressSpace::kPageSize;
    EXPECT_EQ(place % alignof(Wave), 0u);
    places.insert(place / (kMaxLanes / 2 * sizeof(uint32_t)));
  }
  EXPECT_EQ(places.size(), 8u);
  EXPECT_EQ(std::ranges::count_if(places, [](uintptr_t place) { return place % 2; }), 4) << "both halves of rows";
  for (Wave *wave : waves)
    pool.give(wave);
}

} // namespace
} // namespace luthier::vgpu::test
