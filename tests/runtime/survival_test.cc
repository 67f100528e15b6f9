// An application behaves under Luthier as without it, whatever its tools do and however it ends; and what was collected
// is on disk and valid.
#include "tool_run.h"

#include <csignal>
#include <fstream>

#include <unistd.h>

namespace luthier::runtime::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char *kTool = TEST_TOOLS "/liblaunch_count.so";
constexpr size_t kLaunches = 10; ///< of each of the two kernels of programs/ends.hip

std::vector<std::string> ends(const std::string &mode) { return {TEST_PROGRAMS "/ends", mode}; }

void expectSame(const ToolRun &run, const ToolRun &plain) {
  EXPECT_EQ(run.outcome.exitCode, plain.outcome.exitCode) << run.errors;
  EXPECT_EQ(run.outcome.signal, plain.outcome.signal) << run.errors;
  EXPECT_EQ(run.outcome.output, plain.outcome.output) << run.errors;
}

/// That the launches that were counted were counted right: `least` of each kernel or more.
void expectCounts(const ToolRun &run, size_t least, size_t most = SIZE_MAX) {
  static const auto expected = test::run({.tools = {kTool}}, ends("return")).counts();
  ASSERT_THAT(expected, SizeIs(2));
  const auto counts = run.counts();
  for (const auto &[kernel, values] : expected) {
    ASSERT_FALSE(values.empty());
    if (least == 0 && !counts.contains(kernel))
      continue;
    ASSERT_TRUE(counts.contains(kernel)) << run.report << run.errors;
    EXPECT_GE(counts.at(kernel).size(), least);
    EXPECT_LE(counts.at(kernel).size(), most);
    EXPECT_THAT(counts.at(kernel), Each(values.front()));
  }
}

// However it ends.

class Ends : public testing::TestWithParam<const char *> {};

TEST_P(Ends, ResultsAreWritten) {
  const ToolRun plain = run({}, ends(GetParam())), counted = run({.tools = {kTool}}, ends(GetParam()));
  EXPECT_THAT(plain.outcome.output, HasSubstr("sum "));
  expectSame(counted, plain);
  const size_t launches = std::string(GetParam()) == "fork" ? 2 * kLaunches : kLaunches;
  expectCounts(counted, launches, launches);
}

TEST_P(Ends, CsvIsWhole) {
  const ToolRun counted = run({.tools = {kTool}, .format = "csv"}, ends(GetParam()));
  EXPECT_THAT(counted.report, HasSubstr("kernel,launch,instructions"));
  EXPECT_EQ(counted.report.back(), '\n');
  EXPECT_GE(std::ranges::count(counted.report, '\n'), static_cast<ptrdiff_t>(2 * kLaunches + 1)) << counted.report;
}

INSTANTIATE_TEST_SUITE_P(How, Ends, testing::Values("return", "exit", "_exit", "abort", "kill", "fork"),
                         [](const auto &info) { return std::string("By") + info.param; });

/// Sends a signal when the program is ready for it.
std::function<void(const std::string &, int)> sendWhenReady(int signal) {
  return [signal, sent = false](const std::string &output, int pid) mutable {
    if (!sent && output.find("ready") != std::string::npos) {
      sent = true;
      kill(pid, signal);
    }
  };
}

class Signals : public testing::TestWithParam<int> {};

