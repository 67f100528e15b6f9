// `luthier lint FILE...`: what is wrong with code by the rules that hardware leaves to software, without running it.

#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "analysis/lint.h"
#include "cli/code_file.h"
#include "cli/command.h"
#include "cli/lint_report.h"
#include "cli/listing.h"
#include "cli/options.h"
#include "object/source_lines.h"
#include "support/demangle.h"
#include "support/file.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

using analysis::CodePlace;
using analysis::LintFinding;

struct LintOptions {
  std::vector<std::string> files;
  std::string target, kernel, sarif, suppressions;
  std::optional<uint64_t> errorExitcode;
  bool json = false, strict = false;
};

/// Instructions shown before and behind the one at fault.
constexpr uint32_t kBefore = 4, kBehind = 2;

class Lint {
public:
  explicit Lint(const LintOptions &options) : options_(options) {}

  int run() {
    if (!options_.suppressions.empty())
      if (const Result<void> read = readSuppressions(); !read) {
        log::error("{}", read.error().message());
        return exitUsage;
      }
    bool failed = false;
    for (const std::string &file : options_.files)
      if (const Result<void> done = checkFile(file); !done) {
        log::error("{}", done.error().message());
        failed = true;
      }
    if (!failed && !options_.kernel.empty() && !totals_.kernels && totals_.omissions.empty()) {
      log::error("no kernel matches '{}'", options_.kernel);
      failed = true;
    }
    std::cout << (options_.json ? lintJson(totals_) : lintText(totals_)) << std::flush;
    if (!options_.sarif.empty())
      if (const Result<void> written = replaceFile(options_.sarif, lintSarif(totals_, LUTHIER_VERSION)); !written) {
        log::error("{}", written.error().message());
        failed = true;
      }
    if (failed)
      return exitUsage;
    if (!totals_.findings.empty())
      return static_cast<int>(options_.errorExitcode.value_or(exitFailure));
    return options_.strict && !totals_.omissions.empty() ? exitUsage : exitSuccess;
  }

private:
  Result<void> readSuppressions() {
    const std::string text = LUTHIER_TRY(readFile(options_.suppressions));
    if (const std::string wrong = LintSuppressions::parse(text, suppressions_); !wrong.empty())
      return makeError("{}: {}", options_.suppressions, wrong);
    return {};
  }

  Result<void> checkFile(const std::string &file) {
    return forEachObject({.path = file, .target = options_.target},
                         [&](const object::CodeObject &object, uint64_t number) -> Result<void> {
                           checkObject(file, object, number);
                           return {};
                         });
  }

  void checkObject(const std::string &file, const object::CodeObject &object, uint64_t number) {
    const auto omit = [&](std::string why) {
      totals_.omissions.push_back(
          {.file = file, .target = object.targetId(), .function = {}, .why = std::move(why), .object = number});
    };
    const auto program = analysis::Program::create(object);
    if (!program) {
      omit(program.error().message());
      return;
    }
    std::function<bool(const object::Symbol &)> wanted;
    if (!options_.kernel.empty())
      wanted = [&](const object::Symbol &symbol) { return matchName(symbol.name, options_.kernel) != NameMatch::None; };
    auto report = analysis::lint(**program, wanted);
    if (!report) {
      omit(report.error().message());
      return;
    }
    totals_.kernels += report->kernels;
    totals_.functions += report->functions;
    totals_.instructions += report->instructions;
    for (const analysis::LintGap &gap : report->gaps)
      totals_.omissions.push_back({.file = file,
                                   .target = object.targetId(),
                                   .function = demangle(gap.place.function->name),
                                   .why = gap.why,
                                   .object = number,
                                   .address = gap.place.address,
                                   .count = gap.count});
    if (report->findings.empty())
      return;
    std::optional<object::SourceLines> lines;
    if (auto found = object::SourceLines::of(object))
      lines.emplace(*std::move(found));
    for (const LintFinding &finding : report->findings) {
      LintRow row = describe(**program, finding, lines ? &*lines : nullptr);
      if (suppressions_.contains(row.rule, row.function, row.symbol)) {
        ++totals_.suppressed;
        continue;
      }
      row.file = file;
      row.target = object.targetId();
      row.object = number;
      totals_.findings.push_back(std::move(row));
    }
  }

