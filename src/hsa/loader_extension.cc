#include "hsa/loader_extension.h"

#include "hsa/table_layout.h"
#include "support/log.h"

namespace luthier::hsa {

LoaderExtension::LoaderExtension(const WrappedTables &tables) {
  replacements_.push_back(calls::replace<ApiId::hsa_system_get_major_extension_table>(
      [&tables](uint16_t extension, uint16_t major, size_t length, void *result) {
        const hsa_status_t status =
            original<ApiId::hsa_system_get_major_extension_table>()(extension, major, length, result);
        if (status == HSA_STATUS_SUCCESS && extension == HSA_EXTENSION_AMD_LOADER)
          tables.wrapLoader(result, length);
        return status;
      }));
  // The older form of it does not say how much it fills; the version does.
  replacements_.push_back(calls::replace<ApiId::hsa_system_get_extension_table>(
      [&tables](uint16_t extension, uint16_t major, uint16_t minor, void *result) {
        const hsa_status_t status = original<ApiId::hsa_system_get_extension_table>()(extension, major, minor, result);
        if (status == HSA_STATUS_SUCCESS && extension == HSA_EXTENSION_AMD_LOADER)
          tables.wrapLoader(result, minor == 0   ? sizeof(hsa_ven_amd_loader_1_00_pfn_t)
                                    : minor == 1 ? sizeof(hsa_ven_amd_loader_1_01_pfn_t)
                                    : minor == 2 ? sizeof(hsa_ven_amd_loader_1_02_pfn_t)
                                                 : sizeof(hsa_ven_amd_loader_1_03_pfn_t));
        return status;
      }));
}

void LoaderExtension::start() {
  const std::vector<ApiId> layout = loaderLayout();
  std::vector<void *> functions(layout.size());
  // An older one fills less.
  if (const auto found = call<ApiId::hsa_system_get_major_extension_table>(
          HSA_EXTENSION_AMD_LOADER, 1, functions.size() * sizeof(void *), static_cast<void *>(functions.data()));
      !found)
    log::warn("ROCr's loader extension is not available ({}): loaded code cannot be looked at",
              found.error().message());
  for (size_t n = 0; n < layout.size(); ++n)
    originalFunctions()[layout[n]] = functions[n];
}

} // namespace luthier::hsa
