#include "hostcall/report.h"

#include "support/write_all.h"

#include <unistd.h>

#include <atomic>
#include <mutex>

namespace luthier::hostcall {

namespace {

struct Callback {
  void (*function)(void *state, int error) = nullptr;
  void *state = nullptr;
};

std::mutex callbackMutex;
Callback callback; // NOLINT: two pointers, no destructor

std::atomic<bool> debugging = false;

/// One write per line, so that the lines of several threads do not mix.
void writeLine(std::string line) {
  line += '\n';
  luthier::writeAll(STDERR_FILENO, line);
}

} // namespace

void setErrorCallback(void (*function)(void *state, int error), void *state) {
  std::lock_guard lock(callbackMutex);
  callback = {function, state};
}

void reportError(int error, const std::string &text) {
  writeLine(text);
  Callback copy;
  {
    std::lock_guard lock(callbackMutex);
    copy = callback;
  }
  if (copy.function)
    copy.function(copy.state, error);
}

void enableDebug() { debugging = true; }
bool debugEnabled() { return debugging.load(std::memory_order_relaxed); }
void writeDebug(std::string_view text) { writeLine(fmt::format("hostcall: {}", text)); }

} // namespace luthier::hostcall
