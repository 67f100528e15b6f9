#include "runtime/last_words.h"

#include "runtime/tool_host.h"
#include "support/thread.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <thread>
#include <unistd.h>

extern "C" void luthierFlush();

namespace luthier::runtime {

namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGABRT};
constexpr int kPatience = 5000;         ///< milliseconds that a handler waits for the report
constexpr int kSnapshotInterval = 1000; ///< milliseconds
int wake[2] = {-1, -1}, done[2] = {-1, -1};
pid_t owner = 0;
std::atomic<pid_t> watcher = 0; ///< the thread that was started for this

/// Has the report written by the thread, and waits a moment for it. May be called from a signal handler, whatever it
/// has interrupted: the allocator or a tool may be locked by the very thread that calls.
void finishElsewhere() {
  // A child that was forked has no thread to wake; and the thread does not wait for itself.
  if (getpid() != owner || gettid() == watcher)
    return;
  const char byte = 0;
  if (write(wake[1], &byte, 1) != 1)
    return;
  pollfd ready{done[0], POLLIN, 0};
  while (poll(&ready, 1, kPatience) < 0 && errno == EINTR)
    ;
}

void onSignal(int signal) {
  finishElsewhere();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void run() {
  watcher = gettid();
  for (;;) {
    pollfd ready{wake[0], POLLIN, 0};
    const int count = poll(&ready, 1, kSnapshotInterval);
    if (count > 0) {
      ToolHost::instance().finish();
      const char byte = 0;
      if (write(done[1], &byte, 1) < 0)
        return;
      return;
    }
    ToolHost::instance().writeSnapshot();
  }
}

} // namespace

void watchForTheEnd() {
  owner = getpid();
  std::atexit([] { ToolHost::instance().finish(); });
  if (const auto registerFlush =
          reinterpret_cast<void (*)(void (*)())>(dlsym(RTLD_DEFAULT, "luthierRegisterFlush"))) // libluthier-exit.so
    registerFlush(&luthierFlush);
  if (pipe2(wake, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0)
    return;
  // The application's threads handle its signals, not this one.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(run).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (int signal : kSignals) {
    struct sigaction current = {};
    if (sigaction(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL || (current.sa_flags & SA_SIGINFO))
      continue;
    struct sigaction ours = {};
    ours.sa_handler = onSignal;
    ours.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &ours, nullptr);
  }
}

} // namespace luthier::runtime

// _exit is called by signal handlers, too.
extern "C" [[gnu::visibility("default")]] void luthierFlush() { luthier::runtime::finishElsewhere(); }
