#include "cli/lint_report.h"

#include "analysis/lint.h"
#include "cli/instr_class.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace luthier::cli {

namespace {

using nlohmann::ordered_json;

std::string dumped(const ordered_json &json) {
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string textOf(const LintRow &row) {
  std::string text = fmt::format("{}: {} [{}]\n", row.file, row.message, row.rule);
  text += fmt::format("  {} {} ({}{}), at {:#x}\n", row.kernel ? "kernel" : "function", row.function, row.target,
                      row.object > 1 ? fmt::format(", object {}", row.object) : "", row.address);
  if (!row.source.empty())
    text += fmt::format("  source     {}\n", row.source);
  for (const LintLine &line : row.around)
    text += line.text.empty() ? "           ...\n"
                              : fmt::format("  {} {:>8x}: {}\n", line.marked ? ">" : " ", line.address, line.text);
  if (!row.earlierInstruction.empty())
    text += fmt::format("  because of {:#x}: {}{}\n", row.earlierAddress, row.earlierInstruction,
                        row.earlierFunction.empty() ? "" : " in " + row.earlierFunction);
  if (!row.needed.empty())
    text += fmt::format("  needs      {}\n", row.needed);
  if (!row.wait.empty())
    text += fmt::format("  there is   {}\n", row.wait);
  if (!row.note.empty())
    text += fmt::format("  note       {}\n", row.note);
  if (!row.also.empty()) {
    constexpr size_t kMost = 8;
    text += fmt::format("  also at    {}:", counted(row.also.size(), "more place"));
    for (size_t n = 0; n < std::min(kMost, row.also.size()); ++n)
      text += fmt::format(" {:#x}", row.also[n]);
    text += row.also.size() > kMost ? " ...\n" : "\n";
  }
  return text + "\n";
}

std::string textOf(const LintOmission &omission) {
  std::string where = omission.file;
  if (omission.object)
    where += fmt::format(", object {} ({})", omission.object, omission.target);
  if (!omission.function.empty())
    where += ", " + omission.function;
  if (omission.address)
    where += fmt::format(" at {:#x}", omission.address);
  return fmt::format("  {}{}: {}\n", where,
                     omission.count > 1 ? fmt::format(" and {}", counted(omission.count - 1, "more place")) : "",
                     omission.why);
}

} // namespace

std::string LintSuppressions::parse(std::string_view text, LintSuppressions &result) {
  unsigned number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty())
      continue;
    const size_t colon = line.find(':');
    if (colon == line.npos)
      return fmt::format("line {}: '{}' is not RULE:FUNCTION", number, line);
    const std::string_view rule = trimmed(line.substr(0, colon)), function = trimmed(line.substr(colon + 1));
    bool known = false;
    std::string names;
    for (unsigned n = 0; n < analysis::kLintRules; ++n) {
      const std::string_view name = toString(static_cast<analysis::LintRule>(n));
      known |= matchesPattern(name, rule);
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
    if (!known)
      return fmt::format("line {}: there is no rule '{}'; there are {}", number, rule, names);
    if (function.empty())
      return fmt::format("line {}: '{}' names no function; * is any", number, line);
    result.patterns_.push_back({std::string(rule), std::string(function)});
  }
  return "";
}

bool LintSuppressions::contains(std::string_view rule, std::string_view function, std::string_view symbol) const {
  return std::ranges::any_of(patterns_, [&](const Pattern &pattern) {
    return matchesPattern(rule, pattern.rule) &&
           (matchesPattern(function, pattern.function) || matchesPattern(symbol, pattern.function));
  });
}

std::string lintText(const LintTotals &totals) {
  std::string text;
  for (const LintRow &row : totals.findings)
    text += textOf(row);
  if (!totals.omissions.empty()) {
    text += "not checked, or only in part:\n";
    for (const LintOmission &omission : totals.omissions)
      text += textOf(omission);
    text += "\n";
  }
  text += fmt::format(
      "{} in {}, {} and {}{}{}\n", counted(totals.findings.size(), "finding"), counted(totals.kernels, "kernel"),
      counted(totals.functions, "device function"), counted(totals.instructions, "instruction"),
      totals.suppressed ? fmt::format("; {} suppressed", totals.suppressed) : "",
      totals.omissions.empty() ? "; everything was checked"
                               : fmt::format("; {} not checked or only in part", totals.omissions.size()));
  return text;
}

