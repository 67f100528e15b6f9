#include "report/places.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace luthier::report {

namespace {

bool parseOffset(std::string_view text, uint64_t &value) {
  const bool hex = text.starts_with("0x");
  if (hex)
    text.remove_prefix(2);
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return !text.empty() && status == std::errc() && end == text.data() + text.size();
}

std::optional<Place> parsePlace(std::string_view text, const KernelCode &code) {
  // Names of functions have colons and plus signs too (operator+), so what is a name is decided by the functions.
  for (size_t n = 0; n < code.functions.size(); ++n) {
    const CodeFunction &function = code.functions[n];
    for (const std::string_view name : {std::string_view(function.name), std::string_view(function.symbol)}) {
      if (name.empty() || !text.starts_with(name) || !text.substr(name.size()).starts_with(" +"))
        continue;
      const std::string_view rest = text.substr(name.size() + 2);
      uint64_t offset = 0;
      if (!parseOffset(rest.substr(0, rest.find(": ")), offset))
        continue;
      const auto found = std::ranges::lower_bound(function.instrs, offset, {}, &CodeInstr::offset);
      if (found != function.instrs.end() && found->offset == offset)
        return Place{n, offset};
    }
  }
  return std::nullopt;
}

} // namespace

uint64_t kernelOf(const std::vector<Cell> &row) {
  const auto named = std::ranges::find_if(row, [](const Cell &cell) { return cell.kernel != 0; });
  return named == row.end() ? 0 : named->kernel;
}

std::optional<Place> placeOf(const std::vector<Cell> &row, const Details &details) {
  const auto code = details.code.find(kernelOf(row));
  if (code == details.code.end() || !code->second)
    return std::nullopt;
  for (const Cell &cell : row)
    if (!cell.number && !cell.kernel)
      if (const auto place = parsePlace(cell.text, *code->second))
        return place;
  return std::nullopt;
}

} // namespace luthier::report
