// Stands between an application and ROCr: puts Luthier's parts together and into ROCr's table of functions.
//
// ROCr hands its table to the library named by HSA_TOOLS_LIB; `install` replaces every entry by a wrapper (calls.h),
// behind which the parts below have replaced what some functions do. Each part knows only those that it is given here,
// and tells what it sees by `events()` and `packets()`.
//
//   Interceptor &i = Interceptor::instance();
//   i.before<ApiId::hsa_queue_create>([](hsa_agent_t &agent, uint32_t &size, auto &&...) { size *= 2; }).keep();
//   i.packets().subscribe([](PacketBatch &batch) { ... }).keep();
#pragma once

#include "hsa/blit.h"
#include "hsa/callback_waits.h"
#include "hsa/calls.h"
#include "hsa/code_capture.h"
#include "hsa/code_loading.h"
#include "hsa/device_functions.h"
#include "hsa/events.h"
#include "hsa/linker.h"
#include "hsa/loader_extension.h"
#include "hsa/packet_callbacks.h"
#include "hsa/queue_interception.h"
#include "hsa/wrapped_tables.h"

#include <mutex>

namespace luthier::hsa {

class Interceptor {
public:
  /// The one of this process; never destroyed, since ROCr's threads outlive everything.
  static Interceptor &instance();

  /// Takes over ROCr's table. Being given it again, or another one after a shut-down, is no error.
  Result<void> install(HsaApiTable *table);
  /// Puts back what was there, where it is still ours.
  void uninstall();
  bool installed() const { return tables_.installed(); }

  template <ApiId id, class Callback> Subscription before(Callback callback) {
    return calls::before<id>(std::move(callback));
  }
  template <ApiId id, class Callback> Subscription after(Callback callback) {
    return calls::after<id>(std::move(callback));
  }
  Events &events() { return events_; }
  Event<PacketBatch &> &packets() { return callbacks_.packets(); }
  Event<const PacketBatch &> &packetsReleased() { return callbacks_.released(); }
  HeldWorks &heldWorks() { return callbacks_.heldWorks(); }

  const BlitWatch &blit() const { return blit_; }
  const CodeCapture &code() const { return code_; }
  QueueInterception &queues() { return queues_; }

private:
  Interceptor();

  std::mutex mutex_;
  WrappedTables tables_{originalFunctions()};
  LoaderExtension loader_{tables_};
  Events events_;
  PacketCallbacks callbacks_;
  CallbackWaits waits_{callbacks_.heldWorks()};
  BlitWatch blit_{events_};
  CodeCapture code_{events_};
  Linker linker_{events_, code_};
  CodeLoading loading_{events_, code_, linker_};
  DeviceFunctions deviceFunctions_{events_, code_, linker_};
  QueueInterception queues_{events_, callbacks_};
};

} // namespace luthier::hsa
