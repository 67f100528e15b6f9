// Hooks that call the host: what they print arrives, whole and in order; what goes wrong is said; and the application
// computes what it would have computed.
#include "tool_run.h"

#include <csignal>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace luthier::runtime::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char *kTool = TEST_TOOLS "/libprinting.so";
constexpr const char *kProgram = TEST_PROGRAMS "/printing"; ///< 2 workgroups of 96 items, one kernel

struct Printed : ToolRun {
  std::vector<std::string> lines; ///< that hooks printed
};

struct Where {
  std::string at = "entry", more = {}; ///< more options of the tool, one per line
  std::vector<std::string> environment = {}, runOptions = {};
};

/// What hooks print goes to a file, apart from what the program prints.
Printed print(const std::string &hook, std::vector<std::string> program, const Where &where = {}) {
  const Folder folder;
  const std::string output = folder / "printed";
  std::vector<std::string> command = {"env", "LUTHIER_HOOK_OUTPUT=" + output};
  command.insert(command.end(), where.environment.begin(), where.environment.end());
  command.insert(command.end(), program.begin(), program.end());
  Printed result{run({.tools = {kTool},
                      .options = fmt::format("printing.hook={}\nprinting.at={}\n{}", hook, where.at, where.more),
                      .runOptions = where.runOptions},
                     command),
                 {}};
  std::istringstream text(readFile(output));
  for (std::string line; std::getline(text, line);)
    result.lines.push_back(line);
  return result;
}

std::string only(const std::string &kernel) { return "LUTHIER_KERNEL_INCLUDE=" + kernel; }

TEST(Printing, EveryLaneOnce) {
  const Printed printed = print("lanes", {kProgram}, {.environment = {only("fill")}});
  EXPECT_THAT(printed.outcome.output, HasSubstr("PASS")) << printed.errors;
  ASSERT_THAT(printed.lines, SizeIs(192)) << printed.errors;
  // The lanes of a wave are in order; waves are not.
  std::map<std::string, unsigned> times;
  unsigned expected = 0;
  for (const std::string &line : printed.lines) {
    unsigned lane = 0, group = 0;
    ASSERT_EQ(sscanf(line.c_str(), "lane %u of %u at ", &lane, &group), 2) << line;
    if (lane != 0)
      EXPECT_EQ(lane, expected) << line;
    expected = lane + 1;
    ++times[fmt::format("{}/{}", group, lane)];
  }
  for (unsigned group = 0; group < 2; ++group)
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(times[fmt::format("{}/{}", group, lane)], lane < 32 ? 2u : 1u);
}

// To stdout, in order with what the program prints behind the kernel.
TEST(Printing, ToStandardOutput) {
  const ToolRun printed = run({.tools = {kTool}, .options = "printing.hook=lanes"}, {"env", only("fill"), kProgram});
  EXPECT_EQ(printed.outcome.exitCode, 0) << printed.errors;
  EXPECT_EQ(std::ranges::count(printed.outcome.output, '\n'), 193);
  EXPECT_TRUE(printed.outcome.output.starts_with("lane ")) << printed.outcome.output;
  EXPECT_TRUE(printed.outcome.output.ends_with("PASS\n")) << printed.outcome.output;
}

TEST(Printing, OneLane) {
  const Printed printed = print("one", {kProgram}, {.environment = {only("fill")}});
  const std::multiset<std::string> lines(printed.lines.begin(), printed.lines.end());
  EXPECT_THAT(lines, ElementsAre("lane 0 speaks for 00000000ffffffff", "lane 0 speaks for 00000000ffffffff",
                                 "lane 0 speaks for ffffffffffffffff", "lane 0 speaks for ffffffffffffffff"));
}

TEST(Printing, DivergentCallers) {
  const Printed printed = print("divergent", {kProgram}, {.environment = {only("fill")}});
  const std::multiset<std::string> lines(printed.lines.begin(), printed.lines.end());
  std::multiset<std::string> expected;
  for (unsigned group = 0; group < 2; ++group)
    for (unsigned item = 0; item < 96; ++item)
      if (item & 1)
        expected.insert(fmt::format("odd {}", item));
      else if (item % 4 == 0)
        expected.insert(fmt::format("four {}", item));
  EXPECT_EQ(lines, expected);
}

// Before each instruction, also those that are executed while no lane is active.
TEST(Printing, WaveWithoutLanes) {
  const Folder folder;
  const ToolRun plain = run({.runOptions = {"--stats", folder / "stats"}}, {CORNERS});
  uint64_t executed = 0;
  const auto stats = nlohmann::json::parse(readFile(folder / "stats"));
  for (const auto &dispatch : stats["dispatches"])
    if (dispatch["kernel"].get<std::string>().find("emptyExec") != std::string::npos)
      executed += dispatch["wave_instructions"].get<uint64_t>();
  const Printed printed = print("wave", {CORNERS}, {.at = "instructions", .environment = {only("emptyExec")}});
  EXPECT_EQ(printed.outcome.output, plain.outcome.output) << printed.errors;
  EXPECT_THAT(printed.lines, SizeIs(executed));
  const auto empty =
      std::ranges::count_if(printed.lines, [](const auto &line) { return line.ends_with(": 0000000000000000"); });
  EXPECT_GT(empty, 3); // a move, two loads, a wait
  EXPECT_LT(static_cast<size_t>(empty), printed.lines.size());
  EXPECT_THAT(print("lanes", {CORNERS}, {.at = "instructions", .environment = {only("emptyExec")}}).lines,
              SizeIs(64 * (printed.lines.size() - static_cast<size_t>(empty))));
}

