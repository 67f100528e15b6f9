#include "hook/llvm/llvm_support.h"

#include "hook/llvm/device_library.h"
#include "hook/llvm/function_pointers.h"
#include "hook/llvm/recursion.h"
#include "hook/llvm/structures.h"

#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

// Declared here because only the AMD GPU target is linked.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
}

namespace luthier::hook {

void initializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser(); // hooks may contain assembly
    // Alignment of loops would pad fragments with no-ops, for an address that they will not have.
    setLlvmOption("amdgpu-disable-loop-alignment", "true");
    // Two operations in one instruction need registers of different banks, which renaming does not keep.
    setLlvmOption("amdgpu-enable-vopd", "false");
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

std::set<Mark> marksOf(const llvm::Module &module) {
  constexpr llvm::StringRef kPrefix = "luthier:";
  std::set<Mark> result;
  const llvm::GlobalVariable *list = module.getNamedGlobal("llvm.global.annotations");
  const auto *rows =
      list && list->hasInitializer() ? llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer()) : nullptr;
  if (!rows)
    return result;
  for (const llvm::Use &row : rows->operands()) {
    const auto *fields = llvm::dyn_cast<llvm::ConstantStruct>(row.get());
    if (!fields || fields->getNumOperands() < 2)
      continue;
    auto *value = llvm::dyn_cast<llvm::GlobalValue>(fields->getOperand(0)->stripPointerCasts());
    const auto *text = llvm::dyn_cast<llvm::GlobalVariable>(fields->getOperand(1)->stripPointerCasts());
    const auto *data =
        text && text->hasInitializer() ? llvm::dyn_cast<llvm::ConstantDataSequential>(text->getInitializer()) : nullptr;
    if (!value || !data || !data->isCString() || !data->getAsCString().starts_with(kPrefix))
      continue;
    result.emplace(value, data->getAsCString().drop_front(kPrefix.size()).str());
  }
  return result;
}

Result<std::unique_ptr<llvm::Module>> readBitcode(std::span<const std::byte> bitcode, llvm::LLVMContext &context,
                                                  const std::string &origin) {
  initializeLlvm();
  std::string diagnosed;
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *text) { collectDiagnostic(info, text); }, &diagnosed);
  const auto reset = llvm::make_scope_exit([&] { context.setDiagnosticHandlerCallBack(nullptr, nullptr); });
  const llvm::MemoryBufferRef buffer(llvm::StringRef(reinterpret_cast<const char *>(bitcode.data()), bitcode.size()),
                                     origin);
  auto parsed = llvm::parseBitcodeFile(buffer, context);
  if (!parsed)
    return makeError("{}: this is not readable LLVM bitcode: {}", origin, takeMessage(parsed.takeError()));
  std::unique_ptr<llvm::Module> module = std::move(*parsed);
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(*module, &stream))
    return makeError("{}: this is damaged bitcode: {}", origin, stream.str());
  if (!diagnosed.empty())
    return makeError("{}: {}", origin, diagnosed);
  if (const llvm::Triple triple(module->getTargetTriple()); !triple.isAMDGCN())
    return makeError("{} is bitcode for '{}', not for AMD GPUs", origin, triple.str());
  unsigned unnamed = 0;
  for (llvm::GlobalValue &value : module->global_values())
    if (!value.hasName())
      value.setName("luthier.unnamed." + std::to_string(unnamed++));
  for (llvm::Function &function : *module)
    makeNeutral(function);
  constexpr std::string_view kRecursion = "recursion:";
  for (const auto &[value, mark] : marksOf(*module))
    if (auto *function = llvm::dyn_cast<llvm::Function>(value); function && mark.starts_with(kRecursion))
      function->addFnAttr(kRecursionAttribute, mark.substr(kRecursion.size()));
  joinStructures(*module);
  numberFunctions(*module);
  replaceLaunchIntrinsics(*module);
  return module;
}

} // namespace luthier::hook
