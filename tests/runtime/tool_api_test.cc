// What luthier/tool.h offers beyond what the other tests' tools use.
#include "tool_run.h"

#include <set>

namespace luthier::runtime::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char *kVariants = TEST_TOOLS "/libvariants.so";

struct Row {
  uint64_t launch, variant, instructions;
  auto operator<=>(const Row &) const = default;
};

std::vector<Row> rowsOf(const nlohmann::json &report, const std::string &kernel, size_t tool = 0) {
  std::vector<Row> rows;
  for (const auto &row : report["tools"][tool]["rows"])
    if (row["kernel"].get<std::string>().starts_with(kernel))
      rows.push_back({row["launch"], row.value("variant", uint64_t{0}), row["instructions"]});
  std::ranges::sort(rows);
  return rows;
}

// Each launch runs in the variant that the tool chooses, and each variant is made once.
TEST(ToolApi, LaunchesInSeveralVariants) {
  const std::vector<std::string> program = {TEST_PROGRAMS "/ends", "return"};
  const ToolRun plain = run({}, program), varied = run({.tools = {kVariants}}, program);
  EXPECT_EQ(varied.outcome.exitCode, plain.outcome.exitCode) << varied.errors;
  EXPECT_EQ(varied.outcome.output, plain.outcome.output);
  const auto report = varied.json();
  for (const std::string kernel : {"(anonymous namespace)::twice", "(anonymous namespace)::thrice"}) {
    const auto rows = rowsOf(report, kernel);
    ASSERT_EQ(rows.size(), 7u) << report; // of ten, three are not instrumented
    for (const Row &row : rows) {
      EXPECT_EQ(row.variant, row.launch % 3);
      EXPECT_NE(row.variant, 2u);
      EXPECT_GT(row.instructions, 0u);
      EXPECT_EQ(row.instructions, rows[1].instructions * (row.variant == 1 ? 10 : 1)) << row.launch;
    }
    std::multiset<uint64_t> made;
    for (const Row &row : rowsOf(report, "instrument: " + kernel))
      made.insert(row.variant);
    EXPECT_EQ(made, (std::multiset<uint64_t>{0, 1, 2}));
  }
  const auto first = varied.account("thrice"), second = varied.account("thrice(unsigned int*) [variant 1]"),
             third = varied.account("thrice(unsigned int*) [variant 2]");
  EXPECT_EQ(first["launches_instrumented"], 3);
  EXPECT_EQ(second["launches_instrumented"], 4);
  EXPECT_EQ(third["launches"], 3);
  EXPECT_EQ(third["skipped"], "no tool requested anything in it");
}

// Another tool's choice is its own.
TEST(ToolApi, VariantsOfSeveralTools) {
  const std::vector<std::string> program = {TEST_PROGRAMS "/ends", "return"};
  const ToolRun both =
      run({.tools = {TEST_TOOLS "/liblaunch_count.so", kVariants}, .options = "variants.ways=2"}, program);
  const auto report = both.json();
  const auto counted = rowsOf(report, "(anonymous namespace)::twice"),
             varied = rowsOf(report, "(anonymous namespace)::twice", 1);
  ASSERT_EQ(counted.size(), 10u) << both.errors;
  ASSERT_EQ(varied.size(), 10u);
  for (const Row &row : varied) {
    EXPECT_EQ(row.variant, row.launch % 2);
    EXPECT_EQ(row.instructions, counted[0].instructions * (row.variant == 1 ? 10 : 1));
  }
  for (const Row &row : counted)
    EXPECT_EQ(row.instructions, counted[0].instructions);
}

TEST(ToolApi, LoadedCodeIsTold) {
  const ToolRun varied = run({.tools = {kVariants}}, {TEST_PROGRAMS "/ends", "return"});
  const auto report = varied.json();
  std::vector<std::string> loaded;
  for (const auto &row : report["tools"][0]["rows"])
    if (const std::string name = row["kernel"]; name.starts_with("loaded: "))
      loaded.push_back(name);
  EXPECT_THAT(loaded, Contains(StartsWith("loaded: (anonymous namespace)::twice(unsigned int*) in object ")));
  // Also what is never launched.
  EXPECT_THAT(loaded, Contains(StartsWith("loaded: (anonymous namespace)::forever(int volatile*) in object ")));
  for (const std::string &name : loaded)
    EXPECT_THAT(name, HasSubstr(" for gfx90a"));
}

