#include "hsa/format_call.h"

namespace luthier::hsa {

std::string statusName(hsa_status_t status) {
  const char *text = nullptr;
  const auto statusString = original<ApiId::hsa_status_string>();
  if (!statusString || statusString(status, &text) != HSA_STATUS_SUCCESS || !text)
    return fmt::format("{:#x}", static_cast<unsigned>(status));
  const std::string_view all = text;
  return std::string(all.substr(0, all.find(':')));
}

std::string formatText(const char *text) { return text ? fmt::format("\"{}\"", text) : "null"; }
std::string formatAddress(uintptr_t address) { return address ? fmt::format("{:#x}", address) : "null"; }
std::string formatHandle(uint64_t handle) { return fmt::format("{:#x}", handle); }

std::string joinArguments(std::string_view names, std::initializer_list<std::string> values) {
  std::string text;
  for (const std::string &value : values) {
    const size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    names = comma == names.npos ? std::string_view() : names.substr(comma + 1);
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", name, name.empty() ? "" : "=", value);
  }
  return text;
}

} // namespace luthier::hsa
