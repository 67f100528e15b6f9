#include "support/find_program.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace luthier {
namespace {

TEST(FindProgram, LooksWhereExecvpDoes) {
  const std::string path = getenv("PATH");
  setenv("PATH", "/nonexistent:/usr/share:/bin:/usr/bin", 1);
  EXPECT_EQ(findProgram("sh"), "/bin/sh");
  EXPECT_EQ(findProgram("doc"), "") << "/usr/share/doc is a folder";
  EXPECT_EQ(findProgram("no-such-program"), "");
  EXPECT_EQ(findProgram("./sh"), "./sh");
  setenv("PATH", "", 1);
  EXPECT_EQ(findProgram("sh"), "");
  setenv("PATH", path.c_str(), 1);
}

} // namespace
} // namespace luthier
