// Writes all of a text to a file descriptor. System calls alone: a process that is about to die may be the one that
// writes.
#pragma once

#include <cerrno>
#include <string_view>
#include <unistd.h>

namespace luthier {

/// 0, or the reason (errno). One write where the system takes the whole at once, so that what several threads write
/// does not mix.
inline int writeAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return written < 0 ? errno : EIO;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

} // namespace luthier
