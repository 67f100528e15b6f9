#include "runtime/report_writer.h"

#include "support/log.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace luthier::runtime {

namespace {

void print(const std::string &text) { fwrite(text.data(), 1, text.size(), stderr); }

/// Without messages that stderr has already: there, nobody wants to read them twice.
report::Account unshown(report::Account account) {
  std::erase_if(account.messages, [&](const std::string &message) { return account.shown.contains(message); });
  return account;
}

/// The report for stderr: in the first format that suits a terminal, else as text.
std::string textOf(const std::vector<Output> &outputs, const Results &results) {
  const auto suits =
      std::ranges::find_if(outputs, [](const Output &output) { return report::infoOf(output.format).forTerminals; });
  const Format format = suits == outputs.end() ? Format::Text : suits->format;
  Results shown = results;
  if (format == Format::Text)
    shown.account = unshown(std::move(shown.account));
  return report::render(format, shown).value_or("");
}

} // namespace

void ReportWriter::configure(std::vector<Output> outputs, bool makeFolders) {
  outputs_ = std::move(outputs);
  makeFolders_ = makeFolders;
}

bool ReportWriter::writesSnapshots() const {
  return std::ranges::any_of(outputs_, [](const Output &output) { return !output.file.empty(); });
}

bool ReportWriter::wantsDetails() const {
  return std::ranges::any_of(outputs_, [](const Output &output) { return report::infoOf(output.format).hasDetails; });
}

Result<void> ReportWriter::write(const Output &output, const Results &results) const {
  const auto written = [&]() -> Result<void> {
    const std::string text = LUTHIER_TRY(report::render(output.format, results));
    if (makeFolders_) {
      std::error_code failed; // what is wrong with the folder, the file has too
      std::filesystem::create_directories(std::filesystem::path(output.file).parent_path(), failed);
    }
    return report::writeFile(output.file, text);
  }();
  return written ? written : written.error().withContext("the report cannot be written");
}

Result<void> ReportWriter::writeFiles(const Results &results) const {
  Result<void> first;
  for (const Output &output : outputs_)
    if (!output.file.empty())
      if (auto written = write(output, results); !written && first)
        first = std::move(written);
  return first;
}

Result<void> ReportWriter::snapshot(const Results &results) {
  std::lock_guard lock(mutex_);
  return finished_ ? Result<void>() : writeFiles(results);
}

void ReportWriter::prepare(const Results &results) {
  std::lock_guard lock(mutex_);
  const bool toStderr = std::ranges::any_of(outputs_, [](const Output &output) { return output.file.empty(); });
  if (toStderr || !writeFiles(results))
    fallback_ = prepared_.emplace_back(std::make_unique<const std::string>(textOf(outputs_, results))).get();
}

std::string_view ReportWriter::fallback() const {
  const std::string *const text = fallback_;
  return text ? std::string_view(*text) : std::string_view();
}

bool ReportWriter::finish(const Results &results) {
  std::lock_guard lock(mutex_);
  finished_ = true;
  fallback_ = nullptr;
  const std::string text = textOf(outputs_, results);
  bool good = true, hasAccount = outputs_.empty();
  for (const Output &output : outputs_) {
    hasAccount |= report::infoOf(output.format).hasAccount;
    if (output.file.empty())
      print(text);
    else if (const auto written = write(output, results); !written) {
      log::error("{}{}", written.error().message(), good ? "; it follows here" : "");
      if (std::exchange(good, false))
        print(text);
    }
  }
  if (!hasAccount && good)
    print(report::toText({}, unshown(results.account)));
  return good;
}

} // namespace luthier::runtime
