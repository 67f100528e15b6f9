#include "hsa/wrapped_tables.h"

#include "hsa/table_layout.h"
#include "support/log.h"

#include <algorithm>
#include <cstddef>

namespace luthier::hsa {

namespace {

/// 1: ROCr 5, 2: 6.0, 3: since 6.1. Each has the tables of the one before it in the same places.
constexpr uint32_t kGreatestApiMajor = 3;

/// Other threads may be calling through the table.
void *load(void *&entry) { return __atomic_load_n(&entry, __ATOMIC_ACQUIRE); }
void store(void *&entry, void *function) { __atomic_store_n(&entry, function, __ATOMIC_RELEASE); }

} // namespace

Result<void> WrappedTables::install(HsaApiTable *table) {
  if (!table || !table->core_ || !table->amd_ext_)
    return makeError("ROCr's table of functions is missing");
  if (table->version.major_id < 1 || table->version.major_id > kGreatestApiMajor)
    return makeError("ROCr's table of functions has version {}, this build knows 1 to {}", table->version.major_id,
                     kGreatestApiMajor);
  std::vector<Live> entries;
  const auto add = [&](ApiTable which, ApiTableVersion &version) -> Result<void> {
    auto *entry = reinterpret_cast<void **>(&version + 1);
    for (const ApiId id : LUTHIER_TRY(layoutOf(which, version)))
      entries.push_back({entry++, id});
    return {};
  };
  LUTHIER_TRY(add(ApiTable::core, table->core_->version));
  LUTHIER_TRY(add(ApiTable::amd, table->amd_ext_->version));
  // Luthier changes nothing about these; it only shows who calls them.
  const auto addOptional = [&](ApiTable which, auto *optional) {
    if (!optional || optional->version.major_id == 0)
      return;
    if (const auto added = add(which, optional->version); !added)
      log::warn("{}: its functions are not shown", added.error().message());
  };
  addOptional(ApiTable::finalizer, table->finalizer_ext_);
  addOptional(ApiTable::image, table->image_ext_);

  // Given twice, what we have is right: an entry that is neither ours nor the original is that of a tool which came
  // after us, and which calls us.
  const bool again = live_ == table;
  live_ = table;
  entries_ = std::move(entries);
  for (const Live &live : entries_) {
    void *entry = load(*live.entry);
    void *wrapper = wrappers_[live.id], *&known = original_[live.id];
    if (!entry || !wrapper || entry == wrapper || (again && known && entry != known))
      continue;
    known = entry;
    store(*live.entry, wrapper);
  }
  return {};
}

void WrappedTables::uninstall() {
  if (!live_)
    return;
  for (const Live &live : entries_)
    if (void *wrapper = wrappers_[live.id]; wrapper && load(*live.entry) == wrapper)
      store(*live.entry, original_[live.id]);
  entries_.clear();
  live_ = nullptr;
}

void WrappedTables::wrapLoader(void *table, size_t bytes) const {
  auto **entry = static_cast<void **>(table);
  auto **const end = entry + bytes / sizeof(void *);
  for (const ApiId id : loaderLayout()) {
    if (entry == end)
      return;
    if (*entry && wrappers_[id] && *entry == original_[id])
      *entry = wrappers_[id];
    ++entry;
  }
}

} // namespace luthier::hsa
