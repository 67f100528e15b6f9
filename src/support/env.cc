#include "support/env.h"

#include "support/value_type.h"

#include <cstdlib>

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
  const std::optional<std::string> value = text(name);
  return value ? parseNumber(name, *value, min, max) : fallback;
}

Result<bool> flag(const char *name, bool fallback) {
  const std::optional<std::string> value = text(name);
  return value ? parseFlag(name, *value) : fallback;
}

Result<std::vector<std::string>> list(const char *name) {
  std::optional<std::string> value = text(name);
  if (!value)
    return std::vector<std::string>();
  return splitList(*value, name);
}

Result<size_t> choice(const char *name, const std::vector<std::string_view> &choices, size_t fallback) {
  const std::optional<std::string> value = text(name);
  return value ? parseChoice(name, *value, choices) : fallback;
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
