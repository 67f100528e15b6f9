#include "hook/compiler_process.h"

#include "hook/compiler_limits.h"
#include "support/write_all.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace luthier::hook {

namespace {

constexpr const char *kProgram = "luthier-hook-compiler";
std::atomic<uint64_t> started = 0;

/// The file that this code was loaded from. dladdr() would give the name that it was loaded by, which may be relative
/// to another folder by now.
Result<std::filesystem::path> ownFile() {
  const auto here = reinterpret_cast<uintptr_t>(&compilersStarted);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // first-last permissions offset device inode path
    uintptr_t first = 0, last = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %*s %n", &first, &last, &path) == 2 && first <= here &&
        here < last && path > 0)
      return std::filesystem::path(line.substr(static_cast<size_t>(path)));
  }
  return makeError("/proc/self/maps does not say where Luthier was loaded from");
}

/// In a build and in an installation, seen from a program or a library of Luthier's, or from the folder that it is in.
Result<std::string> findProgram() {
  const std::filesystem::path folder = LUTHIER_TRY(ownFile()).parent_path();
  std::error_code error;
  for (const std::filesystem::path &place : {folder / "../lib/luthier/bin", folder})
    if (const auto path = std::filesystem::canonical(place / kProgram, error); !error)
      return path.string();
  return makeError("{} was not found in {}; it is part of Luthier's installation", kProgram,
                   (folder / "../lib/luthier/bin").lexically_normal().string());
}

/// While it lives, a write beyond the process's limit of file sizes (RLIMIT_FSIZE), which counts files in memory too,
/// is an error and no signal.
class FileSizeErrors {
public:
  FileSizeErrors() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FileSizeErrors() {
    const timespec now = {};
    if (!sigismember(&before_, SIGXFSZ)) {
      while (sigtimedwait(&signal_, nullptr, &now) == SIGXFSZ) {
      }
      pthread_sigmask(SIG_UNBLOCK, &signal_, nullptr);
    }
  }
  FileSizeErrors(const FileSizeErrors &) = delete;
  FileSizeErrors &operator=(const FileSizeErrors &) = delete;

private:
  sigset_t signal_, before_;
};

/// A file in memory, with a number that is not one of the standard streams' (which the application may have closed).
class MemoryFile {
public:
  static Result<MemoryFile> create() {
    MemoryFile result;
    const int file = memfd_create("luthier", MFD_CLOEXEC);
    result.file_ = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 3);
    const int reason = errno;
    if (file >= 0)
      close(file);
    if (result.file_ < 0)
      return makeErrorCode(reason, "no file in memory: {}", std::strerror(reason));
    return result;
  }
  MemoryFile(MemoryFile &&other) noexcept : file_(std::exchange(other.file_, -1)) {}
  MemoryFile &operator=(MemoryFile &&) = delete;
  ~MemoryFile() {
    if (file_ >= 0)
      close(file_);
  }

  int number() const { return file_; }

  Result<void> write(std::string_view text) const {
    const FileSizeErrors noSignal;
    int reason = writeAll(file_, text);
    if (!reason && lseek(file_, 0, SEEK_SET) != 0)
      reason = errno;
    return reason ? Result<void>(makeErrorCode(reason, "no file in memory: {}", std::strerror(reason)))
                  : Result<void>();
  }

  std::string read() const {
    std::string text;
    char buffer[16384];
    for (off_t at = 0;;) {
      const ssize_t count = pread(file_, buffer, sizeof buffer, at);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return text;
      text.append(buffer, static_cast<size_t>(count));
      at += count;
    }
  }

private:
  MemoryFile() = default;
  int file_ = -1;
};

// How the process is started. A child would send SIGCHLD to the application, and its wait() could return it. Only a
// child that was made by clone() without a signal does neither, and only as long as it executes no program. So such a
// child, the waiter, starts the compiler and waits for it, while the calling thread waits for the waiter. Both share
// the application's memory until the compiler is executed (as vfork() does): a copy of a large process takes long, and
// drivers with memory of the application's in their hands would notice. AddressSanitizer does not know their stacks.

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int kSharing = 0; // sanitizers do not expect that two processes share what they keep
#else
constexpr int kSharing = CLONE_VM | CLONE_VFORK;
#endif

constexpr size_t kStackBytes = 64 << 10;
constexpr int kNotStarted = 127, kSignalled = 128;

struct Start {
  const char *program;
  int request, reply, null;
  std::byte *waiterStack, *compilerStack; ///< kStackBytes each
};

/// Writes why, for want of a better place, where the reply would be.
[[noreturn, clang::no_sanitize("address")]] void fail(const Start &start) {
  const int reason = errno;
  (void)!write(start.reply, &reason, sizeof reason);
  _exit(kNotStarted);
}

