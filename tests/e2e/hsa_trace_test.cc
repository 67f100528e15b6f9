// `luthier run --trace`: what it prints, held against what the virtual GPU counted by itself.

#include "run_command.h"
#include "support/demangle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <utility>

#include <unistd.h>

namespace luthier::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string sampleProgram(const std::string &name) { return LUTHIER_SAMPLES "/" + name; }

/// A launch as both sides tell it: the kernel's name and its grid.
using Launches = std::map<std::string, int>;

Launches fromStats(const std::string &path) {
  Launches launches;
  std::ifstream file(path);
  const auto stats = nlohmann::json::parse(file);
  for (const auto &dispatch : stats["dispatches"]) {
    const std::string kernel = dispatch["kernel"];
    if (kernel.starts_with("rocr_blit")) // on ROCr's own queues, which no tool of its can intercept
      continue;
    const auto &grid = dispatch["grid"];
    ++launches[demangle(kernel) + ", grid " + std::to_string(grid[0].get<int>()) + "x" +
               std::to_string(grid[1].get<int>()) + "x" + std::to_string(grid[2].get<int>())];
  }
  return launches;
}

Launches fromTrace(const std::string &path, int &done) {
  Launches launches;
  std::ifstream file(path);
  const std::regex dispatch(
      R"(^ *[0-9.]+ +[0-9]+ dispatch queue [0-9]+ packet [0-9]+: (.*, grid [0-9x]+), workgroup.*)");
  const std::regex completed(R"(^ *[0-9.]+ +[0-9]+ done .*)");
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, match, dispatch))
      ++launches[match[1]];
    done += std::regex_match(line, completed);
  }
  return launches;
}

class HsaTrace : public testing::TestWithParam<const char *> {};

TEST_P(HsaTrace, ShowsEveryLaunch) {
  const std::string name = GetParam();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("hsa_trace_" + name + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string stats = folder / "stats.json", trace = folder / "trace.txt";
  const Outcome outcome = luthierRun(
      {"--gpu", "gfx90a", "--stats", stats, "--trace", "code,queues,packets", "-o", trace}, {sampleProgram(name)}, 120);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("PASS"));
  int done = 0;
  const Launches seen = fromTrace(trace, done), counted = fromStats(stats);
  EXPECT_FALSE(counted.empty());
  EXPECT_EQ(seen, counted);
  int launches = 0;
  for (const auto &[text, count] : counted)
    launches += count;
  EXPECT_EQ(done, launches);
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Samples, HsaTrace,
                         testing::Values("bitonic_sort", "cooperative_groups", "device_printf", "graphs", "hiprtc",
                                         "module_load", "prefix_scan", "producer_consumer", "streams_events",
                                         "vector_add"),
                         [](const auto &info) { return std::string(info.param); });

TEST(HsaTrace, PrintsCallsWithNamesAndResults) {
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--trace", "hsa"}, {sampleProgram("vector_add")});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("hsa_queue_create(agent=0x"));
  EXPECT_THAT(outcome.output, HasSubstr(" = HSA_STATUS_SUCCESS ["));
  EXPECT_THAT(outcome.output,
              HasSubstr("vectorAdd(int const*, int const*, int*, int), grid 500224x1x1, workgroup 256x1x1"));
  EXPECT_THAT(outcome.output, HasSubstr("copies and fills by ROCr"));
}

// One launch, measured by HIP and by Luthier: the GPU's clock is not the system's.
TEST(HsaTrace, DurationIsThatOfHipsEvents) {
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--trace", "packets"}, {LUTHIER_PROGRAMS "/long_kernel"}, 120);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  const auto number = [&](const std::string &before) {
    std::smatch match;
    double last = 0;
    const std::regex pattern(before + R"(([0-9.]+) us)");
    for (std::string rest = outcome.output; std::regex_search(rest, match, pattern); rest = match.suffix())
      last = std::stod(match[1]);
    return last;
  };
  const double byEvents = number("by events: "), byTrace = number(R"(done     queue \d+ packet \d+: chain\(.*\), )");
  ASSERT_GT(byEvents, 0) << outcome.output;
  EXPECT_NEAR(byTrace / byEvents, 1, 0.05) << outcome.output;
}

TEST(HsaTrace, ChildrenAreTracedUnlessTheUserObjects) {
  const std::vector<std::string> options = {"--gpu", "gfx90a", "--trace", "packets"};
  const std::vector<std::string> script = {"sh", "-c", sampleProgram("vector_add") + "; true"};
  EXPECT_THAT(luthierRun(options, script).output, HasSubstr("dispatch queue"));
  setenv("LUTHIER_CHILDREN", "0", 1);
  const Outcome children = luthierRun(options, script), first = luthierRun(options, {sampleProgram("vector_add")});
  unsetenv("LUTHIER_CHILDREN");
  EXPECT_THAT(children.output, HasSubstr("PASS"));
  EXPECT_THAT(children.output, Not(HasSubstr("queue")));
  EXPECT_THAT(first.output, HasSubstr("dispatch queue"));
}

