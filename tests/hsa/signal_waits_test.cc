// Waits for several signals, without ROCr, whose own are not safe in all releases (src/hsa/backoff.h).
#include "fake_rocr.h"
#include "hsa/backoff.h"
#include "hsa/callback_scope.h"
#include "hsa/callback_waits.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace luthier::hsa::test {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kMillisecond = 1'000'000; ///< in ticks of the fake's clock

class SignalWaitsTest : public testing::Test {
protected:
  SignalWaitsTest() {
    for (hsa_signal_t &signal : signals)
      original<ApiId::hsa_signal_create>()(1, 0, nullptr, &signal);
  }
  void set(size_t n, hsa_signal_value_t value) { original<ApiId::hsa_signal_store_relaxed>()(signals[n], value); }
  template <ApiId id> uint32_t wait(uint64_t timeout) {
    return rocr.app<id>()(4, signals, conditions, values, timeout, HSA_WAIT_STATE_BLOCKED, satisfying);
  }

  FakeRocr rocr; // without functions that wait: whoever calls them crashes
  HeldWorks works{{.usual = 5ms, .short_ = 1ms}};
  CallbackWaits waits{works};
  hsa_signal_t signals[4] = {};
  hsa_signal_condition_t conditions[4] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_GTE,
                                          HSA_SIGNAL_CONDITION_LT};
  hsa_signal_value_t values[4] = {1, 5, 9, 1};
  hsa_signal_value_t satisfying[4] = {-1, -1, -1, -1};
};

TEST_F(SignalWaitsTest, ForAny) {
  set(3, -7);
  EXPECT_EQ(wait<ApiId::hsa_amd_signal_wait_any>(UINT64_MAX), 3u);
  EXPECT_EQ(satisfying[0], -7); // the one value, wherever its signal is
  EXPECT_EQ(satisfying[3], -1);
  set(1, 5);
  EXPECT_EQ(wait<ApiId::hsa_amd_signal_wait_any>(UINT64_MAX), 1u);
  EXPECT_EQ(satisfying[0], 5);
}

TEST_F(SignalWaitsTest, ForAnyInVain) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(wait<ApiId::hsa_amd_signal_wait_any>(20 * kMillisecond), UINT32_MAX);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  EXPECT_EQ(wait<ApiId::hsa_amd_signal_wait_any>(0), UINT32_MAX);
  EXPECT_EQ(satisfying[0], -1);
}

TEST_F(SignalWaitsTest, ForAll) {
  set(0, 0), set(1, 5), set(2, 10);
  EXPECT_EQ(wait<ApiId::hsa_amd_signal_wait_all>(kMillisecond), UINT32_MAX);
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    set(3, 0);
  });
  EXPECT_EQ(wait<ApiId::hsa_amd_signal_wait_all>(UINT64_MAX), 0u);
  other.join();
  EXPECT_EQ(satisfying[1], 5);
  EXPECT_EQ(satisfying[2], 10);
}

TEST_F(SignalWaitsTest, SignalsThatAreNoneAreNotWaitedFor) {
  original<ApiId::hsa_signal_destroy>()(signals[3]);
  signals[3] = {};
  EXPECT_EQ(wait<ApiId::hsa_amd_signal_wait_any>(kMillisecond), UINT32_MAX);
  set(0, 0), set(1, 5), set(2, 10);
  EXPECT_EQ(wait<ApiId::hsa_amd_signal_wait_all>(UINT64_MAX), 0u);
  EXPECT_EQ(satisfying[3], 0);
}

TEST_F(SignalWaitsTest, InsideACallbackWhatIsHeldUpGoesOn) {
  struct Work final : HeldWork {
    explicit Work(hsa_signal_t given) : signal(given) {}
    bool release() override {
      original<ApiId::hsa_signal_store_relaxed>()(signal, 9); // as what waits for the callback would
      return true;
    }
    hsa_signal_t signal;
  } work(signals[2]);
  const HeldWorks::Holding holding(works, work);
  const CallbackScope scope;
  EXPECT_EQ(wait<ApiId::hsa_amd_signal_wait_any>(UINT64_MAX), 2u);
}

// HIP 7 waits so, with a lock that a callback which calls HIP waits for.
TEST_F(SignalWaitsTest, ShortWaitsInALoopReleaseWhatIsStuck) {
  struct Work final : HeldWork {
    explicit Work(hsa_signal_t given) : signal(given) {}
    bool release() override {
      original<ApiId::hsa_signal_store_relaxed>()(signal, 9);
      return true;
    }
    hsa_signal_t signal;
  } work(signals[2]);
  std::atomic<bool> end = false, held = false;
  std::thread callback([&] {
    const HeldWorks::Holding holding(works, work);
    held = true;
    held.notify_one();
    end.wait(false);
  });
  held.wait(false);
  uint32_t met = UINT32_MAX;
  for (int n = 0; met == UINT32_MAX && n < 10'000; ++n)
    met = wait<ApiId::hsa_amd_signal_wait_any>(kMillisecond);
  end = true;
  end.notify_one();
  callback.join();
  EXPECT_EQ(met, 2u);
}

// ROCr's own wait, in a function that a callback calls, is not for what callbacks hold up.
TEST_F(SignalWaitsTest, RocrsOwnWaitsReleaseNothing) {
  struct Work final : HeldWork {
    bool release() override { return ++releases; }
    int releases = 0;
  } work;
  static hsa_signal_t own;
  own = signals[0];
  rocr.provide<ApiId::hsa_signal_wait_scacquire>([](auto signal, auto...) -> hsa_signal_value_t {
    original<ApiId::hsa_signal_store_relaxed>()(signal, 0);
    return 0;
  });
  const auto wait = +[](hsa_executable_t, const char *) {
    return calls::wrappers().get<ApiId::hsa_signal_wait_scacquire>()(own, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                                                     HSA_WAIT_STATE_BLOCKED) == 0
               ? HSA_STATUS_SUCCESS
               : HSA_STATUS_ERROR;
  };
  rocr.provide<ApiId::hsa_executable_freeze>(wait);
  const HeldWorks::Holding holding(works, work);
  const CallbackScope scope;
  EXPECT_TRUE(call<ApiId::hsa_executable_freeze>(hsa_executable_t{}, nullptr));
  EXPECT_EQ(work.releases, 0);
  set(0, 1);
  EXPECT_EQ(wait({}, nullptr), HSA_STATUS_SUCCESS); // the callback's own
  EXPECT_EQ(work.releases, 1);
}

TEST(BackoffTest, IsNeverLateByMuch) {
  EXPECT_EQ(Backoff::pauseAfter(1us), 0us);
  EXPECT_EQ(Backoff::pauseAfter(60us), 20us);
  EXPECT_EQ(Backoff::pauseAfter(800us), 100us);
  EXPECT_EQ(Backoff::pauseAfter(1h), 1ms);
}

} // namespace
} // namespace luthier::hsa::test
