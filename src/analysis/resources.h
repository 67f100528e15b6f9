// What a function needs to run, read off its code: registers and stack.
//
// LLVM 19 writes the needs of kernels into code objects, with those of the callees it can see, but says nothing about a
// device function on its own. Whoever brings a kernel and a function together must know.
#pragma once

#include "analysis/callgraph.h"

namespace luthier::analysis {

struct Resources {
  unsigned sgprs = 0, vgprs = 0, accVgprs = 0; ///< highest number used, plus one
  uint32_t stackBytes = 0;                     ///< per lane
  /// Whether the stack is a bound: false with recursion, indirect calls, or accesses whose offset the code computes.
  bool stackBounded = true;

  /// Of code that does one thing and then, or instead, the other.
  void include(const Resources &other);
};

/// LLVM's own assumption about the stack of a function that it cannot see.
inline constexpr uint32_t kAssumedStackBytes = 16384;

/// Of the function's own instructions, without its callees. `waveSize` scales the stack pointer where scratch is
/// accessed through a buffer resource.
Resources resourcesOf(const Function &function, const isa::Target &target, unsigned waveSize);

} // namespace luthier::analysis