// HIP waits with HSA_WAIT_STATE_ACTIVE (1), which would take a core away from the virtual GPU.
TEST(HsaTrace, HostThreadsBlock) {
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--trace", "hsa"}, {sampleProgram("vector_add")});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("wait_state_hint=0"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("wait_state_hint=1")));
}

TEST(HsaTrace, LosesNothingUnderLoad) {
  const Outcome outcome =
      luthierRun({"--gpu", "gfx90a", "--trace", "code,packets", "-o", "/dev/stdout"},
                 {LUTHIER_PROGRAMS "/queues", LUTHIER_PROGRAMS "/queues_kernels.co", "8", "250"}, 120);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output.substr(outcome.output.size() -
                                                          std::min<size_t>(outcome.output.size(), 2000));
  EXPECT_THAT(outcome.output, HasSubstr("PASS"));
  EXPECT_THAT(outcome.output, HasSubstr("2000 dispatches (2000 seen to complete), 256 other packets"));
}

// What was launched is seen to complete even if the application does not wait for it.
TEST(HsaTrace, WaitsForKernelsAtTheEnd) {
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--trace", "packets"}, {LUTHIER_PROGRAMS "/exits_early"}, 120);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, testing::ContainsRegex("[1-9] dispatches \\([1-9] seen to complete\\)"));
}

TEST(HsaTrace, RefusesWhatItDoesNotKnow) {
  const Outcome outcome = luthierRun({"--trace", "everything"}, {"true"});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_THAT(outcome.output, HasSubstr("'everything' cannot be traced; expected hsa"));
}

class HsaTraceFile : public testing::Test {
protected:
  HsaTraceFile() { std::filesystem::create_directories(folder_); }
  ~HsaTraceFile() override { std::filesystem::remove_all(folder_); }
  static std::string contentsOf(const std::filesystem::path &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / ("hsa_trace_" + std::to_string(getpid()));
};

TEST_F(HsaTraceFile, ThatCannotBeWritten) {
  const Outcome missing =
      luthierRun({"--gpu", "gfx90a", "--trace", "packets", "-o", "/no/such/t"}, {"echo", "started"});
  EXPECT_EQ(missing.exitCode, 125);
  EXPECT_EQ(missing.output, "luthier: error: cannot write /no/such/t: No such file or directory\n");
  // A disk that is full is noticed later: the application goes on, and the user is told once.
  const Outcome full =
      luthierRun({"--gpu", "gfx90a", "--trace", "packets", "-o", "/dev/full"}, {sampleProgram("vector_add")});
  EXPECT_EQ(full.exitCode, 0);
  EXPECT_THAT(full.output, HasSubstr("PASS"));
  constexpr const char *kMessage = "luthier: error: cannot write the trace to /dev/full: No space left on device";
  const size_t first = full.output.find(kMessage);
  EXPECT_NE(first, std::string::npos) << full.output;
  EXPECT_EQ(full.output.find(kMessage, first + 1), std::string::npos) << full.output;
}

// Each process has a file of its own.
TEST_F(HsaTraceFile, NameHasKeys) {
  const std::string program = sampleProgram("vector_add");
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--trace", "packets", "-o", folder_ / "t-%pid%"},
                                     {"sh", "-c", program + " && " + program + " && true"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  unsigned files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder_)) {
    ++files;
    EXPECT_TRUE(std::regex_match(entry.path().filename().string(), std::regex("t-[0-9]+"))) << entry.path();
    EXPECT_THAT(contentsOf(entry.path()), testing::ContainsRegex("[1-9] dispatches \\([1-9] seen to complete\\)"));
  }
  EXPECT_EQ(files, 2u);
}

// Everything up to then, in whole lines.
TEST_F(HsaTraceFile, IsCompleteWhenASignalEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const std::string file = folder_ / "t";
    bool sent = false;
    const Outcome outcome =
        luthierRun({"--gpu", "gfx90a", "--trace", "packets", "-o", file}, {LUTHIER_PROGRAMS "/ends", "terminate"}, 120,
                   [&](const std::string &output, int pid) {
                     if (!std::exchange(sent, sent || output.find("ready") != std::string::npos) && sent)
                       kill(pid, signal);
                   });
    EXPECT_EQ(outcome.signal, signal) << outcome.output;
    const std::string trace = contentsOf(file);
    ASSERT_FALSE(trace.empty());
    EXPECT_EQ(trace.back(), '\n');
    int done = 0;
    int launches = 0;
    for (const auto &[text, count] : fromTrace(file, done))
      launches += text.find("twice") != std::string::npos || text.find("thrice") != std::string::npos ? count : 0;
    EXPECT_GE(launches, 20) << trace;
  }
}

} // namespace
} // namespace luthier::e2e
