// Messages for the user, on stderr, one line each, prefixed `luthier: `.
//
// Luthier lives inside other people's processes: each message is one write(2), so lines from several threads or
// processes never interleave, nothing is buffered, and the application's own stdio is untouched. LUTHIER_LOG (error,
// warn, info or debug; warn when unset) says how much is shown.
#pragma once

#include <string_view>

#include <fmt/core.h>

namespace luthier::log {

enum class Level { error, warn, info, debug };

// What LUTHIER_LOG says; read once, at the first message.
Level level();

inline bool enabled(Level wanted) { return wanted <= level(); }

// Writes one line, whatever the level. Newlines inside the text are kept, each line getting the prefix.
void write(Level severity, std::string_view text);

namespace detail {
void print(Level severity, fmt::string_view format, fmt::format_args args);
} // namespace detail

template <typename... Args> void error(fmt::format_string<Args...> format, Args &&...args) {
  if (enabled(Level::error))
    detail::print(Level::error, format, fmt::make_format_args(args...));
}

template <typename... Args> void warn(fmt::format_string<Args...> format, Args &&...args) {
  if (enabled(Level::warn))
    detail::print(Level::warn, format, fmt::make_format_args(args...));
}

template <typename... Args> void info(fmt::format_string<Args...> format, Args &&...args) {
  if (enabled(Level::info))
    detail::print(Level::info, format, fmt::make_format_args(args...));
}

template <typename... Args> void debug(fmt::format_string<Args...> format, Args &&...args) {
  if (enabled(Level::debug))
    detail::print(Level::debug, format, fmt::make_format_args(args...));
}

} // namespace luthier::log
