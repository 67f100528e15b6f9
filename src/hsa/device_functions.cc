#include "hsa/device_functions.h"

#include "hsa/foreign_calls.h"
#include "luthier/hsa_ext.h"
#include "support/log.h"

#include <algorithm>
#include <cstring>

namespace luthier::hsa {

namespace {

template <class T> hsa_status_t answer(void *value, const T &what) {
  memcpy(value, &what, sizeof what);
  return HSA_STATUS_SUCCESS;
}

} // namespace

DeviceFunctions::DeviceFunctions(Events &events, const CodeCapture &code, const Linker &linker)
    : events_(events), code_(code), linker_(linker) {
  const auto keep = [&](Subscription replacement) { replacements_.push_back(std::move(replacement)); };
  keep(calls::replace<ApiId::hsa_executable_iterate_agent_symbols>(
      [this](hsa_executable_t executable, hsa_agent_t agent,
             hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void *), void *data) {
        const hsa_status_t status =
            original<ApiId::hsa_executable_iterate_agent_symbols>()(executable, agent, callback, data);
        if (status != HSA_STATUS_SUCCESS || !callback)
          return status;
        for (const Shared &function : of(executable, agent))
          if (const hsa_status_t stop = callback(executable, agent, function->handle(), data);
              stop != HSA_STATUS_SUCCESS)
            return stop;
        return status;
      }));
  keep(calls::replace<ApiId::hsa_executable_get_symbol_by_name>(
      [this](hsa_executable_t executable, const char *name, const hsa_agent_t *agent, hsa_executable_symbol_t *symbol) {
        const hsa_status_t status =
            original<ApiId::hsa_executable_get_symbol_by_name>()(executable, name, agent, symbol);
        if (status != HSA_STATUS_ERROR_INVALID_SYMBOL_NAME || !agent || !name || !symbol)
          return status;
        for (const Shared &function : of(executable, *agent))
          if (function->symbol->name == name) {
            *symbol = function->handle();
            return HSA_STATUS_SUCCESS;
          }
        return status;
      }));
  keep(calls::replace<ApiId::hsa_executable_symbol_get_info>(
      [this](hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute, void *value) {
        if (value) {
          if (const Shared function = find(symbol))
            return info(*function, attribute, value);
          if (static_cast<uint32_t>(attribute) == LUTHIER_EXECUTABLE_SYMBOL_INFO_KERNEL_CALLEE_COUNT ||
              static_cast<uint32_t>(attribute) == LUTHIER_EXECUTABLE_SYMBOL_INFO_KERNEL_CALLEES)
            return kernelInfo(symbol, attribute, value);
        }
        const hsa_status_t status = original<ApiId::hsa_executable_symbol_get_info>()(symbol, attribute, value);
        if (status != HSA_STATUS_SUCCESS || attribute != HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE)
          return status;
        // A kernel that is linked with functions of other code objects may need more.
        uint64_t kernelObject = 0;
        original<ApiId::hsa_executable_symbol_get_info>()(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                                          &kernelObject);
        auto *bytes = static_cast<uint32_t *>(value);
        *bytes = std::max(*bytes, linker_.privateSegmentOf(kernelObject));
        return status;
      }));
}

void DeviceFunctions::start() {
  destroyed_ = events_.executableDestroyed.subscribe([this](hsa_executable_t executable) { forget(executable); });
}

void DeviceFunctions::stop() {
  destroyed_.cancel();
  std::lock_guard lock(mutex_);
  executables_.clear();
  byHandle_.clear();
}

DeviceFunctions::State &DeviceFunctions::update(hsa_executable_t executable) {
  State &state = executables_[executable.handle];
  const std::vector<SharedCode> objects = code_.of(executable);
  for (; state.objects < objects.size(); ++state.objects) {
    const SharedCode &code = objects[state.objects];
    if (!code->object())
      continue;
    for (const object::Symbol &symbol : code->object()->symbols(object::SymbolKind::DeviceFunction)) {
      if (!symbol.defined)
        continue;
      auto function = std::make_shared<DeviceFunction>(DeviceFunction{code, &symbol});
      byHandle_[function->handle().handle] = function;
      state.functions.push_back(std::move(function));
    }
  }
  return state;
}

