// The thread that makes translations.
//
// There is one for all of them, because LLVM may meet something that it does not survive. That costs this thread, which
// stops where it is for ever, and no other: kernels are interpreted from then on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

namespace luthier::vgpu {

class TranslationThread {
public:
  /// The process's, which is never destroyed: it is in a library that is never torn down (embedded.cc).
  static TranslationThread &process();

  TranslationThread();

  /// Has `job` run some time. False when the thread has stopped: it never will be.
  bool submit(std::function<void()> job);

  /// Runs `job` and waits for its end. False when the thread stopped before or in it.
  bool run(std::function<void()> job);

  /// Why the thread stopped; empty while it has not.
  std::string stoppedBecause();

  /// For OnFatal (translator.h): stops the calling thread. On any other than one of these, the process ends.
  [[noreturn]] static void stopHere(const char *message);

private:
  void loop();
  [[noreturn]] void stop(const char *message);

  std::mutex mutex_;
  std::condition_variable wake_, changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopped_ = false;
  std::string why_;
};

} // namespace luthier::vgpu
