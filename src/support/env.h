// Typed reading of environment variables, with errors that name the variable, its value and what was expected.
//
// An unset or empty variable gives the fallback (or std::nullopt); a malformed one is an error, never a silent default.
// In a program that runs with more rights than who started it (set-user-ID, set-group-ID, file capabilities), all
// variables count as unset: they would let the caller choose which files the program loads and writes. The same holds
// for the few places that cannot use this header: they call secure_getenv, never getenv.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace luthier::env {

// Names are C strings because the system wants them so.
std::optional<std::string> text(const char *name);

// Values are read as support/value_type.h says: the messages are those of all values that users write.
Result<uint64_t> number(const char *name, uint64_t fallback, uint64_t min = 0,
                        uint64_t max = std::numeric_limits<uint64_t>::max());

Result<bool> flag(const char *name, bool fallback);

// Comma-separated items, spaces around them removed. An empty item ("a,,b") is an error.
Result<std::vector<std::string>> list(const char *name);

// Gives the index of the name.
Result<size_t> choice(const char *name, const std::vector<std::string_view> &choices, size_t fallback);

// The same list syntax for text that comes from elsewhere; `what` names it in the error.
Result<std::vector<std::string>> splitList(std::string_view value, std::string_view what);

} // namespace luthier::env
