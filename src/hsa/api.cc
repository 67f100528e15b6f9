#include "hsa/api.h"

namespace luthier::hsa {

ApiFunctions &originalFunctions() {
  static constinit ApiFunctions functions;
  return functions;
}

static constexpr std::string_view kNames[] = {
#define LUTHIER_HSA_CALL(table, function, size, arguments, ...) #function,
#include "hsa/api.inc"
#undef LUTHIER_HSA_CALL
};

std::string_view apiName(ApiId id) { return kNames[static_cast<unsigned>(id)]; }

Error statusError(std::string_view function, hsa_status_t status) {
  const char *text = nullptr;
  const auto statusString = original<ApiId::hsa_status_string>();
  if (!statusString || statusString(status, &text) != HSA_STATUS_SUCCESS || !text)
    return makeErrorCode(status, "{}: status {:#x}", function, static_cast<unsigned>(status));
  return makeErrorCode(status, "{}: {}", function, text);
}

Error missingError(std::string_view function) {
  return makeErrorCode(HSA_STATUS_ERROR, "{}: this ROCr does not have it, or HSA is not initialised", function);
}

} // namespace luthier::hsa
