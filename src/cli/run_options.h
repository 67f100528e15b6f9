// What `luthier run` and `luthier check` have in common: the options that say where and how an application runs, the
// environment that follows from them, and becoming the application.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/launch.h"
#include "support/result.h"

namespace CLI {
class App;
}

namespace luthier::cli {

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
  std::optional<uint64_t> hangSeconds;
  std::string trace;
  std::string inputFile;
  std::string outputFile, outputFolder;
  std::vector<std::string> tools;
  std::map<std::string, std::optional<std::string>> toolOptions; // by "NAME.option"
  std::string format;
  std::string kernelInclude, kernelExclude;
  std::string iterations;
  bool runtimeKernels = false;
  std::string hookOutput;
  std::optional<uint64_t> hostcallPackets;
  std::string hookForm;
  bool strict = false;
  bool quiet = false;
  std::string attach;
};

/// The GPU, and what the virtual one counts, traces and checks.
void addGpuOptions(CLI::App &command, RunOptions &options);

/// Whether the application is to run on a real GPU: none was asked for, and there is one.
bool usesRealGpu(const RunOptions &options);

/// Sets the environment that the options ask for. `check`: what is to be checked, which takes a virtual GPU unless
/// hooks do it.
Result<void> prepareRun(const RunOptions &options, const std::optional<CheckRun> &check = {});

/// Returns only if the application could not be started: with the exit status that says so.
int becomeApplication(const std::vector<std::string> &application);

/// Throws CLI11's error for words that are none of the command's options: `extras`, of `luthier NAME`.
void refuseExtras(const std::vector<std::string> &extras, const std::string &name, const std::string &hint = {});

} // namespace luthier::cli
