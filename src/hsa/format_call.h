// Arguments and results of HSA calls as text, for traces.
#pragma once

#include "hsa/api.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace luthier::hsa {

/// "HSA_STATUS_SUCCESS" out of ROCr's longer text.
std::string statusName(hsa_status_t status);

std::string formatText(const char *text);
std::string formatAddress(uintptr_t address);
std::string formatHandle(uint64_t handle);

template <class T> std::string formatValue(const T &value) {
  if constexpr (std::is_same_v<T, hsa_status_t>)
    return statusName(value);
  else if constexpr (std::is_same_v<T, const char *>)
    return formatText(value);
  else if constexpr (std::is_pointer_v<T>)
    return formatAddress(reinterpret_cast<uintptr_t>(value));
  else if constexpr (requires { uint64_t{value.handle}; }) // hsa_agent_t and all its like
    return formatHandle(value.handle);
  else if constexpr (std::is_enum_v<T>)
    return std::to_string(static_cast<std::underlying_type_t<T>>(value));
  else if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("{}", value);
  else
    return fmt::format("<{} bytes>", sizeof(T));
}

/// "agent=0x10, size=64", with the names from the headers.
std::string joinArguments(std::string_view names, std::initializer_list<std::string> values);
template <class... Args> std::string formatArguments(std::string_view names, const Args &...args) {
  return joinArguments(names, {formatValue(args)...});
}

} // namespace luthier::hsa
