// Callbacks around functions and replacements of them, without ROCr.
#include "fake_rocr.h"
#include "hsa/callback_scope.h"
#include "hsa/held_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::hsa::test {
namespace {

using testing::ElementsAre;

class CallsTest : public testing::Test {
protected:
  CallsTest() {
    rocr.provide<ApiId::hsa_amd_queue_set_priority>(
        [](hsa_queue_t *, hsa_amd_queue_priority_t priority) { return static_cast<hsa_status_t>(priority); });
    rocr.provide<ApiId::hsa_signal_store_relaxed>([](hsa_signal_t, hsa_signal_value_t value) { stored = value; });
  }
  static hsa_status_t call(int priority) {
    return calls::wrappers().get<ApiId::hsa_amd_queue_set_priority>()(nullptr,
                                                                      static_cast<hsa_amd_queue_priority_t>(priority));
  }

  FakeRocr rocr;
  static inline int64_t stored = 0;
};

TEST_F(CallsTest, WithoutListenersTheOriginalIsCalled) { EXPECT_EQ(call(7), 7); }

TEST_F(CallsTest, ArgumentsAndResultsCanBeChanged) {
  auto before = calls::before<ApiId::hsa_amd_queue_set_priority>(
      [](hsa_queue_t *&, hsa_amd_queue_priority_t &priority) { priority = HSA_AMD_QUEUE_PRIORITY_HIGH; });
  EXPECT_EQ(call(7), HSA_AMD_QUEUE_PRIORITY_HIGH);
  auto after = calls::after<ApiId::hsa_amd_queue_set_priority>(
      [](hsa_status_t &status, auto &&...) { status = HSA_STATUS_ERROR; });
  EXPECT_EQ(call(7), HSA_STATUS_ERROR);
  before.cancel();
  after.cancel();
  EXPECT_EQ(call(7), 7);
}

TEST_F(CallsTest, FunctionsThatReturnNothing) {
  int calls = 0;
  auto after = calls::after<ApiId::hsa_signal_store_relaxed>([&](hsa_signal_t &, hsa_signal_value_t &) { ++calls; });
  rocr.app<ApiId::hsa_signal_store_relaxed>()({}, 5);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(stored, 5);
}

TEST_F(CallsTest, ReplacementsComeAndGo) {
  auto replacement = calls::replace<ApiId::hsa_amd_queue_set_priority>(
      [](hsa_queue_t *, hsa_amd_queue_priority_t) { return HSA_STATUS_ERROR_INVALID_QUEUE; });
  EXPECT_EQ(call(7), HSA_STATUS_ERROR_INVALID_QUEUE);
  {
    auto another = calls::replace<ApiId::hsa_amd_queue_set_priority>(
        [](hsa_queue_t *, hsa_amd_queue_priority_t) { return HSA_STATUS_ERROR_INVALID_AGENT; });
    EXPECT_EQ(call(7), HSA_STATUS_ERROR_INVALID_AGENT); // the last that was given
    replacement.cancel();                               // does not take that of another away
    EXPECT_EQ(call(7), HSA_STATUS_ERROR_INVALID_AGENT);
  }
  EXPECT_EQ(call(7), 7);
}

TEST_F(CallsTest, EveryCallIsTold) {
  std::vector<std::string> told;
  auto subscription = calls::every().subscribe([&](const CallRecord &record) {
    told.push_back(std::string(apiName(record.id)) + "(" + record.arguments + ")" + record.result);
  });
  call(1);
  rocr.app<ApiId::hsa_signal_store_relaxed>()({16}, 5);
  EXPECT_THAT(told, ElementsAre("hsa_amd_queue_set_priority(queue=null, priority=1)STATUS",
                                "hsa_signal_store_relaxed(signal=0x10, value=5)"));
}

// As a callback that looks at packets: it may block from now on.
TEST_F(CallsTest, CallsInsideCallbacksAreNotReported) {
  HeldWorks works;
  int calls = 0;
  auto subscription = calls::before<ApiId::hsa_amd_queue_set_priority>([&](auto &&...) { ++calls; });
  {
    const CallbackScope scope;
    const CallbackScope::HoldingUp holding(works);
    EXPECT_EQ(call(7), 7);
    EXPECT_TRUE(works.mayBlock());
  }
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(CallbackScope::heldUp(), nullptr);
}

// ROCr 6 waits for the GPU's caches with a function of its own interface when an executable is frozen.
TEST_F(CallsTest, CallsOfRocrItselfAreNotReported) {
  rocr.provide<ApiId::hsa_executable_freeze>([](hsa_executable_t, const char *) { return call(7); });
  rocr.provide<ApiId::hsa_iterate_agents>(
      [](hsa_status_t (*callback)(hsa_agent_t, void *), void *) { return callback({}, nullptr); });
  int calls = 0;
  auto subscription = calls::before<ApiId::hsa_amd_queue_set_priority>([&](auto &&...) { ++calls; });
  HeldWorks works;
  {
    const CallbackScope scope;
    const CallbackScope::HoldingUp holding(works);
    EXPECT_FALSE(luthier::hsa::call<ApiId::hsa_executable_freeze>(hsa_executable_t{}, nullptr));
    EXPECT_FALSE(works.mayBlock());
  }
  EXPECT_EQ(rocr.app<ApiId::hsa_executable_freeze>()({}, nullptr), 7);
  EXPECT_EQ(calls, 0);
  // A function that calls back leads to the application again.
  EXPECT_EQ(rocr.app<ApiId::hsa_iterate_agents>()([](hsa_agent_t, void *) { return call(5); }, nullptr), 5);
  EXPECT_EQ(calls, 1);
}

// A function that later ROCrs have: built without their headers, called with the types of another.
TEST_F(CallsTest, FunctionsOfLaterRocrs) {
  rocr.provide<ApiId::hsa_amd_queue_get_info>([](hsa_queue_t *queue, auto attribute, void *value) {
    *static_cast<uint64_t *>(value) = reinterpret_cast<uint64_t>(queue) + static_cast<uint64_t>(attribute);
    return HSA_STATUS_SUCCESS;
  });
  int calls = 0;
  auto subscription = calls::before<ApiId::hsa_amd_queue_get_info>([&](auto &&...) { ++calls; });
  hsa_queue_t queue;
  uint64_t value = 0;
  using Attribute = int;
  const auto asDeclaredLater = reinterpret_cast<hsa_status_t (*)(hsa_queue_t *, Attribute, void *)>(
      reinterpret_cast<void *>(rocr.app<ApiId::hsa_amd_queue_get_info>()));
  EXPECT_EQ(asDeclaredLater(&queue, 1, &value), HSA_STATUS_SUCCESS);
  EXPECT_EQ(value, reinterpret_cast<uint64_t>(&queue) + 1);
  EXPECT_EQ(calls, 1);
}

} // namespace
} // namespace luthier::hsa::test
