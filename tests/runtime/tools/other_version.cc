// Tools as they were built with another Luthier: with another number of the interface (0.0.9, interface 1), or, built
// with NO_ABI, before there was one. Nothing in them may be called.
#include <luthier/abi.h>

#include <cstdlib>

extern "C" {

#ifndef NO_ABI
[[gnu::visibility("default")]] extern const luthier::ToolAbi luthierToolAbi;
const luthier::ToolAbi luthierToolAbi = [] {
  luthier::ToolAbi abi;
  abi.number = 1;
  for (unsigned n = 0; n < sizeof abi.version; ++n)
    abi.version[n] = n < 5 ? "0.0.9"[n] : 0;
  return abi;
}();
#endif

[[gnu::visibility("default")]] void *luthierCreateTool() { std::abort(); }
}
