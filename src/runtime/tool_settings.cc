// Errors name the environment variable where it was malformed. `luthier run` checks everything before it starts the
// application; the same checks are here for those who set the variables by hand.

#include "runtime/tool_settings.h"

#include "support/env.h"
#include "support/expand_keys.h"
#include "support/suggest.h"
#include "support/variables.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex.h>

namespace luthier::runtime {

namespace {

constexpr const char *kTools = "LUTHIER_TOOLS";
constexpr const char *kOptions = "LUTHIER_TOOL_OPTIONS";
constexpr const char *kOutput = "LUTHIER_TOOL_OUTPUT";
constexpr const char *kOutputBase = "LUTHIER_TOOL_OUTPUT_BASE";
constexpr const char *kFormat = "LUTHIER_TOOL_FORMAT";
constexpr const char *kInclude = "LUTHIER_KERNEL_INCLUDE";
constexpr const char *kExclude = "LUTHIER_KERNEL_EXCLUDE";
constexpr const char *kIterations = "LUTHIER_KERNEL_ITERATIONS";
constexpr const char *kHookOutput = "LUTHIER_HOOK_OUTPUT";
constexpr const char *kPackets = "LUTHIER_HOSTCALL_PACKETS";
constexpr const char *kStrict = "LUTHIER_STRICT";
constexpr const char *kRuntimeKernels = "LUTHIER_RUNTIME_KERNELS";

/// Parts of a list; empty ones are none.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    if (const std::string_view part = text.substr(0, end); !part.empty())
      parts.emplace_back(part);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

bool readDigits(std::string_view text, uint64_t &value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && end == text.data() + text.size();
}

} // namespace

std::string valueOf(const ToolOption &option, const std::map<std::string, std::string> &options) {
  const auto given = options.find(option.tool + "." + option.name);
  if (given == options.end() || !option.type.check(given->first, given->second))
    return option.byDefault;
  return given->second;
}

Result<void> checkToolOptions(const std::string &tool, const std::vector<ToolOption> &declared,
                              const std::map<std::string, std::string> &options) {
  std::map<std::string, const ToolOption *> known;
  std::vector<std::string> names;
  for (const ToolOption &option : declared)
    if (option.tool == tool) {
      known[option.name] = &option;
      names.push_back(option.name);
    }
  const std::string prefix = tool + ".";
  for (const auto &[key, value] : options) {
    if (!key.starts_with(prefix))
      continue;
    const std::string name = key.substr(prefix.size());
    const auto found = known.find(name);
    if (found == known.end())
      return makeError("tool {} has no option '{}'; {}{}", tool, name,
                       names.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(names, ", ")),
                       suggestion(name, names));
    LUTHIER_TRY(found->second->type.check("--" + key, value));
  }
  return {};
}

Result<std::vector<Format>> parseFormats(std::string_view text, std::string_view what) {
  std::vector<Format> formats;
  for (const std::string &name : LUTHIER_TRY(env::splitList(text, what))) {
    const auto known = std::ranges::find(report::kFormats, name, &report::FormatInfo::name);
    if (known == report::kFormats.end()) {
      std::vector<std::string_view> names;
      for (const report::FormatInfo &info : report::kFormats)
        names.push_back(info.name);
      return makeError("{}: '{}' is not a format of reports; expected some of: {}", what, name, fmt::join(names, ", "));
    }
    const auto format = static_cast<Format>(known - report::kFormats.begin());
    if (std::ranges::find(formats, format) == formats.end())
      formats.push_back(format);
  }
  return formats;
}

std::vector<Output> ToolSettings::outputs() const {
  std::vector<Output> all;
  for (const Format format : formats)
    all.push_back({format, outputBase.empty() ? output : outputBase + std::string(report::infoOf(format).extension)});
  return all;
}

Result<TraceParts> parseTraceParts(std::string_view text, std::string_view what) {
  TraceParts parts;
  for (const std::string &part : LUTHIER_TRY(env::splitList(text, what))) {
    const bool all = part == "hsa";
    if (!all && part != "api" && part != "code" && part != "queues" && part != "packets")
      return makeError("{}: '{}' cannot be traced; expected hsa, or some of its parts: api, code, queues, packets",
                       what, part);
    parts.api |= all || part == "api";
    parts.code |= all || part == "code";
    parts.queues |= all || part == "queues";
    parts.packets |= all || part == "packets";
  }
  return parts;
}

std::string toolName(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("lib"))
    name.remove_prefix(3);
  return std::string(name.substr(0, name.find(".so")));
}

Result<std::pair<uint64_t, uint64_t>> parseIterations(std::string_view text) {
  const size_t dash = text.find('-');
  uint64_t first = 0, last = UINT64_MAX;
  bool good = readDigits(text.substr(0, dash), first) && first > 0;
  if (dash == std::string_view::npos)
    last = first;
  else if (dash + 1 < text.size())
    good = good && readDigits(text.substr(dash + 1), last) && first <= last;
  if (!good)
    return makeError("'{}' is not a valid range of launches: expected, counted from 1, a number, a range such as 2-5, "
                     "or 2- for all from the second on",
                     text);
  return std::pair(first, last);
}

Result<void> checkRegex(const std::string &text, std::string_view what) {
  regex_t compiled;
  const int error = regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) {
    regfree(&compiled);
    return {};
  }
  char why[128];
  regerror(error, &compiled, why, sizeof why);
  return makeError("{}'{}' is not a valid regular expression: {}", what.empty() ? "" : fmt::format("{}: ", what), text,
                   why);
}