std::vector<DeviceFunctions::Shared> DeviceFunctions::of(hsa_executable_t executable, hsa_agent_t agent) {
  std::lock_guard lock(mutex_);
  std::vector<Shared> result = update(executable).functions;
  std::erase_if(result, [&](const Shared &function) { return function->code->agent().handle != agent.handle; });
  return result;
}

DeviceFunctions::Shared DeviceFunctions::find(hsa_executable_symbol_t handle) const {
  std::lock_guard lock(mutex_);
  auto found = byHandle_.find(handle.handle);
  return found == byHandle_.end() ? nullptr : found->second;
}

void DeviceFunctions::forget(hsa_executable_t executable) {
  std::lock_guard lock(mutex_);
  auto found = executables_.find(executable.handle);
  if (found == executables_.end())
    return;
  for (const Shared &function : found->second.functions)
    byHandle_.erase(function->handle().handle);
  executables_.erase(found);
}

hsa_status_t DeviceFunctions::info(const DeviceFunction &function, uint32_t attribute, void *value) const {
  const std::string_view name = function.symbol->name;
  switch (attribute) {
  case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
    return answer(value, HSA_SYMBOL_KIND_INDIRECT_FUNCTION);
  case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
    return answer(value, static_cast<uint32_t>(name.size()));
  case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
    memcpy(value, name.data(), name.size());
    return HSA_STATUS_SUCCESS;
  case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH:
    return answer(value, uint32_t(0)); // as ROCr says for its own
  case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME:
    return HSA_STATUS_SUCCESS;
  case HSA_EXECUTABLE_SYMBOL_INFO_AGENT:
    return answer(value, function.code->agent());
  case HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE:
    return answer(value, function.symbol->external ? HSA_SYMBOL_LINKAGE_PROGRAM : HSA_SYMBOL_LINKAGE_MODULE);
  case HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION:
    return answer(value, true);
  case HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT:
    return answer(value, function.address());
  case HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_CALL_CONVENTION:
    return answer(value, uint32_t(0));
  case LUTHIER_EXECUTABLE_SYMBOL_INFO_FUNCTION_SIZE:
    return answer(value, function.symbol->size);
  case LUTHIER_EXECUTABLE_SYMBOL_INFO_FUNCTION_LOADED_CODE_OBJECT:
    return answer(value, function.code->handle());
  default:
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

hsa_status_t DeviceFunctions::kernelInfo(hsa_executable_symbol_t kernel, uint32_t attribute, void *value) {
  uint64_t kernelObject = 0;
  const hsa_status_t status = original<ApiId::hsa_executable_symbol_get_info>()(
      kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernelObject);
  if (status != HSA_STATUS_SUCCESS)
    return status;
  const auto called = calledBy(kernelObject);
  if (!called) {
    log::error("{}", called.error().message());
    return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  }
  if (attribute == LUTHIER_EXECUTABLE_SYMBOL_INFO_KERNEL_CALLEE_COUNT)
    return answer(value, static_cast<uint32_t>(called->size()));
  auto *symbols = static_cast<hsa_executable_symbol_t *>(value);
  for (size_t n = 0; n < called->size(); ++n)
    symbols[n] = (*called)[n]->handle();
  return HSA_STATUS_SUCCESS;
}

Result<std::vector<DeviceFunctions::Shared>> DeviceFunctions::calledBy(uint64_t kernelObject) {
  const SharedCode code = code_.find(kernelObject);
  const object::Symbol *kernel = code ? code->kernelOf(kernelObject) : nullptr;
  if (!kernel)
    return makeError("no kernel is known at {:#x}", kernelObject);
  ForeignCalls calls([this](const SharedCode &from, uint64_t slot) { return linker_.definitionFor(from, slot); });
  const auto reached = LUTHIER_TRY(calls.reachableFrom(code, *kernel));
  std::vector<Shared> result;
  for (const Shared &function : of(code->executable(), code->agent()))
    if (std::ranges::any_of(reached, [&](const LinkedFunction &one) {
          return one.code == function->code && one.symbol->address == function->symbol->address;
        }))
      result.push_back(function);
  return result;
}

} // namespace luthier::hsa
