// Packets of the application's queues on their way through Luthier.
#include "fixture.h"

#include <atomic>
#include <map>
#include <numeric>
#include <thread>

namespace luthier::hsa::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class PacketsTest : public HsaTest {
protected:
  static Interceptor &interceptor() { return Interceptor::instance(); }

  /// Collects what callbacks see.
  struct Seen {
    std::mutex mutex;
    std::vector<std::vector<AqlPacket>> batches;
    std::vector<uint64_t> firstIndices;
    Subscription subscription = interceptor().packets().subscribe([this](PacketBatch &batch) {
      std::lock_guard lock(mutex);
      firstIndices.push_back(batch.firstIndex);
      batches.emplace_back();
      for (const PacketBatch::Entry &entry : batch.entries)
        batches.back().push_back(entry.packet);
    });
    std::vector<AqlPacket> all() {
      std::lock_guard lock(mutex);
      std::vector<AqlPacket> packets;
      for (const auto &batch : batches)
        packets.insert(packets.end(), batch.begin(), batch.end());
      return packets;
    }
  };

  /// The values that `append` kernels have written.
  struct Log {
    explicit Log(Kernels &k, size_t capacity)
        : kernels(k), length(k.shared<uint32_t>()), values(k.shared<uint32_t>(capacity)) {}
    /// A dispatch that writes `number` after everything before it has been written.
    AqlPacket packet(uint32_t number, hsa_signal_t completion = {}) {
      AqlPacket result = kernels.dispatch("append", completion, 1, length, values, number);
      result.setBarrierBit(true);
      return result;
    }
    std::vector<uint32_t> contents() const { return {values, values + *length}; }

    Kernels &kernels;
    uint32_t *length, *values;
  };

  static std::vector<uint32_t> numbers(uint32_t count) {
    std::vector<uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }

  /// Waits until everything that was submitted before has been done.
  static void finish(AppQueue &queue) {
    const AppSignal done(1);
    queue.submit(barrier({}, done));
    ASSERT_TRUE(done.waitFor(0));
  }

  Kernels kernels{gpu()};
};

TEST_F(PacketsTest, EveryTypeIsSeenAsItWasWritten) {
  Seen seen;
  // An agent dispatch is not for GPUs: it must not get there.
  auto removal = interceptor().packets().subscribe([](PacketBatch &batch) {
    std::erase_if(batch.entries, [](const PacketBatch::Entry &entry) { return entry.packet.agentDispatch(); });
  });
  AppQueue queue(gpu(), 64);
  auto *counter = kernels.shared<uint64_t>();
  const AppSignal zero(0), done(1);
  const AqlPacket dispatch = kernels.dispatch("count", {}, 64, counter);
  const AqlPacket all = barrier({zero, zero}, {});
  hsa_barrier_or_packet_t orPacket = {};
  orPacket.header = HSA_PACKET_TYPE_BARRIER_OR << HSA_PACKET_HEADER_TYPE;
  orPacket.dep_signal[0] = zero;
  hsa_agent_dispatch_packet_t agentPacket = {};
  agentPacket.header = HSA_PACKET_TYPE_AGENT_DISPATCH << HSA_PACKET_HEADER_TYPE;
  agentPacket.type = 0x8001;
  hsa_amd_barrier_value_packet_t valuePacket = {};
  valuePacket.header.header =
      HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER;
  valuePacket.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  valuePacket.signal = zero;
  valuePacket.mask = -1;
  valuePacket.cond = HSA_SIGNAL_CONDITION_EQ;
  valuePacket.completion_signal = done;
  const std::vector<AqlPacket> submitted = {dispatch, all, AqlPacket::from(orPacket), AqlPacket::from(agentPacket),
                                            AqlPacket::from(valuePacket)};
  for (const AqlPacket &packet : submitted)
    queue.submit(packet);
  ASSERT_TRUE(done.waitFor(0));
  EXPECT_EQ(seen.all(), submitted);
  EXPECT_EQ(*counter, 64u);
  EXPECT_EQ(submitted[2].type(), PacketType::BarrierOr);
  EXPECT_EQ(submitted[4].barrierValue()->signal.handle, static_cast<hsa_signal_t>(zero).handle);
}

