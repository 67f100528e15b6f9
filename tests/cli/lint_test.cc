// `luthier lint` from outside: reports in all forms, suppressions, exit statuses, and the example of docs/lint.md.

#include "run_luthier.h"
#include "temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <regex>
#include <sstream>

namespace luthier::cli {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string kFile = LINT_TEST_FILES "/lint.co";
const std::string kCompiled = LUTHIER_TEST_COMPILED;
const std::string kFunctions = LUTHIER_TEST_FUNCTIONS;

std::string contentsOf(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Lint, ReportsTheEarlierInstructionAndTheWait) {
  const Outcome outcome = runLuthier("lint " + kFile + " --kernel does_not_wait");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("v1 is read before a wait covers the operation that loads it [wait-read]"),
                    ContainsRegex("kernel does_not_wait \\(gfx90a\\), at 0x"),
                    ContainsRegex("  >     [0-9a-f]+: v_add_f32_e32 v0, v0, v1"),
                    ContainsRegex("because of 0x[0-9a-f]+: global_load_dword v1, v\\[2:3\\], off"),
                    HasSubstr("needs      vmcnt(0)"), ContainsRegex("there is   0x[0-9a-f]+: s_waitcnt vmcnt\\(1\\)"),
                    HasSubstr("1 finding in 1 kernel, 0 device functions and 7 instructions; everything was checked")));
}

TEST(Lint, SafeCodeIsClean) {
  const Outcome outcome = runLuthier("lint " + kFile + " --kernel waits");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("0 findings in 1 kernel"));
  const Outcome compiled = runLuthier("lint " + kCompiled);
  EXPECT_EQ(compiled.exitCode, 0) << compiled.output;
}

TEST(Lint, OneLoadIsOneFinding) {
  const Outcome outcome = runLuthier("lint " + kFile + " --kernel uses_it_often");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("1 finding in"), HasSubstr("also at    2 more places: 0x")));
}

TEST(Lint, WaitStates) {
  const Outcome outcome = runLuthier("lint " + kFile + " --kernel too_close");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("[wait-states]"), HasSubstr("needs      5 wait states")));
}

TEST(Lint, WhatIsNotCheckedIsListed) {
  const Outcome outcome = runLuthier("lint " + kFile + " --kernel jumps");
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("not checked, or only in part:"),
                    ContainsRegex("jumps at 0x[0-9a-f]+: goes to an unknown"),
                    HasSubstr("1 not checked or only in part"), Not(HasSubstr("everything was checked"))));
  EXPECT_EQ(runLuthier("lint " + kFile + " --kernel jumps --strict").exitCode, 2);
  EXPECT_EQ(runLuthier("lint " + kFile + " --kernel waits --strict").exitCode, 0);
  // All of an object: nothing is known about FLAT of gfx8.
  const Outcome old = runLuthier("lint " LINT_TEST_FILES "/gfx803.co");
  EXPECT_THAT(old.output, AllOf(HasSubstr("code for gfx803 cannot be checked"), HasSubstr("in 0 kernels")));
}

TEST(Lint, CallsAreFollowed) {
  const Outcome outcome = runLuthier("lint " + kFunctions);
  EXPECT_THAT(outcome.output, ContainsRegex("in [0-9]+ kernels, [1-9][0-9]* device functions"));
}

TEST(Lint, Json) {
  const auto json = nlohmann::json::parse(runLuthier("lint " + kFile + " --json").output, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  ASSERT_EQ(json["findings"].size(), 3u);
  EXPECT_EQ(json["findings"][0]["rule"], "wait-read");
  EXPECT_EQ(json["findings"][0]["function"], "does_not_wait");
  EXPECT_EQ(json["findings"][0]["needs"], "vmcnt(0)");
  EXPECT_EQ(json["findings"][0]["earlier"]["instruction"], "global_load_dword v1, v[2:3], off");
  EXPECT_EQ(json["findings"][1]["count"], 3);
  EXPECT_EQ(json["not_checked"].size(), 1u);
  EXPECT_EQ(json["kernels"], 5);
}

TEST(Lint, Sarif) {
  const TempFolder folder;
  const std::string path = (folder.path() / "lint.sarif").string();
  EXPECT_EQ(runLuthier("lint " + kFile + " --sarif " + path).exitCode, 1);
  const auto json = nlohmann::json::parse(contentsOf(path), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["version"], "2.1.0");
  const auto &run = json["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "luthier lint");
  ASSERT_EQ(run["results"].size(), 3u);
  EXPECT_EQ(run["results"][0]["ruleId"], "wait-read");
  EXPECT_EQ(run["results"][1]["occurrenceCount"], 3);
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"].size(), 1u);
}

TEST(Lint, Suppressions) {
  const TempFolder folder;
  const auto with = [&](std::string_view text) {
    return runLuthier("lint " + kFile + " --suppressions " + folder.write("list", text).string());
  };
  const Outcome some = with("# known\nwait-read : does_not_*\n\n");
  EXPECT_EQ(some.exitCode, 1);
  EXPECT_THAT(some.output, AllOf(HasSubstr("2 findings"), HasSubstr("1 suppressed"), Not(HasSubstr("does_not_wait"))));
  EXPECT_EQ(with("wait-*:*").exitCode, 0);
  const Outcome wrong = with("wait-write:*");
  EXPECT_EQ(wrong.exitCode, 2);
  EXPECT_THAT(wrong.output, HasSubstr("line 1: there is no rule 'wait-write'; there are wait-read,"));
  EXPECT_THAT(with("waits").output, HasSubstr("line 1: 'waits' is not RULE:FUNCTION"));
}

TEST(Lint, ExitStatuses) {
  EXPECT_EQ(runLuthier("lint " + kFile + " --error-exitcode 7").exitCode, 7);
  EXPECT_EQ(runLuthier("lint " + kFile + " --error-exitcode 0").exitCode, 0);
  EXPECT_EQ(runLuthier("lint /nowhere.co").exitCode, 2);
  EXPECT_EQ(runLuthier("lint").exitCode, 2);
  const Outcome none = runLuthier("lint " + kFile + " --kernel nothing");
  EXPECT_EQ(none.exitCode, 2);
  EXPECT_THAT(none.output, HasSubstr("no kernel matches 'nothing'"));
  // Several files: all are looked at.
  const Outcome both = runLuthier("lint /nowhere.co " + kFile);
  EXPECT_EQ(both.exitCode, 2);
  EXPECT_THAT(both.output, HasSubstr("3 findings"));
}

/// Without numbers, registers and folders: what a compiler may choose as it likes.
std::string normalized(std::string text) {
  text = std::regex_replace(text, std::regex("[^ ]*/"), "");
  return std::regex_replace(text, std::regex("0x[0-9a-f]+|[0-9a-f]*[0-9][0-9a-f]*"), "#");
}

TEST(Lint, ExampleOfThePage) {
  const Outcome bug = runLuthier("lint " LINT_TEST_FILES "/bug.co");
  EXPECT_EQ(bug.exitCode, 1);
  std::istringstream report(contentsOf(LINT_TEST_FILES "/report.txt"));
  const std::string output = normalized(bug.output);
  for (std::string line; std::getline(report, line);)
    if (!line.starts_with("$"))
      EXPECT_THAT(output, HasSubstr(normalized(line)));
  const Outcome fixed = runLuthier("lint " LINT_TEST_FILES "/fix.co");
  EXPECT_EQ(fixed.exitCode, 0) << fixed.output;
}

} // namespace
} // namespace luthier::cli
