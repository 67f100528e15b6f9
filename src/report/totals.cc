#include "report/totals.h"

#include "support/file.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace luthier::report {

std::string skippedOf(const KernelAccount &kernel) {
  if (kernel.instrumented)
    return "";
  return kernel.skipped.empty() ? "no reason given" : kernel.skipped;
}

std::map<std::string, uint64_t> rejectedOf(const KernelAccount &kernel) {
  std::map<std::string, uint64_t> reasons = kernel.rejected;
  uint64_t known = 0;
  for (const auto &[reason, sites] : reasons)
    known += sites;
  const uint64_t missing = kernel.sitesAsked - std::min(kernel.sitesAsked, kernel.sitesPlaced + known);
  if (missing)
    reasons[kernel.instrumented ? "no reason given" : "kernel skipped: " + skippedOf(kernel)] += missing;
  return reasons;
}

Totals totalsOf(const Account &account) {
  Totals totals;
  for (const KernelAccount &kernel : account.kernels) {
    ++totals.kernels;
    if (kernel.instrumented)
      ++totals.instrumented;
    else {
      ++totals.skipped;
      ++totals.skippedBecause[skippedOf(kernel)];
    }
    totals.sitesAsked += kernel.sitesAsked;
    totals.sitesPlaced += kernel.sitesPlaced;
    for (const auto &[reason, sites] : rejectedOf(kernel)) {
      totals.rejectedBecause[reason] += sites;
      totals.sitesRejected += sites;
    }
    totals.launches += kernel.launches;
    totals.launchesInstrumented += std::min(kernel.launchesInstrumented, kernel.launches);
  }
  return totals;
}

std::vector<std::string> columnsOf(const Table &table) {
  size_t count = table.columns.size();
  for (const auto &row : table.rows)
    count = std::max(count, row.size());
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (size_t n = 0; n < count; ++n) {
    const std::string wanted = n < table.columns.size() ? table.columns[n] : fmt::format("column {}", n + 1);
    std::string name = wanted;
    for (unsigned again = 2; !taken.insert(name).second; ++again)
      name = fmt::format("{} {}", wanted, again);
    names.push_back(std::move(name));
  }
  return names;
}

Result<void> writeFile(const std::string &path, const std::string &contents) { return replaceFile(path, contents); }

} // namespace luthier::report
