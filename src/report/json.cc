// Everything as JSON. docs/tools.md describes its keys.

#include "report/cell_value.h"
#include "report/json_parts.h"
#include "report/totals.h"

namespace luthier::report {

using nlohmann::ordered_json;

ordered_json toJson(const Cell &cell) {
  return std::visit([](const auto &value) { return ordered_json(value); }, valueOf(cell));
}

namespace {

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
  json["launches_timed"] = kernel.launchesTimed;
  json["nanoseconds"] = kernel.nanoseconds;
  json["sites_asked"] = kernel.sitesAsked;
  json["sites_placed"] = kernel.sitesPlaced;
  json["sites_rejected"] = toJson(rejectedOf(kernel));
  json["rejected_sites"] = ordered_json::array();
  for (const RejectedSite &site : kernel.rejectedSites)
    json["rejected_sites"].push_back({{"place", site.place}, {"reason", site.reason}});
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

} // namespace

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

ordered_json toJson(const Process &process) {
  return {{"pid", process.pid}, {"hostname", process.hostname}, {"rank", process.rank}, {"command", process.command}};
}

std::string dump(const ordered_json &json, int indent) {
  // Names come from foreign files: bytes that are no UTF-8 are replaced, not thrown about.
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::string toJson(const std::vector<Table> &tables, const Account &account, const Process &process) {
  ordered_json json = {
      {"version", 1}, {"process", toJson(process)}, {"tools", ordered_json::array()}, {"account", toJson(account)}};
  for (const Table &table : tables)
    json["tools"].push_back(toJson(table));
  return dump(json, 1) + "\n";
}

} // namespace luthier::report
