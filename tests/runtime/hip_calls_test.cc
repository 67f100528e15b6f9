// A tool that calls HIP synchronously in its functions: the application goes on, whatever the tool waits for, and the
// user learns what ran unmodified.
#include "tool_run.h"

namespace luthier::runtime::test {
namespace {

using testing::HasSubstr;

class HipCalls : public testing::TestWithParam<std::tuple<const char *, const char *>> {
protected:
  // Hooks are compiled in every run, which takes long enough for the application to exit meanwhile.
  void SetUp() override { setenv("LUTHIER_CACHE", "off", 1); }
  void TearDown() override { unsetenv("LUTHIER_CACHE"); }

  std::string in() const { return std::get<0>(GetParam()); }
  ToolRun runUnder(const std::vector<std::string> &program) const {
    return run({.tools = {TEST_TOOLS "/libhip_calls.so"},
                .options = "hip_calls.in=" + in() + "\nhip_calls.how=" + std::get<1>(GetParam())},
               program);
  }
  void expectGood(const ToolRun &called, const ToolRun &plain) const {
    EXPECT_EQ(called.outcome.signal, 0) << called.errors;
    EXPECT_EQ(called.outcome.exitCode, plain.outcome.exitCode) << called.errors;
    EXPECT_EQ(called.outcome.output, plain.outcome.output) << called.errors;
    EXPECT_THAT(called.errors, HasSubstr(" times, with 0 failures"));
    EXPECT_THAT(called.errors, testing::Not(HasSubstr("HIP was called 0 times")));
    // What is missing is said.
    const auto account = called.json()["account"];
    if (account["launches_not_instrumented"] != 0)
      EXPECT_THAT(account["messages"].dump(), HasSubstr("ran unmodified because a tool waited for the GPU"));
    if (in() == "exit") // nothing is launched meanwhile, but for HIP 7's own copies
      for (const auto &kernel : account["kernels"])
        if (!kernel["name"].get<std::string>().starts_with("__amd_rocclr_"))
          EXPECT_EQ(kernel["launches"], kernel["launches_instrumented"]) << called.report;
  }
};

TEST_P(HipCalls, OneThread) {
  const std::vector<std::string> program = {TEST_PROGRAMS "/ends", "return"};
  const ToolRun plain = run({}, program), called = runUnder(program);
  expectGood(called, plain);
  const auto counted = run({.tools = {TEST_TOOLS "/liblaunch_count.so"}}, program).counts();
  for (const auto &[kernel, counts] : called.counts()) {
    ASSERT_TRUE(counted.contains(kernel)) << kernel;
    EXPECT_THAT(counts, testing::Each(counted.at(kernel).front())) << kernel;
  }
}

TEST_P(HipCalls, SeveralThreads) {
  const std::vector<std::string> program = {TEST_PROGRAMS "/concurrent", "4", "2", "10"};
  const ToolRun plain = run({}, program), called = runUnder(program);
  EXPECT_EQ(plain.outcome.exitCode, 0);
  expectGood(called, plain);
}

INSTANTIATE_TEST_SUITE_P(From, HipCalls,
                         testing::Combine(testing::Values("loaded", "instrument", "launch", "finished", "exit"),
                                          testing::Values("memcpy", "synchronize")),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
                         });

} // namespace
} // namespace luthier::runtime::test
