// C++ names as people write them.
#pragma once

#include <string>
#include <string_view>

namespace luthier {

/// "vectorAdd(float*, int)" for "_Z9vectorAddPfi"; anything that is not a mangled name comes back as it is.
std::string demangle(std::string_view name);

} // namespace luthier