/// Rows of the tool `places` for a kernel, launch by launch.
std::vector<nlohmann::json> watched(const std::string &what, const std::string &kernel) {
  const std::vector<std::string> program = {TEST_PROGRAMS "/places"};
  static const ToolRun plain = run({}, program);
  const ToolRun done = run({.tools = {TEST_TOOLS "/libplaces.so"}, .options = "places.what=" + what}, program);
  EXPECT_EQ(done.outcome.exitCode, 0) << done.errors;
  EXPECT_EQ(done.outcome.output, plain.outcome.output);
  EXPECT_THAT(done.errors, testing::Not(HasSubstr("warning"))) << done.errors;
  const auto report = done.json();
  std::vector<nlohmann::json> rows;
  for (const auto &row : report["tools"][0]["rows"])
    if (row["kernel"].get<std::string>().starts_with(kernel))
      rows.push_back(row);
  std::ranges::sort(rows, {}, [](const auto &row) { return row["launch"].template get<uint64_t>(); });
  return rows;
}
constexpr uint64_t kWaves = 6, kRounds[] = {1, 4, 10}; // of programs/places.hip

TEST(ToolApi, SampledVisits) {
  const auto rows = watched("sampled", "trips");
  ASSERT_EQ(rows.size(), 3u);
  for (size_t n = 0; n < 3; ++n)
    EXPECT_EQ(rows[n]["a"], kWaves * ((kRounds[n] + 2) / 3));
}

TEST(ToolApi, SampledWaves) {
  const auto rows = watched("waves", "trips");
  ASSERT_EQ(rows.size(), 3u);
  for (size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(rows[n]["b"], kWaves);
    EXPECT_EQ(rows[n]["a"], (kWaves + 3) / 4 * kRounds[n]);
  }
}

TEST(ToolApi, Loops) {
  const auto rows = watched("loops", "trips");
  ASSERT_EQ(rows.size(), 3u);
  for (size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(rows[n]["a"], kWaves);
    EXPECT_EQ(rows[n]["b"], kWaves * (kRounds[n] - 1));
    EXPECT_EQ(rows[n]["c"], kWaves);
  }
}

TEST(ToolApi, CalleesOfPointers) {
  const auto rows = watched("callees", "calls");
  ASSERT_EQ(rows.size(), 3u);
  for (size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(rows[n]["a"], kWaves);
    EXPECT_EQ(rows[n]["function"], n == 0 ? "addSeven(unsigned int)" : "threeTimes(unsigned int)");
  }
}

/// `calls` stores lane + 7, and three times the lane.
TEST(ToolApi, PredicatesOfLanes) {
  const auto rows = watched("lanes", "calls");
  ASSERT_EQ(rows.size(), 3u);
  for (const auto &row : rows) {
    EXPECT_EQ(row["a"], 64 * kWaves);
    EXPECT_EQ(row["b"], 32 * kWaves);
  }
}

TEST(ToolApi, StructuresAsArguments) {
  const auto rows = watched("structures", "trips");
  ASSERT_EQ(rows.size(), 3u);
  for (size_t n = 0; n < 3; ++n) {
    uint64_t inside = 0, rest = 0;
    for (uint32_t lane = 0; lane < 64; ++lane) {
      uint32_t value = lane;
      for (uint32_t round = 0; round < kRounds[n]; ++round)
        value = value * 5 + round;
      inside += value >= 3 && value < 20;
      rest += value % 5 + 1;
    }
    EXPECT_EQ(rows[n]["a"], 1000 * inside * kWaves);
    EXPECT_EQ(rows[n]["b"], rest * kWaves);
  }
}

/// Hooks of several tools at one point run in the order of the command line.
TEST(ToolApi, ToolsTakeTheirTurns) {
  const std::string add = TEST_TOOLS "/liborder_add.so", twice = TEST_TOOLS "/liborder_double.so";
  const auto firstLine = [](const std::vector<std::string> &tools) {
    const ToolRun done = run({.tools = tools}, {TEST_PROGRAMS "/places"});
    EXPECT_EQ(done.outcome.exitCode, 0) << done.errors;
    return done.outcome.output.substr(0, done.outcome.output.find('\n'));
  };
  EXPECT_EQ(firstLine({}), "trips 1: 0 15");
  EXPECT_EQ(firstLine({add, twice}), "trips 1: 2 32");
  EXPECT_EQ(firstLine({twice, add}), "trips 1: 1 31");
}

} // namespace
} // namespace luthier::runtime::test
