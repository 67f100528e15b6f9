// What is done around every HSA function, and in place of some: callbacks before and after, and replacements.
//
// A wrapper for each function goes into ROCr's table (wrapped_tables.h). One that nobody listens to costs a load and a
// jump. Where Luthier must change what a function does (creation of queues, loading of code), a part of Luthier puts a
// replacement behind the wrapper, which itself calls `original`. All of it is the process's, as ROCr's table is.
//
// Callbacks come on the thread that made the call, several at a time, and may call HSA: calls that they make themselves
// are not reported, nor are those of ROCr itself (rocr_scope.h).
#pragma once

#include "hsa/api.h"
#include "hsa/event.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace luthier::hsa {

/// One finished call, for those who watch all of them.
struct CallRecord {
  ApiId id;
  std::string arguments; ///< "agent=0x5581..., size=16384, ..."
  std::string result;    ///< "HSA_STATUS_SUCCESS", a number, or empty
  std::chrono::steady_clock::time_point begin, end;
};

namespace calls {

/// What replaces a function. As with events, one that was there is kept: a thread may be inside.
class ReplacementBase {
protected:
  Subscription add(std::shared_ptr<const void> function);
  const void *current() const { return current_.load(std::memory_order_acquire); }

private:
  std::atomic<const void *> current_ = nullptr;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> kept_;
};

template <class Return, class... Args> struct AfterEvent : Event<Return &, Args &...> {};
template <class... Args> struct AfterEvent<void, Args...> : Event<Args &...> {};

template <class Function> struct Hooks;
template <class Return, class... Args> struct Hooks<Return (*)(Args...)> {
  class Replacement : public ReplacementBase {
  public:
    using Function = std::function<Return(Args...)>;
    Subscription set(Function function) { return add(std::make_shared<const Function>(std::move(function))); }
    const Function *get() const { return static_cast<const Function *>(current()); }
  };

  Event<Args &...> before;
  AfterEvent<Return, Args...> after;
  Replacement replacement;
};

/// Never destroyed: HIP calls HSA from destructors of the application's, which may run after ours.
template <ApiId id> inline auto &hooksOf = *new Hooks<typename ApiCall<id>::Function>;

/// `callback(arguments &...)` may change the arguments.
template <ApiId id, class Callback> Subscription before(Callback callback) {
  return hooksOf<id>.before.subscribe(std::move(callback));
}
/// `callback(result &, arguments &...)`, without `result` for functions that return nothing.
template <ApiId id, class Callback> Subscription after(Callback callback) {
  return hooksOf<id>.after.subscribe(std::move(callback));
}
/// Every call of every function, after it has returned.
Event<const CallRecord &> &every();

/// What the function's wrapper calls instead of the original, until the subscription ends. There is one replacement per
/// function: the last that was given.
template <ApiId id, class Function> Subscription replace(Function function) {
  return hooksOf<id>.replacement.set(std::move(function));
}

/// The function with the meaning that Luthier has given to it, without callbacks.
template <ApiId id, class... Args> auto callReplacement(Args... args) {
  if (const auto *replacement = hooksOf<id>.replacement.get())
    return (*replacement)(args...);
  return callOriginal<id>(args...);
}

/// One for each function.
ApiFunctions wrappers();

} // namespace calls

/// As `call`, with the meaning that Luthier has given to the function, and without callbacks.
template <ApiId id, class... Args> Result<void> callReplaced(Args... args) {
  if (!original<id>())
    return missingError(ApiCall<id>::name);
  const hsa_status_t status = calls::callReplacement<id>(args...);
  if (status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK)
    return statusError(ApiCall<id>::name, status);
  return {};
}

} // namespace luthier::hsa
