#include "tool_run.h"

#include <atomic>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace luthier::runtime::test {

Folder::Folder() {
  static std::atomic<int> number = 0;
  path_ = std::filesystem::path(testing::TempDir()) /
          ("luthier_tool_" + std::to_string(getpid()) + "_" + std::to_string(++number));
  std::filesystem::create_directories(path_);
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string readFile(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

nlohmann::json ToolRun::json() const {
  auto parsed = nlohmann::json::parse(report, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << "no JSON: " << report.substr(0, 300) << "\n" << errors;
  return parsed.is_discarded() ? nlohmann::json::object() : parsed;
}

std::map<std::string, std::vector<uint64_t>> ToolRun::counts() const {
  std::map<std::string, std::vector<uint64_t>> counts;
  const auto parsed = json();
  for (const auto &table : parsed["tools"])
    for (const auto &row : table["rows"]) {
      std::string name = row["kernel"];
      if (name.starts_with("__amd_rocclr")) // HIP's own, for copies and fills
        continue;
      if (const std::string nowhere = "(anonymous namespace)::"; name.starts_with(nowhere))
        name.erase(0, nowhere.size());
      counts[name.substr(0, name.find('('))].push_back(row["instructions"]);
    }
  return counts;
}

nlohmann::json ToolRun::account(const std::string &kernel) const {
  const auto parsed = json();
  for (const auto &each : parsed["account"]["kernels"])
    if (each["name"].get<std::string>().find(kernel) != std::string::npos)
      return each;
  ADD_FAILURE() << kernel << " is not in the account: " << report;
  return {};
}

ToolRun run(const Settings &settings, std::vector<std::string> command) {
  const Folder folder;
  const std::string report = folder / "report", errors = folder / "errors";
  // stderr apart from stdout.
  std::vector<std::string> words = {"sh",
                                    "-c",
                                    "errors=$1 preload=$2; shift 2; [ -z \"$preload\" ] || export "
                                    "LD_PRELOAD=\"${LD_PRELOAD:+$LD_PRELOAD:}$preload\"; "
                                    "exec \"$@\" 2>\"$errors\"",
                                    "sh",
                                    errors,
                                    settings.tools.empty() ? "" : EXIT_SHIM};
  if (!settings.tools.empty()) {
    std::string tools;
    for (const std::string &tool : settings.tools)
      tools += (tools.empty() ? "" : ":") + tool;
    for (const std::string &word :
         {std::string("env"), "HSA_TOOLS_LIB=" LUTHIER_LIBRARY + std::string(), "LUTHIER_TOOLS=" + tools,
          "LUTHIER_TOOL_OPTIONS=" + settings.options, "LUTHIER_TOOL_OUTPUT=" + report,
          "LUTHIER_TOOL_FORMAT=" + settings.format, std::string("LUTHIER_RUNTIME_KERNELS=1"),
          std::string("LUTHIER_STRICT=") + (settings.strict ? "1" : "")})
      words.push_back(word);
  }
  words.insert(words.end(), command.begin(), command.end());
  std::vector<std::string> options = {"--gpu", settings.gpus};
  options.insert(options.end(), settings.runOptions.begin(), settings.runOptions.end());
  ToolRun result;
  result.outcome = e2e::luthierRun(options, words, settings.timeout, settings.onOutput);
  result.errors = readFile(errors);
  result.report = readFile(report);
  return result;
}

} // namespace luthier::runtime::test
