#include "support/demangle.h"

#include <cxxabi.h>

#include <cstdlib>

namespace luthier {

std::string demangle(std::string_view name) {
  std::string text(name);
  if (!name.starts_with("_Z"))
    return text;
  int status = 0;
  char *readable = abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status);
  if (readable && status == 0)
    text = readable;
  std::free(readable);
  return text;
}

} // namespace luthier
