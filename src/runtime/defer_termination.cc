#include "runtime/defer_termination.h"

#include <atomic>
#include <csignal>

namespace luthier::runtime {

namespace {

// A handler must not allocate, as the ordinary models of thread-local storage may.
[[gnu::tls_model("initial-exec")]] thread_local volatile sig_atomic_t depth = 0, deferred = 0;
std::atomic<void (*)(int)> act = nullptr;

} // namespace

DeferTermination::DeferTermination() { depth = depth + 1; }

DeferTermination::~DeferTermination() {
  depth = depth - 1;
  if (depth || !deferred)
    return;
  const int signal = deferred;
  deferred = 0;
  if (const auto function = act.load())
    function(signal);
}

bool DeferTermination::here() { return depth > 0; }

bool DeferTermination::defer(int signal) {
  if (depth == 0)
    return false;
  deferred = signal;
  return true;
}

void DeferTermination::onRelease(void (*function)(int signal)) { act = function; }

} // namespace luthier::runtime
