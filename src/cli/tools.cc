// `luthier tools`: which tools there are; `luthier tools show NAME`: what one does and which options it has.

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/describe_tool.h"
#include "cli/launch.h"
#include "cli/tool_files.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

Result<void> printTools() {
  const auto program = LUTHIER_TRY(programFolder());
  const auto folders = toolFolders(program);
  const std::vector<ToolFile> tools = listTools(folders);
  if (tools.empty()) {
    std::string text = "no tools found in:\n";
    for (const auto &folder : folders)
      text += "  " + folder.string() + "\n";
    std::cout << text << "LUTHIER_TOOL_PATH names further folders.\n";
    return {};
  }
  const auto runtime = LUTHIER_TRY(findRuntime(program));
  size_t width = 0;
  for (const ToolFile &tool : tools)
    width = std::max(width, tool.name.size());
  for (const ToolFile &tool : tools) {
    const Result<std::string> line = describeInOneLine(runtime, tool);
    const std::string text = line ? *line : fmt::format("({})", line.error().message());
    std::cout << (text.empty() ? tool.name : fmt::format("{:{}}  {}", tool.name, width, text)) << "\n";
  }
  return {};
}

/// How a value is written after the option's name.
std::string valueOf(const ValueType &type) {
  switch (type.kind) {
  case ValueType::Kind::Flag:
    return "";
  case ValueType::Kind::Number:
    return "=N";
  case ValueType::Kind::Choice:
    return fmt::format("={}", fmt::join(type.choices, "|"));
  case ValueType::Kind::Addresses:
    return "=LIST";
  case ValueType::Kind::OutputFile:
    return "=FILE";
  case ValueType::Kind::Text:
    return "=TEXT";
  }
  return "";
}

Result<void> printTool(const std::string &name) {
  const auto program = LUTHIER_TRY(programFolder());
  const ToolFile tool = LUTHIER_TRY(findTool(name, toolFolders(program)));
  const auto runtime = LUTHIER_TRY(findRuntime(program));
  const ToolDescription known = LUTHIER_TRY(describeTool(runtime, tool));
  if (!known.threw.empty())
    return makeError("{}", known.threw);
  std::string text = tool.name + (known.text.empty() ? "" : ": " + known.text) + "\n" + tool.file.string() + "\n";
  if (known.options.empty())
    text += "It has no options.\n";
  else
    text += "options:\n";
  size_t width = 0;
  const auto usage = [&](const runtime::ToolOption &option) {
    return fmt::format("--{}.{}{}", tool.name, option.name, valueOf(option.type));
  };
  for (const auto &option : known.options)
    width = std::max(width, usage(option).size());
  const auto range = [](const ValueType &type) {
    const bool limited = type.kind == ValueType::Kind::Number && (type.least > 0 || type.most < UINT64_MAX);
    return limited ? fmt::format(", {}", type.expected()) : "";
  };
  for (const auto &option : known.options)
    text += fmt::format("  {:{}}  {}{}{}\n", usage(option), width, option.help, range(option.type),
                        option.byDefault.empty() || option.type.kind == ValueType::Kind::Flag
                            ? ""
                            : fmt::format(" (default: {})", option.byDefault));
  std::cout << text;
  return {};
}

} // namespace

void addToolsCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("tools", "List the tools for `luthier run --tool`, or describe one");
  const auto finish = [&invocation](const Result<void> &done) {
    if (!done)
      log::error("{}", done.error().message());
    invocation.exitStatus = done ? exitSuccess : exitFailure;
  };
  auto name = std::make_shared<std::string>();
  CLI::App *show = command->add_subcommand("show", "Describe a tool and its options");
  show->add_option("TOOL", *name, "Its name, or the path of its library")->required()->type_name("");
  command->require_subcommand(0, 1);
  command->callback([show, name, finish] { finish(show->parsed() ? printTool(*name) : printTools()); });
}

} // namespace luthier::cli
