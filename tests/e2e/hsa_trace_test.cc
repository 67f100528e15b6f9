// `luthier run --trace`: what it prints, held against what the virtual GPU counted by itself.

#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cxxabi.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

namespace luthier::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string sampleProgram(const std::string &name) { return LUTHIER_SAMPLES "/" + name; }

std::string demangled(const std::string &name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void *)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                     free);
  return status == 0 ? text.get() : name;
}

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
    ++launches[demangled(kernel) + ", grid " + std::to_string(grid[0].get<int>()) + "x" +
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
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("hsa_trace_" + name);
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
  EXPECT_THAT(outcome.output, HasSubstr("1 dispatches (1 seen to complete)"));
}

TEST(HsaTrace, RefusesWhatItDoesNotKnow) {
  const Outcome outcome = luthierRun({"--trace", "everything"}, {"true"});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_THAT(outcome.output, HasSubstr("'everything' cannot be traced; known: hsa"));
}

} // namespace
} // namespace luthier::e2e
