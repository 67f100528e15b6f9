// Tools on the command line: `luthier run --tool`, `luthier tools`. Runtime and tool are fakes: what tools do is tested
// elsewhere.

#include <gmock/gmock.h>

#include "installed_luthier.h"

namespace luthier::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Tools : public InstalledLuthier {
protected:
  void SetUp() override {
    InstalledLuthier::SetUp();
    unsetenv("FAKE_TOOL_THROWS");
    unsetenv("FAKE_TOOL_ENDS");
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(prefix_.path()); // for files without a folder
    std::filesystem::copy_file(LUTHIER_FAKE_RUNTIME, prefix_.path() / "lib/libluthier.so");
    std::filesystem::create_directories(prefix_.path() / "tools");
    tool_ = prefix_.path() / "tools/libfake.so";
    std::filesystem::copy_file(LUTHIER_FAKE_TOOL, tool_);
    shim_ = prefix_.path() / "lib/libluthier-exit.so";
    std::filesystem::copy_file(LUTHIER_EXIT_SHIM, shim_);
  }

  void TearDown() override { std::filesystem::current_path(before_); }

  /// What the application gets to see of a variable.
  std::string variable(const std::string &options, const std::string &name) const {
    const ShellOutcome outcome = luthier("run --gpu gfx90a " + options + " -- sh -c 'printf %s \"$" + name + "\"'");
    return outcome.exitCode() <= 1 ? outcome.out : outcome.err;
  }

  std::filesystem::path tool_, shim_, before_;
};

TEST_F(Tools, EnvironmentOfTheApplication) {
  EXPECT_EQ(variable("--tool fake", "LUTHIER_TOOLS"), tool_.string());
  EXPECT_EQ(variable("--tool fake", "HSA_TOOLS_LIB"), (prefix_.path() / "lib/libluthier.so").string());
  EXPECT_EQ(variable("--tool fake", "HSA_TOOLS_ROCPROFILER_V1_TOOLS"), "1");
  EXPECT_THAT(variable("--tool fake", "LD_PRELOAD"), HasSubstr(shim_.string()));
  EXPECT_THAT(variable("--tool fake", "LD_PRELOAD"), HasSubstr("libluthier-vgpu.so"));
  const std::string file = "fake.file=" + (prefix_.path() / "fake.bin").string() + "\n";
  EXPECT_EQ(variable("--tool fake --fake.per=block --fake.quiet", "LUTHIER_TOOL_OPTIONS"),
            file + "fake.per=block\nfake.quiet=yes\n");
  EXPECT_EQ(variable("--tool fake -f json", "LUTHIER_TOOL_FORMAT"), "json");
  EXPECT_EQ(variable("--tool fake", "LUTHIER_TOOL_FORMAT"), "text");
  const std::string output = (prefix_.path() / "r-%pid%.json").string();
  EXPECT_EQ(variable("--tool fake -o " + output, "LUTHIER_TOOL_OUTPUT"), output);
  EXPECT_EQ(variable("--tool fake --kernel-include-regex '^a b'", "LUTHIER_KERNEL_INCLUDE"), "^a b");
  EXPECT_EQ(variable("--tool fake --kernel-exclude-regex c", "LUTHIER_KERNEL_EXCLUDE"), "c");
  EXPECT_EQ(variable("--tool fake --kernel-iteration-range 2-5", "LUTHIER_KERNEL_ITERATIONS"), "2-5");
  EXPECT_EQ(variable("--tool fake --strict", "LUTHIER_STRICT"), "1");
  EXPECT_EQ(variable("--tool fake", "LUTHIER_STRICT"), "");
}

TEST_F(Tools, SeveralAndByPath) {
  const auto other = prefix_.path() / "own folder/libother.so";
  std::filesystem::create_directories(other.parent_path());
  std::filesystem::copy_file(LUTHIER_FAKE_TOOL, other);
  EXPECT_EQ(variable("--tool '" + other.string() + "' --tool fake --other.per=block", "LUTHIER_TOOLS"),
            other.string() + ":" + tool_.string());
  EXPECT_THAT(variable("--tool fake --tool " + tool_.string(), "LUTHIER_TOOLS"),
              HasSubstr("two tools have the name fake"));
}

