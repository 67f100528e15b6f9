// Assembles AMD GPU assembly text in the test process, through LLVM's AsmParser. Only tests link it.
#pragma once

#include "isa/target.h"
#include "support/result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace luthier::vgpu::test {

/// The machine code of `source`: instructions, labels and data directives, all in .text. Everything must be resolved
/// within the text; what is not is an error, as is whatever the assembler objects to.
Result<std::vector<uint8_t>> assemble(const isa::Target &target, std::string_view source);

/// `source` as a relocatable ELF object.
Result<std::vector<uint8_t>> assembleObject(const isa::Target &target, std::string_view source);

} // namespace luthier::vgpu::test
