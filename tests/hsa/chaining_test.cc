// Luthier beside another HSA tool, loaded before and after it; HSA shut down and started again.
#include "fixture.h"
#include "hsa/queue_interception.h"

#include <atomic>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace luthier::hsa::test {
namespace {

uint64_t ask(const char *function) {
  void *library = dlopen(SECOND_TOOL, RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(library, nullptr);
  const auto counter = reinterpret_cast<uint64_t (*)()>(dlsym(library, function));
  const uint64_t count = counter ? counter() : UINT64_MAX;
  dlclose(library);
  return count;
}

struct Case {
  const char *name;
  std::vector<std::string> tools;
  bool interceptQueues; ///< the second tool uses ROCr's intercept queues
};

void PrintTo(const Case &parameter, std::ostream *stream) { *stream << parameter.name; }

class ChainingTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    if (GetParam().interceptQueues)
      setenv("SECOND_TOOL_INTERCEPT_QUEUES", "1", 1);
    else
      unsetenv("SECOND_TOOL_INTERCEPT_QUEUES");
  }
};

TEST_P(ChainingTest, BothToolsSeeEverything) {
  Interceptor &interceptor = Interceptor::instance();
  std::atomic<unsigned> freezes = 0, queues = 0, packets = 0, completions = 0;
  auto onFreeze = interceptor.before<ApiId::hsa_executable_freeze>([&](auto &&...) { ++freezes; });
  auto onQueue = interceptor.events().queueCreated.subscribe([&](const QueueInfo &) { ++queues; });
  auto onPackets = interceptor.packets().subscribe(
      [&](PacketBatch &batch) { packets += static_cast<unsigned>(batch.entries.size()); });
  auto onCompletion = interceptor.events().kernelCompleted.subscribe([&](const KernelCompletion &) { ++completions; });

  startHsa(GetParam().tools);
  ASSERT_NE(receivedTable(), nullptr);
  {
    const Agent gpu = value(Agent::gpus()).at(0);
    Kernels kernels(gpu);
    // What Kernels froze did not go through the table.
    const OwnedExecutable executable = value(Executable::create());
    EXPECT_EQ(hsa_executable_freeze(executable->raw(), nullptr), HSA_STATUS_SUCCESS);
    AppQueue queue(gpu, 256); // an intercept queue of ROCr's that gets full fails an assertion
    auto *counter = kernels.shared<uint64_t>();
    const AppSignal done(100);
    for (int n = 0; n < 100; ++n)
      queue.submit(kernels.dispatch("count", done, 1, counter));
    ASSERT_TRUE(done.waitFor(0));
    EXPECT_EQ(*counter, 100u);
    EXPECT_EQ(ask("secondToolQueues"), 1u);
    EXPECT_GE(ask("secondToolExecutables"), 1u);
    if (GetParam().interceptQueues)
      EXPECT_EQ(ask("secondToolPackets"), 100u);
    EXPECT_EQ(freezes, 1u);
    EXPECT_EQ(queues, 1u);
    EXPECT_EQ(packets, 100u);
    EXPECT_EQ(completions, 100u);
  }
  stopHsa();
  EXPECT_EQ(receivedTable(), nullptr);
  EXPECT_FALSE(interceptor.installed());
}

INSTANTIATE_TEST_SUITE_P(Tools, ChainingTest,
                         testing::Values(Case{"LuthierFirst", {"luthier", SECOND_TOOL}, false},
                                         Case{"LuthierLast", {SECOND_TOOL, "luthier"}, false},
                                         Case{"LuthierFirstInterceptQueues", {"luthier", SECOND_TOOL}, true},
                                         Case{"LuthierLastInterceptQueues", {SECOND_TOOL, "luthier"}, true}),
                         [](const auto &parameter) { return parameter.param.name; });

// HSA is shut down right after the last kernel, without waiting for its callback.
TEST(RestartTest, NoCompletionIsLostAtShutDown) {
  Interceptor &interceptor = Interceptor::instance();
  for (int round = 0; round < 5; ++round) {
    std::atomic<unsigned> completions = 0;
    auto subscription = interceptor.events().kernelCompleted.subscribe([&](const KernelCompletion &) {
      std::this_thread::sleep_for(1ms); // behind the kernels
      ++completions;
    });
    startHsa();
    {
      const Agent gpu = value(Agent::gpus()).at(0);
      Kernels kernels(gpu);
      AppQueue queue(gpu, 64);
      for (int n = 0; n < 50; ++n)
        queue.submit(kernels.dispatch("count", {}, 1, kernels.shared<uint64_t>()));
      const AppSignal done(1);
      queue.submit(barrier({}, done));
      ASSERT_TRUE(done.waitFor(0));
    }
    stopHsa();
    EXPECT_EQ(completions, 50u);
    if (!canStartAgain())
      break; // the one round counts all the same
  }
}

// It has none of our threads, and must not wait for them.
TEST(RestartTest, ForkedChildEnds) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer knows no threads in a forked child of a process that has some";
#endif
  Interceptor &interceptor = Interceptor::instance();
  startHsa();
  {
    const Agent gpu = value(Agent::gpus()).at(0);
    Kernels kernels(gpu);
    AppQueue queue(gpu, 64);
    const AppSignal gate(1), done(1);
    const AqlPacket more = kernels.dispatch("count", done, 1, kernels.shared<uint64_t>());
    std::atomic<bool> first = true;
    auto completed = interceptor.events().kernelCompleted.subscribe([](const KernelCompletion &) {});
    auto packets = interceptor.packets().subscribe([&](PacketBatch &) {
      if (first.exchange(false))
        queue.submit(more); // by the thread for packets
    });
    queue.submit(barrier({gate}, {}));
    while (interceptor.queues().awaitedCompletions() == 0)
      std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      interceptor.queues().drainCompletions();
      interceptor.uninstall();
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    gate.store(0);
    EXPECT_TRUE(done.waitFor(0));
  }
  stopHsa();
}

TEST(RestartTest, NotInitialisedIsAnError) {
  const auto agents = Agent::all();
  ASSERT_FALSE(agents);
  startHsa();
  EXPECT_EQ(value(Agent::gpus()).size(), 1u);
  stopHsa();
  EXPECT_THAT(errorOf(Agent::all()), testing::HasSubstr("HSA_STATUS_ERROR_NOT_INITIALIZED"));
}

} // namespace
} // namespace luthier::hsa::test
