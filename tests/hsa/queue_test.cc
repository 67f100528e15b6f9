#include "fixture.h"

#include <numeric>
#include <thread>

namespace luthier::hsa::test {
namespace {

using testing::HasSubstr;

class QueueTest : public HsaTest {};

TEST_F(QueueTest, HasWhatWasAskedFor) {
  const OwnedQueue queue = value(Queue::create(gpu(), 128));
  EXPECT_EQ(queue->size(), 128u);
  EXPECT_EQ(queue->type(), static_cast<hsa_queue_type32_t>(HSA_QUEUE_TYPE_MULTI));
  EXPECT_TRUE(queue->features() & HSA_QUEUE_FEATURE_KERNEL_DISPATCH);
  EXPECT_TRUE(static_cast<bool>(queue->doorbell()));
  EXPECT_EQ(queue->readIndex(), 0u);
  EXPECT_EQ(queue->slot(0), queue->slot(128));
  EXPECT_EQ(queue->slot(1), queue->slot(0) + 1);
  EXPECT_EQ(queue->slot(0)->type(), PacketType::Invalid);
  const OwnedQueue other = value(Queue::create(gpu(), 64));
  EXPECT_NE(queue->id(), other->id());
  EXPECT_NE(*queue, *other);
}

TEST_F(QueueTest, ErrorsCarryRocrsText) {
  EXPECT_THAT(errorOf(Queue::create(gpu(), 100)), HasSubstr("hsa_queue_create: HSA_STATUS_ERROR_INVALID_ARGUMENT"));
  EXPECT_THAT(errorOf(Queue::create(cpu(), 64)), HasSubstr("hsa_queue_create: HSA_STATUS_ERROR: "));
  EXPECT_THAT(errorOf(Queue::create(Agent(), 64)), HasSubstr("HSA_STATUS_ERROR_INVALID_AGENT"));
  EXPECT_THAT(errorOf(Queue().destroy()), HasSubstr("hsa_queue_destroy: HSA_STATUS_ERROR_INVALID_ARGUMENT"));
}

TEST_F(QueueTest, KernelsRun) {
  Kernels kernels(gpu());
  const OwnedQueue queue = value(Queue::create(gpu(), 64));
  const OwnedSignal done = value(Signal::create(1));
  auto *counter = kernels.shared<uint64_t>();
  EXPECT_EQ(value(queue->submit(kernels.dispatch("count", done->raw(), 64, counter))), 0u);
  ASSERT_TRUE(finished(*done));
  EXPECT_EQ(*counter, 64u);
}

TEST_F(QueueTest, BatchesLargerThanTheRoomWait) {
  Kernels kernels(gpu());
  const OwnedQueue queue = value(Queue::create(gpu(), 64));
  auto *length = kernels.shared<uint32_t>();
  auto *values = kernels.shared<uint32_t>(1000);
  const OwnedSignal done = value(Signal::create(1));
  for (uint32_t batch = 0; batch < 10; ++batch) {
    std::vector<AqlPacket> packets;
    for (uint32_t n = 0; n < 50; ++n) {
      const uint32_t number = batch * 50 + n;
      packets.push_back(
          kernels.dispatch("append", number == 499 ? done->raw() : hsa_signal_t{}, 1, length, values, number));
      packets.back().setBarrierBit(true);
    }
    EXPECT_EQ(value(queue->submit(packets)), batch * 50);
  }
  ASSERT_TRUE(finished(*done));
  std::vector<uint32_t> expected(500);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(std::vector<uint32_t>(values, values + *length), expected);
}

TEST_F(QueueTest, BatchesThatCannotBeSubmittedAreErrors) {
  const OwnedQueue queue = value(Queue::create(gpu(), 64));
  const OwnedSignal gate = value(Signal::create(1)), done = value(Signal::create(1));
  EXPECT_THAT(errorOf(queue->submit(std::span<const AqlPacket>())), HasSubstr("no packets"));
  const std::vector<AqlPacket> many(65, barrier({}, {}));
  EXPECT_THAT(errorOf(queue->submit(many)), HasSubstr("65 packets do not fit into a queue of 64"));
  const std::vector<AqlPacket> all(64, barrier({gate->raw()}, {}));
  EXPECT_EQ(value(queue->submit(all)), 0u);
  EXPECT_THAT(errorOf(queue->submit({all.data(), 1}, 5ms)), HasSubstr("full for 5 ms"));
  gate->store(0);
  EXPECT_EQ(value(queue->submit(barrier({}, done->raw()))), 64u);
  EXPECT_TRUE(finished(*done));
}

TEST_F(QueueTest, ManyThreadsSubmit) {
  Kernels kernels(gpu());
  const OwnedQueue queue = value(Queue::create(gpu(), 64));
  auto *counter = kernels.shared<uint64_t>();
  const OwnedSignal done = value(Signal::create(4 * 200));
  const AqlPacket packet = kernels.dispatch("count", done->raw(), 1, counter);
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        value(queue->submit(packet));
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_TRUE(finished(*done));
  EXPECT_EQ(*counter, 4 * 200u);
}

// A queue of the application that Luthier shadows.
TEST_F(QueueTest, PacketsForAShadowedQueueGoTheApplicationsWay) {
  Kernels kernels(gpu());
  std::vector<AqlPacket> seen;
  std::mutex mutex;
  auto subscription = Interceptor::instance().packets().subscribe([&](PacketBatch &batch) {
    std::lock_guard lock(mutex);
    for (const PacketBatch::Entry &entry : batch.entries)
      seen.push_back(entry.packet);
  });
  AppQueue application(gpu(), 64);
  const Queue queue(application.raw());
  auto *counter = kernels.shared<uint64_t>();
  const OwnedSignal done = value(Signal::create(2));
  const AqlPacket packet = kernels.dispatch("count", done->raw(), 1, counter);
  value(queue.submit(packet));
  application.submit(packet);
  ASSERT_TRUE(finished(*done));
  EXPECT_EQ(*counter, 2u);
  EXPECT_EQ(seen, (std::vector{packet, packet}));
  EXPECT_THAT(errorOf(queue.destroy()), HasSubstr("not Luthier's to destroy"));
}

} // namespace
} // namespace luthier::hsa::test
