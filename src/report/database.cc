// The report as an SQLite database. docs/report-database.md describes the tables; names are those of rocpd where the
// meaning is the same (start, end, duration, grid_x, workgroup_x, queue_id, pid).

#include "luthier/abi.h"
#include "report/cell_value.h"
#include "report/places.h"
#include "report/report.h"
#include "report/sqlite.h"
#include "report/totals.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace luthier::report {

namespace {

constexpr int64_t kSchemaVersion = 1;

constexpr const char *kSchema = R"(
CREATE TABLE metadata (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE processes (pid INTEGER PRIMARY KEY, hostname TEXT, rank INTEGER, command TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE kernel_symbols (id INTEGER PRIMARY KEY, name TEXT NOT NULL, symbol TEXT, object TEXT, digest TEXT,
  gpu INTEGER);
CREATE TABLE kernel_accounts (id INTEGER PRIMARY KEY, kernel_id INTEGER REFERENCES kernel_symbols, name TEXT NOT NULL,
  instrumented INTEGER NOT NULL, skipped TEXT, launches INTEGER, launches_instrumented INTEGER, launches_timed INTEGER,
  duration INTEGER, sites_asked INTEGER, sites_placed INTEGER, sgprs_before INTEGER, sgprs_after INTEGER,
  vgprs_before INTEGER, vgprs_after INTEGER, scratch_before INTEGER, scratch_after INTEGER, waves_before INTEGER,
  waves_after INTEGER, code_before INTEGER, code_after INTEGER, seconds REAL);
CREATE TABLE rejected_sites (id INTEGER PRIMARY KEY, account_id INTEGER REFERENCES kernel_accounts, place TEXT,
  reason TEXT NOT NULL, sites INTEGER NOT NULL);
CREATE TABLE dispatches (id INTEGER PRIMARY KEY, kernel_id INTEGER REFERENCES kernel_symbols, launch INTEGER,
  queue_id INTEGER, gpu INTEGER, start INTEGER, end INTEGER, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER,
  workgroup_x INTEGER, workgroup_y INTEGER, workgroup_z INTEGER, instrumented INTEGER);
CREATE TABLE memory_copies (id INTEGER PRIMARY KEY, name TEXT, size INTEGER, start INTEGER);
CREATE TABLE functions (id INTEGER PRIMARY KEY, kernel_id INTEGER REFERENCES kernel_symbols, name TEXT, symbol TEXT,
  address INTEGER);
CREATE TABLE instructions (function_id INTEGER REFERENCES functions, offset INTEGER, text TEXT, block INTEGER,
  file TEXT, line INTEGER, PRIMARY KEY (function_id, offset)) WITHOUT ROWID;
CREATE TABLE edges (function_id INTEGER REFERENCES functions, from_block INTEGER, to_block INTEGER,
  PRIMARY KEY (function_id, from_block, to_block)) WITHOUT ROWID;
CREATE INDEX dispatches_by_kernel ON dispatches (kernel_id);
CREATE INDEX instructions_by_line ON instructions (file, line);
CREATE VIEW kernels AS SELECT d.id, s.name, p.pid, d.queue_id, d.gpu, d.launch, d.start, d.end, d.end - d.start AS
  duration, d.grid_x, d.grid_y, d.grid_z, d.workgroup_x, d.workgroup_y, d.workgroup_z, d.instrumented
  FROM dispatches d LEFT JOIN kernel_symbols s ON s.id = d.kernel_id CROSS JOIN processes p;
)";

/// SQLite's integers have a sign; what is larger is kept exactly, as text.
SqlValue integer(uint64_t value) {
  return value <= INT64_MAX ? SqlValue(static_cast<int64_t>(value)) : SqlValue(fmt::format("{}", value));
}

SqlValue orNull(const std::string &text) { return text.empty() ? SqlValue() : SqlValue(text); }

SqlValue orNull(uint64_t id) { return id ? integer(id) : SqlValue(); }

SqlValue toSql(const Cell &cell) {
  struct Convert {
    SqlValue operator()(const std::string &text) const { return text; }
    SqlValue operator()(int64_t value) const { return value; }
    SqlValue operator()(uint64_t value) const { return integer(value); }
    SqlValue operator()(double value) const { return value; }
  };
  return std::visit(Convert(), valueOf(cell));
}

std::string quoted(const std::string &name) {
  std::string text = "\"";
  for (const char c : name)
    text += c == '"' ? "\"\"" : c ? std::string(1, c) : "";
  return text + '"';
}

/// SQLite does not tell upper from lower case in names.
std::string unique(const std::string &wanted, std::set<std::string> &taken) {
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return text;
  };
  std::string name = wanted;
  for (unsigned again = 2; !taken.insert(lower(name)).second; ++again)
    name = fmt::format("{} {}", wanted, again);
  return name;
}

using Rows = std::vector<std::vector<SqlValue>>;

Result<void> insert(Database &database, const std::string &table, const Rows &rows) {
  if (rows.empty())
    return {};
  return database.insert(fmt::format("INSERT INTO {} VALUES ({})", table,
                                     fmt::join(std::vector<std::string_view>(rows.front().size(), "?"), ",")),
                         rows);
}

Result<void> addAccount(Database &database, const Account &account) {
  Rows symbols, accounts, rejected;
  std::set<uint64_t> known;
  for (const KernelAccount &kernel : account.kernels) {
    if (kernel.id && known.insert(kernel.id).second)
      symbols.push_back({integer(kernel.id), kernel.name, orNull(kernel.symbol), orNull(kernel.object),
                         orNull(kernel.digest), integer(kernel.gpu)});
    const int64_t number = static_cast<int64_t>(accounts.size()) + 1;
    std::vector<SqlValue> row = {number, orNull(kernel.id), kernel.name, int64_t{kernel.instrumented},
                                 orNull(skippedOf(kernel))};
    for (const uint64_t value : {kernel.launches, kernel.launchesInstrumented, kernel.launchesTimed, kernel.nanoseconds,
                                 kernel.sitesAsked, kernel.sitesPlaced})
      row.push_back(integer(value));
    for (const uint64_t value :
         {uint64_t{kernel.sgprsBefore}, uint64_t{kernel.sgprsAfter}, uint64_t{kernel.vgprsBefore},
          uint64_t{kernel.vgprsAfter}, uint64_t{kernel.scratchBefore}, uint64_t{kernel.scratchAfter},
          uint64_t{kernel.wavesBefore}, uint64_t{kernel.wavesAfter}, kernel.codeBefore, kernel.codeAfter})
      row.push_back(kernel.instrumented ? integer(value) : SqlValue());
    row.emplace_back(kernel.seconds);
    accounts.push_back(std::move(row));
    std::map<std::string, uint64_t> reasons = rejectedOf(kernel);
    for (const RejectedSite &site : kernel.rejectedSites) {
      rejected.push_back({static_cast<int64_t>(rejected.size()) + 1, number, site.place, site.reason, int64_t{1}});
      if (const auto counted = reasons.find(site.reason); counted != reasons.end() && --counted->second == 0)
        reasons.erase(counted);
    }
    for (const auto &[reason, sites] : reasons) // without a place of their own
      rejected.push_back({static_cast<int64_t>(rejected.size()) + 1, number, SqlValue(), reason, integer(sites)});
  }
  LUTHIER_TRY(insert(database, "kernel_symbols", symbols));
  LUTHIER_TRY(insert(database, "kernel_accounts", accounts));
  LUTHIER_TRY(insert(database, "rejected_sites", rejected));
  Rows messages;
  for (const std::string &message : account.messages)
    messages.push_back({static_cast<int64_t>(messages.size()) + 1, message});
  return insert(database, "messages", messages);
}

Result<void> addDetails(Database &database, const Details &details) {
  const Process &process = details.process;
  LUTHIER_TRY(insert(database, "processes",
                     {{process.pid, process.hostname,
                       process.rank.empty() ? SqlValue() : toSql({.text = process.rank, .number = true}),
                       fmt::format("{}", fmt::join(process.command, " "))}}));
  Rows rows;
  for (const LaunchRecord &launch : details.launches) {
    std::vector<SqlValue> row = {static_cast<int64_t>(rows.size()) + 1,
                                 orNull(launch.kernel),
                                 integer(launch.numberOfKernel),
                                 integer(launch.queue),
                                 integer(launch.gpu),
                                 orNull(launch.begin),
                                 orNull(launch.end)};
    for (const auto &size : {launch.grid, launch.workgroup})
      for (const uint32_t along : size)
        row.push_back(integer(along));
    row.emplace_back(int64_t{launch.instrumented});
    rows.push_back(std::move(row));
  }
  LUTHIER_TRY(insert(database, "dispatches", rows));
  rows.clear();
  for (const CopyRecord &copy : details.copies)
    rows.push_back({static_cast<int64_t>(rows.size()) + 1, copy.call, integer(copy.bytes), orNull(copy.time)});
  return insert(database, "memory_copies", rows);
}

/// The id of a kernel's first function; the others follow.
using FirstFunctions = std::map<uint64_t, int64_t>;

Result<FirstFunctions> addCode(Database &database, const Details &details) {
  FirstFunctions first;
  Rows functions, instrs, edges;
  for (const auto &[kernel, code] : details.code) {
    first[kernel] = static_cast<int64_t>(functions.size()) + 1;
    for (const CodeFunction &function : code->functions) {
      const int64_t id = static_cast<int64_t>(functions.size()) + 1;
      functions.push_back({id, integer(kernel), function.name, function.symbol, integer(function.address)});
      for (const CodeInstr &instr : function.instrs) {
        const SourceLine *line = instr.line ? &code->lines[instr.line - 1] : nullptr;
        instrs.push_back({id, integer(instr.offset), instr.text, integer(instr.block),
                          line ? SqlValue(line->file) : SqlValue(), line ? integer(line->line) : SqlValue()});
      }
      for (size_t n = 0; n < function.blocks.size(); ++n) {
        const std::set<uint32_t> to(function.blocks[n].successors.begin(), function.blocks[n].successors.end());
        for (const uint32_t block : to)
          edges.push_back({id, static_cast<int64_t>(n), integer(block)});
      }
    }
  }
  LUTHIER_TRY(insert(database, "functions", functions));
  LUTHIER_TRY(insert(database, "instructions", instrs));
  LUTHIER_TRY(insert(database, "edges", edges));
  return first;
}

/// tool_NAME, with the tool's columns behind those that join it to the other tables.
Result<void> addTable(Database &database, const Table &table, const Results &results, const FirstFunctions &first,
                      std::set<std::string> &tables) {
  const std::vector<std::string> columns = columnsOf(table);
  const std::string name = quoted(unique("tool_" + table.tool, tables));
  std::set<std::string> taken;
  std::string all;
  for (const char *own : {"kernel_id", "function_id", "offset"})
    all += fmt::format("{}{}", all.empty() ? "" : ", ", quoted(unique(own, taken)));
  for (const std::string &column : columns)
    all += ", " + quoted(unique(column, taken));
  LUTHIER_TRY(database.execute(fmt::format("CREATE TABLE {} ({})", name, all)));
  Rows rows;
  for (const auto &row : table.rows) {
    const auto place = placeOf(row, results.details);
    const uint64_t kernel = report::kernelOf(row);
    std::vector<SqlValue> values = {
        orNull(kernel), place ? SqlValue(first.at(kernel) + static_cast<int64_t>(place->function)) : SqlValue(),
        place ? integer(place->offset) : SqlValue()};
    for (size_t n = 0; n < columns.size(); ++n)
      values.push_back(n < row.size() ? toSql(row[n]) : SqlValue());
    rows.push_back(std::move(values));
  }
  return insert(database, name, rows);
}

} // namespace

Result<void> checkDatabase() {
  const auto database = Database::create();
  return database ? Result<void>() : database.error();
}

Result<std::string> toDatabase(const Results &results) {
  Database database = LUTHIER_TRY(Database::create());
  LUTHIER_TRY(database.execute("BEGIN;"));
  LUTHIER_TRY(database.execute(kSchema));
  LUTHIER_TRY(insert(database, "metadata",
                     {{"schema_version", kSchemaVersion},
                      {"luthier_version", std::string(kVersion)},
                      {"records_lost", integer(results.account.recordsLost)},
                      {"launches_dropped", integer(results.details.launchesDropped)},
                      {"copies_dropped", integer(results.details.copiesDropped)},
                      {"seconds", results.account.seconds}}));
  LUTHIER_TRY(addAccount(database, results.account));
  LUTHIER_TRY(addDetails(database, results.details));
  const FirstFunctions first = LUTHIER_TRY(addCode(database, results.details));
  std::set<std::string> tables;
  for (const Table &table : results.tables)
    LUTHIER_TRY(addTable(database, table, results, first, tables));
  LUTHIER_TRY(database.execute("COMMIT;"));
  return database.bytes();
}

} // namespace luthier::report
