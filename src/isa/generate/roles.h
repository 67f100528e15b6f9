// What LLVM's operands are for, by their names.
#pragma once

#include "isa/form.h"

namespace luthier::isa::generate {

struct LlvmInstruction;
struct LlvmOperand;

Role roleOf(const LlvmInstruction &instruction, const LlvmOperand &operand);
OperandShape shapeOf(const LlvmOperand &operand);

} // namespace luthier::isa::generate
