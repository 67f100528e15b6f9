// `luthier check`: runs an application on a virtual GPU that looks at what kernels do, or with hooks that do, and
// reports what is wrong.
//
// Unlike `luthier run`, this process stays: findings of the application and of all its children come together here,
// however they end, and the exit status says whether there were any.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/checks.h"
#include "check/sarif.h"
#include "check/summary.h"
#include "cli/check_account.h"
#include "cli/check_form.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "report/report.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

struct CheckOptions {
  RunOptions run;
  std::string checks;
  std::string textFile, jsonFile, sarifFile, suppressionsFile;
  std::optional<uint64_t> errorStatus, quarantine;
  bool leaks = false;
  bool initStores = false;
  bool strict = false;
  bool instrument = false;
};

struct UsageFormatter : CLI::Formatter {
  std::string make_usage(const CLI::App *, std::string) const override {
    return "Usage: luthier check CHECKS [OPTIONS] -- APP [ARGS...]\n";
  }
};

/// As CLI11 wants it, empty if right.
std::string validChecks(const std::string &list) {
  const auto checks = check::Checks::parse(list);
  return checks ? "" : checks.error().message();
}

/// A folder that is gone with the object.
class TemporaryFolder {
public:
  static Result<TemporaryFolder> create() {
    std::error_code failed;
    const std::filesystem::path where = std::filesystem::temp_directory_path(failed);
    std::string name = ((failed ? "/tmp" : where) / "luthier-check-XXXXXX").string();
    if (!mkdtemp(name.data()))
      return makeError("cannot make a folder {}: {}", name, std::strerror(errno));
    return TemporaryFolder(name);
  }
  TemporaryFolder(TemporaryFolder &&other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryFolder &operator=(TemporaryFolder &&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path &path() const { return path_; }

private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

Result<check::Suppressions> readSuppressions(const std::string &name) {
  if (name.empty())
    return check::Suppressions();
  std::ifstream file(name);
  if (!file)
    return makeError("cannot read {}: {}", name, std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return check::Suppressions::parse(text, name);
}

volatile pid_t child = 0;
constexpr int kPassedOn[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/// What is sent to this process is meant for the application. What the terminal sends, it has already.
void passOn(int signal, siginfo_t *info, void *) {
  if (info->si_code != SI_KERNEL && child > 0)
    kill(child, signal);
}

void passOnSignals() {
  struct sigaction action = {};
  action.sa_sigaction = passOn;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : kPassedOn)
    sigaction(signal, &action, nullptr);
}

struct Ended {
  bool started = true;
  int status = 0; ///< as a shell sees it
  int signal = 0; ///< that ended it, or 0
};

/// Runs the application to its end. An error when there can be no process.
Result<Ended> runApplication(const std::vector<std::string> &application) {
  int failed[2]; // closed by a successful exec
  if (pipe2(failed, O_CLOEXEC) != 0)
    return makeError("cannot make a pipe: {}", std::strerror(errno));
  std::cout.flush();
  // One that comes before they can be passed on waits: it would end this process, and leave the application alone.
  sigset_t passedOn, before;
  sigemptyset(&passedOn);
  for (const int signal : kPassedOn)
    sigaddset(&passedOn, signal);
  sigprocmask(SIG_BLOCK, &passedOn, &before);
  const pid_t started = fork();
  if (started < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return makeError("cannot start a process: {}", std::strerror(errno));
  }
  if (started == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    const int status = becomeApplication(application);
    const char byte = 1;
    if (write(failed[1], &byte, 1) != 1)
      _exit(exitNotStarted);
    _exit(status);
  }
  child = started;
  passOnSignals();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(failed[1]);
  char byte = 0;
  ssize_t got;
  while ((got = read(failed[0], &byte, 1)) < 0 && errno == EINTR) {
  }
  close(failed[0]);
  int status = 0;
  while (waitpid(started, &status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  Ended ended;
  ended.started = got <= 0;
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  constexpr int kSignalled = 128;
  ended.status = ended.signal ? kSignalled + ended.signal : WEXITSTATUS(status);
  return ended;
}

/// Ends as the application did, so that whoever waits for this process sees the same.
[[noreturn]] void endBySignal(int signal) {
  const rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  std::signal(signal, SIG_DFL);
  raise(signal);
  constexpr int kSignalled = 128;
  _exit(kSignalled + signal);
}

Result<void> report(const CheckOptions &options, const check::Summary &summary) {
  const std::string text = check::toText(summary);
  if (options.textFile.empty())
    std::cerr << text << std::flush;
  else
    LUTHIER_TRY(report::writeFile(options.textFile, text));
  if (!options.jsonFile.empty())
    LUTHIER_TRY(report::writeFile(options.jsonFile, check::toJsonText(summary)));
  if (!options.sarifFile.empty())
    LUTHIER_TRY(report::writeFile(options.sarifFile, check::toSarif(summary)));
  return {};
}

Result<int> run(const CheckOptions &options, const std::vector<std::string> &application) {
  const check::Suppressions suppressions = LUTHIER_TRY(readSuppressions(options.suppressionsFile));
  const TemporaryFolder records = LUTHIER_TRY(TemporaryFolder::create());
  const check::Checks checks = LUTHIER_TRY(check::Checks::parse(options.checks));
  const bool instrument =
      LUTHIER_TRY(checksByHooks(checks, {.asked = options.instrument, .realGpu = usesRealGpu(options.run)}));
  LUTHIER_TRY(prepareRun(options.run, CheckRun{.records = records.path(),
                                               .checks = fmt::format("{}", fmt::join(checks.names(), ",")),
                                               .instrument = instrument,
                                               .leaks = options.leaks,
                                               .initStores = options.initStores,
                                               .quarantine = options.quarantine}));
  const Ended ended = LUTHIER_TRY(runApplication(application));
  if (!ended.started)
    return ended.status;
  check::Summary summary = check::Summary::of(LUTHIER_TRY(check::Records::read(records.path())), suppressions);
  for (std::string &what : notInstrumented(records.path()))
    summary.notChecked.push_back(std::move(what));
  summary.instrumented = instrument;
  const auto names = checks.names();
  summary.checks.assign(names.begin(), names.end());
  summary.applicationStatus = ended.status;
  const bool failed = !summary.findings.empty() || (options.strict && summary.incomplete());
  summary.exitStatus = failed ? static_cast<int>(options.errorStatus.value_or(exitFailure)) : ended.status;
  LUTHIER_TRY(report(options, summary));
  if (!failed && ended.signal) {
    std::error_code ignored;
    std::filesystem::remove_all(records.path(), ignored);
    endBySignal(ended.signal);
  }
  return summary.exitStatus;
}

} // namespace

void addCheckCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("check", "Run an application and report what its kernels do wrong");
  auto options = std::make_shared<CheckOptions>();
  command->formatter(std::make_shared<UsageFormatter>());
  command
      ->add_option("CHECKS", options->checks,
                   fmt::format("What to check, separated by commas: {}; or all", fmt::join(check::checkNames(), ", ")))
      ->required()
      ->type_name("")
      ->check(validChecks);
  addFlag(*command, "--instrument", options->instrument,
          "Check by hooks in the kernels, as on a real GPU: for memory alone");
  addFlag(*command, "--leaks", options->leaks, "Also report memory that the application never freed");
  addFlag(*command, "--init-stores", options->initStores,
          "Check init: also report stores of uninitialised values to memory that the host sees");
  command->add_option("--report", options->textFile, "Write the report to FILE instead of stderr")
      ->type_name("FILE")
      ->check(notEmpty);
  command->add_option("--json", options->jsonFile, "Write the findings to FILE as JSON")
      ->type_name("FILE")
      ->check(notEmpty);
  command->add_option("--sarif", options->sarifFile, "Write the findings to FILE as SARIF 2.1.0")
      ->type_name("FILE")
      ->check(notEmpty);
  command
      ->add_option("--suppressions", options->suppressionsFile,
                   "Leave out findings that FILE names: RULE:PATTERN lines")
      ->type_name("FILE")
      ->check(notEmpty);
  addNumber(*command, "--error-exitcode", options->errorStatus, 0, 255,
            "Exit status if anything was found (default: 1)");
  addFlag(*command, "--strict", options->strict, "Exit with that status too if something was not checked");
  addNumber(*command, "--quarantine", options->quarantine, 0, 1u << 20,
            "MiB of freed memory that are kept from being used again (default: 256)");
  addGpuOptions(*command, options->run);
  command->footer(
      "APP's exit status is kept if nothing was found. luthier itself exits with status 2 for a wrong option, "
      "125 if APP\ncould not be prepared, 126 if it cannot be executed, 127 if it was not found.");
  command->allow_extras();
  command->callback([command, options, &invocation] {
    refuseExtras(command->remaining(), "check " + options->checks);
    if (invocation.application.empty())
      throw CLI::RequiredError("No application: luthier check CHECKS [OPTIONS] -- APP [ARGS...]",
                               CLI::ExitCodes::RequiredError);
    const Result<int> status = run(*options, invocation.application);
    if (!status)
      log::error("{}", status.error().message());
    invocation.exitStatus = status ? *status : exitNotStarted;
  });
}

} // namespace luthier::cli