TEST_F(PacketsTest, PacketsBeforeOneDoorbellAreOneBatch) {
  Seen seen;
  AppQueue queue(gpu(), 64);
  Log log(kernels, 64);
  const AppSignal done(1);
  for (uint32_t n = 0; n < 10; ++n)
    queue.write(queue.reserve(), log.packet(n, n == 9 ? done : hsa_signal_t{}));
  EXPECT_THAT(seen.all(), SizeIs(0)); // not submitted yet
  queue.ring(9);
  ASSERT_TRUE(done.waitFor(0));
  EXPECT_THAT(seen.batches, ElementsAre(SizeIs(10)));
  finish(queue);
  EXPECT_THAT(seen.firstIndices, ElementsAre(0, 10));
  EXPECT_EQ(log.contents(), numbers(10));
}

TEST_F(PacketsTest, CallbacksChangePackets) {
  auto *first = kernels.shared<uint64_t>(), *second = kernels.shared<uint64_t>();
  const AqlPacket other = kernels.dispatch("count", {}, 1, second);
  auto subscription = interceptor().packets().subscribe([&](PacketBatch &batch) {
    for (PacketBatch::Entry &entry : batch.entries)
      if (hsa_kernel_dispatch_packet_t *dispatch = entry.packet.kernelDispatch())
        dispatch->kernarg_address = other.kernelDispatch()->kernarg_address;
  });
  AppQueue queue(gpu(), 64);
  queue.submit(kernels.dispatch("count", {}, 32, first));
  finish(queue);
  EXPECT_EQ(*first, 0u);
  EXPECT_EQ(*second, 32u);
}

TEST_F(PacketsTest, CallbacksInsertAndRemovePackets) {
  Log log(kernels, 4096);
  // Every dispatch becomes itself and one with 1000 more; of every third batch nothing is left.
  unsigned batches = 0;
  auto subscription = interceptor().packets().subscribe([&](PacketBatch &batch) {
    std::vector<PacketBatch::Entry> changed;
    const bool remove = batches++ % 3 == 2;
    for (const PacketBatch::Entry &entry : batch.entries) {
      if (!entry.packet.kernelDispatch()) {
        changed.push_back(entry);
      } else if (!remove) {
        const auto number = static_cast<uint32_t>(batch.firstIndex);
        changed.push_back(entry);
        changed.push_back({log.packet(1000 + number), {}});
      }
    }
    batch.entries = std::move(changed);
  });
  AppQueue queue(gpu(), 64);
  for (uint32_t n = 0; n < 6; ++n)
    queue.submit(log.packet(n));
  finish(queue);
  EXPECT_THAT(log.contents(), ElementsAre(0, 1000, 1, 1001, 3, 1003, 4, 1004));
}

// More packets than one batch takes, of which the callback leaves none.
TEST_F(PacketsTest, NothingIsForgottenBehindARemovedBatch) {
  Log log(kernels, 2048);
  std::atomic<size_t> shown = 0;
  auto subscription = interceptor().packets().subscribe([&](PacketBatch &batch) {
    shown += batch.entries.size();
    std::erase_if(batch.entries,
                  [](const PacketBatch::Entry &entry) { return !entry.packet.completionSignal().handle; });
  });
  AppQueue queue(gpu(), 1024);
  const AppSignal done(1);
  constexpr uint32_t count = 900;
  for (uint32_t n = 0; n < count; ++n)
    queue.write(queue.reserve(), log.packet(n, n + 1 == count ? done : hsa_signal_t{}));
  queue.ring(count - 1);
  ASSERT_TRUE(done.waitFor(0));
  EXPECT_EQ(shown, count);
  EXPECT_THAT(log.contents(), ElementsAre(count - 1));
}

