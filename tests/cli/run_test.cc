// The `luthier` program from outside: what the shell, a script or a CI job sees of it.

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/gpu_detect.h"
#include "installed_luthier.h"

namespace luthier::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Run : public InstalledLuthier {};

TEST_F(Run, PreservesExitCodeAndOutput) {
  ShellOutcome outcome = luthier("run --gpu gfx90a -- sh -c 'echo out; echo err >&2; exit 42'");
  EXPECT_EQ(outcome.exitCode(), 42);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
}

TEST_F(Run, PreservesSignals) {
  for (int signal : {SIGTERM, SIGKILL, SIGSEGV, SIGABRT}) {
    ShellOutcome outcome = luthier("run --gpu gfx90a -- sh -c 'ulimit -c 0; kill -" + std::to_string(signal) + " $$'");
    ASSERT_TRUE(WIFSIGNALED(outcome.status)) << signal;
    EXPECT_EQ(WTERMSIG(outcome.status), signal);
  }
}

TEST_F(Run, PassesArgumentsUntouched) {
  ShellOutcome outcome = luthier("run --gpu gfx90a -- printf '<%s>' --gpu '' 'a b' -- --help");
  EXPECT_EQ(outcome.exitCode(), 0);
  EXPECT_EQ(outcome.out, "<--gpu><><a b><--><--help>");
}

TEST_F(Run, PassesStandardInput) {
  std::filesystem::path input = prefix_.write("input", "from stdin");
  EXPECT_EQ(luthier("run --gpu gfx90a -- cat <" + input.string()).out, "from stdin");
}

TEST_F(Run, SetsTheEnvironment) {
  ShellOutcome outcome = luthier("run --gpu gfx90a,gfx90a --threads 2 --stats " + (prefix_.path() / "s.json").string() +
                                 " -- sh -c 'echo $LUTHIER_VGPU_GPUS $LUTHIER_VGPU_THREADS $LUTHIER_VGPU_STATS "
                                 "$LD_LIBRARY_PATH'");
  EXPECT_THAT(outcome.out,
              StartsWith("gfx90a,gfx90a 2 " + (prefix_.path() / "s.json").string() + " " + thunkFolder_.string()));
  EXPECT_TRUE(std::filesystem::exists(prefix_.path() / "s.json"));
}

TEST_F(Run, WorksFromAnInstallation) {
  std::filesystem::create_directories(prefix_.path() / "lib/luthier");
  std::filesystem::rename(thunkFolder_, prefix_.path() / "lib/luthier/vgpu");
  EXPECT_THAT(luthier("run --gpu gfx90a -- sh -c 'echo $LD_LIBRARY_PATH'").out,
              StartsWith((prefix_.path() / "lib/luthier/vgpu").string()));
}

TEST_F(Run, WithoutAGpuSaysSoInOneLine) {
  if (realGpuPresent())
    GTEST_SKIP() << "this machine has an AMD GPU";
  ShellOutcome outcome = luthier("run -- sh -c 'echo $LUTHIER_VGPU_GPUS'");
  EXPECT_EQ(outcome.out, "gfx90a\n");
  EXPECT_EQ(outcome.err, "luthier: no AMD GPU found; running on a virtual gfx90a\n");
}