Result<void> ToolSettings::validate() const {
  std::set<std::string> names;
  for (const std::string &tool : tools) {
    if (!tool.starts_with('/') || tool.find(':') != std::string::npos)
      return makeError("'{}' cannot be used as a tool: expected an absolute path without ':'", tool);
    const std::string name = toolName(tool);
    if (name.empty() || name.find_first_of(".=\n") != std::string::npos)
      return makeError("'{}' cannot be used as a tool: a tool's name has no '.' and no '='", tool);
    if (!names.insert(name).second)
      return makeError("two tools have the name {}", name);
  }
  for (const auto &[key, value] : options) {
    const size_t dot = key.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == key.size() || key.find_first_of("=\n") != std::string::npos)
      return makeError("'{}' is not an option of a tool: expected NAME.option=value", key);
    if (value.find('\n') != std::string::npos)
      return makeError("the value of {} has more than one line", key);
    if (!names.contains(key.substr(0, dot)))
      return makeError("{} is an option of a tool that is not loaded ({})", key,
                       names.empty() ? "none is" : fmt::format("loaded: {}", fmt::join(names, ", ")));
  }
  if (formats.empty())
    return makeError("there is no format for the report");
  if (!output.empty() && !outputBase.empty())
    return makeError("the report cannot go to both '{}' and '{}'", output, outputBase);
  if (outputBase.empty() && formats.size() > 1)
    return makeError("several formats need a name for their files: -o NAME, -d DIR or both");
  if (output.empty() && outputBase.empty() && !report::infoOf(formats.front()).forTerminals)
    return makeError("a report as {} needs a file: -o NAME, -d DIR or both", report::infoOf(formats.front()).name);
  for (const std::string &file : {output, outputBase, hookOutput}) {
    if (!file.empty() && !file.starts_with('/'))
      return makeError("'{}' cannot be written to: expected an absolute path", file);
    LUTHIER_TRY(expandKeys(file));
  }
  LUTHIER_TRY(checkRegex(kernelInclude, "kernels to include"));
  LUTHIER_TRY(checkRegex(kernelExclude, "kernels to exclude"));
  if (firstIteration == 0 || firstIteration > lastIteration)
    return makeError("launches {} to {} are not a valid range", firstIteration, lastIteration);
  return {};
}

Result<ToolSettings> ToolSettings::fromEnvironment() {
  ToolSettings settings;
  settings.tools = split(env::text(kTools).value_or(""), ':');
  for (const std::string &line : split(env::text(kOptions).value_or(""), '\n')) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos)
      return makeError("{}: '{}' has no value; expected NAME.option=value", kOptions, line);
    settings.options[line.substr(0, equals)] = line.substr(equals + 1);
  }
  for (const auto &[variable, file] : {std::pair(kOutput, &settings.output),
                                       {kOutputBase, &settings.outputBase},
                                       {kHookOutput, &settings.hookOutput}}) {
    auto expanded = expandKeys(env::text(variable).value_or(""));
    if (!expanded)
      return expanded.error().withContext(variable);
    *file = *std::move(expanded);
  }
  if (const auto text = env::text(kFormat))
    settings.formats = LUTHIER_TRY(parseFormats(*text, kFormat));
  settings.kernelInclude = env::text(kInclude).value_or("");
  settings.kernelExclude = env::text(kExclude).value_or("");
  LUTHIER_TRY(checkRegex(settings.kernelInclude, kInclude));
  LUTHIER_TRY(checkRegex(settings.kernelExclude, kExclude));
  if (const auto text = env::text(kIterations)) {
    const auto range = parseIterations(*text);
    if (!range)
      return range.error().withContext(kIterations);
    std::tie(settings.firstIteration, settings.lastIteration) = *range;
  }
  settings.hostcallPackets = static_cast<uint32_t>(LUTHIER_TRY(env::number(kPackets, 0, 0, UINT32_MAX)));
  settings.hookForm = static_cast<rewrite::HookForm>(LUTHIER_TRY(env::choice(env::kHookForm, 0)));
  settings.strict = LUTHIER_TRY(env::flag(kStrict, false));
  settings.runtimeKernels = LUTHIER_TRY(env::flag(kRuntimeKernels, false));
  // What is left belongs to tools, their options and the output.
  if (auto valid = settings.validate(); !valid)
    return valid.error().withContext(fmt::format("{}, {}, {}", kTools, kOptions, kOutput));
  return settings;
}

std::map<std::string, std::string> ToolSettings::toEnvironment() const {
  std::string lines;
  for (const auto &[key, value] : options)
    lines += fmt::format("{}={}\n", key, value);
  std::vector<std::string_view> names;
  for (const Format format : formats)
    names.push_back(report::infoOf(format).name);
  std::string iterations;
  if (firstIteration != 1 || lastIteration != UINT64_MAX)
    iterations = lastIteration == UINT64_MAX ? fmt::format("{}-", firstIteration)
                                             : fmt::format("{}-{}", firstIteration, lastIteration);
  return {{kTools, fmt::format("{}", fmt::join(tools, ":"))},
          {kOptions, lines},
          {kOutput, output},
          {kOutputBase, outputBase},
          {kFormat, fmt::format("{}", fmt::join(names, ","))},
          {kInclude, kernelInclude},
          {kExclude, kernelExclude},
          {kIterations, iterations},
          {kHookOutput, hookOutput},
          {kPackets, hostcallPackets ? fmt::format("{}", hostcallPackets) : ""},
          {env::kHookForm.name, std::string(env::kHookForms[static_cast<size_t>(hookForm)])},
          {kRuntimeKernels, runtimeKernels ? "1" : ""},
          {kStrict, strict ? "1" : ""}};
}

} // namespace luthier::runtime
