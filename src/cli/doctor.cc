// `luthier doctor`: whether everything that Luthier needs is there, and what to do about what is not.
//
// Each check prints a line and, where something is wrong, what to do. What a run needs is an error (exit status 1);
// what only writers of tools need is a hint. The last check runs ROCr in a child, on the GPU that `luthier run` would
// choose.

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/gpu_detect.h"
#include "cli/launch.h"
#include "cli/tool_files.h"
#include "cli/variables.h"
#include "isa/target.h"
#include "support/cache_folder.h"
#include "support/file.h"
#include "support/find_program.h"

namespace luthier::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char *kRocr = "libhsa-runtime64.so.1";
constexpr const char *kHookCompiler = "luthier-hook-compiler";

class Findings {
public:
  void good(std::string_view what, const std::string &text) { print("ok", what, text); }
  void hint(std::string_view what, const std::string &text, const std::string &advice) {
    print("hint", what, text);
    std::cout << "       -> " << advice << "\n";
  }
  void wrong(std::string_view what, const std::string &text, const std::string &advice) {
    ++errors_;
    print("WRONG", what, text);
    std::cout << "       -> " << advice << "\n";
  }
  unsigned errors() const { return errors_; }

private:
  static void print(std::string_view state, std::string_view what, const std::string &text) {
    std::cout << fmt::format("{:<5}  {:<15} {}\n", state, what, text);
  }
  unsigned errors_ = 0;
};

/// The same advice for every part that an installation lacks.
constexpr const char *kReinstall = "the installation is incomplete: install Luthier again, or build it completely";

void checkInstallation(Findings &findings, const fs::path &program) {
  const auto part = [&](std::string_view what, const Result<fs::path> &found) {
    if (found)
      findings.good(what, found->string());
    else
      findings.wrong(what, found.error().message(), kReinstall);
  };
  part("runtime", findRuntime(program));
  part("exit shim", findExitShim(program));
  part("virtual GPU", findVirtualGpu(program));
  const auto tools = listTools(toolFolders(program));
  if (tools.empty())
    findings.wrong("tools", "none found", kReinstall);
  else
    findings.good("tools", fmt::format("{} (`luthier tools` lists them)", tools.size()));
  std::error_code failed;
  for (const char *folder : {"", "../lib/luthier/bin"})
    if (const fs::path file = (program / folder / kHookCompiler).lexically_normal(); fs::exists(file, failed)) {
      if (::access(file.c_str(), X_OK) == 0)
        return findings.good("hook compiler", file.string());
      return findings.wrong("hook compiler", fmt::format("{} cannot be executed: {}", file.string(), strerror(errno)),
                            "chmod +x " + file.string());
    }
  findings.wrong("hook compiler", fmt::format("{} was not found", kHookCompiler), kReinstall);
}

