// luthier-hook-compiler: reads a request (hook/encoding.h) from its standard input, lets LLVM work on it, and writes
// the reply to its standard output. Started by hook/compiler_process.h only.
//
// It is a process of its own so that LLVM can do no harm when it gives up, crashes or does not come to an end.

#include "hook/cache.h"
#include "hook/compiler_limits.h"
#include "hook/llvm/compile.h"
#include "support/write_all.h"

#include <llvm/Support/ErrorHandling.h>

#include <csignal>
#include <ctime>
#include <iterator>
#include <string>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#if __has_feature(address_sanitizer)
// LLVM is not built for it: containers that it has filled look overflown, and it frees nothing when it gives up.
extern "C" const char *__asan_default_options() { return "detect_container_overflow=0:detect_leaks=0"; }
#endif

namespace {

using namespace luthier::hook;

[[noreturn]] void reply(CompilerReply::Outcome outcome, std::string text) {
  const double seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  const int failed = luthier::writeAll(
      STDOUT_FILENO, encode(CompilerReply{.outcome = outcome, .text = std::move(text), .seconds = seconds}));
  _exit(failed ? 1 : 0); // nothing of LLVM's need be destroyed
}

void onFatalError(void *, const char *reason, bool) { reply(CompilerReply::Outcome::GaveUp, reason); }

void limit(__rlimit_resource what, rlim_t soft, rlim_t hard) {
  const rlimit both = {soft, hard};
  setrlimit(what, &both);
}

/// The application's blocked and ignored signals came along.
void resetSignals() {
  std::signal(SIGXFSZ, SIG_IGN); // a reply that is too large is an error
  for (const int number : {SIGXCPU, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::string readAll() {
  std::string text;
  char buffer[65536];
  ssize_t count;
  while ((count = read(STDIN_FILENO, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(count));
  return text;
}

} // namespace

int main() {
  resetSignals();
  prctl(PR_SET_DUMPABLE, 0);                                 // a crash leaves no core file in the application's folder
  limit(RLIMIT_CPU, kCompilerSeconds, kCompilerSeconds + 1); // SIGXCPU, then SIGKILL
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  limit(RLIMIT_AS, kCompilerBytes, kCompilerBytes);
#endif
  llvm::install_fatal_error_handler(onFatalError);
  llvm::install_bad_alloc_error_handler(onFatalError);
  const auto request = decodeRequest(readAll());
  if (!request)
    reply(CompilerReply::Outcome::Refused, "the hook compiler's request is damaged: " + request.error().message());
  if (request->version != kHookVersion)
    reply(CompilerReply::Outcome::Refused,
          fmt::format("the hook compiler is of version '{}', its caller of version '{}': install Luthier as a whole",
                      kHookVersion, request->version));
  const auto result = answer(*request);
  if (!result)
    reply(CompilerReply::Outcome::Refused, result.error().message());
  reply(CompilerReply::Outcome::Done, *result);
}