TEST_F(PacketsTest, MorePacketsThanTheHardwareQueueHolds) {
  Log log(kernels, 4096);
  // A callback that makes 100 out of one, into 64 slots.
  uint32_t number = 0;
  auto subscription = interceptor().packets().subscribe([&](PacketBatch &batch) {
    std::vector<PacketBatch::Entry> more;
    for (const PacketBatch::Entry &entry : batch.entries)
      if (!entry.packet.kernelDispatch())
        more.push_back(entry);
      else
        for (uint32_t n = 0; n < 100; ++n)
          more.push_back({log.packet(number++), {}});
    batch.entries = std::move(more);
  });
  AppQueue queue(gpu(), 64);
  for (uint32_t n = 0; n < 20; ++n)
    queue.submit(log.packet(n));
  finish(queue);
  EXPECT_EQ(log.contents(), numbers(2000));
}

// Thousands of packets through 64 slots, with barriers that wait for signals which come late.
TEST_F(PacketsTest, FullQueueKeepsOrder) {
  Seen seen;
  AppQueue queue(gpu(), 64);
  constexpr uint32_t count = 3000, every = 100;
  Log log(kernels, count);
  std::vector<std::unique_ptr<AppSignal>> gates;
  for (uint32_t n = 0; n < count / every; ++n)
    gates.push_back(std::make_unique<AppSignal>(1));
  std::atomic<uint32_t> submitted = 0;
  std::thread opener([&] {
    for (uint32_t n = 0; n < gates.size(); ++n) {
      // Not before the queue is full, or all is submitted.
      while (submitted < std::min(count, n * every + 80))
        std::this_thread::yield();
      std::this_thread::sleep_for(1ms);
      gates[n]->store(0);
    }
  });
  for (uint32_t n = 0; n < count; ++n) {
    if (n % every == 0)
      queue.submit(barrier({*gates[n / every]}, {}));
    queue.submit(log.packet(n));
    ++submitted;
  }
  finish(queue);
  opener.join();
  EXPECT_EQ(log.contents(), numbers(count));
  EXPECT_THAT(seen.all(), SizeIs(count + count / every + 1));
}

TEST_F(PacketsTest, ManyThreadsOneQueue) {
  Seen seen;
  AppQueue queue(gpu(), 64);
  constexpr uint32_t threads = 8, each = 400;
  Log log(kernels, threads * each);
  std::vector<std::thread> running;
  for (uint32_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      for (uint32_t n = 0; n < each; ++n) {
        const AqlPacket packet = log.packet(t * each + n);
        const uint64_t index = queue.reserve();
        if (n % 7 == 0)
          std::this_thread::yield(); // another one may write behind this
        queue.write(index, packet);
        queue.ring(index);
      }
    });
  for (std::thread &thread : running)
    thread.join();
  finish(queue);
  EXPECT_THAT(seen.all(), SizeIs(threads * each + 1));
  std::vector<uint32_t> contents = log.contents();
  ASSERT_EQ(contents.size(), threads * each);
  std::map<uint32_t, uint32_t> next;
  for (const uint32_t number : contents) // in order for each thread
    EXPECT_EQ(number % each, next[number / each]++);
}

TEST_F(PacketsTest, PacketsBehindAnUnwrittenOneWait) {
  Seen seen;
  AppQueue queue(gpu(), 64);
  Log log(kernels, 8);
  const AppSignal done(1);
  const uint64_t first = queue.reserve(), second = queue.reserve();
  queue.write(second, log.packet(1, done));
  queue.ring(second);
  EXPECT_THAT(seen.all(), SizeIs(0));
  queue.write(first, log.packet(0));
  queue.ring(first);
  ASSERT_TRUE(done.waitFor(0));
  EXPECT_THAT(seen.all(), SizeIs(2));
  EXPECT_EQ(log.contents(), numbers(2));
}

