// `luthier disasm FILE`: instructions with blocks, branch targets and calls by name, and what is free before each.

#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/budget.h"
#include "analysis/interprocedural.h"
#include "cli/code_file.h"
#include "cli/command.h"
#include "cli/listing.h"
#include "cli/options.h"
#include "object/code_map.h"
#include "object/source_lines.h"
#include "support/demangle.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

using analysis::Block;
using analysis::Cfg;
using analysis::LiveSets;
using nlohmann::ordered_json;

struct DisasmOptions {
  CodeFile file;
  std::string kernel, function;
  bool liveness = false, summary = false, source = false, json = false;
};

/// What is dead before an instruction, within what the kernel has.
struct Dead {
  RegSet active, all; ///< in the active lanes, and in all lanes
  analysis::WaitState waits;
};

class Disassembly {
public:
  explicit Disassembly(const DisasmOptions &options) : options_(options) {}

  int run() {
    const Result<void> done = work();
    if (!done) {
      log::error("{}", done.error().message());
      return exitFailure;
    }
    return exitSuccess;
  }

private:
  Result<void> work() {
    const std::string &name = options_.kernel.empty() ? options_.function : options_.kernel;
    const auto begin = [&] {
      if (options_.json)
        std::cout << fmt::format("{{\"file\": {}, \"functions\": [", ordered_json(options_.file.path).dump());
    };
    if (!name.empty()) {
      const SelectedFunction selected = LUTHIER_TRY(selectFunction(
          options_.file, name, options_.kernel.empty() ? FunctionKind::DeviceFunction : FunctionKind::Kernel));
      begin();
      number_ = selected.number;
      LUTHIER_TRY(print(*selected.object, {selected.symbol}));
    } else {
      begin();
      LUTHIER_TRY(forEachObject(options_.file, [&](const object::CodeObject &object, uint64_t number) -> Result<void> {
        number_ = number;
        LUTHIER_TRY(print(object, {}));
        return {};
      }));
    }
    if (options_.json)
      std::cout << (first_ ? "]}\n" : "\n]}\n");
    if (options_.summary)
      printSummary();
    return {};
  }

  /// The functions named, or all of the object.
  Result<void> print(const object::CodeObject &object, std::vector<const object::Symbol *> symbols) {
    const auto program = LUTHIER_TRY(analysis::Program::create(object));
    if (symbols.empty())
      symbols.assign(program->functions().begin(), program->functions().end());
    analysis::CallSummaries summaries(*program);
    analysis::CallWaits callWaits(*program);
    std::optional<object::SourceLines> lines;
    if (options_.source)
      lines.emplace(LUTHIER_TRY(object::SourceLines::of(object)));
    lines_ = lines ? &*lines : nullptr;
    map_ = LUTHIER_TRY(object::readCodeMap(object));
    addSharedHooks(*program, symbols);
    for (const object::Symbol *symbol : symbols) {
      isa::Decoder &decoder = *LUTHIER_TRY(program->decoder(*symbol));
      // Not kept: a library has more functions than memory should hold at once.
      const auto function = LUTHIER_TRY(analysis::Function::decode(decoder, object, *symbol, program->callees()));
      if (options_.summary) {
        LUTHIER_TRY(measure(object, *function, summaries, callWaits));
        continue;
      }
      LUTHIER_TRY(printFunction(object, *program, *function, decoder, summaries, callWaits));
    }
    return {};
  }

  /// A kernel's hooks that it calls belong to it.
  void addSharedHooks(const analysis::Program &program, std::vector<const object::Symbol *> &symbols) const {
    if (symbols.size() != 1 || symbols[0]->kind != object::SymbolKind::Kernel)
      return;
    const std::string prefix = fmt::format("{}{}", symbols[0]->name, analysis::kSharedHookInfix);
    for (const object::Symbol *function : program.functions())
      if (const auto *range = map_.find(function->address);
          range && range->kind == object::CodeKind::SharedHook && function->name.starts_with(prefix))
        symbols.push_back(function);
  }

