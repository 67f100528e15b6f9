#include "run_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace luthier::e2e {

Outcome luthierRun(const std::vector<std::string> &options, const std::vector<std::string> &command, double timeout,
                   const std::function<void(const std::string &, int)> &onOutput) {
  std::vector<std::string> words = {LUTHIER_PROGRAM, "run"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);

  Outcome outcome;
  int fds[2];
  if (pipe(fds) != 0)
    return outcome;
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(fds[1], 1);
    dup2(fds[1], 2);
    close(fds[0]);
    close(fds[1]);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(fds[1]);
  for (;;) {
    pollfd poller{fds[0], POLLIN, 0};
    if (poll(&poller, 1, 100) > 0) {
      char buffer[4096];
      const ssize_t count = read(fds[0], buffer, sizeof buffer);
      if (count <= 0)
        break;
      outcome.output.append(buffer, static_cast<size_t>(count));
      if (onOutput)
        onOutput(outcome.output, pid);
    }
    if (elapsed() > timeout) {
      kill(pid, SIGKILL);
      outcome.output += "\n[killed after the time limit]\n";
      break;
    }
  }
  close(fds[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  outcome.seconds = elapsed();
  if (WIFEXITED(status))
    outcome.exitCode = WEXITSTATUS(status);
  else
    outcome.signal = WTERMSIG(status);
  return outcome;
}

} // namespace luthier::e2e
