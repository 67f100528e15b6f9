#include "vgpu/driver/driver.h"

#include <gtest/gtest.h>

#include <hsa/amd_hsa_queue.h>

#include <cstdlib>

namespace luthier::vgpu {
namespace {

struct Configured : testing::Test {
  void TearDown() override { unsetenv("LUTHIER_VGPU_GPUS"); }
};

TEST_F(Configured, oneGfx90aByDefault) {
  unsetenv("LUTHIER_VGPU_GPUS");
  auto gpus = configuredGpus();
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 1u);
  EXPECT_EQ(gpus->front().target->name, "gfx90a");
}

TEST_F(Configured, aList) {
  setenv("LUTHIER_VGPU_GPUS", "gfx90a, gfx90a", 1);
  auto gpus = configuredGpus();
  ASSERT_TRUE(gpus);
  EXPECT_EQ(gpus->size(), 2u);
}

TEST_F(Configured, unknownNamesAndTooMany) {
  setenv("LUTHIER_VGPU_GPUS", "gfx90a,gfx1", 1);
  auto gpus = configuredGpus();
  ASSERT_FALSE(gpus);
  EXPECT_NE(gpus.error().message().find("gfx1"), std::string::npos);
  setenv("LUTHIER_VGPU_GPUS", "gfx90a,gfx90a,gfx90a,gfx90a,gfx90a,gfx90a,gfx90a,gfx90a,gfx90a", 1);
  EXPECT_FALSE(configuredGpus());
}

TEST(DriverState, startsAndEndsWithSeveralGpus) {
  DeviceConfig config;
  config.target = isa::findTarget("gfx90a");
  Driver driver(HostInfo::read(), {config, config});
  EXPECT_TRUE(driver.isGpu(2));
  EXPECT_FALSE(driver.isGpu(0));
  EXPECT_FALSE(driver.validNode(3));
  EXPECT_NE(driver.mmioRemap(1), 0u);
  EXPECT_NE(driver.mmioRemap(1), driver.mmioRemap(2));
}

TEST(DriverState, sdmaQueuesGetDoorbellsOfTheirOwn) {
  DeviceConfig config;
  config.target = isa::findTarget("gfx90a");
  Driver driver(HostInfo::read(), {config});
  alignas(4096) static char ring[4096];
  HsaQueueResource first{}, second{};
  ASSERT_EQ(driver.queues->create(1, HSA_QUEUE_SDMA, 100, ring, sizeof(ring), &first), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(driver.queues->create(1, HSA_QUEUE_SDMA_XGMI, 100, ring, sizeof(ring), &second), HSAKMT_STATUS_SUCCESS);
  EXPECT_NE(first.QueueId, second.QueueId);
  EXPECT_NE(first.QueueId, 0u);
  EXPECT_NE(first.Queue_DoorBell_aql, second.Queue_DoorBell_aql);
  EXPECT_EQ(driver.queues->update(first.QueueId, 0, ring, sizeof(ring)), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(driver.queues->update(first.QueueId, 101, ring, sizeof(ring)), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(driver.queues->update(first.QueueId, 100, ring + 64, sizeof(ring)), HSAKMT_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(driver.queues->destroy(first.QueueId), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(driver.queues->destroy(first.QueueId), HSAKMT_STATUS_INVALID_PARAMETER);
  HsaQueueResource third{};
  EXPECT_EQ(driver.queues->create(2, HSA_QUEUE_SDMA, 100, ring, sizeof(ring), &third), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(driver.queues->create(1, HSA_QUEUE_COMPUTE, 100, ring, sizeof(ring), &third), HSAKMT_STATUS_NOT_SUPPORTED);
}

TEST(DriverState, argumentsOfQueuesAreChecked) {
  DeviceConfig config;
  config.target = isa::findTarget("gfx90a");
  Driver driver(HostInfo::read(), {config});
  alignas(4096) static char ring[4096];
  HsaQueueResource resource{};
  EXPECT_EQ(driver.queues->create(1, HSA_QUEUE_SDMA, 101, ring, 4096, &resource), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(driver.queues->create(1, HSA_QUEUE_SDMA, 100, ring, 4000, &resource), HSAKMT_STATUS_INVALID_PARAMETER);
  alignas(64) static amd_queue_t queue{};
  resource.QueueRptrValue = reinterpret_cast<uint64_t>(&queue.read_dispatch_id);
  queue.hsa_queue.base_address = ring;
  queue.hsa_queue.size = 128; // packets of 64 bytes: twice the ring
  EXPECT_EQ(driver.queues->create(1, HSA_QUEUE_COMPUTE_AQL, 100, ring, 4096, &resource),
            HSAKMT_STATUS_INVALID_PARAMETER);
  queue.hsa_queue.size = 64;
  queue.hsa_queue.base_address = ring + 64;
  EXPECT_EQ(driver.queues->create(1, HSA_QUEUE_COMPUTE_AQL, 100, ring, 4096, &resource),
            HSAKMT_STATUS_INVALID_PARAMETER);
  queue.hsa_queue.base_address = ring;
  ASSERT_EQ(driver.queues->create(1, HSA_QUEUE_COMPUTE_AQL, 100, ring, 4096, &resource), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(driver.queues->allocateGws(resource.QueueId, 65, nullptr), HSAKMT_STATUS_OUT_OF_RESOURCES);
  EXPECT_EQ(driver.queues->allocateGws(resource.QueueId, 64, nullptr), HSAKMT_STATUS_SUCCESS);
}

} // namespace
} // namespace luthier::vgpu
