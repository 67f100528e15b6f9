// Callbacks that wait for the GPU get what they wait for, whatever they and others hold up.
#include "fixture.h"
#include "hsa/queue_interception.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace luthier::hsa::test {
namespace {

constexpr uint64_t kTenSeconds = 10'000'000'000; ///< for what hangs if it goes wrong

class CallbackWaitsTest : public HsaTest {
protected:
  static Interceptor &interceptor() { return Interceptor::instance(); }
  Kernels kernels{gpu()};
};

/// Ways to wait until a signal is below 1. False: in vain.
struct Way {
  const char *name;
  bool (*wait)(hsa_signal_t signal);
};

bool polls(hsa_signal_value_t (*load)(hsa_signal_t), hsa_signal_t signal) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (load(signal) >= 1)
    if (std::chrono::steady_clock::now() > end)
      return false;
  return true;
}

const Way kWays[] = {
    {"WaitAcquire",
     [](hsa_signal_t signal) {
       return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, kTenSeconds, HSA_WAIT_STATE_BLOCKED) < 1;
     }},
    {"WaitRelaxed",
     [](hsa_signal_t signal) {
       return hsa_signal_wait_relaxed(signal, HSA_SIGNAL_CONDITION_EQ, 0, kTenSeconds, HSA_WAIT_STATE_ACTIVE) < 1;
     }},
    {"WaitAny",
     [](hsa_signal_t signal) {
       const AppSignal never(1);
       hsa_signal_t signals[] = {never, signal};
       hsa_signal_condition_t conditions[] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_LT};
       hsa_signal_value_t values[] = {1, 1}, value = 1;
       return hsa_amd_signal_wait_any(2, signals, conditions, values, kTenSeconds, HSA_WAIT_STATE_BLOCKED, &value) == 1;
     }},
    {"LoadAcquire", [](hsa_signal_t signal) { return polls(hsa_signal_load_scacquire, signal); }},
    {"LoadRelaxed", [](hsa_signal_t signal) { return polls(hsa_signal_load_relaxed, signal); }},
};

class EveryWayToWait : public CallbackWaitsTest, public testing::WithParamInterface<Way> {};

