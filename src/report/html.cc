// The HTML report: one file with everything in it, which needs no network. The data goes in as JSON; what it looks like
// is the business of the page's own script (html/).
//
// Rows are arrays and places are numbers, so that large reports stay readable for a browser. Source lines are copied
// into the page if the file that the debug information names is there: the reader of a report rarely has the source.

#include "luthier/abi.h"
#include "report/html_page.h"
#include "report/json_parts.h"
#include "report/kernel_columns.h"
#include "report/places.h"
#include "report/totals.h"
#include "support/file.h"

#include <optional>

#include <sys/stat.h>

namespace luthier::report {

namespace {

using nlohmann::ordered_json;

constexpr off_t kMostSourceBytes = 16 << 20; ///< a file of more is not source that somebody has written

/// Lines of source files, each file read once.
class Sources {
public:
  std::optional<std::string> line(const SourceLine &wanted) {
    const auto [file, isNew] = files_.try_emplace(wanted.file);
    if (isNew)
      file->second = read(wanted.file);
    const std::vector<std::string> &lines = file->second;
    if (wanted.line == 0 || wanted.line > lines.size())
      return std::nullopt;
    return lines[wanted.line - 1];
  }

private:
  static std::vector<std::string> read(const std::string &path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > kMostSourceBytes)
      return {};
    const auto text = readFile(path);
    std::vector<std::string> lines;
    for (size_t at = 0; text && at < text->size();) {
      const size_t end = std::min(text->find('\n', at), text->size());
      lines.push_back(text->substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }
  std::map<std::string, std::vector<std::string>> files_;
};

ordered_json toJson(const KernelCode &code, Sources &sources) {
  ordered_json json = {
      {"functions", ordered_json::array()}, {"files", ordered_json::array()}, {"lines", ordered_json::array()}};
  std::map<std::string, size_t> files;
  for (const SourceLine &line : code.lines) {
    const auto [file, isNew] = files.try_emplace(line.file, files.size());
    if (isNew)
      json["files"].push_back(line.file);
    const auto text = sources.line(line);
    json["lines"].push_back({file->second, line.line, text ? ordered_json(*text) : ordered_json()});
  }
  for (const CodeFunction &function : code.functions) {
    ordered_json instrs = ordered_json::array(), blocks = ordered_json::array();
    for (const CodeInstr &instr : function.instrs)
      instrs.push_back({instr.offset, instr.text, instr.block, instr.line});
    for (const CodeBlock &block : function.blocks)
      blocks.push_back({block.first, block.successors});
    json["functions"].push_back({{"name", function.name},
                                 {"symbol", function.symbol},
                                 {"address", function.address},
                                 {"instrs", std::move(instrs)},
                                 {"blocks", std::move(blocks)}});
  }
  return json;
}

/// JavaScript's numbers are exact up to here. What is larger is text to the page, which only shows it.
constexpr uint64_t kMostExact = 1ull << 53;

ordered_json forPage(const Cell &cell) {
  ordered_json json = report::toJson(cell);
  const bool large = json.is_number_unsigned()  ? json.get<uint64_t>() > kMostExact
                     : json.is_number_integer() ? json.get<int64_t>() < -static_cast<int64_t>(kMostExact)
                                                : false;
  return large ? ordered_json(cell.text) : json;
}

/// `kernels` and `places` go with the rows: the kernel's id, and [function, offset] or null.
ordered_json toJson(const Table &table, const Results &results) {
  ordered_json rows = ordered_json::array(), kernels = ordered_json::array(), places = ordered_json::array();
  for (const auto &row : table.rows) {
    ordered_json cells = ordered_json::array();
    for (const Cell &cell : row)
      cells.push_back(forPage(cell));
    rows.push_back(std::move(cells));
    kernels.push_back(kernelOf(row));
    const auto place = placeOf(row, results.details);
    places.push_back(place ? ordered_json{place->function, place->offset} : ordered_json());
  }
  return {{"tool", table.tool},
          {"columns", columnsOf(table)},
          {"rows", std::move(rows)},
          {"kernels", std::move(kernels)},
          {"places", std::move(places)}};
}

/// Times count from the first launch's begin.
ordered_json launchesOf(const Details &details) {
  uint64_t origin = UINT64_MAX;
  for (const LaunchRecord &launch : details.launches)
    if (launch.begin)
      origin = std::min(origin, launch.begin);
  ordered_json rows = ordered_json::array();
  for (const LaunchRecord &launch : details.launches) {
    const bool timed = launch.begin && launch.end >= launch.begin;
    rows.push_back({launch.kernel, launch.numberOfKernel, launch.queue, launch.gpu,
                    timed ? ordered_json(launch.begin - origin) : ordered_json(),
                    timed ? ordered_json(launch.end - origin) : ordered_json(), launch.grid, launch.workgroup,
                    launch.instrumented});
  }
  uint64_t bytes = 0;
  for (const CopyRecord &copy : details.copies)
    bytes += copy.bytes;
  return {{"columns", {"kernel", "launch", "queue", "gpu", "begin", "end", "grid", "workgroup", "instrumented"}},
          {"rows", std::move(rows)},
          {"dropped", details.launchesDropped},
          {"copies", details.copies.size() + details.copiesDropped},
          {"copied_bytes", bytes}};
}

/// JSON inside of a script element: nothing in it may look like the element's end.
std::string inScript(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

} // namespace

std::string toHtml(const Results &results) {
  ordered_json json = {{"version", 1},
                       {"luthier", kVersion},
                       {"process", report::toJson(results.details.process)},
                       {"account", report::toJson(results.account)},
                       {"ids", ordered_json::array()},
                       {"tools", ordered_json::array()},
                       {"launches", launchesOf(results.details)},
                       {"code", ordered_json::object()}};
  for (const KernelAccount &kernel : results.account.kernels)
    json["ids"].push_back(kernel.id); // of account.kernels, one by one
  for (const Table &table : results.tables)
    json["tools"].push_back(toJson(withKernelColumns(table, results.account), results));
  Sources sources;
  for (const auto &[kernel, code] : results.details.code)
    json["code"][std::to_string(kernel)] = toJson(*code, sources);

  const HtmlPage page = htmlPage();
  std::string html;
  std::string_view rest = page.html;
  const std::pair<std::string_view, std::string> parts[] = {{"@STYLE@", std::string(page.style)},
                                                            {"@DATA@", inScript(dump(json, -1))},
                                                            {"@SCRIPT@", std::string(page.script)}};
  for (const auto &[key, text] : parts) {
    const size_t at = rest.find(key);
    html.append(rest.substr(0, at)).append(text);
    rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + key.size());
  }
  return html.append(rest);
}

} // namespace luthier::report
