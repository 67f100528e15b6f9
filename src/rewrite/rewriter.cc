#include "rewrite/rewriter.h"

#include "rewrite/variant_builder.h"

#include <algorithm>

namespace luthier::rewrite {

using analysis::CallKind;
using analysis::Exit;

Result<const analysis::CallGraph *> Rewriter::Impl::callGraph() {
  if (!graph)
    graph = std::make_unique<analysis::CallGraph>(LUTHIER_TRY(analysis::CallGraph::build(*program)));
  return graph.get();
}

Result<Rewriter::Impl::PerWaveSize *> Rewriter::Impl::forWaveSize(unsigned waveSize) {
  PerWaveSize &tools = waveSizes[waveSize];
  if (!tools.glue) {
    tools.decoder = LUTHIER_TRY(isa::Decoder::create(object.target(), waveSize));
    tools.finder = LUTHIER_TRY(isa::FieldFinder::create(object.target(), waveSize));
    tools.glue = LUTHIER_TRY(Glue::create(object.target(), waveSize, *tools.decoder, *tools.finder));
  }
  return &tools;
}

/// The kernel, and all that it can reach. Functions that nobody calls need no call graph, whose making reads
/// everything.
Result<std::vector<const analysis::Function *>> Rewriter::Impl::functionsOf(const object::Symbol &kernel) {
  std::vector<const analysis::Function *> result = {LUTHIER_TRY(program->function(kernel))};
  const bool alone = std::ranges::all_of(result[0]->cfg().blocks(), [](const analysis::Block &block) {
    return block.call == CallKind::None &&
           (block.exit == Exit::None || block.exit == Exit::End || block.exit == Exit::RunsOut);
  });
  if (alone)
    return result;
  const analysis::CallGraph *calls = LUTHIER_TRY(callGraph());
  const uint32_t node = calls->find(kernel);
  if (node == analysis::CallGraph::kNone)
    return makeError("no kernel {}", kernel.name);
  for (uint32_t n : calls->reachable(node))
    if (n != node)
      result.push_back(calls->nodes()[n].function);
  return result;
}

Result<const PreparedFragment *>
Rewriter::Impl::prepare(const Insertion &insertion, const std::vector<ResolvedArgument> &arguments, unsigned waveSize) {
  hook::FragmentRequest request{insertion.hook, {}, insertion.predicate};
  for (const ResolvedArgument &argument : arguments)
    request.sources.push_back(argument.source);
  const std::shared_ptr<const hook::Fragment> fragment =
      LUTHIER_TRY(compiler.compile(insertion.module, request, object.target(), waveSize));
  std::unique_ptr<PreparedFragment> &place = prepared[fragment.get()];
  if (!place)
    place = LUTHIER_TRY(PreparedFragment::make(fragment, *waveSizes[waveSize].finder));
  return place.get();
}

Result<const AssemblyCode *> Rewriter::Impl::assemble(const std::string &text, unsigned waveSize) {
  std::unique_ptr<AssemblyCode> &place = assembled[{text, waveSize}];
  if (!place)
    place = LUTHIER_TRY(AssemblyCode::make(text, object.target(), waveSize));
  return place.get();
}

Rewriter::Rewriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Rewriter::~Rewriter() = default;

Result<std::unique_ptr<Rewriter>> Rewriter::create(const object::CodeObject &object, hook::FragmentCompiler &compiler,
                                                   LaunchBlocks blocks) {
  if (!object.hasTarget())
    return makeError("{}: the target {} is not known", object.origin(), object.targetId());
  std::unique_ptr<Impl> impl(new Impl{object, compiler, blocks, nullptr, nullptr, {}, {}, {}, {}, {}});
  impl->program = LUTHIER_TRY(analysis::Program::create(object));
  impl->overlaps = object.overlaps();
  return std::unique_ptr<Rewriter>(new Rewriter(std::move(impl)));
}

namespace {

/// Hook and place, for messages.
std::string describe(const Insertion &insertion, const object::Symbol &kernel) {
  const std::string_view function = insertion.function ? insertion.function->name : kernel.name;
  std::string text = insertion.assembly       ? "assembly, "
                     : insertion.hook.empty() ? std::string()
                                              : fmt::format("hook {}, ", insertion.hook);
  text += toString(insertion.position);
  if (insertion.position < Position::FunctionEntry)
    text += fmt::format(" at {:#x}", insertion.address);
  if (insertion.position == Position::Edge)
    text += fmt::format(" to {:#x}", insertion.edgeTo);
  return fmt::format("{} of {}", text, function);
}

} // namespace

Result<Rewrite> Rewriter::rewrite(const object::Symbol &kernel, std::span<const Insertion> insertions) {
  // An insertion may turn out to be impossible when part of it is in the code already, an instruction that it replaces
  // is gone, or the entry has been made for it: then all over again, without it.
  std::vector<std::string> refused(insertions.size());
  bool scalarMemory = false;
  for (;;) {
    VariantBuilder builder(*impl_, kernel, insertions, refused, scalarMemory);
    auto result = builder.build();
    if (!result)
      return result.error().withContext(fmt::format("{}: {}", impl_->object.origin(), kernel.name));
    // Where registers were missing: once more, with memory in their stead.
    bool missing = false;
    for (size_t n = 0; n < insertions.size(); ++n)
      missing |= refused[n].empty() && !result->sites[n].rejected.empty();
    if (missing && builder.wantsScalarMemory()) {
      scalarMemory = true;
      continue;
    }
    bool again = false;
    for (size_t n = 0; n < insertions.size(); ++n) {
      SiteAccount &site = result->sites[n];
      again |= site.late;
      if (site.rejected.empty())
        continue;
      refused[n] = site.reason = site.rejected;
      site.rejected = fmt::format("{}: {}", describe(insertions[n], kernel), site.reason);
    }
    if (!again)
      return result;
  }
}

void Rewriter::setForm(HookForm form) { impl_->form = form; }

analysis::Program &Rewriter::program() { return *impl_->program; }

Result<const analysis::CallGraph *> Rewriter::callGraph() { return impl_->callGraph(); }

Result<std::vector<const object::Symbol *>> Rewriter::functionsOf(const object::Symbol &kernel) {
  std::vector<const object::Symbol *> result;
  for (const analysis::Function *function : LUTHIER_TRY(impl_->functionsOf(kernel)))
    result.push_back(&function->symbol());
  return result;
}

} // namespace luthier::rewrite
