#include "vgpu/driver/driver.h"

#include "fixture.h"

#include <gtest/gtest.h>

#include <hsa/amd_hsa_queue.h>

#include <cerrno>
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
  const Topology topology = someGpus(2);
  Driver driver(topology);
  EXPECT_EQ(driver.gpuIndex(driver.gpuId(1)), 1u);
  EXPECT_NE(driver.gpuId(0), driver.gpuId(1));
  EXPECT_FALSE(driver.gpuIndex(0)); // the CPU's
  EXPECT_FALSE(driver.gpuIndex(driver.gpuId(0) ^ driver.gpuId(1) ^ 0x5555));
}

// Where ROCr flushes the host's stores: a page of each GPU's own.
TEST(DriverState, everyGpuHasItsMmioPage) {
  const Topology topology = someGpus(2);
  Driver driver(topology);
  const auto map = [&](uint32_t gpu) {
    return driver.memory.mapToHost(nullptr, kPage, MAP_SHARED,
                                   kfd::mmapOffset(kfd::MmapType::MmioRemap, driver.gpuId(gpu)));
  };
  auto *first = static_cast<uint32_t *>(map(0)), *second = static_cast<uint32_t *>(map(1));
  ASSERT_NE(first, MAP_FAILED);
  ASSERT_NE(second, MAP_FAILED);
  first[0] = 1;
  second[0] = 2;
  EXPECT_EQ(first[0], 1u);
}

struct Queues : KfdTest {
  Queues() : KfdTest(1) {}
  static constexpr uint32_t kRingBytes = 4096;
  const uint64_t ring = mapped(kRingBytes);
  const uint64_t pointers = mapped(kPage);

  kfd::CreateQueue request(kfd::QueueType type) const {
    kfd::CreateQueue asked{};
    asked.type = static_cast<uint32_t>(type);
    asked.ring = ring;
    asked.ringBytes = kRingBytes;
    asked.gpuId = id(0);
    asked.percentage = 100;
    asked.readPointer = pointers;
    asked.writePointer = pointers + 8;
    return asked;
  }
  int create(kfd::CreateQueue &asked) { return call(kfd::Request::CreateQueue, asked); }
  int update(uint32_t queue, uint32_t percentage, uint64_t address, uint32_t bytes = kRingBytes,
             uint32_t priority = 7) {
    kfd::UpdateQueue asked{address, queue, bytes, percentage, priority};
    return call(kfd::Request::UpdateQueue, asked);
  }
  int destroy(uint32_t queue) {
    kfd::DestroyQueue asked{queue, 0};
    return call(kfd::Request::DestroyQueue, asked);
  }
};

TEST_F(Queues, sdmaQueuesGetDoorbellsOfTheirOwn) {
  kfd::CreateQueue first = request(kfd::QueueType::Sdma), second = request(kfd::QueueType::SdmaXgmi);
  ASSERT_EQ(create(first), 0);
  ASSERT_EQ(create(second), 0);
  EXPECT_NE(first.queueId, second.queueId);
  EXPECT_NE(first.queueId, 0u);
  EXPECT_NE(first.doorbellOffset, second.doorbellOffset);
  const uint64_t page = kfd::mmapOffset(kfd::MmapType::Doorbell, id(0));
  EXPECT_EQ(first.doorbellOffset & ~(QueueTable::kDoorbellBytes - 1), page);
  EXPECT_EQ(second.doorbellOffset & ~(QueueTable::kDoorbellBytes - 1), page);
  EXPECT_EQ(update(first.queueId, 0, ring), 0);
  EXPECT_EQ(update(first.queueId, 101, ring), EINVAL);
  EXPECT_EQ(update(first.queueId, 100, ring, kRingBytes, 16), EINVAL);
  EXPECT_NE(messagesOf([&] { EXPECT_EQ(update(first.queueId, 100, ring + 64), EINVAL); }).find("another ring"),
            std::string::npos);
  EXPECT_EQ(update(first.queueId, 100, 0), 0);
  EXPECT_EQ(destroy(first.queueId), 0);
  EXPECT_EQ(destroy(first.queueId), EINVAL);
  EXPECT_EQ(update(first.queueId, 100, ring), EINVAL);
  kfd::CreateQueue third = request(kfd::QueueType::Sdma);
  third.gpuId = 1;
  EXPECT_EQ(create(third), EINVAL);
  third = request(kfd::QueueType::Compute);
  EXPECT_NE(messagesOf([&] { EXPECT_EQ(create(third), EINVAL); }).find("PM4"), std::string::npos);
  third = request(static_cast<kfd::QueueType>(5));
  EXPECT_NE(messagesOf([&] { EXPECT_EQ(create(third), EINVAL); }).find("type 5"), std::string::npos);
}

