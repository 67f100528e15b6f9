// Results of a run: the tools' tables, the account of what was instrumented, and, for formats that show them, launches
// and code. Each format has one writer, which makes the whole file at once (`render`).
//
// A file is always whole: it is written beside its place and renamed, so that what was collected before a crash is
// there and valid. CSV has the tables alone, pftrace the launches alone; text and JSON have tables and account, HTML
// and the database everything.
#pragma once

#include "report/details.h"
#include "report/format.h"
#include "support/result.h"

#include <cstdint>
#include <map>
#include <set>
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

// Why a kernel was skipped that nobody has asked for: text only counts these, JSON has them all.
inline constexpr const char *kLeftOut = "left out, as asked"; ///< by the user's own filter
inline constexpr const char *kRuntimeKernel = "a kernel of HIP's own, for fills and copies (see --runtime-kernels)";
/// Why one has no hooks that tools want to know of all the same.
inline constexpr const char *kOnlyObserved = "its launches are only observed";

/// An insertion that was refused.
struct RejectedSite {
  std::string place; ///< "FUNCTION +OFFSET", with the instruction behind it
  std::string reason;
  bool operator==(const RejectedSite &) const = default;
};

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
  std::vector<RejectedSite> rejectedSites;
  uint32_t sgprsBefore = 0, sgprsAfter = 0, vgprsBefore = 0, vgprsAfter = 0, scratchBefore = 0, scratchAfter = 0;
  uint32_t wavesBefore = 0, wavesAfter = 0;
  uint64_t codeBefore = 0, codeAfter = 0; ///< bytes
  double seconds = 0;                     ///< that instrumenting took
  uint64_t launches = 0, launchesInstrumented = 0;
  uint64_t nanoseconds = 0;   ///< on the GPU: the sum of the instrumented launches that left times
  uint64_t launchesTimed = 0; ///< how many these are
};

struct Account {
  std::vector<KernelAccount> kernels;
  uint64_t recordsLost = 0;
  double seconds = 0;                ///< of all instrumenting, compiling of hooks included
  std::vector<std::string> messages; ///< that the user should not miss
  std::set<std::string> shown = {};  ///< of these, on stderr already
};

struct Results {
  std::vector<Table> tables;
  Account account;
  Details details = {};
};

std::string toText(const std::vector<Table> &tables, const Account &account);
std::string toCsv(const std::vector<Table> &tables);
std::string toJson(const std::vector<Table> &tables, const Account &account, const Process &process = {});
/// One page, self-contained.
std::string toHtml(const Results &results);
/// A trace of launches and copies in Perfetto's format.
std::string toPftrace(const Results &results);
/// An SQLite database (docs/report-database.md). It takes SQLite's library, which is only looked for here.
Result<std::string> toDatabase(const Results &results);
/// Whether that library is there.
Result<void> checkDatabase();

Result<std::string> render(Format format, const Results &results);

/// The whole file at once, or nothing.
Result<void> writeFile(const std::string &path, const std::string &contents);

} // namespace luthier::report
