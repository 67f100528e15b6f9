#include "hsa/code_loading.h"

#include "hsa/callback_scope.h"

namespace luthier::hsa {

CodeLoading::CodeLoading(Events &events, CodeCapture &code, Linker &linker)
    : events_(events), code_(code), linker_(linker) {
  replacements_.push_back(calls::replace<ApiId::hsa_executable_load_agent_code_object>(
      [this](hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader, const char *options,
             hsa_loaded_code_object_t *loaded) {
        const hsa_status_t status = linker_.load(executable, agent, reader, options, loaded);
        if (status == HSA_STATUS_SUCCESS)
          capture(executable);
        return status;
      }));
  replacements_.push_back(calls::replace<ApiId::hsa_executable_freeze>(
      [this](hsa_executable_t executable, const char *options) { return freeze(executable, options); }));
  replacements_.push_back(calls::replace<ApiId::hsa_executable_destroy>([this](hsa_executable_t executable) {
    code_.forget(executable);
    const hsa_status_t status = callOriginal<ApiId::hsa_executable_destroy>(executable);
    linker_.forget(executable);
    return status;
  }));
}

void CodeLoading::capture(hsa_executable_t executable) {
  code_.capture(executable, [this](hsa_loaded_code_object_t handle) { return linker_.originalOf(handle); });
}

hsa_status_t CodeLoading::freeze(hsa_executable_t executable, const char *options) {
  capture(executable); // for those who load with a deprecated function
  hsa_status_t status = linker_.check(executable);
  if (status == HSA_STATUS_SUCCESS)
    status = callOriginal<ApiId::hsa_executable_freeze>(executable, options);
  if (status == HSA_STATUS_SUCCESS)
    status = linker_.finish(executable);
  if (status == HSA_STATUS_SUCCESS) {
    const CallbackScope scope;
    events_.executableFrozen.raise(executable);
  }
  return status;
}

} // namespace luthier::hsa
