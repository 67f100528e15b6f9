// What hooks did not look at in a checked run: kernels and instructions that were not instrumented.
//
// Luthier's runtime accounts for that in the report of its tools, which each process of the run leaves beside the
// findings (check/records.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace luthier::cli {

/// A process's report in the folder of records, with a key for the runtime to replace.
inline constexpr const char *kAccountFile = "%pid%.account";

/// A line for each kernel of which something was left out, by reason.
std::vector<std::string> notInstrumented(const std::filesystem::path &records);

} // namespace luthier::cli
