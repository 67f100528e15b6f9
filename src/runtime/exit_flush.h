// Sees to it that results are written however the application ends: by returning from main or calling exit, by _exit
// (through the preloaded libluthier-exit.so, which calls luthierFlush), by abort, or by SIGTERM, SIGINT or SIGHUP. For
// an end without notice, such as SIGKILL, results are written from time to time.
//
// A signal handler may do next to nothing. Ours wakes a thread that was started for this, waits a moment for it, and
// lets the signal do what it would have done. Signals that the application handles itself, or ignores, are left alone.
#pragma once

namespace luthier::runtime {

/// For ToolHost. Once.
void installExitHandlers();

/// While one lives, its thread is one that completions come on. If a tool calls exit there, the process ends once
/// results and streams are written: ROCr's and HIP's destructors would wait for the thread that they run on, or pull
/// the rug from under the application's threads.
class OnRuntimesThread {
public:
  OnRuntimesThread();
  ~OnRuntimesThread();
  OnRuntimesThread(const OnRuntimesThread &) = delete;
  OnRuntimesThread &operator=(const OnRuntimesThread &) = delete;
};

} // namespace luthier::runtime
