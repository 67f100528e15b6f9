// The HSA functions as Luthier calls them: through the entries that ROCr's table had before Luthier changed it.
//
// An application's call of hsa_queue_create goes through a table of function pointers, which ROCr hands to its tools to
// edit. Luthier keeps the entries from before (`original`) and uses nothing else, so its own calls never come back to
// its own wrappers, but do reach other tools that were there first. The list of functions is generated from the
// installed headers and a list of what later ROCrs have (generate_api.py); where each stands in the tables of the
// running ROCr is found out at run time (table_layout.h).
//
//   LUTHIER_TRY(call<ApiId::hsa_queue_destroy>(queue));      // an error carries ROCr's text for the status
#pragma once

#include "hsa/rocr_scope.h"
#include "support/result.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ven_amd_loader.h>

namespace luthier::hsa {

/// Every function of the tables, by its own name.
enum class ApiId : uint16_t {
#define LUTHIER_HSA_CALL(table, function, size, arguments, ...) function,
#include "hsa/api.inc"
#undef LUTHIER_HSA_CALL
  Count,
};
inline constexpr unsigned kApiCount = static_cast<unsigned>(ApiId::Count);

/// What is known of a function at compile time: its type and its name. Types that only later ROCrs have are written as
/// others that are passed in the same way.
template <ApiId> struct ApiCall;

#define LUTHIER_HSA_CALL(table, function, size, arguments, ...)                                                        \
  template <> struct ApiCall<ApiId::function> {                                                                        \
    using Function = __VA_ARGS__;                                                                                      \
    static constexpr std::string_view name = #function;                                                                \
    static constexpr std::string_view argumentNames = arguments;                                                       \
  };
#include "hsa/api.inc"
#undef LUTHIER_HSA_CALL

std::string_view apiName(ApiId id);

/// Calls `visit.template operator()<id>()` for every function.
template <class Visit> void forEachApi(Visit visit) {
#define LUTHIER_HSA_CALL(table, function, size, arguments, ...) visit.template operator()<ApiId::function>();
#include "hsa/api.inc"
#undef LUTHIER_HSA_CALL
}

/// A pointer per function, whatever the tables look like that they are from. Those that the running ROCr does not have
/// are null.
class ApiFunctions {
public:
  template <ApiId id> typename ApiCall<id>::Function get() const {
    return reinterpret_cast<typename ApiCall<id>::Function>(entries_[static_cast<unsigned>(id)]);
  }
  template <ApiId id> void set(typename ApiCall<id>::Function function) {
    entries_[static_cast<unsigned>(id)] = reinterpret_cast<void *>(function);
  }
  void *&operator[](ApiId id) { return entries_[static_cast<unsigned>(id)]; }
  void *operator[](ApiId id) const { return entries_[static_cast<unsigned>(id)]; }

private:
  std::array<void *, kApiCount> entries_ = {};
};

/// The functions from before Luthier was installed, of the one ROCr of this process; all null until then.
ApiFunctions &originalFunctions();
template <ApiId id> typename ApiCall<id>::Function original() { return originalFunctions().get<id>(); }

/// What the original returns; it must exist. Calls that ROCr makes meanwhile are known to be its own, where they can be
/// told from the application's and where it may take long: in functions that return a status and call nobody back.
template <ApiId id, class... Args> auto callOriginal(Args... args) {
  using Function = typename ApiCall<id>::Function;
  if constexpr (std::is_same_v<decltype(original<id>()(args...)), hsa_status_t> && !takesCallback<Function>) {
    const RocrScope scope;
    return original<id>()(args...);
  } else {
    return original<id>()(args...);
  }
}

/// "hsa_queue_create: HSA_STATUS_ERROR_INVALID_ARGUMENT: One of the actual arguments ...", with the status as code.
Error statusError(std::string_view function, hsa_status_t status);
Error missingError(std::string_view function);

/// Calls the original function. A status becomes a Result<void>; anything else is returned as it is, and the function
/// must then exist.
template <ApiId id, class... Args> auto call(Args... args) {
  using Return = decltype(original<id>()(args...));
  if constexpr (std::is_same_v<Return, hsa_status_t>) {
    if (!original<id>())
      return Result<void>(missingError(ApiCall<id>::name));
    const hsa_status_t status = callOriginal<id>(args...);
    // HSA_STATUS_INFO_BREAK is how a caller's own callback ends an iteration.
    if (status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK)
      return Result<void>(statusError(ApiCall<id>::name, status));
    return Result<void>();
  } else {
    return original<id>()(args...);
  }
}

} // namespace luthier::hsa
