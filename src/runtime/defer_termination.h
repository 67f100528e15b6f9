// Puts off a signal that would end the process while a thread holds what writing the report needs.
//
// The handler asks `DeferTermination::defer`; where it says yes, the thread's last DeferTermination calls the function
// that was given to `onRelease` with the signal. Knows nothing else of signals.
#pragma once

namespace luthier::runtime {

/// While one lives, its thread holds, or waits for, the lock of tools. A thread may have several.
class DeferTermination {
public:
  DeferTermination();
  ~DeferTermination();
  DeferTermination(const DeferTermination &) = delete;
  DeferTermination &operator=(const DeferTermination &) = delete;

  /// Whether this thread has one. May be called in a signal handler, as may `defer`.
  static bool here();
  /// Remembers the signal for later if this thread has one.
  static bool defer(int signal);
  static void onRelease(void (*act)(int signal));
};

} // namespace luthier::runtime
