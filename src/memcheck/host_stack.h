// Where the application's own code was when it called the runtime: for reports.
#pragma once

#include "check/finding.h"
#include "memcheck/allocations.h"

#include <vector>

namespace luthier::memcheck {

/// Of the caller's caller and up.
HostStack captureHostStack();

/// With names, from the call that the application made: frames within ROCr and Luthier's own libraries are left out,
/// and of HIP's only the function that was called. Ends at main.
std::vector<check::HostFrame> describeHostStack(const HostStack &stack);

/// Whether HIP is on it.
bool passesThroughHip(const HostStack &stack);

} // namespace luthier::memcheck
