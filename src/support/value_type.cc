#include "support/value_type.h"

#include "support/env.h"
#include "support/expand_keys.h"

#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace luthier {

namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
constexpr std::array<std::string_view, 6> kKindNames = {"text", "flag", "number", "choice", "addresses", "output-file"};

std::string_view trim(std::string_view text) {
  constexpr std::string_view spaces = " \t\n";
  const size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

std::string expectedNumber(uint64_t least, uint64_t most) {
  return most == kUnlimited ? fmt::format("a number of at least {}", least)
                            : fmt::format("a number from {} to {}", least, most);
}

template <class Names> std::string expectedChoice(const Names &names) {
  return fmt::format("one of: {}", fmt::join(names, ", "));
}

constexpr const char *kExpectedAddresses = "hexadecimal addresses, separated by commas";
constexpr const char *kExpectedFlag = "1 or 0 (or true, false, yes, no, on, off)";

Error unexpected(std::string_view what, std::string_view value, std::string_view expected) {
  return makeError("{} is '{}'; expected {}", what, value, expected);
}

bool readDigits(std::string_view digits, int base, uint64_t &number) {
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  return status == std::errc() && end == digits.data() + digits.size();
}

bool readNumber(std::string_view digits, uint64_t &number) {
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  return hexadecimal ? readDigits(digits.substr(2), 16, number) : readDigits(digits, 10, number);
}

} // namespace

Result<uint64_t> parseNumber(std::string_view what, std::string_view value, uint64_t least, uint64_t most) {
  uint64_t number = 0;
  if (readNumber(trim(value), number) && number >= least && number <= most)
    return number;
  return unexpected(what, value, expectedNumber(least, most));
}

Result<bool> parseFlag(std::string_view what, std::string_view value) {
  const std::string_view word = trim(value);
  for (const std::string_view yes : {"1", "true", "yes", "on"})
    if (word == yes)
      return true;
  for (const std::string_view no : {"0", "false", "no", "off"})
    if (word == no)
      return false;
  return unexpected(what, value, kExpectedFlag);
}

Result<std::vector<uint64_t>> parseAddresses(std::string_view what, std::string_view value) {
  std::vector<uint64_t> addresses;
  for (std::string_view rest = value; !value.empty();) {
    const size_t comma = rest.find(',');
    std::string_view digits = trim(rest.substr(0, comma));
    if (digits.starts_with("0x") || digits.starts_with("0X"))
      digits.remove_prefix(2);
    if (!readDigits(digits, 16, addresses.emplace_back()))
      return unexpected(what, value, kExpectedAddresses);
    if (comma == std::string_view::npos)
      break;
    rest.remove_prefix(comma + 1);
  }
  return addresses;
}

Result<size_t> parseChoice(std::string_view what, std::string_view value,
                           const std::vector<std::string_view> &choices) {
  const std::string_view word = trim(value);
  for (size_t n = 0; n < choices.size(); ++n)
    if (word == choices[n])
      return n;
  return unexpected(what, value, expectedChoice(choices));
}

std::string ValueType::expected() const {
  switch (kind) {
  case Kind::Text:
    return "a text";
  case Kind::Flag:
    return kExpectedFlag;
  case Kind::Number:
    return expectedNumber(least, most);
  case Kind::Choice:
    return expectedChoice(choices);
  case Kind::Addresses:
    return kExpectedAddresses;
  case Kind::OutputFile:
    return "the name of a file";
  }
  return "";
}

Result<void> ValueType::check(std::string_view what, std::string_view value) const {
  switch (kind) {
  case Kind::Text:
    return {};
  case Kind::Flag:
    LUTHIER_TRY(parseFlag(what, value));
    return {};
  case Kind::Number:
    LUTHIER_TRY(parseNumber(what, value, least, most));
    return {};
  case Kind::Choice:
    // Not trimmed: what a tool gets is one of its own names.
    for (const std::string &choice : choices)
      if (value == choice)
        return {};
    return unexpected(what, value, expected());
  case Kind::Addresses:
    LUTHIER_TRY(parseAddresses(what, value));
    return {};
  case Kind::OutputFile:
    if (value.empty())
      return unexpected(what, value, expected());
    if (const auto expanded = expandKeys(value); !expanded)
      return expanded.error().withContext(std::string(what));
    return {};
  }
  return {};
}

std::string ValueType::toText() const {
  const std::string_view name = kKindNames[static_cast<size_t>(kind)];
  if (kind == Kind::Number)
    return fmt::format("{} {} {}", name, least, most);
  return kind == Kind::Choice ? fmt::format("{} {}", name, fmt::join(choices, ",")) : std::string(name);
}

Result<ValueType> ValueType::fromText(std::string_view text) {
  const size_t space = text.find(' ');
  const std::string_view name = text.substr(0, space);
  const std::string_view rest = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  ValueType type;
  size_t kind = 0;
  while (kind < kKindNames.size() && kKindNames[kind] != name)
    ++kind;
  type.kind = static_cast<Kind>(kind);
  bool good = kind < kKindNames.size();
  if (good && type.kind == Kind::Number) {
    const size_t second = rest.find(' ');
    good = second != std::string_view::npos && readNumber(rest.substr(0, second), type.least) &&
           readNumber(rest.substr(second + 1), type.most);
  } else if (good && type.kind == Kind::Choice) {
    type.choices = LUTHIER_TRY(env::splitList(rest, "a list of choices"));
  } else {
    good = good && rest.empty();
  }
  if (!good)
    return makeError("'{}' is not a type of values", text);
  return type;
}

} // namespace luthier
