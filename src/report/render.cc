// From a format to its writer.

#include "report/kernel_columns.h"
#include "report/report.h"

namespace luthier::report {

Result<std::string> render(Format format, const Results &results) {
  std::vector<Table> tables;
  for (const Table &table : results.tables)
    tables.push_back(withKernelColumns(table, results.account));
  switch (format) {
  case Format::Text:
    return toText(tables, results.account);
  case Format::Csv:
    return toCsv(tables);
  case Format::Json:
    return toJson(tables, results.account, results.details.process);
  case Format::Html:
    return toHtml(results);
  case Format::Db:
    return toDatabase(results);
  case Format::Pftrace:
    return toPftrace(results);
  }
  return makeError("unknown format");
}

} // namespace luthier::report