TEST_F(Tools, WithATraceTheReportGetsTheFile) {
  const std::string output = (prefix_.path() / "r").string();
  EXPECT_EQ(variable("--tool fake --trace hsa -o " + output, "LUTHIER_TOOL_OUTPUT"), output);
  EXPECT_EQ(variable("--tool fake --trace hsa -o " + output, "LUTHIER_TRACE_FILE"), "");
  EXPECT_EQ(variable("--trace hsa -o " + output, "LUTHIER_TRACE_FILE"), output);
}

TEST_F(Tools, AnInnerRunDoesNotInheritSettings) {
  const std::string inner = (prefix_.path() / "bin/luthier").string() + " run --gpu gfx90a --tool fake -- sh -c " +
                            "'\\''echo [$LUTHIER_STRICT$LUTHIER_TOOL_OPTIONS]'\\''";
  EXPECT_EQ(luthier("run --gpu gfx90a --tool fake --strict --fake.per=block -- sh -c '" + inner + "'").out,
            "[fake.file=" + (prefix_.path() / "fake.bin").string() + " ]\n");
}

TEST_F(Tools, ErrorsBeforeTheApplicationStarts) {
  const auto error = [&](const std::string &options, int code) {
    const ShellOutcome outcome = luthier("run --gpu gfx90a " + options + " -- echo started");
    EXPECT_EQ(outcome.exitCode(), code) << options;
    EXPECT_THAT(outcome.out, IsEmpty()) << options;
    EXPECT_THAT(outcome.err, StartsWith("luthier: error: ")) << options;
    return outcome.err;
  };
  EXPECT_EQ(error("--tool fakee", 125), "luthier: error: unknown tool 'fakee'; known: fake; did you mean 'fake'?\n");
  EXPECT_EQ(error("--tool fake --other.per=block", 125),
            "luthier: error: other.per is an option of a tool that is not loaded (loaded: fake)\n");
  EXPECT_EQ(error("--tool fake --fake.pre=block", 125),
            "luthier: error: tool fake has no option 'pre'; it has: per, quiet, slots, pc, file, title; did you mean "
            "'per'?\n");
  EXPECT_THAT(error("--fake.per=block", 2), HasSubstr("--fake.per=block was not expected"));
  EXPECT_THAT(error("--tool fake --fake.per block", 2), HasSubstr("follows '=': --NAME.option=value"));
  EXPECT_THAT(error("--tool fake -o /no/such/r.json", 125), HasSubstr("/no/such/r.json: No such file or directory"));
  EXPECT_THAT(error("--tool fake -o %what%", 125), HasSubstr("%what% is not a key"));
  EXPECT_THAT(error("--tool fake -f xml", 2), HasSubstr("xml"));
  EXPECT_THAT(error("--tool fake --kernel-include-regex '('", 2), HasSubstr("'(' is not a valid regular expression"));
  EXPECT_THAT(error("--tool fake --kernel-exclude-regex '['", 2), HasSubstr("'[' is not a valid regular expression"));
  EXPECT_THAT(error("--tool fake --kernel-iteration-range 5-2", 2),
              HasSubstr("'5-2' is not a valid range of launches"));
  for (const char *alone : {"-f json", "--strict", "--kernel-include-regex a", "--kernel-iteration-range 1"})
    EXPECT_THAT(error(alone, 2), HasSubstr("--tool")) << alone;
  EXPECT_THAT(error("-o x", 2), HasSubstr("-o needs --tool or --trace"));
}

