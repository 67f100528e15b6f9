#include "support/expand_keys.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace luthier {
namespace {

TEST(Keys, AreReplaced) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  setenv("LUTHIER_TEST_KEY", "7", 1);
  unsetenv("LUTHIER_TEST_NONE");
  EXPECT_EQ(*expandKeys("/r/%hostname%-%pid%.json"),
            std::string("/r/") + host + "-" + std::to_string(getpid()) + ".json");
  EXPECT_EQ(*expandKeys("rank%env{LUTHIER_TEST_KEY}%-%env{LUTHIER_TEST_NONE}%."), "rank7-.");
}

TEST(Keys, OrdinaryPercentSigns) {
  for (const char *text : {"", "100%", "a%%b", "50% of 60%", "%", "%env{A"})
    EXPECT_EQ(*expandKeys(text), text);
  for (const char *text : {"%x%", "%PID%", "%env{}%", "%env{A B}%"})
    EXPECT_FALSE(expandKeys(text)) << text;
}

} // namespace
} // namespace luthier
