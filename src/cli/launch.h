// How Luthier gets into an application: the environment that puts our driver (of virtual GPUs) below the
// unmodified ROCr and has it load our runtime (as a tool).
//
// Everything is done through the environment of the application, which its children inherit on purpose: a script,
// mpirun or make run under `luthier run` brings its GPU programs along. Nothing stays behind in this process, which
// becomes the application by exec.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tool_settings.h"
#include "support/result.h"

namespace luthier::cli {

// "gfx90a,gfx90a" -> its names, each of them known.
Result<std::vector<std::string>> parseGpuList(std::string_view list);

// The folder with the driver of virtual GPUs, of a build tree or of an installation. `programFolder` is where luthier
// itself is.
Result<std::filesystem::path> findVirtualGpu(const std::filesystem::path &programFolder);

// Folder of the running program.
Result<std::filesystem::path> programFolder();

// What `luthier check` wants of the virtual GPU, or of the tool with hooks.
struct CheckRun {
  std::filesystem::path records; // the folder for findings
  std::string checks;            // their names, separated by commas
  bool instrument = false;       // hooks check memory, on any GPU
  bool leaks = false;
  bool initStores = false;                 // report stores of undefined values to memory that the host sees
  std::optional<uint64_t> quarantine = {}; // MiB of freed memory that are kept
};

struct VirtualRun {
  std::filesystem::path driverFolder;
  std::vector<std::string> gpus;
  std::optional<std::string> statsFile; // absolute, with its keys, as are the other files
  std::optional<uint32_t> threads;
  std::optional<std::string> traceFile = {};
  std::string traceKernel = {}; // a regular expression; empty: all
  std::string traceWave = {};   // "N" or "A-B"; empty: all
  bool traceSums = false;
  bool strictWaits = false;
  std::optional<uint64_t> poisonSeed = {};  // overwrite dead registers
  std::optional<uint64_t> strictSeed = {};  // the physical machine
  bool strictL1 = false;                    // with a vector L1
  std::optional<uint64_t> hangSeconds = {}; // report kernels that run for longer
  std::optional<CheckRun> check = {};
};

using Environment = std::map<std::string, std::string, std::less<>>;

// The variables to set on top of `current` for such a run. Variables that hold lists keep what was in them.
Result<Environment> virtualEnvironment(const VirtualRun &run, const Environment &current);

// The library that ROCr loads into the application, of a build tree or of an installation.
Result<std::filesystem::path> findRuntime(const std::filesystem::path &programFolder);

// Beside it: what makes results survive _exit (shim/exit_shim.c).
Result<std::filesystem::path> findExitShim(const std::filesystem::path &programFolder);

// The tool that checks memory by hooks.
Result<std::filesystem::path> findMemoryCheck(const std::filesystem::path &programFolder);

// The variables to set on top of `current` for that, before those of runtimeEnvironment: `tool` is to see what passes
// Luthier's own wrappers. `driverFolder` is that of findVirtualGpu.
Environment memoryCheckEnvironment(const CheckRun &check, const std::filesystem::path &tool,
                                   const std::filesystem::path &driverFolder, const Environment &current);

struct RuntimeRun {
  std::filesystem::path library;
  std::string trace = {};                          // a list of what to trace; empty: nothing
  bool quiet = false;                              // show no progress
  std::optional<std::string> outputFile = {};      // of the trace, absolute
  std::optional<runtime::ToolSettings> tools = {}; // valid
  std::filesystem::path exitShim = {};             // needed for tools
};

// The variables to set on top of `current` for Luthier to be in the application. Other tools of ROCr's stay.
Result<Environment> runtimeEnvironment(const RuntimeRun &run, const Environment &current);

Environment currentEnvironment();

} // namespace luthier::cli
