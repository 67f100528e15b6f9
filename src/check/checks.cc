#include "check/checks.h"

#include "support/env.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace luthier::check {

namespace {

constexpr std::string_view kNames[] = {"memory", "race", "barrier", "init", "wait"};

} // namespace

std::span<const std::string_view> checkNames() { return kNames; }

Result<Checks> Checks::parse(std::string_view list) {
  Checks chosen;
  for (const std::string &name : LUTHIER_TRY(env::splitList(list, "the list of checks"))) {
    const auto found = std::ranges::find(kNames, name);
    if (name == "all")
      chosen.bits_ = (1u << std::size(kNames)) - 1;
    else if (found == std::end(kNames))
      return makeError("there is no check '{}'; expected one of: {}, or all", name, fmt::join(kNames, ", "));
    else
      chosen.bits_ |= 1u << (found - std::begin(kNames));
  }
  if (!chosen.bits_)
    return makeError("a check is expected: one of {}, or all", fmt::join(kNames, ", "));
  return chosen;
}

std::vector<std::string_view> Checks::names() const {
  std::vector<std::string_view> names;
  for (unsigned n = 0; n < std::size(kNames); ++n)
    if (bits_ >> n & 1)
      names.push_back(kNames[n]);
  return names;
}

} // namespace luthier::check
