#include "block_counters.h"

#include "luthier/vgpu.h"
#include "rewrite/emit.h"
#include "support/file.h"

#include <fmt/core.h>

#include <cstring>

namespace luthier::bench {

std::vector<rewrite::Insertion> blockCounters(Way way, rewrite::Rewriter &rewriter, const object::Symbol &kernel,
                                              const std::shared_ptr<const hook::HookModule> &hooks, bool ones) {
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
        insertion.arguments = {rewrite::Argument::constant(ones ? 1 : block.count)};
      insertions.push_back(std::move(insertion));
    }
  }
  if (way == Way::Wave)
    insertions.push_back(
        {.position = rewrite::Position::KernelExit, .module = hooks, .hook = "flush", .arguments = {}});
  return insertions;
}

namespace {

constexpr uint32_t kGroup = 256, kItems = 4096, kEach = 16, kMatrix = 64;

/// A kernel of vgpu_kernels.hip: sizes of its buffers, in dwords, then its other arguments as bits.
struct Case {
  const char *name;
  std::vector<uint32_t> buffers, values;
};
const Case kCases[] = {
    {"fma_loop", {kItems}, {100, 0x3f7fbe77, 0x3a83126f}},
    {"saxpy", {kItems, kItems}, {0x40000000, kItems - 100}},
    {"matmul", {kMatrix * kMatrix, kMatrix *kMatrix, kMatrix *kMatrix}, {kMatrix}},
    {"reduction", {kItems * kEach, kItems / kGroup}, {kEach}},
    {"nbody", {kItems * 4, kItems * 4}, {512}},
    {"histogram", {kItems * kEach, 256}, {kEach}},
};

struct Run {
  uint64_t instructions = 0, total = 0;
  std::vector<uint32_t> memory;
};

Result<Run> run(std::span<const std::byte> object, const Case &test) {
  using namespace vgpu;
  const auto gpu = LUTHIER_TRY(VirtualGpu::create({.threads = 1}));
  const auto module = LUTHIER_TRY(gpu->load(object));
  const Kernel *kernel = module->kernel(test.name);
  if (!kernel)
    return makeError("no kernel {}", test.name);
  Arguments arguments;
  std::vector<uint32_t *> buffers;
  uint32_t state = 1;
  for (uint32_t size : test.buffers) {
    uint32_t *buffer = LUTHIER_TRY(gpu->allocate<uint32_t>(size));
    for (uint32_t n = 0; n < size; ++n) // floats around 1, which are good integers too
      buffer[n] = 0x3f000000 | ((state = state * 1664525 + 1013904223) >> 9);
    buffers.push_back(buffer);
    arguments.add(buffer);
  }
  for (uint32_t value : test.values)
    arguments.add(value);
  const auto report =
      LUTHIER_TRY(gpu->run(*kernel, {.grid = {kItems}, .workgroup = {kGroup}, .count = true}, arguments));
  Run result{.instructions = report.instructions.waves, .total = 0, .memory = {}};
  if (const auto total = module->variable("total"))
    memcpy(&result.total, reinterpret_cast<const void *>(total->address), sizeof result.total);
  for (size_t n = 0; n < buffers.size(); ++n)
    result.memory.insert(result.memory.end(), buffers[n], buffers[n] + test.buffers[n]);
  return result;
}

} // namespace

Result<Executed> executeBlockCounters(const std::string &kernelsFile, const std::string &callsFile,
                                      const std::shared_ptr<const hook::HookModule> &hooks) {
  const std::string bytes = LUTHIER_TRY(readFile(kernelsFile)), calls = LUTHIER_TRY(readFile(callsFile));
  const auto object = LUTHIER_TRY(object::CodeObject::parse(std::as_bytes(std::span(bytes)), kernelsFile));
  hook::FragmentCompiler compiler({.cache = {}});
  Executed sum;
  fmt::print("executed on the virtual GPU\n  {:<12} {:>10} {:>10} {:>18} {:>18} {:>18}\n", "kernel", "native", "visits",
             "memory, per visit", "registers", "call");
  for (const Case &test : kCases) {
    const object::Symbol *kernel = object.find(test.name);
    if (!kernel)
      return makeError("{} has no kernel {}", kernelsFile, test.name);
    const auto with = [&](const std::vector<rewrite::Insertion> &insertions,
                          rewrite::Rewriter &rewriter) -> Result<Run> {
      const rewrite::Rewrite rewritten = LUTHIER_TRY(rewriter.rewrite(*kernel, insertions));
      const auto merged = LUTHIER_TRY(rewrite::emitMerged(object, {&rewritten.variant, 1}));
      return run(merged, test);
    };
    const auto rewriter = LUTHIER_TRY(rewrite::Rewriter::create(object, compiler, rewrite::LaunchBlocks::Variables));
    const auto counters = [&](Way way, bool ones = false) {
      return blockCounters(way, *rewriter, *kernel, hooks, ones);
    };
    const Run native = LUTHIER_TRY(run(std::as_bytes(std::span(bytes)), test));
    const Run memory = LUTHIER_TRY(with(counters(Way::Memory), *rewriter));
    const Run wave = LUTHIER_TRY(with(counters(Way::Wave), *rewriter));
    const Run ones = LUTHIER_TRY(with(counters(Way::Wave, true), *rewriter));
    const Run ends = LUTHIER_TRY(with({counters(Way::Wave).back()}, *rewriter));
    const Run called = LUTHIER_TRY(run(std::as_bytes(std::span(calls)), test));
    if (memory.memory != native.memory || wave.memory != native.memory)
      return makeError("{}: an instrumented run has other results", test.name);
    if (wave.total != native.instructions)
      return makeError("{}: the hooks counted {} instructions, the virtual GPU {}", test.name, wave.total,
                       native.instructions);
    if (ones.total != memory.total || !memory.total)
      return makeError("{}: {} blocks counted in registers, {} in memory", test.name, ones.total, memory.total);
    const auto per = [](uint64_t more, uint64_t less, uint64_t visits) { return double(more - less) / double(visits); };
    fmt::print("  {:<12} {:>10} {:>10} {:>18.2f} {:>8.2f} ({:>4.2f} all) {:>18.2f}\n", test.name, native.instructions,
               memory.total, per(memory.instructions, native.instructions, memory.total),
               per(wave.instructions, ends.instructions, memory.total),
               per(wave.instructions, native.instructions, memory.total),
               per(called.instructions, native.instructions, called.total));
    sum.native += native.instructions;
    sum.visits += memory.total;
    sum.memory += memory.instructions;
    sum.wave += wave.instructions;
    sum.waveEnds += ends.instructions - native.instructions;
    sum.calls += called.instructions - native.instructions;
    sum.called += called.total;
  }
  return sum;
}

} // namespace luthier::bench