std::string lintJson(const LintTotals &totals) {
  ordered_json findings = ordered_json::array(), omissions = ordered_json::array();
  for (const LintRow &row : totals.findings) {
    ordered_json json = {{"rule", row.rule},
                         {"message", row.message},
                         {"file", row.file},
                         {"target", row.target},
                         {"object", row.object},
                         {"kind", row.kernel ? "kernel" : "device_function"},
                         {"function", row.function},
                         {"symbol", row.symbol},
                         {"address", row.address},
                         {"instruction", row.instruction},
                         {"count", row.also.size() + 1}};
    if (!row.source.empty())
      json["source"] = row.source;
    if (!row.earlierInstruction.empty()) {
      json["earlier"] = {{"address", row.earlierAddress}, {"instruction", row.earlierInstruction}};
      if (!row.earlierFunction.empty())
        json["earlier"]["function"] = row.earlierFunction;
    }
    if (!row.needed.empty())
      json["needs"] = row.needed;
    if (!row.wait.empty())
      json["there_is"] = row.wait;
    if (!row.note.empty())
      json["note"] = row.note;
    if (!row.also.empty())
      json["also"] = row.also;
    findings.push_back(std::move(json));
  }
  for (const LintOmission &omission : totals.omissions)
    omissions.push_back({{"file", omission.file},
                         {"target", omission.target},
                         {"object", omission.object},
                         {"function", omission.function},
                         {"address", omission.address},
                         {"count", omission.count},
                         {"why", omission.why}});
  return dumped({{"findings", findings},
                 {"not_checked", omissions},
                 {"suppressed", totals.suppressed},
                 {"kernels", totals.kernels},
                 {"device_functions", totals.functions},
                 {"instructions", totals.instructions}});
}

std::string lintSarif(const LintTotals &totals, std::string_view version) {
  ordered_json rules = ordered_json::array(), results = ordered_json::array(), notes = ordered_json::array();
  for (unsigned n = 0; n < analysis::kLintRules; ++n) {
    const auto rule = static_cast<analysis::LintRule>(n);
    rules.push_back({{"id", toString(rule)}, {"shortDescription", {{"text", explanation(rule)}}}});
  }
  const auto location = [](const LintRow &row, uint64_t address) {
    ordered_json physical = {{"artifactLocation", {{"uri", row.file}}}};
    if (!row.sourceFile.empty() && address == row.address)
      physical = {{"artifactLocation", {{"uri", row.sourceFile}}}, {"region", {{"startLine", row.sourceLine}}}};
    physical["address"] = {{"absoluteAddress", address}};
    return ordered_json{{"physicalLocation", std::move(physical)},
                        {"logicalLocations", {{{"fullyQualifiedName", row.function}, {"kind", "function"}}}}};
  };
  for (const LintRow &row : totals.findings) {
    std::string message = fmt::format("{}: {}", row.instruction, row.message);
    if (!row.needed.empty())
      message += "; needs " + row.needed;
    ordered_json result = {{"ruleId", row.rule},
                           {"level", "error"},
                           {"message", {{"text", message}}},
                           {"locations", {location(row, row.address)}},
                           {"occurrenceCount", row.also.size() + 1}};
    if (!row.earlierInstruction.empty()) {
      ordered_json earlier = location(row, row.earlierAddress);
      earlier["message"] = {{"text", row.earlierInstruction}};
      result["relatedLocations"] = {std::move(earlier)};
    }
    results.push_back(std::move(result));
  }
  for (const LintOmission &omission : totals.omissions)
    notes.push_back({{"level", "warning"},
                     {"message", {{"text", fmt::format("not checked: {}: {}", omission.function, omission.why)}}}});
  return dumped({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                 {"version", "2.1.0"},
                 {"runs",
                  {{{"tool", {{"driver", {{"name", "luthier lint"}, {"version", version}, {"rules", rules}}}}},
                    {"invocations", {{{"executionSuccessful", true}, {"toolExecutionNotifications", notes}}}},
                    {"results", results}}}}});
}

} // namespace luthier::cli