TEST_P(Signals, InTheMiddle) {
  for (const char *format : {"json", "csv"}) {
    const ToolRun counted =
        run({.tools = {kTool}, .format = format, .onOutput = sendWhenReady(GetParam())}, ends("terminate"));
    EXPECT_EQ(counted.outcome.signal, GetParam()) << counted.errors;
    if (format == std::string("json"))
      expectCounts(counted, 2 * kLaunches);
    else
      EXPECT_THAT(counted.report, HasSubstr("kernel,launch,instructions"));
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Signals, testing::Values(SIGTERM, SIGINT, SIGHUP, SIGABRT),
                         [](const auto &info) { return std::string("Signal") + std::to_string(info.param); });

TEST(Survival, SignalWhileAKernelNeverEnds) {
  const ToolRun counted = run({.tools = {kTool}, .onOutput = sendWhenReady(SIGTERM)}, ends("hang"));
  EXPECT_EQ(counted.outcome.signal, SIGTERM);
  expectCounts(counted, kLaunches, kLaunches);
  EXPECT_THAT(counted.report, HasSubstr("1 launches had not completed at the end"));
}

// Tools that are none.

class NoTool : public testing::TestWithParam<const char *> {};

TEST_P(NoTool, ApplicationRuns) {
  Folder folder;
  std::string path = folder / "libmissing.so";
  if (GetParam() == std::string("text"))
    std::ofstream(path) << "this is no library";
  if (GetParam() == std::string("library"))
    path = TEST_TOOLS "/libno_tool.so";
  if (GetParam() == std::string("other_version"))
    path = TEST_TOOLS "/libother_version.so";
  if (GetParam() == std::string("no_version"))
    path = TEST_TOOLS "/libno_version.so";
  const ToolRun plain = run({}, ends("return"));
  const ToolRun loaded = run({.tools = {path}}, ends("return"));
  expectSame(loaded, plain);
  EXPECT_THAT(loaded.errors, HasSubstr(path));
  EXPECT_THAT(loaded.report, HasSubstr(path));
  // The other tool works.
  const ToolRun both = run({.tools = {path, kTool}}, ends("return"));
  expectSame(both, plain);
  expectCounts(both, kLaunches, kLaunches);

  const ToolRun strict = run({.tools = {path}, .strict = true}, ends("return"));
  EXPECT_EQ(strict.outcome.exitCode, 1);
  EXPECT_EQ(strict.outcome.output, "");
  EXPECT_THAT(strict.errors, HasSubstr("--strict"));
}

INSTANTIATE_TEST_SUITE_P(Kind, NoTool, testing::Values("missing", "text", "library", "other_version", "no_version"),
                         [](const auto &info) { return std::string(info.param); });

// Both versions are named, and nothing in the tool is called: its constructor would abort.
TEST(ToolVersions, OtherOnesAreRefused) {
  const ToolRun other = run({.tools = {TEST_TOOLS "/libother_version.so"}}, ends("return"));
  EXPECT_THAT(other.errors,
              HasSubstr("libother_version.so was built with Luthier 0.0.9 (tool interface 1), but this is "
                        "Luthier 0."));
  EXPECT_THAT(other.errors, HasSubstr("rebuild the tool against it"));
  const ToolRun none = run({.tools = {TEST_TOOLS "/libno_version.so"}}, ends("return"));
  EXPECT_THAT(none.errors,
              HasSubstr("libno_version.so does not say which Luthier it was built with; this is Luthier 0."));
}

// Tools that throw.

class Throws : public testing::TestWithParam<const char *> {};

TEST_P(Throws, ApplicationRuns) {
  const std::string where = GetParam();
  const ToolRun plain = run({}, ends("return"));
  for (const char *how : {"throw", "throw_number"}) {
    const std::string options = "launch_count.in=" + where + "\nlaunch_count.how=" + how;
    const ToolRun thrown = run({.tools = {kTool}, .options = options}, ends("return"));
    expectSame(thrown, plain);
    EXPECT_THAT(thrown.report, HasSubstr("tool launch_count threw in"));
    if (where == "exit")
      expectCounts(thrown, kLaunches, kLaunches);
    else if (where != "finished") // launches that were under way are told to nobody
      EXPECT_TRUE(thrown.counts().empty());
  }
  const ToolRun strict = run({.tools = {kTool}, .options = "launch_count.in=" + where, .strict = true}, ends("return"));
  EXPECT_EQ(strict.outcome.exitCode, 1) << strict.errors;
  EXPECT_THAT(strict.report, HasSubstr("tool launch_count threw in"));
}

INSTANTIATE_TEST_SUITE_P(Where, Throws,
                         testing::Values("constructor", "start", "instrument", "launch", "finished", "exit"),
                         [](const auto &info) { return std::string(info.param); });

// Results up to then stay. Of launches that are under way when `launch` throws, none need be.
TEST(Survival, ThrowsInTheMiddle) {
  for (const char *where : {"launch", "finished"}) {
    const ToolRun thrown =
        run({.tools = {kTool}, .options = std::string("launch_count.in=") + where + "\nlaunch_count.after=9"},
            ends("return"));
    expectSame(thrown, run({}, ends("return")));
    expectCounts(thrown, where == std::string("finished") ? 3 : 0, 4);
  }
}

/// A tool that ends the process takes the application with it, but not the results. The application launches on and on,
/// so that it does not end by itself before the tool is told of a launch.
TEST(Survival, ToolEndsTheProcess) {
  for (const char *how : {"abort", "exit", "raise"})
    for (const std::string where : {"launch", "finished", "exit"}) {
      const bool atExit = where == "exit";
      const ToolRun ended = run({.tools = {kTool},
                                 .options = "launch_count.in=" + where + "\nlaunch_count.how=" + how +
                                            "\nlaunch_count.after=" + (atExit ? "1" : "9")},
                                ends(atExit ? "return" : "terminate"));
      SCOPED_TRACE(how + (" in " + where));
      if (how == std::string("abort"))
        EXPECT_EQ(ended.outcome.signal, SIGABRT);
      else if (how == std::string("raise"))
        EXPECT_EQ(ended.outcome.signal, SIGTERM);
      else
        EXPECT_EQ(ended.outcome.exitCode, 7);
      EXPECT_LT(ended.outcome.seconds, 60);
      expectCounts(ended, where == "finished" ? 3 : atExit ? kLaunches : 0);
    }
}

// On ROCr's thread, destructors of ROCr and HIP must not run below others that are still at work. What the application
// has printed is printed.
TEST(Survival, ToolExitsOnRocrsThread) {
  for (unsigned round = 0; round < 3; ++round)
    for (const char *after : {"1", "9", "20"}) { // the last one: while the application ends, too
      const ToolRun ended =
          run({.tools = {kTool},
               .options = std::string("launch_count.in=finished\nlaunch_count.how=exit\nlaunch_count.after=") + after},
              ends("print"));
      EXPECT_EQ(ended.outcome.signal, 0) << ended.errors;
      // Either exit may be the one that counts.
      EXPECT_THAT(ended.outcome.exitCode, testing::AnyOf(7, 6)) << ended.errors;
      EXPECT_THAT(ended.outcome.output, HasSubstr("not flushed"));
      EXPECT_LT(ended.outcome.seconds, 60);
      expectCounts(ended, (std::stoul(after) - 1) / 2 - (after == std::string("1") ? 0 : 1));
    }
}

// `luthier run` refuses these before it starts anything; here they are in the environment.
TEST(Survival, OptionsThatAToolCannotHave) {
  const ToolRun plain = run({}, ends("return"));
  for (const auto &[option, message] :
       {std::pair("launch_count.after=-1", "--launch_count.after is '-1'; expected a number of at least 0"),
        {"launch_count.afetr=1", "tool launch_count has no option 'afetr'; it has: in, "}}) {
    const ToolRun wrong = run({.tools = {kTool}, .options = option}, ends("return"));
    expectSame(wrong, plain);
    EXPECT_THAT(wrong.errors, HasSubstr(message));
    EXPECT_THAT(wrong.report, HasSubstr("tool launch_count is not used"));
    EXPECT_TRUE(wrong.counts().empty());
    const ToolRun strict = run({.tools = {kTool}, .options = option, .strict = true}, ends("return"));
    EXPECT_EQ(strict.outcome.exitCode, 1);
    EXPECT_THAT(strict.errors, HasSubstr(message));
  }
}

// Requests that cannot be met.

class Impossible : public testing::TestWithParam<const char *> {};

TEST_P(Impossible, SiteIsRefusedWithAReason) {
  const std::string options = std::string("launch_count.ask=") + GetParam();
  const ToolRun plain = run({}, ends("return")), asked = run({.tools = {kTool}, .options = options}, ends("return"));
  expectSame(asked, plain);
  expectCounts(asked, kLaunches, kLaunches);
  for (const char *kernel : {"twice", "thrice"}) {
    const auto account = asked.account(kernel);
    EXPECT_TRUE(account["instrumented"].get<bool>());
    EXPECT_EQ(account["sites_asked"].get<int>(), account["sites_placed"].get<int>() + 1);
    EXPECT_THAT(account["sites_rejected"], SizeIs(1)) << account;
    EXPECT_THAT(account["rejected_sites"], SizeIs(1)) << account;
  }
  const ToolRun strict = run({.tools = {kTool}, .options = options, .strict = true}, ends("return"));
  EXPECT_EQ(strict.outcome.exitCode, 1);
  EXPECT_THAT(strict.errors, HasSubstr("were rejected"));
}

INSTANTIATE_TEST_SUITE_P(What, Impossible, testing::Values("after_end", "operand", "register", "address", "edge"),
                         [](const auto &info) { return std::string(info.param); });

TEST(Survival, AllSitesAreRefused) {
  const std::string options = "launch_count.ask=operand\nlaunch_count.only=yes";
  const ToolRun plain = run({}, ends("return")), asked = run({.tools = {kTool}, .options = options}, ends("return"));
  expectSame(asked, plain);
  for (const char *kernel : {"twice", "thrice"}) {
    const auto account = asked.account(kernel);
    EXPECT_FALSE(account["instrumented"].get<bool>()) << account;
    EXPECT_THAT(account.value("skipped", ""), testing::StartsWith("all 1 sites rejected: 1 x "));
    EXPECT_EQ(account["launches_instrumented"], 0);
    EXPECT_THAT(account["sites_rejected"], SizeIs(1)) << account;
    // Where it is, as tools name places.
    EXPECT_THAT(account["rejected_sites"][0]["place"].get<std::string>(),
                testing::ContainsRegex(std::string(kernel) + "[(]unsigned int[*][)] [+][0-9]+: [sv]_"));
  }
  EXPECT_THAT(asked.errors, HasSubstr("runs unmodified: all 1 sites rejected: 1 x "));
  const ToolRun strict = run({.tools = {kTool}, .options = options, .strict = true}, ends("return"));
  EXPECT_EQ(strict.outcome.exitCode, 1);
  EXPECT_THAT(strict.errors, HasSubstr("runs unmodified: all 1 sites rejected: 1 x "));
}

TEST(Survival, NoMemoryForVariables) {
  const ToolRun plain = run({}, ends("return")),
                huge = run({.tools = {TEST_TOOLS "/libhuge.so", kTool}}, ends("return"));
  expectSame(huge, plain);
  EXPECT_THAT(huge.errors, HasSubstr("bytes for the variables of huge.hip"));
  EXPECT_FALSE(huge.account("twice")["instrumented"].get<bool>());
  EXPECT_EQ(huge.account("twice")["launches"].get<size_t>(), kLaunches);
  const ToolRun strict = run({.tools = {TEST_TOOLS "/libhuge.so"}, .strict = true}, ends("return"));
  EXPECT_EQ(strict.outcome.exitCode, 1);
}

TEST(Survival, LlvmGivesUpOnAHook) {
  const ToolRun plain = run({}, ends("return")),
                given = run({.tools = {TEST_TOOLS "/libgives_up.so", kTool}}, ends("return"));
  expectSame(given, plain);
  expectCounts(given, kLaunches, kLaunches); // of the other tool
  EXPECT_THAT(given.account("twice")["sites_rejected"].dump(),
              HasSubstr("gives_up.hip: hook onlyGfx10 cannot be compiled: LLVM failed: Cannot select"));
}

// Registers of hooks leave room for fewer waves: launches whose workgroups need more of them run unmodified.
TEST(Survival, WorkgroupsTooLargeForTheHooks) {
  const std::vector<std::string> program = {TEST_PROGRAMS "/workgroups"};
  const Folder folder;
  const std::string stats = folder / "stats.json";
  const ToolRun plain = run({.runOptions = {"--stats", stats}}, program), counted = run({.tools = {kTool}}, program);
  EXPECT_EQ(plain.outcome.exitCode, 0);
  expectSame(counted, plain);
  const auto account = counted.account("mark");
  EXPECT_EQ(account["launches"], 4);
  EXPECT_EQ(account["launches_instrumented"], 2);
  EXPECT_EQ(account["vgprs"]["before"], 128);
  EXPECT_GT(account["vgprs"]["after"], 128);
  std::vector<uint64_t> truth; // of workgroups that fit
  const auto executed = nlohmann::json::parse(readFile(stats));
  for (const auto &dispatch : executed["dispatches"])
    if (dispatch["kernel"].get<std::string>().find("mark") != std::string::npos && dispatch["workgroup"][0] != 1024)
      truth.push_back(dispatch["wave_instructions"]);
  const auto counts = counted.counts();
  ASSERT_TRUE(counts.contains("mark")) << counted.report;
  EXPECT_THAT(truth, SizeIs(2));
  EXPECT_THAT(counts.at("mark"), testing::UnorderedElementsAreArray(truth));
  constexpr const char *kWhy = "with workgroups of 1024 work-items run unmodified: with its hooks there is room for";
  EXPECT_THAT(counted.errors, HasSubstr(kWhy));
  EXPECT_THAT(counted.json()["account"]["messages"].dump(), HasSubstr(kWhy));

  const ToolRun strict = run({.tools = {kTool}, .strict = true}, program);
  EXPECT_EQ(strict.outcome.exitCode, 1);
  EXPECT_THAT(strict.errors, HasSubstr(kWhy));
}

// Workgroups that are on the GPU at once may wait for each other. Where hooks would make it fewer, the launch runs
// unmodified, and the account says so; others do not.
TEST(Survival, WorkgroupsThatWaitForEachOther) {
  const std::vector<std::string> program = {TEST_PROGRAMS "/resident"};
  const ToolRun plain = run({}, program), counted = run({.tools = {kTool}}, program);
  EXPECT_EQ(plain.outcome.exitCode, 0);
  expectSame(counted, plain);
  const auto account = counted.account("meet");
  EXPECT_EQ(account["launches"], 4);
  EXPECT_EQ(account["launches_instrumented"], 2);
  EXPECT_LT(account["waves_per_simd"]["after"], account["waves_per_simd"]["before"]) << account.dump();
  EXPECT_THAT(counted.errors, HasSubstr("workgroups run unmodified: without hooks all are on the GPU at once and may "
                                        "wait for each other; with its hooks there is room for"));
}

// LDS of hooks is behind what a launch adds to the kernel's. A launch that leaves too little of it runs unmodified, and
// so does one whose workgroups would not all be on the GPU any more.
TEST(Survival, LdsOfHooks) {
  constexpr const char *kLimits = TEST_TOOLS "/libgroup_limits.so";
  const std::vector<std::string> program = {TEST_PROGRAMS "/dynamic_lds"};
  const ToolRun plain = run({}, program), counted = run({.tools = {kLimits}}, program);
  EXPECT_EQ(plain.outcome.exitCode, 0);
  expectSame(counted, plain);
  EXPECT_EQ(counted.account("reverse")["launches"], 2);
  EXPECT_EQ(counted.account("reverse")["launches_instrumented"], 1);
  const auto rows = counted.json()["tools"][0]["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["lanes"], 3 * 256);
  EXPECT_THAT(counted.errors, HasSubstr("with 60000 bytes of LDS run unmodified: its hooks want 40208 more, and a "
                                        "workgroup has 65536"));
  EXPECT_THAT(counted.json()["account"]["messages"].dump(),
              HasSubstr("let a compute unit hold 1 workgroups instead of 8"));

  const std::vector<std::string> meet = {TEST_PROGRAMS "/resident"};
  const ToolRun alone = run({}, meet), waiting = run({.tools = {kLimits}}, meet);
  expectSame(waiting, alone);
  EXPECT_THAT(waiting.errors, HasSubstr("workgroups run unmodified: without hooks all are on the GPU at once"));
}

// Memory for the variables of all workgroups is bounded.
TEST(Survival, VariablesOfManyWorkgroups) {
  const std::vector<std::string> program = {TEST_PROGRAMS "/dynamic_lds"};
  const ToolRun plain = run({}, program);
  const ToolRun counted =
      run({.tools = {TEST_TOOLS "/libgroup_limits.so"}, .options = "group_limits.memory=yes"}, program);
  expectSame(counted, plain);
  EXPECT_EQ(counted.account("reverse")["launches_instrumented"], 0);
  EXPECT_THAT(counted.errors, HasSubstr("per-workgroup variables have 536870912 bytes for each of 3 workgroups; "
                                        "1073741824 are possible for all"));
}

// Where the report cannot be written, the application still runs; the user is told at its start, and the report is on
// stderr.
TEST(Survival, NoPlaceForTheReport) {
  const ToolRun plain = run({}, ends("return"));
  const std::vector<std::string> nowhere = {"env", "LUTHIER_TOOL_OUTPUT=/nowhere/report", TEST_PROGRAMS "/ends"};
  ToolRun counted = run({.tools = {kTool}}, nowhere);
  EXPECT_EQ(counted.outcome.exitCode, plain.outcome.exitCode);
  EXPECT_EQ(counted.outcome.output, plain.outcome.output);
  EXPECT_THAT(counted.errors, HasSubstr("error: the report cannot be written: cannot write /nowhere/report"));
  const size_t begin = counted.errors.find("\n{");
  ASSERT_NE(begin, std::string::npos) << counted.errors;
  counted.report = counted.errors.substr(begin, counted.errors.rfind('}') - begin + 1);
  expectCounts(counted, kLaunches, kLaunches);

  const ToolRun strict = run({.tools = {kTool}, .strict = true}, nowhere);
  EXPECT_EQ(strict.outcome.exitCode, 1);
  EXPECT_EQ(strict.outcome.output, "") << "it is known before the application launches anything";
}

// The place goes while the application runs.
TEST(Survival, TheReportsFolderIsRemoved) {
  for (const bool strict : {false, true}) {
    const Folder folder;
    std::filesystem::create_directory(folder / "reports");
    const auto counted =
        run({.tools = {kTool}, .strict = strict}, {"env", "LUTHIER_TOOL_OUTPUT=" + (folder / "reports/r.json"),
                                                   TEST_PROGRAMS "/ends", "remove", folder / "reports"});
    EXPECT_EQ(counted.outcome.exitCode, strict ? 1 : 0) << counted.errors;
    EXPECT_THAT(counted.errors, HasSubstr("error: the report cannot be written: cannot write " + (folder / "reports")));
    EXPECT_THAT(counted.errors, HasSubstr("\"instructions\": ")) << "the report itself";
  }
}

// A tool that does not come back, and a user who wants out.

TEST(Survival, AToolThatSpinsAtTheEndIsEndedByASignal) {
  const auto interrupt = [sent = false](const std::string &output, int pid) mutable {
    if (!sent && output.find("spinning") != std::string::npos) {
      sent = true;
      kill(pid, SIGINT);
    }
  };
  for (const char *file : {"json", "stderr"}) {
    std::vector<std::string> program = ends("return");
    if (file == std::string("stderr"))
      program.insert(program.begin(), {"env", "LUTHIER_TOOL_OUTPUT="});
    ToolRun spun = run({.tools = {kTool},
                        .options = "launch_count.in=exit\nlaunch_count.how=spin",
                        .timeout = 30,
                        .onOutput = interrupt},
                       program);
    EXPECT_EQ(spun.outcome.signal, SIGINT) << spun.errors;
    EXPECT_THAT(spun.errors, HasSubstr("tool launch_count has not returned from exit; the process ends by signal 2"));
    if (file == std::string("stderr")) {
      const size_t begin = spun.errors.find("\n{");
      ASSERT_NE(begin, std::string::npos) << spun.errors;
      spun.report = spun.errors.substr(begin, spun.errors.rfind('}') - begin + 1);
    }
    expectCounts(spun, kLaunches, kLaunches);
  }
}

// The first signal waits for the tool, the second one does not.
TEST(Survival, AToolThatSpinsInLaunchIsEndedByTwoSignals) {
  const auto interrupt = [sent = false](const std::string &output, int pid) mutable {
    if (sent || output.find("spinning") == std::string::npos)
      return;
    sent = true;
    for (int n = 0; n < 2; ++n) {
      kill(pid, SIGINT);
      usleep(300'000); // two that come at once may be one
    }
  };
  const ToolRun spun = run({.tools = {kTool},
                            .options = "launch_count.in=launch\nlaunch_count.how=spin\nlaunch_count.after=5",
                            .timeout = 30,
                            .onOutput = interrupt},
                           ends("return"));
  EXPECT_EQ(spun.outcome.signal, SIGINT) << spun.errors;
  EXPECT_THAT(spun.errors, HasSubstr("tool launch_count has not returned from launch; the process ends by signal 2"));
}

// Programs in which there is nothing to see.

TEST(Survival, NoKernelIsLaunched) {
  const ToolRun plain = run({}, ends("idle")), idle = run({.tools = {kTool}}, ends("idle"));
  EXPECT_EQ(plain.outcome.exitCode, 0);
  expectSame(idle, plain);
  EXPECT_THAT(idle.errors, HasSubstr("no kernel was launched"));
  EXPECT_THAT(idle.report, HasSubstr("no kernel was launched"));
  const ToolRun strict = run({.tools = {kTool}, .strict = true}, ends("idle"));
  EXPECT_EQ(strict.outcome.exitCode, 1);
  EXPECT_THAT(strict.errors, HasSubstr("no kernel was launched"));
}

// Whose fault it is.

TEST(Faults, SayWhetherTheyAreTheKernels) {
  const ToolRun faulty = run({.tools = {kTool}}, {LUTHIER_SAMPLES "/memory_fault"});
  EXPECT_THAT(faulty.errors, testing::ContainsRegex("belongs to  the kernel itself: 0x[0-9a-f]+ before it was "
                                                    "instrumented\n"));
  const ToolRun illegal = run({.tools = {kTool}}, {TEST_PROGRAMS "/illegal_instruction", "graphics"});
  EXPECT_THAT(illegal.errors, testing::ContainsRegex("belongs to  the kernel itself: 0x[0-9a-f]+ before it was "
                                                     "instrumented\n"));
  const ToolRun plain = run({}, {LUTHIER_SAMPLES "/memory_fault"});
  EXPECT_THAT(plain.errors, testing::Not(HasSubstr("belongs to")));
}

TEST(Faults, SayWhetherTheyAreAHooks) {
  const ToolRun wild = run({.tools = {TEST_TOOLS "/libwild.so"}}, {LUTHIER_SAMPLES "/vector_add"});
  EXPECT_THAT(wild.errors, HasSubstr("belongs to  the hook writeAnywhere(), inserted at the kernel's 0x0000\n"));
}

} // namespace
} // namespace luthier::runtime::test