// Hardware that finds an unwritten packet below the doorbell's value looks again by itself.
TEST_F(PacketsTest, DoorbellMayComeBeforeTheHeader) {
  Log log(kernels, 8);
  Seen seen;
  AppQueue shadowed(gpu(), 64);
  const OwnedQueue hardware = value(Queue::create(gpu(), 64));
  for (hsa_queue_t *queue : {hardware->raw(), shadowed.raw()}) {
    const AppSignal done(1);
    const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    std::this_thread::sleep_for(2ms);
    log.packet(0, done).writeTo(static_cast<AqlPacket *>(queue->base_address) + index);
    ASSERT_TRUE(done.waitFor(0));
  }
  EXPECT_THAT(seen.all(), SizeIs(1));
}

TEST_F(PacketsTest, CallbacksSubmitPackets) {
  Log log(kernels, 64);
  AppQueue *other = nullptr;
  const AppSignal otherDone(2);
  std::atomic<unsigned> shown = 0;
  hsa_queue_t *own = nullptr;
  auto subscription = interceptor().packets().subscribe([&](PacketBatch &batch) {
    shown += static_cast<unsigned>(batch.entries.size());
    if (batch.queue.queue != own || batch.firstIndex != 0)
      return;
    // To another queue, and to the one whose packets are shown just now.
    other->submit(log.packet(1, otherDone));
    const Queue same(own);
    value(same.submit(log.packet(2, otherDone)));
  });
  AppQueue first(gpu(), 64), second(gpu(), 64);
  own = first.raw();
  other = &second;
  const AppSignal done(1);
  first.submit(log.packet(0, done));
  ASSERT_TRUE(done.waitFor(0));
  ASSERT_TRUE(otherDone.waitFor(0));
  EXPECT_EQ(shown, 3u);
  std::vector<uint32_t> contents = log.contents();
  std::sort(contents.begin(), contents.end());
  EXPECT_EQ(contents, numbers(3));
}

