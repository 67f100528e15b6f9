#include "hsa/interceptor.h"

#include "hsa/blit.h"
#include "hsa/callback_waits.h"
#include "hsa/code_capture.h"
#include "hsa/device_functions.h"
#include "hsa/format_call.h"
#include "hsa/linker.h"
#include "hsa/queue_interception.h"
#include "support/log.h"

#include <utility>

namespace luthier::hsa {

template <ApiId id, class Return, class... Args> struct Interceptor::Wrapper<id, Return (*)(Args...)> {
  using H = Hooks<id>;
  static constexpr bool kReturns = !std::is_void_v<Return>;

  static Return forward(Args... args) { return instance().behindWrapper<id>()(args...); }

  static Return wrapped(Args... args) {
    Interceptor &interceptor = instance();
    if (showingPackets && !interceptor.heldWorks_.mayBlock())
      interceptor.heldWorks_.noteBlockingCallbacks(true);
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

bool Interceptor::showPackets(PacketBatch &batch, HeldWork &held) {
  const CallbackScope scope;
  {
    const HeldWorks::Holding holding(heldWorks_, held);
    if (holding.atOnce()) {
      unseenPackets_ += batch.entries.size();
      return false;
    }
    const bool before = std::exchange(showingPackets, true);
    packets_.raise(batch);
    showingPackets = before;
  }
  if (batch.released)
    packetsReleased_.raise(batch);
  return !batch.released;
}

Interceptor &Interceptor::instance() {
  static auto *interceptor = new Interceptor;
  return *interceptor;
}

Interceptor::Interceptor()
    : blit_(std::make_unique<BlitWatch>(*this)), code_(std::make_unique<CodeCapture>(*this)),
      deviceFunctions_(std::make_unique<DeviceFunctions>(*this)), linker_(std::make_unique<Linker>(*this)),
      queues_(std::make_unique<QueueInterception>(*this)) {
#define LUTHIER_HSA_CALL(table, function, arguments)                                                                   \
  ApiCall<ApiId::function>::entry(tables_.wrappers()) =                                                                \
      Wrapper<ApiId::function, typename ApiCall<ApiId::function>::Function>::wrapped;
#define LUTHIER_HSA_LOADER_CALL(function, arguments) LUTHIER_HSA_CALL(, function, arguments)
#include "hsa/api.inc"
#undef LUTHIER_HSA_CALL
#undef LUTHIER_HSA_LOADER_CALL
}

Result<void> Interceptor::install(HsaApiTable *table) {
  std::lock_guard lock(mutex_);
  LUTHIER_TRY(tables_.install(table));
  ApiTables &original = tables_.original();
  if (const auto get = original.core.hsa_system_get_major_extension_table_fn) {
    const hsa_status_t status = get(HSA_EXTENSION_AMD_LOADER, 1, sizeof original.loader, &original.loader);
    if (status != HSA_STATUS_SUCCESS)
      log::warn("ROCr's loader extension is not available ({}): loaded code cannot be looked at",
                static_cast<unsigned>(status));
  }
  replace<ApiId::hsa_system_get_major_extension_table>(
      [](uint16_t extension, uint16_t major, size_t length, void *result) {
        const WrappedTables &tables = instance().tables_;
        const hsa_status_t status =
            tables.original().core.hsa_system_get_major_extension_table_fn(extension, major, length, result);
        if (status == HSA_STATUS_SUCCESS && extension == HSA_EXTENSION_AMD_LOADER)
          tables.wrapLoader(result, length);
        return status;
      });
  // The older form of it does not say how much it fills; the version does.
  replace<ApiId::hsa_system_get_extension_table>([](uint16_t extension, uint16_t major, uint16_t minor, void *result) {
    const WrappedTables &tables = instance().tables_;
    const hsa_status_t status =
        tables.original().core.hsa_system_get_extension_table_fn(extension, major, minor, result);
    if (status == HSA_STATUS_SUCCESS && extension == HSA_EXTENSION_AMD_LOADER)
      tables.wrapLoader(result, minor == 0   ? sizeof(hsa_ven_amd_loader_1_00_pfn_t)
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
  if (!installed())
    return;
  queues_->stop();
  if (const uint64_t unseen = unseenPackets_.exchange(0))
    log::warn("{} packets went to the GPU unseen while callbacks waited for it", unseen);
  linker_->stop();
  deviceFunctions_->stop();
  code_->stop();
  blit_->stop();
  tables_.uninstall();
}

} // namespace luthier::hsa