  Result<void> measure(const object::CodeObject &object, const analysis::Function &function,
                       analysis::CallSummaries &summaries, analysis::CallWaits &callWaits) {
    if (!function.isKernel())
      return {};
    const auto allocation = LUTHIER_TRY(analysis::allocationOf(object, function.symbol()));
    const auto liveness = analysis::Liveness::compute(function.cfg(), summaries.context());
    analysis::Budget &budget = budgets_[object.targetId()];
    budget += analysis::measure(allocation, liveness,
                                analysis::Waits::compute(function.cfg(), object.target(), callWaits.context(true)));
    ++kernels_[object.targetId()];
    return {};
  }

  void printSummary() const {
    std::cout << fmt::format("{:<16} {:>8} {:>10} {:>10} {:>10} {:>12} {:>18} {:>14}\n", "target", "kernels", "points",
                             "dead SGPRs", "dead VGPRs", "in all lanes", "4 SGPRs + 2 VGPRs", "not in flight");
    for (const auto &[target, b] : budgets_) {
      const auto points = static_cast<double>(std::max<uint64_t>(b.points, 1));
      const auto mean = [&](uint64_t sum) { return static_cast<double>(sum) / points; };
      std::cout << fmt::format("{:<16} {:>8} {:>10} {:>10.1f} {:>10.1f} {:>12.1f} {:>17.1f}% {:>13.1f}%\n", target,
                               kernels_.at(target), b.points, mean(b.deadSgprs), mean(b.deadVgprs),
                               mean(b.deadVgprsWave), 100 * mean(b.enough), 100 * mean(b.enoughFree));
    }
  }

  Result<void> printFunction(const object::CodeObject &object, analysis::Program &program,
                             const analysis::Function &function, isa::Decoder &decoder,
                             analysis::CallSummaries &summaries, analysis::CallWaits &callWaits) {
    const Listing listing(program, function, decoder);
    std::vector<Dead> dead;
    if (options_.liveness)
      dead = LUTHIER_TRY(findDead(object, function, summaries, callWaits));
    if (options_.json)
      printJson(object, function, listing, dead);
    else
      printText(object, function, listing, dead);
    return {};
  }

  static Result<std::vector<Dead>> findDead(const object::CodeObject &object, const analysis::Function &function,
                                            analysis::CallSummaries &summaries, analysis::CallWaits &callWaits) {
    // A device function has what its caller has: all there is.
    RegSet registers = LiveSets::everything().active;
    if (function.isKernel())
      registers = LUTHIER_TRY(analysis::allocationOf(object, function.symbol())).registers;
    const Cfg &cfg = function.cfg();
    std::vector<Dead> dead(cfg.instrs().size());
    const auto liveness = analysis::Liveness::compute(cfg, summaries.context());
    liveness.walk([&](const Instr &instr, const LiveSets &live) {
      Dead &d = dead[cfg.indexOf(instr)];
      d.active = registers - live.active;
      d.all = d.active - live.inactive;
    });
    const auto waits = analysis::Waits::compute(cfg, object.target(), callWaits.context(function.isKernel()));
    for (uint32_t block = 0; block < cfg.blocks().size(); ++block)
      waits.walk(block,
                 [&](const Instr &instr, const analysis::WaitState &state) { dead[cfg.indexOf(instr)].waits = state; });
    return dead;
  }

  /// "file:line", and the places that it was inlined into; empty when not known or not asked for.
  std::string sourceOf(const Instr &instr) const {
    std::string text;
    if (lines_)
      for (const object::SourceLocation &frame : lines_->framesAt(instr.address()))
        if (frame.line) // 0: the compiler's own
          text += fmt::format("{}{}:{}", text.empty() ? "" : ", inlined at ", frame.file, frame.line);
    return text;
  }

  static unsigned count(const RegSet &set, Reg first, Reg end) {
    unsigned n = 0;
    for (Reg reg = first; reg < end; reg = reg + 1)
      n += set.contains(reg);
    return n;
  }

