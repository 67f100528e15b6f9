#include "cli/check_account.h"

#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/report.h"

namespace luthier::cli {

namespace {

using nlohmann::json;

uint64_t number(const json &from, const char *name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::string text(const json &from, const char *name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void addKernel(const json &kernel, std::set<std::string> &lines) {
  if (!kernel.is_object())
    return;
  const std::string name = text(kernel, "name");
  const auto instrumented = kernel.find("instrumented");
  const bool has = instrumented != kernel.end() && instrumented->is_boolean() && instrumented->get<bool>();
  const auto rejected = kernel.find("sites_rejected");
  const bool some = rejected != kernel.end() && rejected->is_object() && !rejected->empty();
  if (some)
    for (const auto &[reason, count] : rejected->items())
      lines.insert(fmt::format("{}: {} of its {} accesses to memory: {}", name,
                               count.is_number_unsigned() ? count.get<uint64_t>() : 0, number(kernel, "sites_asked"),
                               reason));
  const uint64_t launches = number(kernel, "launches"), with = number(kernel, "launches_instrumented");
  if (const std::string skipped = text(kernel, "skipped"); !has && !some && skipped != report::kOnlyObserved)
    lines.insert(fmt::format("{}: {}", name, skipped));
  else if (has && with < launches)
    lines.insert(fmt::format("{}: {} of its {} launches, which ran without hooks", name, launches - with, launches));
}

} // namespace

std::vector<std::string> notInstrumented(const std::filesystem::path &records) {
  std::set<std::string> lines;
  std::error_code failed;
  for (const auto &entry : std::filesystem::directory_iterator(records, failed)) {
    if (entry.path().extension() != ".account")
      continue;
    std::ifstream file(entry.path());
    const json report = json::parse(std::string{std::istreambuf_iterator<char>(file), {}}, nullptr, false);
    const auto account = report.is_object() ? report.find("account") : report.end();
    if (account == report.end() || !account->is_object() || !account->contains("kernels")) {
      lines.insert(fmt::format("process {}: it has left no account of its kernels", entry.path().stem().string()));
      continue;
    }
    for (const json &kernel : (*account)["kernels"])
      addKernel(kernel, lines);
  }
  return {lines.begin(), lines.end()};
}

} // namespace luthier::cli
