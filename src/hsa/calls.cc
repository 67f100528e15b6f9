#include "hsa/calls.h"

#include "hsa/callback_scope.h"
#include "hsa/format_call.h"
#include "hsa/held_work.h"

namespace luthier::hsa::calls {

Subscription ReplacementBase::add(std::shared_ptr<const void> function) {
  const void *added = function.get();
  std::lock_guard lock(mutex_);
  kept_.push_back(std::move(function));
  current_.store(added, std::memory_order_release);
  return Subscription([this, added] {
    const void *expected = added;
    current_.compare_exchange_strong(expected, nullptr);
  });
}

Event<const CallRecord &> &every() {
  static auto &event = *new Event<const CallRecord &>;
  return event;
}

namespace {

template <ApiId id, class Function> struct Wrapper;
template <ApiId id, class Return, class... Args> struct Wrapper<id, Return (*)(Args...)> {
  static Return wrapped(Args... args) {
    if (HeldWorks *works = CallbackScope::heldUp(); works && !works->mayBlock() && !RocrScope::inside())
      works->noteBlockingCallbacks(true);
    if (CallbackScope::inside() || RocrScope::inside() ||
        (hooksOf<id>.before.empty() && hooksOf<id>.after.empty() && every().empty()))
      return callReplacement<id>(args...);
    return observed(args...);
  }

  [[gnu::noinline]] static Return observed(Args... args) {
    {
      const CallbackScope scope;
      hooksOf<id>.before.raise(args...);
    }
    CallRecord record{id, {}, {}, {}, {}};
    const bool recorded = !every().empty();
    if (recorded)
      record.begin = std::chrono::steady_clock::now();
    auto finish = [&](auto &...result) {
      if (recorded)
        record.end = std::chrono::steady_clock::now();
      const CallbackScope scope;
      hooksOf<id>.after.raise(result..., args...);
      if (!recorded)
        return;
      record.arguments = formatArguments(ApiCall<id>::argumentNames, args...);
      ((record.result = formatValue(result)), ...);
      every().raise(record);
    };
    if constexpr (std::is_void_v<Return>) {
      callReplacement<id>(args...);
      finish();
    } else {
      Return result = callReplacement<id>(args...);
      finish(result);
      return result;
    }
  }
};

} // namespace

ApiFunctions wrappers() {
  ApiFunctions functions;
  forEachApi([&]<ApiId id>() { functions.set<id>(Wrapper<id, typename ApiCall<id>::Function>::wrapped); });
  return functions;
}

} // namespace luthier::hsa::calls