  static std::string describe(const Dead &d, const isa::Target &target) {
    const unsigned vgprs = count(d.active, Reg::V0, Reg::A0), all = count(d.all, Reg::V0, Reg::A0);
    std::string text =
        fmt::format("dead: {} SGPRs {}, {} VGPRs {}", count(d.active, Reg::S0, Reg::VccLo),
                    shortList(d.active, Reg::S0, Reg::VccLo), vgprs, shortList(d.active, Reg::V0, Reg::A0));
    if (all != vgprs)
      text += fmt::format(" ({} in all lanes)", all);
    if (const std::string acc = shortList(d.active, Reg::A0, Reg::End); !acc.empty())
      text += ", " + acc;
    std::string flight;
    for (unsigned n = 0; n < analysis::kCounters; ++n) {
      const auto counter = static_cast<analysis::Counter>(n);
      if (const unsigned most = d.waits.most(counter))
        flight += fmt::format(" {}({})", toString(counter, target),
                              most == analysis::WaitState::kMany ? "?" : std::to_string(most));
    }
    if (!flight.empty())
      text += "; in flight:" + flight;
    if (d.waits.anyRegister())
      text += " to any register";
    else if (const RegSet busy = d.waits.busy(); !busy.empty())
      text += " to " + shortList(busy, Reg::S0, Reg::End);
    return text;
  }

  /// In front of what was not there before.
  static char markOf(const object::CodeMap::Range *range) {
    if (!range)
      return ' ';
    switch (range->kind) {
    case object::CodeKind::Original:
      return ' ';
    case object::CodeKind::Replacement:
      return '*';
    case object::CodeKind::Fragment:
    case object::CodeKind::SharedHook:
      return '>';
    default:
      return '+';
    }
  }

  /// A line where a piece of the new code begins.
  static std::string headingOf(const object::CodeMap::Range &range) {
    using Kind = object::CodeKind;
    switch (range.kind) {
    case Kind::Entry:
      return "            ; entry: what the hooks need from a wave's start\n";
    case Kind::Island:
      return "            ; island: branches on behalf of others\n";
    case Kind::SharedHook:
      return fmt::format("            ; hook {}\n", range.note);
    case Kind::Replacement:
      return fmt::format("            ; for the instruction at {:#x}\n", range.original);
    case Kind::Original:
      return fmt::format("            ; original from {:#x}\n", range.original);
    default:
      return range.note.empty() ? "" : fmt::format("            ; at {:#x}: {}\n", range.original, range.note);
    }
  }

  void printText(const object::CodeObject &object, const analysis::Function &function, const Listing &listing,
                 const std::vector<Dead> &dead) {
    const object::Symbol &symbol = function.symbol();
    const Cfg &cfg = function.cfg();
    std::string text =
        fmt::format("{}{} {} ({}{}): {} instructions, {} blocks\n", first_ ? "" : "\n",
                    function.isKernel() ? "kernel" : "device function", demangle(symbol.name), object.targetId(),
                    number_ > 1 ? fmt::format(", object {}", number_) : "", cfg.instrs().size(), cfg.blocks().size());
    first_ = false;
    std::string lastLine;
    for (uint32_t n = 0; n < cfg.blocks().size(); ++n) {
      const Block &block = cfg.blocks()[n];
      std::string from;
      for (uint32_t edge : cfg.predecessors(block))
        from += (from.empty() ? "" : ", ") + Listing::label(cfg.edges()[edge].from);
      text += fmt::format("{}:{}{}\n", Listing::label(n),
                          n == 0 ? (from.empty() ? "  ; entry" : "  ; entry, from " + from)
                                 : (from.empty() ? "  ; from nowhere" : "  ; from " + from),
                          block.reachable ? "" : ", unreachable");
      for (uint32_t k = block.first; k <= block.last(); ++k) {
        const Instr &instr = cfg.instrs()[k];
        const object::CodeMap::Range *range = map_.find(instr.address());
        if (range && range->address == instr.address())
          text += headingOf(*range);
        if (std::string line = sourceOf(instr); !line.empty() && line != lastLine) {
          text += fmt::format("; {}\n", line);
          lastLine = std::move(line);
        }
        if (!dead.empty())
          text += fmt::format("                                    ; {}\n", describe(dead[k], object.target()));
        std::string line = fmt::format("{} {:>8x}: {:<23} {}", markOf(range), instr.address(), hexBytes(instr.bytes()),
                                       listing.text(instr));
        if (k == block.last())
          if (const std::string remark = listing.remark(block); !remark.empty())
            line += "  ; " + remark;
        text += line + "\n";
      }
      if (text.size() > 1 << 16) {
        std::cout << text;
        text.clear();
      }
    }
    std::cout << text;
  }

