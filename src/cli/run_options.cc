#include "cli/run_options.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/check_account.h"
#include "cli/command.h"
#include "cli/describe_tool.h"
#include "cli/gpu_detect.h"
#include "cli/options.h"
#include "cli/tool_files.h"
#include "cli/variables.h"
#include "isa/target.h"
#include "report/report.h"
#include "runtime/tool_settings.h"
#include "support/env.h"
#include "support/expand_keys.h"
#include "support/log.h"
#include "support/variables.h"
#include "vgpu/wave/trace.h"

namespace luthier::cli {

namespace {

// What the virtual GPU would object to only after the application has started; as CLI11 wants it, empty if right.
std::string validRegex(const std::string &text) {
  const Result<void> good = runtime::checkRegex(text, "");
  return good ? "" : good.error().message();
}

std::string validWaves(const std::string &text) {
  const auto waves = vgpu::parseWaveRange(text);
  return waves ? "" : waves.error().message();
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

/// Names of files as the user gave them.
constexpr const char *kReportName = "%hostname%_%pid%";

Result<void> chooseOutputs(const RunOptions &options, runtime::ToolSettings &settings) {
  const auto absolute = [](const std::filesystem::path &path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  if (options.outputFolder.empty()) {
    if (!options.outputFile.empty())
      (settings.formats.size() > 1 ? settings.outputBase : settings.output) = absolute(options.outputFile);
    return {};
  }
  const std::filesystem::path name = options.outputFile.empty() ? kReportName : options.outputFile;
  if (name.is_absolute())
    return makeError("-o {} is not a name in the folder of -d {}", options.outputFile, options.outputFolder);
  settings.outputBase = absolute(options.outputFolder / name);
  return {};
}

/// Their folders, where these may be made, and whether they can be written.
Result<void> prepareOutputs(const runtime::ToolSettings &settings) {
  for (const runtime::Output &output : settings.outputs()) {
    if (output.file.empty())
      continue;
    if (!settings.outputBase.empty()) {
      const std::filesystem::path folder = std::filesystem::path(LUTHIER_TRY(expandKeys(output.file))).parent_path();
      std::error_code failed;
      if (std::filesystem::create_directories(folder, failed); failed)
        return makeErrorCode(failed.value(), "cannot make the folder {}: {}", folder.string(), failed.message());
    }
    LUTHIER_TRY(prepareOutput(output.file));
    if (output.format == report::Format::Db)
      LUTHIER_TRY(report::checkDatabase());
  }
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
  if (!options.format.empty())
    settings.formats = LUTHIER_TRY(runtime::parseFormats(options.format, "--format"));
  settings.kernelInclude = options.kernelInclude;
  settings.kernelExclude = options.kernelExclude;
  if (!options.iterations.empty())
    std::tie(settings.firstIteration, settings.lastIteration) =
        LUTHIER_TRY(runtime::parseIterations(options.iterations));
  settings.hookForm = LUTHIER_TRY(chooseHookForm(options.hookForm));
  settings.strict = options.strict;
  settings.runtimeKernels = options.runtimeKernels;
  LUTHIER_TRY(chooseOutputs(options, settings));
  LUTHIER_TRY(settings.validate());
  settings.options.clear();
  for (const ToolFile &tool : tools)
    LUTHIER_TRY(addTool(options, runtime, tool, settings));
  LUTHIER_TRY(prepareOutputs(settings));
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
  run.quiet = options.quiet;
  if (!options.tools.empty()) {
    run.tools = LUTHIER_TRY(toolSettings(options, program, run.library));
    run.exitShim = LUTHIER_TRY(findExitShim(program));
  } else if (!options.outputFile.empty())
    run.outputFile = LUTHIER_TRY(prepareOutput(options.outputFile));
  return setEnvironment(LUTHIER_TRY(runtimeEnvironment(run, currentEnvironment())));
}

// The tool that checks memory, which nobody names on the command line. What became of kernels goes to the records too.
Result<void> prepareMemoryCheck(const CheckRun &check) {
  const std::filesystem::path program = LUTHIER_TRY(programFolder());
  const std::filesystem::path tool = LUTHIER_TRY(findMemoryCheck(program));
  LUTHIER_TRY(
      setEnvironment(memoryCheckEnvironment(check, tool, LUTHIER_TRY(findVirtualGpu(program)), currentEnvironment())));
  runtime::ToolSettings settings;
  settings.tools = {tool.string()};
  settings.formats = {report::Format::Json};
  settings.output = (check.records / kAccountFile).string();
  settings.runtimeKernels = true;
  LUTHIER_TRY(settings.validate());
  RuntimeRun run;
  run.library = LUTHIER_TRY(findRuntime(program));
  run.tools = std::move(settings);
  run.exitShim = LUTHIER_TRY(findExitShim(program));
  return setEnvironment(LUTHIER_TRY(runtimeEnvironment(run, currentEnvironment())));
}

} // namespace

bool usesRealGpu(const RunOptions &options) {
  return options.gpus.empty() && !env::text("LUTHIER_VGPU_GPUS") && realGpuPresent();
}

Result<void> prepareRun(const RunOptions &options, const std::optional<CheckRun> &check) {
  LUTHIER_TRY(checkVariables(currentEnvironment()));
  LUTHIER_TRY(check && check->instrument ? prepareMemoryCheck(*check) : prepareRuntime(options));
  std::vector<std::string> gpus = LUTHIER_TRY(chooseGpus(options));
  if (gpus.empty()) {
    if (!options.statsFile.empty() || options.threads || !options.traceFile.empty() || options.strictWaits ||
        options.poisonSeed || options.strictSeed || options.hangSeconds)
      return makeError("--stats, --threads, --trace-vgpu, --strict-waits, --strict-resources, --poison-dead and "
                       "--hang-report belong to the virtual GPU: add --gpu, or leave them out");
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
  run.hangSeconds = options.hangSeconds;
  if (check && !check->instrument)
    run.check = check;
  return setEnvironment(LUTHIER_TRY(virtualEnvironment(run, currentEnvironment())));
}

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

void refuseExtras(const std::vector<std::string> &extras, const std::string &name, const std::string &hint) {
  if (extras.empty())
    return;
  const std::string separate =
      extras[0].starts_with("-")
          ? ""
          : fmt::format("\nPut -- before the application: luthier {} -- {} ...", name, extras[0]);
  throw CLI::ExtrasError(fmt::format("{} was not expected{}{}", extras[0], separate, hint),
                         CLI::ExitCodes::ExtrasError);
}

void addGpuOptions(CLI::App &command, RunOptions &options) {
  command
      .add_option("--gpu", options.gpus,
                  fmt::format("Virtual GPUs to run on, separated by commas: {};\nlist prints what they are. Default: "
                              "LUTHIER_VGPU_GPUS, else the "
                              "real GPU,\nelse one virtual gfx90a",
                              fmt::join(isa::virtualTargets(), ", ")))
      ->type_name("LIST")
      ->check(notEmpty);
  command.add_option("--stats", options.statsFile, "Write what the virtual GPU executed to FILE, as JSON")
      ->type_name("FILE")
      ->check(notEmpty);
  addNumber(command, "--threads", options.threads, 1, 1024, "Worker threads of the virtual GPU (default: all cores)");
  CLI::Option *trace = command
                           .add_option("--trace-vgpu", options.traceFile,
                                       "Write every instruction that the virtual GPU executes to FILE, as JSON lines")
                           ->type_name("FILE")
                           ->check(notEmpty);
  command.add_option("--trace-kernel", options.traceKernel, "Trace only kernels whose name matches REGEX (extended)")
      ->type_name("REGEX")
      ->check(validRegex)
      ->needs(trace);
  command.add_option("--trace-wave", options.traceWave, "Trace only this wave of each grid, or a range of them: 4-7")
      ->type_name("N|A-B")
      ->check(validWaves)
      ->needs(trace);
  addFlag(command, "--trace-sums", options.traceSums,
          "Instead of every instruction, trace sums for each instruction that accesses memory: how often\nand "
          "where it did in a dispatch")
      ->needs(trace);
  addFlag(command, "--strict-waits", options.strictWaits,
          "Stop a kernel that uses a loaded value before waiting for it (s_waitcnt)");
  CLI::Option *strictResources =
      addNumber(command, "--strict-resources", options.strictSeed, 0, UINT64_MAX,
                "Model the resources of the hardware: only the registers that a kernel allocates, VCC and others\n"
                "at their end, garbage from SEED (default: 1) in everything that is undefined at the start, limited\n"
                "residency, a scalar cache")
          ->type_name("[SEED]")
          ->expected(0, 1)
          ->default_str("1");
  addNumber(command, "--hang-report", options.hangSeconds, 1, env::kHangReport.most,
            "Say of a kernel that has run for this long where its waves are and what they wait for. At any\ntime, "
            "SIGQUIT (Ctrl-\\) does")
      ->type_name("SECONDS");
  addFlag(command, "--strict-l1", options.strictL1,
          "Give each compute unit a vector L1 cache that keeps what it has read until it is invalidated")
      ->needs(strictResources);
  addNumber(command, "--poison-dead", options.poisonSeed, 0, UINT64_MAX,
            "Before every instruction, overwrite registers that liveness analysis considers dead with\n"
            "random values generated from SEED (default: 1): a test of the analysis")
      ->type_name("[SEED]")
      ->expected(0, 1)
      ->default_str("1");
}

} // namespace luthier::cli
