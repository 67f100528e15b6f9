// Lines of comma-separated values, for what is too long to be a Table.
#pragma once

#include <string>
#include <string_view>

namespace luthier::report {

/// Appends `text`, quoted if it must be, after a comma unless it is the line's first.
void appendCsvField(std::string &line, std::string_view text, bool first);

} // namespace luthier::report
