#include "hsa/table_layout.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace luthier::hsa {

namespace {

struct Row {
  ApiTable table;
  ApiId id;
  uint32_t size; ///< tables with as many functions, or more, have it
};

constexpr Row kRows[] = {
#define LUTHIER_HSA_CALL(table, function, size, arguments, ...) {ApiTable::table, ApiId::function, size},
#include "hsa/api.inc"
#undef LUTHIER_HSA_CALL
};

/// As ROCr's header calls them.
std::string_view nameOf(ApiTable table) {
  constexpr std::array<std::string_view, 5> kNames = {"CoreApiTable", "AmdExtTable", "FinalizerExtTable",
                                                      "ImageExtTable", "the loader extension's table"};
  return kNames[static_cast<size_t>(table)];
}

/// Of ROCr 5 and of ROCr 6 and 7. There is no difference between them that the size does not tell.
constexpr uint32_t kLeastMajor = 1, kGreatestMajor = 2;

std::vector<ApiId> functionsOf(ApiTable table, uint64_t count) {
  std::vector<ApiId> functions;
  for (const Row &row : kRows)
    if (row.table == table && row.size <= count)
      functions.push_back(row.id);
  return functions;
}

} // namespace

Result<std::vector<ApiId>> layoutOf(ApiTable table, const ApiTableVersion &version) {
  if (version.major_id < kLeastMajor || version.major_id > kGreatestMajor)
    return makeError("ROCr's {} has version {}, this build knows {} to {}", nameOf(table), version.major_id,
                     kLeastMajor, kGreatestMajor);
  const uint64_t bytes = version.minor_id;
  const uint64_t count = bytes < sizeof version ? 0 : (bytes - sizeof version) / sizeof(void *);
  std::vector<ApiId> functions = functionsOf(table, count);
  if (functions.empty() || (functions.size() != count && functions.size() != functionsOf(table, UINT64_MAX).size()))
    return makeError("ROCr's {} has {} functions, as that of no ROCr that this build knows", nameOf(table), count);
  return functions;
}

void *entryOf(ApiTable table, const ApiTableVersion &version, ApiId id) {
  const Result<std::vector<ApiId>> layout = layoutOf(table, version);
  if (!layout)
    return nullptr;
  const auto at = std::ranges::find(*layout, id);
  return at == layout->end() ? nullptr : reinterpret_cast<void *const *>(&version + 1)[at - layout->begin()];
}

std::vector<ApiId> loaderLayout() { return functionsOf(ApiTable::loader, UINT64_MAX); }

} // namespace luthier::hsa
