// What an instruction does, by its mnemonic and LLVM's name of the form: the vendor's names are systematic, and say
// more than LLVM's flags, which serve its compiler.
#pragma once

#include "isa/form.h"

#include <string_view>

namespace luthier::isa::generate {

struct LlvmInstruction;

struct Class {
  uint32_t properties = 0;
  uint32_t flags = 0; ///< FormFlag
  MemorySpace space = MemorySpace::None;
  uint8_t bytes = 0;
};

Class classify(const LlvmInstruction &instruction);

/// Whether a vector instruction's result has 16 bits.
bool hasHalfResult(std::string_view mnemonic);

} // namespace luthier::isa::generate
