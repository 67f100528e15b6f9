// forms_bench: what copied and called hooks cost (rewrite/shared_hook.h).
//
// Hooks of three sizes at 1, 100 and 10,000 places of a kernel of straight code, copied to each place and called from
// there: bytes that the code grows by, seconds of rewriting, live registers saved, and executed instructions per
// visit, as the virtual GPU counts them. Both forms must count as many visits, and the kernel must compute the same.

#include "luthier/vgpu.h"
#include "object/mapped_file.h"
#include "rewrite/emit.h"
#include "rewrite/rewriter.h"
#include "support/file.h"
#include "support/thread.h"

#include <fmt/core.h>

#include <cstring>

using namespace luthier;
using rewrite::HookForm;

namespace {

constexpr uint32_t kItems = 64;

struct Execution {
  uint64_t instructions = 0, visits = 0;
  std::vector<float> out;
};

Result<Execution> execute(vgpu::VirtualGpu &gpu, std::span<const std::byte> file, float *out, float *in) {
  for (uint32_t n = 0; n < kItems + 16; ++n)
    in[n] = static_cast<float>(n) * 0.125f;
  const auto module = LUTHIER_TRY(gpu.load(file));
  vgpu::LaunchOptions launch{.grid = {kItems}, .workgroup = {kItems}};
  launch.count = true;
  const auto running = LUTHIER_TRY(gpu.launch(*module->kernel("straight"), launch, vgpu::Arguments(out, in, 0.5f)));
  const vgpu::LaunchReport report = LUTHIER_TRY(running.wait());
  Execution result{report.instructions.waves, 0, {out, out + kItems}};
  if (const auto visits = module->variable("visits"))
    memcpy(&result.visits, reinterpret_cast<const void *>(visits->address), sizeof result.visits);
  return result;
}

Result<void> run() {
  const std::string bitcode = LUTHIER_TRY(readFile(FORMS_BENCH_HOOKS));
  const auto hooks = LUTHIER_TRY(hook::HookModule::load(std::as_bytes(std::span(bitcode)), FORMS_BENCH_HOOKS));
  const object::MappedFile file = LUTHIER_TRY(object::MappedFile::open(FORMS_BENCH_KERNELS));
  const auto object = LUTHIER_TRY(object::CodeObject::parse(file.bytes(), FORMS_BENCH_KERNELS));
  hook::FragmentCompiler compiler;
  const auto rewriter = LUTHIER_TRY(rewrite::Rewriter::create(object, compiler, rewrite::LaunchBlocks::Variables));
  const object::Symbol &kernel = object.kernels().front();
  std::vector<const Instr *> places;
  for (const Instr &instr : LUTHIER_TRY(rewriter->program().function(kernel))->instrs())
    if (instr.mnemonic().starts_with("v_fma"))
      places.push_back(&instr);
  const auto gpu = LUTHIER_TRY(vgpu::VirtualGpu::create({.target = "gfx90a", .threads = 1}));
  auto *out = LUTHIER_TRY(gpu->allocate<float>(kItems)), *in = LUTHIER_TRY(gpu->allocate<float>(kItems + 16));
  const Execution native = LUTHIER_TRY(execute(*gpu, file.bytes(), out, in));

  fmt::print("{:>8}{:>8}  {:<7}{:>12}{:>14}{:>10}{:>8}{:>22}\n", "hook", "places", "form", "bytes more", "bytes/place",
             "seconds", "saved", "instructions/visit");
  for (const char *hook : {"small", "medium", "large"})
    for (const size_t count : {size_t{1}, size_t{100}, size_t{10000}})
      for (const HookForm form : {HookForm::Inline, HookForm::Shared}) {
        if (count > places.size())
          return makeError("the kernel has {} places, {} are needed", places.size(), count);
        std::vector<rewrite::Insertion> insertions;
        for (size_t n = 0; n < count; ++n)
          insertions.push_back({.position = rewrite::Position::Before,
                                .address = places[n * places.size() / count]->address(),
                                .module = hooks,
                                .hook = hook,
                                .arguments = {rewrite::Argument::operand(0), rewrite::Argument::constant(n)},
                                .form = form});
        LUTHIER_TRY(rewriter->rewrite(kernel, std::span(insertions).first(1))); // hooks are compiled once
        const double start = threadSeconds();
        const rewrite::Rewrite result = LUTHIER_TRY(rewriter->rewrite(kernel, insertions));
        const double seconds = threadSeconds() - start;
        uint64_t saved = 0;
        for (const rewrite::SiteAccount &site : result.sites) {
          saved += site.saved;
          if (!site.placed || site.calls != (form == HookForm::Shared))
            return makeError("a place is not as asked for: {}", site.rejected);
        }
        const auto emitted = LUTHIER_TRY(rewrite::emitMerged(object, {&result.variant, 1}));
        const Execution executed = LUTHIER_TRY(execute(*gpu, emitted, out, in));
        if (executed.visits != count * kItems || executed.out != native.out)
          return makeError("{} at {} places: {} visits of {}, or another result", hook, count, executed.visits,
                           count * kItems);
        const uint64_t grown = result.variant.after.codeBytes - result.variant.before.codeBytes;
        fmt::print("{:>8}{:>8}  {:<7}{:>12}{:>14.1f}{:>10.3f}{:>8}{:>22.2f}\n", hook, count,
                   form == HookForm::Shared ? "shared" : "inline", grown,
                   static_cast<double>(grown) / static_cast<double>(count), seconds, saved,
                   static_cast<double>(executed.instructions - native.instructions) / static_cast<double>(count));
      }
  return {};
}

} // namespace

int main() {
  const auto done = run();
  if (!done)
    fmt::print(stderr, "{}\n", done.error().message());
  return done ? 0 : 1;
}
