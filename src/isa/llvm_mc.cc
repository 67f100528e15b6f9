#include "isa/llvm_mc.h"

#include "isa/format.h"
#include "isa/target.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>

#include <cstring>
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

namespace {

/// SDWA (gfx8 to gfx10) with selections that do not exist. LLVM decodes them, but its printer runs off its end.
bool hasReservedSdwa(std::span<const uint8_t> bytes) {
  uint32_t words[2];
  if (bytes.size() < sizeof words)
    return false;
  memcpy(words, bytes.data(), sizeof words);
  const bool sdwa = !(words[0] >> 31) && field(words[0], 0, 9) == src::kSdwa; // VOP1, VOP2 and VOPC have bit 31 clear
  if (!sdwa)
    return false;
  const uint32_t opcode = words[0] >> 25;
  const bool vopc = opcode == 0x3e, vop1 = opcode == 0x3f;
  constexpr uint32_t kReservedSelect = 7, kReservedUnused = 3;
  return field(words[1], 16, 3) == kReservedSelect || (!vop1 && field(words[1], 24, 3) == kReservedSelect) ||
         (!vopc && (field(words[1], 8, 3) == kReservedSelect || field(words[1], 11, 2) == kReservedUnused));
}

} // namespace

bool LlvmMc::decode(std::span<const uint8_t> bytes, uint64_t address, llvm::MCInst &inst, uint64_t &size) const {
  return disassembler->getInstruction(inst, size, llvm::ArrayRef(bytes.data(), bytes.size()), address, llvm::nulls()) ==
             llvm::MCDisassembler::Success &&
         !hasReservedSdwa(bytes);
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
