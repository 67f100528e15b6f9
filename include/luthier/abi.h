// What a tool says about the Luthier that it was built with. LUTHIER_TOOL puts it into the tool's library, and nothing
// in the library is called before the runtime has found it to be its own.
#pragma once

#include <cstdint>

namespace luthier {

inline constexpr char kVersion[] = "0.1.0";

/// Raised by every change of luthier/tool.h, or of what it includes, after which a tool must be built again: classes
/// and their layout, virtual functions, names and parameters of functions, meanings of values.
inline constexpr uint32_t kToolAbi = 5;

/// The symbol `luthierToolAbi` of a tool. Its layout never changes.
struct ToolAbi {
  static constexpr uint64_t kMagic = 0x4c554e4149544f4f;
  uint64_t magic = kMagic;
  uint32_t number = kToolAbi;
  uint32_t reserved = 0;
  char version[32] = {}; ///< of Luthier, for messages

  constexpr ToolAbi() {
    for (unsigned n = 0; n + 1 < sizeof version && n < sizeof kVersion; ++n)
      version[n] = kVersion[n];
  }
};

} // namespace luthier
