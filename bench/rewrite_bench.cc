// rewrite_bench: what it costs to rewrite kernels, and what rewritten kernels cost.
//
// Rewrites every kernel of a library for one target, several ways: not at all (identity), with a counter in memory at
// every block, with a counter in registers at every block. Prints failures, time over that which LLVM takes to
// disassemble the same bytes (both on one core, function by function in turns), instructions per visit, growth of code
// and resources.
//
//   rewrite_bench [FILE] [--target T] [--hooks X.bc]

#include "isa/llvm_mc.h"
#include "object/container.h"
#include "rewrite/emit.h"
#include "rewrite/rewriter.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <fstream>
#include <iterator>
#include <map>
#include <time.h>

using namespace luthier;

namespace {

/// Time that this thread spends on a core: what others do on the machine does not count.
double now() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

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

enum class Way { Identity, Memory, Wave };
constexpr std::pair<Way, const char *> kWays[] = {
    {Way::Identity, "identity"}, {Way::Memory, "counter in memory"}, {Way::Wave, "counter in registers"}};

struct Totals {
  uint64_t kernels = 0, failures = 0, sites = 0, rejected = 0, siteInstructions = 0, instructions = 0, inserted = 0;
  uint64_t sameVgprs = 0, sameOccupancy = 0, bytesBefore = 0, bytesAfter = 0, saved = 0, waits = 0, spilled = 0;
  double llvm = 0, seconds = 0, first = 0;
  std::map<std::string, uint64_t> reasons;
};

std::vector<rewrite::Insertion> insertionsFor(Way way, rewrite::Rewriter &rewriter, const object::Symbol &kernel,
                                              const std::shared_ptr<const hook::HookModule> &hooks) {
  std::vector<rewrite::Insertion> insertions;
  if (way == Way::Identity)
    return insertions;
  const auto functions = rewriter.functionsOf(kernel);
  if (!functions)
    return insertions;
  for (const object::Symbol *symbol : *functions) {
    const auto function = rewriter.program().function(*symbol);
    if (!function)
      continue;
    for (const analysis::Block &block : (*function)->cfg().blocks()) {
      rewrite::Insertion insertion{.position = rewrite::Position::BlockEntry,
                                   .function = symbol,
                                   .address = (*function)->cfg().start(block),
                                   .module = hooks,
                                   .hook = way == Way::Memory ? "countInVariable" : "countInWave",
                                   .arguments = {}};
      if (way == Way::Wave)
        insertion.arguments = {rewrite::Argument::constant(block.count)};
      insertions.push_back(std::move(insertion));
    }
  }
  if (way == Way::Wave)
    insertions.push_back(
        {.position = rewrite::Position::KernelExit, .module = hooks, .hook = "flush", .arguments = {}});
  return insertions;
}

void run(Way way, const object::CodeObject &object, hook::FragmentCompiler &compiler,
         const std::shared_ptr<const hook::HookModule> &hooks, Totals &totals) {
  const auto mc = isa::LlvmMc::create(object.target(), object.target().waveSize);
  double start = now();
  auto rewriter = rewrite::Rewriter::create(object, compiler, rewrite::LaunchBlocks::Variables);
  totals.seconds += now() - start;
  if (!mc || !rewriter) {
    ++totals.failures;
    return;
  }
  std::vector<rewrite::Variant> variants;
  for (const object::Symbol &kernel : object.kernels()) {
    if (const auto bytes = object.code(kernel)) {
      start = now();
      disassemble(**mc, *bytes, kernel.address);
      totals.llvm += now() - start;
    }
    const double compiling = compiler.statistics().compileSeconds;
    start = now();
    const auto insertions = insertionsFor(way, **rewriter, kernel, hooks);
    auto result = (*rewriter)->rewrite(kernel, insertions);
    const double took = now() - start, first = compiler.statistics().compileSeconds - compiling;
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
  start = now();
  if (const auto merged = rewrite::emitMerged(object, variants); !merged) {
    ++totals.failures;
    fmt::print(stderr, "{}\n", merged.error().message());
  }
  totals.seconds += now() - start;
}

void print(const char *name, const Totals &t) {
  const auto share = [](uint64_t part, uint64_t all) { return all ? 100.0 * double(part) / double(all) : 0; };
  fmt::print("{}\n", name);
  fmt::print("  kernels {}, failures {}, sites {}, rejected {}\n", t.kernels, t.failures, t.sites, t.rejected);
  for (const auto &[reason, count] : t.reasons)
    fmt::print("    {} x {}\n", count, reason);
  fmt::print("  seconds {:.3f}, LLVM {:.3f}, ratio {:.2f}; compiling hooks {:.3f}\n", t.seconds, t.llvm,
             t.seconds / t.llvm, t.first);
  if (t.sites)
    fmt::print("  instructions per site {:.2f}; registers saved {}, sites with a wait {}\n",
               double(t.siteInstructions) / double(t.sites - t.rejected), t.saved, t.waits);
  fmt::print("  kernels with the same VGPRs {:.1f}%, the same occupancy {:.1f}%, more scratch {}\n",
             share(t.sameVgprs, t.kernels), share(t.sameOccupancy, t.kernels), t.spilled);
  fmt::print("  instructions {} + {}, bytes {} -> {} ({:.2f} times)\n", t.instructions, t.inserted, t.bytesBefore,
             t.bytesAfter, double(t.bytesAfter) / double(t.bytesBefore));
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("What it costs to rewrite the kernels of a library.");
  std::string file = "/usr/lib/x86_64-linux-gnu/librocrand.so.1", target = "gfx90a:xnack-",
              hooksFile = REWRITE_BENCH_HOOKS;
  app.add_option("FILE", file, "library, bundle or code object")->capture_default_str();
  app.add_option("--target", target)->capture_default_str();
  app.add_option("--hooks", hooksFile)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::ifstream stream(hooksFile, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const auto hooks = hook::HookModule::load(std::as_bytes(std::span(text)), hooksFile);
  if (!hooks) {
    fmt::print(stderr, "{}\n", hooks.error().message());
    return 1;
  }
  auto container = object::Container::open(file);
  if (!container) {
    fmt::print(stderr, "{}\n", container.error().message());
    return 1;
  }
  uint64_t failures = 0;
  for (const auto &[way, name] : kWays) {
    hook::FragmentCompiler compiler({.cache = {}});
    Totals totals;
    for (const object::ImageGroup &group : container->groups()) {
      const auto images = container->images(group);
      if (!images) {
        fmt::print(stderr, "{}\n", images.error().message());
        return 1;
      }
      for (const object::Image &image : *images)
        if (const auto object = image.codeObject(); object && object->targetId() == target)
          run(way, *object, compiler, *hooks, totals);
      container->forget(group);
    }
    print(name, totals);
    failures += totals.failures + totals.rejected;
  }
  return failures != 0;
}
