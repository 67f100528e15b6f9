// What is preloaded and the application's children: those that use the GPU are covered, the others do not notice.
// Runtime and tool are fakes; the exit probe stands for a program that starts HSA.

#include <gmock/gmock.h>

#include "installed_luthier.h"

#include <sys/stat.h>

namespace luthier::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char *kNever = "the application never started HSA";

class Children : public InstalledLuthier {
protected:
  void SetUp() override {
    InstalledLuthier::SetUp();
    std::filesystem::copy_file(LUTHIER_FAKE_RUNTIME, prefix_.path() / "lib/libluthier.so");
    std::filesystem::create_directories(prefix_.path() / "tools");
    std::filesystem::copy_file(LUTHIER_FAKE_TOOL, prefix_.path() / "tools/libfake.so");
    std::filesystem::copy_file(LUTHIER_EXIT_SHIM, prefix_.path() / "lib/libluthier-exit.so");
  }
  ShellOutcome run(const std::string &command, const std::string &options = "") const {
    return luthier("run --gpu gfx90a --tool fake " + options + " -- " + command);
  }
  static size_t marks() {
    size_t count = 0;
    for (const auto &file : std::filesystem::directory_iterator("/dev/shm"))
      count += file.path().filename().string().starts_with("luthier-hsa-");
    return count;
  }
};

TEST_F(Children, FirstProcessSaysThatHsaWasNeverStarted) {
  for (const char *how : {"true", "sh -c 'exit 0'", "sh -c true"}) {
    const ShellOutcome outcome = run(how);
    EXPECT_EQ(outcome.exitCode(), 0) << how;
    EXPECT_THAT(outcome.err, HasSubstr(std::string("luthier: warning: no results: ") + kNever)) << how;
  }
  const ShellOutcome ended = run(LUTHIER_EXIT_PROBE " unregistered"); // by _exit
  EXPECT_EQ(ended.exitCode(), 3);
  EXPECT_THAT(ended.err, HasSubstr(kNever));
}

TEST_F(Children, StrictMakesItAnError) {
  const ShellOutcome outcome = run("sh -c 'echo text'", "--strict");
  EXPECT_EQ(outcome.exitCode(), 1);
  EXPECT_EQ(outcome.out, "text\n");
  EXPECT_THAT(outcome.err, HasSubstr(std::string("luthier: error: no results: ") + kNever));
  EXPECT_EQ(run("sh -c 'exit 7'", "--strict").exitCode(), 7); // it says more
}

TEST_F(Children, WhoStartsHsaIsNotTold) {
  for (const char *how : {"_exit", "exit", "quick_exit"}) {
    const ShellOutcome outcome = run(std::string(LUTHIER_EXIT_PROBE " ") + how, "--strict");
    EXPECT_EQ(outcome.exitCode(), 3) << how;
    EXPECT_THAT(outcome.err, IsEmpty()) << how;
  }
}

// A script whose child is the GPU program.
TEST_F(Children, ChildThatStartsHsaCounts) {
  const size_t before = marks();
  const ShellOutcome outcome = run("sh -c '" LUTHIER_EXIT_PROBE " _exit; true; exit 0'", "--strict");
  EXPECT_EQ(outcome.exitCode(), 0);
  EXPECT_EQ(outcome.out, "flushed\n");
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(marks(), before);
}

TEST_F(Children, OthersDoNotNotice) {
  const std::string script = "sh -c 'sh -c \"ls /proc/self/fd\"; env --version; sh -c \"exit 5\"; echo $?'";
  const ShellOutcome outcome = run(script), plain = luthier("run --gpu gfx90a -- " + script);
  EXPECT_EQ(outcome.out, plain.out);
  EXPECT_THAT(plain.out, StartsWith("0\n1\n")); // descriptors
  // One line, that of the first process.
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_THAT(plain.err, IsEmpty());
}

TEST_F(Children, PreloadsOfTheUserComeBehindInTheirOrder) {
  setenv("LD_PRELOAD", "libm.so.6 libdl.so.2:librt.so.1", 1);
  const ShellOutcome outcome = run("sh -c 'printf %s \"$LD_PRELOAD\"'");
  unsetenv("LD_PRELOAD");
  EXPECT_EQ(outcome.out, (driverFolder_ / "libluthier-vgpu.so").string() + ":" +
                             (prefix_.path() / "lib/libluthier-exit.so").string() + ":libm.so.6:libdl.so.2:librt.so.1");
}

TEST_F(Children, SetUidProgramsAreLeftAlone) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can make a set-uid program of another user's";
  const auto program = prefix_.path() / "set_uid";
  std::filesystem::copy_file(LUTHIER_EXIT_PROBE, program);
  std::filesystem::permissions(prefix_.path(), std::filesystem::perms(0755));
  ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  const ShellOutcome outcome = run("sh -c '" + program.string() + " _exit; true'");
  if (outcome.out == "flushed\n")
    GTEST_SKIP() << "set-uid has no effect in " << prefix_.path();
  EXPECT_EQ(outcome.out, "no shim\n");
  EXPECT_THAT(outcome.err, Not(HasSubstr("set_uid")));
}

} // namespace
} // namespace luthier::cli
