#include "check/sarif.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace luthier::check {

using nlohmann::json;

namespace {

constexpr const char *kSchema = "https://json.schemastore.org/sarif-2.1.0.json";

/// The same for the same place in every run, on every machine (FNV-1a).
uint64_t fingerprint(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

json physical(const SourcePosition &at) {
  json region = {{"startLine", at.line}};
  if (at.column)
    region["startColumn"] = at.column;
  return {{"artifactLocation", {{"uri", at.file}}}, {"region", region}};
}

/// The kernel or function is always known; the line only with debug information.
json locationOf(const CodePlace &finding) {
  json location = json::object();
  if (!finding.source.empty() && finding.source.front().line)
    location["physicalLocation"] = physical(finding.source.front());
  if (!finding.kernel.empty())
    location["logicalLocations"] = json::array(
        {{{"fullyQualifiedName",
           fmt::format("{}+{:#x}", finding.function.empty() ? finding.kernel : finding.function, finding.offset)},
          {"kind", "function"}}});
  return location;
}

json stackOf(const std::vector<HostFrame> &stack, const std::string &message) {
  json frames = json::array();
  for (const HostFrame &frame : stack)
    frames.push_back({{"location",
                       {{"logicalLocations",
                         json::array({{{"fullyQualifiedName", frame.function.empty()
                                                                  ? fmt::format("{}+{:#x}", frame.module, frame.offset)
                                                                  : frame.function}}})}}},
                      {"module", frame.module}});
  return {{"message", {{"text", message}}}, {"frames", frames}};
}

json resultOf(const Finding &finding) {
  json result = {{"ruleId", finding.rule},
                 {"level", finding.rule == rule::kLeak ? "warning" : "error"},
                 {"message", {{"text", finding.message}}},
                 {"occurrenceCount", finding.count},
                 {"partialFingerprints", {{"place/v1", fmt::format("{:016x}", fingerprint(finding.key()))}}}};
  if (const json location = locationOf(finding); !location.empty())
    result["locations"] = json::array({location});
  json related = json::array();
  for (size_t n = 1; n < finding.source.size(); ++n)
    related.push_back({{"message", {{"text", "inlined into"}}}, {"physicalLocation", physical(finding.source[n])}});
  if (finding.other) {
    json other = locationOf(*finding.other);
    other["message"] = {{"text", finding.other->what}};
    related.push_back(other);
  }
  if (!related.empty())
    result["relatedLocations"] = related;
  if (finding.memory) {
    json stacks = json::array();
    if (!finding.memory->allocatedAt.empty())
      stacks.push_back(stackOf(finding.memory->allocatedAt, "allocated"));
    if (!finding.memory->freedAt.empty())
      stacks.push_back(stackOf(finding.memory->freedAt, "freed"));
    if (!stacks.empty())
      result["stacks"] = stacks;
  }
  return result;
}

} // namespace

std::string toSarif(const Summary &summary) {
  json ruleList = json::array();
  for (const Rule &rule : rules())
    ruleList.push_back({{"id", rule.id}, {"shortDescription", {{"text", rule.description}}}});
  json results = json::array();
  for (const Finding &finding : summary.findings)
    results.push_back(resultOf(finding));
  json notifications = json::array();
  for (const std::string &what : summary.notChecked)
    notifications.push_back({{"level", "warning"}, {"message", {{"text", "not checked: " + what}}}});
  if (summary.launches == 0)
    notifications.push_back(
        {{"level", "warning"}, {"message", {{"text", "not checked: " + nothingLaunched(summary)}}}});
  const json run = {{"tool", {{"driver", {{"name", "luthier check"}, {"rules", ruleList}}}}},
                    {"invocations", json::array({{{"executionSuccessful", summary.applicationStatus == 0},
                                                  {"exitCode", summary.exitStatus},
                                                  {"toolExecutionNotifications", notifications}}})},
                    {"results", results}};
  return json{{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", json::array({run})}}.dump(
             1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

std::string toJsonText(const Summary &summary) {
  json findings = json::array();
  for (const Finding &finding : summary.findings)
    findings.push_back(toJson(finding));
  return json{{"version", 1},
              {"checks", summary.checks},
              {"instrumented", summary.instrumented},
              {"findings", findings},
              {"suppressed", summary.suppressed},
              {"kernels", summary.kernels},
              {"launches", summary.launches},
              {"not_checked", summary.notChecked},
              {"application_status", summary.applicationStatus},
              {"exit_status", summary.exitStatus}}
             .dump(1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

} // namespace luthier::check
