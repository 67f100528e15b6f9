#include "fixture.h"

namespace luthier::hsa::test {
namespace {

using testing::HasSubstr;

class MemoryPoolTest : public HsaTest {
protected:
  MemoryPool hostPool() const { return value(cpu().globalPool(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)); }
  MemoryPool devicePool() const { return value(gpu().globalPool(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)); }
};

TEST_F(MemoryPoolTest, GpuHasGlobalAndGroupMemory) {
  bool global = false, group = false;
  for (const MemoryPool pool : value(gpu().memoryPools())) {
    if (value(pool.segment()) == HSA_AMD_SEGMENT_GLOBAL) {
      global = true;
      EXPECT_TRUE(value(pool.allocatable()));
      EXPECT_GT(value(pool.size()), size_t{1} << 30);
      EXPECT_EQ(value(pool.granule()), 4096u);
      EXPECT_GE(value(pool.alignment()), 4096u);
    } else if (value(pool.segment()) == HSA_AMD_SEGMENT_GROUP) {
      group = true;
      EXPECT_EQ(value(pool.size()), 65536u);
      EXPECT_FALSE(value(pool.allocatable()));
      EXPECT_EQ(value(pool.globalFlags()), 0u);
    }
  }
  EXPECT_TRUE(global);
  EXPECT_TRUE(group);
}

TEST_F(MemoryPoolTest, PoolsAreFoundByTheirFlags) {
  EXPECT_THAT(errorOf(gpu().globalPool(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)),
              HasSubstr("has no memory pool with the flags 0x1"));
}

TEST_F(MemoryPoolTest, AgentsReachPools) {
  EXPECT_EQ(value(gpu().access(devicePool())), HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
  EXPECT_EQ(value(cpu().access(hostPool())), HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
  EXPECT_EQ(value(gpu().access(hostPool())), HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
  EXPECT_THAT(errorOf(Agent().access(hostPool())), HasSubstr("HSA_STATUS_ERROR_INVALID_AGENT"));
  EXPECT_THAT(errorOf(gpu().access(MemoryPool())), HasSubstr("hsa_amd_agent_memory_pool_get_info: "));
}

TEST_F(MemoryPoolTest, MemoryIsCopiedBothWays) {
  PoolMemory device = value(devicePool().allocate(1 << 20));
  EXPECT_EQ(device.size(), size_t{1} << 20);
  EXPECT_EQ(device.address() % 4096, 0u);
  std::vector<uint32_t> out(1 << 18), back(1 << 18);
  for (size_t n = 0; n < out.size(); ++n)
    out[n] = static_cast<uint32_t>(n * 2654435761u);
  succeed(copyMemory(device.data(), out.data(), device.size()));
  succeed(copyMemory(back.data(), device.data(), device.size()));
  EXPECT_EQ(out, back);
  succeed(device.free());
  EXPECT_FALSE(static_cast<bool>(device));
  succeed(device.free()); // nothing is left to free
}

TEST_F(MemoryPoolTest, OwnershipMoves) {
  PoolMemory first = value(hostPool().allocate(4096));
  void *const data = first.data();
  PoolMemory second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
  void *const released = first.release();
  EXPECT_FALSE(static_cast<bool>(first));
  succeed(MemoryPool::free(released));
  EXPECT_THAT(errorOf(MemoryPool::free(released)), HasSubstr("HSA_STATUS_ERROR_INVALID_ALLOCATION"));
}

TEST_F(MemoryPoolTest, AccessIsGrantedToOthers) {
  PoolMemory host = value(hostPool().allocate(4096));
  const Agent agents[] = {gpu()};
  succeed(host.allowAccess(agents));
  EXPECT_THAT(errorOf(host.allowAccess({})),
              HasSubstr("hsa_amd_agents_allow_access: HSA_STATUS_ERROR_INVALID_ARGUMENT"));
  EXPECT_THAT(errorOf(MemoryPool::allowAccess(nullptr, agents)), HasSubstr("HSA_STATUS_ERROR_INVALID_ARGUMENT"));
}

TEST_F(MemoryPoolTest, BadAllocationsAreErrors) {
  EXPECT_THAT(errorOf(hostPool().allocate(0)),
              HasSubstr("hsa_amd_memory_pool_allocate: HSA_STATUS_ERROR_INVALID_ARGUMENT"));
  EXPECT_THAT(errorOf(devicePool().allocate(size_t{1} << 50)), HasSubstr("hsa_amd_memory_pool_allocate: "));
  EXPECT_THAT(errorOf(MemoryPool().allocate(64)), HasSubstr("hsa_amd_memory_pool_allocate: "));
  EXPECT_THAT(errorOf(MemoryPool().size()), HasSubstr("hsa_amd_memory_pool_get_info: "));
}

} // namespace
} // namespace luthier::hsa::test