[[clang::no_sanitize("address")]] int runCompiler(void *context) {
  const Start &start = *static_cast<const Start *>(context);
  char *const arguments[] = {const_cast<char *>(kProgram), nullptr};
  char *const environment[] = {nullptr};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid(); // what a terminal sends is not for it
  if (dup2(start.request, STDIN_FILENO) < 0 || dup2(start.null, STDERR_FILENO) < 0 ||
      dup2(start.reply, STDOUT_FILENO) < 0)
    fail(start);
  // Everything that the application has open. Where the kernel is too old, only what is not closed by itself stays.
  syscall(SYS_close_range, 3u, ~0u, 0u);
  execve(start.program, arguments, environment);
  const int reason = errno;
  (void)!write(STDOUT_FILENO, &reason, sizeof reason);
  _exit(kNotStarted);
}

[[clang::no_sanitize("address")]] int runWaiter(void *context) {
  const Start &start = *static_cast<const Start *>(context);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGCHLD, SIG_DFL); // of this process; where children are ignored, they cannot be waited for
  const pid_t compiler = clone(runCompiler, start.compilerStack + kStackBytes, kSharing | SIGCHLD, context);
  if (compiler < 0)
    fail(start);
  int status = 0;
  while (waitpid(compiler, &status, 0) < 0)
    if (errno != EINTR)
      fail(start);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status));
}

/// The compiler's exit status, or kSignalled and the signal that ended it.
Result<int> run(Start start) {
  const auto stacks = std::make_unique<std::byte[]>(2 * kStackBytes + 64);
  auto *const aligned = stacks.get() + (64 - reinterpret_cast<uintptr_t>(stacks.get()) % 64);
  start.waiterStack = aligned;
  start.compilerStack = aligned + kStackBytes;
  // No handler of the application's may run in a process that only shares its memory. The compiler unblocks them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t waiter = clone(runWaiter, start.waiterStack + kStackBytes, kSharing, &start);
  const int reason = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (waiter < 0)
    return makeErrorCode(reason, "no process for it: {}", std::strerror(reason));
  ++started;
  int status = 0;
  while (waitpid(waiter, &status, __WCLONE) < 0)
    if (errno != EINTR)
      return makeErrorCode(errno, "its process was lost: {}", std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

std::string crashed(int signal) {
  if (signal == SIGXCPU)
    return fmt::format("it does not terminate (stopped after {} seconds)", kCompilerSeconds);
  if (signal == SIGKILL)
    return "its process was killed from outside, or because memory ran out";
  return fmt::format("it crashed (signal {})", signal);
}

/// What the compiler wrote; empty when it ended without, for the reason in `status`.
struct Raw {
  std::string text;
  int status = 0;
};

Result<Raw> exchange(const CompilerRequest &request) {
  [[clang::no_destroy]] static const Result<std::string> program = findProgram();
  if (!program)
    return program.error();
  const MemoryFile input = LUTHIER_TRY(MemoryFile::create()), output = LUTHIER_TRY(MemoryFile::create());
  LUTHIER_TRY(input.write(encode(request)));
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int null3 = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, 3);
  if (null >= 0)
    close(null);
  if (null3 < 0)
    return makeErrorCode(errno, "/dev/null: {}", std::strerror(errno));
  auto status = run({.program = program->c_str(),
                     .request = input.number(),
                     .reply = output.number(),
                     .null = null3,
                     .waiterStack = nullptr,
                     .compilerStack = nullptr});
  close(null3);
  if (!status)
    return status.error();
  Raw raw{output.read(), *status};
  if (*status == kNotStarted) {
    int reason = 0;
    std::memcpy(&reason, raw.text.data(), std::min(sizeof reason, raw.text.size()));
    return makeErrorCode(reason, "{}: {}", *program, std::strerror(reason));
  }
  return raw;
}

} // namespace

uint64_t compilersStarted() { return started; }

Result<CompilerReply> askCompiler(CompilerRequest request, std::string_view context) {
  request.version = kHookVersion;
  auto raw = exchange(request);
  if (!raw)
    return raw.error().withContext(fmt::format("{}: the hook compiler cannot be started", context));
  if (raw->status >= kSignalled)
    return makeError("{}: LLVM failed: {}", context, crashed(raw->status - kSignalled));
  auto reply = decodeReply(raw->text);
  if (!reply || raw->status != 0)
    return makeError("{}: the hook compiler ended with status {} and no answer", context, raw->status);
  if (reply->outcome == CompilerReply::Outcome::GaveUp)
    return makeError("{}: LLVM failed: {}", context, reply->text);
  if (reply->outcome == CompilerReply::Outcome::Refused)
    return makeError("{}", reply->text);
  return std::move(*reply);
}

} // namespace luthier::hook
