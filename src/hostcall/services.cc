#include "hostcall/services.h"

#include "luthier/hostcall_layout.h"

#include <mutex>

namespace luthier::hostcall {

Services &Services::global() {
  static Services *const instance = new Services; // consumers may outlive static destructors
  return *instance;
}

Result<void> Services::add(uint32_t service, amd_hostcall_service_handler_t function, void *state) {
  if (!function)
    return makeErrorCode(AMD_HOSTCALL_ERROR_NULLPTR, "service {} without a handler", service);
  if (service == wire::kFunctionCall || service == wire::kPrintf)
    return makeErrorCode(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "service {} is provided by the library", service);
  std::unique_lock lock(mutex_);
  if (!handlers_.try_emplace(service, Handler{function, state}).second)
    return makeErrorCode(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "service {} has a handler already", service);
  return {};
}

std::optional<Services::Handler> Services::find(uint32_t service) const {
  std::shared_lock lock(mutex_);
  auto found = handlers_.find(service);
  if (found == handlers_.end())
    found = handlers_.find(wire::kDefault);
  if (found == handlers_.end())
    return std::nullopt;
  return found->second;
}

} // namespace luthier::hostcall
