#include "runtime/tool_abi.h"

#include "luthier/abi.h"

#include <cstring>
#include <string>

#include <dlfcn.h>
#include <link.h>

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

bool usesGpuRuntime(void *library) {
  link_map *map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void *>(&map)) != 0)
    return false;
  const char *names = nullptr;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB)
      names = reinterpret_cast<const char *>(entry->d_un.d_ptr);
  for (const ElfW(Dyn) *entry = map->l_ld; names && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED)
      for (const std::string_view runtime : {"libamdhip64.so", "libhsa-runtime64.so"})
        if (std::string_view(names + entry->d_un.d_val).starts_with(runtime))
          return true;
  return false;
}

} // namespace luthier::runtime
