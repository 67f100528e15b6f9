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
    std::filesystem::copy_file(LUTHIER_FAKE_RUNTIME, prefix_.path() / "lib/libluthier.so");
    std::filesystem::create_directories(prefix_.path() / "tools");
    tool_ = prefix_.path() / "tools/libfake.so";
    std::filesystem::copy_file(LUTHIER_FAKE_TOOL, tool_);
    shim_ = prefix_.path() / "lib/libluthier-exit.so";
    std::filesystem::copy_file(LUTHIER_EXIT_SHIM, shim_);
  }

  /// What the application gets to see of a variable.
  std::string variable(const std::string &options, const std::string &name) const {
    const ShellOutcome outcome = luthier("run --gpu gfx90a " + options + " -- sh -c 'printf %s \"$" + name + "\"'");
    return outcome.exitCode() == 0 ? outcome.out : outcome.err;
  }

  std::filesystem::path tool_, shim_;
};

TEST_F(Tools, EnvironmentOfTheApplication) {
  EXPECT_EQ(variable("--tool fake", "LUTHIER_TOOLS"), tool_.string());
  EXPECT_EQ(variable("--tool fake", "HSA_TOOLS_LIB"), (prefix_.path() / "lib/libluthier.so").string());
  EXPECT_THAT(variable("--tool fake", "LD_PRELOAD"), HasSubstr(shim_.string()));
  EXPECT_THAT(variable("--tool fake", "LD_PRELOAD"), HasSubstr("libluthier-kfd-shim.so"));
  EXPECT_EQ(variable("--tool fake --fake.per=block --fake.quiet", "LUTHIER_TOOL_OPTIONS"),
            "fake.per=block\nfake.quiet=\n");
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
  EXPECT_EQ(variable("--tool '" + other.string() + "' --tool fake --other.per=x", "LUTHIER_TOOLS"),
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
  EXPECT_EQ(luthier("run --gpu gfx90a --tool fake --strict --fake.per=x -- sh -c '" + inner + "'").out, "[]\n");
}

TEST_F(Tools, ErrorsBeforeTheApplicationStarts) {
  const auto error = [&](const std::string &options, int code) {
    const ShellOutcome outcome = luthier("run --gpu gfx90a " + options + " -- echo started");
    EXPECT_EQ(outcome.exitCode(), code) << options;
    EXPECT_THAT(outcome.out, IsEmpty()) << options;
    EXPECT_THAT(outcome.err, StartsWith("luthier: error: ")) << options;
    return outcome.err;
  };
  EXPECT_EQ(error("--tool fakee", 125), "luthier: error: unknown tool 'fakee'; known: fake\n");
  EXPECT_EQ(error("--tool fake --other.per=block", 125),
            "luthier: error: other.per is an option of a tool that is not loaded (loaded: fake)\n");
  EXPECT_EQ(error("--tool fake --fake.pre=block", 125),
            "luthier: error: tool fake has no option 'pre'; known: per, quiet\n");
  EXPECT_THAT(error("--fake.per=block", 2), HasSubstr("--fake.per=block was not expected"));
  EXPECT_THAT(error("--tool fake --fake.per block", 2), HasSubstr("follows '=': --NAME.option=value"));
  EXPECT_THAT(error("--tool fake -o /no/such/r.json", 125), HasSubstr("/no/such/r.json: No such file or directory"));
  EXPECT_THAT(error("--tool fake -o %what%", 125), HasSubstr("%what% is no key"));
  EXPECT_THAT(error("--tool fake -f xml", 2), HasSubstr("xml"));
  EXPECT_THAT(error("--tool fake --kernel-include-regex '('", 2), HasSubstr("'(' is no regular expression"));
  EXPECT_THAT(error("--tool fake --kernel-exclude-regex '['", 2), HasSubstr("'[' is no regular expression"));
  EXPECT_THAT(error("--tool fake --kernel-iteration-range 5-2", 2), HasSubstr("'5-2' is no range of launches"));
  for (const char *alone : {"-f json", "--strict", "--kernel-include-regex a", "--kernel-iteration-range 1"})
    EXPECT_THAT(error(alone, 2), HasSubstr("--tool")) << alone;
  EXPECT_THAT(error("-o x", 2), HasSubstr("-o needs --tool or --trace"));
}

TEST_F(Tools, OneThatCannotBeAskedDoesNotStopTheApplication) {
  setenv("FAKE_TOOL_THROWS", "1", 1);
  const ShellOutcome outcome = luthier("run --gpu gfx90a --tool fake --fake.per=x -- echo started");
  EXPECT_EQ(outcome.out, "started\n");
  EXPECT_THAT(outcome.err, HasSubstr("tool fake threw in its constructor: it was asked to"));
}

TEST_F(Tools, List) {
  prefix_.write("tools/libbroken_tool.so", "no library");
  const ShellOutcome outcome = luthier("tools");
  EXPECT_EQ(outcome.exitCode(), 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("broken_tool  (tool broken_tool cannot be loaded: "),
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
                             "  --fake.per=    what a row is of (default: launch)\n"
                             "  --fake.quiet=  say nothing\n");
  EXPECT_EQ(luthier("tools show " + tool_.string()).out, outcome.out);
}

TEST_F(Tools, ShowErrors) {
  EXPECT_EQ(luthier("tools show nothing").err, "luthier: error: unknown tool 'nothing'; known: fake\n");
  EXPECT_EQ(luthier("tools show nothing").exitCode(), 1);
  EXPECT_EQ(luthier("tools show").exitCode(), 2);
  EXPECT_THAT(luthier("tools show " + shim_.string()).err, HasSubstr("is not a Luthier tool"));
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
  EXPECT_EQ(end("fork").out, "child ended\n");
  EXPECT_EQ(end("vfork").out, "child ended\nflushed\n");
  EXPECT_EQ(end("vfork").exitCode(), 3);
  EXPECT_EQ(end("fork registers").out, "flushed\n");
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
  EXPECT_EQ(end("exit of a child").out, "child ended\n");
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
