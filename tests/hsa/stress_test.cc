// Queues and code objects at once: threads dispatch on queues of their own while others load, freeze and destroy
// executables. A shorter relative of tests/e2e/queues.hip that also runs under the sanitizers.
#include "fixture.h"
#include "hsa/code_capture.h"

#include <atomic>
#include <thread>

namespace luthier::hsa::test {
namespace {

constexpr int kThreads = 6, kDispatches = 300, kBarrierEvery = 8, kLoaders = 2, kLoads = 40;

using StressTest = HsaTest;

TEST_F(StressTest, QueuesWhileCodeComesAndGoes) {
  Interceptor &interceptor = Interceptor::instance();
  std::atomic<uint64_t> dispatches = 0, others = 0, completions = 0, loads = 0, freezes = 0, destructions = 0;
  const Subscription subscriptions[] = {
      interceptor.packets().subscribe([&](PacketBatch &batch) {
        for (const PacketBatch::Entry &entry : batch.entries)
          ++(entry.packet.kernelDispatch() ? dispatches : others);
      }),
      interceptor.events().kernelCompleted.subscribe([&](const KernelCompletion &) { ++completions; }),
      interceptor.events().codeLoaded.subscribe([&](const SharedCode &) { ++loads; }),
      interceptor.events().executableFrozen.subscribe([&](hsa_executable_t) { ++freezes; }),
      interceptor.events().executableDestroyed.subscribe([&](hsa_executable_t) { ++destructions; }),
  };
  Kernels kernels(gpu());
  const CodeCapture &capture = interceptor.code();
  const size_t capturedBefore = capture.all().size();

  std::vector<std::thread> running;
  std::vector<uint64_t *> counters;
  for (int t = 0; t < kThreads; ++t)
    running.emplace_back([&, counter = counters.emplace_back(kernels.shared<uint64_t>())] {
      AppQueue queue(gpu(), 64);
      const AppSignal gate(1), done(1);
      AqlPacket dispatch = kernels.dispatch("count", {}, 1, counter);
      for (int n = 0; n < kDispatches; ++n) {
        // The first ones wait for a signal that is sent when some packets are on their way.
        if (n % kBarrierEvery == 0)
          queue.submit(barrier({gate}, {}));
        if (n == 32)
          gate.store(0);
        if (n == kDispatches - 1) {
          dispatch.setCompletionSignal(done);
          dispatch.setBarrierBit(true);
        }
        queue.submit(dispatch);
      }
      EXPECT_TRUE(done.waitFor(0));
    });
  auto *loadedCounter = kernels.shared<uint64_t>();
  for (int t = 0; t < kLoaders; ++t)
    running.emplace_back([&] {
      AppQueue queue(gpu(), 64);
      for (int n = 0; n < kLoads; ++n) {
        AppExecutable executable(gpu());
        const SharedCode code = capture.find(executable.kernelObject());
        ASSERT_TRUE(code);
        EXPECT_EQ(code->executable().handle, executable.raw().handle);
        // Addresses are used again: what is executed must be what is there now.
        const AppSignal done(1);
        AqlPacket dispatch = kernels.dispatch("count", done, 1, loadedCounter);
        dispatch.kernelDispatch()->kernel_object = executable.kernelObject();
        queue.submit(dispatch);
        ASSERT_TRUE(done.waitFor(0));
      }
    });
  for (std::thread &thread : running)
    thread.join();

  for (const uint64_t *counter : counters)
    EXPECT_EQ(*counter, static_cast<uint64_t>(kDispatches));
  EXPECT_EQ(*loadedCounter, static_cast<uint64_t>(kLoaders * kLoads));
  EXPECT_EQ(dispatches, static_cast<uint64_t>(kThreads * kDispatches + kLoaders * kLoads));
  EXPECT_EQ(others, static_cast<uint64_t>(kThreads * ((kDispatches + kBarrierEvery - 1) / kBarrierEvery)));
  // Callbacks come before the application is told, but most of these dispatches tell it nothing.
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (completions != dispatches && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  EXPECT_EQ(completions, dispatches);
  EXPECT_EQ(loads, static_cast<uint64_t>(kLoaders * kLoads));
  EXPECT_EQ(freezes, loads);
  EXPECT_EQ(destructions, loads);
  EXPECT_EQ(capture.all().size(), capturedBefore);
}

} // namespace
} // namespace luthier::hsa::test
