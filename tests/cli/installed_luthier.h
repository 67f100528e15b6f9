// The luthier program in a folder of its own, run through the shell, as a user sees it.
//
// Beside it is the driver that the tests of the preloaded library have: such tests are about the launching, not about
// the virtual GPU.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "temp_folder.h"

namespace luthier::cli {

struct ShellOutcome {
  int status = 0; // as of waitpid
  std::string out, err;

  int exitCode() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

inline std::string slurp(const std::filesystem::path &file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class InstalledLuthier : public testing::Test {
protected:
  void SetUp() override {
    std::filesystem::create_directories(prefix_.path() / "bin");
    std::filesystem::copy_file(LUTHIER_PROGRAM, prefix_.path() / "bin/luthier");
    driverFolder_ = prefix_.path() / "lib/vgpu";
    std::filesystem::create_directories(driverFolder_);
    std::filesystem::copy_file(LUTHIER_FAKE_DRIVER, driverFolder_ / "libluthier-vgpu-driver.so");
    std::filesystem::copy_file(LUTHIER_PRELOAD, driverFolder_ / "libluthier-vgpu.so");
    std::filesystem::copy_file(LUTHIER_PROBE, prefix_.path() / "bin/probe");
    for (const char *name : {"LUTHIER_VGPU_GPUS", "LUTHIER_VGPU_STATS", "LUTHIER_VGPU_THREADS", "LUTHIER_LOG",
                             "LUTHIER_TOOL_PATH", "HSA_TOOLS_LIB", "LD_PRELOAD"})
      unsetenv(name);
  }

  // Runs `luthier arguments...` through the shell, which does the quoting; exec, so that signals show.
  ShellOutcome luthier(const std::string &arguments) const {
    std::filesystem::path out = prefix_.path() / "out", err = prefix_.path() / "err";
    std::string line = "exec " + (prefix_.path() / "bin/luthier").string() + " " + arguments + " >" + out.string() +
                       " 2>" + err.string();
    pid_t child = fork();
    if (child == 0) {
      setenv("LUTHIER_CACHE", (prefix_.path() / "cache").c_str(), 1); // the driver's files, too
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(111);
    }
    ShellOutcome outcome;
    waitpid(child, &outcome.status, 0);
    outcome.out = slurp(out);
    outcome.err = slurp(err);
    return outcome;
  }

  std::string probe() const { return (prefix_.path() / "bin/probe").string(); }

  TempFolder prefix_;
  std::filesystem::path driverFolder_;
};

} // namespace luthier::cli
