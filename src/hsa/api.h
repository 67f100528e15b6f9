// The HSA functions as Luthier calls them: through the entries that ROCr's table had before Luthier changed it.
//
// An application's call of hsa_queue_create goes through a table of function pointers, which ROCr hands to its tools to
// edit. Luthier keeps a copy from before (`original`) and uses nothing else, so its own calls never come back to its
// own wrappers, but do reach other tools that were there first. The list of functions is generated from the installed
// headers (generate_api.py).
//
//   LUTHIER_TRY(call<ApiId::hsa_queue_destroy>(queue));      // an error carries ROCr's text for the status
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ven_amd_loader.h>

namespace luthier::hsa {

/// Every function of the tables, by its own name.
enum class ApiId : uint16_t {
#define LUTHIER_HSA_CALL(table, function, arguments) function,
#define LUTHIER_HSA_LOADER_CALL(function, arguments) function,
#include "hsa/api.inc"
#undef LUTHIER_HSA_CALL
#undef LUTHIER_HSA_LOADER_CALL
  Count,
};
inline constexpr unsigned kApiCount = static_cast<unsigned>(ApiId::Count);

/// Copies of ROCr's tables. An entry that the running ROCr does not have is null.
struct ApiTables {
  CoreApiTable core = {};
  AmdExtTable amd = {};
  FinalizerExtTable finalizer = {};
  ImageExtTable image = {};
  hsa_ven_amd_loader_1_03_pfn_t loader = {};
};

/// The entries from before the Interceptor was installed; all null until then.
const ApiTables &original();

/// What is known of a function at compile time: its type, its name, its place in the tables.
template <ApiId> struct ApiCall;

#define LUTHIER_HSA_CALL(table, function, arguments)                                                                   \
  template <> struct ApiCall<ApiId::function> {                                                                        \
    using Function = decltype(&::function);                                                                            \
    static constexpr std::string_view name = #function;                                                                \
    static constexpr std::string_view argumentNames = arguments;                                                       \
    static Function &entry(ApiTables &tables) { return tables.table.function##_fn; }                                   \
    static Function entry(const ApiTables &tables) { return tables.table.function##_fn; }                              \
  };
#define LUTHIER_HSA_LOADER_CALL(function, arguments)                                                                   \
  template <> struct ApiCall<ApiId::function> {                                                                        \
    using Function = decltype(hsa_ven_amd_loader_1_03_pfn_t::function);                                                \
    static constexpr std::string_view name = #function;                                                                \
    static constexpr std::string_view argumentNames = arguments;                                                       \
    static Function &entry(ApiTables &tables) { return tables.loader.function; }                                       \
    static Function entry(const ApiTables &tables) { return tables.loader.function; }                                  \
  };
#include "hsa/api.inc"
#undef LUTHIER_HSA_CALL
#undef LUTHIER_HSA_LOADER_CALL

std::string_view apiName(ApiId id);

/// "hsa_queue_create: HSA_STATUS_ERROR_INVALID_ARGUMENT: One of the actual arguments ...", with the status as code.
Error statusError(std::string_view function, hsa_status_t status);
Error missingError(std::string_view function);

/// Calls a function of this type. A status becomes a Result<void>; anything else is returned as it is, and the function
/// must then exist.
template <ApiId id, class... Args> auto callFunction(typename ApiCall<id>::Function function, Args... args) {
  using Return = decltype(function(args...));
  if constexpr (std::is_same_v<Return, hsa_status_t>) {
    if (!function)
      return Result<void>(missingError(ApiCall<id>::name));
    const hsa_status_t status = function(args...);
    // HSA_STATUS_INFO_BREAK is how a caller's own callback ends an iteration.
    if (status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK)
      return Result<void>(statusError(ApiCall<id>::name, status));
    return Result<void>();
  } else {
    return function(args...);
  }
}

/// Calls the original function.
template <ApiId id, class... Args> auto call(Args... args) {
  return callFunction<id>(ApiCall<id>::entry(original()), args...);
}

} // namespace luthier::hsa
