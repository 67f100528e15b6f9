// Assembles AMD GPU assembly text through LLVM's AsmParser: what tests are written in, and the few instructions that
// the rewriter itself puts around hooks. A library of its own (luthier_assembler), because most have no use for a
// parser.
#pragma once

#include "isa/target.h"
#include "support/result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace luthier::isa {

/// The machine code of `source`: instructions, labels and data directives, all in .text. Everything must be resolved
/// within the text; what is not is an error, as is whatever the assembler objects to, which is named by line and
/// column. `waveSize` 0 is the target's own.
Result<std::vector<uint8_t>> assemble(const Target &target, std::string_view source, unsigned waveSize = 0);

/// `source` as a relocatable ELF object.
Result<std::vector<uint8_t>> assembleObject(const Target &target, std::string_view source, unsigned waveSize = 0);

} // namespace luthier::isa