TEST_F(Run, GpusAreInheritedFromTheEnvironment) {
  setenv("LUTHIER_VGPU_GPUS", "gfx90a,gfx90a", 1);
  ShellOutcome outcome = luthier("run -- sh -c 'echo $LUTHIER_VGPU_GPUS'");
  EXPECT_EQ(outcome.out, "gfx90a,gfx90a\n");
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(Run, UnknownGpu) {
  ShellOutcome outcome = luthier("run --gpu gfx90a,gfx77 -- true");
  EXPECT_EQ(outcome.exitCode(), 125);
  EXPECT_EQ(outcome.err, "luthier: error: unknown GPU 'gfx77'; known: gfx90a\n");
}

TEST_F(Run, ApplicationNotFound) {
  for (const char *name : {"no-such-application", "./no-such-application"}) {
    ShellOutcome outcome = luthier(std::string("run --gpu gfx90a -- ") + name);
    EXPECT_EQ(outcome.exitCode(), 127);
    EXPECT_EQ(outcome.err, std::string("luthier: error: cannot run ") + name + ": not found\n");
  }
}

TEST_F(Run, ApplicationNotExecutable) {
  ShellOutcome outcome = luthier("run --gpu gfx90a -- /etc/passwd");
  EXPECT_EQ(outcome.exitCode(), 126);
  EXPECT_EQ(outcome.err, "luthier: error: cannot run /etc/passwd: Permission denied\n");
}

TEST_F(Run, StatsFileThatCannotBeCreated) {
  ShellOutcome outcome = luthier("run --gpu gfx90a --stats /no/such/folder/s.json -- echo started");
  EXPECT_EQ(outcome.exitCode(), 125);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(outcome.err, "luthier: error: cannot create /no/such/folder/s.json: No such file or directory\n");
}

TEST_F(Run, MissingThunk) {
  std::filesystem::remove(thunkFolder_ / "libhsakmt.so.1");
  ShellOutcome outcome = luthier("run --gpu gfx90a -- true");
  EXPECT_EQ(outcome.exitCode(), 125);
  EXPECT_THAT(outcome.err, HasSubstr("libhsakmt.so.1"));
}

TEST_F(Run, WrongUsage) {
  for (const char *arguments : {"", "run", "run --", "run --gpu", "run --threads 0 -- true", "run --threads x -- true",
                                "run --no-such-option -- true", "no-such-command", "version extra"}) {
    ShellOutcome outcome = luthier(arguments);
    EXPECT_EQ(outcome.exitCode(), 2) << arguments;
    EXPECT_THAT(outcome.err, StartsWith("luthier: error: ")) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
  }
  EXPECT_THAT(luthier("run ./app").err, HasSubstr("luthier run -- ./app"));
}

TEST_F(Run, HelpEverywhere) {
  EXPECT_THAT(luthier("--help").out, AllOf(HasSubstr("run"), HasSubstr("version")));
  EXPECT_THAT(luthier("run --help").out, AllOf(HasSubstr("--gpu"), HasSubstr("--stats"), HasSubstr("--threads")));
  EXPECT_THAT(luthier("version --help").out, HasSubstr("version"));
  for (const char *arguments : {"--help", "run --help", "version --help"})
    EXPECT_EQ(luthier(arguments).exitCode(), 0) << arguments;
}

TEST_F(Run, Version) { EXPECT_EQ(luthier("version").out, "luthier " LUTHIER_VERSION "\nvirtual GPUs: gfx90a\n"); }

TEST_F(Run, ShimAnswersTheProbesOfRocminfo) {
  ShellOutcome outcome = luthier("run --gpu gfx90a -- " + probe());
  EXPECT_EQ(outcome.exitCode(), 0);
  EXPECT_THAT(outcome.out, Not(HasSubstr(": no")));
  EXPECT_THAT(outcome.out, HasSubstr("initstate: yes"));
}

TEST_F(Run, ShimAnswersInChildrenToo) {
  EXPECT_THAT(luthier("run --gpu gfx90a -- sh -c 'sh -c " + probe() + "; true'").out, Not(HasSubstr(": no")));
}

TEST_F(Run, AgentEnumeratorListsTheVirtualGpus) {
  if (std::system("command -v rocm_agent_enumerator >/dev/null") != 0)
    GTEST_SKIP() << "rocm_agent_enumerator is not installed";
  ShellOutcome outcome = luthier("run --gpu gfx90a,gfx90a -- rocm_agent_enumerator");
  EXPECT_EQ(outcome.out, "gfx000\ngfx90a\ngfx90a\n");
}

} // namespace
} // namespace luthier::cli
