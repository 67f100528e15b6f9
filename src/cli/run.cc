// `luthier run`: chooses the GPU, sets the environment, becomes the application.
//
// exec() rather than a child process: exit code, output, signals, terminal and process id are the application's own
// because there is nobody in between.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <tuple>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/describe_tool.h"
#include "cli/gpu_detect.h"
#include "cli/launch.h"
#include "cli/options.h"
#include "cli/tool_files.h"
#include "cli/variables.h"
#include "isa/target.h"
#include "runtime/tool_settings.h"
#include "support/env.h"
#include "support/log.h"
#include "vgpu/wave/trace.h"

namespace luthier::cli {

namespace {

struct RunOptions {
  std::string gpus;
  std::string statsFile;
  std::optional<uint64_t> threads;
  std::string traceFile;
  std::string traceKernel;
  std::string traceWave;
  bool traceSums = false;
  bool strictWaits = false;
  std::optional<uint64_t> poisonSeed;
  std::optional<uint64_t> strictSeed;
  bool strictL1 = false;
  std::string trace;
  std::string outputFile;
  std::vector<std::string> tools;
  std::map<std::string, std::optional<std::string>> toolOptions; // by "NAME.option"
  std::string format;
  std::string kernelInclude, kernelExclude;
  std::string iterations;
  std::string hookOutput;
  std::optional<uint64_t> hostcallPackets;
  bool strict = false;
};

// CLI11 knows nothing of what stands behind the `--`.
struct UsageFormatter : CLI::Formatter {
  std::string make_usage(const CLI::App *, std::string) const override {
    return "Usage: luthier run [OPTIONS] -- APP [ARGS...]\n";
  }
};

// What the virtual GPU would object to only after the application has started; as CLI11 wants it, empty if right.
std::string validRegex(const std::string &text) {
  const Result<void> good = runtime::checkRegex(text, "");
  return good ? "" : good.error().message();
}

std::string validIterations(const std::string &text) {
  const auto range = runtime::parseIterations(text);
  return range ? "" : range.error().message();
}

std::string validWaves(const std::string &text) {
  const auto waves = vgpu::parseWaveRange(text);
  return waves ? "" : waves.error().message();
}

std::string validTrace(const std::string &text) {
  const auto parts = runtime::parseTraceParts(text, "--trace");
  return parts ? "" : parts.error().message();
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

// Options of a tool that are wrong, or a file that is not a tool, are errors now. What a constructor throws is the
// runtime's affair: the application runs then without the tool, or not at all under --strict.
Result<void> addTool(const RunOptions &options, const std::filesystem::path &runtime, const ToolFile &tool,
                     runtime::ToolSettings &settings) {
  const ToolDescription description = LUTHIER_TRY(describeTool(runtime, tool));
  if (description.threw.empty()) {
    settings.options.merge(LUTHIER_TRY(resolveToolOptions(tool.name, description.options, options.toolOptions)));
    return {};
  }
  log::warn("{}", description.threw);
  for (const auto &[key, value] : options.toolOptions)
    if (key.starts_with(tool.name + "."))
      settings.options[key] = value.value_or("yes");
  return {};
}

Result<runtime::ToolSettings> toolSettings(const RunOptions &options, const std::filesystem::path &program,
                                           const std::filesystem::path &runtime) {
  runtime::ToolSettings settings;
  std::vector<ToolFile> tools;
  for (const std::string &tool : options.tools) {
    tools.push_back(LUTHIER_TRY(findTool(tool, toolFolders(program))));
    settings.tools.push_back(tools.back().file.string());
  }
  for (const auto &[key, value] : options.toolOptions)
    settings.options[key] = value.value_or("");
  settings.format = options.format == "json"  ? runtime::OutputFormat::Json
                    : options.format == "csv" ? runtime::OutputFormat::Csv
                                              : runtime::OutputFormat::Text;
  settings.kernelInclude = options.kernelInclude;
  settings.kernelExclude = options.kernelExclude;
  if (!options.iterations.empty())
    std::tie(settings.firstIteration, settings.lastIteration) =
        LUTHIER_TRY(runtime::parseIterations(options.iterations));
  settings.strict = options.strict;
  LUTHIER_TRY(settings.validate());
  settings.options.clear();
  for (const ToolFile &tool : tools)
    LUTHIER_TRY(addTool(options, runtime, tool, settings));
  if (!options.outputFile.empty())
    settings.output = LUTHIER_TRY(prepareOutput(options.outputFile));
  if (!options.hookOutput.empty())
    settings.hookOutput = LUTHIER_TRY(prepareOutput(options.hookOutput));
  settings.hostcallPackets = static_cast<uint32_t>(options.hostcallPackets.value_or(0));
  return settings;
}

// What is to be done inside the application, real or virtual GPU alike.
Result<void> prepareRuntime(const RunOptions &options) {
  if (options.trace.empty() && options.tools.empty())
    return {};
  const std::filesystem::path program = LUTHIER_TRY(programFolder());
  RuntimeRun run;
  run.library = LUTHIER_TRY(findRuntime(program));
  run.trace = options.trace;
  if (!options.tools.empty()) {
    run.tools = LUTHIER_TRY(toolSettings(options, program, run.library));
    run.exitShim = LUTHIER_TRY(findExitShim(program));
  } else if (!options.outputFile.empty())
    run.outputFile = LUTHIER_TRY(prepareOutput(options.outputFile));
  return setEnvironment(LUTHIER_TRY(runtimeEnvironment(run, currentEnvironment())));
}

Result<void> prepare(const RunOptions &options) {
  LUTHIER_TRY(checkVariables(currentEnvironment()));
  LUTHIER_TRY(prepareRuntime(options));
  std::vector<std::string> gpus = LUTHIER_TRY(chooseGpus(options));
  if (gpus.empty()) {
    if (!options.statsFile.empty() || options.threads || !options.traceFile.empty() || options.strictWaits ||
        options.poisonSeed || options.strictSeed)
      return makeError(
          "--stats, --threads, --trace-vgpu, --strict-waits, --strict-resources and --poison-dead belong to "
          "the virtual GPU: "
          "add --gpu, or leave them out");
    return {};
  }

  VirtualRun run;
  run.driverFolder = LUTHIER_TRY(findVirtualGpu(LUTHIER_TRY(programFolder())));
  run.gpus = std::move(gpus);
  if (!options.statsFile.empty())
    run.statsFile = LUTHIER_TRY(prepareOutput(options.statsFile));
  if (options.threads)
    run.threads = static_cast<uint32_t>(*options.threads);
  if (!options.traceFile.empty())
    run.traceFile = LUTHIER_TRY(prepareOutput(options.traceFile));
  run.traceKernel = options.traceKernel;
  run.traceWave = options.traceWave;
  run.traceSums = options.traceSums;
  run.strictWaits = options.strictWaits;
  run.poisonSeed = options.poisonSeed;
  run.strictSeed = options.strictSeed;
  run.strictL1 = options.strictL1;
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
      ->type_name("LIST")
      ->check(notEmpty);
  command->add_option("--stats", options->statsFile, "Write what the virtual GPU executed to FILE, as JSON")
      ->type_name("FILE")
      ->check(notEmpty);
  addNumber(*command, "--threads", options->threads, 1, 1024, "Worker threads of the virtual GPU (default: all cores)");
  CLI::Option *trace = command
                           ->add_option("--trace-vgpu", options->traceFile,
                                        "Write every instruction that the virtual GPU executes to FILE, as JSON lines")
                           ->type_name("FILE")
                           ->check(notEmpty);
  command->add_option("--trace-kernel", options->traceKernel, "Trace only kernels whose name matches REGEX (extended)")
      ->type_name("REGEX")
      ->check(validRegex)
      ->needs(trace);
  command->add_option("--trace-wave", options->traceWave, "Trace only this wave of each grid, or a range of them: 4-7")
      ->type_name("N|A-B")
      ->check(validWaves)
      ->needs(trace);
  addFlag(*command, "--trace-sums", options->traceSums,
          "Instead of every instruction, trace sums for each instruction that accesses memory: how often\nand "
          "where it did in a dispatch")
      ->needs(trace);
  addFlag(*command, "--strict-waits", options->strictWaits,
          "Stop a kernel that uses a loaded value before waiting for it (s_waitcnt)");
  CLI::Option *strictResources =
      addNumber(
          *command, "--strict-resources", options->strictSeed, 0, UINT64_MAX,
          "Run on a machine as strict as the hardware: only the registers that a kernel allocates, VCC and\nothers at "
          "their end, garbage from SEED (default: 1) wherever nothing is defined at the start,\nlimited residency, a "
          "scalar cache")
          ->type_name("[SEED]")
          ->expected(0, 1)
          ->default_str("1");
  addFlag(*command, "--strict-l1", options->strictL1,
          "Give each compute unit a vector L1 that keeps what it has read until it is invalidated")
      ->needs(strictResources);
  addNumber(*command, "--poison-dead", options->poisonSeed, 0, UINT64_MAX,
            "Before every instruction, overwrite registers that liveness analysis calls dead with random\nvalues made "
            "from SEED (default: 1): a test of the analysis")
      ->type_name("[SEED]")
      ->expected(0, 1)
      ->default_str("1");
  command
      ->add_option(
          "--trace", options->trace,
          "Print the application's use of ROCr as it happens: hsa, or some of its parts, separated\nby commas: api, "
          "code, queues, packets")
      ->type_name("WHAT")
      ->check(validTrace);
  CLI::Option *tool = command
                          ->add_option("--tool", options->tools,
                                       "Instrument kernels with this tool, by name (`luthier tools` lists them) or "
                                       "path;\ncan be repeated. Options of the tool: --NAME.option=value")
                          ->type_name("NAME|FILE")
                          ->expected(1)
                          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("-o,--output", options->outputFile,
                   "Write the report of the tools, or of --trace if there are none, to FILE instead of\nstderr")
      ->type_name("FILE")
      ->check(notEmpty);
  command->add_option("-f,--format", options->format, "Format of the report: text (default), csv, json")
      ->type_name("F")
      ->check(oneOf({"text", "csv", "json"}))
      ->needs(tool);
  command
      ->add_option("--kernel-include-regex", options->kernelInclude,
                   "Instrument only kernels whose name matches REGEX (extended)")
      ->type_name("REGEX")
      ->check(validRegex)
      ->needs(tool);
  command
      ->add_option("--kernel-exclude-regex", options->kernelExclude, "Skip kernels whose name matches REGEX (extended)")
      ->type_name("REGEX")
      ->check(validRegex)
      ->needs(tool);
  command
      ->add_option(
          "--kernel-iteration-range", options->iterations,
          "Instrument only these launches of each kernel, counted from 1: 3, 3-7, or 3- for all from\nthe third on")
      ->type_name("A-B")
      ->check(validIterations)
      ->needs(tool);
  command->add_option("--hook-output", options->hookOutput, "Write what hooks print to FILE instead of stdout")
      ->type_name("FILE")
      ->check(notEmpty)
      ->needs(tool);
  addNumber(
      *command, "--hostcall-packets", options->hostcallPackets, 1, UINT32_MAX,
      "Packets of each queue's buffer for calls from hooks to the host (default: as many as waves\ncan be resident; "
      "fewer are refused)")
      ->needs(tool);
  addFlag(*command, "--strict", options->strict,
          "End the application with an error if something cannot be instrumented")
      ->needs(tool);
  command->footer(
      "In the name of any FILE, %pid%, %hostname% and %env{NAME}% are replaced, by each process for itself.\n"
      "APP's exit status, output and signals are its own. luthier itself exits with status 2 for a wrong option, 125 "
      "if "
      "APP\ncould not be prepared, 126 if it cannot be executed, 127 if it was not found.");

  // Collected only to say what is missing in front of them.
  command->allow_extras();
  command->callback([command, options, &invocation] {
    std::vector<std::string> extras = command->remaining();
    if (!options->tools.empty())
      options->toolOptions = takeToolOptions(extras);
    if (!extras.empty()) {
      bool option = extras[0].starts_with("-");
      std::string hint = option ? "" : fmt::format("\nPut -- before the application: luthier run -- {} ...", extras[0]);
      if (!options->toolOptions.empty())
        hint += "\nA value of a tool's option follows '=': --NAME.option=value";
      throw CLI::ExtrasError(fmt::format("{} was not expected{}", extras[0], hint), CLI::ExitCodes::ExtrasError);
    }
    if (invocation.application.empty())
      throw CLI::RequiredError("No application: luthier run [OPTIONS] -- APP [ARGS...]", CLI::ExitCodes::RequiredError);
    if (!options->outputFile.empty() && options->tools.empty() && options->trace.empty())
      throw CLI::RequiredError("-o needs --tool or --trace", CLI::ExitCodes::RequiredError);
    invocation.exitStatus = run(*options, invocation.application);
  });
}

} // namespace luthier::cli
