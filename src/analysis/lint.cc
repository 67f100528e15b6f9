#include "analysis/lint.h"

#include "analysis/hazards.h"
#include "analysis/issue_rules.h"
#include "analysis/wait_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace luthier::analysis {

namespace {

struct RuleRow {
  std::string_view name, explanation;
};
constexpr RuleRow kRows[kLintRules] = {
    {"wait-read", "A register is read before a wait covers the operation that loads it."},
    {"wait-overwrite", "A register is overwritten before a wait covers the operation that loads it."},
    {"wait-source", "A register is overwritten while an export or GDS operation may still have to read it."},
    {"wait-lds", "LDS is read before a wait covers a load that goes straight to LDS."},
    {"wait-entry", "A function uses registers before it waits for what an unknown caller may have in flight."},
    {"wait-return", "A function returns while a load may be in flight."},
    {"wait-states", "Two instructions are too close to each other."},
    {"clause", "The instructions behind an s_clause cannot form the clause that it announces."},
    {"dual-issue", "The halves of a VOPD instruction cannot be issued together."},
};

LintRule ruleOf(WaitFinding::Kind kind) {
  switch (kind) {
  case WaitFinding::Kind::Read:
    return LintRule::WaitRead;
  case WaitFinding::Kind::Overwritten:
    return LintRule::WaitOverwrite;
  case WaitFinding::Kind::LateSource:
    return LintRule::WaitSource;
  case WaitFinding::Kind::Lds:
    return LintRule::WaitLds;
  case WaitFinding::Kind::Returned:
    return LintRule::WaitReturn;
  }
  return LintRule::WaitRead;
}

std::string listOf(std::span<const RegRange> ranges) {
  std::string text;
  for (const RegRange range : ranges)
    text += (text.empty() ? "" : ", ") + toString(range);
  return text;
}

std::string messageOf(const WaitFinding &finding) {
  const std::string regs = listOf(finding.regs);
  if (!finding.earlier)
    return "registers are used before a wait for what the caller may have in flight";
  switch (finding.kind) {
  case WaitFinding::Kind::Read:
    return fmt::format("{} is read before a wait covers the operation that loads it", regs);
  case WaitFinding::Kind::Overwritten:
    return fmt::format("{} is overwritten before a wait covers the operation that loads it", regs);
  case WaitFinding::Kind::LateSource:
    return fmt::format("{} is overwritten while an operation may still have to read it", regs);
  case WaitFinding::Kind::Lds:
    return "LDS is read before a wait covers a load that goes to LDS, and never behind one";
  case WaitFinding::Kind::Returned:
    return fmt::format("the function returns while {} may still be loaded", regs);
  }
  return "";
}

class Linter {
public:
  explicit Linter(Program &program) : program_(program), target_(program.object().target()) {}

  Result<LintReport> run(const std::function<bool(const object::Symbol &)> &wanted) {
    // Without GLOBAL instructions, compilers use FLAT for global memory and know that it does not go to LDS.
    if (!target_.scratchInstructions)
      return makeError("{}: code for {} cannot be checked: what its FLAT instructions access is not known",
                       program_.object().origin(), target_.name);
    std::vector<const object::Symbol *> kernels, functions;
    std::set<std::pair<uint64_t, uint64_t>> seen;
    for (const object::Symbol *symbol : program_.functions()) {
      const bool kernel = symbol->kind == object::SymbolKind::Kernel;
      if (kernel && wanted && !wanted(*symbol))
        continue;
      if (seen.insert({symbol->address, symbol->size}).second) // aliases
        (kernel ? kernels : functions).push_back(symbol);
    }
    if (functions.empty()) {
      for (const object::Symbol *kernel : kernels)
        // Not kept: a library has more kernels than memory should hold at once.
        if (const auto function = decode(*kernel))
          check(std::vector<const Function *>{function->get()}, {0});
    } else
      checkTogether(kernels, functions, static_cast<bool>(wanted));
    mergeGaps();
    return std::move(report_);
  }

private:
  std::optional<std::unique_ptr<Function>> decode(const object::Symbol &symbol) {
    const auto decoder = program_.decoder(symbol);
    if (!decoder) {
      addGap({&symbol, 0}, decoder.error().message());
      return {};
    }
    auto function = Function::decode(**decoder, program_.object(), symbol, program_.callees());
    if (function)
      return *std::move(function);
    addGap({&symbol, 0}, function.error().message());
    return {};
  }

  /// Kernels and functions that they may call.
  void checkTogether(const std::vector<const object::Symbol *> &kernels,
                     const std::vector<const object::Symbol *> &functions, bool reachableOnly) {
    std::vector<const Function *> all;
    const auto add = [&](const object::Symbol &symbol) {
      if (const auto function = program_.function(symbol))
        all.push_back(*function);
      else
        addGap({&symbol, 0}, function.error().message());
    };
    const auto graph = CallGraph::build(program_); // fails where a function cannot be decoded
    std::set<const object::Symbol *> reachable;
    if (graph && reachableOnly)
      for (const object::Symbol *kernel : kernels)
        for (const uint32_t node : graph->reachable(graph->find(*kernel)))
          reachable.insert(graph->nodes()[node].symbol);
    for (const object::Symbol *kernel : kernels)
      add(*kernel);
    for (const object::Symbol *function : functions)
      if (!graph || !reachableOnly || reachable.contains(function))
        add(*function);
    std::set<uint32_t> unknownCallers;
    for (uint32_t n = 0; n < all.size(); ++n) {
      if (all[n]->isKernel())
        continue;
      const uint32_t node = graph ? graph->find(all[n]->symbol()) : CallGraph::kNone;
      if (node == CallGraph::kNone || graph->nodes()[node].addressTaken || graph->nodes()[node].calledFrom.empty())
        unknownCallers.insert(n);
    }
    check(all, unknownCallers);
  }

