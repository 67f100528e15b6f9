#include "check/summary.h"

#include "check/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace luthier::check {

namespace {

std::string counted(uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

} // namespace

Summary Summary::of(Records records, const Suppressions &suppressions) {
  Summary summary;
  summary.kernels = records.kernels;
  summary.launches = records.launches;
  summary.notChecked = std::move(records.notChecked);
  for (Finding &finding : records.findings)
    if (suppressions.covers(finding))
      ++summary.suppressed;
    else
      summary.findings.push_back(std::move(finding));
  return summary;
}

std::string nothingLaunched(const Summary &summary) {
  return summary.instrumented ? "no kernel was launched" : "no kernel was launched on a virtual GPU";
}

std::string toText(const Summary &summary) {
  std::string text;
  for (const Finding &finding : summary.findings)
    text += fmt::format("luthier check: {}\n", toText(finding));
  uint64_t times = 0;
  for (const Finding &finding : summary.findings)
    times += finding.count;
  text += fmt::format("luthier check: {}{}; {}, {} checked for: {}",
                      counted(summary.findings.size(), "finding", "findings"),
                      times > summary.findings.size() ? fmt::format(" (seen {} times)", times) : "",
                      counted(summary.kernels, "kernel", "kernels"), counted(summary.launches, "launch", "launches"),
                      fmt::join(summary.checks, ", "));
  if (summary.instrumented)
    text += ", by hooks";
  if (summary.suppressed)
    text += fmt::format("; {} suppressed", summary.suppressed);
  for (const std::string &what : summary.notChecked)
    text += fmt::format("\nluthier check: not checked: {}", what);
  if (summary.launches == 0)
    text += fmt::format("\nluthier check: not checked: {}", nothingLaunched(summary));
  return text + "\n";
}

} // namespace luthier::check
