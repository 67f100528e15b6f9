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

Result<void> ReportWriter::write(const std::string &text) const {
  const auto written = report::writeFile(file_, text);
  return written ? written : written.error().withContext("the report cannot be written");
}

Result<void> ReportWriter::snapshot(const Results &results) {
  std::lock_guard lock(mutex_);
  return finished_ || file_.empty() ? Result<void>() : write(format(results));
}

void ReportWriter::prepare(const Results &results) {
  std::lock_guard lock(mutex_);
  const std::string text = format(results);
  if (file_.empty() || !write(text))
    fallback_ = prepared_.emplace_back(std::make_unique<const std::string>(text)).get();
}

std::string_view ReportWriter::fallback() const {
  const std::string *const text = fallback_;
  return text ? std::string_view(*text) : std::string_view();
}

bool ReportWriter::finish(const Results &results) {
  std::lock_guard lock(mutex_);
  finished_ = true;
  fallback_ = nullptr;
  const std::string text = format(results);
  bool good = true;
  if (file_.empty())
    print(text);
  else if (const auto written = write(text); !written) {
    log::error("{}; it follows here", written.error().message());
    print(text);
    good = false;
  }
  if (format_ == OutputFormat::Csv) // which has no place for the account
    print(report::toText({}, results.account));
  return good;
}

} // namespace luthier::runtime
