// Which instructions and source lines kernels have executed: per kernel, function or line, and as a tracefile of lcov.
#include "coverage_hooks.h"

#include <luthier/ratio.h>
#include <luthier/run_counts.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

struct Coverage : luthier::Tool {
  std::string per = choice("per", {"kernel", "function", "line"}, "what a row is of");
  // Also what waves have executed that never get to their end.
  luthier::RunCounts counts{*this, LUTHIER_RUN_COUNTS(hooks), luthier::RunCounts::Where::Everywhere};
  std::string lcov = outputFile("lcov", "", "file for genhtml: lines and functions in lcov's format");

  struct Instrs {
    uint64_t all = 0, executed = 0;
    std::set<std::pair<std::string, uint32_t>> lines, executedLines;
  };
  struct File {
    std::map<uint32_t, uint64_t> lines;                             // executions, by waves
    std::map<std::string, std::pair<uint32_t, uint64_t>> functions; // first line, executions
  };

  void start() override {
    if (per == "line")
      report().columns({"file", "line", "instructions", "not executed", "executions"});
    else
      report().columns({per, "instructions", "executed", "%", "lines", "lines executed"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override { counts.count(kernel, at); }

  void exit() override {
    std::map<luthier::KernelId, Instrs> kernels;
    std::map<std::string, Instrs> functions;
    std::map<std::pair<std::string, uint32_t>, Instrs> lines;
    std::map<std::string, File> files;
    const auto add = [](Instrs &to, const luthier::InstrCount &count, const std::vector<luthier::SourceLine> &sources) {
      ++to.all;
      to.executed += count.waves != 0;
      for (const luthier::SourceLine &line : sources) {
        to.lines.emplace(line.file, line.line);
        if (count.waves)
          to.executedLines.emplace(line.file, line.line);
      }
    };
    counts.forEach([&](const luthier::InstrCount &count) {
      const std::vector<luthier::SourceLine> sources = sourcesOf(count);
      add(kernels[count.kernel], count, sources);
      add(functions[count.function->name()], count, sources);
      for (const luthier::SourceLine &line : sources) {
        add(lines[{line.file, line.line}], count, {});
        File &file = files[line.file];
        uint64_t &executions = file.lines[line.line];
        executions = std::max(executions, count.waves);
        auto &[first, calls] = file.functions.try_emplace(line.function, line.line, 0).first->second;
        first = std::min(first, line.line);
        calls = std::max(calls, count.waves);
      }
    });
    const auto row = [&](const auto &what, const Instrs &instrs) {
      report().row(what, instrs.all, instrs.executed, luthier::ratio(100 * instrs.executed, instrs.all),
                   instrs.lines.size(), instrs.executedLines.size());
    };
    for (const auto &[kernel, instrs] : kernels)
      if (per == "kernel")
        row(kernel, instrs);
    for (const auto &[function, instrs] : functions)
      if (per == "function")
        row(function, instrs);
    for (const auto &[line, instrs] : lines)
      if (per == "line")
        report().row(line.first, line.second, instrs.all, instrs.all - instrs.executed,
                     files[line.first].lines[line.second]);
    if (!lcov.empty())
      write(files);
  }

  /// The line of an instruction and of the calls that were inlined there; none of line 0, which compilers give to what
  /// belongs to no line.
  static std::vector<luthier::SourceLine> sourcesOf(const luthier::InstrCount &count) {
    std::vector<luthier::SourceLine> sources = count.function->sources(*count.instr);
    std::erase_if(sources, [](const luthier::SourceLine &line) { return line.line == 0; });
    return sources;
  }

  void write(const std::map<std::string, File> &files) {
    std::ofstream out(lcov);
    for (const auto &[name, file] : files) {
      out << "TN:\nSF:" << name << '\n';
      const auto hit = [](const auto &entries, auto count) { return std::ranges::count_if(entries, count); };
      for (const auto &[function, where] : file.functions)
        out << "FN:" << where.first << ',' << function << "\nFNDA:" << where.second << ',' << function << '\n';
      out << "FNF:" << file.functions.size()
          << "\nFNH:" << hit(file.functions, [](const auto &entry) { return entry.second.second != 0; }) << '\n';
      for (const auto &[line, executions] : file.lines)
        out << "DA:" << line << ',' << executions << '\n';
      out << "LF:" << file.lines.size()
          << "\nLH:" << hit(file.lines, [](const auto &entry) { return entry.second != 0; }) << "\nend_of_record\n";
    }
    if (files.empty())
      warn("no kernel has source lines; compile with -g or -gline-tables-only");
    if (!out.flush())
      warn("cannot write " + lcov + ": " + std::strerror(errno));
  }
};
LUTHIER_TOOL(Coverage)
