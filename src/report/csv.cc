// Tables as comma-separated values (RFC 4180, lines ended as on Unix).

#include "report/csv.h"
#include "report/report.h"
#include "report/totals.h"

namespace luthier::report {

void appendCsvField(std::string &line, std::string_view text, bool first) {
  if (!first)
    line += ',';
  // A lone empty field would be an empty line, which separates tables.
  if (!text.empty() && text.find_first_of(",\"\r\n#") == std::string_view::npos && text.front() != ' ' &&
      text.back() != ' ') {
    line += text;
    return;
  }
  if (text.empty() && !first)
    return;
  line += '"';
  for (const char c : text) {
    if (c == '"')
      line += '"';
    line += c;
  }
  line += '"';
}

std::string toCsv(const std::vector<Table> &tables) {
  std::string csv;
  for (const Table &table : tables) {
    // A single table is what spreadsheets and scripts expect; several have a title each, and an empty line between.
    if (tables.size() > 1) {
      if (&table != &tables.front())
        csv += '\n';
      csv += "# " + table.tool + "\n";
    }
    const std::vector<std::string> columns = columnsOf(table);
    if (columns.empty())
      continue;
    for (size_t n = 0; n < columns.size(); ++n)
      appendCsvField(csv, columns[n], n == 0);
    csv += '\n';
    for (const auto &row : table.rows) {
      for (size_t n = 0; n < columns.size(); ++n)
        appendCsvField(csv, n < row.size() ? row[n].text : "", n == 0);
      csv += '\n';
    }
  }
  return csv;
}

} // namespace luthier::report
