// LLVM's MC objects for one target, set up once for all that call them. Included only by sources of this layer.
#pragma once

#include "isa/target.h"
#include "support/result.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace luthier::isa {

struct LlvmMc {
  static Result<std::unique_ptr<LlvmMc>> create(const Target &target, unsigned waveSize);

  /// `highResult`: the result goes to the upper half of its register, which LLVM does not know of (gfx11 and later).
  bool decode(std::span<const uint8_t> bytes, uint64_t address, llvm::MCInst &inst, uint64_t &size,
              bool *highResult = nullptr) const;
  /// The instruction as assembly text, "<invalid>" when there is none.
  std::string text(std::span<const uint8_t> bytes, uint64_t address) const;

  EncodingFamily family = EncodingFamily::Gfx9;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  /// gfx11 and later: for instructions on halves of registers that LLVM knows only where registers have halves.
  std::unique_ptr<llvm::MCSubtargetInfo> halvesSubtarget;
  std::unique_ptr<llvm::MCDisassembler> halvesDisassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

} // namespace luthier::isa
