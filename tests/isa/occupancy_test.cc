// Occupancy against published tables: AMD's for MI100 and MI200 (waves by VGPRs), the RDNA figures of 1024 and 1536
// registers, GCN's for SGPRs.
#include "isa/occupancy.h"

#include "isa/target.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace luthier::isa {
namespace {

struct Step {
  unsigned registers, waves;
};

void expectVgprSteps(const char *name, unsigned waveSize, const std::vector<Step> &steps) {
  const Target &target = *findTarget(name);
  for (size_t n = 0; n < steps.size(); ++n) {
    const auto &[registers, waves] = steps[n];
    SCOPED_TRACE(testing::Message() << name << " wave" << waveSize << " " << registers << " VGPRs");
    const bool unified = target.unifiedVgprs && registers > 256;
    const ResourceUse use = {
        .waveSize = waveSize, .vgprs = unified ? 256 : registers, .accVgprs = unified ? registers - 256 : 0};
    EXPECT_EQ(occupancy(target, use).wavesPerSimd, waves);
    EXPECT_EQ(maxVgprs(target, waveSize, waves), registers) << "the last before the next step";
    if (n + 1 < steps.size() && registers < 256) {
      EXPECT_LT(occupancy(target, {.waveSize = waveSize, .vgprs = registers + 1}).wavesPerSimd, waves);
    }
  }
}

TEST(Occupancy, ByVgprsOfGcn) {
  for (const char *name : {"gfx803", "gfx900", "gfx906", "gfx908"})
    expectVgprSteps(name, 64,
                    {{24, 10}, {28, 9}, {32, 8}, {36, 7}, {40, 6}, {48, 5}, {64, 4}, {84, 3}, {128, 2}, {256, 1}});
}

TEST(Occupancy, ByVgprsOfCdna2And3) {
  for (const char *name : {"gfx90a", "gfx940", "gfx942"})
    expectVgprSteps(name, 64, {{64, 8}, {72, 7}, {80, 6}, {96, 5}, {128, 4}, {168, 3}, {256, 2}, {512, 1}});
}

TEST(Occupancy, ByVgprsOfRdna) {
  expectVgprSteps("gfx1030", 32,
                  {{64, 16}, {80, 12}, {96, 10}, {112, 9}, {128, 8}, {144, 7}, {160, 6}, {192, 5}, {256, 4}});
  expectVgprSteps(
      "gfx1030", 64,
      {{32, 16}, {40, 12}, {48, 10}, {56, 9}, {64, 8}, {72, 7}, {80, 6}, {96, 5}, {128, 4}, {168, 3}, {256, 2}});
  expectVgprSteps("gfx1100", 32, {{96, 16}, {120, 12}, {144, 10}, {168, 9}, {192, 8}, {216, 7}, {240, 6}, {256, 5}});
}

TEST(Occupancy, BySgprs) {
  const Target &gfx900 = *findTarget("gfx900"), &gfx90a = *findTarget("gfx90a"), &gfx1030 = *findTarget("gfx1030");
  const auto waves = [](const Target &target, unsigned sgprs) {
    return occupancy(target, {.sgprs = sgprs}).wavesPerSimd;
  };
  EXPECT_EQ(waves(gfx900, 80), 10u);
  EXPECT_EQ(waves(gfx900, 81), 8u);
  EXPECT_EQ(waves(gfx900, 96), 8u);
  EXPECT_EQ(waves(gfx900, 97), 7u);
  EXPECT_EQ(waves(gfx900, 108), 7u);
  EXPECT_EQ(waves(gfx900, 109), 0u) << "102 and VCC, FLAT_SCRATCH, XNACK_MASK are all there is";
  EXPECT_EQ(waves(gfx90a, 96), 8u);
  EXPECT_EQ(waves(gfx90a, 102), 7u);
  EXPECT_EQ(waves(gfx1030, 108), 16u) << "every wave has them all";
  EXPECT_EQ(maxSgprs(gfx900, 10), 80u);
  EXPECT_EQ(maxSgprs(gfx900, 8), 96u);
  EXPECT_EQ(maxSgprs(gfx900, 1), 108u);
  EXPECT_EQ(maxSgprs(gfx1030, 16), 108u);
}

TEST(Occupancy, WorkgroupsOfAComputeUnit) {
  const Target &target = *findTarget("gfx90a");
  const auto groups = [&](ResourceUse use) { return workgroupsPerComputeUnit(target, use); };
  EXPECT_EQ(groups({.vgprs = 64, .workgroupSize = 64}), 32u);
  EXPECT_EQ(groups({.vgprs = 64, .workgroupSize = 128}), 16u);
  EXPECT_EQ(groups({.vgprs = 256, .workgroupSize = 64}), 8u);
  EXPECT_EQ(groups({.vgprs = 256, .accVgprs = 256, .workgroupSize = 256}), 1u);
  EXPECT_EQ(groups({.vgprs = 256, .accVgprs = 256, .workgroupSize = 257}), 0u);
  EXPECT_EQ(groups({.vgprs = 64, .sgprs = 108, .workgroupSize = 64}), 28u);
  EXPECT_EQ(groups({.vgprs = 64, .ldsBytes = 20000, .workgroupSize = 64}), 3u) << "not a multiple of the SIMDs";
  EXPECT_EQ(groups({.vgprs = 64, .ldsBytes = 65537, .workgroupSize = 64}), 0u);
  // Barriers: 16 on a compute unit, twice as many in a WGP.
  EXPECT_EQ(groups({.vgprs = 8, .workgroupSize = 65}), 16u);
  EXPECT_EQ(workgroupsPerComputeUnit(*findTarget("gfx1030"), {.vgprs = 8, .workgroupSize = 64}), 32u);
}

TEST(Occupancy, AccVgprsShareTheFileBehindAnAlignedOffset) {
  const Target &gfx90a = *findTarget("gfx90a"), &gfx908 = *findTarget("gfx908");
  EXPECT_EQ(allocatedVgprs(gfx90a, {.vgprs = 30, .accVgprs = 32}), 64u);
  EXPECT_EQ(allocatedVgprs(gfx90a, {.vgprs = 33, .accVgprs = 32}), 72u);
  EXPECT_EQ(allocatedVgprs(gfx90a, {.vgprs = 33}), 40u);
  EXPECT_EQ(allocatedVgprs(gfx90a, {}), 8u);
  EXPECT_EQ(allocatedVgprs(gfx908, {.vgprs = 30, .accVgprs = 64}), 64u) << "two files";
  EXPECT_EQ(occupancy(gfx90a, {.vgprs = 32, .accVgprs = 32}).wavesPerSimd, 8u);
  EXPECT_EQ(occupancy(gfx90a, {.vgprs = 33, .accVgprs = 32}).wavesPerSimd, 7u);
  EXPECT_EQ(occupancy(gfx908, {.vgprs = 24, .accVgprs = 24}).wavesPerSimd, 10u);
  EXPECT_EQ(occupancy(gfx90a, {.vgprs = 257}).wavesPerSimd, 0u);
  EXPECT_EQ(occupancy(*findTarget("gfx900"), {.vgprs = 8, .accVgprs = 1}).wavesPerSimd, 0u) << "has none";
}

TEST(Occupancy, ByLdsAndWorkgroups) {
  const Target &gfx90a = *findTarget("gfx90a"), &gfx908 = *findTarget("gfx908"), &gfx1030 = *findTarget("gfx1030");
  const auto check = [](const Target &target, ResourceUse use, unsigned waves, OccupancyLimit limit) {
    SCOPED_TRACE(testing::Message() << target.name << " " << use.ldsBytes << " bytes, " << use.workgroupSize);
    const Occupancy result = occupancy(target, use);
    EXPECT_EQ(result.wavesPerSimd, waves);
    EXPECT_EQ(result.limit, limit);
    EXPECT_EQ(result.maximum, target.maxWavesPerSimd);
  };
  check(gfx90a, {.workgroupSize = 64}, 8, OccupancyLimit::Waves);
  check(gfx90a, {.workgroupSize = 1024}, 8, OccupancyLimit::Waves);
  check(gfx90a, {.workgroupSize = 1025}, 0, OccupancyLimit::Workgroups);
  check(gfx90a, {.ldsBytes = 32768, .workgroupSize = 256}, 2, OccupancyLimit::Lds);
  check(gfx90a, {.ldsBytes = 32769, .workgroupSize = 256}, 1, OccupancyLimit::Lds);
  check(gfx90a, {.ldsBytes = 65536, .workgroupSize = 1024}, 4, OccupancyLimit::Lds);
  check(gfx90a, {.ldsBytes = 65537, .workgroupSize = 64}, 0, OccupancyLimit::Lds);
  check(gfx90a, {.ldsBytes = 8192, .workgroupSize = 256}, 8, OccupancyLimit::Waves);
  check(gfx90a, {.ldsBytes = 1, .workgroupSize = 64}, 8, OccupancyLimit::Waves);
  // 40 waves of a compute unit, but barriers for 16 workgroups only; two workgroups of 16 waves leave eight places.
  check(gfx908, {.workgroupSize = 64}, 10, OccupancyLimit::Waves);
  check(gfx908, {.workgroupSize = 128}, 8, OccupancyLimit::Workgroups);
  check(gfx908, {.workgroupSize = 1024}, 8, OccupancyLimit::Workgroups);
  check(gfx908, {.workgroupSize = 256}, 10, OccupancyLimit::Waves);
  check(gfx1030, {.ldsBytes = 65536, .workgroupSize = 256}, 4, OccupancyLimit::Lds);
}

TEST(Occupancy, HeadroomCostsNothing) {
  const Target &gfx90a = *findTarget("gfx90a"), &gfx900 = *findTarget("gfx900"), &gfx1030 = *findTarget("gfx1030");
  const Headroom plain = headroom(gfx90a, {.vgprs = 60, .sgprs = 50});
  EXPECT_EQ(plain.vgprs, 4u);
  EXPECT_EQ(plain.accVgprs, 4u);
  EXPECT_EQ(plain.sgprs, 46u);
  const Headroom shared = headroom(gfx90a, {.vgprs = 30, .accVgprs = 30});
  EXPECT_EQ(shared.vgprs, 2u);
  EXPECT_EQ(shared.accVgprs, 2u);
  // LDS is the limit already: registers are free up to the two waves that it leaves.
  const Headroom lds = headroom(gfx90a, {.vgprs = 60, .ldsBytes = 32768, .workgroupSize = 256});
  EXPECT_EQ(lds.vgprs, 196u);
  EXPECT_EQ(lds.accVgprs, 196u);
  EXPECT_EQ(headroom(gfx900, {.vgprs = 25, .sgprs = 80}).vgprs, 3u);
  EXPECT_EQ(headroom(gfx900, {.vgprs = 25, .sgprs = 80}).sgprs, 0u);
  EXPECT_EQ(headroom(gfx1030, {.vgprs = 65, .sgprs = 20}).vgprs, 15u);
  EXPECT_EQ(headroom(gfx90a, {.vgprs = 300}).vgprs, 0u) << "cannot run";
  // Whatever is offered is free, and one more is not.
  for (const Target &target : targets())
    for (unsigned vgprs = 1; vgprs <= target.vgprs; ++vgprs) {
      const ResourceUse use = {.vgprs = vgprs, .accVgprs = target.accVgprs ? vgprs / 3 : 0, .sgprs = 30};
      const unsigned before = occupancy(target, use).wavesPerSimd;
      const Headroom room = headroom(target, use);
      ResourceUse more = use;
      more.vgprs += room.vgprs;
      more.sgprs += room.sgprs;
      ASSERT_EQ(occupancy(target, more).wavesPerSimd, before) << target.name << " " << vgprs;
      ++more.vgprs;
      ASSERT_LT(occupancy(target, more).wavesPerSimd, before) << target.name << " " << vgprs;
      more = use;
      more.accVgprs += room.accVgprs;
      ASSERT_EQ(occupancy(target, more).wavesPerSimd, before) << target.name << " " << vgprs;
    }
}

TEST(Occupancy, GranulesFollowTheWaveSize) {
  const Target &gfx90a = *findTarget("gfx90a"), &gfx1030 = *findTarget("gfx1030"), &gfx1100 = *findTarget("gfx1100");
  EXPECT_EQ(vgprGranule(gfx90a, 64), 8u);
  EXPECT_EQ(vgprDescriptorGranule(gfx90a, 64), 8u);
  EXPECT_EQ(vgprGranule(*findTarget("gfx900"), 0), 4u);
  EXPECT_EQ(vgprGranule(gfx1030, 32), 16u);
  EXPECT_EQ(vgprGranule(gfx1030, 64), 8u);
  EXPECT_EQ(vgprDescriptorGranule(gfx1030, 32), 8u);
  EXPECT_EQ(vgprDescriptorGranule(gfx1030, 64), 4u);
  EXPECT_EQ(vgprGranule(gfx1100, 32), 24u);
  EXPECT_EQ(vgprFile(gfx1100, 32), 1536u);
  EXPECT_EQ(vgprFile(gfx90a, 64), 512u);
}

} // namespace
} // namespace luthier::isa