TEST(Printing, AllKindsOfArguments) {
  const Printed printed = print("kinds", {kProgram}, {.environment = {only("fill")}});
  const auto line = [](const char *which) {
    return fmt::format(
        "literal|a text of the device|{}|-7| 2.50|0x123456789abcdef0|fedcba9876543210|-5000000000|x|%|ab "
        "   |1.235e+04",
        which);
  };
  const std::multiset<std::string> lines(printed.lines.begin(), printed.lines.end());
  EXPECT_THAT(lines, ElementsAre(line("five"), line("five"), line("not five"), line("not five"))) << printed.errors;
}

TEST(Printing, MoreWordsThanAPacketHas) {
  const Printed printed = print("longer", {kProgram}, {.environment = {only("fill")}});
  std::multiset<std::string> expected;
  for (unsigned lane = 0; lane < 3; ++lane) {
    std::string line;
    for (unsigned n = 0; n < 20; ++n)
      line += fmt::format("{} ", lane + n);
    for (unsigned wave = 0; wave < 4; ++wave)
      expected.insert(line + "end");
  }
  EXPECT_EQ(std::multiset<std::string>(printed.lines.begin(), printed.lines.end()), expected);
}

// Queues of their own, with buffers of their own; kernels that run at the same time, some of which wait for each other.
TEST(Printing, FromSeveralQueuesAtOnce) {
  const Printed printed = print("wave", {TEST_PROGRAMS "/concurrent", "3", "2", "10"},
                                {.environment = {only("meet|step|loop|rotate|diverge|call")}});
  EXPECT_EQ(printed.outcome.exitCode, 0) << printed.outcome.output << printed.errors;
  EXPECT_THAT(printed.outcome.output, HasSubstr("PASS"));
  EXPECT_THAT(printed.lines, SizeIs(2 + 3 * 2 * 10 * 2)); // waves
  for (const std::string &line : printed.lines) {
    EXPECT_TRUE(line.starts_with("wave of 0 at ")) << line;
    EXPECT_TRUE(line.ends_with(": ffffffffffffffff")) << line;
  }
}

// HIP's printf is served by HIP, that of hooks by Luthier.
TEST(Printing, BesideAKernelThatPrints) {
  const ToolRun plain = run({}, {LUTHIER_SAMPLES "/device_printf"});
  const Printed printed = print("lanes", {LUTHIER_SAMPLES "/device_printf"});
  EXPECT_EQ(printed.outcome.output, plain.outcome.output) << printed.errors;
  EXPECT_EQ(printed.outcome.exitCode, 0);
  EXPECT_THAT(printed.lines, SizeIs(240));
}

TEST(Printing, FunctionsOfTheTool) {
  const Printed asked = print("ask", {kProgram}, {.environment = {only("fill")}});
  EXPECT_THAT(asked.lines, IsEmpty());
  EXPECT_EQ(asked.json()["tools"][0]["rows"][0]["calls"], 192);
}

TEST(Printing, UnknownServicesAreSaidOnce) {
  const Printed printed = print("unknown", {kProgram}, {.environment = {only("fill")}});
  EXPECT_EQ(printed.outcome.exitCode, 0) << printed.errors;
  EXPECT_THAT(printed.outcome.output, HasSubstr("PASS"));
  EXPECT_THAT(printed.json()["account"]["messages"],
              ElementsAre("hostcall fatal error: no handler found for service 4711"));
}

TEST(Printing, TooFewPacketsAreRefused) {
  const Printed printed = print("lanes", {kProgram}, {.environment = {only("fill"), "LUTHIER_HOSTCALL_PACKETS=8"}});
  EXPECT_EQ(printed.outcome.exitCode, 0) << printed.errors;
  EXPECT_THAT(printed.outcome.output, HasSubstr("PASS"));
  EXPECT_THAT(printed.lines, IsEmpty());
  EXPECT_THAT(printed.errors,
              HasSubstr("a launch of fill(unsigned int*) runs unmodified: a hostcall buffer of 8 packets "
                        "is too small: "));
  EXPECT_EQ(printed.account("fill")["launches_instrumented"], 0);

  const Printed strict =
      print("lanes", {kProgram}, {.environment = {only("fill"), "LUTHIER_HOSTCALL_PACKETS=8", "LUTHIER_STRICT=1"}});
  EXPECT_EQ(strict.outcome.exitCode, 1);
  EXPECT_THAT(strict.outcome.output, Not(HasSubstr("PASS")));

  EXPECT_THAT(print("lanes", {kProgram}, {.environment = {only("fill"), "LUTHIER_HOSTCALL_PACKETS=8192"}}).lines,
              SizeIs(192));
}

