// The mnemonic of an LLVM instruction, for the generator of the tables and the disassembler alike. Included only by
// sources of this layer.
#pragma once

#include "isa/mnemonic.h"

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>

#include <string>

namespace luthier::isa {

/// LLVM 19 wants a pointer, later ones a reference.
template <typename Printer> llvm::StringRef printedMnemonic(Printer &printer, const llvm::MCInst &inst) {
  if constexpr (requires { printer.getMnemonic(inst); })
    return printer.getMnemonic(inst).first;
  else
    return printer.getMnemonic(&inst).first;
}

/// The vendor's name without what stands for its encoding. Empty for pseudo instructions that have none.
inline std::string mnemonicOf(llvm::MCInstPrinter &printer, const llvm::MCInst &inst) {
  const llvm::StringRef name = printedMnemonic(printer, inst).take_until([](char c) { return c == ' ' || c == '\t'; });
  return std::string(withoutEncodingSuffix({name.data(), name.size()}));
}

} // namespace luthier::isa
