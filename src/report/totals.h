// The account of a whole run, summed up from its kernels'; every format says the same figures.
#pragma once

#include "report/report.h"

namespace luthier::report {

struct Totals {
  uint64_t kernels = 0, instrumented = 0, skipped = 0;
  uint64_t sitesAsked = 0, sitesPlaced = 0, sitesRejected = 0;
  std::map<std::string, uint64_t> skippedBecause;  ///< kernels
  std::map<std::string, uint64_t> rejectedBecause; ///< sites; sums up to sitesRejected
  uint64_t launches = 0, launchesInstrumented = 0;
};

Totals totalsOf(const Account &account);

/// Reasons for all sites that were asked for and not placed: those without one of their own get the kernel's, or are
/// said to have none. No request disappears.
std::map<std::string, uint64_t> rejectedOf(const KernelAccount &kernel);

/// Why a kernel was not instrumented, in words; empty if it was.
std::string skippedOf(const KernelAccount &kernel);

/// Names of the columns, one for each cell of the longest row, no two alike.
std::vector<std::string> columnsOf(const Table &table);

} // namespace luthier::report
