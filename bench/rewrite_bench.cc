// rewrite_bench: what it costs to rewrite kernels, and what rewritten kernels cost.
//
// Rewrites every kernel of a library for one target, several ways: not at all (identity), with a counter in memory at
// every block, with a counter in registers at every block. Prints failures, time over that which LLVM takes to
// disassemble the same bytes (both on one core, kernel by kernel in turns), instructions per site, growth of code and
// resources. Then executes kernels on the virtual GPU: instructions per visit of a block counter, beside what a call
// costs.
//
// Limits stand behind the figures that have one. Ends with 1 if one is missed, or if anything fails.
//
//   rewrite_bench [FILE] [--target T] [--hooks X.bc] [--no-limits] [--no-execution]

#include "block_counters.h"
#include "isa/llvm_mc.h"
#include "object/container.h"
#include "rewrite/emit.h"
#include "rewrite/rewriter.h"
#include "support/file.h"
#include "support/thread.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <map>

using namespace luthier;

namespace {

void disassemble(const isa::LlvmMc &mc, std::span<const uint8_t> bytes, uint64_t address) {
  llvm::MCInst inst;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t size = 0;
    inst.clear();
    if (!mc.decode(bytes.subspan(at), address + at, inst, size))
      break;
    at += size;
  }
}

using bench::Way;
constexpr std::pair<Way, const char *> kWays[] = {
    {Way::Identity, "identity"}, {Way::Memory, "counter in memory"}, {Way::Wave, "counter in registers"}};

struct Totals {
  uint64_t kernels = 0, failures = 0, sites = 0, rejected = 0, siteInstructions = 0, instructions = 0, inserted = 0;
  uint64_t sameVgprs = 0, sameOccupancy = 0, bytesBefore = 0, bytesAfter = 0, saved = 0, waits = 0, spilled = 0;
  double llvm = 0, seconds = 0, first = 0;
  std::map<std::string, uint64_t> reasons;
};

void run(Way way, const object::CodeObject &object, hook::FragmentCompiler &compiler,
         const std::shared_ptr<const hook::HookModule> &hooks, Totals &totals) {
  const auto mc = isa::LlvmMc::create(object.target(), object.target().waveSize);
  double start = threadSeconds();
  auto rewriter = rewrite::Rewriter::create(object, compiler, rewrite::LaunchBlocks::Variables);
  totals.seconds += threadSeconds() - start;
  if (!mc || !rewriter) {
    ++totals.failures;
    return;
  }
  std::vector<rewrite::Variant> variants;
  for (const object::Symbol &kernel : object.kernels()) {
    if (const auto bytes = object.code(kernel)) {
      start = threadSeconds();
      disassemble(**mc, *bytes, kernel.address);
      totals.llvm += threadSeconds() - start;
    }
    const double compiling = compiler.statistics().compileSeconds;
    start = threadSeconds();
    const auto insertions = bench::blockCounters(way, **rewriter, kernel, hooks);
    auto result = (*rewriter)->rewrite(kernel, insertions);
    const double took = threadSeconds() - start, first = compiler.statistics().compileSeconds - compiling;
    totals.seconds += took - first;
    totals.first += first;
    ++totals.kernels;
    if (!result) {
      ++totals.failures;
      if (totals.failures <= 10)
        fmt::print(stderr, "{}\n", result.error().message());
      continue;
    }
    const rewrite::Variant &variant = result->variant;
    for (size_t n = 0; n < insertions.size(); ++n) {
      const rewrite::SiteAccount &site = result->sites[n];
      if (insertions[n].position != rewrite::Position::BlockEntry)
        continue;
      ++totals.sites;
      totals.rejected += !site.placed;
      if (!site.placed)
        ++totals.reasons[site.reason];
      totals.siteInstructions += site.instructions;
      totals.saved += site.saved;
      totals.waits += site.waits;
    }
    totals.instructions += result->originalInstructions;
    totals.inserted += result->insertedInstructions;
    totals.sameVgprs += variant.before.vgprs == variant.after.vgprs;
    totals.sameOccupancy += variant.before.wavesPerSimd == variant.after.wavesPerSimd;
    totals.spilled += variant.after.scratch != variant.before.scratch;
    totals.bytesBefore += variant.before.codeBytes;
    totals.bytesAfter += variant.after.codeBytes;
    variants.push_back(std::move(result->variant));
  }
  start = threadSeconds();
  if (const auto merged = rewrite::emitMerged(object, variants); !merged) {
    ++totals.failures;
    fmt::print(stderr, "{}\n", merged.error().message());
  }
  totals.seconds += threadSeconds() - start;
}

/// Figures beside what they may be at most or must be at least.
class Limits {
public:
  explicit Limits(bool on) : on_(on) {}
  std::string atMost(double value, double limit) { return judged(value <= limit, "at most", limit); }
  std::string atLeast(double value, double limit) { return judged(value >= limit, "at least", limit); }
  bool missed() const { return missed_; }

private:
  std::string judged(bool good, const char *how, double limit) {
    if (!on_)
      return {};
    missed_ |= !good;
    return fmt::format(" ({} {}{})", how, limit, good ? "" : ": MISSED");
  }
  bool on_, missed_ = false;
};

