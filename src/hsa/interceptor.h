// Stands between an application and ROCr: callbacks around every HSA call, and events of queues, packets and code.
//
// ROCr hands its table of function pointers to the library named by HSA_TOOLS_LIB; `install` replaces every entry by a
// wrapper. A wrapper whose function nobody listens to costs a load and a jump. Where Luthier must change what a
// function does (creation of queues, loading of code), a part of Luthier puts a replacement behind the wrapper, which
// itself calls the original through `original()`.
//
//   Interceptor &i = Interceptor::instance();
//   i.before<ApiId::hsa_queue_create>([](hsa_agent_t &agent, uint32_t &size, auto &&...) { size *= 2; }).keep();
//   i.packets().subscribe([](PacketBatch &batch) { ... }).keep();
//
// Callbacks come on the thread that made the call, several at a time, and may call HSA: calls that they make themselves
// are not reported.
#pragma once

#include "hsa/api.h"
#include "hsa/event.h"
#include "hsa/held_work.h"
#include "hsa/packet.h"
#include "hsa/wrapped_tables.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace luthier::hsa {

class BlitWatch;
class CapturedCode;
class CodeCapture;
class DeviceFunctions;
class Linker;
class QueueInterception;
using SharedCode = std::shared_ptr<const CapturedCode>;

/// A queue of the application.
struct QueueInfo {
  hsa_queue_t *queue = nullptr; ///< what the application has
  hsa_queue_t *real = nullptr;  ///< what the hardware reads; the same unless packets are intercepted
  hsa_agent_t agent = {};
  uint64_t id = 0; ///< unlike an address, never given to another queue
};

/// A kernel dispatch that the hardware has completed.
struct KernelCompletion {
  const QueueInfo &queue;
  AqlPacket packet;    ///< as it was submitted, with the application's own completion signal
  uint64_t begin, end; ///< nanoseconds of HSA's system clock; 0 where the hardware left no times
};
using CompletionCallback = std::function<void(const KernelCompletion &)>;

/// Packets that the application has submitted and the hardware has not seen. A callback may change, insert and remove
/// them. Order and barrier bits are the application's.
struct PacketBatch {
  struct Entry {
    AqlPacket packet;
    /// Called when a kernel dispatch has completed, on a thread of ours, before the application is told (unless a
    /// callback waits for the GPU); null where nobody wants to know.
    CompletionCallback completed = {};
  };

  const QueueInfo &queue;
  uint64_t firstIndex; ///< of the first packet in the application's queue, before any callback changed the batch
  std::vector<Entry> entries;
  /// The hardware has the packets, as the application wrote them: a thread waits for the GPU inside a callback, and may
  /// wait for these packets (hsa/held_work.h). Changes of `entries` are ignored. May become true at any moment while
  /// callbacks run; Interceptor::packetsReleased() follows then.
  std::atomic<bool> released = false;
};

/// A copy or fill that ROCr has accepted (hsa/blit.h).
struct CopyRecord {
  ApiId call;
  uint64_t bytes;
};

/// One finished call, for those who watch all of them.
struct CallRecord {
  ApiId id;
  std::string arguments; ///< "agent=0x5581..., size=16384, ..."
  std::string result;    ///< "HSA_STATUS_SUCCESS", a number, or empty
  std::chrono::steady_clock::time_point begin, end;
};

class Interceptor {
public:
  /// The one of this process; never destroyed, since ROCr's threads outlive everything.
  static Interceptor &instance();

  /// Takes over ROCr's table. Being given it again, or another one after a shut-down, is no error.
  Result<void> install(HsaApiTable *table);
  /// Puts back what was there, where it is still ours.
  void uninstall();
  bool installed() const { return tables_.installed(); }

  const ApiTables &original() const { return tables_.original(); }

  /// `callback(arguments &...)` may change the arguments. `after`: `callback(result &, arguments &...)`, without
  /// `result` for functions that return nothing.
  template <ApiId id, class Callback> Subscription before(Callback callback) {
    return Hooks<id>::before.subscribe(std::move(callback));
  }
  template <ApiId id, class Callback> Subscription after(Callback callback) {
    return Hooks<id>::after.subscribe(std::move(callback));
  }
  /// Every call of every function, after it has returned.
  Event<const CallRecord &> &everyCall() { return everyCall_; }

