#include "cli/tool_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "support/env.h"
#include "support/expand_keys.h"
#include "support/suggest.h"

namespace luthier::cli {

namespace {

constexpr const char *kPathVariable = "LUTHIER_TOOL_PATH";

bool isFile(const std::filesystem::path &path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed);
}

bool exists(const std::filesystem::path &path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

std::filesystem::path absolute(const std::filesystem::path &path) {
  std::error_code failed;
  std::filesystem::path result = std::filesystem::absolute(path, failed);
  return failed ? path : result.lexically_normal();
}

std::string joined(const std::vector<std::filesystem::path> &folders) {
  std::string text;
  for (const auto &folder : folders)
    text += (text.empty() ? "" : ", ") + folder.string();
  return text;
}

} // namespace

std::vector<std::filesystem::path> toolFolders(const std::filesystem::path &programFolder) {
  std::vector<std::filesystem::path> folders;
  const std::string list = env::text(kPathVariable).value_or("");
  std::string_view rest = list;
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    if (const std::string_view folder = rest.substr(0, end); !folder.empty())
      folders.push_back(absolute(folder));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  for (const char *relative : {"../lib/luthier/tools", "../tools"})
    folders.push_back((programFolder / relative).lexically_normal());
  return folders;
}

std::vector<ToolFile> listTools(const std::vector<std::filesystem::path> &folders) {
  std::map<std::string, std::filesystem::path> found;
  for (const auto &folder : folders) {
    std::error_code failed;
    for (auto entry = std::filesystem::directory_iterator(folder, failed);
         !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
      const std::string name = entry->path().filename().string();
      if (name.starts_with("lib") && name.ends_with(".so") && isFile(entry->path()))
        found.try_emplace(runtime::toolName(name), entry->path());
    }
  }
  std::vector<ToolFile> tools;
  for (const auto &[name, file] : found)
    tools.push_back({name, file});
  return tools;
}

Result<ToolFile> findTool(const std::string &tool, const std::vector<std::filesystem::path> &folders) {
  const bool path = tool.find('/') != std::string::npos;
  if (path || (tool.ends_with(".so") && isFile(tool))) {
    if (!isFile(tool))
      return makeError("there is no tool {}: {}", tool, exists(tool) ? "it is not a file" : "no such file");
    return ToolFile{runtime::toolName(tool), absolute(tool)};
  }
  for (const auto &folder : folders)
    if (const auto file = folder / fmt::format("lib{}.so", tool); isFile(file))
      return ToolFile{tool, file};
  std::vector<std::string> names;
  for (const ToolFile &known : listTools(folders))
    names.push_back(known.name);
  if (names.empty())
    return makeError("unknown tool '{}'; there is none in {}; {} names further folders", tool, joined(folders),
                     kPathVariable);
  return makeError("unknown tool '{}'; known: {}{}", tool, fmt::join(names, ", "), suggestion(tool, names));
}

std::map<std::string, std::optional<std::string>> takeToolOptions(std::vector<std::string> &arguments) {
  std::map<std::string, std::optional<std::string>> options;
  std::erase_if(arguments, [&](const std::string &argument) {
    const size_t equals = argument.find('=');
    const size_t dot = argument.substr(0, equals).find('.');
    if (!argument.starts_with("--") || dot == std::string::npos || dot == 2)
      return false;
    options[argument.substr(2, equals == std::string::npos ? equals : equals - 2)] =
        equals == std::string::npos ? std::nullopt : std::optional(argument.substr(equals + 1));
    return true;
  });
  return options;
}

Result<std::map<std::string, std::string>>
resolveToolOptions(const std::string &tool, const std::vector<runtime::ToolOption> &declared,
                   const std::map<std::string, std::optional<std::string>> &given) {
  const std::string prefix = tool + ".";
  std::map<std::string, std::string> options;
  for (const auto &[key, value] : given) {
    if (!key.starts_with(prefix))
      continue;
    const auto option = std::ranges::find(declared, key.substr(prefix.size()), &runtime::ToolOption::name);
    if (value || option == declared.end()) // checked below
      options[key] = value.value_or("");
    else if (option->type.kind == ValueType::Kind::Flag)
      options[key] = "yes";
    else
      return makeError("--{} needs a value: expected {}, as in --{}=VALUE", key, option->type.expected(), key);
  }
  LUTHIER_TRY(runtime::checkToolOptions(tool, declared, options));
  for (const runtime::ToolOption &option : declared)
    if (option.type.kind == ValueType::Kind::OutputFile &&
        (!option.byDefault.empty() || options.contains(prefix + option.name))) {
      std::string &file = options.try_emplace(prefix + option.name, option.byDefault).first->second;
      auto prepared = prepareOutput(file);
      if (!prepared)
        return prepared.error().withContext(fmt::format("--{}{}", prefix, option.name));
      file = *std::move(prepared);
    }
  return options;
}

Result<std::string> prepareOutput(const std::string &file) {
  if (file.empty())
    return makeError("the name of a file is expected");
  std::string pattern = absolute(file).string();
  const std::filesystem::path path = LUTHIER_TRY(expandKeys(pattern));
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  const auto refuse = [&](int reason) {
    return makeErrorCode(reason, "cannot write {}: {}", file, std::strerror(reason));
  };
  if (std::filesystem::is_directory(status))
    return refuse(EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return ::access(path.c_str(), W_OK) == 0 ? Result<std::string>(pattern) : refuse(errno);
  // A link is replaced at its other end.
  std::filesystem::path target = path;
  if (std::filesystem::exists(status))
    if (auto resolved = std::filesystem::canonical(path, failed); !failed)
      target = std::move(resolved);
  if (::access(target.parent_path().c_str(), W_OK | X_OK) != 0)
    return refuse(errno);
  if (std::filesystem::exists(status) && ::unlink(target.c_str()) != 0)
    return refuse(errno);
  return pattern;
}

} // namespace luthier::cli
