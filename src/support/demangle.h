// C++ names as people write them.
#pragma once

#include <string>
#include <string_view>

namespace luthier {

/// "vectorAdd(float*, int)" for "_Z9vectorAddPfi"; anything that does not start with "_Z" or is not a mangled name
/// comes back unchanged. By LLVM's demangler: kernels have types that the C++ runtime's does not know (_Float16).
std::string demangle(std::string_view name);

} // namespace luthier