void checkRocr(Findings &findings) {
  void *library = dlopen(kRocr, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return findings.wrong("ROCr", dlerror(),
                          "install it (Debian: libhsa-runtime64-1), or add its folder to LD_LIBRARY_PATH");
  Dl_info info = {};
  std::string file = kRocr;
  if (void *symbol = dlsym(library, "hsa_init"); symbol && dladdr(symbol, &info) && info.dli_fname) {
    std::error_code failed;
    const fs::path real = fs::canonical(info.dli_fname, failed);
    file = failed ? std::string(info.dli_fname) : real.string();
  }
  findings.good("ROCr", file);
}

/// The groups that own a device, which its users must be in.
std::string ownerOf(const fs::path &device) {
  struct stat status = {};
  if (stat(device.c_str(), &status) != 0)
    return "render";
  std::ifstream groups("/etc/group");
  for (std::string line; std::getline(groups, line);) {
    const size_t name = line.find(':'), number = line.find(':', name + 1);
    if (number != std::string::npos && std::strtoul(line.c_str() + number + 1, nullptr, 10) == status.st_gid)
      return line.substr(0, name);
  }
  return fmt::format("{}", status.st_gid);
}

void checkDevices(Findings &findings) {
  const fs::path kfd = "/dev/kfd";
  std::error_code failed;
  if (!fs::exists(kfd, failed))
    return findings.good("GPU", "no AMD GPU (/dev/kfd does not exist): applications run on a virtual gfx90a, or what "
                                "--gpu says");
  const auto joinGroup = [](const fs::path &device) {
    return fmt::format("sudo usermod -aG {} $USER, then log in again; in a container: --device {}", ownerOf(device),
                       device.string());
  };
  if (::access(kfd.c_str(), R_OK | W_OK) != 0)
    return findings.wrong("GPU", fmt::format("{}: {}", kfd.string(), strerror(errno)), joinGroup(kfd));
  if (!realGpuPresent())
    return findings.wrong("GPU", "/dev/kfd is there, but the driver shows no GPU",
                          "see what `dmesg | grep -i amdgpu` says; --gpu gfx90a runs on a virtual GPU meanwhile");
  unsigned devices = 0;
  for (auto entry = fs::directory_iterator("/dev/dri", failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    if (!entry->path().filename().string().starts_with("renderD"))
      continue;
    ++devices;
    if (::access(entry->path().c_str(), R_OK | W_OK) != 0)
      return findings.wrong("GPU", fmt::format("{}: {}", entry->path().string(), strerror(errno)),
                            joinGroup(entry->path()));
  }
  findings.good("GPU", fmt::format("an AMD GPU, and permission to use it ({} render devices)", devices));
}

void checkCache(Findings &findings) {
  const fs::path folder = defaultCacheFolder();
  if (folder.empty())
    return findings.hint("cache", "off (LUTHIER_CACHE)", "every run compiles its hooks anew; unset it to keep them");
  std::error_code failed;
  fs::create_directories(folder, failed);
  struct stat status = {};
  if (failed || stat(folder.c_str(), &status) != 0)
    return findings.wrong("cache", fmt::format("{}: {}", folder.string(), failed.message()),
                          "make the folder, or name another one: LUTHIER_CACHE=FOLDER, or off");
  if (const std::string who = whoElseCouldWrite(status); !who.empty())
    return findings.wrong("cache", fmt::format("{} is not used: it {}", folder.string(), who),
                          fmt::format("chmod 700 {}, or name another one: LUTHIER_CACHE=FOLDER", folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return findings.wrong("cache", fmt::format("{}: {}", folder.string(), strerror(errno)),
                          "make it writable, or name another one: LUTHIER_CACHE=FOLDER, or off");
  struct statvfs space = {};
  constexpr uint64_t kLittle = 64ull << 20;
  if (statvfs(folder.c_str(), &space) == 0 && uint64_t{space.f_bavail} * space.f_frsize < kLittle)
    return findings.wrong("cache", fmt::format("{}: less than 64 MiB are free", folder.string()), "make room");
  findings.good("cache", folder.string());
}

void checkForWriters(Findings &findings) {
  for (const auto &[program, package] :
       {std::pair("clang++-" LUTHIER_LLVM, "clang-" LUTHIER_LLVM), {"cmake", "cmake"}, {"hipcc", "hipcc"}})
    if (!findProgram(program).empty())
      findings.good("to write tools", program);
    else
      findings.hint("to write tools", fmt::format("{} was not found", program),
                    fmt::format("only writing tools needs it: apt install {}", package));
}

/// In the child: what ROCr says of itself and of the GPU.
int probe() {
  void *library = dlopen(kRocr, RTLD_NOW | RTLD_LOCAL);
  const auto init = library ? reinterpret_cast<int (*)()>(dlsym(library, "hsa_init")) : nullptr;
  const auto info = library ? reinterpret_cast<int (*)(int, void *)>(dlsym(library, "hsa_system_get_info")) : nullptr;
  const auto iterate =
      library ? reinterpret_cast<int (*)(int (*)(uint64_t, void *), void *)>(dlsym(library, "hsa_iterate_agents"))
              : nullptr;
  static const auto agentInfo =
      library ? reinterpret_cast<int (*)(uint64_t, int, void *)>(dlsym(library, "hsa_agent_get_info")) : nullptr;
  if (!init || !info || !iterate || !agentInfo) {
    std::cout << "ROCr cannot be loaded";
    return 1;
  }
  if (const int status = init()) {
    std::cout << fmt::format("hsa_init failed with {:#x}", status);
    return 1;
  }
  // Numbers of hsa.h: the version of the interface; an agent's name and kind of device.
  uint16_t major = 0, minor = 0;
  info(0, &major);
  info(1, &minor);
  std::string gpus;
  iterate(
      [](uint64_t agent, void *all) {
        int device = 0;
        char name[64] = "";
        if (agentInfo(agent, 17, &device) == 0 && device == 1 && agentInfo(agent, 0, name) == 0)
          static_cast<std::string *>(all)->append(" ").append(name);
        return 0;
      },
      &gpus);
  std::cout << fmt::format("HSA {}.{}, GPUs:{}", major, minor, gpus.empty() ? " none" : gpus);
  return gpus.empty() ? 1 : 0;
}

void checkRun(Findings &findings, const fs::path &program) {
  const bool real = realGpuPresent();
  const std::string self = (program / "luthier").string();
  int ends[2];
  if (::pipe(ends) != 0)
    return;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    if (real)
      ::execl(self.c_str(), "luthier", "run", "--", self.c_str(), "doctor", "--probe", nullptr);
    else
      ::execl(self.c_str(), "luthier", "run", "--gpu", "gfx90a", "--", self.c_str(), "doctor", "--probe", nullptr);
    ::_exit(exitNotFound);
  }
  ::close(ends[1]);
  const std::string said = child < 0 ? strerror(errno) : readAll(ends[0]).value_or("");
  ::close(ends[0]);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    findings.good(real ? "run" : "run (virtual)", said);
  else
    findings.wrong(real ? "run" : "run (virtual)",
                   fmt::format("ROCr does not start: {}", said.empty() ? "it crashed" : said),
                   "set LUTHIER_LOG=debug and run `luthier run -- rocminfo` for the details");
}

int diagnose() {
  Findings findings;
  findings.good("luthier", fmt::format("{} (virtual GPUs: {})", LUTHIER_VERSION, isa::virtualTargets().size()));
  const auto program = programFolder();
  if (!program) {
    findings.wrong("luthier", program.error().message(), "mount /proc");
    return exitFailure;
  }
  checkInstallation(findings, *program);
  checkRocr(findings);
  checkDevices(findings);
  checkCache(findings);
  if (const auto valid = checkVariables(currentEnvironment()); !valid)
    findings.wrong("environment", valid.error().message(), "correct the variable, or unset it");
  else
    findings.good("environment", "LUTHIER_... variables are valid");
  checkForWriters(findings);
  checkRun(findings, *program);
  std::cout << (findings.errors() ? fmt::format("{} of these must be fixed\n", findings.errors())
                                  : "everything that a run needs is available\n");
  return findings.errors() ? exitFailure : exitSuccess;
}

} // namespace

void addDoctorCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command =
      root.add_subcommand("doctor", "Check the installation, the GPU, ROCr and permissions, and say what to do");
  auto inChild = std::make_shared<bool>(false);
  command->add_flag("--probe", *inChild)->group(""); // for the child: not in --help
  command->callback([inChild, &invocation] { invocation.exitStatus = *inChild ? probe() : diagnose(); });
  command->footer("Exits with status 1 if something that a run needs is missing or wrong.");
}

} // namespace luthier::cli
