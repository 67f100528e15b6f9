// Names of memory spaces, for people.
#pragma once

#include "luthier/property.h"

#include <string_view>

namespace luthier {

constexpr std::string_view nameOf(MemorySpace space) {
  switch (space) {
  case MemorySpace::None:
    return "none";
  case MemorySpace::Scalar:
    return "scalar";
  case MemorySpace::Flat:
    return "flat";
  case MemorySpace::Global:
    return "global";
  case MemorySpace::Scratch:
    return "scratch";
  case MemorySpace::Lds:
    return "lds";
  case MemorySpace::Gds:
    return "gds";
  case MemorySpace::Buffer:
    return "buffer";
  case MemorySpace::Image:
    return "image";
  }
  return "unknown";
}

} // namespace luthier
