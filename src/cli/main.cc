// The `luthier` program: splits off the application's command line, parses the rest, lets the subcommand run.

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "cli/command.h"

int main(int argc, char **argv) {
  using namespace luthier::cli;

  // Everything after the first `--` belongs to the application, including options that look like ours.
  Invocation invocation;
  char **end = argv + argc;
  char **separator = std::find(argv + 1, std::max(argv + 1, end), std::string_view("--"));
  if (separator < end)
    invocation.application.assign(separator + 1, end);

  CLI::App root("Instruments AMD GPU programs while they run, and runs them on a virtual GPU where there is none.",
                "luthier");
  root.require_subcommand(1);
  root.failure_message(CLI::FailureMessage::simple);
  root.footer("`luthier COMMAND --help` explains a command.");
  addCallgraphCommand(root, invocation);
  addCfgCommand(root, invocation);
  addDisasmCommand(root, invocation);
  addInspectCommand(root, invocation);
  addInstrumentCommand(root, invocation);
  addIsaCommand(root, invocation);
  addRunCommand(root, invocation);
  addToolsCommand(root, invocation);
  addTraceCommand(root, invocation);
  addVersionCommand(root, invocation);

  try {
    root.parse(static_cast<int>(std::min(separator, end) - argv), argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // --help
      return root.exit(error);
    std::cerr << "luthier: error: " << error.what() << "\nTry 'luthier --help'.\n";
    return exitUsage;
  }
  return invocation.exitStatus;
}
