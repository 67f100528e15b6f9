// Arguments and results of HSA calls as text, for traces.
#pragma once

#include "hsa/api.h"

#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace luthier::hsa {

/// "HSA_STATUS_SUCCESS" out of ROCr's longer text.
std::string statusName(hsa_status_t status);

template <class T> std::string formatValue(const T &value) {
  if constexpr (std::is_same_v<T, hsa_status_t>)
    return statusName(value);
  else if constexpr (std::is_same_v<T, const char *>)
    return value ? fmt::format("\"{}\"", value) : "null";
  else if constexpr (std::is_pointer_v<T>)
    return value ? fmt::format("{:#x}", reinterpret_cast<uintptr_t>(value)) : "null";
  else if constexpr (requires { value.handle; }) // hsa_agent_t and all its like
    return fmt::format("{:#x}", value.handle);
  else if constexpr (std::is_enum_v<T>)
    return fmt::format("{}", static_cast<std::underlying_type_t<T>>(value));
  else if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("{}", value);
  else
    return fmt::format("<{} bytes>", sizeof(T));
}

/// "agent=0x10, size=64", with the names from the headers.
template <class... Args> std::string formatArguments(std::string_view names, const Args &...args) {
  std::string text;
  [[maybe_unused]] auto add = [&](const auto &value) {
    const size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    names = comma == names.npos ? std::string_view() : names.substr(comma + 1);
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", name, name.empty() ? "" : "=", formatValue(value));
  };
  (add(args), ...);
  return text;
}

} // namespace luthier::hsa
