#include "support/demangle.h"

#include <llvm/Demangle/Demangle.h>

#include <cstdlib>

namespace luthier {

std::string demangle(std::string_view name) {
  // Without the prefix a name would be read as a type: "n" is __int128.
  char *readable = name.starts_with("_Z") ? llvm::itaniumDemangle(name) : nullptr;
  std::string text = readable ? readable : std::string(name);
  std::free(readable);
  return text;
}

} // namespace luthier
