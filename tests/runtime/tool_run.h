// A program under a tool: what it printed, how it ended, and what the tool left on disk.
#pragma once

#include "../e2e/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace luthier::runtime::test {

/// A folder that goes with it.
class Folder {
public:
  Folder();
  ~Folder();
  std::string operator/(const std::string &name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

std::string readFile(const std::string &path);

struct ToolRun {
  e2e::Outcome outcome; ///< its output is stdout alone
  std::string errors;   ///< stderr
  std::string report;   ///< the file, or nothing
  nlohmann::json json() const;

  /// Rows of a tool's table by kernel, its name without parameters: what the tool counted in each launch.
  std::map<std::string, std::vector<uint64_t>> counts() const;
  /// The account of a kernel, by the beginning of its name.
  nlohmann::json account(const std::string &kernel) const;
};

struct Settings {
  std::vector<std::string> tools = {}; ///< none: the program as it is
  std::string options = {};            ///< "TOOL.NAME=VALUE", one per line
  std::string format = "json";
  bool strict = false;
  std::vector<std::string> runOptions = {}; ///< of luthier run
  std::string gpus = "gfx90a";
  double timeout = 120;
  std::function<void(const std::string &output, int pid)> onOutput = {};
};

ToolRun run(const Settings &settings, std::vector<std::string> command);

} // namespace luthier::runtime::test
