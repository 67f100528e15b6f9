// `luthier merge`: JSON reports of several processes or ranks as one.
//
// Rows of a tool that name the same thing become one row: its text columns and the number of the launch are the same,
// the other numbers are added up, and each process's share stands in a column of its own. Accounts are added up by
// kernel. What is no sum (a ratio, an average) is added up too, as nothing in a report says which numbers are; look at
// the columns of the processes then.

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/options.h"
#include "report/report.h"
#include "support/file.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

using nlohmann::ordered_json;

/// A number that keeps integers exact. Sums beyond 64 bits become floating-point numbers.
struct Sum {
  uint64_t integer = 0;
  double number = 0;
  bool exact = true;

  void add(const ordered_json &value) {
    number += value.get<double>();
    exact = exact && value.is_number_integer() && (value.is_number_unsigned() || value.get<int64_t>() >= 0) &&
            !__builtin_add_overflow(integer, value.get<uint64_t>(), &integer);
  }
  report::Cell cell() const { return {exact ? fmt::format("{}", integer) : fmt::format("{}", number), true}; }
};

struct Input {
  std::string file, label;
  ordered_json json;
};

/// What a process is called in the merged report: its rank if that tells all apart, else its place among the files.
void label(std::vector<Input> &inputs) {
  std::set<std::string> ranks;
  for (Input &input : inputs) {
    const std::string rank = input.json["process"].value("rank", "");
    if (!rank.empty() && ranks.insert(rank).second)
      input.label = "rank " + rank;
  }
  if (ranks.size() == inputs.size()) {
    const auto rankOf = [](const Input &input) { return std::stoull(input.json["process"].value("rank", "0")); };
    std::ranges::sort(inputs, {}, rankOf); // r10 comes before r2 in a folder
    return;
  }
  for (size_t n = 0; n < inputs.size(); ++n)
    inputs[n].label = fmt::format("process {}", n + 1);
}

Result<Input> read(const std::string &file) {
  Input input{file, "", ordered_json::parse(LUTHIER_TRY(readFile(file)), nullptr, false)};
  const ordered_json &json = input.json;
  if (json.is_discarded() || !json.is_object() || !json.contains("tools") || !json.contains("account") ||
      !json.contains("process"))
    return makeError("{} is not a JSON report of `luthier run --tool` (-f json)", file);
  if (json.value("version", 0) != 1)
    return makeError("{} is a report of version {}; this luthier reads version 1", file, json["version"].dump());
  return input;
}

/// The columns that are not added up: those with a text in any report, and the number of a launch.
std::vector<bool> keyColumns(const std::vector<std::string> &columns, const std::vector<const ordered_json *> &tables) {
  std::vector<bool> key;
  for (const std::string &column : columns) {
    bool text = column == "launch";
    for (const ordered_json *table : tables)
      for (const ordered_json &row : (*table)["rows"])
        text |= row.contains(column) && !row[column].is_number();
    key.push_back(text);
  }
  return key;
}

