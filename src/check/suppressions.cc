#include "check/suppressions.h"

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>

namespace luthier::check {

Result<Suppressions> Suppressions::parse(std::string_view text, const std::string &origin) {
  Suppressions all;
  for (unsigned number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    line = line.substr(0, line.find('#'));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos)
      continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon + 1 == line.size())
      return makeError("{}:{}: '{}' is not of the form RULE:PATTERN", origin, number, line);
    Entry entry{std::string(line.substr(0, colon)), std::string(line.substr(colon + 1))};
    const bool known = entry.rule == "*" || std::ranges::find(rules(), entry.rule, &Rule::id) != rules().end();
    if (!known) {
      std::string names;
      for (const Rule &rule : rules())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", rule.id);
      return makeError("{}:{}: there is no class '{}'; expected * or one of: {}", origin, number, entry.rule, names);
    }
    all.entries_.push_back(std::move(entry));
  }
  return all;
}

bool Suppressions::covers(const Finding &finding) const {
  const auto matches = [](const std::string &pattern, const std::string &name) {
    return !name.empty() && fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  };
  return std::ranges::any_of(entries_, [&](const Entry &entry) {
    if (entry.rule != "*" && entry.rule != finding.rule)
      return false;
    if (entry.pattern == "*")
      return true;
    const auto isAt = [&](const CodePlace &place) {
      return matches(entry.pattern, place.kernel) || matches(entry.pattern, place.symbol) ||
             std::ranges::any_of(place.source, [&](const SourcePosition &at) {
               return matches(entry.pattern, at.file) || matches(entry.pattern, fmt::format("{}:{}", at.file, at.line));
             });
    };
    return isAt(finding) || (finding.other && isAt(*finding.other));
  });
}

} // namespace luthier::check
