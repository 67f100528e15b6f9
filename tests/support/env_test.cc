#include "support/env.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace luthier::env {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char *variable = "LUTHIER_ENV_TEST";

class Env : public testing::Test {
protected:
  void SetUp() override { unsetenv(variable); }
  void TearDown() override { unsetenv(variable); }
  static void set(const char *value) { setenv(variable, value, 1); }
};

TEST_F(Env, UnsetAndEmptyGiveTheFallback) {
  EXPECT_EQ(text(variable), std::nullopt);
  EXPECT_EQ(*number(variable, 5), 5u);
  EXPECT_EQ(*flag(variable, true), true);
  EXPECT_THAT(*list(variable), IsEmpty());
  EXPECT_EQ(*choice(variable, {"a", "b"}, 1), 1u);
  set("");
  EXPECT_EQ(text(variable), std::nullopt);
  EXPECT_EQ(*number(variable, 5), 5u);
}

TEST_F(Env, Text) {
  set("  as is ");
  EXPECT_EQ(text(variable), "  as is ");
}

TEST_F(Env, Number) {
  set("12");
  EXPECT_EQ(*number(variable, 0), 12u);
  set("0x1F");
  EXPECT_EQ(*number(variable, 0), 31u);
  set("18446744073709551615");
  EXPECT_EQ(*number(variable, 0), ~uint64_t{0});
}

TEST_F(Env, NumberRejectsWithNameValueAndRange) {
  for (const char *bad : {"twelve", "12x", "-1", "0", "65", "0x", "1.5", "18446744073709551616"}) {
    set(bad);
    Result<uint64_t> result = number(variable, 1, 1, 64);
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().message(), fmt::format("LUTHIER_ENV_TEST is '{}'; expected a number from 1 to 64", bad));
  }
  set("x");
  EXPECT_EQ(number(variable, 1, 1).error().message(), "LUTHIER_ENV_TEST is 'x'; expected a number of at least 1");
}

TEST_F(Env, Flag) {
  for (const char *yes : {"1", "true", "yes", "on"}) {
    set(yes);
    EXPECT_TRUE(*flag(variable, false)) << yes;
  }
  for (const char *no : {"0", "false", "no", "off"}) {
    set(no);
    EXPECT_FALSE(*flag(variable, true)) << no;
  }
  set("maybe");
  EXPECT_FALSE(flag(variable, true));
}

TEST_F(Env, List) {
  set("gfx90a");
  EXPECT_THAT(*list(variable), ElementsAre("gfx90a"));
  set("gfx90a, gfx90a ,gfx1030");
  EXPECT_THAT(*list(variable), ElementsAre("gfx90a", "gfx90a", "gfx1030"));
  for (const char *bad : {",", "a,", ",a", "a,,b", " "}) {
    set(bad);
    EXPECT_FALSE(list(variable)) << bad;
  }
}

TEST_F(Env, Choice) {
  set("b");
  EXPECT_EQ(*choice(variable, {"a", "b"}, 0), 1u);
  set("c");
  EXPECT_EQ(choice(variable, {"a", "b"}, 0).error().message(), "LUTHIER_ENV_TEST is 'c'; expected one of: a, b");
}

/// What the probe prints when `user` runs a copy of it, which belongs to root.
std::string probe(const std::filesystem::path &copy, uid_t user) {
  int out[2];
  if (pipe(out) != 0)
    return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    char path[4096] = {};
    copy.string().copy(path, sizeof path - 1);
    char text[] = "LUTHIER_ENV_TEST=chosen", level[] = "LUTHIER_LOG=debug";
    char *arguments[] = {path, nullptr}, *environment[] = {text, level, nullptr};
    if (setgid(user) == 0 && setuid(user) == 0)
      execve(path, arguments, environment);
    _exit(1);
  }
  close(out[1]);
  char buffer[256] = {};
  std::string result;
  for (ssize_t count; (count = read(out[0], buffer, sizeof buffer)) > 0;)
    result.append(buffer, static_cast<size_t>(count));
  close(out[0]);
  waitpid(child, nullptr, 0);
  return result;
}

TEST(EnvOfSetUserIdPrograms, IsIgnored) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can make a program that runs as another user than its caller";
  std::string pattern = (std::filesystem::temp_directory_path() / "luthier-test-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data()), copy = folder / "probe";
  std::filesystem::copy_file(ENV_PROBE, copy);
  constexpr uid_t kNobody = 65534;
  chmod(folder.c_str(), 0755);
  chmod(copy.c_str(), 0755);
  const std::string plain = probe(copy, kNobody);
  chmod(copy.c_str(), 04755);
  const std::string raised = probe(copy, kNobody);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(plain, "secure 0 text chosen log 3\n");
  if (raised.starts_with("secure 0"))
    GTEST_SKIP() << "set-user-ID programs have no effect in " << folder;
  EXPECT_EQ(raised, "secure 1 text unset log 1\n");
}

} // namespace
} // namespace luthier::env
