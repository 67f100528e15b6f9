// What a cell of a table says, as a value.
#pragma once

#include "report/report.h"

#include <variant>

namespace luthier::report {

/// Text, or a number as exact as it is written: an integer as int64_t if it fits, as uint64_t if it only fits there.
/// What no number can say (an infinity, NaN) is text.
using CellValue = std::variant<std::string, int64_t, uint64_t, double>;

CellValue valueOf(const Cell &cell);

} // namespace luthier::report
