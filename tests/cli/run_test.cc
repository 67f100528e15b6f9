// The `luthier` program from outside: what the shell, a script or a CI job sees of it.

#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/gpu_detect.h"
#include "installed_luthier.h"
#include "isa/target.h"
#include "temp_folder.h"

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
                                 "$LD_PRELOAD'");
  EXPECT_THAT(outcome.out,
              StartsWith("gfx90a,gfx90a 2 " + (prefix_.path() / "s.json").string() + " " + driverFolder_.string()));
}

TEST_F(Run, WorksFromAnInstallation) {
  std::filesystem::create_directories(prefix_.path() / "lib/luthier");
  std::filesystem::rename(driverFolder_, prefix_.path() / "lib/luthier/vgpu");
  EXPECT_THAT(luthier("run --gpu gfx90a -- sh -c 'echo $LD_PRELOAD'").out,
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

TEST_F(Run, ListsGpus) {
  ShellOutcome outcome = luthier("run --gpu list");
  EXPECT_EQ(outcome.exitCode(), 0);
  EXPECT_THAT(outcome.out, HasSubstr("\ngfx90a    64                  104    16 GiB  Instinct MI250X\n"));
  for (const std::string_view target : isa::virtualTargets())
    EXPECT_THAT(outcome.out, HasSubstr(fmt::format("\n{:<8}  ", target)));
}

TEST_F(Run, UnknownGpu) {
  ShellOutcome outcome = luthier("run --gpu gfx90a,gfx77 -- true");
  EXPECT_EQ(outcome.exitCode(), 125);
  EXPECT_THAT(outcome.err, StartsWith("luthier: error: unknown GPU 'gfx77'; known: gfx"));
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

TEST_F(Run, FilesKeepTheirKeysForEachProcess) {
  const std::string folder = prefix_.path().string();
  EXPECT_EQ(luthier("run --gpu gfx90a --stats " + folder + "/s-%pid% --trace-vgpu " + folder +
                    "/t-%pid% -- sh -c 'echo $LUTHIER_VGPU_STATS $LUTHIER_VGPU_TRACE'")
                .out,
            folder + "/s-%pid% " + folder + "/t-%pid%\n");
  EXPECT_THAT(luthier("run --gpu gfx90a --stats " + folder + "/%what% -- true").err,
              HasSubstr("%what% is not a key for names of files; known: %pid%"));
}

// Checked before the application starts: the message names the variable, its value and what is expected.
TEST_F(Run, VariablesAreChecked) {
  const std::pair<const char *, const char *> bad[] = {
      {"LUTHIER_VGPU_TRANSLATE=foo", "LUTHIER_VGPU_TRANSLATE is 'foo'; expected one of: 0, 1, always"},
      {"LUTHIER_VGPU_THREADS=-1", "LUTHIER_VGPU_THREADS is '-1'; expected a number from 0 to 1024"},
      {"LUTHIER_VGPU_STRICT_WAITS=maybe", "LUTHIER_VGPU_STRICT_WAITS is 'maybe'; expected 1 or 0"},
      {"LUTHIER_VGPU_STRICT_RESOURCES=seed", "LUTHIER_VGPU_STRICT_RESOURCES is 'seed'; expected a number"},
      {"LUTHIER_VGPU_STRICT_L1=maybe", "LUTHIER_VGPU_STRICT_L1 is 'maybe'; expected 1 or 0"},
      {"LUTHIER_VGPU_TRACE_SUMS=maybe", "LUTHIER_VGPU_TRACE_SUMS is 'maybe'; expected 1 or 0"},
      {"LUTHIER_VGPU_POISON_DEAD=seed", "LUTHIER_VGPU_POISON_DEAD is 'seed'; expected a number"},
      {"LUTHIER_VGPU_CPU=sse", "LUTHIER_VGPU_CPU is 'sse'; expected one of: base, avx2, avx512"},
      {"LUTHIER_VGPU_GPUS=gfx77", "LUTHIER_VGPU_GPUS: unknown GPU 'gfx77'"},
      {"LUTHIER_VGPU_TRACE_WAVE=x", "LUTHIER_VGPU_TRACE_WAVE: 'x' is not a wave"},
      {"LUTHIER_VGPU_TRACE_KERNEL=[", "LUTHIER_VGPU_TRACE_KERNEL: '[' is not a valid regular expression"},
      {"LUTHIER_VGPU_STATS=/tmp/%x%", "LUTHIER_VGPU_STATS: %x% is not a key"},
      {"LUTHIER_TRACE=everything", "LUTHIER_TRACE: 'everything' cannot be traced"},
      {"LUTHIER_STRICT=maybe", "LUTHIER_STRICT is 'maybe'; expected 1 or 0"},
      {"LUTHIER_HOOK_FORM=copied", "LUTHIER_HOOK_FORM is 'copied'; expected one of: auto, inline, shared"},
      {"LUTHIER_HOSTCALL_PACKETS=-1", "LUTHIER_HOSTCALL_PACKETS is '-1'; expected a number"},
      {"LUTHIER_KERNEL_ITERATIONS=5-2", "LUTHIER_KERNEL_ITERATIONS: '5-2' is not a valid range"},
  };
  for (const auto &[setting, message] : bad) {
    const std::string text = setting, name = text.substr(0, text.find('='));
    setenv(name.c_str(), text.c_str() + name.size() + 1, 1);
    const ShellOutcome outcome = luthier("run --gpu gfx90a -- echo started");
    unsetenv(name.c_str());
    EXPECT_EQ(outcome.exitCode(), 125) << setting;
    EXPECT_THAT(outcome.out, IsEmpty()) << setting;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }
  setenv("LUTHIER_LOG", "loud", 1);
  for (const char *arguments : {"run --gpu gfx90a -- echo started", "version"}) {
    EXPECT_EQ(luthier(arguments).exitCode(), 2);
    EXPECT_EQ(luthier(arguments).err,
              "luthier: error: LUTHIER_LOG is 'loud'; expected one of: error, warn, info, debug\n");
  }
  unsetenv("LUTHIER_LOG");
  setenv("LUTHIER_VGPU_THREAD", "2", 1);
  EXPECT_EQ(luthier("run --gpu gfx90a -- true").err,
            "luthier: warning: LUTHIER_VGPU_THREAD is not a variable of Luthier; did you mean LUTHIER_VGPU_THREADS?\n");
  unsetenv("LUTHIER_VGPU_THREAD");
}

TEST_F(Run, ValuesOfOptionsAreChecked) {
  const std::pair<const char *, const char *> bad[] = {
      {"--threads -1", "--threads is '-1'; expected a number from 1 to 1024"},
      {"--threads 010x", "--threads is '010x'; expected a number from 1 to 1024"},
      {"--poison-dead=-1", "--poison-dead is '-1'; expected a number"},
      {"--poison-dead=seed", "--poison-dead is 'seed'; expected a number"},
      {"--strict-resources=seed", "--strict-resources is 'seed'; expected a number"},
      {"--strict-l1", "--strict-l1 requires --strict-resources"},
      {"--strict-waits=maybe",
       "--strict-waits: the value is 'maybe'; expected 1 or 0 (or true, false, yes, no, on, off)"},
      {"--strict-waits=2", "--strict-waits: the value is '2'; expected 1 or 0"},
      {"--stats ''", "--stats: a value is expected"},
      {"--stats=", "--stats"},
      {"--gpu ''", "--gpu: a value is expected"},
      {"--trace-vgpu t --trace-wave 7-4", "'7-4' is not a wave"},
      {"--trace-vgpu t --trace-wave 99999999999999999999", "'99999999999999999999' is not a wave"},
      {"--trace everything", "--trace: 'everything' cannot be traced"},
      {"--trace ''", "--trace"},
      {"--hang-report 0", "--hang-report is '0'; expected a number from 1"},
      {"--attach 1234", "--attach is not possible: ROCr loads tools only when it starts"},
      {"--thread 2", "Did you mean '--threads'?"},
  };
  for (const auto &[options, message] : bad) {
    const ShellOutcome outcome = luthier(std::string("run --gpu gfx90a ") + options + " -- echo started");
    EXPECT_EQ(outcome.exitCode(), 2) << options;
    EXPECT_THAT(outcome.out, IsEmpty()) << options;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << options;
  }
  EXPECT_EQ(luthier("run --attach 1234").exitCode(), 2);
  EXPECT_THAT(luthier("run --attach 1234").err, HasSubstr("luthier run [OPTIONS] -- APP"));
  EXPECT_THAT(luthier("trace dump -f xml x").err,
              HasSubstr("--format: the value is 'xml'; expected one of: text, csv"));
  EXPECT_THAT(luthier("disasm /x --kernel ''").err, HasSubstr("--kernel: a value is expected"));
  EXPECT_THAT(luthier("disasm /x --json=maybe").err, HasSubstr("--json: the value is 'maybe'"));
  EXPECT_THAT(luthier("cfg /x --kernel y -o ''").err, HasSubstr("-o: a value is expected"));
  EXPECT_THAT(luthier("insepct x").err, HasSubstr("Did you mean 'inspect'?"));
  EXPECT_THAT(luthier("disasm /x --kernle y").err, HasSubstr("Did you mean '--kernel'?"));
}

TEST_F(Run, YamlIsRefusedByName) {
  const TempFolder folder;
  const ShellOutcome outcome =
      luthier("run -i " + folder.write("options.yaml", "tool: instr_count\n").string() + " -- echo started");
  EXPECT_EQ(outcome.exitCode(), 2);
  EXPECT_THAT(outcome.err, HasSubstr("YAML is not read: write it as JSON"));
}

TEST_F(Run, StatsFileThatCannotBeWritten) {
  ShellOutcome outcome = luthier("run --gpu gfx90a --stats /no/such/folder/s.json -- echo started");
  EXPECT_EQ(outcome.exitCode(), 125);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(outcome.err, "luthier: error: cannot write /no/such/folder/s.json: No such file or directory\n");
}

TEST_F(Run, MissingDriver) {
  std::filesystem::remove(driverFolder_ / "libluthier-vgpu-driver.so");
  ShellOutcome outcome = luthier("run --gpu gfx90a -- true");
  EXPECT_EQ(outcome.exitCode(), 125);
  EXPECT_THAT(outcome.err, HasSubstr("libluthier-vgpu-driver.so"));
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

TEST_F(Run, Version) {
  EXPECT_EQ(luthier("version").out,
            fmt::format("luthier {}\nvirtual GPUs: {}\n", LUTHIER_VERSION, fmt::join(isa::virtualTargets(), ", ")));
}

TEST_F(Run, DriverAnswersTheProbesOfRocminfo) {
  ShellOutcome outcome = luthier("run --gpu gfx90a -- " + probe());
  EXPECT_EQ(outcome.exitCode(), 0);
  EXPECT_THAT(outcome.out, Not(HasSubstr(": no")));
  EXPECT_THAT(outcome.out, HasSubstr("initstate: yes"));
}

TEST_F(Run, DriverAnswersInChildrenToo) {
  EXPECT_THAT(luthier("run --gpu gfx90a -- sh -c 'sh -c " + probe() + "; true'").out, Not(HasSubstr(": no")));
}

TEST_F(Run, AgentEnumeratorListsTheVirtualGpus) {
  ASSERT_EQ(std::system("command -v rocm_agent_enumerator >/dev/null"), 0) << "it is in the package rocminfo";
  ShellOutcome outcome = luthier("run --gpu gfx90a,gfx90a -- rocm_agent_enumerator");
  EXPECT_EQ(outcome.out, "gfx000\ngfx90a\ngfx90a\n");
}

} // namespace
} // namespace luthier::cli