  Event<const SharedCode &> &codeLoaded() { return codeLoaded_; } ///< its executable is not frozen yet
  Event<hsa_executable_t> &executableFrozen() { return executableFrozen_; }
  Event<hsa_executable_t> &executableDestroyed() { return executableDestroyed_; } ///< before it happens
  Event<const QueueInfo &> &queueCreated() { return queueCreated_; }
  Event<const QueueInfo &> &queueDestroyed() { return queueDestroyed_; } ///< before it happens
  Event<PacketBatch &> &packets() { return packets_; }
  /// A batch that callbacks of `packets()` were given, as they left it, when all that was for nothing: it was released
  /// while they ran. Who counts on its changes takes back what it did.
  Event<const PacketBatch &> &packetsReleased() { return packetsReleased_; }
  /// What packets need to run at all, which they get before and without callbacks; must not wait.
  Event<AqlPacket &> &packetNeeds() { return packetNeeds_; }
  Event<const CopyRecord &> &copied() { return copied_; }
  /// Every kernel dispatch of intercepted queues. PacketBatch::Entry::completed asks for a single one.
  Event<const KernelCompletion &> &kernelCompleted() { return kernelCompleted_; }

  /// Replaces what the wrapper of a function calls. For the parts of Luthier that change a function's meaning; there is
  /// one replacement per function.
  template <ApiId id> void replace(typename ApiCall<id>::Function function) {
    Hooks<id>::replacement.store(function, std::memory_order_release);
  }
  /// What the wrapper of a function calls: its replacement, or the original.
  template <ApiId id> typename ApiCall<id>::Function behindWrapper() const {
    if (const auto replacement = Hooks<id>::replacement.load(std::memory_order_acquire))
      return replacement;
    return ApiCall<id>::entry(original());
  }

  BlitWatch &blit() { return *blit_; }
  CodeCapture &code() { return *code_; }
  DeviceFunctions &deviceFunctions() { return *deviceFunctions_; }
  Linker &linker() { return *linker_; }
  QueueInterception &queues() { return *queues_; }

  HeldWorks &heldWorks() { return heldWorks_; }
  /// Calls the callbacks for packets. `held` is what they hold up; false: it was released.
  bool showPackets(PacketBatch &batch, HeldWork &held);

  /// Whether this thread is inside a callback; calls it makes are not reported.
  static bool insideCallback() { return callbackDepth > 0; }
  /// Of this thread's callbacks, those that it called inside others not counted.
  static uint64_t callbackNumber() { return callbacks; }
  struct CallbackScope {
    CallbackScope() { callbacks += callbackDepth++ == 0; }
    ~CallbackScope() { --callbackDepth; }
    CallbackScope(const CallbackScope &) = delete;
    CallbackScope &operator=(const CallbackScope &) = delete;
  };

private:
  Interceptor();

  template <class Function> struct Signature;
  template <ApiId id> struct Hooks;
  template <ApiId id, class Function> struct Wrapper;

  static inline thread_local int callbackDepth = 0;
  static inline thread_local uint64_t callbacks = 0;
  static inline thread_local bool showingPackets = false;

  std::mutex mutex_;
  WrappedTables tables_;
  HeldWorks heldWorks_;
  std::atomic<uint64_t> unseenPackets_ = 0;
  Event<const CallRecord &> everyCall_;
  Event<const QueueInfo &> queueCreated_, queueDestroyed_;
  Event<PacketBatch &> packets_{[this](bool any) {
    if (!any)
      heldWorks_.noteBlockingCallbacks(false);
  }};
  Event<const PacketBatch &> packetsReleased_;
  Event<AqlPacket &> packetNeeds_;
  Event<const KernelCompletion &> kernelCompleted_;
  Event<const SharedCode &> codeLoaded_;
  Event<hsa_executable_t> executableFrozen_, executableDestroyed_;
  Event<const CopyRecord &> copied_;
  std::unique_ptr<BlitWatch> blit_;
  std::unique_ptr<CodeCapture> code_;
  std::unique_ptr<DeviceFunctions> deviceFunctions_;
  std::unique_ptr<Linker> linker_;
  std::unique_ptr<QueueInterception> queues_;
};

template <class Return, class... Args> struct Interceptor::Signature<Return (*)(Args...)> {
  using Before = Event<Args &...>;
  using After = Event<Return &, Args &...>;
};
template <class... Args> struct Interceptor::Signature<void (*)(Args...)> {
  using Before = Event<Args &...>;
  using After = Event<Args &...>;
};

/// Never destroyed: HIP calls HSA from destructors of the application's, which may run after ours.
template <ApiId id> struct Interceptor::Hooks {
  using Function = typename ApiCall<id>::Function;
  static inline auto &before = *new typename Signature<Function>::Before;
  static inline auto &after = *new typename Signature<Function>::After;
  static inline std::atomic<Function> replacement = nullptr; ///< null: the original
};

/// As `call`, with the meaning that Luthier has given to the function, and without callbacks.
template <ApiId id, class... Args> auto callReplaced(Args... args) {
  return callFunction<id>(Interceptor::instance().behindWrapper<id>(), args...);
}

} // namespace luthier::hsa
