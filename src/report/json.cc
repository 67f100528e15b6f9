// Everything as JSON. docs/tools.md describes its keys.

#include "report/report.h"
#include "report/totals.h"

#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace luthier::report {

namespace {

using nlohmann::ordered_json;

template <class T> bool parse(const std::string &text, T &value) {
  const char *const end = text.data() + text.size();
  const auto [stopped, status] = std::from_chars(text.data(), end, value);
  return status == std::errc() && stopped == end;
}

/// Integers exact to 64 bits. JSON has no infinity and no NaN; what it cannot say as a number stays text.
ordered_json toJson(const Cell &cell) {
  if (!cell.number)
    return cell.text;
  if (uint64_t value; parse(cell.text, value))
    return value;
  if (int64_t value; parse(cell.text, value))
    return value;
  if (double value; parse(cell.text, value) && std::isfinite(value))
    return value;
  return cell.text;
}

ordered_json toJson(const Table &table) {
  const std::vector<std::string> columns = columnsOf(table);
  ordered_json json = {{"tool", table.tool}, {"columns", columns}, {"rows", ordered_json::array()}};
  for (const auto &row : table.rows) {
    ordered_json line = ordered_json::object();
    for (size_t n = 0; n < row.size(); ++n)
      line[columns[n]] = toJson(row[n]);
    json["rows"].push_back(std::move(line));
  }
  return json;
}

ordered_json beforeAfter(uint64_t before, uint64_t after) { return {{"before", before}, {"after", after}}; }

ordered_json toJson(const std::map<std::string, uint64_t> &counts) {
  ordered_json json = ordered_json::object();
  for (const auto &[name, count] : counts)
    json[name] = count;
  return json;
}

ordered_json toJson(const KernelAccount &kernel) {
  ordered_json json = {{"name", kernel.name},     {"symbol", kernel.symbol}, {"object", kernel.object},
                       {"digest", kernel.digest}, {"gpu", kernel.gpu},       {"instrumented", kernel.instrumented}};
  if (!kernel.instrumented)
    json["skipped"] = skippedOf(kernel);
  json["launches"] = kernel.launches;
  json["launches_instrumented"] = kernel.launchesInstrumented;
  json["sites_asked"] = kernel.sitesAsked;
  json["sites_placed"] = kernel.sitesPlaced;
  json["sites_rejected"] = toJson(rejectedOf(kernel));
  if (kernel.instrumented) {
    json["sgprs"] = beforeAfter(kernel.sgprsBefore, kernel.sgprsAfter);
    json["vgprs"] = beforeAfter(kernel.vgprsBefore, kernel.vgprsAfter);
    json["scratch_bytes"] = beforeAfter(kernel.scratchBefore, kernel.scratchAfter);
    json["waves_per_simd"] = beforeAfter(kernel.wavesBefore, kernel.wavesAfter);
    json["code_bytes"] = beforeAfter(kernel.codeBefore, kernel.codeAfter);
  }
  json["seconds"] = kernel.seconds;
  return json;
}

ordered_json toJson(const Account &account) {
  const Totals totals = totalsOf(account);
  ordered_json json = {{"kernels_seen", totals.kernels},
                       {"kernels_instrumented", totals.instrumented},
                       {"kernels_skipped", totals.skipped},
                       {"sites_asked", totals.sitesAsked},
                       {"sites_placed", totals.sitesPlaced},
                       {"sites_rejected", totals.sitesRejected},
                       {"launches", totals.launches},
                       {"launches_instrumented", totals.launchesInstrumented},
                       {"launches_not_instrumented", totals.launches - totals.launchesInstrumented},
                       {"records_lost", account.recordsLost},
                       {"seconds", account.seconds},
                       {"skipped_because", toJson(totals.skippedBecause)},
                       {"rejected_because", toJson(totals.rejectedBecause)},
                       {"messages", account.messages},
                       {"kernels", ordered_json::array()}};
  for (const KernelAccount &kernel : account.kernels)
    json["kernels"].push_back(toJson(kernel));
  return json;
}

} // namespace

std::string toJson(const std::vector<Table> &tables, const Account &account) {
  ordered_json json = {{"version", 1}, {"tools", ordered_json::array()}, {"account", toJson(account)}};
  for (const Table &table : tables)
    json["tools"].push_back(toJson(table));
  // Names come from foreign files: bytes that are no UTF-8 are replaced, not thrown about.
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

} // namespace luthier::report
