#include "vgpu/thunk/topology.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace luthier::vgpu {
namespace {

DeviceConfig gfx90a() {
  DeviceConfig config;
  config.target = isa::findTarget("gfx90a");
  return config;
}

struct TopologyOfTwo : testing::Test {
  Topology topology{HostInfo::read(), {gfx90a(), gfx90a()}};
};

TEST_F(TopologyOfTwo, hostIsNodeZero) {
  HsaSystemProperties system;
  topology.system(system);
  EXPECT_EQ(system.NumNodes, 3u);
  HsaNodeProperties node;
  topology.node(0, node);
  EXPECT_GT(node.NumCPUCores, 0u);
  EXPECT_EQ(node.NumFComputeCores, 0u);
  EXPECT_EQ(node.NumIOLinks, 2u);
  const auto banks = topology.memory(0, 0);
  ASSERT_EQ(banks.size(), 1u);
  EXPECT_EQ(banks[0].HeapType, HSA_HEAPTYPE_SYSTEM);
  EXPECT_GT(banks[0].SizeInBytes, 1ull << 28);
}

// ROCr 5.2.3 divides by these, or asserts on them.
TEST_F(TopologyOfTwo, fieldsThatRocrNeeds) {
  HsaNodeProperties node;
  topology.node(1, node);
  EXPECT_EQ(node.NumCPUCores, 0u);
  EXPECT_EQ(node.NumFComputeCores, 416u);
  EXPECT_EQ(node.NumSIMDPerCU, 4u);
  EXPECT_EQ(node.WaveFrontSize, 64u);
  EXPECT_NE(node.MaxWavesPerSIMD, 0u);
  EXPECT_NE(node.MaxSlotsScratchCU, 0u);
  ASSERT_NE(node.NumShaderBanks, 0u);
  EXPECT_EQ((104 * node.MaxSlotsScratchCU) % node.NumShaderBanks, 0u);
  EXPECT_NE(node.NumGws, 0);
  EXPECT_EQ(node.EngineId.ui32.Major, 9u);
  EXPECT_EQ(node.EngineId.ui32.Stepping, 10u);
  EXPECT_EQ(node.Capability.ui32.DoorbellType, 2u);
  EXPECT_EQ(node.Capability.ui32.SRAM_EDCSupport, 1u);
  EXPECT_EQ(node.Capability.ui32.SVMAPISupported, 0u);
  EXPECT_EQ(node.NumCaches, topology.caches(1).size());
  EXPECT_TRUE(std::ranges::any_of(topology.caches(1), [](const HsaCacheProperties &cache) {
    return cache.CacheType.ui32.HSACU && !cache.CacheType.ui32.Instruction;
  }));
  const auto banks = topology.memory(1, 0x1000);
  EXPECT_EQ(node.NumMemoryBanks, banks.size());
  for (HSA_HEAPTYPE type :
       {HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC, HSA_HEAPTYPE_GPU_LDS, HSA_HEAPTYPE_GPU_SCRATCH, HSA_HEAPTYPE_MMIO_REMAP})
    EXPECT_TRUE(std::ranges::any_of(banks, [&](const HsaMemoryProperties &bank) {
      return bank.HeapType == type && bank.SizeInBytes != 0;
    })) << type;
}

TEST_F(TopologyOfTwo, everyNodeReachesEveryOther) {
  for (uint32_t from = 0; from < topology.nodes(); ++from) {
    const auto links = topology.links(from);
    EXPECT_EQ(links.size(), 2u);
    for (const HsaIoLinkProperties &link : links) {
      EXPECT_EQ(link.NodeFrom, from);
      EXPECT_NE(link.NodeTo, from);
      EXPECT_EQ(link.IoLinkType, from && link.NodeTo ? HSA_IOLINK_TYPE_XGMI : HSA_IOLINKTYPE_PCIEXPRESS);
    }
  }
}

TEST_F(TopologyOfTwo, gpusAreTellable) {
  HsaNodeProperties first, second;
  topology.node(1, first);
  topology.node(2, second);
  EXPECT_NE(first.UniqueID, second.UniqueID);
  EXPECT_NE(first.LocationId, second.LocationId);
  EXPECT_EQ(first.HiveID, second.HiveID);
}

} // namespace
} // namespace luthier::vgpu
