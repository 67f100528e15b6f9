// Which function serves which request.
#pragma once

#include "amd_hostcall.h"
#include "support/result.h"

#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

namespace luthier::hostcall {

/// Thread-safe. Handlers are never removed.
class Services {
public:
  struct Handler {
    amd_hostcall_service_handler_t function = nullptr;
    void *state = nullptr;
  };

  /// Those of the C API.
  static Services &global();

  /// The error's code is an amd_hostcall_error_t.
  Result<void> add(uint32_t service, amd_hostcall_service_handler_t function, void *state);
  /// The service's handler, or else the default one. A copy: what it refers to is called without any lock.
  std::optional<Handler> find(uint32_t service) const;

private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint32_t, Handler> handlers_;
};

} // namespace luthier::hostcall
