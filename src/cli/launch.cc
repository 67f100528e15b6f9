#include "cli/launch.h"

#include "check/checks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "isa/target.h"
#include "support/variables.h"

namespace luthier::cli {

namespace {

constexpr std::string_view driverName = "libluthier-vgpu-driver.so";
constexpr std::string_view preloadName = "libluthier-vgpu.so"; // which brings the driver in
constexpr std::string_view checkName = "libluthier-check.so";
constexpr std::string_view runtimeName = "libluthier.so";
constexpr std::string_view exitShimName = "libluthier-exit.so";
constexpr std::string_view memoryCheckName = "libluthier-memory-check.so";

std::string_view lookUp(const Environment &environment, std::string_view name) {
  auto it = environment.find(name);
  return it == environment.end() ? std::string_view() : std::string_view(it->second);
}

// `list` with `item` at its front, and nowhere else: running luthier under luthier does not pile up. Joined by `joint`.
std::string prepend(std::string_view item, std::string_view list, std::string_view separators, char joint = ':') {
  std::string result(item);
  while (!list.empty()) {
    size_t end = list.find_first_of(separators);
    std::string_view head = list.substr(0, end);
    if (!head.empty() && head != item) {
      result += joint;
      result += head;
    }
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return result;
}

// The dynamic linker's lists have no way to quote.
Result<void> checkListable(const std::string &folder) {
  if (folder.find_first_of(":;") != std::string::npos)
    return makeError("{} cannot be used: LD_PRELOAD has no way to name a folder with ':' or ';'", folder);
  return {};
}

// Has `library` loaded in front of the application's. LD_PRELOAD cannot name a path with a space in it; the bare name
// is then found through LD_LIBRARY_PATH.
void preload(Environment &set, const Environment &current, const std::filesystem::path &library) {
  const std::string folder = library.parent_path().string();
  std::string name = library.string();
  if (folder.find(' ') != std::string::npos) {
    name = library.filename().string();
    const std::string_view list = lookUp(set.contains("LD_LIBRARY_PATH") ? set : current, "LD_LIBRARY_PATH");
    set["LD_LIBRARY_PATH"] = prepend(folder, list, ":;");
  }
  set["LD_PRELOAD"] = prepend(name, lookUp(current, "LD_PRELOAD"), ": ");
  // GCC's shared sanitizer runtime refuses to start behind any preloaded library unless told that this one is fine.
  set["ASAN_OPTIONS"] = prepend("verify_asan_link_order=0", lookUp(current, "ASAN_OPTIONS"), ":");
}

} // namespace

Result<std::vector<std::string>> parseGpuList(std::string_view list) {
  std::vector<std::string> names = LUTHIER_TRY(env::splitList(list, "the list of GPUs"));
  for (const std::string &name : names)
    LUTHIER_TRY(isa::findVirtualTarget(name));
  return names;
}

namespace {

// The first of the folders, given relative to the program's, that has the file.
Result<std::filesystem::path> findFolder(const std::filesystem::path &programFolder,
                                         std::initializer_list<std::string_view> folders, std::string_view file,
                                         std::string_view what) {
  std::string tried;
  for (const std::string_view relative : folders) {
    std::filesystem::path folder = (programFolder / relative).lexically_normal();
    std::error_code failed;
    if (std::filesystem::exists(folder / file, failed))
      return folder;
    tried += fmt::format("{}{}", tried.empty() ? "" : " nor in ", folder.string());
  }
  return makeError("{} ({}) is neither in {}: is the build complete?", what, file, tried);
}

} // namespace

Result<std::filesystem::path> findVirtualGpu(const std::filesystem::path &programFolder) {
  std::filesystem::path folder =
      LUTHIER_TRY(findFolder(programFolder, {"../lib/vgpu", "../lib/luthier/vgpu"}, driverName, "the virtual GPU"));
  std::error_code failed;
  if (!std::filesystem::exists(folder / preloadName, failed))
    return makeError("{} has no {}: is the build complete?", folder.string(), preloadName);
  return folder;
}

Result<std::filesystem::path> findRuntime(const std::filesystem::path &programFolder) {
  return LUTHIER_TRY(findFolder(programFolder, {"../lib", "../lib/luthier"}, runtimeName, "the runtime")) / runtimeName;
}

Result<std::filesystem::path> findExitShim(const std::filesystem::path &programFolder) {
  return LUTHIER_TRY(findFolder(programFolder, {"../lib", "../lib/luthier"}, exitShimName, "a part of the runtime")) /
         exitShimName;
}

Result<std::filesystem::path> findMemoryCheck(const std::filesystem::path &programFolder) {
  return LUTHIER_TRY(findFolder(programFolder, {"../lib", "../lib/luthier"}, memoryCheckName, "the memory check")) /
         memoryCheckName;
}

namespace {

// Has ROCr load the library and hand over its table of functions, beside other tools.
void addRocrTool(Environment &set, const Environment &current, const std::filesystem::path &path) {
  // ROCr splits the list at spaces and takes a backslash for "the next character as it is".
  std::string library;
  for (const char c : path.string()) {
    if (c == ' ' || c == '"' || c == '\\')
      library += '\\';
    library += c;
  }
  set["HSA_TOOLS_LIB"] = prepend(library, lookUp(current, "HSA_TOOLS_LIB"), " ", ' ');
  set["HSA_TOOLS_ROCPROFILER_V1_TOOLS"] = "1"; // heed it beside rocprofiler-sdk too (docs/hsa.md)
}

// Allocations apart from each other, so that what misses one does not hit its neighbour: ROCr cuts none of them from
// larger blocks, and leaves pages between them.
constexpr const char *kGuardPages = "16";

// `library` learns of the application's allocations.
void addCheck(Environment &set, const Environment &current, const CheckRun &check,
              const std::filesystem::path &library) {
  set[env::kCheckRecords] = check.records.string();
  set[env::kCheckLeaks.name] = check.leaks ? "1" : "0";
  if (check.quarantine)
    set[env::kCheckQuarantine.name] = fmt::format("{}", *check.quarantine);
  addRocrTool(set, current, library);
  set["HSA_DISABLE_FRAGMENT_ALLOCATOR"] = "1";
  set["HSA_SVM_GUARD_PAGES"] = kGuardPages;
}

void addVirtualCheck(Environment &set, const Environment &current, const CheckRun &check,
                     const std::filesystem::path &driverFolder) {
  addCheck(set, current, check, driverFolder / driverName);
  set[env::kChecks] = check.checks;
  set[env::kCheckInitStores.name] = check.initStores ? "1" : "0";
  // HIP writes small copies itself where it can reach a GPU's memory, which nobody sees.
  if (const auto checks = check::Checks::parse(check.checks); checks && checks->has(check::Check::Init))
    set["ROC_ENABLE_LARGE_BAR"] = "0";
}

} // namespace

Environment memoryCheckEnvironment(const CheckRun &check, const std::filesystem::path &tool,
                                   const std::filesystem::path &driverFolder, const Environment &current) {
  Environment set;
  addCheck(set, current, check, tool);
  preload(set, current, driverFolder / checkName);
  return set;
}

Result<Environment> runtimeEnvironment(const RuntimeRun &run, const Environment &current) {
  Environment set;
  addRocrTool(set, current, run.library);
  // The process that this one becomes, and a number that no other run has.
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  set["LUTHIER_RUN"] = fmt::format("{}.{}{:09}", getpid(), now.tv_sec, now.tv_nsec);
  if (!run.trace.empty())
    set["LUTHIER_TRACE"] = run.trace;
  if (run.quiet)
    set[env::kProgress.name] = "0";
  if (run.outputFile)
    set[env::kTraceFile.name] = *run.outputFile;
  if (run.tools) {
    LUTHIER_TRY(checkListable(run.exitShim.parent_path().string()));
    for (auto &[name, value] : run.tools->toEnvironment())
      set[name] = value;
    preload(set, current, run.exitShim);
    set["LUTHIER_EXPECT_HSA"] = run.tools->strict ? "strict" : "warn";
  }
  return set;
}

Result<std::filesystem::path> programFolder() {
  std::error_code failed;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed)
    return makeErrorCode(failed.value(), "cannot find luthier's own folder: {}", failed.message());
  return self.parent_path();
}

Result<Environment> virtualEnvironment(const VirtualRun &run, const Environment &current) {
  LUTHIER_TRY(checkListable(run.driverFolder.string()));

  Environment set;
  set["LUTHIER_VGPU_GPUS"] = fmt::format("{}", fmt::join(run.gpus, ","));
  if (run.statsFile)
    set[env::kStats.name] = *run.statsFile;
  if (run.threads)
    set[env::kThreads.name] = fmt::format("{}", *run.threads);
  if (run.traceFile)
    set[env::kVgpuTrace.name] = *run.traceFile;
  if (!run.traceKernel.empty())
    set["LUTHIER_VGPU_TRACE_KERNEL"] = run.traceKernel;
  if (!run.traceWave.empty())
    set["LUTHIER_VGPU_TRACE_WAVE"] = run.traceWave;
  if (run.traceSums)
    set[env::kTraceSums.name] = "1";
  if (run.strictWaits)
    set[env::kStrictWaits.name] = "1";
  if (run.poisonSeed)
    set[env::kPoisonDead.name] = fmt::format("{}", *run.poisonSeed);
  if (run.strictSeed)
    set[env::kStrictResources.name] = fmt::format("{}", *run.strictSeed);
  if (run.strictL1)
    set[env::kStrictL1.name] = "1";
  if (run.hangSeconds)
    set[env::kHangReport.name] = fmt::format("{}", *run.hangSeconds);
  if (run.check)
    addVirtualCheck(set, current, *run.check, run.driverFolder);
  preload(set, current, run.driverFolder / preloadName);
  if (run.check)
    preload(set, Environment{{"LD_PRELOAD", set["LD_PRELOAD"]}, {"ASAN_OPTIONS", set["ASAN_OPTIONS"]}},
            run.driverFolder / checkName);
  return set;
}

Environment currentEnvironment() {
  Environment result;
  for (char **entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

} // namespace luthier::cli
