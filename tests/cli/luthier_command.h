// Runs the built `luthier` and catches what it says.
#pragma once

#include <cstdio>
#include <string>
#include <sys/wait.h>

namespace luthier::cli {

struct Outcome {
  int exitCode = -1;
  std::string output; // both streams
};

/// `arguments` as for a shell.
inline Outcome luthier(const std::string &arguments) {
  Outcome outcome;
  FILE *pipe = popen((std::string("\"") + LUTHIER_PROGRAM + "\" " + arguments + " 2>&1").c_str(), "r");
  if (!pipe)
    return outcome;
  char buffer[4096];
  while (size_t size = fread(buffer, 1, sizeof buffer, pipe))
    outcome.output.append(buffer, size);
  const int status = pclose(pipe);
  outcome.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

} // namespace luthier::cli
