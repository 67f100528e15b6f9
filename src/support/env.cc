#include "support/env.h"

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

namespace luthier::env {

namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view spaces = " \t\n";
  size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

} // namespace

std::optional<std::string> text(const char *name) {
  const char *value = ::secure_getenv(name);
  if (!value || !*value)
    return std::nullopt;
  return std::string(value);
}

Result<uint64_t> number(const char *name, uint64_t fallback, uint64_t min, uint64_t max) {
  std::optional<std::string> value = text(name);
  if (!value)
    return fallback;

  std::string_view digits = trim(*value);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
    base = 16;
  }
  uint64_t parsed = 0;
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed, base);
  bool whole = status == std::errc() && end == digits.data() + digits.size();
  if (whole && parsed >= min && parsed <= max)
    return parsed;

  if (max == std::numeric_limits<uint64_t>::max())
    return makeError("{} is '{}'; expected a number of at least {}", name, *value, min);
  return makeError("{} is '{}'; expected a number from {} to {}", name, *value, min, max);
}

Result<bool> flag(const char *name, bool fallback) {
  std::optional<std::string> value = text(name);
  if (!value)
    return fallback;
  std::string_view word = trim(*value);
  for (std::string_view yes : {"1", "true", "yes", "on"})
    if (word == yes)
      return true;
  for (std::string_view no : {"0", "false", "no", "off"})
    if (word == no)
      return false;
  return makeError("{} is '{}'; expected 1 or 0 (or true, false, yes, no, on, off)", name, *value);
}

Result<std::vector<std::string>> list(const char *name) {
  std::optional<std::string> value = text(name);
  if (!value)
    return std::vector<std::string>();
  return splitList(*value, name);
}

Result<size_t> choice(const char *name, const std::vector<std::string_view> &choices, size_t fallback) {
  std::optional<std::string> value = text(name);
  if (!value)
    return fallback;
  std::string_view word = trim(*value);
  for (size_t i = 0; i < choices.size(); ++i)
    if (word == choices[i])
      return i;
  return makeError("{} is '{}'; expected one of: {}", name, *value, fmt::join(choices, ", "));
}

Result<std::vector<std::string>> splitList(std::string_view value, std::string_view what) {
  std::vector<std::string> items;
  std::string_view rest = value;
  for (;;) {
    size_t comma = rest.find(',');
    std::string_view item = trim(rest.substr(0, comma));
    if (item.empty())
      return makeError("{} is '{}'; expected names separated by commas", what, value);
    items.emplace_back(item);
    if (comma == std::string_view::npos)
      return items;
    rest.remove_prefix(comma + 1);
  }
}

} // namespace luthier::env