  void printJson(const object::CodeObject &object, const analysis::Function &function, const Listing &listing,
                 const std::vector<Dead> &dead) {
    const object::Symbol &symbol = function.symbol();
    const Cfg &cfg = function.cfg();
    ordered_json json = {{"name", symbol.name},
                         {"demangled", demangle(symbol.name)},
                         {"kind", function.isKernel() ? "kernel" : "device_function"},
                         {"target", object.targetId()},
                         {"object", number_},
                         {"address", symbol.address},
                         {"size", symbol.size},
                         {"blocks", ordered_json::array()}};
    for (uint32_t n = 0; n < cfg.blocks().size(); ++n) {
      const Block &block = cfg.blocks()[n];
      ordered_json row = {{"label", Listing::label(n)}, {"address", cfg.start(block)}, {"reachable", block.reachable}};
      if (const std::string remark = listing.remark(block); !remark.empty())
        row["remark"] = remark;
      row["instructions"] = ordered_json::array();
      for (uint32_t k = block.first; k <= block.last(); ++k) {
        const Instr &instr = cfg.instrs()[k];
        ordered_json line = {{"address", instr.address()},
                             {"bytes", hexBytes(instr.bytes())},
                             {"opcode", instr.mnemonic()},
                             {"text", listing.text(instr)}};
        if (const std::string source = sourceOf(instr); !source.empty())
          line["source"] = source;
        if (const object::CodeMap::Range *range = map_.find(instr.address())) {
          line["kind"] = toString(range->kind);
          line["original"] = range->originalOf(instr.address());
          if (!range->note.empty() && range->address == instr.address())
            line["hook"] = range->note;
        }
        if (!dead.empty()) {
          const Dead &d = dead[k];
          line["dead"] = {{"sgprs", shortList(d.active, Reg::S0, Reg::VccLo)},
                          {"vgprs", shortList(d.active, Reg::V0, Reg::A0)},
                          {"vgprs_all_lanes", shortList(d.all, Reg::V0, Reg::A0)},
                          {"agprs", shortList(d.active, Reg::A0, Reg::End)}};
          line["busy"] = shortList(d.waits.busy(), Reg::S0, Reg::End);
          if (d.waits.anyRegister())
            line["busy_unknown"] = true;
        }
        row["instructions"].push_back(std::move(line));
      }
      json["blocks"].push_back(std::move(row));
    }
    std::cout << (first_ ? "\n" : ",\n") << json.dump(1, ' ', false, ordered_json::error_handler_t::replace);
    first_ = false;
  }

  const DisasmOptions &options_;
  bool first_ = true;
  uint64_t number_ = 0; ///< of the object that is printed
  const object::SourceLines *lines_ = nullptr;
  object::CodeMap map_; ///< empty for code that has not been rewritten
  std::map<std::string, analysis::Budget> budgets_;
  std::map<std::string, uint64_t> kernels_;
};

} // namespace

void addDisasmCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("disasm", "Disassemble kernels and device functions");
  auto options = std::make_shared<DisasmOptions>();
  addCodeFile(*command, options->file);
  CLI::Option *kernel = command->add_option("--kernel", options->kernel, "Only this kernel: its name, or a part of it")
                            ->type_name("NAME")
                            ->check(notEmpty);
  command->add_option("--function", options->function, "Only this device function")
      ->type_name("NAME")
      ->check(notEmpty)
      ->excludes(kernel);
  CLI::Option *liveness = addFlag(*command, "--liveness", options->liveness,
                                  "Show dead registers and loads in flight before each instruction");
  addFlag(*command, "--source", options->source, "Show source lines, if the file has them (hipcc -g)");
  CLI::Option *json = addFlag(*command, "--json", options->json, "Print JSON");
  addFlag(*command, "--liveness-summary", options->summary,
          "Instead of instructions, show how many registers are dead on average, per target")
      ->excludes(liveness)
      ->excludes(json);
  command->footer(
      "NAME may be a symbol, a name as in the source with or without arguments, or a part that only one function has.\n"
      "In files written by `luthier instrument`, inserted code is marked: > the hook, + the code around it, * code "
      "that\n"
      "replaces an instruction of the original. Its address is that of the instruction it belongs to.\n"
      "Dead registers are allocated registers whose values are not needed; VGPRs are counted for the lanes that EXEC "
      "enables.");
  command->callback([options, &invocation] { invocation.exitStatus = Disassembly(*options).run(); });
}

} // namespace luthier::cli
