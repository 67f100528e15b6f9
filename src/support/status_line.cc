#include "support/status_line.h"

#include "support/write_all.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace luthier::status_line {

namespace {

std::atomic<bool> shown = false;

// What terminals since the VT100 understand.
constexpr std::string_view kClearBehind = "\033[J"; // from the cursor to the screen's end
constexpr std::string_view kDown = "\033D";         // a line down in the same column; scrolls at the bottom
constexpr std::string_view kSave = "\0337", kRestore = "\0338", kUp = "\033[A";

} // namespace

bool possible() { return isatty(STDERR_FILENO) && tcgetpgrp(STDERR_FILENO) == getpgrp(); }

std::string_view clearing() { return isatty(STDERR_FILENO) ? kClearBehind : std::string_view(); }

void show(std::string_view text) {
  constexpr size_t kUsualWidth = 80;
  winsize size = {};
  const size_t width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : kUsualWidth;
  std::string bytes(kClearBehind);
  bytes.append(kDown).append(kSave).append("\r").append(text.substr(0, width - 1)).append(kRestore).append(kUp);
  shown = true;
  writeAll(STDERR_FILENO, bytes);
}

void erase() {
  if (shown.exchange(false))
    writeAll(STDERR_FILENO, kClearBehind);
}

} // namespace luthier::status_line
