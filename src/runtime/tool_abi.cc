#include "runtime/tool_abi.h"

#include "luthier/abi.h"

#include <cstring>
#include <string>

#include <dlfcn.h>

namespace luthier::runtime {

static_assert(std::string_view(kVersion) == LUTHIER_PROJECT_VERSION,
              "luthier/abi.h has another version than the build");

Result<void> checkTool(void *library, std::string_view path) {
  if (!dlsym(library, "luthierCreateTool"))
    return makeError("{} is not a Luthier tool (it has no LUTHIER_TOOL)", path);
  const auto *abi = static_cast<const ToolAbi *>(dlsym(library, "luthierToolAbi"));
  if (!abi || abi->magic != ToolAbi::kMagic)
    return makeError(
        "tool {} does not say which Luthier it was built with; this is Luthier {}, with tool interface {}: "
        "rebuild the tool against it",
        path, kVersion, kToolAbi);
  if (abi->number == kToolAbi)
    return {};
  return makeError("tool {} was built with Luthier {} (tool interface {}), but this is Luthier {} (tool interface {}): "
                   "rebuild the tool against it",
                   path, std::string(abi->version, strnlen(abi->version, sizeof abi->version)), abi->number, kVersion,
                   kToolAbi);
}

} // namespace luthier::runtime
