#include "hsa/interceptor.h"

#include "hsa/blit.h"
#include "hsa/callback_waits.h"
#include "hsa/code_capture.h"
#include "hsa/device_functions.h"
#include "hsa/format_call.h"
#include "hsa/linker.h"
#include "hsa/queue_interception.h"
#include "support/log.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace luthier::hsa {

template <ApiId id, class Return, class... Args> struct Interceptor::Wrapper<id, Return (*)(Args...)> {
  using H = Hooks<id>;
  static constexpr bool kReturns = !std::is_void_v<Return>;

  static Return forward(Args... args) { return instance().behindWrapper<id>()(args...); }

  static Return wrapped(Args... args) {
    const Interceptor &interceptor = instance();
    if (callbackDepth > 0 || (H::before.empty() && H::after.empty() && interceptor.everyCall_.empty()))
      return forward(args...);
    return observed(interceptor, args...);
  }

  [[gnu::noinline]] static Return observed(const Interceptor &interceptor, Args... args) {
    {
      CallbackScope scope;
      H::before.raise(args...);
    }
    CallRecord record{id, {}, {}, {}, {}};
    const bool recorded = !interceptor.everyCall_.empty();
    if (recorded)
      record.begin = std::chrono::steady_clock::now();
    auto finish = [&](auto &...result) {
      if (recorded)
        record.end = std::chrono::steady_clock::now();
      CallbackScope scope;
      H::after.raise(result..., args...);
      if (!recorded)
        return;
      record.arguments = formatArguments(ApiCall<id>::argumentNames, args...);
      ((record.result = formatValue(result)), ...);
      interceptor.everyCall_.raise(record);
    };
    if constexpr (kReturns) {
      Return result = forward(args...);
      finish(result);
      return result;
    } else {
      forward(args...);
      finish();
    }
  }
};

Interceptor &Interceptor::instance() {
  static auto *interceptor = new Interceptor;
  return *interceptor;
}

Interceptor::Interceptor()
    : blit_(std::make_unique<BlitWatch>(*this)), code_(std::make_unique<CodeCapture>(*this)),
      deviceFunctions_(std::make_unique<DeviceFunctions>(*this)), linker_(std::make_unique<Linker>(*this)),
      queues_(std::make_unique<QueueInterception>(*this)) {
#define LUTHIER_HSA_CALL(table, function, arguments)                                                                   \
  ApiCall<ApiId::function>::entry(wrappers_) =                                                                         \
      Wrapper<ApiId::function, typename ApiCall<ApiId::function>::Function>::wrapped;
#define LUTHIER_HSA_LOADER_CALL(function, arguments) LUTHIER_HSA_CALL(, function, arguments)
#include "hsa/api.inc"
#undef LUTHIER_HSA_CALL
#undef LUTHIER_HSA_LOADER_CALL
}

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

/// Applications get the loader extension's functions as a table that ROCr fills for them; ours go in there.
void wrapLoaderTable(const ApiTables &original, const ApiTables &wrappers, void *table, size_t bytes) {
  const auto *from = reinterpret_cast<void *const *>(&original.loader);
  const auto *to = reinterpret_cast<void *const *>(&wrappers.loader);
  auto **entries = static_cast<void **>(table);
  const size_t count = std::min(bytes, sizeof original.loader) / sizeof(void *);
  for (size_t n = 0; n < count; ++n)
    if (entries[n] && entries[n] == from[n])
      entries[n] = to[n];
}

} // namespace

Result<void> Interceptor::install(HsaApiTable *table) {
  std::lock_guard lock(mutex_);
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
      if (!entry || entry == wrapper[n] || (again && copy[n] && entry != copy[n]))
        continue;
      copy[n] = entry;
      store(live[n], wrapper[n]);
    }
  });
  if (const auto get = original_.core.hsa_system_get_major_extension_table_fn) {
    const hsa_status_t status = get(HSA_EXTENSION_AMD_LOADER, 1, sizeof original_.loader, &original_.loader);
    if (status != HSA_STATUS_SUCCESS)
      log::warn("ROCr's loader extension is not available ({}): loaded code cannot be looked at",
                static_cast<unsigned>(status));
  }
  replace<ApiId::hsa_system_get_major_extension_table>(
      [](uint16_t extension, uint16_t major, size_t length, void *result) {
        Interceptor &self = instance();
        const hsa_status_t status =
            self.original_.core.hsa_system_get_major_extension_table_fn(extension, major, length, result);
        if (status == HSA_STATUS_SUCCESS && extension == HSA_EXTENSION_AMD_LOADER)
          wrapLoaderTable(self.original_, self.wrappers_, result, length);
        return status;
      });
  // The older form of it does not say how much it fills; the version does.
  replace<ApiId::hsa_system_get_extension_table>([](uint16_t extension, uint16_t major, uint16_t minor, void *result) {
    Interceptor &self = instance();
    const hsa_status_t status = self.original_.core.hsa_system_get_extension_table_fn(extension, major, minor, result);
    if (status == HSA_STATUS_SUCCESS && extension == HSA_EXTENSION_AMD_LOADER)
      wrapLoaderTable(self.original_, self.wrappers_, result,
                      minor == 0   ? sizeof(hsa_ven_amd_loader_1_00_pfn_t)
                      : minor == 1 ? sizeof(hsa_ven_amd_loader_1_01_pfn_t)
                      : minor == 2 ? sizeof(hsa_ven_amd_loader_1_02_pfn_t)
                                   : sizeof(hsa_ven_amd_loader_1_03_pfn_t));
    return status;
  });
  watchWaitsInCallbacks(*this);
  blit_->start();
  code_->start();
  deviceFunctions_->start();
  linker_->start();
  queues_->start();
  return {};
}

void Interceptor::uninstall() {
  std::lock_guard lock(mutex_);
  if (!live_)
    return;
  queues_->stop();
  linker_->stop();
  deviceFunctions_->stop();
  code_->stop();
  blit_->stop();
  forEachTable(*live_, original_, wrappers_, [](auto live, auto copy, auto wrapper) {
    for (size_t n = 0; n < live.size(); ++n)
      if (load(live[n]) == wrapper[n])
        store(live[n], copy[n]);
  });
  live_ = nullptr;
}

} // namespace luthier::hsa
