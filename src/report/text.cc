// Tables and the account of a run for people: columns aligned, numbers to the right.

#include "report/kernel_columns.h"
#include "report/report.h"
#include "report/totals.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace luthier::report {

namespace {

/// Names of templates run to hundreds of characters. A longer cell does not widen its column; its row goes on in the
/// next line instead, where the following column is. Rows that start with the same one follow it without naming it
/// again.
constexpr size_t kWidest = 60;

constexpr ptrdiff_t kMostRejected = 5; ///< sites of a kernel that are listed; JSON has more

/// Characters, not bytes.
size_t widthOf(const std::string &text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](unsigned char c) { return (c & 0xc0) != 0x80; }));
}

/// One line, whatever is in it.
std::string printable(const std::string &text) {
  std::string clean;
  for (const char c : text)
    if (c == '\n')
      clean += "\\n";
    else if (c == '\t')
      clean += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      clean += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      clean += c;
  return clean;
}

std::string aligned(const Table &table) {
  const std::vector<std::string> columns = columnsOf(table);
  std::vector<std::vector<Cell>> lines(1);
  for (const std::string &column : columns)
    lines.front().push_back({printable(column), false});
  for (const auto &row : table.rows) {
    lines.emplace_back();
    for (size_t n = 0; n < columns.size(); ++n)
      lines.back().push_back(n < row.size() ? Cell{printable(row[n].text), row[n].number} : Cell{});
  }
  // Headings of numbers stand above them.
  for (size_t n = 0; n < columns.size() && !table.rows.empty(); ++n)
    lines.front()[n].number = std::ranges::all_of(
        table.rows, [&](const auto &row) { return n >= row.size() || row[n].number || row[n].text.empty(); });

  std::vector<size_t> widths(columns.size(), 0), offsets(columns.size(), 0);
  for (const auto &line : lines)
    for (size_t n = 0; n < columns.size(); ++n)
      if (const size_t width = widthOf(line[n].text); width <= kWidest)
        widths[n] = std::max(widths[n], width);
  for (size_t n = 1; n < columns.size(); ++n)
    offsets[n] = offsets[n - 1] + widths[n - 1] + 2;

  std::string text, title;
  for (const auto &line : lines) {
    std::string out;
    size_t at = 0;
    const bool known = widthOf(line[0].text) > kWidest && line[0].text == title && columns.size() > 1;
    title = line[0].text;
    for (size_t n = known; n < columns.size(); ++n) {
      const size_t width = widthOf(line[n].text);
      if (width == 0)
        continue;
      if (at && at + 2 > offsets[n]) {
        text += out + "\n";
        out.clear();
        at = 0;
      }
      const size_t start = offsets[n] + (line[n].number && width < widths[n] ? widths[n] - width : 0);
      out.append(start - at, ' ');
      out += line[n].text;
      at = start + width;
    }
    text += out + "\n";
  }
  return text;
}

std::string change(uint64_t before, uint64_t after) {
  return before == after ? fmt::format("{}", before) : fmt::format("{} -> {}", before, after);
}

void appendReasons(std::string &text, const std::map<std::string, uint64_t> &reasons) {
  for (const auto &[reason, count] : reasons)
    text += fmt::format("  {} x {}\n", count, printable(reason));
}

/// What the short names of code objects stand for.
std::string objectTable(const Account &account) {
  Table table{"", {"object", "loaded from"}, {}};
  std::set<std::string> known;
  for (const KernelAccount &kernel : account.kernels)
    if (!kernel.digest.empty() && known.insert(kernel.digest).second)
      table.rows.push_back({{objectName(kernel)}, {kernel.object}});
  return "\n" + aligned(table);
}

std::string kernelTables(const Account &account) {
  Table instrumented{"",
                     {"kernel", "launches", "GPU ms", "sites", "SGPRs", "VGPRs", "scratch bytes", "waves/SIMD",
                      "code bytes", "rewrite ms"},
                     {}};
  Table skipped{"", {"kernel", "launches", "not instrumented because"}, {}};
  Table rejected{"", {"kernel", "site", "rejected because"}, {}};
  for (const KernelAccount &kernel : account.kernels) {
    const std::string launches = kernel.launchesInstrumented == kernel.launches
                                     ? fmt::format("{}", kernel.launches)
                                     : fmt::format("{} of {}", kernel.launchesInstrumented, kernel.launches);
    const std::string sites = kernel.sitesPlaced == kernel.sitesAsked
                                  ? fmt::format("{}", kernel.sitesAsked)
                                  : fmt::format("{} of {}", kernel.sitesPlaced, kernel.sitesAsked);
    if (kernel.instrumented)
      instrumented.rows.push_back(
          {{kernel.name, false, kernel.id},
           {launches, true},
           {kernel.launchesTimed ? fmt::format("{:.3f}", static_cast<double>(kernel.nanoseconds) / 1e6) : "-", true},
           {sites, true},
           {change(kernel.sgprsBefore, kernel.sgprsAfter), true},
           {change(kernel.vgprsBefore, kernel.vgprsAfter), true},
           {change(kernel.scratchBefore, kernel.scratchAfter), true},
           {change(kernel.wavesBefore, kernel.wavesAfter), true},
           {change(kernel.codeBefore, kernel.codeAfter), true},
           {fmt::format("{:.1f}", kernel.seconds * 1000), true}});
    else if (kernel.skipped != kLeftOut && kernel.skipped != kRuntimeKernel)
      skipped.rows.push_back(
          {{kernel.name, false, kernel.id}, {fmt::format("{}", kernel.launches), true}, {skippedOf(kernel)}});
    for (const RejectedSite &site : kernel.rejectedSites)
      if (&site - kernel.rejectedSites.data() < kMostRejected)
        rejected.rows.push_back({{kernel.name, false, kernel.id}, {site.place}, {site.reason}});
    if (std::ssize(kernel.rejectedSites) > kMostRejected)
      rejected.rows.push_back(
          {{kernel.name, false, kernel.id},
           {fmt::format("... {} more (-f json lists them)", std::ssize(kernel.rejectedSites) - kMostRejected)},
           {}});
  }
  std::string text;
  bool objects = false;
  for (const Table &table : {instrumented, skipped, rejected})
    if (!table.rows.empty()) {
      const Table full = withKernelColumns(table, account);
      objects |= std::ranges::find(full.columns, "object") != full.columns.end();
      text += "\n" + aligned(full);
    }
  return objects ? text + objectTable(account) : text;
}

} // namespace

std::string toText(const std::vector<Table> &tables, const Account &account) {
  std::string text;
  for (const Table &table : tables) {
    if (columnsOf(table).empty())
      continue;
    text += fmt::format("{}:\n{}\n", printable(table.tool), aligned(table));
  }
  const Totals totals = totalsOf(account);
  text += fmt::format("kernels: {} seen, {} instrumented, {} skipped\n", totals.kernels, totals.instrumented,
                      totals.skipped);
  appendReasons(text, totals.skippedBecause);
  text += fmt::format("sites: {} asked, {} placed, {} rejected\n", totals.sitesAsked, totals.sitesPlaced,
                      totals.sitesRejected);
  appendReasons(text, totals.rejectedBecause);
  text += fmt::format("launches: {} instrumented, {} not\n", totals.launchesInstrumented,
                      totals.launches - totals.launchesInstrumented);
  text += fmt::format("records lost: {}\n", account.recordsLost);
  text += fmt::format("time spent instrumenting: {:.3f} s\n", account.seconds);
  for (const std::string &message : account.messages)
    text += fmt::format("note: {}\n", printable(message));
  return text + kernelTables(account);
}

} // namespace luthier::report
