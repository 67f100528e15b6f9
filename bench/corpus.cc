// corpus: every kernel and function of a library, for all its targets: decode, control flow, liveness.
//
// Prints per target the number of kernels and instructions, failures, seconds, and how the time compares with that
// which LLVM takes to disassemble the same bytes, both on one core. "Plain" is MCDisassembler::getInstruction alone,
// without printing, which is the least that any reader of this code has to pay. Work is done function by function and
// the two are timed in turns, so that neither profits from warm caches or a quieter machine.
//
// --lint checks them as `luthier lint` does, too.
//
//   corpus FILE [--target T] [--budget] [--lint] [--repeat N]

#include "analysis/budget.h"
#include "analysis/interprocedural.h"
#include "analysis/lint.h"
#include "analysis/program.h"
#include "analysis/scalar_values.h"
#include "isa/llvm_mc.h"
#include "object/container.h"
#include "support/thread.h"

#include <fmt/core.h>

#include <cstring>
#include <map>
#include <string>

using namespace luthier;

namespace {

struct Options {
  std::string file;
  std::optional<std::string> target;
  bool budget = false, lint = false;
  unsigned repeat = 1;
};

struct Totals {
  uint64_t objects = 0, kernels = 0, functions = 0, instructions = 0, bytes = 0, blocks = 0, failures = 0;
  uint64_t unknownExits = 0, indirectCalls = 0, directCalls = 0;
  double llvm = 0, decode = 0, analysis = 0;
  uint64_t findings = 0, gaps = 0;
  double lint = 0;
  analysis::Budget budget;
};

/// Instructions that LLVM finds; the work whose time is the unit.
uint64_t plainLlvm(const isa::LlvmMc &mc, std::span<const uint8_t> bytes, uint64_t address) {
  uint64_t count = 0;
  llvm::MCInst inst;
  for (size_t at = 0; at < bytes.size(); ++count) {
    uint64_t size = 0;
    inst.clear();
    if (!mc.decode(bytes.subspan(at), address + at, inst, size))
      break;
    at += size;
  }
  return count;
}

void analyse(const object::CodeObject &object, const Options &options, Totals &totals) {
  const auto fail = [&](std::string_view name, const std::string &why) {
    if (++totals.failures <= 10)
      fmt::print(stderr, "{}: {}: {}\n", object.origin(), name, why);
  };
  auto program = analysis::Program::create(object);
  if (!program) {
    fail("", program.error().message());
    return;
  }
  std::map<unsigned, std::unique_ptr<isa::LlvmMc>> plain;
  analysis::CallSummaries summaries(**program);
  for (const object::Symbol *symbol : (*program)->functions()) {
    const auto bytes = object.code(*symbol);
    const auto decoder = (*program)->decoder(*symbol);
    unsigned waveSize = object.target().waveSize;
    if (symbol->kind == object::SymbolKind::Kernel)
      if (const auto descriptor = object.descriptor(*symbol))
        waveSize = descriptor->waveSize(object.target());
    auto &mc = plain[waveSize];
    if (!mc)
      if (auto made = isa::LlvmMc::create(object.target(), waveSize))
        mc = *std::move(made);
    if (!bytes || !decoder || !mc) {
      fail(symbol->name, !bytes ? bytes.error().message() : !decoder ? decoder.error().message() : "no LLVM");
      continue;
    }

    auto start = threadSeconds();
    const uint64_t plainCount = plainLlvm(*mc, *bytes, symbol->address);
    totals.llvm += threadSeconds() - start;

    start = threadSeconds();
    auto function = analysis::Function::decode(**decoder, object, *symbol, (*program)->callees());
    const auto decoded = threadSeconds();
    totals.decode += decoded - start;
    if (!function) {
      fail(symbol->name, function.error().message());
      continue;
    }
    const analysis::Cfg &cfg = (*function)->cfg();
    const bool calls = analysis::ScalarValues::needed(cfg.instrs());
    const auto liveness = analysis::Liveness::compute(cfg, calls ? summaries.context() : analysis::LivenessContext());
    totals.analysis += threadSeconds() - decoded;

    if (const auto fine = analysis::verify(cfg); !fine)
      fail(symbol->name, fine.error().message());
    if (plainCount < cfg.instrs().size())
      fail(symbol->name, "more instructions than LLVM sees");
    ++(symbol->kind == object::SymbolKind::Kernel ? totals.kernels : totals.functions);
    totals.instructions += cfg.instrs().size();
    totals.blocks += cfg.blocks().size();
    totals.bytes += bytes->size();
    for (const analysis::Block &block : cfg.blocks()) {
      totals.unknownExits += block.exit == analysis::Exit::Unknown;
      totals.indirectCalls += block.call == analysis::CallKind::Indirect;
      totals.directCalls += block.call == analysis::CallKind::Direct;
    }
    if (options.budget && symbol->kind == object::SymbolKind::Kernel)
      if (const auto allocation = analysis::allocationOf(object, *symbol))
        totals.budget +=
            analysis::measure(*allocation, liveness, analysis::Waits::compute(cfg, object.target(), {.kernel = true}));
  }
  ++totals.objects;
  if (!options.lint)
    return;
  const auto start = threadSeconds();
  const auto report = analysis::lint(**program);
  totals.lint += threadSeconds() - start;
  totals.findings += report ? report->findings.size() : 0;
  totals.gaps += report ? report->gaps.size() : 1;
}

void print(const std::string &target, const Totals &t, const Options &options) {
  const double ours = t.decode + t.analysis;
  fmt::print("{:<16} {:>8} {:>9} {:>12} {:>10} {:>8} {:>9.2f} {:>9.2f} {:>6.2f}\n", target, t.kernels, t.functions,
             t.instructions, t.blocks, t.failures, ours, t.llvm, t.llvm > 0 ? ours / t.llvm : 0);
  if (options.lint)
    fmt::print("{:<16} lint: {} findings, {} functions not or partly checked, {:.2f} s, {:.2f} times LLVM, {:.0f} "
               "kernels a second\n",
               "", t.findings, t.gaps, t.lint, t.llvm > 0 ? t.lint / t.llvm : 0,
               t.lint > 0 ? static_cast<double>(t.kernels) / t.lint : 0);
  if (options.budget && t.budget.points) {
    const auto points = static_cast<double>(t.budget.points);
    fmt::print(
        "{:<16} dead per point: {:.1f} SGPRs, {:.1f} VGPRs in active lanes, {:.1f} in all; with 4 SGPRs and 2 VGPRs: "
        "{:.1f}% of points dead, {:.1f}% free of loads in flight; not set up at entry: {}\n",
        "", static_cast<double>(t.budget.deadSgprs) / points, static_cast<double>(t.budget.deadVgprs) / points,
        static_cast<double>(t.budget.deadVgprsWave) / points, 100.0 * static_cast<double>(t.budget.enough) / points,
        100.0 * static_cast<double>(t.budget.enoughFree) / points, t.budget.undefinedAtEntry);
  }
}

int run(const Options &options) {
  const auto container = object::Container::open(options.file);
  if (!container) {
    fmt::print(stderr, "{}\n", container.error().message());
    return 1;
  }
  std::map<std::string, Totals> byTarget;
  const auto begin = threadSeconds();
  uint64_t failures = 0;
  for (unsigned n = 0; n < options.repeat; ++n)
    for (const object::ImageGroup &group : container->groups()) {
      const auto images = container->images(group);
      if (!images) {
        fmt::print(stderr, "{}\n", images.error().message());
        return 1;
      }
      for (const object::Image &image : *images) {
        const auto object = image.codeObject();
        if (!object) {
          fmt::print(stderr, "{}\n", object.error().message());
          ++failures;
          continue;
        }
        if (options.target && object->targetId() != *options.target &&
            (!object->hasTarget() || object->target().name != *options.target))
          continue;
        analyse(*object, options, byTarget[object->targetId()]);
      }
      container->forget(group);
    }
  fmt::print("{:<16} {:>8} {:>9} {:>12} {:>10} {:>8} {:>9} {:>9} {:>6}\n", "target", "kernels", "functions",
             "instructions", "blocks", "failures", "seconds", "LLVM", "ratio");
  Totals all;
  for (const auto &[target, totals] : byTarget) {
    print(target, totals, options);
    all.kernels += totals.kernels;
    all.functions += totals.functions;
    all.instructions += totals.instructions;
    all.blocks += totals.blocks;
    all.decode += totals.decode;
    all.analysis += totals.analysis;
    all.llvm += totals.llvm;
    all.failures += totals.failures;
    all.lint += totals.lint;
    all.findings += totals.findings;
    all.gaps += totals.gaps;
    all.unknownExits += totals.unknownExits;
    all.indirectCalls += totals.indirectCalls;
    all.directCalls += totals.directCalls;
  }
  print("all", all, {.file = {}, .target = {}, .lint = options.lint});
  fmt::print("calls: {} direct, {} indirect; jumps to unknown places: {}\n", all.directCalls, all.indirectCalls,
             all.unknownExits);
  fmt::print("of our seconds, decoding and control flow {:.2f}, liveness {:.2f}; {:.1f} s in all with checks\n",
             all.decode, all.analysis, threadSeconds() - begin);
  return failures + all.failures ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  for (int n = 1; n < argc; ++n) {
    const std::string_view arg = argv[n];
    if (arg == "--target" && n + 1 < argc)
      options.target = argv[++n];
    else if (arg == "--budget")
      options.budget = true;
    else if (arg == "--lint")
      options.lint = true;
    else if (arg == "--repeat" && n + 1 < argc)
      options.repeat = static_cast<unsigned>(std::stoul(argv[++n]));
    else if (options.file.empty() && !arg.starts_with("-"))
      options.file = arg;
    else {
      options.file.clear();
      break;
    }
  }
  if (options.file.empty()) {
    fmt::print(stderr, "usage: corpus FILE [--target T] [--budget] [--lint] [--repeat N]\n");
    return 2;
  }
  return run(options);
}
