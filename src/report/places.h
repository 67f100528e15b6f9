// Which cells of a tool's table name places in a kernel's code, so that formats can show its numbers beside the code.
//
// Tools write places for people, as "FUNCTION +OFFSET" (the offset in bytes from the function's beginning, decimal or
// with 0x), with ": INSTRUCTION" behind it if they want. Nothing is taken for a place that is not one: the row must
// name a kernel, the kernel must have that function, and the function an instruction there.
#pragma once

#include "report/report.h"

#include <optional>

namespace luthier::report {

/// The first place that the row names; nothing if there is none.
std::optional<Place> placeOf(const std::vector<Cell> &row, const Details &details);

/// The kernel that the row names (KernelAccount::id); 0 if there is none.
uint64_t kernelOf(const std::vector<Cell> &row);

} // namespace luthier::report
