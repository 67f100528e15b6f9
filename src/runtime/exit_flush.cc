#include "runtime/exit_flush.h"

#include "runtime/defer_termination.h"
#include "runtime/running_call.h"
#include "runtime/tool_host.h"
#include "support/log.h"
#include "support/status_line.h"
#include "support/thread.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

extern "C" void luthierFlush();

namespace luthier::runtime {

namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGABRT};
constexpr std::chrono::milliseconds kPatience(10'000); ///< that a handler has for the report
/// Whoever ends a process by a signal does not want to wait for its kernels.
constexpr std::chrono::milliseconds kWaitForLaunches(500);
constexpr std::chrono::milliseconds kSnapshotInterval(1000);
constexpr int kSnapshotShare = 20; ///< writing snapshots takes at most one part of so many
constexpr char kLockHeld = 1;      ///< the signal is abort, by a thread that has the lock of tools
int wake[2] = {-1, -1}, done[2] = {-1, -1};
pid_t owner = 0;
std::atomic<pid_t> watcher = 0; ///< the thread that was started for this

/// Has the report written by the thread, and waits a moment for it. May be called from a signal handler, whatever it
/// has interrupted: the allocator or a tool may be locked by the very thread that calls.
void finishElsewhere(char byte) {
  // A child that was forked has no thread to wake; and the thread does not wait for itself.
  if (getpid() != owner || gettid() == watcher)
    return;
  if (write(wake[1], &byte, 1) != 1)
    return;
  pollfd ready{done[0], POLLIN, 0};
  while (poll(&ready, 1, static_cast<int>(kPatience.count())) < 0 && errno == EINTR)
    ;
}

thread_local bool onRuntimesThread = false;
constexpr std::chrono::milliseconds kWaitForStreams(2000);

/// Ends the process with what the application has printed, but without its destructors.
[[noreturn]] void endNow(int status) {
  // As exit would. Elsewhere: a thread of the application may hold a stream's lock for as long as it reads.
  static std::atomic<bool> flushed = false;
  std::thread([] {
    std::fflush(nullptr);
    flushed = true;
  }).detach();
  const auto end = std::chrono::steady_clock::now() + kWaitForStreams;
  while (!flushed && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (;;)
    syscall(SYS_exit_group, status);
}

/// What the application has printed comes before the report also where both go into one pipe or file. As exit would do
/// it in a moment, unless a thread has the stream's lock, or nobody reads any more: then that is left to exit.
void flushOutput() {
  if (ftrylockfile(stdout) != 0)
    return;
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  fflush_unlocked(stdout);
  constexpr timespec kNoTime = {};
  if (!sigismember(&pending, SIGPIPE))
    while (sigtimedwait(&pipe, nullptr, &kNoTime) < 0 && errno == EINTR)
      ;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  funlockfile(stdout);
}

/// Before exit(), while ROCr and HIP are whole: their destructors run before handlers that were registered when we were
/// loaded. The application's own call may be under way at the same time, which glibc's does not survive.
void beforeExit(int status) {
  flushOutput();
  ToolHost::instance().finish({});
  if (onRuntimesThread)
    endNow(status);
}

// What follows runs in signal handlers.

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      return;
    if (written > 0)
      text.remove_prefix(static_cast<size_t>(written));
  }
}

bool isExit(const RunningCall::Place &call) { return call && std::string_view(call.function) == "exit"; }

[[noreturn]] void die(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t one; // in its own handler, a signal is blocked
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal);
  for (;;)
    syscall(SYS_exit_group, 128 + signal);
}

/// Without waiting for anything; the user learns what it would have to wait for.
[[noreturn]] void dieAtOnce(int signal) {
  status_line::erase();
  if (const RunningCall::Place call = RunningCall::now()) {
    const char digits[] = {static_cast<char>('0' + signal / 10), static_cast<char>('0' + signal % 10), 0};
    const char *const number = signal < 10 ? digits + 1 : digits;
    for (const char *text : {"luthier: error: tool ", call.tool, " has not returned from ", call.function,
                             "; the process ends by signal ", number,
                             isExit(call) ? ", and what the tool does there is not in the report\n"
                                          : ", and what was collected since the last snapshot is lost\n"})
      print(text);
  }
  print(ToolHost::instance().fallbackReport());
  die(signal);
}

