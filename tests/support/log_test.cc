#include "support/log.h"

#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace luthier::log {
namespace {

// The level is read once per process, so each level is looked at in a child: a death test runs its statement in one.
void logAllLevels(const char *level) {
  if (level)
    setenv("LUTHIER_LOG", level, 1);
  else
    unsetenv("LUTHIER_LOG");
  error("e{}", 1);
  warn("w{}", 2);
  info("i{}", 3);
  debug("d{}", 4);
  std::_Exit(0);
}

class Log : public testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
using LogDeathTest = Log;

constexpr auto exitedWell = [](int status) { return status == 0; };

TEST_F(LogDeathTest, WarnIsTheDefault) {
  EXPECT_EXIT(logAllLevels(nullptr), exitedWell, "^luthier: error: e1\nluthier: warning: w2\n$");
}
TEST_F(LogDeathTest, Error) { EXPECT_EXIT(logAllLevels("error"), exitedWell, "^luthier: error: e1\n$"); }
TEST_F(LogDeathTest, Info) {
  EXPECT_EXIT(logAllLevels("info"), exitedWell, "^luthier: error: e1\nluthier: warning: w2\nluthier: i3\n$");
}
TEST_F(LogDeathTest, Debug) {
  EXPECT_EXIT(logAllLevels("debug"), exitedWell,
              "^luthier: error: e1\nluthier: warning: w2\nluthier: i3\nluthier: debug: d4\n$");
}
TEST_F(LogDeathTest, UnknownLevelIsSaid) {
  EXPECT_EXIT(logAllLevels("loud"), exitedWell,
              "LUTHIER_LOG is 'loud'; expected one of: error, warn, info, debug; using warn");
}

TEST_F(Log, EveryLineOfAMessageHasThePrefix) {
  testing::internal::CaptureStderr();
  write(Level::warn, "one\ntwo");
  write(Level::info, "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "luthier: warning: one\nluthier: warning: two\nluthier: \n");
}

TEST_F(Log, ThreadsDoNotInterleave) {
  constexpr int threads = 8, lines = 200;
  testing::internal::CaptureStderr();
  {
    std::vector<std::jthread> writers;
    for (int t = 0; t < threads; ++t)
      writers.emplace_back([t] {
        for (int i = 0; i < lines; ++i)
          write(Level::info, fmt::format("thread {} line {} {}", t, i, std::string(100, 'x')));
      });
  }
  std::istringstream output(testing::internal::GetCapturedStderr());
  std::set<std::string> seen;
  for (std::string line; std::getline(output, line);)
    seen.insert(line);
  EXPECT_EQ(seen.size(), size_t{threads} * lines);
  for (int t = 0; t < threads; ++t)
    for (int i = 0; i < lines; ++i)
      EXPECT_TRUE(seen.contains(fmt::format("luthier: thread {} line {} {}", t, i, std::string(100, 'x'))));
}

} // namespace
} // namespace luthier::log
