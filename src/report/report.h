// Results of tools and the account of a run, as text for people, CSV or JSON.
//
// A file is always whole: it is written beside its place and renamed, so that what was collected before a crash is
// there and valid. CSV has the tables alone; JSON has everything; text has everything, tables aligned.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace luthier::report {

struct Cell {
  std::string text;
  bool number = false; ///< to be written without quotes, right-aligned
  uint64_t kernel = 0; ///< the kernel that it names (KernelAccount::id)
};

struct Table {
  std::string tool;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

/// Why a kernel was skipped that the user's own filter leaves out: text only counts these, JSON has them all.
inline constexpr const char *kLeftOut = "left out, as asked";

/// What instrumenting did to a kernel.
struct KernelAccount {
  uint64_t id = 0;                  ///< of the kernel; its variants have the same. 0: its code is not known
  std::string name, symbol, object; ///< the object's URI
  std::string digest;               ///< of the object's contents, in hex
  uint32_t gpu = 0;                 ///< in ROCr's order
  bool instrumented = false;
  std::string skipped; ///< why not
  uint64_t sitesAsked = 0, sitesPlaced = 0;
  std::map<std::string, uint64_t> rejected; ///< reasons and how many sites
  uint32_t sgprsBefore = 0, sgprsAfter = 0, vgprsBefore = 0, vgprsAfter = 0, scratchBefore = 0, scratchAfter = 0;
  uint32_t wavesBefore = 0, wavesAfter = 0;
  uint64_t codeBefore = 0, codeAfter = 0; ///< bytes
  double seconds = 0;                     ///< that instrumenting took
  uint64_t launches = 0, launchesInstrumented = 0;
};

struct Account {
  std::vector<KernelAccount> kernels;
  uint64_t recordsLost = 0;
  double seconds = 0;                ///< of all instrumenting, compiling of hooks included
  std::vector<std::string> messages; ///< that the user should not miss
};

std::string toText(const std::vector<Table> &tables, const Account &account);
std::string toCsv(const std::vector<Table> &tables);
std::string toJson(const std::vector<Table> &tables, const Account &account);

/// The whole file at once, or nothing.
Result<void> writeFile(const std::string &path, const std::string &contents);

} // namespace luthier::report
