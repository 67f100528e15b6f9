// Runs a program under the virtual GPU and keeps what it printed and how it ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace luthier::e2e {

struct Outcome {
  int exitCode = -1; ///< -1 when a signal ended the process
  int signal = 0;
  std::string output; ///< stdout and stderr, as they came
  double seconds = 0;
};

/// `luthier OPTIONS... -- program arguments`. `onOutput` is called whenever output has arrived, with all of it and the
/// process id. A process that runs for longer than `timeout` seconds is killed.
Outcome luthierRun(const std::vector<std::string> &options, const std::vector<std::string> &command,
                   double timeout = 60, const std::function<void(const std::string &output, int pid)> &onOutput = {});

} // namespace luthier::e2e