void print(const char *name, const Totals &t, Limits &limits) {
  const auto share = [](uint64_t part, uint64_t all) { return all ? 100.0 * double(part) / double(all) : 0; };
  fmt::print("{}\n", name);
  fmt::print("  kernels {}, failures {}, sites {}, rejected {}\n", t.kernels, t.failures, t.sites, t.rejected);
  for (const auto &[reason, count] : t.reasons)
    fmt::print("    {} x {}\n", count, reason);
  const double ratio = t.seconds / t.llvm;
  fmt::print("  seconds {:.3f}, LLVM {:.3f}, ratio {:.2f}{}; compiling hooks {:.3f}\n", t.seconds, t.llvm, ratio,
             limits.atMost(ratio, 3), t.first);
  if (t.sites)
    fmt::print("  instructions per site {:.2f}; registers saved {}, sites with a wait {}\n",
               double(t.siteInstructions) / double(t.sites - t.rejected), t.saved, t.waits);
  const double vgprs = share(t.sameVgprs, t.kernels), occupancy = share(t.sameOccupancy, t.kernels);
  fmt::print("  kernels with the same VGPRs {:.1f}%{}, the same occupancy {:.1f}%{}, more scratch {}\n", vgprs,
             limits.atLeast(vgprs, 90), occupancy, limits.atLeast(occupancy, 90), t.spilled);
  fmt::print("  instructions {} + {}, bytes {} -> {} ({:.2f} times)\n", t.instructions, t.inserted, t.bytesBefore,
             t.bytesAfter, double(t.bytesAfter) / double(t.bytesBefore));
  fflush(stdout);
}

bool printExecuted(const std::shared_ptr<const hook::HookModule> &hooks, Limits &limits) {
  const auto executed = bench::executeBlockCounters(REWRITE_BENCH_KERNELS, REWRITE_BENCH_CALLS, hooks);
  if (!executed) {
    fmt::print(stderr, "{}\n", executed.error().message());
    return false;
  }
  const bench::Executed &e = *executed;
  const auto per = [](uint64_t instructions, uint64_t visits) { return double(instructions) / double(visits); };
  const double memory = per(e.memory - e.native, e.visits), wave = per(e.wave - e.native - e.waveEnds, e.visits),
               call = per(e.calls, e.called);
  fmt::print(
      "  instructions per visit: counter in memory {:.2f}{}, in registers {:.2f}{} ({:.2f} with start and end of "
      "waves), a call {:.2f}\n",
      memory, limits.atMost(memory, 12), wave, limits.atMost(wave, 4), per(e.wave - e.native, e.visits), call);
  return true;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("What it costs to rewrite the kernels of a library.");
  std::string file = "/usr/lib/x86_64-linux-gnu/librocrand.so.1", target = "gfx90a:xnack-",
              hooksFile = REWRITE_BENCH_HOOKS;
  bool noLimits = false, noExecution = false;
  app.add_option("FILE", file, "library, bundle or code object")->capture_default_str();
  app.add_option("--target", target, "kernels of this target; without features, with whatever features")
      ->capture_default_str();
  app.add_option("--hooks", hooksFile)->capture_default_str();
  app.add_flag("--no-limits", noLimits, "judge failures only");
  app.add_flag("--no-execution", noExecution, "do not run anything on the virtual GPU");
  CLI11_PARSE(app, argc, argv);

  const auto fail = [](const Error &error) {
    fmt::print(stderr, "{}\n", error.message());
    return 1;
  };
  const auto text = readFile(hooksFile);
  if (!text)
    return fail(text.error());
  const auto hooks = hook::HookModule::load(std::as_bytes(std::span(*text)), hooksFile);
  if (!hooks)
    return fail(hooks.error());
  auto container = object::Container::open(file);
  if (!container)
    return fail(container.error());
  uint64_t failures = 0;
  Limits limits(!noLimits);
  for (const auto &[way, name] : kWays) {
    hook::FragmentCompiler compiler({.cache = {}});
    Totals totals;
    for (const object::ImageGroup &group : container->groups()) {
      const auto images = container->images(group);
      if (!images)
        return fail(images.error());
      for (const object::Image &image : *images)
        if (const auto object = image.codeObject();
            object && (object->targetId() == target || object->targetId().starts_with(target + ":")))
          run(way, *object, compiler, *hooks, totals);
      container->forget(group);
    }
    if (!totals.kernels)
      return fail(makeError("{}: no kernels for {}; `luthier inspect` lists what there is", file, target));
    print(name, totals, limits);
    failures += totals.failures + totals.rejected;
  }
  if (!noExecution)
    failures += !printExecuted(*hooks, limits);
  return failures != 0 || limits.missed();
}
