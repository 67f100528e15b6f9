#include "report/cell_value.h"

#include <charconv>
#include <cmath>

namespace luthier::report {

namespace {

template <class T> bool parse(const std::string &text, T &value) {
  const char *const end = text.data() + text.size();
  const auto [stopped, status] = std::from_chars(text.data(), end, value);
  return status == std::errc() && stopped == end;
}

} // namespace

CellValue valueOf(const Cell &cell) {
  if (!cell.number)
    return cell.text;
  if (int64_t value; parse(cell.text, value))
    return value;
  if (uint64_t value; parse(cell.text, value))
    return value;
  if (double value; parse(cell.text, value) && std::isfinite(value))
    return value;
  return cell.text;
}

} // namespace luthier::report
