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
#include <unistd.h>

#include "cli/command.h"
#include "cli/describe_tool.h"
#include "cli/gpu_detect.h"
#include "cli/launch.h"
#include "cli/tool_files.h"
#include "isa/target.h"
#include "runtime/tool_settings.h"
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
  bool traceSums = false;
  bool strictWaits = false;
  std::optional<uint64_t> poisonSeed;
  std::string trace;
  std::string outputFile;
  std::vector<std::string> tools;
  std::map<std::string, std::string> toolOptions; // by "NAME.option"
  std::string format;
  std::string kernelInclude, kernelExclude;
  std::string iterations;
  std::string hookOutput;
  uint32_t hostcallPackets = 0;
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

// Options that a tool does not have would be ignored by it. A tool that cannot even be asked is the runtime's affair:
// the application runs then without it, or not at all under --strict.
Result<void> checkToolOptions(const RunOptions &options, const std::filesystem::path &runtime, const ToolFile &tool) {
  const std::string prefix = tool.name + ".";
  const auto mine = [&](const auto &option) { return option.first.starts_with(prefix); };
  if (std::ranges::none_of(options.toolOptions, mine))
    return {};
  const Result<ToolDescription> description = describeTool(runtime, tool);
  if (!description) {
    log::warn("{}", description.error().message());
    return {};
  }
  std::vector<std::string> known;
  for (const auto &option : description->options)
    known.push_back(option.name);
  for (const auto &[key, value] : options.toolOptions)
    if (key.starts_with(prefix) && std::ranges::find(known, key.substr(prefix.size())) == known.end())
      return makeError("tool {} has no option '{}'; {}", tool.name, key.substr(prefix.size()),
                       known.empty() ? "it has none" : fmt::format("known: {}", fmt::join(known, ", ")));
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
  settings.options = options.toolOptions;
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
  for (const ToolFile &tool : tools)
    LUTHIER_TRY(checkToolOptions(options, runtime, tool));
  if (!options.outputFile.empty())
    settings.output = LUTHIER_TRY(prepareOutput(options.outputFile));
  if (!options.hookOutput.empty())
    settings.hookOutput = LUTHIER_TRY(prepareOutput(options.hookOutput));
  settings.hostcallPackets = options.hostcallPackets;
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
    run.outputFile = LUTHIER_TRY(createStatsFile(options.outputFile));
  return setEnvironment(LUTHIER_TRY(runtimeEnvironment(run, currentEnvironment())));
}

Result<void> prepare(const RunOptions &options) {
  LUTHIER_TRY(prepareRuntime(options));
  std::vector<std::string> gpus = LUTHIER_TRY(chooseGpus(options));
  if (gpus.empty()) {
    if (!options.statsFile.empty() || options.threads || !options.traceFile.empty() || options.strictWaits ||
        options.poisonSeed)
      return makeError("--stats, --threads, --trace-vgpu, --strict-waits and --poison-dead belong to the virtual GPU: "
                       "add --gpu, or leave them out");
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
  run.traceSums = options.traceSums;
  run.strictWaits = options.strictWaits;
  run.poisonSeed = options.poisonSeed;
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
  command
      ->add_flag("--trace-sums", options->traceSums,
                 "Instead of every instruction, trace for each that accesses memory how often and where it\ndid so in "
                 "a dispatch, added up")
      ->needs(trace);
  command->add_flag("--strict-waits", options->strictWaits,
                    "Stop a kernel that uses a loaded value before s_waitcnt says that it has arrived");
  command
      ->add_option("--poison-dead", options->poisonSeed,
                   "Overwrite registers that liveness analysis calls dead before every instruction, with\ngarbage that "
                   "SEED (default: 1) chooses: a test of the analysis")
      ->type_name("[SEED]")
      ->expected(0, 1)
      ->default_str("1");
  command
      ->add_option("--trace", options->trace,
                   "Print what the application asks of ROCr as it happens: hsa, or some of its parts,\nseparated by "
                   "commas: api, code, queues, packets")
      ->type_name("WHAT")
      ->check(validTrace);
  CLI::Option *tool = command
                          ->add_option("--tool", options->tools,
                                       "Instrument kernels with this tool, by name (`luthier tools` lists them) or "
                                       "path; may be\ngiven again. Options of the tool: --NAME.option=value")
                          ->type_name("NAME|FILE")
                          ->expected(1)
                          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("-o,--output", options->outputFile,
                   "Write the report of the tools, or the trace if there are none, to FILE instead of\nstderr. "
                   "%pid%, %hostname% and %env{NAME}% in it are replaced, in each process anew")
      ->type_name("FILE");
  command->add_option("-f,--format", options->format, "Format of the report: text (default), csv, json")
      ->type_name("F")
      ->check(CLI::IsMember({"text", "csv", "json"}).description(""))
      ->needs(tool);
  command
      ->add_option("--kernel-include-regex", options->kernelInclude, "Only kernels whose name matches REGEX (extended)")
      ->type_name("REGEX")
      ->check(validRegex)
      ->needs(tool);
  command
      ->add_option("--kernel-exclude-regex", options->kernelExclude, "No kernels whose name matches REGEX (extended)")
      ->type_name("REGEX")
      ->check(validRegex)
      ->needs(tool);
  command
      ->add_option("--kernel-iteration-range", options->iterations,
                   "Only these launches of each kernel, counted from 1: 3, 3-7, or 3- for all from there on")
      ->type_name("A-B")
      ->check(validIterations)
      ->needs(tool);
  command
      ->add_option("--hook-output", options->hookOutput,
                   "Write what hooks print to FILE instead of stdout; names as for -o")
      ->type_name("FILE")
      ->needs(tool);
  command
      ->add_option("--hostcall-packets", options->hostcallPackets,
                   "Packets of the buffer that hooks call the host through, per queue (default: as many as\nwaves can "
                   "be resident; fewer are refused)")
      ->type_name("N")
      ->needs(tool);
  command
      ->add_flag("--strict", options->strict, "End the application with an error if something cannot be instrumented")
      ->needs(tool);
  command->footer(
      "APP's exit code, output and signals are its own. luthier itself ends with 2 for a wrong option, 125 if "
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
