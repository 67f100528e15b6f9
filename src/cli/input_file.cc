#include "cli/input_file.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/file.h"
#include "support/suggest.h"

namespace luthier::cli {

namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string &path, const std::string &why) {
  throw CLI::FileError(fmt::format("{}: {}", path, why), CLI::ExitCodes::FileError);
}

/// As on the command line; empty for false, which is as if it were not there.
std::vector<std::string> wordsOf(const std::string &path, const std::string &key, const json &value) {
  if (value.is_string())
    return {value.get<std::string>()};
  if (value.is_boolean())
    return value.get<bool>() ? std::vector<std::string>{"true"} : std::vector<std::string>();
  if (value.is_number_integer())
    return {value.dump()};
  std::vector<std::string> words;
  if (value.is_array())
    for (const json &item : value)
      if (item.is_string() || item.is_number_integer())
        words.push_back(wordsOf(path, key, item).front());
  if (!value.is_array() || words.size() != value.size())
    refuse(path, fmt::format("{} is {}; expected text, a number, true, false, or a list of texts", key, value.dump()));
  return words;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ",") + word;
  return text;
}

} // namespace

void applyInputFile(CLI::App &command, const std::string &path,
                    std::map<std::string, std::optional<std::string>> &toolOptions) {
  const auto text = readFile(path);
  if (!text)
    refuse(path, text.error().message());
  json file;
  try {
    file = json::parse(*text);
  } catch (const json::parse_error &error) {
    if (path.ends_with(".yaml") || path.ends_with(".yml"))
      refuse(
          path,
          "YAML is not read: write it as JSON, as in {\"tool\": \"instr_count\", \"kernel-include-regex\": \"gemm\"}");
    refuse(path, fmt::format("not JSON: {}", error.what()));
  }
  if (!file.is_object())
    refuse(path, "expected an object whose keys are names of options");
  std::vector<std::string> known;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      if (name != "input" && name != "help")
        known.push_back(name);
  for (const auto &[key, value] : file.items()) {
    const std::vector<std::string> words = wordsOf(path, key, value);
    if (key.find('.') != std::string::npos) {
      if (!words.empty())
        toolOptions.try_emplace(key, value.is_boolean() ? std::nullopt : std::optional(joined(words)));
      continue;
    }
    std::string name = key;
    std::ranges::replace(name, '_', '-');
    if (std::ranges::find(known, name) == known.end())
      refuse(path, fmt::format("there is no option '{}'{}", key, suggestion(name, known)));
    CLI::Option *option = command.get_option("--" + name);
    if (option->count() > 0 || words.empty())
      continue;
    if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll)
      for (const std::string &word : words)
        option->add_result(word);
    else
      option->add_result(joined(words));
    option->run_callback();
  }
  for (const CLI::Option *option : command.get_options())
    for (const CLI::Option *needed : option->get_needs())
      if (option->count() > 0 && needed->count() == 0)
        throw CLI::RequiresError(option->get_name(), needed->get_name());
}

} // namespace luthier::cli