// As a failed assertion of the kernel's own: the application is aborted.
TEST(Printing, AssertionsThatFail) {
  const Printed failed = print("check", {kProgram}, {.more = "printing.most=90", .environment = {only("fill")}});
  EXPECT_EQ(failed.outcome.signal, SIGABRT) << failed.outcome.output << failed.errors;
  const std::string text = "check: assertion failed: luthier::workitemId() < most && \"as the test says\" (a hook in "
                           "launch 1, of fill(unsigned int*))";
  EXPECT_THAT(failed.errors, HasSubstr("printing.hip:"));
  EXPECT_THAT(failed.errors, HasSubstr(text));
  EXPECT_EQ(failed.errors.find(text), failed.errors.rfind(text)) << failed.errors;
  EXPECT_THAT(failed.json()["account"]["messages"][0], HasSubstr(text));
  EXPECT_THAT(failed.outcome.output, Not(HasSubstr("PASS")));

  const Printed wave = print("checkWave", {kProgram}, {.more = "printing.most=1", .environment = {only("fill")}});
  EXPECT_EQ(wave.outcome.signal, SIGABRT) << wave.errors;
  EXPECT_THAT(wave.errors, HasSubstr("checkWave: assertion failed: luthier::workgroupId() < most (a hook in launch 1"));
}

TEST(Printing, AssertionsThatHold) {
  for (const auto &[hook, most] : {std::pair("check", 96), {"checkWave", 2}}) {
    const Printed passed =
        print(hook, {kProgram}, {.more = fmt::format("printing.most={}", most), .environment = {only("fill")}});
    EXPECT_EQ(passed.outcome.exitCode, 0) << passed.errors;
    EXPECT_THAT(passed.outcome.output, HasSubstr("PASS"));
    EXPECT_THAT(passed.json()["account"]["messages"], IsEmpty());
  }
}

// However the application ends, what was printed is out.
class PrintingEnds : public testing::TestWithParam<const char *> {};

TEST_P(PrintingEnds, NothingIsLost) {
  const std::vector<std::string> command = {TEST_PROGRAMS "/ends", GetParam()};
  const Printed printed = print("wave", command);
  const ToolRun plain = run({}, command);
  EXPECT_EQ(printed.outcome.exitCode, plain.outcome.exitCode) << printed.errors;
  EXPECT_EQ(printed.outcome.signal, plain.outcome.signal) << printed.errors;
  EXPECT_EQ(printed.outcome.output, plain.outcome.output) << printed.errors;
  EXPECT_THAT(printed.lines, Not(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Ways, PrintingEnds, testing::Values("return", "exit", "_exit", "abort", "fork"),
                         [](const auto &info) { return std::string(info.param); });

// A signal while kernels print: lines are whole, and the signal does what it would have done.
TEST(Printing, EndedBySignal) {
  bool sent = false;
  const ToolRun ended = run({.tools = {kTool},
                             .options = "printing.hook=wave",
                             .onOutput =
                                 [&](const std::string &output, int pid) {
                                   if (!sent && output.find("ready") != std::string::npos)
                                     sent = kill(pid, SIGTERM) == 0;
                                 }},
                            {TEST_PROGRAMS "/ends", "terminate"});
  EXPECT_EQ(ended.outcome.signal, SIGTERM) << ended.errors;
  std::istringstream text(ended.outcome.output);
  size_t lines = 0;
  for (std::string line; std::getline(text, line); ++lines)
    EXPECT_TRUE(line.ends_with(": ffffffffffffffff") || line == "ready" || line.starts_with("sum ")) << line;
  EXPECT_GT(lines, 100u);
  EXPECT_GT(ended.json()["account"]["launches_instrumented"], 100);
}

// A printing hook at every seventh instruction changes nothing.
class PrintingEverywhere : public testing::TestWithParam<const char *> {};

TEST_P(PrintingEverywhere, ResultsAreTheSame) {
  const std::vector<std::string> command = {std::string(LUTHIER_SAMPLES "/") + GetParam()};
  const ToolRun plain = run({}, command);
  const Printed printed = print("everywhere", command, {.at = "instructions", .more = "printing.every=7"});
  EXPECT_EQ(printed.outcome.exitCode, plain.outcome.exitCode) << printed.errors;
  EXPECT_EQ(printed.outcome.output, plain.outcome.output) << printed.errors;
  EXPECT_THAT(printed.lines, Not(IsEmpty()));
  const auto report = printed.json();
  for (const auto &kernel : report["account"]["kernels"]) {
    EXPECT_TRUE(kernel["instrumented"].get<bool>()) << kernel;
    EXPECT_EQ(kernel["sites_asked"], kernel["sites_placed"]) << kernel;
    EXPECT_EQ(kernel["launches"], kernel["launches_instrumented"]) << kernel;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, PrintingEverywhere,
                         testing::Values("bitonic_sort", "function_pointers", "half_math", "matmul_tiled",
                                         "reduction_tree", "transpose", "vector_add", "wave_intrinsics"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace luthier::runtime::test
