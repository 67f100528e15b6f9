#include "runtime/report_writer.h"

#include "report/kernel_columns.h"
#include "support/log.h"

#include <cstdio>

namespace luthier::runtime {

namespace {

void print(const std::string &text) { fwrite(text.data(), 1, text.size(), stderr); }

} // namespace

void ReportWriter::configure(OutputFormat format, std::string file) {
  format_ = format;
  file_ = std::move(file);
}

std::string ReportWriter::format(const Results &results) const {
  std::vector<report::Table> tables;
  for (const report::Table &table : results.tables)
    tables.push_back(report::withKernelColumns(table, results.account));
  switch (format_) {
  case OutputFormat::Csv:
    return report::toCsv(tables);
  case OutputFormat::Json:
    return report::toJson(tables, results.account);
  case OutputFormat::Text:
    break;
  }
  return report::toText(tables, results.account);
}

void ReportWriter::snapshot(const Results &results) {
  std::lock_guard lock(mutex_);
  if (finished_ || file_.empty())
    return;
  if (const auto written = report::writeFile(file_, format(results)); !written)
    log::error("{}", written.error().message());
}

void ReportWriter::finish(const Results &results) {
  std::lock_guard lock(mutex_);
  finished_ = true;
  const std::string text = format(results);
  if (file_.empty())
    print(text);
  else if (const auto written = report::writeFile(file_, text); !written)
    log::error("{}", written.error().message());
  if (format_ == OutputFormat::Csv) // which has no place for the account
    print(report::toText({}, results.account));
}

} // namespace luthier::runtime
