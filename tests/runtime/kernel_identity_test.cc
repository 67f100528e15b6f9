// Kernels of one name in several code objects, on several GPUs, and loaded again, against what the virtual GPU counts.
#include "tool_run.h"

namespace luthier::runtime::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

struct Modules {
  ToolRun run;
  std::vector<uint64_t> truth; ///< instructions of each launch of `fill`, as the virtual GPU counts them

  uint64_t sum(size_t first, size_t last) const {
    uint64_t sum = 0;
    for (size_t n = first; n <= last; ++n)
      sum += truth.at(n - 1);
    return sum;
  }
  /// Of the table, those of `fill`.
  std::vector<nlohmann::json> rows() const {
    std::vector<nlohmann::json> rows;
    const auto report = run.json();
    for (const auto &row : report["tools"][0]["rows"])
      if (row["kernel"] == "fill")
        rows.push_back(row);
    return rows;
  }
};

Modules runModules(const std::string &mode, const std::string &tool, const std::string &options,
                   const std::string &iterations = "") {
  const Folder folder;
  const std::string stats = folder / "stats.json";
  Modules result;
  result.run = run({.tools = {LUTHIER_TOOLS_FOLDER "/lib" + tool + ".so"},
                    .options = options,
                    .runOptions = {"--stats", stats},
                    .gpus = mode == "gpus" ? "gfx90a,gfx90a" : "gfx90a"},
                   {"env", "LUTHIER_KERNEL_ITERATIONS=" + iterations, TEST_PROGRAMS "/modules", mode,
                    TEST_PROGRAMS "/fill_1.hsaco", TEST_PROGRAMS "/fill_5.hsaco"});
  EXPECT_EQ(result.run.outcome.exitCode, 0) << result.run.outcome.output << result.run.errors;
  // A run of its own: the instrumented one executes more.
  const std::string plain = folder / "plain.json";
  run({.runOptions = {"--stats", plain}, .gpus = mode == "gpus" ? "gfx90a,gfx90a" : "gfx90a"},
      {TEST_PROGRAMS "/modules", mode, TEST_PROGRAMS "/fill_1.hsaco", TEST_PROGRAMS "/fill_5.hsaco"});
  const auto executed = nlohmann::json::parse(readFile(plain), nullptr, false);
  if (executed.is_discarded()) {
    ADD_FAILURE() << "no statistics";
    return result;
  }
  for (const auto &dispatch : executed["dispatches"])
    if (dispatch["kernel"].get<std::string>().starts_with("fill"))
      result.truth.push_back(dispatch["wave_instructions"]);
  return result;
}

TEST(KernelIdentity, OneNameInTwoCodeObjects) {
  const Modules done = runModules("same_name", "instr_count", "instr_count.per=kernel");
  const auto rows = done.rows();
  ASSERT_EQ(rows.size(), 2u) << done.run.report;
  ASSERT_EQ(done.truth.size(), 5u);
  EXPECT_NE(rows[0]["object"], rows[1]["object"]);
  EXPECT_EQ(rows[0]["launches"], 2);
  EXPECT_EQ(rows[1]["launches"], 3);
  EXPECT_EQ(rows[0]["instructions"], done.sum(1, 2));
  EXPECT_EQ(rows[1]["instructions"], done.sum(3, 5));
  EXPECT_FALSE(rows[0].contains("gpu"));
  // The account has what the short names stand for.
  std::map<std::string, std::string> objects;
  const auto report = done.run.json();
  for (const auto &kernel : report["account"]["kernels"])
    if (kernel["name"] == "fill")
      objects[kernel["digest"].get<std::string>().substr(0, 8)] = kernel["object"];
  ASSERT_EQ(objects.size(), 2u) << report["account"];
  EXPECT_TRUE(objects.contains(rows[0]["object"])) << report;
  EXPECT_THAT(objects[rows[1]["object"]], testing::HasSubstr("://"));
}

TEST(KernelIdentity, HistogramsOfOneNameInTwoCodeObjects) {
  const Modules done = runModules("same_name", "opcode_histogram", "");
  std::map<std::string, uint64_t> sums;
  for (const auto &row : done.rows())
    sums[row.value("object", "")] += row["instructions"].get<uint64_t>();
  ASSERT_EQ(sums.size(), 2u) << done.run.report;
  std::vector<uint64_t> values;
  for (const auto &[object, sum] : sums)
    values.push_back(sum);
  EXPECT_THAT(values, UnorderedElementsAre(done.sum(1, 2), done.sum(3, 5)));
}

TEST(KernelIdentity, SeveralGpus) {
  const Modules done = runModules("gpus", "instr_count", "instr_count.per=kernel");
  const auto rows = done.rows();
  ASSERT_EQ(rows.size(), 2u) << done.run.report;
  for (const unsigned gpu : {0u, 1u}) {
    EXPECT_EQ(rows[gpu].value("gpu", 99u), gpu);
    EXPECT_EQ(rows[gpu]["launches"], 2 + gpu);
    EXPECT_FALSE(rows[gpu].contains("object"));
  }
  EXPECT_EQ(rows[0]["instructions"], done.sum(1, 2));
  EXPECT_EQ(rows[1]["instructions"], done.sum(3, 5));
}

TEST(KernelIdentity, LaunchesGoOnCountingWhenTheCodeIsLoadedAgain) {
  const Modules done = runModules("reload", "instr_count", "", "3-4");
  std::vector<uint64_t> launches;
  for (const auto &row : done.rows())
    launches.push_back(row["launch"]);
  EXPECT_THAT(launches, ElementsAre(3, 4)) << done.run.report;
  size_t accounts = 0;
  const auto report = done.run.json();
  for (const auto &kernel : report["account"]["kernels"])
    accounts += kernel["name"] == "fill";
  EXPECT_EQ(accounts, 1u) << "a kernel that is loaded again is the same kernel";
  EXPECT_EQ(done.run.account("fill")["launches"], 6);
  EXPECT_EQ(done.run.account("fill")["launches_instrumented"], 2);
}

TEST(KernelIdentity, HistogramsGoOnCountingWhenTheCodeIsLoadedAgain) {
  const Modules done = runModules("reload", "opcode_histogram", "opcode_histogram.by=class");
  uint64_t sum = 0;
  for (const auto &row : done.rows()) {
    EXPECT_FALSE(row.contains("object"));
    sum += row["instructions"].get<uint64_t>();
  }
  EXPECT_EQ(sum, done.sum(1, 6)) << done.run.report;
}

} // namespace
} // namespace luthier::runtime::test
