#include "fixture.h"

#include <atomic>
#include <thread>

namespace luthier::hsa::test {
namespace {

using testing::HasSubstr;

class SignalTest : public HsaTest {};

TEST_F(SignalTest, ValuesChange) {
  const OwnedSignal signal = value(Signal::create(5));
  EXPECT_EQ(signal->load(), 5);
  signal->store(-7);
  EXPECT_EQ(signal->load(), -7);
  signal->add(10);
  EXPECT_EQ(signal->load(), 3);
  signal->subtract(1);
  EXPECT_EQ(signal->load(), 2);
  EXPECT_EQ(signal->exchange(8), 2);
  EXPECT_EQ(signal->load(), 8);
}

TEST_F(SignalTest, ConsumersCanBeNamed) {
  const Agent consumers[] = {gpu(), cpu()};
  EXPECT_EQ(value(Signal::create(1, consumers))->load(), 1);
}

TEST_F(SignalTest, WaitsForEachCondition) {
  const OwnedSignal signal = value(Signal::create(4));
  EXPECT_EQ(signal->wait(HSA_SIGNAL_CONDITION_EQ, 4), 4);
  EXPECT_EQ(signal->wait(HSA_SIGNAL_CONDITION_NE, 5), 4);
  EXPECT_EQ(signal->wait(HSA_SIGNAL_CONDITION_LT, 5), 4);
  EXPECT_EQ(signal->wait(HSA_SIGNAL_CONDITION_GTE, 4, 1s, HSA_WAIT_STATE_ACTIVE), 4);
  EXPECT_EQ(signal->wait(HSA_SIGNAL_CONDITION_EQ, 5, 1ms), std::nullopt);
  EXPECT_EQ(signal->wait(HSA_SIGNAL_CONDITION_LT, 4, 0ms), std::nullopt);
  std::thread other([&] { signal->store(0); });
  EXPECT_EQ(signal->wait(HSA_SIGNAL_CONDITION_LT, 1, kPatience), 0);
  other.join();
}

TEST_F(SignalTest, ErrorsCarryRocrsText) {
  EXPECT_THAT(errorOf(Signal().destroy()), HasSubstr("hsa_signal_destroy: HSA_STATUS_ERROR_INVALID_ARGUMENT"));
}

TEST_F(SignalTest, OwnershipEndsOnce) {
  OwnedSignal signal = value(Signal::create(1));
  const Signal plain = signal.release();
  EXPECT_FALSE(static_cast<bool>(signal));
  EXPECT_EQ(plain.load(), 1);
  OwnedSignal again(plain);
  OwnedSignal moved = std::move(again);
  EXPECT_EQ(*moved, plain);
  succeed(moved.destroy());
  succeed(moved.destroy());
}

TEST_F(SignalTest, ClockRuns) {
  EXPECT_GT(value(timestampFrequency()), 1'000'000u);
  const uint64_t before = value(timestamp());
  EXPECT_GE(value(timestamp()), before);
}

} // namespace
} // namespace luthier::hsa::test