TEST_F(PacketsTest, CallsInsideCallbacksAreNotReported) {
  unsigned calls = 0;
  auto calling = interceptor().before<ApiId::hsa_agent_get_info>([&](auto &&...) { ++calls; });
  std::atomic<bool> called = false;
  auto subscription = interceptor().packets().subscribe([&](PacketBatch &batch) {
    uint32_t node = 0;
    EXPECT_EQ(hsa_agent_get_info(batch.queue.agent, HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
    EXPECT_EQ(node, 1u);
    called = true;
  });
  AppQueue queue(gpu(), 64);
  finish(queue);
  EXPECT_TRUE(called);
  EXPECT_EQ(calls, 0u);
}

TEST_F(PacketsTest, QueuesAreAnnounced) {
  std::vector<QueueInfo> created, destroyed;
  auto onCreate =
      interceptor().events().queueCreated.subscribe([&](const QueueInfo &queue) { created.push_back(queue); });
  auto onDestroy =
      interceptor().events().queueDestroyed.subscribe([&](const QueueInfo &queue) { destroyed.push_back(queue); });
  AppQueue queue(gpu(), 128);
  ASSERT_THAT(created, SizeIs(1));
  EXPECT_EQ(created[0].queue, queue.raw());
  EXPECT_NE(created[0].real, queue.raw());
  EXPECT_EQ(Agent(created[0].agent), gpu());
  EXPECT_EQ(queue.raw()->size, 128u);
  EXPECT_EQ(queue.raw()->type, static_cast<hsa_queue_type32_t>(HSA_QUEUE_TYPE_MULTI));
  EXPECT_TRUE(queue.raw()->features & HSA_QUEUE_FEATURE_KERNEL_DISPATCH);
  queue.destroy();
  ASSERT_THAT(destroyed, SizeIs(1));
  EXPECT_EQ(destroyed[0].real, created[0].real);
  // ROCr's own error for what cannot be created.
  hsa_queue_t *none = nullptr;
  EXPECT_EQ(hsa_queue_create(gpu().raw(), 100, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &none),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(created, SizeIs(1));
}

// Who subscribes late sees the packets from then on.
TEST_F(PacketsTest, SubscriptionsMayComeLate) {
  AppQueue queue(gpu(), 64);
  auto *counter = kernels.shared<uint64_t>();
  queue.submit(kernels.dispatch("count", {}, 1, counter));
  finish(queue);
  Seen seen;
  const AqlPacket packet = kernels.dispatch("count", {}, 1, counter);
  queue.submit(packet);
  const auto packets = seen.all();
  EXPECT_THAT(packets, ElementsAre(packet));
  finish(queue);
  EXPECT_EQ(*counter, 2u);
}

TEST_F(PacketsTest, ErrorsComeForTheApplicationsQueue) {
  Seen seen;
  struct Report {
    std::atomic<hsa_queue_t *> queue = nullptr;
    std::atomic<int> status = 0;
  } report;
  hsa_queue_t *queue = nullptr;
  auto onError = [](hsa_status_t status, hsa_queue_t *source, void *data) {
    static_cast<Report *>(data)->status = status;
    static_cast<Report *>(data)->queue = source;
  };
  ASSERT_EQ(hsa_queue_create(gpu().raw(), 64, HSA_QUEUE_TYPE_MULTI, onError, &report, UINT32_MAX, UINT32_MAX, &queue),
            HSA_STATUS_SUCCESS);
  AqlPacket packet = kernels.dispatch("count", {}, 1, kernels.shared<uint64_t>());
  packet.kernelDispatch()->workgroup_size_x = 0;
  packet.writeTo(static_cast<AqlPacket *>(queue->base_address) + hsa_queue_add_write_index_relaxed(queue, 1));
  hsa_signal_store_screlease(queue->doorbell_signal, 0);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!report.queue && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  EXPECT_EQ(report.queue, queue);
  EXPECT_NE(report.status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
}

TEST_F(PacketsTest, FunctionsOfQueuesReachTheHardwareQueue) {
  Seen seen;
  AppQueue queue(gpu(), 64);
  EXPECT_EQ(hsa_amd_queue_set_priority(queue.raw(), HSA_AMD_QUEUE_PRIORITY_HIGH), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_profiling_set_profiler_enabled(queue.raw(), 1), HSA_STATUS_SUCCESS);
  const uint32_t mask[4] = {~0u, ~0u, ~0u, ~0u};
  EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue.raw(), 128, mask), HSA_STATUS_SUCCESS);
  uint32_t readBack[4] = {};
  EXPECT_EQ(hsa_amd_queue_cu_get_mask(queue.raw(), 128, readBack), HSA_STATUS_SUCCESS);
  EXPECT_EQ(readBack[0], ~0u);
  finish(queue);
  EXPECT_EQ(hsa_queue_inactivate(queue.raw()), HSA_STATUS_SUCCESS);
}

// Threads with queues of their own, dispatches and barriers mixed, while queues come and go.
TEST_F(PacketsTest, ManyQueuesAtOnce) {
  std::atomic<uint64_t> shown = 0;
  auto subscription = interceptor().packets().subscribe([&](PacketBatch &batch) { shown += batch.entries.size(); });
  constexpr int threads = 8, rounds = 4, each = 100;
  auto *counter = kernels.shared<uint64_t>();
  const AqlPacket packet = kernels.dispatch("count", {}, 1, counter);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        AppQueue queue(gpu(), 64);
        for (int n = 0; n < each; ++n) {
          queue.submit(packet);
          if (n % 10 == 0)
            queue.submit(barrier({}, {}));
        }
        finish(queue);
      }
    });
  for (std::thread &thread : running)
    thread.join();
  EXPECT_EQ(*counter, static_cast<uint64_t>(threads * rounds * each));
  EXPECT_EQ(shown, static_cast<uint64_t>(threads * rounds * (each + each / 10 + 1)));
}

} // namespace
} // namespace luthier::hsa::test
