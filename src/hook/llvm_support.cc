#include "hook/llvm_support.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>

#include <csetjmp>
#include <csignal>
#include <iterator>
#include <mutex>

#include <time.h>
#include <unistd.h>

// Declared here because only the AMD GPU target is linked.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
}

namespace luthier::hook {

namespace {

struct Escape {
  sigjmp_buf where;
  std::string message;
  Escape *outer;
  Input input;
};
thread_local Escape *innermost = nullptr;

[[noreturn]] void escape(std::string message) {
  innermost->message = std::move(message);
  siglongjmp(innermost->where, 1);
}

void onFatalError(void *, const char *reason, bool) {
  if (innermost) // else LLVM ends the process
    escape(reason);
}

/// Sent to a thread that takes too long. Damage can make LLVM's reader go round in circles, eating memory.
constexpr int kTimeSignal = SIGXCPU;
constexpr time_t kSecondsForReading = 10;

class Alarm {
public:
  Alarm() {
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kTimeSignal;
    event._sigev_un._tid = gettid();
    set_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    itimerspec when = {};
    when.it_value.tv_sec = kSecondsForReading;
    if (set_)
      timer_settime(timer_, 0, &when, nullptr);
  }
  ~Alarm() {
    if (set_)
      timer_delete(timer_);
  }
  Alarm(const Alarm &) = delete;
  Alarm &operator=(const Alarm &) = delete;

private:
  timer_t timer_ = {};
  bool set_ = false;
};

/// Handlers of the signals that a crash raises, while at least one thread works on foreign input. Other threads'
/// signals go where they went before.
class CrashSignals {
public:
  static void watch() {
    std::lock_guard lock(mutex);
    if (users++ > 0)
      return;
    struct sigaction action = {};
    action.sa_sigaction = onSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t n = 0; n < std::size(kSignals); ++n)
      sigaction(kSignals[n], &action, &before[n]);
  }
  static void leave() {
    std::lock_guard lock(mutex);
    if (--users > 0)
      return;
    for (size_t n = 0; n < std::size(kSignals); ++n) {
      struct sigaction now = {};
      sigaction(kSignals[n], nullptr, &now);
      if (now.sa_sigaction == onSignal) // else somebody else has come since, who has ours to go on to
        sigaction(kSignals[n], &before[n], nullptr);
    }
  }

private:
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, kTimeSignal};

  static void onSignal(int signal, siginfo_t *info, void *context) {
    if (innermost && innermost->input == Input::Foreign)
      escape(signal == kTimeSignal ? "it does not come to an end" : fmt::format("it crashed (signal {})", signal));
    for (size_t n = 0; n < std::size(kSignals); ++n) {
      if (kSignals[n] != signal)
        continue;
      if (before[n].sa_flags & SA_SIGINFO)
        before[n].sa_sigaction(signal, info, context);
      else if (before[n].sa_handler == SIG_DFL)
        sigaction(signal, &before[n], nullptr); // it happens again
      else if (before[n].sa_handler != SIG_IGN)
        before[n].sa_handler(signal);
    }
  }

  static inline std::mutex mutex;
  static inline unsigned users = 0;
  static inline struct sigaction before[std::size(kSignals)];
};

} // namespace

Result<void> guarded(llvm::function_ref<Result<void>()> work, Input input) {
  initializeLlvm();
  // Not on the stack: after a jump, locals that changed since are indeterminate.
  const auto here = std::make_unique<Escape>();
  here->outer = innermost;
  here->input = input;
  if (input == Input::Foreign)
    CrashSignals::watch();
  auto alarm = input == Input::Foreign ? std::make_unique<Alarm>() : nullptr;
  const auto finish = [&] {
    alarm.reset();
    innermost = here->outer;
    if (input == Input::Foreign)
      CrashSignals::leave();
  };
  innermost = here.get();
  if (sigsetjmp(here->where, 1) != 0) {
    finish();
    return makeErrorCode(kGaveUp, "LLVM gave up: {}", here->message);
  }
  auto result = work();
  finish();
  return result;
}

void initializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser(); // hooks may contain assembly
    llvm::install_fatal_error_handler(onFatalError);
    llvm::install_bad_alloc_error_handler(onFatalError);
    // Alignment of loops would pad fragments with no-ops, for an address that they will not have.
    setLlvmOption("amdgpu-disable-loop-alignment", "true");
  });
}

void setLlvmOption(llvm::StringRef name, llvm::StringRef value) {
  auto &options = llvm::cl::getRegisteredOptions();
  if (const auto it = options.find(name); it != options.end())
    it->second->addOccurrence(0, name, value, true);
}

std::string takeMessage(llvm::Error error) { return llvm::toString(std::move(error)); }

namespace {

/// Attributes that say what the bitcode was compiled for, or how its functions are to be kept apart.
void makeNeutral(llvm::Function &function) {
  llvm::AttributeMask drop;
  for (const llvm::Attribute &attribute : function.getAttributes().getFnAttrs())
    if (attribute.isStringAttribute()) {
      const llvm::StringRef kind = attribute.getKindAsString();
      if (kind == "target-cpu" || kind == "target-features" || kind == "tune-cpu" || kind.starts_with("amdgpu-") ||
          kind == "uniform-work-group-size" || kind == "frame-pointer" || kind == "stack-protector-buffer-size")
        drop.addAttribute(kind);
    }
  drop.addAttribute(llvm::Attribute::OptimizeNone);
  drop.addAttribute(llvm::Attribute::NoInline);
  drop.addAttribute(llvm::Attribute::StackProtect);
  drop.addAttribute(llvm::Attribute::StackProtectStrong);
  function.removeFnAttrs(drop);
}

void collectDiagnostic(const llvm::DiagnosticInfo *info, void *context) {
  if (info->getSeverity() != llvm::DS_Error)
    return;
  llvm::raw_string_ostream stream(*static_cast<std::string *>(context));
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
}

} // namespace

Result<std::unique_ptr<llvm::Module>> readBitcode(std::span<const std::byte> bitcode, llvm::LLVMContext &context,
                                                  const std::string &origin, Input input) {
  std::unique_ptr<llvm::Module> module;
  std::string diagnosed;
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *text) { collectDiagnostic(info, text); }, &diagnosed);
  auto done = guarded(
      [&]() -> Result<void> {
        const llvm::MemoryBufferRef buffer(
            llvm::StringRef(reinterpret_cast<const char *>(bitcode.data()), bitcode.size()), origin);
        auto parsed = llvm::parseBitcodeFile(buffer, context);
        if (!parsed)
          return makeError("this is no LLVM bitcode that can be read: {}", takeMessage(parsed.takeError()));
        std::string broken;
        llvm::raw_string_ostream stream(broken);
        if (llvm::verifyModule(**parsed, &stream))
          return makeError("this is damaged bitcode: {}", stream.str());
        module = std::move(*parsed);
        return {};
      },
      input);
  context.setDiagnosticHandlerCallBack(nullptr, nullptr);
  if (!done)
    return done.error().withContext(origin);
  if (!diagnosed.empty())
    return makeError("{}: {}", origin, diagnosed);
  if (!module->getTargetTriple().starts_with("amdgcn"))
    return makeError("{} is bitcode for '{}', not for AMD GPUs", origin, module->getTargetTriple());
  unsigned unnamed = 0;
  for (llvm::GlobalValue &value : module->global_values())
    if (!value.hasName())
      value.setName("luthier.unnamed." + std::to_string(unnamed++));
  for (llvm::Function &function : *module)
    makeNeutral(function);
  return module;
}

} // namespace luthier::hook
