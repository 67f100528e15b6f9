// Launches from many threads and streams under a tool with per-launch results.
#include "tool_run.h"

#include <set>

namespace luthier::runtime::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char *kTool = TEST_TOOLS "/liblaunch_count.so";

std::vector<std::string> concurrent(int threads, int streams, int launches) {
  return {TEST_PROGRAMS "/concurrent", std::to_string(threads), std::to_string(streams), std::to_string(launches)};
}

/// What the virtual GPU counted, by kernel.
std::map<std::string, std::vector<uint64_t>> truth(const std::string &stats) {
  std::map<std::string, std::vector<uint64_t>> counts;
  for (const auto &dispatch : nlohmann::json::parse(readFile(stats))["dispatches"])
    counts[dispatch["kernel"]].push_back(dispatch["wave_instructions"]);
  return counts;
}

TEST(Concurrency, EveryLaunchHasItsOwnResult) {
  constexpr int kThreads = 8, kStreams = 4, kLaunches = 2000;
  const Folder folder;
  const std::string stats = folder / "stats.json";
  const ToolRun original = run({.runOptions = {"--stats", stats}}, concurrent(1, 1, 5));
  ASSERT_EQ(original.outcome.exitCode, 0) << original.outcome.output << original.errors;
  const auto counted = truth(stats);

  const ToolRun plain = run({}, concurrent(kThreads, kStreams, kLaunches)),
                many = run({.tools = {kTool}}, concurrent(kThreads, kStreams, kLaunches));
  EXPECT_EQ(many.outcome.exitCode, 0) << many.outcome.output << many.errors;
  EXPECT_EQ(many.outcome.output, plain.outcome.output);
  const auto counts = many.counts();
  for (const char *kernel : {"step", "loop", "rotate", "diverge", "call"}) {
    uint64_t expected = 0;
    for (const auto &[name, values] : counted)
      if (name.find(kernel) != std::string::npos)
        expected = values.at(0);
    ASSERT_NE(expected, 0u) << kernel;
    bool found = false;
    for (const auto &[name, values] : counts)
      if (name.ends_with(kernel)) {
        found = true;
        EXPECT_THAT(values, SizeIs(kThreads * kStreams * kLaunches / 5)) << kernel;
        EXPECT_THAT(values, Each(expected)) << kernel;
      }
    EXPECT_TRUE(found) << kernel;
    EXPECT_EQ(many.account(kernel)["launches_instrumented"], kThreads * kStreams * kLaunches / 5);
  }
  std::set<uint64_t> numbers;
  size_t rows = 0;
  for (const auto &row : many.json()["tools"][0]["rows"]) {
    numbers.insert(row["launch"].get<uint64_t>());
    ++rows;
  }
  EXPECT_EQ(numbers.size(), rows);
}

// A kernel that ends when the host says so, and a thousand others on another queue meanwhile.
TEST(Concurrency, LaunchesOverlap) {
  const ToolRun counted = run({.tools = {kTool}}, {TWO_QUEUES});
  EXPECT_EQ(counted.outcome.exitCode, 0) << counted.outcome.output << counted.errors;
  EXPECT_THAT(counted.outcome.output, HasSubstr("PASS"));
  EXPECT_EQ(counted.account("increment")["launches_instrumented"], 1000);
  EXPECT_EQ(counted.account("waitFor")["launches_instrumented"], 1);
}

// Code that comes and goes, at the same addresses; code compiled by the application; graphs.
class Samples : public testing::TestWithParam<const char *> {};

TEST_P(Samples, UnchangedAndAllCounted) {
  const std::vector<std::string> command = {std::string(LUTHIER_SAMPLES "/") + GetParam()};
  const ToolRun plain = run({}, command), counted = run({.tools = {kTool}}, command);
  EXPECT_EQ(counted.outcome.exitCode, plain.outcome.exitCode);
  EXPECT_EQ(counted.outcome.output, plain.outcome.output);
  const auto report = counted.json();
  size_t launches = 0;
  for (const auto &kernel : report["account"]["kernels"]) {
    EXPECT_TRUE(kernel["instrumented"].get<bool>()) << kernel;
    EXPECT_EQ(kernel["launches"], kernel["launches_instrumented"]);
    launches += kernel["launches"].get<size_t>();
  }
  EXPECT_GT(launches, 0u);
  EXPECT_THAT(report["tools"][0]["rows"], SizeIs(launches));
}

INSTANTIATE_TEST_SUITE_P(All, Samples, testing::Values("module_load", "hiprtc", "graphs", "streams_events"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace luthier::runtime::test
