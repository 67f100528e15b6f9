// The translator: guest code to LLVM IR to host code.
//
// It knows next to nothing of instructions. What each does is the row's attempt (exec/row.h), compiled to bitcode from
// the same sources as the interpreter, and embedded here. A translation calls one attempt after another on a Wave that
// is a local variable, each with its instruction record as a constant; inlining and scalar replacement then turn
// registers into values in host registers, and operand kinds and dead results into nothing.
//
// The optimiser must not compute with floating-point values that it happens to know, because its rounding is not the
// guest's; attempts hide them (`Loop::hideVectors`, exec/valu.h). And it takes for granted that denormals are not
// flushed, which nothing talks it out of: translated code is only for modes that keep them.
//
// A translation must work wherever the process maps it: next to the library or terabytes away. JITLink maps the code
// and data of one translation together, so a translation has all of its data to itself: every definition in its module
// is internal, and nothing is shared with earlier translations. What it may call outside is listed in kOutside and
// reached through 64-bit addresses; the process's symbols are not visible to it.
//
// LLVM would print its errors, or end the process. Its messages go into `why` instead (Messages), and what it cannot
// survive to the caller's OnFatal.

#include "vgpu/translate/translator.h"

#include "vgpu/translate/emitter.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <cstring>

extern "C" const char luthierBitcode[], luthierBitcodeEnd[]; // embedded.cc

namespace luthier::vgpu {
namespace {

using namespace llvm;

class Code final : public TranslatedCode {
public:
  explicit Code(orc::ResourceTrackerSP tracker) : tracker_(std::move(tracker)) {}
  ~Code() override { consumeError(tracker_->remove()); }

private:
  orc::ResourceTrackerSP tracker_;
};

/// What LLVM would print while it translates.
class Messages {
public:
  void clear() {
    text_.clear();
    failed_ = false;
  }
  void add(StringRef message) {
    if (!text_.empty())
      text_ += "; ";
    text_ += message;
  }
  /// For LLVMContext, whose own handler ends the process at the first error.
  static void diagnose(const DiagnosticInfo *info, void *messages) {
    std::string text;
    raw_string_ostream stream(text);
    DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    auto &self = *static_cast<Messages *>(messages);
    self.add(stream.str());
    self.failed_ |= info->getSeverity() == DS_Error;
  }
  bool failed() const { return failed_; }
  /// `error` with what was said before it.
  std::string with(Error error) {
    add(toString(std::move(error)));
    return text();
  }
  std::string text() const { return Translator::kLlvmFailed + text_; }

private:
  std::string text_;
  bool failed_ = false;
};

/// All that translations may call outside of themselves: what the code generator makes of copying and filling.
struct OutsideFunction {
  const char *name;
  void *address;
};
const OutsideFunction kOutside[] = {
    {"memcpy", reinterpret_cast<void *>(&memcpy)},
    {"memmove", reinterpret_cast<void *>(&memmove)},
    {"memset", reinterpret_cast<void *>(&memset)},
};

class JitTranslator final : public Translator {
public:
  JitTranslator(std::unique_ptr<orc::LLJIT> jit, std::unique_ptr<TargetMachine> machine, MemoryBufferRef bitcode)
      : jit_(std::move(jit)), machine_(std::move(machine)), bitcode_(bitcode) {
    jit_->getExecutionSession().setErrorReporter([this](Error error) { messages_.add(toString(std::move(error))); });
  }

  std::unique_ptr<TranslatedCode> translate(const GuestCode &guest, uint32_t given, std::string &why) override {
    messages_.clear();
    auto context = std::make_unique<LLVMContext>();
    context->setDiagnosticHandlerCallBack(&Messages::diagnose, &messages_);
    auto module = getLazyBitcodeModule(bitcode_, *context);
    if (!module) {
      why = messages_.with(module.takeError());
      return nullptr;
    }
    const std::string name = "kernel" + std::to_string(count_++);
    std::vector<uint32_t> called;
    if (!emitTranslation(**module, *machine_, guest, given, name, called, why))
      return nullptr;
    auto tracker = jit_->getMainJITDylib().createResourceTracker();
    auto code = std::make_unique<Code>(tracker);
    if (Error error = jit_->addIRModule(tracker, orc::ThreadSafeModule(std::move(*module), std::move(context)))) {
      why = messages_.with(std::move(error));
      return nullptr;
    }
    auto address = jit_->lookup(name);
    if (!address) {
      why = messages_.with(address.takeError());
      return nullptr;
    }
    if (messages_.failed()) {
      why = messages_.text();
      return nullptr;
    }
    code->entry = address->toPtr<TranslatedCode::Entry>();
    code->called = std::move(called);
    return code;
  }

private:
  std::unique_ptr<orc::LLJIT> jit_;
  std::unique_ptr<TargetMachine> machine_;
  MemoryBufferRef bitcode_;
  Messages messages_;
  uint64_t count_ = 0;
};

std::unique_ptr<Translator> make(StringRef level, OnFatal onFatal) {
  if (level != "avx512")
    return nullptr;
  const auto fatal = [](void *handler, const char *reason, bool) { reinterpret_cast<OnFatal>(handler)(reason); };
  install_fatal_error_handler(fatal, reinterpret_cast<void *>(onFatal));
  install_bad_alloc_error_handler(fatal, reinterpret_cast<void *>(onFatal));
  const MemoryBufferRef bitcode(StringRef(luthierBitcode, static_cast<size_t>(luthierBitcodeEnd - luthierBitcode)),
                                "handlers");
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto builder = orc::JITTargetMachineBuilder::detectHost();
  if (!builder) {
    consumeError(builder.takeError());
    return nullptr;
  }
  auto machine = builder->createTargetMachine();
  if (!machine) {
    consumeError(machine.takeError());
    return nullptr;
  }
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(*builder)
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .create();
  if (!jit) {
    consumeError(jit.takeError());
    return nullptr;
  }
  orc::SymbolMap outside;
  for (const OutsideFunction &function : kOutside)
    outside[(*jit)->mangleAndIntern(function.name)] = {orc::ExecutorAddr::fromPtr(function.address),
                                                       JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  if (Error error = (*jit)->getMainJITDylib().define(orc::absoluteSymbols(std::move(outside)))) {
    consumeError(std::move(error));
    return nullptr;
  }
  return std::make_unique<JitTranslator>(std::move(*jit), std::move(*machine), bitcode);
}

} // namespace
} // namespace luthier::vgpu

extern "C" __attribute__((visibility("default"))) luthier::vgpu::Translator *
luthierVgpuMakeTranslator(const char *level, luthier::vgpu::OnFatal onFatal) {
  return luthier::vgpu::make(level, onFatal).release();
}
