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

TEST_F(ToolEndings, BySignals) {
  EXPECT_EQ(end("abort").signal, SIGABRT);
  EXPECT_GT(counted(), 0u);
  EXPECT_EQ(end("terminate").signal, SIGTERM);
  EXPECT_GT(counted(), 0u);
}

// The report may be missing then: the thread that is to write it may need what is locked. The application must end.
TEST_F(ToolEndings, FromAHandlerThatInterruptedTheAllocator) {
  for (int n = 0; n < 3; ++n)
    EXPECT_EQ(end("handler in malloc").exitCode, 3);
}

} // namespace
} // namespace luthier::e2e
