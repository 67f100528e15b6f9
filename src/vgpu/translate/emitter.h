// Builds the LLVM IR of one translation.
#pragma once

#include "vgpu/translate/guest_code.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace luthier::vgpu {

/// Replaces what is in `module`, the handlers' bitcode, by the function `name` and what it needs: `code` as
/// TranslatedCode::entry says. `given`: vector registers that have values when a wave starts. `called` becomes
/// TranslatedCode::called. False, with a reason in `why`, if that is not possible.
bool emitTranslation(llvm::Module &module, llvm::TargetMachine &machine, const GuestCode &code, uint32_t given,
                     const std::string &name, std::vector<uint32_t> &called, std::string &why);

} // namespace luthier::vgpu