// Each type of option: its name, the value and what is allowed are in the message.
TEST_F(Tools, ValuesOfOptionsAreChecked) {
  const auto error = [&](const std::string &option) {
    const ShellOutcome outcome = luthier("run --gpu gfx90a --tool fake " + option + " -- echo started");
    EXPECT_EQ(outcome.exitCode(), 125) << option;
    EXPECT_THAT(outcome.out, IsEmpty()) << option;
    return outcome.err;
  };
  EXPECT_EQ(error("--fake.per=foo"), "luthier: error: --fake.per is 'foo'; expected one of: launch, block\n");
  EXPECT_EQ(error("--fake.per="), "luthier: error: --fake.per is ''; expected one of: launch, block\n");
  EXPECT_EQ(error("--fake.per"), "luthier: error: --fake.per needs a value: expected one of: launch, block, as in "
                                 "--fake.per=VALUE\n");
  EXPECT_EQ(error("--fake.slots=-1"), "luthier: error: --fake.slots is '-1'; expected a number from 1 to 64\n");
  for (const char *bad : {"0", "65", "many", "1.5", "18446744073709551617"})
    EXPECT_THAT(error(std::string("--fake.slots=") + bad), HasSubstr("expected a number from 1 to 64")) << bad;
  EXPECT_EQ(error("--fake.quiet=maybe"),
            "luthier: error: --fake.quiet is 'maybe'; expected 1 or 0 (or true, false, yes, no, on, off)\n");
  EXPECT_EQ(error("--fake.pc=2000,xyz"),
            "luthier: error: --fake.pc is '2000,xyz'; expected hexadecimal addresses, separated by commas\n");
  EXPECT_EQ(error("--fake.file="), "luthier: error: --fake.file is ''; expected the name of a file\n");
  EXPECT_EQ(error("--fake.file=/no/such/f"),
            "luthier: error: --fake.file: cannot write /no/such/f: No such file or directory\n");
  EXPECT_THAT(error("--fake.file=%what%"), HasSubstr("--fake.file: %what% is not a key"));
  for (const char *good : {"--fake.per=block", "--fake.slots=0x40", "--fake.quiet=off", "--fake.quiet",
                           "--fake.pc=2000,0x3000", "--fake.title=", "--fake.file=x-%pid%"})
    EXPECT_EQ(luthier(std::string("run --gpu gfx90a --tool fake ") + good + " -- echo started").out, "started\n")
        << good;
}

// The application may change its folder, and each process replaces %pid% for itself.
TEST_F(Tools, OutputFilesOfToolsAreAbsolute) {
  EXPECT_EQ(variable("--tool fake --fake.file=f-%pid%", "LUTHIER_TOOL_OPTIONS"),
            "fake.file=" + (prefix_.path() / "f-%pid%").string() + "\n");
}

TEST_F(Tools, FilesThatAreNotTools) {
  const auto error = [&](const std::string &file) {
    const ShellOutcome outcome = luthier("run --gpu gfx90a --tool " + file + " -- echo started");
    EXPECT_EQ(outcome.exitCode(), 125) << file;
    EXPECT_THAT(outcome.out, IsEmpty()) << file;
    return outcome.err;
  };
  const std::string text = prefix_.write("libtext.so", "not a library").string();
  EXPECT_EQ(error("/no/such/libtool.so"), "luthier: error: there is no tool /no/such/libtool.so: no such file\n");
  EXPECT_EQ(error(prefix_.path().string()),
            "luthier: error: there is no tool " + prefix_.path().string() + ": it is not a file\n");
  EXPECT_EQ(error(text),
            "luthier: error: " + text + " is not a Luthier tool: it is not a shared library (no ELF file)\n");
  EXPECT_EQ(error(shim_.string()),
            "luthier: error: " + shim_.string() + " is not a Luthier tool (it has no LUTHIER_TOOL)\n");
  const std::string cut = prefix_.write("libcut.so", slurp(tool_).substr(0, 2000)).string();
  EXPECT_THAT(error(cut), HasSubstr("loaded: ")) << "dlopen crashes on some of these";
}

TEST_F(Tools, OnesThatEndTheProcess) {
  setenv("FAKE_TOOL_ENDS", "exit", 1);
  ShellOutcome outcome = luthier("run --gpu gfx90a --tool fake -- echo started");
  EXPECT_EQ(outcome.exitCode(), 125);
  EXPECT_EQ(outcome.err, "luthier: error: tool " + tool_.string() + " ends the process when it is loaded\n");
  setenv("FAKE_TOOL_ENDS", "abort", 1);
  outcome = luthier("run --gpu gfx90a --tool fake -- echo started");
  EXPECT_EQ(outcome.exitCode(), 125);
  EXPECT_EQ(outcome.err, "luthier: error: tool " + tool_.string() + " crashes when it is loaded: Aborted\n");
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST_F(Tools, OneThatCannotBeAskedDoesNotStopTheApplication) {
  setenv("FAKE_TOOL_THROWS", "1", 1);
  const ShellOutcome outcome = luthier("run --gpu gfx90a --tool fake --fake.per=block -- echo started");
  EXPECT_EQ(outcome.out, "started\n");
  EXPECT_THAT(outcome.err, HasSubstr("tool fake threw in its constructor: it was asked to"));
}

TEST_F(Tools, List) {
  prefix_.write("tools/libbroken_tool.so", "no library");
  const ShellOutcome outcome = luthier("tools");
  EXPECT_EQ(outcome.exitCode(), 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("broken_tool  ("), HasSubstr("libbroken_tool.so is not a Luthier tool: "),
                                 HasSubstr("\nfake         Pretends to count\n")));
}

