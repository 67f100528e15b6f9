// The assembler under the name by which tests know it.
#pragma once

#include "isa/assembler.h"

namespace luthier::vgpu::test {
using isa::assemble;
using isa::assembleObject;
} // namespace luthier::vgpu::test
