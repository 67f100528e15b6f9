#include "isa/disassembler.h"

#include "isa/target.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
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

struct Disassembler::Impl {
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;

  bool decode(std::span<const uint8_t> bytes, uint64_t address, llvm::MCInst &inst, uint64_t &size) {
    return disassembler->getInstruction(inst, size, llvm::ArrayRef(bytes.data(), bytes.size()), address,
                                        llvm::nulls()) == llvm::MCDisassembler::Success;
  }
};

Disassembler::Disassembler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Disassembler::~Disassembler() = default;

Result<std::unique_ptr<Disassembler>> Disassembler::create(const Target &target) {
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
  auto impl = std::make_unique<Impl>();
  impl->registers.reset(llvmTarget->createMCRegInfo(triple.str()));
  impl->asmInfo.reset(llvmTarget->createMCAsmInfo(*impl->registers, triple.str(), impl->options));
  impl->instructions.reset(llvmTarget->createMCInstrInfo());
  impl->subtarget.reset(
      llvmTarget->createMCSubtargetInfo(triple.str(), llvm::StringRef(target.name.data(), target.name.size()), ""));
  impl->context =
      std::make_unique<llvm::MCContext>(triple, impl->asmInfo.get(), impl->registers.get(), impl->subtarget.get());
  impl->disassembler.reset(llvmTarget->createMCDisassembler(*impl->subtarget, *impl->context));
  impl->printer.reset(
      llvmTarget->createMCInstPrinter(triple, 0, *impl->asmInfo, *impl->instructions, *impl->registers));
  if (!impl->disassembler || !impl->printer)
    return makeError("LLVM cannot disassemble for {}", target.name);
  return std::unique_ptr<Disassembler>(new Disassembler(std::move(impl)));
}

Result<Disassembled> Disassembler::disassemble(std::span<const uint8_t> bytes, uint64_t address) {
  llvm::MCInst inst;
  uint64_t size = 0;
  if (!impl_->decode(bytes, address, inst, size))
    return makeError("not an instruction");
  llvm::StringRef mnemonic(impl_->printer->getMnemonic(&inst).first);
  mnemonic = mnemonic.take_until([](char c) { return c == ' ' || c == '\t'; });
  return Disassembled{std::string(withoutEncodingSuffix({mnemonic.data(), mnemonic.size()})),
                      static_cast<uint32_t>(size)};
}

std::string Disassembler::text(std::span<const uint8_t> bytes, uint64_t address) {
  llvm::MCInst inst;
  uint64_t size = 0;
  if (!impl_->decode(bytes, address, inst, size))
    return "<invalid>";
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl_->printer->printInst(&inst, address, "", *impl_->subtarget, stream);
  stream.flush();
  return text.substr(text.find_first_not_of(" \t"));
}

std::string_view withoutEncodingSuffix(std::string_view mnemonic) {
  for (std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"})
    if (mnemonic.ends_with(suffix))
      return mnemonic.substr(0, mnemonic.size() - suffix.size());
  return mnemonic;
}

} // namespace luthier::isa
