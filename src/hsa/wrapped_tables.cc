#include "hsa/wrapped_tables.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace luthier::hsa {

namespace {

/// The function pointers of one of ROCr's tables, without the version in front; fewer than this build knows when the
/// running ROCr is older.
template <class Table> std::span<void *> entriesOf(Table &table) {
  const size_t bytes = std::min<size_t>(table.version.minor_id, sizeof table);
  const size_t count = bytes < sizeof(ApiTableVersion) ? 0 : (bytes - sizeof(ApiTableVersion)) / sizeof(void *);
  return {reinterpret_cast<void **>(reinterpret_cast<std::byte *>(&table) + sizeof(ApiTableVersion)), count};
}

/// Other threads may be calling through the table.
void *load(void *&entry) { return __atomic_load_n(&entry, __ATOMIC_ACQUIRE); }
void store(void *&entry, void *function) { __atomic_store_n(&entry, function, __ATOMIC_RELEASE); }

/// Calls `visit(live entries, our copies, our wrappers)` for each table that ROCr has.
template <class Visit> void forEachTable(HsaApiTable &live, ApiTables &original, ApiTables &wrappers, Visit visit) {
  auto one = [&](auto *table, auto &copy, auto &wrapper) {
    if (!table)
      return;
    copy.version = wrapper.version = table->version;
    visit(entriesOf(*table), entriesOf(copy), entriesOf(wrapper));
  };
  one(live.core_, original.core, wrappers.core);
  one(live.amd_ext_, original.amd, wrappers.amd);
  one(live.finalizer_ext_, original.finalizer, wrappers.finalizer);
  one(live.image_ext_, original.image, wrappers.image);
}

} // namespace

Result<void> WrappedTables::install(HsaApiTable *table) {
  if (!table || !table->core_)
    return makeError("ROCr's table of functions is missing");
  if (table->version.major_id != HSA_API_TABLE_MAJOR_VERSION)
    return makeError("ROCr's table of functions has version {}, this build knows {}", table->version.major_id,
                     HSA_API_TABLE_MAJOR_VERSION);
  // Given twice, what we have is right: an entry that is neither ours nor the original is that of a tool which came
  // after us, and which calls us.
  const bool again = live_ == table;
  live_ = table;
  forEachTable(*table, original_, wrappers_, [again](auto live, auto copy, auto wrapper) {
    for (size_t n = 0; n < live.size(); ++n) {
      void *entry = load(live[n]);
      if (!entry || !wrapper[n] || entry == wrapper[n] || (again && copy[n] && entry != copy[n]))
        continue;
      copy[n] = entry;
      store(live[n], wrapper[n]);
    }
  });
  return {};
}

void WrappedTables::uninstall() {
  if (!live_)
    return;
  forEachTable(*live_, original_, wrappers_, [](auto live, auto copy, auto wrapper) {
    for (size_t n = 0; n < live.size(); ++n)
      if (wrapper[n] && load(live[n]) == wrapper[n])
        store(live[n], copy[n]);
  });
  live_ = nullptr;
}

void WrappedTables::wrapLoader(void *table, size_t bytes) const {
  const auto *from = reinterpret_cast<void *const *>(&original_.loader);
  const auto *to = reinterpret_cast<void *const *>(&wrappers_.loader);
  auto **entries = static_cast<void **>(table);
  const size_t count = std::min(bytes, sizeof original_.loader) / sizeof(void *);
  for (size_t n = 0; n < count; ++n)
    if (entries[n] && to[n] && entries[n] == from[n])
      entries[n] = to[n];
}

} // namespace luthier::hsa
