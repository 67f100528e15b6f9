// However an application ends, what a tool has collected is on disk and valid, and the application's end is its own.

#include "run_command.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace luthier::e2e {
namespace {

class ToolEndings : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "luthier-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Outcome end(const std::string &how) const {
    std::filesystem::remove(folder_ / "r.json");
    return luthierRun({"--gpu", "gfx90a", "--tool", "instr_count", "-f", "json", "-o", folder_ / "r.json"},
                      {LUTHIER_PROGRAMS "/endings", how});
  }
  /// Instructions of the one launch; 0 when there is no such result.
  uint64_t counted() const {
    std::ifstream file(folder_ / "r.json");
    const auto json = nlohmann::json::parse(file, nullptr, false);
    if (json.is_discarded() || json["tools"].empty() || json["tools"][0]["rows"].size() != 1)
      return 0;
    return json["tools"][0]["rows"][0]["instructions"];
  }

  std::filesystem::path folder_;
};

TEST_F(ToolEndings, ByItself) {
  for (const char *how : {"return", "exit", "_exit", "_Exit", "quick_exit", "handler"}) {
    const Outcome outcome = end(how);
    EXPECT_EQ(outcome.exitCode, 3) << how << "\n" << outcome.output;
    EXPECT_GT(counted(), 0u) << how;
  }
}

// Results are read while ROCr is whole, so before exit handlers.
TEST_F(ToolEndings, LaunchesOfExitHandlersAreNamed) {
  const auto end = [&](std::vector<std::string> options) {
    options.insert(options.begin(),
                   {"--gpu", "gfx90a", "--tool", "instr_count", "-f", "json", "-o", folder_ / "r.json"});
    return luthierRun(options, {LUTHIER_PROGRAMS "/endings", "launch at exit"});
  };
  constexpr const char *kMessage = "2 launches ran unmodified: the application made them while it was exiting";
  const Outcome outcome = end({}), strict = end({"--strict"});
  EXPECT_NE(outcome.output.find(kMessage), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("FAIL"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_GT(counted(), 0u);
  EXPECT_EQ(strict.exitCode, 1) << strict.output;
}

TEST_F(ToolEndings, BySignals) {
  EXPECT_EQ(end("abort").signal, SIGABRT);
  EXPECT_GT(counted(), 0u);
  EXPECT_EQ(end("terminate").signal, SIGTERM);
  EXPECT_GT(counted(), 0u);
}

// Then libluthier.so, which would say that no kernel was launched, is never loaded.
TEST_F(ToolEndings, WithoutHsa) {
  const auto run = [](const std::vector<std::string> &command, bool strict) {
    std::vector<std::string> options = {"--gpu", "gfx90a", "--tool", "instr_count"};
    if (strict)
      options.push_back("--strict");
    return luthierRun(options, command);
  };
  constexpr const char *kMessage = "the application never started HSA";
  for (const bool strict : {false, true}) {
    const Outcome nothing = run({"true"}, strict);
    EXPECT_NE(nothing.output.find(kMessage), std::string::npos) << nothing.output;
    EXPECT_EQ(nothing.exitCode, strict ? 1 : 0);
    const Outcome printed = run({"echo", "hello"}, strict);
    EXPECT_NE(printed.output.find("hello"), std::string::npos) << printed.output;
    // A status of the application's own stays.
    const Outcome failed = run({"sh", "-c", "exit 3"}, strict);
    EXPECT_NE(failed.output.find(kMessage), std::string::npos) << failed.output;
    EXPECT_EQ(failed.exitCode, 3);
    // A child's start counts.
    const Outcome shell = run({"sh", "-c", "env true && " LUTHIER_PROGRAMS "/endings; exit 4"}, strict);
    EXPECT_EQ(shell.output.find(kMessage), std::string::npos) << shell.output;
    EXPECT_NE(shell.output.find("1 instrumented"), std::string::npos) << shell.output;
    EXPECT_EQ(shell.exitCode, 4);
  }
}

// The report may be missing then: the thread that is to write it may need what is locked. The application must end.
TEST_F(ToolEndings, FromAHandlerThatInterruptedTheAllocator) {
  for (int n = 0; n < 3; ++n)
    EXPECT_EQ(end("handler in malloc").exitCode, 3);
}

} // namespace
} // namespace luthier::e2e
