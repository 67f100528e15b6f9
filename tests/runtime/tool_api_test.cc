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
  EXPECT_EQ(third["skipped"], "no tool asked for anything in it");
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

} // namespace
} // namespace luthier::runtime::test
