// What the hook compiler's process may use. Bitcode that makes LLVM go round in circles also makes it eat memory.
#pragma once

#include <cstdint>

namespace luthier::hook {

inline constexpr uint64_t kCompilerSeconds = 20; ///< of a core
inline constexpr uint64_t kCompilerBytes = 4ull << 30;

} // namespace luthier::hook