  void check(const std::vector<const Function *> &functions, const std::set<uint32_t> &unknownCallers) {
    std::vector<CheckedFunction> checked;
    for (uint32_t n = 0; n < functions.size(); ++n)
      checked.push_back({&functions[n]->cfg(), functions[n]->isKernel(), unknownCallers.contains(n)});
    const WaitReport waits = checkWaits(target_, checked);
    for (const WaitFinding &finding : waits.findings)
      addWait(finding, functions);
    for (const WaitGap &gap : waits.gaps)
      addGap({&functions[gap.function]->symbol(), gap.instr->address()}, gap.why);
    for (const Function *function : functions) {
      ++(function->isKernel() ? report_.kernels : report_.functions);
      report_.instructions += function->instrs().size();
      checkAlone(*function);
    }
  }

  /// What does not depend on other functions.
  void checkAlone(const Function &function) {
    const Cfg &cfg = function.cfg();
    const object::Symbol &symbol = function.symbol();
    const auto place = [&](const Instr *instr) { return instr ? CodePlace{&symbol, instr->address()} : CodePlace(); };
    for (const HazardFinding &finding : findHazards(target_, cfg))
      add({.rule = LintRule::WaitStates,
           .place = place(finding.later),
           .earlier = place(finding.earlier),
           .message = fmt::format("{} is too close behind {}: {} wait state{} between them", finding.later->mnemonic(),
                                  finding.earlier->mnemonic(), finding.found, finding.found == 1 ? "" : "s"),
           .needed = fmt::format("{} wait state{}", finding.wanted, finding.wanted == 1 ? "" : "s")});
    for (const IssueFinding &finding : findClauseErrors(target_, cfg))
      add({.rule = LintRule::Clause,
           .place = place(finding.instr),
           .earlier = place(finding.earlier),
           .message = fmt::format("{}: {}", finding.instr->mnemonic(), finding.why)});
    unsigned waveSize = 32;
    if (function.isKernel())
      if (const auto descriptor = program_.object().descriptor(symbol))
        waveSize = descriptor->waveSize(target_);
    for (const IssueFinding &finding : findDualIssueErrors(target_, waveSize, cfg))
      add({.rule = LintRule::DualIssue, .place = place(finding.instr), .message = finding.why});
  }

  void addWait(const WaitFinding &finding, const std::vector<const Function *> &functions) {
    LintFinding row{.rule = finding.earlier ? ruleOf(finding.kind) : LintRule::WaitEntry,
                    .place = {&functions[finding.function]->symbol(), finding.instr->address()},
                    .message = messageOf(finding)};
    if (finding.earlier)
      row.earlier = {&functions[finding.earlierFunction]->symbol(), finding.earlier->address()};
    if (finding.wait)
      row.wait = {row.place.function, finding.wait->address()};
    bool unordered = false;
    for (const WaitFinding::Need &need : finding.needs) {
      row.needed += fmt::format("{}{}({})", row.needed.empty() ? "" : " ", toString(need.counter, target_), need.most);
      unordered |= need.unordered;
    }
    if (unordered && finding.earlier)
      row.note = "operations are in flight that are done in any order, so that only 0 says anything";
    if (finding.lanesMayDiffer)
      row.note +=
          fmt::format("{}EXEC may be another one at the two instructions: it is harmless if no lane is on at both",
                      row.note.empty() ? "" : "; ");
    // One missing wait may be felt in several places.
    if (finding.earlier)
      for (LintFinding &other : report_.findings)
        if (other.earlier == row.earlier && isWait(other.rule)) {
          other.also.push_back(row.place);
          return;
        }
    add(std::move(row));
  }

  static bool isWait(LintRule rule) { return rule <= LintRule::WaitReturn; }

  void add(LintFinding finding) { report_.findings.push_back(std::move(finding)); }
  void addGap(CodePlace place, std::string why) { report_.gaps.push_back({place, std::move(why)}); }

  void mergeGaps() {
    std::vector<LintGap> merged;
    for (LintGap &gap : report_.gaps) {
      const auto same = std::ranges::find_if(
          merged, [&](const LintGap &g) { return g.place.function == gap.place.function && g.why == gap.why; });
      if (same != merged.end())
        ++same->count;
      else
        merged.push_back(std::move(gap));
    }
    report_.gaps = std::move(merged);
    std::ranges::sort(report_.findings, {},
                      [](const LintFinding &f) { return std::tuple(f.place.function->address, f.place.address); });
  }

  Program &program_;
  const isa::Target &target_;
  LintReport report_;
};

} // namespace

std::string_view toString(LintRule rule) { return kRows[static_cast<unsigned>(rule)].name; }
std::string_view explanation(LintRule rule) { return kRows[static_cast<unsigned>(rule)].explanation; }

Result<LintReport> lint(Program &program, const std::function<bool(const object::Symbol &)> &wanted) {
  return Linter(program).run(wanted);
}

} // namespace luthier::analysis
