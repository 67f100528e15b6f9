#include "vgpu/driver/topology.h"

#include "isa/access_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace luthier::vgpu {
namespace {

DeviceConfig gpuOf(std::string_view target) { return deviceConfig(*isa::findTarget(target)); }

uint64_t valueOf(const Properties &properties, std::string_view name) {
  const auto found = std::ranges::find(properties, name, [](const auto &line) { return line.first; });
  EXPECT_NE(found, properties.end()) << name;
  return found == properties.end() ? 0 : found->second;
}

struct TopologyOfTwo : testing::Test {
  Topology topology{HostInfo::read(), {gpuOf("gfx90a"), gpuOf("gfx90a")}};
};

TEST_F(TopologyOfTwo, hostIsNodeZero) {
  EXPECT_EQ(topology.nodes(), 3u);
  const Properties node = topology.node(0);
  EXPECT_GT(valueOf(node, "cpu_cores_count"), 0u);
  EXPECT_EQ(valueOf(node, "simd_count"), 0u);
  EXPECT_EQ(valueOf(node, "io_links_count"), 2u);
  EXPECT_EQ(topology.gpuId(0), 0u);
  const auto banks = topology.memoryBanks(0);
  ASSERT_EQ(banks.size(), 1u);
  EXPECT_EQ(valueOf(banks[0], "heap_type"), 0u);
  EXPECT_GT(valueOf(banks[0], "size_in_bytes"), 1ull << 28);
}

// Tools count in the lines that the topology shows.
TEST(TopologyOfEach, linesOfTheFirstCacheAreThoseOfItsTarget) {
  for (const std::string_view name : isa::virtualTargets()) {
    const Topology topology{HostInfo::read(), {gpuOf(name)}};
    const unsigned line = isa::accessUnits(*isa::findTarget(name)).cacheLine;
    for (const Properties &cache : topology.caches(1))
      EXPECT_TRUE(valueOf(cache, "level") != 1 || valueOf(cache, "cache_line_size") == line) << name;
  }
}

// ROCr divides by these, or asserts on them, or refuses the GPU.
TEST_F(TopologyOfTwo, propertiesThatRocrNeeds) {
  const Properties node = topology.node(1);
  EXPECT_EQ(valueOf(node, "cpu_cores_count"), 0u);
  EXPECT_EQ(valueOf(node, "simd_count"), 416u);
  EXPECT_EQ(valueOf(node, "simd_per_cu"), 4u);
  EXPECT_EQ(valueOf(node, "wave_front_size"), 64u);
  EXPECT_EQ(valueOf(node, "max_waves_per_simd"), 8u);
  EXPECT_EQ(valueOf(node, "array_count"), 8u);
  EXPECT_EQ(valueOf(node, "cu_per_simd_array"), 13u);
  EXPECT_EQ(104 * valueOf(node, "max_slots_scratch_cu") % valueOf(node, "array_count"), 0u);
  EXPECT_NE(valueOf(node, "num_gws"), 0u);
  EXPECT_EQ(valueOf(node, "gfx_target_version"), 90010u);
  EXPECT_EQ(valueOf(node, "capability") >> 12 & 3, 2u) << "kind of doorbell";
  EXPECT_EQ(valueOf(node, "capability") >> 26 & 1, 1u) << "sramecc";
  EXPECT_EQ(valueOf(node, "caches_count"), topology.caches(1).size());
  EXPECT_TRUE(std::ranges::any_of(topology.caches(1), [](const Properties &cache) {
    return (valueOf(cache, "type") & 11) == 9; // a compute unit's, data, not instructions
  }));
  const auto banks = topology.memoryBanks(1);
  ASSERT_EQ(valueOf(node, "mem_banks_count"), banks.size());
  EXPECT_EQ(valueOf(banks.at(0), "heap_type"), 1u);
  EXPECT_EQ(valueOf(banks.at(0), "size_in_bytes"), 16ull << 30);
}

TEST_F(TopologyOfTwo, everyNodeReachesEveryOther) {
  for (uint32_t from = 0; from < topology.nodes(); ++from) {
    const auto links = topology.ioLinks(from);
    EXPECT_EQ(links.size(), 2u);
    EXPECT_THAT(topology.peerLinks(from), testing::IsEmpty());
    std::set<uint64_t> reached;
    for (const Properties &link : links) {
      const uint64_t to = valueOf(link, "node_to");
      EXPECT_EQ(valueOf(link, "node_from"), from);
      EXPECT_NE(to, from);
      EXPECT_EQ(valueOf(link, "type"), from && to ? 11u : 2u) << from << " to " << to;
      EXPECT_EQ(valueOf(link, "flags") & 1, 1u);
      reached.insert(to);
    }
    EXPECT_EQ(reached.size(), 2u);
  }
}

TEST_F(TopologyOfTwo, gpusAreTellable) {
  for (const char *name : {"unique_id", "location_id", "drm_render_minor", "simd_id_base"})
    EXPECT_NE(valueOf(topology.node(1), name), valueOf(topology.node(2), name)) << name;
  EXPECT_EQ(valueOf(topology.node(1), "hive_id"), valueOf(topology.node(2), "hive_id"));
  EXPECT_NE(topology.gpuId(1), topology.gpuId(2));
  for (uint32_t node : {1u, 2u}) {
    EXPECT_GT(topology.gpuId(node), 0u);
    EXPECT_LT(topology.gpuId(node), 1u << 16);
    EXPECT_EQ(topology.nodeOf(topology.gpuId(node)), node);
  }
  EXPECT_EQ(topology.nodeOf(0), std::nullopt);
  EXPECT_EQ(topology.nodeOf(topology.gpuId(2) + 1), std::nullopt);
}

// Cards without XGMI reach each other by PCIe.
TEST(TopologyTest, cardsAreLinkedByPcie) {
  const Topology topology(HostInfo::read(), {gpuOf("gfx1030"), gpuOf("gfx1030"), gpuOf("gfx90a")});
  EXPECT_EQ(topology.ioLinks(1).size(), 1u);
  EXPECT_EQ(topology.peerLinks(1).size(), 2u);
  EXPECT_EQ(topology.peerLinks(3).size(), 2u);
  EXPECT_EQ(valueOf(topology.node(1), "p2p_links_count"), 2u);
  EXPECT_EQ(valueOf(topology.node(1), "hive_id"), 0u);
}

TEST(GpuModels, everyVirtualTargetHasOne) {
  for (const std::string_view target : isa::virtualTargets())
    EXPECT_NE(findGpuModel(target), nullptr) << target;
  EXPECT_EQ(findGpuModel("gfx1"), nullptr);
}

TEST(GpuModels, numbersFitTogether) {
  for (const isa::Target &target : isa::targets()) {
    const GpuModel *model = findGpuModel(target.name);
    if (!model)
      continue;
    SCOPED_TRACE(target.name);
    EXPECT_GE(model->arrays * model->computeUnitsPerArray, model->computeUnits); // some are disabled
    EXPECT_EQ(model->arrays % model->arraysPerEngine, 0);
    EXPECT_EQ(model->simdsPerComputeUnit, target.wave32 ? 2 : 4);
    EXPECT_EQ(model->wavesPerSimd, target.maxWavesPerSimd);
    EXPECT_GT(model->sdmaEngines, 0);
    EXPECT_EQ(deviceConfig(target).computeUnits, model->computeUnits);
  }
}

} // namespace
} // namespace luthier::vgpu
