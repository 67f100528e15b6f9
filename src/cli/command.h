// The subcommands of `luthier`, one source file each.
//
// A command registers itself on the root application: its options, its help, and a callback that does the work and
// stores the exit status. To add one: write src/cli/<name>.cc with add<Name>Command, declare it here, call it in
// main.cc.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace luthier::cli {

// Exit statuses of luthier itself. `run` otherwise ends as its application does; 125 to 127 are those of env(1),
// timeout(1) and the shell.
enum ExitStatus {
  exitSuccess = 0,
  exitFailure = 1,
  exitUsage = 2,
  exitNotStarted = 125,    // `run` failed before the application was started
  exitNotExecutable = 126, // the application was found but cannot be executed
  exitNotFound = 127,      // the application was not found
};

struct Invocation {
  // What follows the first `--`: the application and its arguments, never looked at by the option parser.
  std::vector<std::string> application;
  int exitStatus = exitSuccess;
};

// `invocation` outlives the parsing and the callbacks.
void addCallgraphCommand(CLI::App &root, Invocation &invocation);
void addCfgCommand(CLI::App &root, Invocation &invocation);
void addCheckCommand(CLI::App &root, Invocation &invocation);
void addDoctorCommand(CLI::App &root, Invocation &invocation);
void addDisasmCommand(CLI::App &root, Invocation &invocation);
/// `man` and `completion`, which print what all commands are.
void addHelpFileCommands(CLI::App &root, Invocation &invocation);
void addInspectCommand(CLI::App &root, Invocation &invocation);
void addInstrumentCommand(CLI::App &root, Invocation &invocation);
void addIsaCommand(CLI::App &root, Invocation &invocation);
void addLintCommand(CLI::App &root, Invocation &invocation);
void addMergeCommand(CLI::App &root, Invocation &invocation);
void addNewCommand(CLI::App &root, Invocation &invocation);
void addRunCommand(CLI::App &root, Invocation &invocation);
void addToolsCommand(CLI::App &root, Invocation &invocation);
void addTraceCommand(CLI::App &root, Invocation &invocation);
void addVersionCommand(CLI::App &root, Invocation &invocation);

} // namespace luthier::cli