TEST_F(Tools, ListOfNone) {
  std::filesystem::remove(tool_);
  EXPECT_THAT(luthier("tools").out, AllOf(StartsWith("no tools found in:\n"), HasSubstr("lib/luthier/tools")));
}

TEST_F(Tools, Show) {
  const ShellOutcome outcome = luthier("tools show fake");
  EXPECT_EQ(outcome.exitCode(), 0);
  EXPECT_EQ(outcome.out, "fake: Pretends to count\n" + tool_.string() +
                             "\n"
                             "options:\n"
                             "  --fake.per=launch|block  what a row is of (default: launch)\n"
                             "  --fake.quiet             say nothing\n"
                             "  --fake.slots=N           how many, a number from 1 to 64 (default: 16)\n"
                             "  --fake.pc=LIST           where\n"
                             "  --fake.file=FILE         where to (default: fake.bin)\n"
                             "  --fake.title=TEXT        a name\n");
  EXPECT_EQ(luthier("tools show " + tool_.string()).out, outcome.out);
}

TEST_F(Tools, ShowErrors) {
  EXPECT_EQ(luthier("tools show nothing").err, "luthier: error: unknown tool 'nothing'; known: fake\n");
  EXPECT_EQ(luthier("tools show nothing").exitCode(), 1);
  EXPECT_EQ(luthier("tools show").exitCode(), 2);
  EXPECT_THAT(luthier("tools show " + shim_.string()).err, HasSubstr("is not a Luthier tool (it has no LUTHIER_TOOL)"));
  setenv("FAKE_TOOL_THROWS", "1", 1);
  EXPECT_EQ(luthier("tools show fake").err, "luthier: error: tool fake threw in its constructor: it was asked to\n");
}

class Ending : public Tools {
protected:
  ShellOutcome end(const std::string &how) const {
    return luthier("run --gpu gfx90a --tool fake -- " LUTHIER_EXIT_PROBE " '" + how + "'");
  }
};

TEST_F(Ending, FlushesOnceAndKeepsTheStatus) {
  for (const char *how : {"_exit", "_Exit", "quick_exit", "threads"}) {
    const ShellOutcome outcome = end(how);
    EXPECT_EQ(outcome.out, "flushed\n") << how;
    EXPECT_EQ(outcome.exitCode(), 3) << how;
  }
}

TEST_F(Ending, ChildrenDoNotFlushWhatIsTheirParents) {
  EXPECT_EQ(end("fork").out, "child ended\nexiting\n"); // the parent's, when main returns
  EXPECT_EQ(end("vfork").out, "child ended\nflushed\n");
  EXPECT_EQ(end("vfork").exitCode(), 3);
  EXPECT_EQ(end("fork registers").out, "flushed\nexiting\n");
}

TEST_F(Ending, FlushMayEndTheProcess) {
  const ShellOutcome outcome = end("_exit in flush");
  EXPECT_EQ(outcome.out, "flushed\n");
  EXPECT_EQ(outcome.exitCode(), 5);
}

TEST_F(Ending, ExitIsAnnounced) {
  const ShellOutcome outcome = end("exit");
  EXPECT_EQ(outcome.out, "exiting\nstream\n");
  EXPECT_EQ(outcome.exitCode(), 3);
  EXPECT_EQ(end("exit stopped").out, "exiting\nflushed\n");
  EXPECT_EQ(end("exit stopped").exitCode(), 10);
  EXPECT_EQ(end("exit of a child").out, "child ended\nexiting\n"); // not the child's
}

TEST_F(Ending, NothingRegistered) {
  const ShellOutcome outcome = end("unregistered");
  EXPECT_EQ(outcome.exitCode(), 3);
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Ending, FromAFolderWithASpace) {
  const auto folder = prefix_.path() / "a b";
  std::filesystem::create_directories(folder);
  for (const char *part : {"bin", "lib", "tools"})
    std::filesystem::rename(prefix_.path() / part, folder / part);
  std::filesystem::create_directory_symlink("a b/bin", prefix_.path() / "bin");
  EXPECT_EQ(end("_exit").out, "flushed\n");
}

} // namespace
} // namespace luthier::cli