std::string textOf(const ordered_json &value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Result<report::Table> mergeTables(const std::string &tool, const std::vector<Input> &inputs) {
  std::vector<const ordered_json *> tables(inputs.size(), nullptr), present;
  std::vector<std::string> columns;
  for (size_t n = 0; n < inputs.size(); ++n)
    for (const ordered_json &table : inputs[n].json["tools"])
      if (table["tool"] == tool) {
        tables[n] = &table;
        present.push_back(&table);
        // A report has `object` and `gpu` only where it needs them.
        for (size_t at = 0; const std::string &column : table["columns"].get<std::vector<std::string>>()) {
          const auto known = std::ranges::find(columns, column);
          at = known == columns.end()
                   ? static_cast<size_t>(columns.insert(columns.begin() + static_cast<ptrdiff_t>(at), column) -
                                         columns.begin()) +
                         1
                   : static_cast<size_t>(known - columns.begin()) + 1;
        }
      }
  const std::vector<bool> isKey = keyColumns(columns, present);
  struct Row {
    std::vector<report::Cell> key;
    std::vector<Sum> sums;
    std::vector<std::vector<std::optional<Sum>>> shares; // by process, then by column
  };
  std::vector<Row> rows;
  std::map<std::vector<std::string>, size_t> byKey;
  for (size_t n = 0; n < inputs.size(); ++n) {
    if (!tables[n])
      continue;
    for (const ordered_json &line : (*tables[n])["rows"]) {
      std::vector<std::string> key;
      for (size_t c = 0; c < columns.size(); ++c)
        if (isKey[c])
          key.push_back(line.contains(columns[c]) ? textOf(line[columns[c]]) : "");
      const auto [found, isNew] = byKey.try_emplace(key, rows.size());
      if (isNew) {
        Row &row = rows.emplace_back();
        for (size_t c = 0, k = 0; c < columns.size(); ++c)
          if (isKey[c])
            row.key.push_back({key[k++], columns[c] == "launch"});
        row.sums.resize(columns.size());
        row.shares.assign(inputs.size(), std::vector<std::optional<Sum>>(columns.size()));
      }
      Row &row = rows[found->second];
      for (size_t c = 0; c < columns.size(); ++c)
        if (!isKey[c] && line.contains(columns[c])) {
          row.sums[c].add(line[columns[c]]);
          auto &share = row.shares[n][c];
          if (!share)
            share.emplace();
          share->add(line[columns[c]]);
        }
    }
  }
  report::Table merged{tool, {}, {}};
  for (size_t c = 0; c < columns.size(); ++c)
    if (isKey[c])
      merged.columns.push_back(columns[c]);
  for (size_t c = 0; c < columns.size(); ++c)
    if (!isKey[c]) {
      merged.columns.push_back(columns[c]);
      for (const Input &input : inputs)
        merged.columns.push_back(fmt::format("{} ({})", columns[c], input.label));
    }
  for (const Row &row : rows) {
    std::vector<report::Cell> cells = row.key;
    for (size_t c = 0; c < columns.size(); ++c)
      if (!isKey[c]) {
        cells.push_back(row.sums[c].cell());
        for (size_t n = 0; n < inputs.size(); ++n)
          cells.push_back(row.shares[n][c] ? row.shares[n][c]->cell() : report::Cell{"0", true});
      }
    merged.rows.push_back(std::move(cells));
  }
  return merged;
}

void addTo(report::KernelAccount &sum, const ordered_json &kernel) {
  sum.launches += kernel["launches"].get<uint64_t>();
  sum.launchesInstrumented += kernel["launches_instrumented"].get<uint64_t>();
  sum.launchesTimed += kernel.value("launches_timed", uint64_t{0});
  sum.nanoseconds += kernel.value("nanoseconds", uint64_t{0});
  sum.sitesAsked += kernel["sites_asked"].get<uint64_t>();
  sum.sitesPlaced += kernel["sites_placed"].get<uint64_t>();
  for (const auto &[reason, count] : kernel["sites_rejected"].items())
    sum.rejected[reason] += count.get<uint64_t>();
  for (const ordered_json &site : kernel.value("rejected_sites", ordered_json::array())) {
    report::RejectedSite rejected{site["place"], site["reason"]};
    if (std::ranges::find(sum.rejectedSites, rejected) == sum.rejectedSites.end()) // each process has refused the same
      sum.rejectedSites.push_back(std::move(rejected));
  }
  sum.seconds += kernel["seconds"].get<double>();
  if (!kernel["instrumented"].get<bool>()) {
    sum.skipped = kernel.value("skipped", "");
    return;
  }
  sum.instrumented = true;
  const auto change = [&](const char *name, auto &before, auto &after) {
    before = kernel[name]["before"].get<std::remove_reference_t<decltype(before)>>();
    after = std::max(after, kernel[name]["after"].get<std::remove_reference_t<decltype(after)>>());
  };
  change("sgprs", sum.sgprsBefore, sum.sgprsAfter);
  change("vgprs", sum.vgprsBefore, sum.vgprsAfter);
  change("scratch_bytes", sum.scratchBefore, sum.scratchAfter);
  change("waves_per_simd", sum.wavesBefore, sum.wavesAfter);
  change("code_bytes", sum.codeBefore, sum.codeAfter);
}

report::Account mergeAccounts(const std::vector<Input> &inputs) {
  report::Account account;
  std::map<std::vector<std::string>, size_t> known;
  for (const Input &input : inputs) {
    const ordered_json &one = input.json["account"];
    account.recordsLost += one["records_lost"].get<uint64_t>();
    account.seconds += one["seconds"].get<double>();
    for (const ordered_json &message : one["messages"])
      account.messages.push_back(fmt::format("{}: {}", input.label, message.get<std::string>()));
    for (const ordered_json &kernel : one["kernels"]) {
      const auto [found, isNew] =
          known.try_emplace({kernel["name"], kernel["digest"], kernel["instrumented"].dump()}, account.kernels.size());
      if (isNew) {
        report::KernelAccount &added = account.kernels.emplace_back();
        added.name = kernel["name"];
        added.symbol = kernel["symbol"];
        added.object = kernel["object"];
        added.digest = kernel["digest"];
        added.gpu = kernel["gpu"].get<uint32_t>();
      }
      addTo(account.kernels[found->second], kernel);
    }
  }
  return account;
}

struct MergeOptions {
  std::vector<std::string> files;
  std::string format = "text", output;
};

Result<void> merge(const MergeOptions &options) {
  std::vector<Input> inputs;
  for (const std::string &file : options.files)
    inputs.push_back(LUTHIER_TRY(read(file)));
  label(inputs);
  std::vector<std::string> tools;
  for (const Input &input : inputs)
    for (const ordered_json &table : input.json["tools"])
      if (const std::string name = table["tool"]; std::ranges::find(tools, name) == tools.end())
        tools.push_back(name);
  std::vector<report::Table> tables;
  for (const std::string &tool : tools)
    tables.push_back(LUTHIER_TRY(mergeTables(tool, inputs)));
  const report::Account account = mergeAccounts(inputs);
  const std::string text = options.format == "csv"    ? report::toCsv(tables)
                           : options.format == "json" ? report::toJson(tables, account)
                                                      : report::toText(tables, account);
  if (!options.output.empty())
    return report::writeFile(options.output, text);
  std::cout << text;
  return {};
}

} // namespace

void addMergeCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("merge", "Merge JSON reports of several processes or MPI ranks into one");
  auto options = std::make_shared<MergeOptions>();
  command->add_option("FILE", options->files, "Reports that `luthier run --tool ... -f json` has written")
      ->required()
      ->type_name("");
  command->add_option("-f,--output-format,--format", options->format, "text (default), csv or json")
      ->type_name("F")
      ->check(oneOf({"text", "csv", "json"}));
  command->add_option("-o,--output-file,--output", options->output, "Write to FILE instead of stdout")
      ->type_name("FILE")
      ->check(notEmpty);
  command->footer(
      "Rows with the same strings and launch number are combined. Other numbers are summed; a column for each\n"
      "process shows its share.");
  command->callback([options, &invocation] {
    Result<void> done;
    try {
      done = merge(*options);
    } catch (const ordered_json::exception &error) { // a foreign file that looked like a report
      done = makeError("a report is damaged: {}", error.what());
    }
    if (!done)
      log::error("{}", done.error().message());
    invocation.exitStatus = done ? exitSuccess : exitFailure;
  });
}

} // namespace luthier::cli
