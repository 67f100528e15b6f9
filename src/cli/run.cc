// `luthier run`: chooses the GPU, sets the environment, becomes the application.
//
// exec() rather than a child process: exit code, output, signals, terminal and process id are the application's own
// because there is nobody in between.

#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/app_code.h"
#include "cli/command.h"
#include "cli/input_file.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/tool_files.h"
#include "isa/target.h"
#include "runtime/tool_settings.h"
#include "support/env.h"
#include "support/log.h"
#include "vgpu/driver/gpu_models.h"

namespace luthier::cli {

namespace {

// CLI11 knows nothing of what stands behind the `--`.
struct UsageFormatter : CLI::Formatter {
  std::string make_usage(const CLI::App *, std::string) const override {
    return "Usage: luthier run [OPTIONS] -- APP [ARGS...]\n";
  }
};

// What the runtime would object to only after the application has started; as CLI11 wants it, empty if right.
std::string validRegex(const std::string &text) {
  const Result<void> good = runtime::checkRegex(text, "");
  return good ? "" : good.error().message();
}

std::string validFormats(const std::string &text) {
  const auto formats = runtime::parseFormats(text, "the value");
  return formats ? "" : formats.error().message();
}

std::string validIterations(const std::string &text) {
  const auto range = runtime::parseIterations(text);
  return range ? "" : range.error().message();
}

std::string validTrace(const std::string &text) {
  const auto parts = runtime::parseTraceParts(text, "--trace");
  return parts ? "" : parts.error().message();
}

/// What people expect of a profiler, and get with an answer instead of "unknown option".
constexpr std::string_view kNoAttaching =
    "--attach is not possible: ROCr loads tools only when it starts, and the queues and code of a process that is\n"
    "running already were made without them. Start the application under Luthier: luthier run [OPTIONS] -- APP\n"
    "[ARGS...]. What is instrumented later on, --kernel-include-regex and --kernel-iteration-range choose.";

int run(const RunOptions &options, const std::vector<std::string> &application) {
  if (Result<void> prepared = prepareRun(options); !prepared) {
    log::error("{}", prepared.error().message());
    return exitNotStarted;
  }
  // HIP says only that there is no code; what there is, and for which GPU it is wanted, is known here.
  if (const auto gpus = env::text("LUTHIER_VGPU_GPUS"))
    if (const auto names = parseGpuList(*gpus))
      if (const std::string missing = missingCode(application.front(), *names); !missing.empty())
        log::warn("{}", missing);
  return becomeApplication(application);
}

/// `--gpu list`.
constexpr std::string_view kList = "list";

void listGpus() {
  std::cout << "target    waves of  compute units  memory    like\n";
  for (const std::string_view name : isa::virtualTargets()) {
    const isa::Target &target = *isa::findTarget(name);
    const vgpu::DeviceConfig config = vgpu::deviceConfig(target);
    const vgpu::GpuModel *model = vgpu::findGpuModel(name);
    const char *waves = target.wave32 && target.wave64 ? "32, 64" : target.wave32 ? "32" : "64";
    std::cout << fmt::format("{:<8}  {:<8}  {:>13}  {:>4} GiB  {}\n", name, waves, config.computeUnits,
                             (config.localMemoryBytes + (1ull << 29)) >> 30, model ? model->product : "");
  }
}

} // namespace

void addRunCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("run", "Run an application on a real or virtual GPU");
  auto options = std::make_shared<RunOptions>();
  command->formatter(std::make_shared<UsageFormatter>());
  addGpuOptions(*command, *options);
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
      ->add_option("-o,--output-file,--output", options->outputFile,
                   "Write the report of the tools, or of --trace if there are none, to FILE instead of\nstderr. With "
                   "-d, or with several formats: the name of the files, to which each format\nadds its extension")
      ->type_name("FILE")
      ->check(notEmpty);
  command
      ->add_option("-d,--output-directory", options->outputFolder,
                   "Write the report to this folder, which is created if needed (file name without -o:\n"
                   "%hostname%_%pid%)")
      ->type_name("DIR")
      ->check(notEmpty)
      ->needs(tool);
  command
      ->add_option("-f,--output-format,--format", options->format,
                   "Formats of the report, separated by commas: text (default), csv, json, html, db (SQLite),\n"
                   "pftrace (Perfetto)")
      ->type_name("LIST")
      ->check(validFormats)
      ->needs(tool);
  command
      ->add_option("-i,--input", options->inputFile,
                   "Also read options from FILE, a JSON object whose keys are their long names; the command\n"
                   "line takes precedence")
      ->type_name("FILE")
      ->check(notEmpty);
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
  addFlag(*command, "--runtime-kernels", options->runtimeKernels,
          "Instrument HIP's own kernels too, which fill and copy memory")
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
  addHookForm(*command, options->hookForm)->needs(tool);
  addFlag(*command, "--strict", options->strict,
          "End the application with an error if something cannot be instrumented")
      ->needs(tool);
  addFlag(*command, "-q,--quiet", options->quiet,
          "Show no progress on the terminal, which is there when something takes over a second")
      ->needs(tool);
  command->add_option("--attach", options->attach)->type_name("PID")->group("");
  command->footer(
      "In the name of any FILE and of DIR, %pid%, %hostname%, %rank% (in MPI) and %env{NAME}% are replaced, by "
      "each\nprocess for itself.\n"
      "APP's exit status, output and signals are its own. luthier itself exits with status 2 for a wrong option, 125 "
      "if "
      "APP\ncould not be prepared, 126 if it cannot be executed, 127 if it was not found.");

  // An input file may name the tool: checked when its options are there.
  auto ofTools = std::make_shared<std::vector<const CLI::Option *>>();
  for (CLI::Option *option : command->get_options())
    if (option->remove_needs(tool))
      ofTools->push_back(option);
  // Collected only to say what is missing in front of them.
  command->allow_extras();
  command->callback([command, options, ofTools, &invocation] {
    if (command->count("--attach") > 0)
      throw CLI::ValidationError(std::string(kNoAttaching), CLI::ExitCodes::ValidationError);
    std::vector<std::string> extras = command->remaining();
    std::map<std::string, std::optional<std::string>> fromFile;
    if (!options->inputFile.empty())
      applyInputFile(*command, options->inputFile, fromFile);
    for (const CLI::Option *option : *ofTools)
      if (option->count() > 0 && options->tools.empty())
        throw CLI::RequiresError(option->get_name(), "--tool");
    if (!options->tools.empty())
      options->toolOptions = takeToolOptions(extras);
    options->toolOptions.merge(std::move(fromFile));
    refuseExtras(extras, "run",
                 options->toolOptions.empty() ? "" : "\nA value of a tool's option follows '=': --NAME.option=value");
    if (options->gpus == kList) {
      listGpus();
      return;
    }
    if (invocation.application.empty())
      throw CLI::RequiredError("No application: luthier run [OPTIONS] -- APP [ARGS...]", CLI::ExitCodes::RequiredError);
    if (!options->toolOptions.empty() && options->tools.empty())
      throw CLI::RequiredError(options->toolOptions.begin()->first + " needs --tool", CLI::ExitCodes::RequiredError);
    if (!options->outputFile.empty() && options->tools.empty() && options->trace.empty())
      throw CLI::RequiredError("-o needs --tool or --trace", CLI::ExitCodes::RequiredError);
    invocation.exitStatus = run(*options, invocation.application);
  });
}

} // namespace luthier::cli
