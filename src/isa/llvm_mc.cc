#include "isa/llvm_mc.h"

#include "isa/target.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>

// Declared here because only the AMD GPU target is linked: the header that declares all targets would want them all.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace luthier::isa {

Result<std::unique_ptr<LlvmMc>> LlvmMc::create(const Target &target, unsigned waveSize) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!llvmTarget)
    return makeError("LLVM has no AMD GPU target: {}", error);
  // Before gfx10 there is nothing to choose, and LLVM has no such feature.
  std::string features;
  if (target.major >= 10)
    features = waveSize == 32 ? "+wavefrontsize32" : "-wavefrontsize32,+wavefrontsize64";
  auto mc = std::make_unique<LlvmMc>();
  mc->registers.reset(llvmTarget->createMCRegInfo(triple.str()));
  mc->asmInfo.reset(llvmTarget->createMCAsmInfo(*mc->registers, triple.str(), mc->options));
  mc->instructions.reset(llvmTarget->createMCInstrInfo());
  mc->subtarget.reset(llvmTarget->createMCSubtargetInfo(
      triple.str(), llvm::StringRef(target.name.data(), target.name.size()), features));
  mc->context = std::make_unique<llvm::MCContext>(triple, mc->asmInfo.get(), mc->registers.get(), mc->subtarget.get());
  mc->disassembler.reset(llvmTarget->createMCDisassembler(*mc->subtarget, *mc->context));
  mc->printer.reset(llvmTarget->createMCInstPrinter(triple, 0, *mc->asmInfo, *mc->instructions, *mc->registers));
  if (!mc->disassembler || !mc->printer)
    return makeError("LLVM cannot disassemble for {}", target.name);
  return mc;
}

bool LlvmMc::decode(std::span<const uint8_t> bytes, uint64_t address, llvm::MCInst &inst, uint64_t &size) const {
  return disassembler->getInstruction(inst, size, llvm::ArrayRef(bytes.data(), bytes.size()), address, llvm::nulls()) ==
         llvm::MCDisassembler::Success;
}

std::string LlvmMc::text(std::span<const uint8_t> bytes, uint64_t address) const {
  llvm::MCInst inst;
  uint64_t size = 0;
  if (!decode(bytes, address, inst, size))
    return "<invalid>";
  std::string text;
  llvm::raw_string_ostream stream(text);
  printer->printInst(&inst, address, "", *subtarget, stream);
  stream.flush();
  return text.substr(text.find_first_not_of(" \t"));
}

} // namespace luthier::isa
