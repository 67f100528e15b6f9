#include "runtime/run_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::runtime {
namespace {

using testing::ElementsAre;

TEST(RunAccount, SumsUp) {
  RunAccount account;
  const auto kernel = account.kernel("1 ");
  kernel->name = "fill";
  kernel->seen = 3;
  kernel->run = 2;
  account.addSeconds(0.5);
  account.addSeconds(0.25);
  account.addLost(7);
  account.addLost(1);
  const report::Account now = account.now();
  ASSERT_EQ(now.kernels.size(), 1u);
  EXPECT_EQ(now.kernels[0].name, "fill");
  EXPECT_EQ(now.kernels[0].launches, 3u);
  EXPECT_EQ(now.kernels[0].launchesInstrumented, 2u);
  EXPECT_EQ(now.seconds, 0.75);
  EXPECT_EQ(now.recordsLost, 8u);
}

TEST(RunAccount, TellsWhetherThereIsSomethingNew) {
  RunAccount account;
  EXPECT_FALSE(account.takeChange());
  account.kernel("");
  EXPECT_TRUE(account.takeChange());
  EXPECT_FALSE(account.takeChange());
  account.logAndRecord(log::Level::debug, "a message");
  EXPECT_TRUE(account.takeChange());
}

TEST(RunAccount, KnowsWhatTheUserHasSeen) {
  RunAccount account;
  testing::internal::CaptureStderr();
  account.logAndRecord(log::Level::error, "loud");
  account.logAndRecord(log::Level::debug, "quiet");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "luthier: error: loud\n");
  EXPECT_THAT(account.now().messages, ElementsAre("loud", "quiet"));
  EXPECT_THAT(account.now().shown, ElementsAre("loud"));
}

TEST(RunAccount, AFailureIsRecordedBeforeItEndsTheRun) {
  RunAccount account;
  account.fail("first");
  std::vector<std::string> atTheEnd;
  account.endOnFailure([&] { atTheEnd = account.now().messages; });
  EXPECT_THAT(atTheEnd, ElementsAre());
  account.fail("second");
  EXPECT_THAT(atTheEnd, ElementsAre("first", "second"));
}

} // namespace
} // namespace luthier::runtime
