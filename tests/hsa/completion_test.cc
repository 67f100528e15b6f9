// Kernel completions: everybody is told, the application last.
#include "fixture.h"
#include "hsa/queue_interception.h"

#include <atomic>
#include <thread>

namespace luthier::hsa::test {
namespace {

class CompletionTest : public HsaTest {
protected:
  static Interceptor &interceptor() { return Interceptor::instance(); }
  static void waitUntil(const std::function<bool()> &condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition() && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    EXPECT_TRUE(condition());
  }

  Kernels kernels{gpu()};
};

TEST_F(CompletionTest, ApplicationIsToldLastWithTheSameTimes) {
  const AppSignal done(1);
  std::atomic<int> calls = 0;
  uint64_t begin = 0, end = 0;
  AqlPacket seen;
  hsa_signal_value_t atCallback = -1;
  uint64_t *counter = kernels.shared<uint64_t>(), countAtCallback = 0;
  auto subscription = interceptor().events().kernelCompleted.subscribe([&](const KernelCompletion &completion) {
    begin = completion.begin;
    end = completion.end;
    seen = completion.packet;
    atCallback = done.load();
    countAtCallback = *counter;
    ++calls;
  });
  AppQueue queue(gpu(), 64);
  const AqlPacket packet = kernels.dispatch("count", done, 64, counter);
  queue.submit(packet);
  ASSERT_TRUE(done.waitFor(0));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, packet); // with the application's signal
  EXPECT_EQ(atCallback, 1);
  EXPECT_EQ(countAtCallback, 64u);
  EXPECT_EQ(done.load(), 0); // decremented once
  EXPECT_GT(begin, 0u);
  EXPECT_LE(begin, end);
  hsa_amd_profiling_dispatch_time_t times = {};
  EXPECT_EQ(hsa_amd_profiling_get_dispatch_time(gpu().raw(), done, &times), HSA_STATUS_SUCCESS);
  EXPECT_GT(times.start, 0u);
  EXPECT_LE(times.start, times.end);
  // Two conversions of the same ticks, which may have been done with two comparisons of the clocks.
  EXPECT_NEAR(static_cast<double>(end - begin), static_cast<double>(times.end - times.start),
              0.05 * static_cast<double>(times.end - times.start) + 1000);
}

TEST_F(CompletionTest, SignalIsNotNeeded) {
  std::atomic<int> calls = 0;
  std::atomic<uint64_t> signal = 1;
  auto subscription = interceptor().events().kernelCompleted.subscribe([&](const KernelCompletion &completion) {
    signal = completion.packet.completionSignal().handle;
    ++calls;
  });
  AppQueue queue(gpu(), 64);
  queue.submit(barrier({}, {})); // not a kernel
  queue.submit(kernels.dispatch("count", {}, 1, kernels.shared<uint64_t>()));
  waitUntil([&] { return calls == 1; });
  EXPECT_EQ(signal, 0u);
}

TEST_F(CompletionTest, OneEntryAsksForItself) {
  std::atomic<int> calls = 0;
  std::atomic<uint64_t> kernarg = 0;
  auto subscription = interceptor().packets().subscribe([&](PacketBatch &batch) {
    for (PacketBatch::Entry &entry : batch.entries)
      if (entry.packet.kernelDispatch() && entry.packet.kernelDispatch()->reserved2 == 7)
        entry.completed = [&](const KernelCompletion &completion) {
          kernarg = reinterpret_cast<uint64_t>(completion.packet.kernelDispatch()->kernarg_address);
          ++calls;
        };
  });
  AppQueue queue(gpu(), 64);
  const AppSignal done(3);
  auto *counter = kernels.shared<uint64_t>();
  AqlPacket marked = kernels.dispatch("count", done, 1, counter);
  marked.kernelDispatch()->reserved2 = 7;
  queue.submit(kernels.dispatch("count", done, 1, counter));
  queue.submit(marked);
  queue.submit(kernels.dispatch("count", done, 1, counter));
  ASSERT_TRUE(done.waitFor(0));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(kernarg, reinterpret_cast<uint64_t>(marked.kernelDispatch()->kernarg_address));
  EXPECT_EQ(*counter, 3u);
}

// The kernel runs, and may use memory that belongs to the callback.
TEST_F(CompletionTest, WhatCannotBeWatchedKeepsWhatItsCallbackHolds) {
  auto held = std::make_shared<int>();
  const std::weak_ptr<int> alive = held;
  const AppSignal done(1);
  const AqlPacket packet = kernels.dispatch("count", done, 64, kernels.shared<uint64_t>());
  PacketBatch::Entry entry{packet, [held = std::move(held)](const KernelCompletion &) { ADD_FAILURE(); }};
  Completions completions(interceptor().events(), interceptor().heldWorks());
  const auto rocrs = original<ApiId::hsa_signal_create>();
  originalFunctions().set<ApiId::hsa_signal_create>([](auto...) { return HSA_STATUS_ERROR_OUT_OF_RESOURCES; });
  completions.watch({}, entry);
  originalFunctions().set<ApiId::hsa_signal_create>(rocrs);
  EXPECT_EQ(entry.packet, packet);
  EXPECT_FALSE(entry.completed);
  EXPECT_EQ(completions.awaited(), 0u);
  EXPECT_FALSE(alive.expired());
}

// HSA may be shut down, and started again, while a kernel has not ended.
TEST_F(CompletionTest, WhatIsInFlightAtTheEndIsForgottenAndKept) {
  auto held = std::make_shared<int>();
  const std::weak_ptr<int> alive = held;
  PacketBatch::Entry entry{kernels.dispatch("count", {}, 64, kernels.shared<uint64_t>()),
                           [held = std::move(held)](const KernelCompletion &) { ADD_FAILURE(); }};
  Completions completions(interceptor().events(), interceptor().heldWorks());
  completions.watch({}, entry);
  EXPECT_EQ(completions.awaited(), 1u);
  EXPECT_FALSE(completions.drain(1ms));
  completions.stop();
  EXPECT_EQ(completions.awaited(), 0u);
  EXPECT_FALSE(alive.expired());
  std::atomic<int> calls = 0;
  PacketBatch::Entry next{kernels.dispatch("count", {}, 64, kernels.shared<uint64_t>()),
                          [&](const KernelCompletion &) { ++calls; }};
  completions.watch({}, next);
  Signal(next.packet.completionSignal()).store(0); // as the hardware does
  EXPECT_TRUE(completions.drain(kPatience));
  EXPECT_EQ(calls, 1);
}

// ROCr calls handlers on one thread; while one waits there, no other handler is called.
TEST_F(CompletionTest, HandlerOfTheApplicationMayWaitForAWatchedDispatch) {
  std::atomic<int> calls = 0;
  auto subscription = interceptor().events().kernelCompleted.subscribe([&](const KernelCompletion &) { ++calls; });
  struct Handler {
    AppSignal trigger{1}, done{1}, handled{1};
    std::atomic<bool> entered = false;
    hsa_signal_value_t seen = -1;
  } handler;
  const auto wait = [](hsa_signal_value_t, void *data) {
    auto *self = static_cast<Handler *>(data);
    self->entered = true;
    constexpr uint64_t kTenSeconds = 10'000'000'000;
    self->seen = hsa_signal_wait_scacquire(self->done, HSA_SIGNAL_CONDITION_LT, 1, kTenSeconds, HSA_WAIT_STATE_BLOCKED);
    self->handled.store(0);
    return false;
  };
  ASSERT_EQ(hsa_amd_signal_async_handler(handler.trigger, HSA_SIGNAL_CONDITION_LT, 1, wait, &handler),
            HSA_STATUS_SUCCESS);
  AppQueue queue(gpu(), 64);
  handler.trigger.store(0);
  waitUntil([&] { return handler.entered.load(); });
  queue.submit(kernels.dispatch("count", handler.done, 1, kernels.shared<uint64_t>()));
  ASSERT_TRUE(handler.handled.waitFor(0));
  EXPECT_EQ(handler.seen, 0);
  EXPECT_EQ(calls, 1);
}

TEST_F(CompletionTest, CallbacksMayCallHsaAndSubmit) {
  auto *counter = kernels.shared<uint64_t>();
  const AppSignal done(1);
  const AqlPacket second = kernels.dispatch("count", done, 1, counter);
  AppQueue *queue = nullptr;
  std::atomic<int> calls = 0;
  auto subscription = interceptor().events().kernelCompleted.subscribe([&](const KernelCompletion &completion) {
    if (++calls > 1)
      return;
    uint32_t node = 0;
    EXPECT_EQ(hsa_agent_get_info(completion.queue.agent, HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
    queue->submit(second);
  });
  AppQueue own(gpu(), 64);
  queue = &own;
  own.submit(kernels.dispatch("count", {}, 1, counter));
  ASSERT_TRUE(done.waitFor(0));
  EXPECT_EQ(*counter, 2u);
  EXPECT_EQ(calls, 2);
}

// A destroyed queue takes with it what it has not done. Nobody is told of that, and nobody waits for it.
TEST_F(CompletionTest, DestroyedQueueIsNotAwaited) {
  std::atomic<unsigned> calls = 0;
  auto subscription = interceptor().events().kernelCompleted.subscribe([&](const KernelCompletion &) { ++calls; });
  auto *counter = kernels.shared<uint64_t>();
  const AppSignal never(1), first(1), last(1);
  AppQueue doomed(gpu(), 64), other(gpu(), 64);
  doomed.submit(kernels.dispatch("count", first, 1, counter));
  ASSERT_TRUE(first.waitFor(0));
  waitUntil([&] { return interceptor().queues().awaitedCompletions() == 0; });
  // Behind the barrier: some in the real queue, and the last ones not even there.
  doomed.submit(barrier({never}, {}));
  for (int n = 0; n < 80; ++n)
    doomed.submit(kernels.dispatch("count", last, 1, counter));
  other.submit(barrier({never}, {}));
  other.submit(kernels.dispatch("count", last, 1, counter));
  EXPECT_GT(interceptor().queues().awaitedCompletions(), 50u);
  doomed.destroy();
  waitUntil([&] { return interceptor().queues().awaitedCompletions() == 1; }); // that of the other queue
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(last.load(), 1);
  never.store(0);
  ASSERT_TRUE(last.waitFor(0));
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(*counter, 2u);
}

TEST_F(CompletionTest, ManyThreadsManyKernels) {
  std::atomic<uint64_t> calls = 0;
  auto subscription = interceptor().events().kernelCompleted.subscribe([&](const KernelCompletion &) { ++calls; });
  constexpr int threads = 4, each = 400;
  const AppSignal done(threads * each / 2);
  auto *counter = kernels.shared<uint64_t>();
  const AqlPacket silent = kernels.dispatch("count", {}, 1, counter),
                  telling = kernels.dispatch("count", done, 1, counter);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&] {
      AppQueue queue(gpu(), 64);
      for (int n = 0; n < each; ++n)
        queue.submit(n % 2 ? telling : silent);
      const AppSignal last(1);
      queue.submit(barrier({}, last));
      EXPECT_TRUE(last.waitFor(0));
    });
  for (std::thread &thread : running)
    thread.join();
  ASSERT_TRUE(done.waitFor(0));
  waitUntil([&] { return calls == threads * each; });
  EXPECT_EQ(*counter, static_cast<uint64_t>(threads * each));
  EXPECT_EQ(done.load(), 0);
}

} // namespace
} // namespace luthier::hsa::test
