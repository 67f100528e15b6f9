// Kernel arguments under a tool whose hooks need values of the launch: they stay where the application has them, and
// nobody reads them early.
#include "tool_run.h"

namespace luthier::runtime::test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kProgram = {TEST_PROGRAMS "/late_arguments", TEST_PROGRAMS "/late_arguments_kernels.co"};

TEST(Arguments, WrittenAfterThePacket) {
  const ToolRun plain = run({}, kProgram);
  ASSERT_EQ(plain.outcome.exitCode, 0) << plain.outcome.output << plain.errors;
  const ToolRun counted = run({.tools = {TEST_TOOLS "/liblaunch_count.so"}, .strict = true}, kProgram);
  EXPECT_EQ(counted.outcome.exitCode, 0) << counted.outcome.output << counted.errors;
  EXPECT_THAT(counted.outcome.output, HasSubstr("PASS"));
  EXPECT_EQ(counted.account("store")["launches_instrumented"], 2);
  EXPECT_EQ(counted.account("prepare")["launches_instrumented"], 1);
  EXPECT_EQ(counted.account("nothing")["launches_instrumented"], 1);
  const auto counts = counted.counts();
  EXPECT_EQ(counts.at("store").at(0), counts.at("store").at(1));
  EXPECT_GT(counts.at("store").at(0), 0u);
  EXPECT_GT(counts.at("nothing").at(0), 0u);
}

} // namespace
} // namespace luthier::runtime::test
