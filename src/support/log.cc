#include "support/log.h"

#include "support/status_line.h"
#include "support/variables.h"
#include "support/write_all.h"

#include <cerrno>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace luthier::log {

namespace {

constexpr std::string_view prefix(Level severity) {
  switch (severity) {
  case Level::error:
    return "luthier: error: ";
  case Level::warn:
    return "luthier: warning: ";
  case Level::info:
    return "luthier: ";
  case Level::debug:
    return "luthier: debug: ";
  }
  return "luthier: ";
}

Level readLevel() {
  const Result<size_t> level = env::choice(env::kLog, static_cast<size_t>(Level::warn));
  if (level)
    return static_cast<Level>(*level);
  write(Level::warn, fmt::format("{}; using warn", level.error().message()));
  return Level::warn;
}

// stderr may be a pipe that takes less than the whole line; only then is a line more than one write.
void writeToStderr(std::string_view bytes) {
  const int savedErrno = errno;
  status_line::erase();
  writeAll(STDERR_FILENO, bytes);
  errno = savedErrno;
}

} // namespace

Level level() {
  static const Level fromEnvironment = readLevel();
  return fromEnvironment;
}

void write(Level severity, std::string_view text) {
  std::string out;
  out.reserve(text.size() + 32);
  do {
    size_t end = text.find('\n');
    out += prefix(severity);
    out += text.substr(0, end);
    out += '\n';
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  } while (!text.empty());
  writeToStderr(out);
}

namespace detail {

void print(Level severity, fmt::string_view format, fmt::format_args args) {
  write(severity, fmt::vformat(format, args));
}

} // namespace detail

} // namespace luthier::log
