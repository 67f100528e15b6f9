// What the hook compiler's process does: the one place where LLVM works on hooks.
#pragma once

#include "hook/encoding.h"

namespace luthier::hook {

/// The module's contents or a fragment, encoded (hook/encoding.h). An error says what is wrong with the hooks. LLVM may
/// crash, exit or never return: the caller is a process that nobody else needs.
Result<std::string> answer(const CompilerRequest &request);

} // namespace luthier::hook
