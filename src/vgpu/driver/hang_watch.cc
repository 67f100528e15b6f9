#include "vgpu/driver/hang_watch.h"

#include "support/log.h"
#include "support/thread.h"
#include "support/variables.h"
#include "vgpu/driver/driver.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <semaphore.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

using std::chrono::milliseconds;

/// A SIGQUIT within this time of the one before ends the process.
constexpr milliseconds kSecondQuit(2000);

// What the handler uses.
sem_t wanted; ///< posted for every report
std::atomic<pid_t> owner = 0;
std::atomic<int64_t> lastQuit = INT64_MIN / 2; ///< in milliseconds
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

timespec monotonicTime() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now;
}

/// Calls only what POSIX lets handlers call.
void onQuit(int) {
  const int savedErrno = errno;
  const timespec time = monotonicTime();
  const int64_t now = int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  const int64_t before = lastQuit.exchange(now);
  if (getpid() != owner || now - before < kSecondQuit.count()) {
    std::signal(SIGQUIT, SIG_DFL);
    raise(SIGQUIT); // comes when this function has returned
  } else {
    sem_post(&wanted);
  }
  errno = savedErrno;
}

/// Unless the application has a use for it of its own.
void takeQuit() {
  struct sigaction current = {};
  if (sigaction(SIGQUIT, nullptr, &current) != 0 || (current.sa_flags & SA_SIGINFO))
    return;
  if (current.sa_handler != SIG_DFL && current.sa_handler != onQuit) // ours: that of the parent
    return;
  struct sigaction ours = {};
  ours.sa_handler = onQuit;
  ours.sa_flags = SA_RESTART;
  sigaction(SIGQUIT, &ours, nullptr);
}

std::optional<std::chrono::seconds> limitFromEnvironment() {
  const Result<uint64_t> seconds = env::number(env::kHangReport, 0);
  if (!seconds)
    log::error("{}; kernels that do not end are not reported", seconds.error().message());
  return seconds && *seconds ? std::optional(std::chrono::seconds(*seconds)) : std::nullopt;
}

} // namespace

HangWatch::HangWatch(Driver &driver) : driver_(driver), limit_(limitFromEnvironment()) {
  sem_init(&wanted, 0, 0);
  owner = getpid();
  takeQuit();
  thread_ = std::thread([this] {
    becomeInternalThread("vgpu-hang-watch");
    watch();
  });
}

void HangWatch::watch() {
  for (;;) {
    int woken = 0;
    if (limit_) {
      const milliseconds pause = reportLongRunning();
      timespec until = monotonicTime();
      until.tv_sec += pause.count() / 1000;
      until.tv_nsec += pause.count() % 1000 * 1'000'000;
      if (until.tv_nsec >= 1'000'000'000) {
        ++until.tv_sec;
        until.tv_nsec -= 1'000'000'000;
      }
      woken = sem_clockwait(&wanted, CLOCK_MONOTONIC, &until);
    } else {
      woken = sem_wait(&wanted);
    }
    if (woken == 0)
      driver_.reportRunning();
  }
}

milliseconds HangWatch::reportLongRunning() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(reported_, [](const auto &dispatch) { return dispatch.expired(); });
  milliseconds pause = *limit_;
  std::vector<std::shared_ptr<const Dispatch>> due;
  for (const RunningDispatch &running : driver_.running()) {
    if (std::ranges::any_of(reported_, [&](const auto &dispatch) { return dispatch.lock() == running.dispatch; }))
      continue;
    const auto age = std::chrono::duration_cast<milliseconds>(now - running.submitted);
    if (age >= *limit_)
      due.push_back(running.dispatch);
    else
      pause = std::min(pause, milliseconds(*limit_) - age);
  }
  if (!due.empty()) {
    driver_.reportRunning([&](const Dispatch &dispatch) {
      return std::ranges::any_of(due, [&](const auto &one) { return one.get() == &dispatch; });
    });
    reported_.insert(reported_.end(), due.begin(), due.end());
  }
  return pause;
}

} // namespace luthier::vgpu
