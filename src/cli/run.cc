// `luthier run`: chooses the GPU, sets the environment, becomes the application.
//
// exec() rather than a child process: exit code, output, signals, terminal and process id are the application's own
// because there is nobody in between.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <regex.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/gpu_detect.h"
#include "cli/launch.h"
#include "isa/target.h"
#include "support/env.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

struct RunOptions {
  std::string gpus;
  std::string statsFile;
  uint32_t threads = 0;
  std::string traceFile;
  std::string traceKernel;
  std::string traceWave;
  bool strictWaits = false;
  std::string trace;
  std::string outputFile;
};

// CLI11 knows nothing of what stands behind the `--`.
struct UsageFormatter : CLI::Formatter {
  std::string make_usage(const CLI::App *, std::string) const override {
    return "Usage: luthier run [OPTIONS] -- APP [ARGS...]\n";
  }
};

// What the virtual GPU would object to only after the application has started; as CLI11 wants it, empty if right.
std::string validRegex(const std::string &text) {
  regex_t compiled;
  const int error = regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) {
    regfree(&compiled);
    return "";
  }
  char why[128];
  regerror(error, &compiled, why, sizeof why);
  return fmt::format("'{}' is no regular expression: {}", text, why);
}

std::string validWaves(const std::string &text) {
  unsigned long long first, last;
  int end = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789-") == std::string::npos;
  if (digits && std::sscanf(text.c_str(), "%llu-%llu%n", &first, &last, &end) == 2 &&
      static_cast<size_t>(end) == text.size() && first <= last)
    return "";
  if (digits && text.find('-') == std::string::npos)
    return "";
  return fmt::format("'{}' is no wave: expected a number, or a range such as 4-7", text);
}

std::string validTrace(const std::string &text) {
  const Result<std::vector<std::string>> parts = env::splitList(text, "--trace");
  if (!parts)
    return parts.error().message();
  for (const std::string &part : *parts)
    if (part != "hsa" && part != "api" && part != "code" && part != "queues" && part != "packets")
      return fmt::format("'{}' cannot be traced; known: hsa, or its parts api, code, queues, packets", part);
  return "";
}

// Empty: the real GPU.
Result<std::vector<std::string>> chooseGpus(const RunOptions &options) {
  if (!options.gpus.empty())
    return parseGpuList(options.gpus);
  if (std::optional<std::string> inherited = env::text("LUTHIER_VGPU_GPUS"))
    return parseGpuList(*inherited);
  if (realGpuPresent())
    return std::vector<std::string>();
  if (log::enabled(log::Level::warn))
    log::write(log::Level::info, "no AMD GPU found; running on a virtual gfx90a");
  return std::vector<std::string>{"gfx90a"};
}

Result<void> setEnvironment(const Environment &variables) {
  for (const auto &[name, value] : variables) {
    log::debug("{}={}", name, value);
    if (::setenv(name.c_str(), value.c_str(), 1) != 0)
      return makeError("cannot set {}: {}", name, std::strerror(errno));
  }
  return {};
}

// What is to be done inside the application, real or virtual GPU alike.
Result<void> prepareRuntime(const RunOptions &options) {
  if (options.trace.empty())
    return {};
  RuntimeRun run;
  run.library = LUTHIER_TRY(findRuntime(LUTHIER_TRY(programFolder())));
  run.trace = options.trace;
  if (!options.outputFile.empty())
    run.outputFile = LUTHIER_TRY(createStatsFile(options.outputFile));
  return setEnvironment(runtimeEnvironment(run, currentEnvironment()));
}

Result<void> prepare(const RunOptions &options) {
  LUTHIER_TRY(prepareRuntime(options));
  std::vector<std::string> gpus = LUTHIER_TRY(chooseGpus(options));
  if (gpus.empty()) {
    if (!options.statsFile.empty() || options.threads || !options.traceFile.empty() || options.strictWaits)
      return makeError("--stats, --threads, --trace-vgpu and --strict-waits belong to the virtual GPU: add --gpu, or "
                       "leave them out");
    return {};
  }

  VirtualRun run;
  run.thunkFolder = LUTHIER_TRY(findVirtualGpu(LUTHIER_TRY(programFolder())));
  run.gpus = std::move(gpus);
  if (!options.statsFile.empty())
    run.statsFile = LUTHIER_TRY(createStatsFile(options.statsFile));
  if (options.threads)
    run.threads = options.threads;
  if (!options.traceFile.empty())
    run.traceFile = LUTHIER_TRY(createStatsFile(options.traceFile));
  run.traceKernel = options.traceKernel;
  run.traceWave = options.traceWave;
  run.strictWaits = options.strictWaits;
  return setEnvironment(LUTHIER_TRY(virtualEnvironment(run, currentEnvironment())));
}