  static LintRow describe(analysis::Program &program, const LintFinding &finding, const object::SourceLines *lines) {
    const object::Symbol &symbol = *finding.place.function;
    LintRow row{.rule = std::string(toString(finding.rule)), .message = finding.message};
    row.function = demangle(symbol.name);
    row.symbol = symbol.name;
    row.kernel = symbol.kind == object::SymbolKind::Kernel;
    row.address = finding.place.address;
    row.needed = finding.needed;
    row.note = finding.note;
    row.instruction = textAt(program, finding.place);
    row.around = around(program, finding.place);
    if (finding.earlier.function) {
      row.earlierAddress = finding.earlier.address;
      row.earlierInstruction = textAt(program, finding.earlier);
      if (finding.earlier.function != finding.place.function)
        row.earlierFunction = demangle(finding.earlier.function->name);
    }
    if (finding.wait.function)
      row.wait = fmt::format("{:#x}: {}", finding.wait.address, textAt(program, finding.wait));
    for (const CodePlace &place : finding.also)
      row.also.push_back(place.address);
    if (lines)
      for (const object::SourceLocation &frame : lines->framesAt(row.address))
        if (frame.line) { // 0: the compiler's own
          row.source += fmt::format("{}{}:{}", row.source.empty() ? "" : ", inlined at ", frame.file, frame.line);
          if (row.sourceFile.empty()) {
            row.sourceFile = frame.file;
            row.sourceLine = frame.line;
          }
        }
    return row;
  }

  /// The function and its decoder; nothing if it cannot be decoded, which it could a moment ago.
  struct Decoded {
    const analysis::Function *function = nullptr;
    isa::Decoder *decoder = nullptr;
  };
  static Decoded decoded(analysis::Program &program, const CodePlace &place) {
    const auto function = program.function(*place.function);
    const auto decoder = program.decoder(*place.function);
    if (!function || !decoder)
      return {};
    return {*function, *decoder};
  }

  static std::string textAt(analysis::Program &program, const CodePlace &place) {
    const Decoded code = decoded(program, place);
    if (!code.function)
      return "";
    const uint32_t index = code.function->cfg().find(place.address);
    return index == analysis::Cfg::kNone
               ? ""
               : Listing(program, *code.function, *code.decoder).text(code.function->instrs()[index]);
  }

  static std::vector<LintLine> around(analysis::Program &program, const CodePlace &place) {
    std::vector<LintLine> lines;
    const Decoded code = decoded(program, place);
    if (!code.function)
      return lines;
    const analysis::Cfg &cfg = code.function->cfg();
    const uint32_t index = cfg.find(place.address);
    if (index == analysis::Cfg::kNone)
      return lines;
    const Listing listing(program, *code.function, *code.decoder);
    const auto end = std::min<uint32_t>(index + kBehind + 1, static_cast<uint32_t>(cfg.instrs().size()));
    for (uint32_t n = index > kBefore ? index - kBefore : 0; n < end; ++n) {
      const Instr &instr = cfg.instrs()[n];
      lines.push_back({instr.address(), listing.text(instr), n == index});
    }
    return lines;
  }

  const LintOptions &options_;
  LintSuppressions suppressions_;
  LintTotals totals_;
};

} // namespace

void addLintCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("lint", "Check code for missing waits and broken hardware rules");
  auto options = std::make_shared<LintOptions>();
  command->add_option("FILE", options->files, "HIP programs or libraries, offload bundles, or code objects")
      ->required()
      ->type_name("");
  command->add_option("--target", options->target, "Only code that runs on this target, e.g. gfx90a:xnack-")
      ->type_name("T")
      ->check(notEmpty);
  command->add_option("--kernel", options->kernel, "Only kernels of this name, or with this in their name")
      ->type_name("NAME")
      ->check(notEmpty);
  addFlag(*command, "--json", options->json, "Print JSON");
  command->add_option("--sarif", options->sarif, "Also write SARIF, for CI systems")
      ->type_name("FILE")
      ->check(notEmpty);
  command->add_option("--suppressions", options->suppressions, "Leave out the findings that this file names")
      ->type_name("FILE")
      ->check(notEmpty);
  addNumber(*command, "--error-exitcode", options->errorExitcode, 0, 125, "Exit with N if there are findings (1)");
  addFlag(*command, "--strict", options->strict, "Exit with 2 if something could not be checked");
  command->footer("A line of the suppressions file is RULE:FUNCTION; * stands for anything, # begins a comment.\n"
                  "Exits with 0 if nothing was found, 1 if something was, 2 if a file could not be read.");
  command->callback([options, &invocation] { invocation.exitStatus = Lint(*options).run(); });
}

} // namespace luthier::cli
