// `luthier trace dump FILE`: what the tool mem_trace wrote, for people and for scripts. `luthier trace sum FILE`: the
// same added up.
//
// A trace may be larger than memory: it is mapped, read once from front to back, and printed as it is read.

#include <bit>
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <luthier/memory_space_name.h>

#include "cli/command.h"
#include "cli/options.h"
#include "luthier/mem_trace_format.h"
#include "object/mapped_file.h"
#include "report/csv.h"
#include "support/access_sum.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

using mem_trace::Access;
using mem_trace::Reader;
using mem_trace::Record;
using mem_trace::Site;

std::string_view accessName(Access access) {
  return access == Access::Load ? "load" : access == Access::Store ? "store" : "atomic";
}

std::string_view spaceOf(const Site &site) { return nameOf(static_cast<MemorySpace>(site.space)); }

uint64_t objectOf(const Site &site) { return site.pc >> 48; }
uint64_t addressOf(const Site &site) { return site.pc & 0xffff'ffff'ffff; }

template <class Each> void forEachLane(const Record &record, Each each) {
  for (uint64_t rest = record.lanes; rest; rest &= rest - 1)
    each(static_cast<unsigned>(std::countr_zero(rest)));
}

class CsvPrinter {
public:
  std::string begin() { return "launch,kernel,object,pc,access,space,bytes,lanes,addresses,instruction\n"; }
  std::string line(const Reader &reader, const Record &record) {
    const Site &site = reader.sites().at(record.site);
    std::string line = fmt::format("{}", record.launch);
    report::appendCsvField(line, reader.kernels().at(site.kernel).name, false);
    line += fmt::format(",{},{:#x},{},{},{},{:#x},", objectOf(site), addressOf(site), accessName(site.access),
                        spaceOf(site), site.bytes, record.lanes);
    bool first = true;
    forEachLane(record, [&](unsigned lane) {
      line += fmt::format("{}{:#x}", first ? "" : " ", record.addresses[lane]);
      first = false;
    });
    report::appendCsvField(line, site.text, false);
    return line + "\n";
  }
  std::string end(const Reader &) { return ""; }
};

class TextPrinter {
public:
  std::string begin() { return ""; }
  std::string line(const Reader &reader, const Record &record) {
    const Site &site = reader.sites().at(record.site);
    std::string text;
    if (!started_ || launch_ != record.launch || kernel_ != site.kernel) {
      text =
          fmt::format("{}launch {}: {}\n", started_ ? "\n" : "", record.launch, reader.kernels().at(site.kernel).name);
      launch_ = record.launch;
      kernel_ = site.kernel;
      started_ = true;
    }
    return text + fmt::format("  {:>8x}  {:6} {:8} {:>2} bytes  lanes {:016x}  {}  ; {}\n", addressOf(site),
                              accessName(site.access), spaceOf(site), site.bytes, record.lanes, addresses(record),
                              site.text);
  }
  std::string end(const Reader &reader) {
    const mem_trace::Totals &totals = reader.totals();
    return fmt::format("{}{} records, {} lost\n", started_ ? "\n" : "", totals.records, totals.lost);
  }

private:
  /// Evenly spaced ones as such: "7f0010, 4 apart".
  static std::string addresses(const Record &record) {
    std::string list;
    uint64_t first = 0, stride = 0;
    unsigned firstLane = 0, count = 0;
    bool even = true;
    forEachLane(record, [&](unsigned lane) {
      const uint64_t address = record.addresses[lane];
      if (count == 0) {
        first = address;
        firstLane = lane;
      } else if (count == 1)
        stride = (address - first) / (lane - firstLane);
      even = even && address == first + stride * (lane - firstLane);
      list += fmt::format("{}{:x}", count ? " " : "", address);
      ++count;
    });
    if (even && count > 2)
      return stride ? fmt::format("{:x}, {} apart", first, static_cast<int64_t>(stride))
                    : fmt::format("{:x}, all", first);
    return list;
  }

  bool started_ = false;
  uint64_t launch_ = 0, kernel_ = 0;
};

/// What the virtual GPU makes of its own accesses with --trace-sums, for each launch and site.
class SumPrinter {
public:
  std::string begin() {
    return "launch,kernel,object,pc,access,space,bytes,second,executed,lanes,mask_sum,address_sum,instruction\n";
  }
  std::string line(const Reader &, const Record &record) {
    sums_[{record.launch, record.site}].add(record.lanes, record.addresses);
    return "";
  }
  std::string end(const Reader &reader) {
    std::string text;
    for (const auto &[key, sum] : sums_) {
      const Site &site = reader.sites().at(key.second);
      text += fmt::format("{}", key.first);
      report::appendCsvField(text, reader.kernels().at(site.kernel).symbol, false);
      text += fmt::format(",{},{:#x},{},{},{},{:d},{},{},{:#018x},{:#018x}", objectOf(site), addressOf(site),
                          accessName(site.access), spaceOf(site), site.bytes, site.second, sum.executed, sum.lanes,
                          sum.masks, sum.addresses);
      report::appendCsvField(text, site.text, false);
      text += "\n";
    }
    return text;
  }

private:
  std::map<std::pair<uint64_t, uint64_t>, AccessSum> sums_; ///< by launch and site
};

template <class Printer> Result<void> dump(Reader &reader, Printer printer, const std::string &path) {
  std::string out = printer.begin();
  Record record;
  while (reader.next(record)) {
    out += printer.line(reader, record);
    if (out.size() > 1 << 16) {
      std::cout << out;
      out.clear();
    }
  }
  const bool bad = !reader.error().empty();
  std::cout << out << (bad ? "" : printer.end(reader)) << std::flush;
  if (bad)
    return makeError("{}: {}", path, reader.error());
  if (reader.cut())
    log::warn("{}: the end is missing; the application was killed, or is still running", path);
  if (reader.totals().lost)
    log::warn("{}: {} records were lost", path, reader.totals().lost);
  return {};
}

/// `format` is text, csv or sum.
Result<void> dumpFile(const std::string &path, const std::string &format) {
  const object::MappedFile file = LUTHIER_TRY(object::MappedFile::open(path));
  Reader reader({reinterpret_cast<const uint8_t *>(file.bytes().data()), file.bytes().size()});
  if (!reader.error().empty())
    return makeError("{}: {}", path, reader.error());
  return format == "csv"   ? dump(reader, CsvPrinter(), path)
         : format == "sum" ? dump(reader, SumPrinter(), path)
                           : dump(reader, TextPrinter(), path);
}

} // namespace

void addTraceCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("trace", "Print a file that the tool mem_trace has written");
  command->require_subcommand(1);
  CLI::App *dump = command->add_subcommand("dump", "Print every memory access, in file order");
  auto path = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("text");
  dump->add_option("FILE", *path, "A file written by mem_trace")->required()->type_name("");
  dump->add_option("-f,--format", *format, "Output format: text (default) or csv")
      ->type_name("F")
      ->check(oneOf({"text", "csv"}));
  CLI::App *sum = command->add_subcommand("sum", "Sum up the accesses of each launch and instruction, as CSV");
  sum->add_option("FILE", *path, "A file written by mem_trace")->required()->type_name("");
  const auto print = [path, &invocation](const std::string &as) {
    const Result<void> done = dumpFile(*path, as);
    if (!done)
      log::error("{}", done.error().message());
    invocation.exitStatus = done ? exitSuccess : exitFailure;
  };
  dump->callback([print, format] { print(*format); });
  sum->callback([print] { print("sum"); });
}

} // namespace luthier::cli
