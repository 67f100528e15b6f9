// Queues with a front for the application, without ROCr: what passes from one to the other, and what reaches which.
#include "fake_rocr.h"
#include "hsa/blit.h"
#include "hsa/queue_interception.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace luthier::hsa::test {
namespace {

using testing::ElementsAre;

template <class Function> struct SecondParameter;
template <class Return, class First, class Second, class... Rest>
struct SecondParameter<Return (*)(First, Second, Rest...)> {
  using Type = Second;
};
/// A number or an enumeration, depending on the installed headers.
using QueueAttribute = SecondParameter<ApiCall<ApiId::hsa_amd_queue_get_info>::Function>::Type;

const void *reached = nullptr; ///< the queue that a function of ROCr was given

class QueueInterceptionTest : public testing::Test {
protected:
  QueueInterceptionTest() {
    EXPECT_EQ(
        rocr.app<ApiId::hsa_queue_create>()(FakeRocr::kGpu, 8, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue),
        HSA_STATUS_SUCCESS);
    real = queues.realOf(queue);
    EXPECT_NE(real, queue);
  }
  ~QueueInterceptionTest() override {
    if (queue)
      rocr.app<ApiId::hsa_queue_destroy>()(queue);
  }

  AqlPacket *slot(uint64_t index) const { return static_cast<AqlPacket *>(queue->base_address) + index % queue->size; }
  uint64_t reserve(uint64_t count = 1) const {
    return rocr.app<ApiId::hsa_queue_add_write_index_screlease>()(queue, count);
  }
  void ring(uint64_t index) const {
    rocr.app<ApiId::hsa_signal_store_screlease>()(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }
  void submit(const AqlPacket &packet) const {
    const uint64_t index = reserve();
    packet.writeTo(slot(index));
    ring(index);
  }
  template <ApiId id, class... Args> void expectOnRealQueue(Args... args) {
    SCOPED_TRACE(apiName(id));
    rocr.provide<id>([](auto given, auto...) {
      reached = given;
      return HSA_STATUS_SUCCESS;
    });
    reached = nullptr;
    EXPECT_EQ(rocr.app<id>()(queue, args...), HSA_STATUS_SUCCESS);
    EXPECT_EQ(reached, real);
    hsa_queue_t foreign = {};
    EXPECT_EQ(rocr.app<id>()(&foreign, args...), HSA_STATUS_SUCCESS);
    EXPECT_EQ(reached, &foreign);
  }

  FakeRocr rocr;
  Events events;
  PacketCallbacks callbacks;
  QueueInterception queues{events, callbacks};
  hsa_queue_t *queue = nullptr, *real = nullptr;
};

AqlPacket dispatch(uint64_t kernelObject, bool barrier = false) {
  hsa_kernel_dispatch_packet_t packet = {};
  packet.header = static_cast<uint16_t>(HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                                        (barrier ? 1 : 0) << HSA_PACKET_HEADER_BARRIER);
  packet.kernel_object = kernelObject;
  return AqlPacket::from(packet);
}

void waitUntil(const std::function<bool()> &met) {
  for (int n = 0; n < 10'000 && !met(); ++n)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(met());
}

/// AMD's own packets: every byte is the hardware's business.
AqlPacket vendorPacket(uint16_t header, uint8_t format) {
  AqlPacket packet;
  auto *bytes = reinterpret_cast<uint8_t *>(&packet);
  for (size_t n = 0; n < sizeof packet; ++n)
    bytes[n] = static_cast<uint8_t>(n * 7 + 3);
  memcpy(bytes, &header, sizeof header);
  bytes[2] = format;
  return packet;
}

TEST_F(QueueInterceptionTest, FunctionsOfQueuesReachTheRealOne) {
  expectOnRealQueue<ApiId::hsa_queue_inactivate>();
  expectOnRealQueue<ApiId::hsa_amd_queue_set_priority>(HSA_AMD_QUEUE_PRIORITY_HIGH);
  expectOnRealQueue<ApiId::hsa_amd_queue_cu_set_mask>(1u, nullptr);
  expectOnRealQueue<ApiId::hsa_amd_queue_cu_get_mask>(1u, nullptr);
  expectOnRealQueue<ApiId::hsa_amd_profiling_set_profiler_enabled>(1);
  expectOnRealQueue<ApiId::hsa_amd_queue_intercept_register>(nullptr, nullptr);
}

// Declared by no header of the oldest ROCr.
TEST_F(QueueInterceptionTest, FunctionsOfQueuesThatLaterRocrsHave) {
  rocr.provide<ApiId::hsa_amd_queue_get_info>([](hsa_queue_t *given, auto, void *value) {
    *static_cast<const void **>(value) = given;
    return HSA_STATUS_SUCCESS;
  });
  const void *given = nullptr;
  EXPECT_EQ(rocr.app<ApiId::hsa_amd_queue_get_info>()(queue, {}, &given), HSA_STATUS_SUCCESS);
  EXPECT_EQ(given, real);
}

TEST_F(QueueInterceptionTest, IndicesAreThoseOfTheApplicationsQueue) {
  EXPECT_EQ(reserve(3), 0u);
  EXPECT_EQ(rocr.app<ApiId::hsa_queue_load_write_index_relaxed>()(queue), 3u);
  EXPECT_EQ(original<ApiId::hsa_queue_load_write_index_relaxed>()(real), 0u);
}

TEST_F(QueueInterceptionTest, PacketsOfAllKindsPassAsTheyAre) {
  // Header 0 is a packet of AMD's, not an empty slot: HIP 6 sends PM4 that way. Then barrier-value, which HIP waits
  // with.
  const std::vector<AqlPacket> packets = {vendorPacket(0, 1), vendorPacket(0x1500, HSA_AMD_PACKET_TYPE_BARRIER_VALUE),
                                          dispatch(0x1000), vendorPacket(0, 0xfe)};
  for (const AqlPacket &packet : packets)
    submit(packet);
  EXPECT_EQ(rocr.packetsIn(real), packets);
  EXPECT_EQ(rocr.rung(real), 3);
  EXPECT_EQ(rocr.app<ApiId::hsa_queue_load_read_index_scacquire>()(queue), 4u);
}

// HIP 7 writes the packets of a graph in one go and rings once; the first header comes last.
TEST_F(QueueInterceptionTest, BatchesWhoseFirstHeaderComesLast) {
  std::atomic<int> shown = 0;
  auto subscription = callbacks.packets().subscribe([&](PacketBatch &batch) {
    ++shown;
    EXPECT_EQ(batch.entries.size(), 5u);
  });
  const uint64_t first = reserve(5);
  for (uint64_t n = 1; n < 5; ++n)
    dispatch(0x100 + n).writeTo(slot(first + n));
  ring(first + 4); // by another stream of the same queue
  EXPECT_EQ(rocr.packetsIn(real).size(), 0u);
  dispatch(0x100).writeTo(slot(first));
  ring(first + 4);
  waitUntil([&] { return rocr.rung(real) == 4; });
  EXPECT_EQ(shown, 1);
  const auto passed = rocr.packetsIn(real);
  ASSERT_EQ(passed.size(), 5u);
  for (uint64_t n = 0; n < 5; ++n)
    EXPECT_EQ(passed[n].kernelDispatch()->kernel_object, 0x100 + n);
}

// A packet of AMD's has a valid header before its body is written: HIP copies it in one go. Only the doorbell says that
// it is complete.
TEST_F(QueueInterceptionTest, WhatNobodyHasRungForIsNotTaken) {
  submit(dispatch(1));
  const uint64_t written = reserve(), unfinished = reserve();
  dispatch(2).writeTo(slot(written));
  vendorPacket(0, 1).writeTo(slot(unfinished));
  ring(written);
  EXPECT_EQ(rocr.packetsIn(real).size(), 2u);
  ring(unfinished);
  EXPECT_EQ(rocr.packetsIn(real).size(), 3u);
}

TEST_F(QueueInterceptionTest, SilentStoresRingToo) {
  const uint64_t index = reserve();
  dispatch(1).writeTo(slot(index));
  rocr.app<ApiId::hsa_signal_silent_store_relaxed>()(queue->doorbell_signal, static_cast<int64_t>(index));
  EXPECT_EQ(rocr.packetsIn(real).size(), 1u);
}

// ROCr has one cooperative queue per GPU and gives it to everybody; two fronts would both write to it.
TEST_F(QueueInterceptionTest, CooperativeQueuesAreOne) {
  const auto create = [&] {
    hsa_queue_t *made = nullptr;
    EXPECT_EQ(rocr.app<ApiId::hsa_queue_create>()(FakeRocr::kGpu, 8, HSA_QUEUE_TYPE_COOPERATIVE, nullptr, nullptr, 0, 0,
                                                  &made),
              HSA_STATUS_SUCCESS);
    return made;
  };
  hsa_queue_t *first = create(), *second = create();
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->type, HSA_QUEUE_TYPE_COOPERATIVE);
  EXPECT_EQ(rocr.queues(), 4u); // and that of the test; each twice
  EXPECT_EQ(rocr.app<ApiId::hsa_queue_destroy>()(first), HSA_STATUS_SUCCESS);
  dispatch(1).writeTo(static_cast<AqlPacket *>(second->base_address));
  rocr.app<ApiId::hsa_queue_add_write_index_screlease>()(second, 1);
  rocr.app<ApiId::hsa_signal_store_screlease>()(second->doorbell_signal, 0);
  EXPECT_EQ(rocr.packetsIn(queues.realOf(second)).size(), 1u);
  EXPECT_EQ(rocr.app<ApiId::hsa_queue_destroy>()(second), HSA_STATUS_SUCCESS);
  EXPECT_EQ(rocr.queues(), 2u);
}

// Newer HIPs may ask for the address of the doorbell and store to it, without calling anybody. The hardware's own would
// be rung with numbers of packets that it does not have.
TEST_F(QueueInterceptionTest, DoorbellsThatAreRungByStoring) {
  rocr.provide<ApiId::hsa_amd_queue_get_info>([](hsa_queue_t *given, auto, void *value) {
    *static_cast<const void **>(value) = given;
    return HSA_STATUS_SUCCESS;
  });
  volatile int64_t *doorbell = nullptr;
  const auto kDoorbell = static_cast<QueueAttribute>(1);
  EXPECT_EQ(rocr.app<ApiId::hsa_amd_queue_get_info>()(queue, kDoorbell, &doorbell), HSA_STATUS_SUCCESS);
  EXPECT_NE(static_cast<volatile void *>(doorbell), static_cast<volatile void *>(real));
  for (uint64_t n = 0; n < 20; ++n) {
    const uint64_t index = reserve();
    dispatch(n).writeTo(slot(index));
    __atomic_store_n(doorbell, static_cast<int64_t>(index), __ATOMIC_RELEASE);
    waitUntil([&] { return rocr.rung(real) == static_cast<int64_t>(n); });
    EXPECT_EQ(rocr.packetsIn(real)[0].kernelDispatch()->kernel_object, n);
    rocr.take(real, 1);
  }
  submit(dispatch(99)); // by the signal, as before
  waitUntil([&] { return rocr.rung(real) == 20; });
  // Queues that are not ours have their own.
  hsa_queue_t foreign = {};
  const void *given = nullptr;
  EXPECT_EQ(rocr.app<ApiId::hsa_amd_queue_get_info>()(&foreign, kDoorbell, &given), HSA_STATUS_SUCCESS);
  EXPECT_EQ(given, &foreign);
}

TEST_F(QueueInterceptionTest, NothingIsLeftBehind) {
  EXPECT_EQ(rocr.queues(), 2u);
  EXPECT_EQ(rocr.app<ApiId::hsa_queue_destroy>()(std::exchange(queue, nullptr)), HSA_STATUS_SUCCESS);
  EXPECT_EQ(rocr.queues(), 0u);
  EXPECT_EQ(rocr.signals(), 0u);
}

// Kernels without a barrier between them end in any order.
TEST_F(QueueInterceptionTest, CompletionsAreToldInTheOrderOfTheHardware) {
  std::atomic<uint64_t> completed = 0;
  auto subscription = events.kernelCompleted.subscribe([&](const KernelCompletion &completion) {
    completed = completion.packet.kernelDispatch()->kernel_object;
    EXPECT_EQ(completion.begin, 100u);
    EXPECT_EQ(completion.end, 200u);
  });
  hsa_signal_t theirs = {};
  rocr.app<ApiId::hsa_signal_create>()(1, 0, nullptr, &theirs);
  submit(dispatch(1));
  AqlPacket second = dispatch(2);
  second.setCompletionSignal(theirs);
  submit(second);
  const auto passed = rocr.packetsIn(real);
  ASSERT_EQ(passed.size(), 2u);
  rocr.complete(passed[1].completionSignal(), 100, 200);
  waitUntil([&] { return original<ApiId::hsa_signal_load_relaxed>()(theirs) == 0; });
  EXPECT_EQ(completed, 2u);
  EXPECT_EQ(queues.awaitedCompletions(), 1u);
  rocr.complete(passed[0].completionSignal(), 100, 200);
  waitUntil([&] { return queues.awaitedCompletions() == 0; });
  EXPECT_EQ(completed, 1u);
  rocr.app<ApiId::hsa_signal_destroy>()(theirs);
}

TEST(BlitWatchTest, CopiesOnEnginesAreCountedAsOthers) {
  FakeRocr rocr;
  Events events;
  BlitWatch blit(events);
  blit.start();
  std::vector<ApiId> told;
  auto subscription = events.copied.subscribe([&](const CopyRecord &copy) { told.push_back(copy.call); });
  rocr.provide<ApiId::hsa_amd_memory_async_copy>([](auto...) { return HSA_STATUS_SUCCESS; });
  rocr.provide<ApiId::hsa_amd_memory_async_copy_on_engine>([](auto...) { return HSA_STATUS_SUCCESS; });
  rocr.app<ApiId::hsa_amd_memory_async_copy>()(nullptr, {}, nullptr, {}, 100, 0, nullptr, {});
  rocr.app<ApiId::hsa_amd_memory_async_copy_on_engine>()(nullptr, {}, nullptr, {}, 23, 0, nullptr, {}, {}, false);
  EXPECT_THAT(told, ElementsAre(ApiId::hsa_amd_memory_async_copy, ApiId::hsa_amd_memory_async_copy_on_engine));
  EXPECT_EQ(blit.totals().operations, 2u);
  EXPECT_EQ(blit.totals().bytes, 123u);
}

} // namespace
} // namespace luthier::hsa::test
