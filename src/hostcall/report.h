// What consumers have to say: errors, and what they do when debugging is on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace luthier::hostcall {

/// The callback of amd_hostcall_on_error.
void setErrorCallback(void (*callback)(void *state, int error), void *state);

/// Writes the text to stderr and calls the callback.
void reportError(int error, const std::string &text);

void enableDebug();
bool debugEnabled();
/// One line on stderr, "hostcall: ...".
void writeDebug(std::string_view text);

template <class... Args> void debug(fmt::format_string<Args...> format, Args &&...args) {
  if (debugEnabled())
    writeDebug(fmt::vformat(format, fmt::make_format_args(args...)));
}

} // namespace luthier::hostcall