void finishAndDie(int signal) {
  finishElsewhere(0);
  if (isExit(RunningCall::now())) // a tool that does not come back
    dieAtOnce(signal);
  die(signal);
}

/// A first signal ends the process when the report is written. It does not wait for tools whose exit functions run
/// already, nor does a second signal wait for anything.
void onSignal(int signal) {
  if (getpid() != owner)
    die(signal);
  if (signal == SIGABRT) { // nobody can hold it back
    finishElsewhere(DeferTermination::here() ? kLockHeld : 0);
    die(signal);
  }
  static std::atomic<bool> again = false;
  if (again.exchange(true) || isExit(RunningCall::now()))
    dieAtOnce(signal);
  if (!DeferTermination::defer(signal))
    finishAndDie(signal);
}

/// Tells the user, once, that the process cannot end because of a tool.
void warnOfLongExit() {
  static auto since = std::chrono::steady_clock::now();
  static bool warned = false;
  const RunningCall::Place call = RunningCall::now();
  const auto now = std::chrono::steady_clock::now();
  if (!isExit(call))
    since = now;
  else if (!warned && now - since > kPatience) {
    warned = true;
    log::warn("tool {} has been in exit for {} seconds; SIGINT (Ctrl-C) ends the process without waiting for it",
              call.tool, std::chrono::duration_cast<std::chrono::seconds>(now - since).count());
  }
}

void run() {
  becomeInternalThread("luthier-end");
  watcher = gettid();
  auto nextSnapshot = std::chrono::steady_clock::now();
  for (;;) {
    pollfd ready{wake[0], POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(kSnapshotInterval.count())) > 0) {
      char byte = 0;
      if (read(wake[0], &byte, 1) != 1)
        return;
      // First what there is: a tool's exit function may need ROCr, whose locks the thread that was interrupted may
      // hold.
      if (byte != kLockHeld)
        ToolHost::instance().writeSnapshot();
      ToolHost::instance().finish({.launches = kWaitForLaunches, .lockHeld = byte == kLockHeld});
      // For all threads that wait: nobody reads it.
      if (write(done[1], &byte, 1) < 0)
        return;
      continue;
    }
    warnOfLongExit();
    ToolHost::instance().showProgress();
    const auto begin = std::chrono::steady_clock::now();
    if (begin < nextSnapshot)
      continue;
    ToolHost::instance().writeSnapshot();
    const auto end = std::chrono::steady_clock::now();
    nextSnapshot = end + (end - begin) * (kSnapshotShare - 1);
  }
}

} // namespace

OnRuntimesThread::OnRuntimesThread() { onRuntimesThread = true; }

OnRuntimesThread::~OnRuntimesThread() {
  onRuntimesThread = false;
  // Threads of ours block all signals. One that a tool has raised on this one is waiting; it counts as elsewhere.
  sigset_t ours, before;
  sigemptyset(&ours);
  for (const int signal : kSignals)
    sigaddset(&ours, signal);
  pthread_sigmask(SIG_UNBLOCK, &ours, &before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void installExitHandlers() {
  owner = getpid();
  DeferTermination::onRelease([](int signal) { finishAndDie(signal); });
  on_exit(
      [](int status, void *) {
        beforeExit(status); // without libluthier-exit.so; what ROCr and HIP have registered before us comes after us
        ToolHost::instance().noteLateLaunches();
        ToolHost::instance().stopCalls(false);
        if (status == 0 && ToolHost::instance().mustFail())
          endNow(1);
      },
      nullptr);
  if (const auto registerFlush =
          reinterpret_cast<void (*)(void (*)(), void (*)(int))>(dlsym(RTLD_DEFAULT, "luthierRegisterFlush")))
    registerFlush(&luthierFlush, &beforeExit); // of libluthier-exit.so
  if (pipe2(wake, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0)
    return;
  // The application's threads handle its signals, not this one, from its very start.
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
    // A second signal must find a handler, also while the first one's waits for the report.
    ours.sa_flags = signal == SIGABRT ? static_cast<int>(SA_RESETHAND) : SA_NODEFER;
    sigaction(signal, &ours, nullptr);
  }
}

} // namespace luthier::runtime

// _exit is called by signal handlers, too.
extern "C" [[gnu::visibility("default")]] void luthierFlush() {
  luthier::runtime::finishElsewhere(0);
  if (luthier::runtime::ToolHost::instance().mustFail())
    syscall(SYS_exit_group, 1);
}
