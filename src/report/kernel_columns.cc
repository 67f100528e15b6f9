#include "report/kernel_columns.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace luthier::report {

namespace {

constexpr size_t kDigits = 8; ///< of the digest: enough to tell the objects of a run apart

/// Where rows name their kernel; SIZE_MAX if none does.
size_t kernelColumn(const Table &table) {
  for (const auto &row : table.rows)
    for (size_t n = 0; n < row.size(); ++n)
      if (row[n].kernel)
        return n;
  return SIZE_MAX;
}

} // namespace

std::string objectName(const KernelAccount &kernel) { return kernel.digest.substr(0, kDigits); }

Table withKernelColumns(Table table, const Account &account) {
  const size_t column = kernelColumn(table);
  if (column == SIZE_MAX)
    return table;
  std::map<uint64_t, const KernelAccount *> byId;
  for (const KernelAccount &kernel : account.kernels)
    if (kernel.id)
      byId[kernel.id] = &kernel;
  const auto kernelOf = [&](const std::vector<Cell> &row) -> const KernelAccount * {
    const auto found = column < row.size() ? byId.find(row[column].kernel) : byId.end();
    return found == byId.end() ? nullptr : found->second;
  };

  std::map<std::string, std::set<std::string>> objects; // by symbol
  std::set<uint32_t> gpus;
  for (const auto &row : table.rows)
    if (const KernelAccount *kernel = kernelOf(row)) {
      objects[kernel->symbol].insert(kernel->digest);
      gpus.insert(kernel->gpu);
    }
  const bool needsObject = std::ranges::any_of(objects, [](const auto &each) { return each.second.size() > 1; });
  const bool needsGpu = gpus.size() > 1;
  const auto insert = [&](const std::string &name, const auto &cellOf) {
    if (column + 1 <= table.columns.size())
      table.columns.insert(table.columns.begin() + static_cast<ptrdiff_t>(column) + 1, name);
    for (auto &row : table.rows)
      if (column + 1 <= row.size()) {
        const KernelAccount *kernel = kernelOf(row);
        row.insert(row.begin() + static_cast<ptrdiff_t>(column) + 1, kernel ? cellOf(*kernel) : Cell{});
      }
  };
  if (needsGpu)
    insert("gpu", [](const KernelAccount &kernel) { return Cell{fmt::format("{}", kernel.gpu), true}; });
  if (needsObject)
    insert("object", [](const KernelAccount &kernel) { return Cell{objectName(kernel)}; });
  return table;
}

} // namespace luthier::report
