// The `luthier` program: splits off the application's command line, parses the rest, lets the subcommand run.

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "support/log.h"
#include "support/suggest.h"
#include "support/variables.h"

namespace {

/// The command that the user has got to.
const CLI::App &innermost(const CLI::App &root) {
  const CLI::App *command = &root;
  while (!command->get_subcommands().empty())
    command = command->get_subcommands().front();
  return *command;
}

std::string fullName(const CLI::App &command) {
  return (command.get_parent() ? fullName(*command.get_parent()) + " " : "") + command.get_name();
}

/// What was probably meant by an option or a command that does not exist, as a line; or nothing.
std::string hintFor(const CLI::App &root) {
  const CLI::App *command = &innermost(root);
  std::vector<std::string> names;
  for (const CLI::Option *option : command->get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  for (const CLI::App *known : command->get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(known->get_name());
  for (const std::string &word : root.remaining(true))
    if (const std::string meant = luthier::closestName(word.substr(0, word.find('=')), names); !meant.empty())
      return "Did you mean '" + meant + "'?\n";
  return "";
}

} // namespace

int main(int argc, char **argv) {
  using namespace luthier::cli;

  if (const luthier::Result<void> level = luthier::env::check(luthier::env::kLog); !level) {
    luthier::log::write(luthier::log::Level::error, level.error().message());
    return exitUsage;
  }

  // Everything after the first `--` belongs to the application, including options that look like ours.
  Invocation invocation;
  char **end = argv + argc;
  char **separator = std::find(argv + 1, std::max(argv + 1, end), std::string_view("--"));
  if (separator < end)
    invocation.application.assign(separator + 1, end);

  CLI::App root("Instruments AMD GPU programs while they run, and runs them on a virtual GPU where there is none.",
                "luthier");
  root.require_subcommand(1);
  root.set_version_flag("--version", "luthier " LUTHIER_VERSION, "Print the version and exit");
  root.failure_message(CLI::FailureMessage::simple);
  addCallgraphCommand(root, invocation);
  addCfgCommand(root, invocation);
  addCheckCommand(root, invocation);
  addDisasmCommand(root, invocation);
  addDoctorCommand(root, invocation);
  addHelpFileCommands(root, invocation);
  addInspectCommand(root, invocation);
  addInstrumentCommand(root, invocation);
  addIsaCommand(root, invocation);
  addLintCommand(root, invocation);
  addMergeCommand(root, invocation);
  addNewCommand(root, invocation);
  addRunCommand(root, invocation);
  addToolsCommand(root, invocation);
  addTraceCommand(root, invocation);
  addVersionCommand(root, invocation);
  root.footer("`luthier COMMAND --help` explains a command."); // last, so that commands do not inherit it

  try {
    root.parse(static_cast<int>(std::min(separator, end) - argv), argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // --help
      return root.exit(error);
    std::cerr << "luthier: error: " << error.what() << "\n"
              << hintFor(root) << "Try '" << fullName(innermost(root)) << " --help'.\n";
    return exitUsage;
  }
  return invocation.exitStatus;
}
