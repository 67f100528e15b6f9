#include "hook/llvm/codegen.h"

#include "hook/llvm/recursion.h"
#include "hook/llvm/wrapper.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <charconv>
#include <mutex>

namespace luthier::hook {

namespace {

/// The one operating system whose shaders may leave results in registers and go on behind their end.
constexpr const char *kTriple = "amdgcn-amd-amdpal";

/// Where LLVM asks for a triple: from LLVM 21 on, for a parsed one.
#if LLVM_VERSION_MAJOR >= 21
llvm::Triple tripleArgument() { return llvm::Triple(kTriple); }
#else
llvm::StringRef tripleArgument() { return kTriple; }
#endif

/// The pass managers of LLVM and what they share.
struct Passes {
  explicit Passes(llvm::TargetMachine &machine) : builder(&machine, tuning()) {
    machine.registerPassBuilderCallbacks(builder);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
  }
  static llvm::PipelineTuningOptions tuning() {
    llvm::PipelineTuningOptions options;
    options.LoopVectorization = options.SLPVectorization = options.LoopInterleaving = false;
    options.LoopUnrolling = false; // a hook's loop is rarely hot, and its registers are dear
    return options;
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
};

/// What LLVM says while it compiles.
struct Diagnosed {
  std::string errors;
  uint64_t stackBytes = 0;
};

void onDiagnostic(const llvm::DiagnosticInfo *info, void *context) {
  auto &diagnosed = *static_cast<Diagnosed *>(context);
  if (info->getKind() == llvm::DK_StackSize)
    diagnosed.stackBytes = static_cast<const llvm::DiagnosticInfoStackSize *>(info)->getStackSize();
  if (info->getSeverity() != llvm::DS_Error)
    return;
  llvm::raw_string_ostream stream(diagnosed.errors);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  if (!diagnosed.errors.empty())
    printer << "; ";
  info->print(printer);
}

std::mutex optionMutex; ///< LLVM's options are read while passes are put together

} // namespace

Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const isa::Target &target, unsigned waveSize,
                                                                 bool frame) {
  initializeLlvm();
  if (waveSize != 32 && waveSize != 64)
    return makeError("there are no waves of {} lanes", waveSize);
  if (!(waveSize == 32 ? target.wave32 : target.wave64))
    return makeError("{} has no waves of {} lanes", target.name, waveSize);
  std::string error;
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!llvmTarget)
    return makeError("LLVM has no AMD GPU target: {}", error);
  std::string features;
  if (target.wave32)
    features = waveSize == 32 ? "+wavefrontsize32,-wavefrontsize64" : "-wavefrontsize32,+wavefrontsize64";
  else if (target.xnackMask)
    features = "+xnack"; // loads that can be executed again do no harm where they are not
  if (frame)             // scratch is ready when a hook runs, however that came about: LLVM is not to set it up
    features += features.empty() ? "+architected-flat-scratch" : ",+architected-flat-scratch";
  {
    // The scalar cache does not see what other hooks store while the kernel runs: variables are read through the vector
    // cache, and only constants are not.
    std::lock_guard lock(optionMutex);
    setLlvmOption("amdgpu-scalarize-global-loads", "false");
    // Arrays in vectors of registers are no use where no register can be indexed by a variable.
    setLlvmOption("disable-promote-alloca-to-vector", frame ? "true" : "false");
  }
  std::unique_ptr<llvm::TargetMachine> machine(
      llvmTarget->createTargetMachine(tripleArgument(), ref(target.name), features, llvm::TargetOptions(),
                                      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return makeError("LLVM cannot compile for {}", target.name);
  return machine;
}

namespace {

void inlineAndFold(llvm::Module &module, llvm::TargetMachine &machine) {
  Passes passes(machine);
  llvm::ModulePassManager manager;
  manager.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  llvm::FunctionPassManager functions;
  functions.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  functions.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  functions.addPass(llvm::InstCombinePass());
  functions.addPass(llvm::SimplifyCFGPass());
  functions.addPass(llvm::InferAddressSpacesPass());
  manager.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  manager.addPass(llvm::GlobalDCEPass());
  manager.run(module, passes.modules);
}

} // namespace

Result<void> simplify(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(tripleArgument());
  module.setDataLayout(machine.createDataLayout());
  inlineAndFold(module, machine);
  if (LUTHIER_TRY(unwindRecursion(module)))
    inlineAndFold(module, machine);
  return {};
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  Passes passes(machine);
  passes.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, passes.modules);
}

Result<GeneratedObject> generateObject(llvm::Module &module, llvm::TargetMachine &machine, const Hook &hook) {
  Diagnosed diagnosed;
  module.getContext().setDiagnosticHandlerCallBack(onDiagnostic, &diagnosed);
  // Branches of the device library for other targets are gone now.
  for (const llvm::Function &function : module)
    if (function.getIntrinsicID() == llvm::Intrinsic::amdgcn_implicitarg_ptr && !function.use_empty())
      return makeError("hook {} uses hidden arguments of the kernel, which hooks do not have", hook.name);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  {
    std::lock_guard lock(optionMutex);
    // Adds up over the lanes before an atomic goes to memory. A wave hook is one lane.
    setLlvmOption("amdgpu-atomic-optimizer-strategy", hook.kind == HookKind::Wave ? "None" : "Iterative");
    if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
      return makeError("LLVM cannot write objects for {}", view(machine.getTargetCPU()));
  }
  passes.run(module);
  if (!diagnosed.errors.empty())
    return makeError("hook {} cannot be compiled: {}", hook.name, diagnosed.errors);
  return GeneratedObject{.elf = std::vector<char>(object.begin(), object.end()), .stackBytes = diagnosed.stackBytes};
}

namespace {

using Elf = llvm::object::ELFObjectFile<llvm::object::ELF64LE>;

Result<FragmentRelocation> readRelocation(const llvm::object::RelocationRef &relocation, uint64_t start,
                                          const Hook &hook, const std::vector<uint8_t> &bytes) {
  constexpr uint64_t kAbs32Lo = 1, kAbs32Hi = 2; // R_AMDGPU_*
  const uint64_t type = relocation.getType(), offset = relocation.getOffset() - start;
  llvm::SmallString<32> name;
  relocation.getTypeName(name);
  std::string symbol;
  if (const auto target = relocation.getSymbol(); target != relocation.getObject()->symbol_end()) {
    auto text = target->getName();
    if (!text)
      return makeError("hook {}: LLVM's object has a broken symbol: {}", hook.name, takeMessage(text.takeError()));
    symbol = text->str();
  }
  FragmentRelocation result;
  const std::string_view prefix = kVariablePrefix;
  const char *const end = symbol.data() + symbol.size();
  if (!symbol.starts_with(prefix) || std::from_chars(symbol.data() + prefix.size(), end, result.variable).ptr != end)
    return makeError("hook {} refers to '{}', which is not a variable", hook.name, symbol);
  if ((type != kAbs32Lo && type != kAbs32Hi) || offset + 4 > bytes.size())
    return makeError("hook {}: the code has a relocation {} that cannot be placed", hook.name, view(name));
  result.offset = static_cast<uint32_t>(offset);
  result.high = type == kAbs32Hi;
  // This kind of object keeps addends in place.
  int32_t addend = 0;
  std::memcpy(&addend, bytes.data() + offset, sizeof addend);
  result.addend = addend;
  return result;
}

} // namespace

Result<void> readObject(const std::vector<char> &object, const Hook &hook, Fragment &fragment) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "fragment"));
  if (!file)
    return makeError("hook {}: LLVM's object cannot be read: {}", hook.name, takeMessage(file.takeError()));
  const auto *elf = llvm::dyn_cast<Elf>(file->get());
  if (!elf)
    return makeError("hook {}: LLVM's object is of another kind", hook.name);
  for (const llvm::object::ELFSymbolRef symbol : elf->symbols()) {
    auto name = symbol.getName();
    auto section = symbol.getSection();
    auto address = symbol.getAddress();
    if (!name || !section || !address)
      return makeError("hook {}: LLVM's object has a broken symbol", hook.name);
    if (view(*name) != kWrapperName || *section == elf->section_end())
      continue;
    auto contents = (*section)->getContents();
    if (!contents || *address + symbol.getSize() > contents->size())
      return makeError("hook {}: LLVM's object has a broken section", hook.name);
    const auto *begin = reinterpret_cast<const uint8_t *>(contents->data()) + *address;
    fragment.bytes.assign(begin, begin + symbol.getSize());
    for (const llvm::object::SectionRef &other : elf->sections()) {
      auto relocated = other.getRelocatedSection();
      if (!relocated || *relocated != *section)
        continue;
      for (const llvm::object::RelocationRef &relocation : other.relocations())
        if (relocation.getOffset() >= *address && relocation.getOffset() < *address + symbol.getSize())
          fragment.relocations.push_back(LUTHIER_TRY(readRelocation(relocation, *address, hook, fragment.bytes)));
    }
    std::ranges::sort(fragment.relocations, {}, &FragmentRelocation::offset);
    return {};
  }
  return makeError("hook {}: LLVM's object has no code", hook.name);
}

} // namespace luthier::hook