TEST_F(Queues, argumentsAreChecked) {
  const auto with = [&](auto change) {
    kfd::CreateQueue asked = request(kfd::QueueType::Sdma);
    change(asked);
    return create(asked);
  };
  EXPECT_EQ(with([](auto &asked) { asked.percentage = 101; }), EINVAL);
  EXPECT_EQ(with([](auto &asked) { asked.priority = 16; }), EINVAL);
  EXPECT_EQ(with([](auto &asked) { asked.ringBytes = 4000; }), EINVAL);
  EXPECT_EQ(with([](auto &asked) { asked.ringBytes = 0; }), EINVAL);
  EXPECT_EQ(with([](auto &asked) { asked.ringBytes = 8192; }), EINVAL); // more than is mapped
  EXPECT_EQ(with([](auto &asked) { asked.ring = 0; }), EINVAL);
  EXPECT_EQ(with([](auto &asked) { asked.readPointer += 4; }), EINVAL);
  EXPECT_EQ(with([](auto &asked) { asked.writePointer = 0; }), EINVAL);
  EXPECT_EQ(with([](auto &asked) { asked.readPointer = reinterpret_cast<uint64_t>(&asked); }), EINVAL);
  EXPECT_EQ(with([](auto &) {}), 0);
}

struct AqlQueues : Queues {
  amd_queue_t &queue = *pointer<amd_queue_t>(pointers);

  kfd::CreateQueue aqlRequest() const {
    kfd::CreateQueue asked = request(kfd::QueueType::ComputeAql);
    asked.readPointer = reinterpret_cast<uint64_t>(&queue.read_dispatch_id);
    asked.writePointer = reinterpret_cast<uint64_t>(&queue.write_dispatch_id);
    return asked;
  }
  void SetUp() override {
    queue.hsa_queue.base_address = pointer(ring);
    queue.hsa_queue.size = 64;
  }
};

TEST_F(AqlQueues, mustAgreeWithTheirStructure) {
  kfd::CreateQueue asked = aqlRequest();
  queue.hsa_queue.size = 128; // packets of 64 bytes: twice the ring
  EXPECT_EQ(create(asked), EINVAL);
  queue.hsa_queue.size = 48;
  EXPECT_EQ(create(asked), EINVAL);
  queue.hsa_queue.size = 64;
  queue.hsa_queue.base_address = pointer(ring + 64);
  EXPECT_EQ(create(asked), EINVAL);
  queue.hsa_queue.base_address = pointer(ring);
  EXPECT_EQ(create(asked), 0);
}

TEST_F(AqlQueues, globalWaveSync) {
  kfd::CreateQueue asked = aqlRequest();
  ASSERT_EQ(create(asked), 0);
  const auto gws = [&](uint32_t queueId, uint32_t count) {
    kfd::AllocQueueGws wanted{queueId, count, 0, 0};
    return call(kfd::Request::AllocQueueGws, wanted);
  };
  EXPECT_EQ(gws(asked.queueId, 65), EBUSY);
  EXPECT_EQ(gws(asked.queueId, 64), 0);
  EXPECT_EQ(gws(asked.queueId, 64), EBUSY);
  EXPECT_EQ(gws(asked.queueId, 0), 0);
  EXPECT_EQ(gws(asked.queueId + 1, 64), EINVAL);
}

TEST_F(AqlQueues, masksOfComputeUnits) {
  kfd::CreateQueue asked = aqlRequest();
  ASSERT_EQ(create(asked), 0);
  const uint32_t mask[2] = {~0u, ~0u};
  const auto set = [&](uint32_t queueId, uint32_t bits, const uint32_t *words) {
    kfd::SetCuMask wanted{queueId, bits, reinterpret_cast<uint64_t>(words)};
    return call(kfd::Request::SetCuMask, wanted);
  };
  EXPECT_EQ(set(asked.queueId, 64, mask), 0);
  EXPECT_EQ(set(asked.queueId, 33, mask), EINVAL);
  EXPECT_EQ(set(asked.queueId, 0, mask), EINVAL);
  EXPECT_EQ(set(asked.queueId, 64, nullptr), EINVAL);
  EXPECT_EQ(set(asked.queueId + 1, 64, mask), EINVAL);
}

} // namespace
} // namespace luthier::vgpu