INSTANTIATE_TEST_SUITE_P(Ways, EveryWayToWait, testing::ValuesIn(kWays),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(EveryWayToWait, ForTheCallbacksOwnPackets) {
  const AppSignal done(1);
  auto *counter = kernels.shared<uint64_t>(), *wrong = kernels.shared<uint64_t>();
  const AqlPacket other = kernels.dispatch("count", {}, 1, wrong);
  std::atomic<bool> satisfied = false, releasedBefore = true, releasedAfter = false;
  std::atomic<int> completions = 0, released = 0;
  auto completed = interceptor().events().kernelCompleted.subscribe([&](const KernelCompletion &) { ++completions; });
  auto inVain = interceptor().packetsReleased().subscribe([&](const PacketBatch &batch) {
    released += batch.entries.size() == 2; // as the callback left it
  });
  auto packets = interceptor().packets().subscribe([&](PacketBatch &batch) {
    batch.entries.push_back({other, {}});
    releasedBefore = batch.released.load();
    satisfied = GetParam().wait(done);
    releasedAfter = batch.released.load();
    batch.entries.front().packet.kernelDispatch()->kernarg_address = other.kernelDispatch()->kernarg_address;
    batch.entries.front().completed = [](const KernelCompletion &) { ADD_FAILURE(); };
  });
  AppQueue queue(gpu(), 64);
  queue.submit(kernels.dispatch("count", done, 64, counter));
  EXPECT_TRUE(satisfied);
  EXPECT_FALSE(releasedBefore);
  EXPECT_TRUE(releasedAfter);
  EXPECT_TRUE(done.waitFor(0));
  EXPECT_EQ(*counter, 64u);
  EXPECT_EQ(*wrong, 0u);
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(interceptor().queues().drainCompletions()); // while somebody waits, the application is told first
  EXPECT_EQ(completions, 1);
  packets.cancel();
  // The queue goes on.
  const AppSignal last(1);
  queue.submit(kernels.dispatch("count", last, 1, counter));
  EXPECT_TRUE(last.waitFor(0));
  EXPECT_EQ(*counter, 65u);
}

TEST_P(EveryWayToWait, ForTheCompletionThatTheCallbackHoldsUp) {
  const AppSignal done(1);
  std::atomic<bool> satisfied = false;
  auto subscription = interceptor().events().kernelCompleted.subscribe(
      [&](const KernelCompletion &) { satisfied = GetParam().wait(done); });
  {
    AppQueue queue(gpu(), 64);
    queue.submit(kernels.dispatch("count", done, 1, kernels.shared<uint64_t>()));
    EXPECT_TRUE(done.waitFor(0));
    EXPECT_TRUE(interceptor().queues().drainCompletions());
  }
  EXPECT_TRUE(satisfied);
  EXPECT_EQ(done.load(), 0); // decremented once
}

// The thread that tells of completions is inside the callback.
TEST_P(EveryWayToWait, ForALaterCompletion) {
  const AppSignal first(1), gate(1), second(1);
  std::atomic<bool> satisfied = false;
  std::vector<uint64_t> order;
  auto subscription = interceptor().events().kernelCompleted.subscribe([&](const KernelCompletion &completion) {
    order.push_back(completion.packet.completionSignal().handle);
    if (completion.packet.completionSignal().handle != hsa_signal_t(first).handle)
      return;
    hsa_signal_store_screlease(gate, 0);
    satisfied = GetParam().wait(second);
  });
  auto *counter = kernels.shared<uint64_t>();
  AppQueue queue(gpu(), 64);
  queue.submit(kernels.dispatch("count", first, 1, counter));
  queue.submit(barrier({gate}, {}));
  queue.submit(kernels.dispatch("count", second, 1, counter));
  EXPECT_TRUE(second.waitFor(0));
  EXPECT_TRUE(interceptor().queues().drainCompletions());
  EXPECT_TRUE(satisfied);
  EXPECT_EQ(order, (std::vector{hsa_signal_t(first).handle, hsa_signal_t(second).handle}));
  EXPECT_EQ(second.load(), 0);
}

// A callback waits under a lock that another thread's callback wants, for what that callback holds up.
TEST_P(EveryWayToWait, ForWhatAnotherThreadsCallbackHoldsUp) {
  std::mutex tool;
  std::atomic<bool> waits = false, satisfied = false;
  const AppSignal done(1);
  AppQueue mine(gpu(), 64), theirs(gpu(), 64);
  auto packets = interceptor().packets().subscribe([&](PacketBatch &batch) {
    if (batch.queue.queue == mine.raw()) {
      const std::lock_guard lock(tool);
      waits = true;
      satisfied = GetParam().wait(done);
    } else {
      const std::lock_guard lock(tool);
    }
  });
  auto completed = interceptor().events().kernelCompleted.subscribe(
      [&](const KernelCompletion &) { const std::lock_guard lock(tool); });
  auto *counter = kernels.shared<uint64_t>();
  std::thread other([&] {
    while (!waits)
      std::this_thread::yield();
    theirs.submit(kernels.dispatch("count", done, 1, counter));
  });
  mine.submit(kernels.dispatch("count", {}, 1, counter));
  other.join();
  EXPECT_TRUE(satisfied);
  EXPECT_TRUE(interceptor().queues().drainCompletions());
  EXPECT_EQ(*counter, 2u);
}

TEST_F(CallbackWaitsTest, WhatIsOverAtOnceReleasesNothing) {
  const AppSignal over(0), done(1);
  auto *counter = kernels.shared<uint64_t>();
  std::atomic<bool> released = true;
  auto packets = interceptor().packets().subscribe([&](PacketBatch &batch) {
    for (const Way &way : kWays)
      EXPECT_TRUE(way.wait(over)) << way.name;
    EXPECT_EQ(done.load(), 1); // a look is not a wait
    released = batch.released.load();
    batch.entries.push_back(batch.entries.front());
    batch.entries.front().packet.setCompletionSignal({});
  });
  AppQueue queue(gpu(), 64);
  queue.submit(kernels.dispatch("count", done, 1, counter));
  EXPECT_TRUE(done.waitFor(0));
  EXPECT_FALSE(released);
  EXPECT_EQ(*counter, 2u); // the change has counted
}

// More than its queue takes.
TEST_F(CallbackWaitsTest, CallbackMayFillItsOwnQueue) {
  const AppSignal done(1);
  auto *counter = kernels.shared<uint64_t>();
  const AqlPacket more = kernels.dispatch("count", {}, 1, counter);
  AppQueue queue(gpu(), 64);
  std::atomic<bool> first = true;
  auto packets = interceptor().packets().subscribe([&](PacketBatch &) {
    if (first.exchange(false))
      for (int n = 0; n < 200; ++n)
        queue.submit(more);
  });
  AqlPacket last = kernels.dispatch("count", done, 1, counter);
  last.setBarrierBit(true);
  queue.submit(more);
  queue.submit(last);
  EXPECT_TRUE(done.waitFor(0));
  EXPECT_EQ(*counter, 202u);
}

// No lock is held while a callback runs: who rings the same doorbell gets away.
TEST_F(CallbackWaitsTest, OthersMayRingWhileACallbackRuns) {
  const AppSignal first(1), second(1);
  auto *counter = kernels.shared<uint64_t>();
  AppQueue queue(gpu(), 64);
  std::atomic<bool> inside = false, rung = false, seen = false;
  auto packets = interceptor().packets().subscribe([&](PacketBatch &) {
    if (inside.exchange(true))
      return;
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!rung && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    seen = rung.load();
  });
  std::thread other([&] {
    while (!inside)
      std::this_thread::yield();
    queue.submit(kernels.dispatch("count", second, 1, counter));
    rung = true;
  });
  queue.submit(kernels.dispatch("count", first, 1, counter));
  other.join();
  EXPECT_TRUE(seen);
  EXPECT_TRUE(first.waitFor(0));
  EXPECT_TRUE(second.waitFor(0));
}

TEST_F(CallbackWaitsTest, CallbackMayCreateAndDestroyQueues) {
  const AppSignal done(1);
  std::atomic<int> batches = 0;
  auto packets = interceptor().packets().subscribe([&](PacketBatch &) {
    if (++batches == 1)
      AppQueue(gpu(), 64);
  });
  AppQueue queue(gpu(), 64);
  queue.submit(barrier({}, done));
  EXPECT_TRUE(done.waitFor(0));
}

} // namespace
} // namespace luthier::hsa::test