// Returns only if the application could not be started.
int becomeApplication(const std::vector<std::string> &application) {
  std::vector<char *> arguments;
  for (const std::string &argument : application)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());

  int reason = errno;
  if (reason == ENOENT && ::access(arguments[0], F_OK) == 0 && application[0].find('/') != std::string::npos)
    log::error("cannot run {}: the interpreter it names does not exist", application[0]);
  else if (reason == ENOENT)
    log::error("cannot run {}: not found", application[0]);
  else
    log::error("cannot run {}: {}", application[0], std::strerror(reason));
  return reason == ENOENT ? exitNotFound : exitNotExecutable;
}

int run(const RunOptions &options, const std::vector<std::string> &application) {
  if (Result<void> prepared = prepare(options); !prepared) {
    log::error("{}", prepared.error().message());
    return exitNotStarted;
  }
  return becomeApplication(application);
}

} // namespace

void addRunCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("run", "Run an application on a real or virtual GPU");
  auto options = std::make_shared<RunOptions>();
  command->formatter(std::make_shared<UsageFormatter>());
  command
      ->add_option("--gpu", options->gpus,
                   fmt::format("Virtual GPUs to run on, separated by commas: {}.\nDefault: LUTHIER_VGPU_GPUS, else the "
                               "real GPU,\nelse one virtual gfx90a",
                               fmt::join(isa::virtualTargets(), ", ")))
      ->type_name("LIST");
  command->add_option("--stats", options->statsFile, "Write what the virtual GPU executed to FILE, as JSON")
      ->type_name("FILE");
  command->add_option("--threads", options->threads, "Worker threads of the virtual GPU (default: all cores)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  CLI::Option *trace = command
                           ->add_option("--trace-vgpu", options->traceFile,
                                        "Write every instruction that the virtual GPU executes to FILE, as JSON lines")
                           ->type_name("FILE");
  command->add_option("--trace-kernel", options->traceKernel, "Trace only kernels whose name matches REGEX (extended)")
      ->type_name("REGEX")
      ->check(validRegex)
      ->needs(trace);
  command->add_option("--trace-wave", options->traceWave, "Trace only this wave of each grid, or a range of them: 4-7")
      ->type_name("N|A-B")
      ->check(validWaves)
      ->needs(trace);
  command->add_flag("--strict-waits", options->strictWaits,
                    "Stop a kernel that uses a loaded value before s_waitcnt says that it has arrived");
  CLI::Option *hsaTrace =
      command
          ->add_option(
              "--trace", options->trace,
              "Print what the application asks of ROCr as it happens: hsa, or some of its parts,\nseparated by "
              "commas: api, code, queues, packets")
          ->type_name("WHAT")
          ->check(validTrace);
  command->add_option("-o,--output", options->outputFile, "Write the trace to FILE instead of stderr")
      ->type_name("FILE")
      ->needs(hsaTrace);
  command->footer(
      "APP's exit code, output and signals are its own. luthier itself ends with 2 for a wrong option, 125 if "
      "APP\ncould not be prepared, 126 if it cannot be executed, 127 if it was not found.");

  // Collected only to say what is missing in front of them.
  command->allow_extras();
  command->callback([command, options, &invocation] {
    if (std::vector<std::string> extras = command->remaining(); !extras.empty()) {
      bool option = extras[0].starts_with("-");
      std::string hint = option ? "" : fmt::format("\nPut -- before the application: luthier run -- {} ...", extras[0]);
      throw CLI::ExtrasError(fmt::format("{} was not expected{}", extras[0], hint), CLI::ExitCodes::ExtrasError);
    }
    if (invocation.application.empty())
      throw CLI::RequiredError("No application: luthier run [OPTIONS] -- APP [ARGS...]", CLI::ExitCodes::RequiredError);
    invocation.exitStatus = run(*options, invocation.application);
  });
}

} // namespace luthier::cli
