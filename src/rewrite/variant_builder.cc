#include "rewrite/variant_builder.h"

#include "analysis/interprocedural.h"
#include "analysis/replays.h"
#include "rewrite/note.h"

#include <algorithm>

namespace luthier::rewrite {

using analysis::CallKind;
using analysis::Exit;

namespace {

uint32_t dwordsOf(const hook::Variable &variable) { return static_cast<uint32_t>((variable.size + 3) / 4); }

} // namespace

Result<ResolvedArgument> VariantBuilder::resolveOne(const Insertion &insertion, size_t n, const Instr &instr) const {
  const hook::Hook &hook = *insertion.module->findHook(insertion.hook);
  auto resolved = resolve(insertion.arguments[n], hook.parameters[n], hook.kind, instr, allocation_.registers, target_);
  if (!resolved)
    return resolved.error().withContext(fmt::format("argument {}", n));
  return resolved;
}

/// Looks at each insertion: is there such a point, do the arguments exist there, does the hook compile.
Result<void> VariantBuilder::prepareInsertions() {
  result_.sites.resize(insertions_.size());
  prepared_.resize(insertions_.size());
  points_.resize(functions_.size());
  for (uint32_t n = 0; n < insertions_.size(); ++n) {
    const Insertion &insertion = insertions_[n];
    const auto prepare = [&]() -> Result<void> {
      if (!refused_[n].empty())
        return makeError("{}", refused_[n]);
      if (insertion.module) {
        const hook::Hook *hook = insertion.module->findHook(insertion.hook);
        if (!hook)
          return makeError("{} has no hook {}", insertion.module->origin(), insertion.hook);
        if (insertion.arguments.size() != hook->parameters.size())
          return makeError("it takes {} arguments, {} are given", hook->parameters.size(), insertion.arguments.size());
        const Instr *instr = instrOf(insertion, functions_);
        if (!instr) { // there is no such point: what follows knows best why
          uint32_t none = 0;
          LUTHIER_TRY(addPoints(insertion, n, functions_, points_, none));
          return makeError("no instruction starts at {:#x}", insertion.address);
        }
        for (size_t a = 0; a < insertion.arguments.size(); ++a)
          prepared_[n].arguments.push_back(LUTHIER_TRY(resolveOne(insertion, a, *instr)));
        if (!insertion.result.empty()) {
          LUTHIER_TRY(checkRegisters(insertion.result, allocation_.registers, target_));
          if (insertion.result.count != hook->result.dwords)
            return makeError("it returns {} bits, {} has {}", 32 * hook->result.dwords, toString(insertion.result),
                             32 * insertion.result.count);
        }
        prepared_[n].fragment =
            LUTHIER_TRY(rewriter_.prepare(insertion, prepared_[n].arguments, tools_->glue->waveSize()));
        if (rewriter_.blocks != LaunchBlocks::Segment && needsRuntime(n))
          return makeError("it calls the host (printf, assertions) or asks for the launch's number: there is nobody to "
                           "answer without Luthier's runtime (luthier run)");
      } else if (insertion.position != Position::Remove && insertion.position != Position::Replace)
        return makeError("no hook is given");
      uint32_t places = 0;
      return addPoints(insertion, n, functions_, points_, places);
    };
    if (const auto done = prepare(); !done)
      result_.sites[n].rejected = done.error().message();
  }
  return {};
}

RegSet VariantBuilder::touched() const {
  RegSet set;
  for (const analysis::Function *function : functions_)
    for (const Instr &instr : function->instrs()) {
      // An indexed access may be said to touch a whole file; it stays within what was allocated.
      for (RegRange range : instr.reads())
        set.insert(range);
      for (RegRange range : instr.writes())
        set.insert(range);
    }
  // VCC and the like count as SGPRs of the kernel only if it uses them, so more may be in use than is sure to be there.
  RegSet sure = allocation_.registers;
  for (unsigned n = 0; n < target_.sgprs && n < descriptor_.sgprs(target_); ++n)
    sure.insert(sgpr(n));
  RegSet used = set & sure;
  for (const Reg reg : {Reg::XnackMaskLo, Reg::XnackMaskHi})
    if (target_.xnackMask && set.contains(reg))
      used.insert(reg);
  return used;
}

/// Registers of the guest that a hook is given; EXEC is there in any case.
RegSet VariantBuilder::guestReads(uint32_t n) const {
  RegSet reads;
  if (!prepared_[n].fragment || !result_.sites[n].rejected.empty())
    return reads;
  for (const ResolvedArgument &argument : prepared_[n].arguments)
    for (const ResolvedArgument::Part &part : argument.parts)
      for (const Word &word : part.words)
        if (!word.constant)
          reads.insert(word.reg);
  for (const hook::Port &port : prepared_[n].fragment->fragment->inputs)
    if (port.kind == hook::Port::Kind::Register)
      reads.insert(port.guest);
  reads.erase({Reg::ExecLo, 2});
  return reads;
}

bool VariantBuilder::needsRuntime(uint32_t n) const {
  return std::ranges::any_of(
             prepared_[n].arguments,
             [](const ResolvedArgument &argument) { return argument.launch && isLaunchArgument(*argument.launch); }) ||
         std::ranges::any_of(prepared_[n].fragment->fragment->inputs, [](const hook::Port &port) {
           return port.kind == hook::Port::Kind::Launch && isLaunchArgument(static_cast<LaunchValue>(port.launch));
         });
}

/// What the hooks ask for that only the start of a wave can give.
EntryNeeds VariantBuilder::entryNeeds() {
  EntryNeeds needs;
  waveOffsets_.clear();
  blockModules_.clear();
  const auto noteVariable = [&](const Insertion &insertion, const hook::Port &port) {
    const auto key = std::pair(insertion.module.get(), uint32_t{port.index});
    if (waveOffsets_.contains(key))
      return;
    const uint32_t dwords = dwordsOf(insertion.module->variables()[port.index]);
    if (dwords > 1 && needs.waveRegisters % 2)
      ++needs.waveRegisters;
    waveOffsets_[key] = needs.waveRegisters;
    needs.waveRegisters += dwords;
  };
  for (size_t n = 0; n < insertions_.size(); ++n) {
    if (!prepared_[n].fragment || !result_.sites[n].rejected.empty())
      continue;
    for (const ResolvedArgument &argument : prepared_[n].arguments)
      if (argument.launch)
        needs.values.insert(*argument.launch);
    for (const hook::Port &port : prepared_[n].fragment->fragment->inputs) {
      if (port.kind == hook::Port::Kind::WaveVariable)
        noteVariable(insertions_[n], port);
      if (port.kind == hook::Port::Kind::Launch)
        needs.values.insert(static_cast<hook::LaunchValue>(port.launch));
      if (port.kind == hook::Port::Kind::LaunchBlock &&
          std::ranges::find(blockModules_, insertions_[n].module) == blockModules_.end())
        blockModules_.push_back(insertions_[n].module);
    }
  }
  needs.launchBlocks = static_cast<unsigned>(blockModules_.size());
  return needs;
}

/// Plans the entry. What there is no room for is refused, kind by kind, until the rest fits.
Result<void> VariantBuilder::planEntry() {
  using Kind = hook::Port::Kind;
  const RegisterPool untouched = *pool_;
  const auto attempt = [&]() -> Result<void> {
    lack_ |= pool_->lack();
    *pool_ = untouched;
    entry_ =
        LUTHIER_TRY(Entry::plan(target_, descriptor_, entryNeeds(), rewriter_.blocks == LaunchBlocks::Segment, *pool_));
    return {};
  };
  auto planned = attempt();
  for (const Kind kind : {Kind::WaveVariable, Kind::LaunchBlock, Kind::Launch}) {
    if (planned)
      return planned;
    for (size_t n = 0; n < insertions_.size(); ++n) {
      if (!prepared_[n].fragment || !result_.sites[n].rejected.empty())
        continue;
      const bool asks =
          std::ranges::find(prepared_[n].fragment->fragment->inputs, kind, &hook::Port::kind) !=
              prepared_[n].fragment->fragment->inputs.end() ||
          (kind == Kind::Launch && std::ranges::any_of(prepared_[n].arguments, [](const ResolvedArgument &argument) {
             return argument.launch.has_value();
           }));
      if (asks)
        result_.sites[n].rejected = planned.error().message();
    }
    planned = attempt();
  }
  return planned;
}

/// Connects a fragment's ports at a place. Arguments of an exit refer to the instruction that is there.
Result<void> VariantBuilder::bind(uint32_t n, const Instr &at, Site &site) {
  const Insertion &insertion = insertions_[n];
  const hook::Fragment &fragment = *prepared_[n].fragment->fragment;
  site.fragment = prepared_[n].fragment;
  const auto fromHome = [&](const hook::Port &port, const Home &home) {
    for (unsigned i = 0; i < port.regs.count; ++i)
      if (home.memory >= 0)
        site.inputs.push_back({.fragment = port.regs.first + i, .memory = home.memory + static_cast<int>(i)});
      else if (home.lanes)
        site.inputs.push_back(
            {.fragment = port.regs.first + i, .guest = home.regs.first, .lane = home.lane + static_cast<int>(i)});
      else
        site.inputs.push_back({.fragment = port.regs.first + i, .guest = home.regs.first + i});
  };
  const auto home = [&](const hook::Port &port) -> Home {
    switch (port.kind) {
    case hook::Port::Kind::WaveVariable:
      return entry_->waveRegisters().from(waveOffsets_.at({insertion.module.get(), port.index}), port.regs.count);
    case hook::Port::Kind::LaunchBlock:
      return entry_->launchBlock(
          static_cast<unsigned>(std::ranges::find(blockModules_, insertion.module) - blockModules_.begin()));
    case hook::Port::Kind::Launch:
      return entry_->valueOf(static_cast<hook::LaunchValue>(port.launch));
    default:
      return {port.guest};
    }
  };
  for (const hook::Port &port : fragment.inputs) {
    if (port.kind == hook::Port::Kind::Register)
      LUTHIER_TRY(checkRegisters(port.guest, allocation_.registers, target_));
    if (port.kind != hook::Port::Kind::Parameter) {
      fromHome(port, home(port));
      continue;
    }
    ResolvedArgument argument = prepared_[n].arguments[port.index];
    if (insertion.arguments[port.index].kind == Argument::Kind::Pc)
      argument = LUTHIER_TRY(resolveOne(insertion, port.index, at));
    if (argument.launch) {
      fromHome(port, entry_->valueOf(*argument.launch));
      continue;
    }
    const auto part = std::ranges::find(argument.parts, port.part, &ResolvedArgument::Part::part);
    if (part == argument.parts.end() || part->words.size() < port.regs.count)
      return makeError("the compiled hook asks for a part of argument {} that it does not have", port.index);
    for (unsigned i = 0; i < port.regs.count; ++i) {
      const Word &word = part->words[i];
      site.inputs.push_back({port.regs.first + i, word.constant, word.value, word.reg, -1});
    }
  }
  for (const hook::Port &port : fragment.outputs) {
    Home to;
    if (port.kind != hook::Port::Kind::Result)
      to = home(port);
    else if (insertion.result.empty())
      continue;
    else
      to = {insertion.result};
    if (to.memory >= 0) {
      for (unsigned i = 0; i < port.regs.count; ++i)
        site.outputs.push_back({.fragment = port.regs.first + i, .memory = to.memory + static_cast<int>(i)});
      continue;
    }
    if (to.lanes) {
      for (unsigned i = 0; i < port.regs.count; ++i)
        site.outputs.push_back({port.regs.first + i, to.regs.first, to.lane + static_cast<int>(i)});
      continue;
    }
    if (port.kind == hook::Port::Kind::Register)
      LUTHIER_TRY(checkRegisters(port.guest, allocation_.registers, target_));
    for (unsigned i = 0; i < port.regs.count; ++i) {
      const Reg guest = to.regs.first + i;
      if (isVector(port.regs.first) && !isVector(guest) && !isAccumulator(guest))
        return makeError("a value per lane cannot be put into {}", toString(guest));
      if ((guest == Reg::ExecLo || guest == Reg::ExecHi) && fragment.kind == hook::HookKind::Lane)
        return makeError("only a hook that runs once per wave can set EXEC");
      site.outputs.push_back({port.regs.first + i, guest, -1});
    }
  }
  return {};
}

uint32_t VariantBuilder::variableNumber(const std::shared_ptr<const hook::HookModule> &module, uint32_t variable) {
  std::vector<UsedVariable> &used = result_.variant.variables;
  const UsedVariable wanted{module, variable};
  const auto found = std::ranges::find(used, wanted);
  if (found != used.end())
    return static_cast<uint32_t>(found - used.begin());
  used.push_back(wanted);
  return static_cast<uint32_t>(used.size() - 1);
}

void VariantBuilder::relocate(uint32_t n, int64_t behind) {
  const hook::Fragment &fragment = *prepared_[n].fragment->fragment;
  const auto size = static_cast<int64_t>(fragment.bytes.size());
  for (const hook::FragmentRelocation &relocation : fragment.relocations)
    layout_->addRelocation({.high = relocation.high,
                            .base = CodeRelocation::Base::Variable,
                            .variable = variableNumber(insertions_[n].module, relocation.variable),
                            .addend = static_cast<uint64_t>(relocation.addend)},
                           relocation.offset - size - behind);
}

Result<void> VariantBuilder::writeFunctions(Layout &layout, Placer &placer) {
  std::map<uint64_t, Layout::Label> entries;
  for (const analysis::Function *function : functions_)
    entries.try_emplace(function->symbol().address, layout.newLabel());
  VariantContext context{.glue = *tools_->glue,
                         .layout = layout,
                         .replays = analysis::mayReplay(object_),
                         .readsFlags = false,
                         .writeBack = spill_.scalars.has_value(),
                         .placer = placer,
                         .bind = [this](uint32_t n, const Instr &at, Site &site) { return bind(n, at, site); },
                         .relocate = [this](uint32_t n, int64_t behind) { relocate(n, behind); },
                         .entryOf = [&](uint64_t address) -> std::optional<Layout::Label> {
                           const auto found = entries.find(address);
                           return found == entries.end() ? std::nullopt : std::optional(found->second);
                         },
                         .pointedTo = {},
                         .accounts = result_.sites,
                         .describe = [this](uint32_t n, const Site &site,
                                            const PlacedSite &placed) { return noteOf(insertions_[n], site, placed); },
                         .notes = result_.variant.notes};
  std::optional<analysis::ProgramLiveness> across;
  analysis::CallWaits callWaits(*rewriter_.program);
  const bool anywhere = std::ranges::any_of(points_, [](const FunctionPoints &p) { return !p.empty(); });
  if (calls_) {
    const analysis::CallGraph *graph = LUTHIER_TRY(rewriter_.callGraph());
    for (uint32_t n : graph->addressTaken())
      if (const auto found = entries.find(graph->nodes()[n].symbol->address); found != entries.end())
        if (graph->nodes()[n].symbol->kind == object::SymbolKind::DeviceFunction)
          context.pointedTo.emplace_back(found->first, found->second);
    if (anywhere)
      across = LUTHIER_TRY(analysis::ProgramLiveness::compute(*rewriter_.program, *graph, kernel_));
  }
  std::vector<RegSet> reads;
  for (uint32_t n = 0; n < insertions_.size(); ++n)
    reads.push_back(guestReads(n));
  std::optional<analysis::Liveness> own; // of the only function, where nothing is called
  std::vector<const analysis::Liveness *> livenessOf(functions_.size());
  for (size_t n = 0; n < functions_.size(); ++n) {
    const analysis::Function &function = *functions_[n];
    if (points_[n].empty())
      continue;
    if (across)
      livenessOf[n] = across->of(function.symbol());
    else
      livenessOf[n] = &own.emplace(analysis::Liveness::compute(function.cfg()));
    if (!livenessOf[n])
      return makeError("nothing is known of the registers of {}", function.symbol().name);
    pool_->keep(observedDead(function.cfg(), points_[n], *livenessOf[n], reads));
  }
  // Only floating-point hooks care about MODE, and only where the guest changes it.
  const bool floating = std::ranges::any_of(prepared_, [](const Prepared &prepared) {
    return prepared.fragment && prepared.fragment->fragment->reads.contains(Reg::Mode);
  });
  const analysis::ModeState atStart = analysis::ModeState::atStart(descriptor_), unknown;
  bool changesMode = false;
  if (floating)
    for (const analysis::Function *function : functions_)
      for (const Instr &instr : function->instrs()) {
        changesMode |= analysis::changesMode(instr);
        context.readsFlags |= analysis::readsExceptionFlags(instr);
      }
  for (size_t n = 0; n < functions_.size(); ++n) {
    const analysis::Function &function = *functions_[n];
    std::optional<analysis::Waits> waits;
    std::optional<analysis::Modes> modes;
    if (floating && livenessOf[n])
      modes = analysis::Modes::compute(function.cfg(), n == 0 || !changesMode ? atStart : unknown,
                                       changesMode ? &unknown : nullptr);
    const analysis::Liveness *liveness = livenessOf[n];
    if (liveness) {
      waits = analysis::Waits::compute(function.cfg(), target_, callWaits.context(function.isKernel()));
    }
    FunctionWriter writer(context, function, points_[n], liveness, waits ? &*waits : nullptr,
                          modes ? &*modes : nullptr);
    result_.variant.functions.push_back({&function.symbol(), entries.at(function.symbol().address), 0});
    LUTHIER_TRY(writer.write(entries.at(function.symbol().address)));
    if (n == 0)
      start_.emplace(writer.takeNeighbours());
  }
  result_.originalInstructions = context.originalInstructions;
  result_.insertedInstructions = context.insertedInstructions;
  result_.openCalls = context.openCalls;
  return {};
}

/// Whether scalar instructions can reach the scratch behind the kernel's own.
bool VariantBuilder::canKeepScalars() const {
  constexpr uint32_t kFarthest = (1u << 20) - SpillArea::kScalarBytes; // of their offsets
  return spill_.available && tools_->glue->has(GlueOp::ScalarStore) &&
         uint64_t{spill_.base} * tools_->glue->waveSize() <= kFarthest;
}

bool VariantBuilder::wantsScalarMemory() const {
  return !scalarMemory_ && pool_ && (lack_ || pool_->lack()) && canKeepScalars();
}

Result<Rewrite> VariantBuilder::build() {
  Variant &variant = result_.variant;
  variant.kernel = &kernel_;
  descriptor_ = LUTHIER_TRY(object_.descriptor(kernel_));
  if (descriptor_.preloadLength())
    return makeError("{}: arguments that are preloaded into registers are not supported yet", kernel_.name);
  if (!rewriter_.metadata) // it is of all kernels: read once
    rewriter_.metadata = LUTHIER_TRY(object_.metadata());
  if (const object::KernelMetadata *found = rewriter_.metadata->kernel(kernel_.name))
    metadata_ = *found;
  tools_ = LUTHIER_TRY(rewriter_.forWaveSize(descriptor_.waveSize(target_)));
  functions_ = LUTHIER_TRY(rewriter_.functionsOf(kernel_));
  calls_ = functions_.size() > 1 || std::ranges::any_of(functions_[0]->cfg().blocks(), [](const analysis::Block &b) {
             return b.call != CallKind::None || b.exit == Exit::Tail || b.exit == Exit::Unknown;
           });
  for (const auto &[first, second] : rewriter_.overlaps)
    for (const analysis::Function *function : functions_)
      if (&function->symbol() == first || &function->symbol() == second)
        return makeError("the code of {} and {} overlaps", first->name, second->name);
  for (const analysis::Function *function : functions_)
    for (const analysis::Block &block : function->cfg().blocks())
      open_ |= block.call == CallKind::Indirect || block.exit == Exit::Unknown ||
               (block.call == CallKind::Direct && !rewriter_.program->startingAt(block.callTarget));
  allocation_ = LUTHIER_TRY(analysis::allocationOf(object_, kernel_));
  const RegSet used = touched();
  allocation_.registers |= used;

  LUTHIER_TRY(prepareInsertions());
  const bool launcherKnows = rewriter_.blocks == LaunchBlocks::Segment; // and looks at largestWorkgroup
  pool_ = LUTHIER_TRY(
      RegisterPool::create(object_, kernel_, used, open_, launcherKnows ? 0 : metadata_.maxFlatWorkgroupSize));
  if (const auto can = canSpill(target_, descriptor_); can)
    spill_ = {.available = true, .reason = {}, .base = (descriptor_.privateSegmentSize + 15) & ~15u, .scalars = {}};
  else
    spill_.reason = can.error().message();
  if (scalarMemory_ && canKeepScalars()) {
    // Each lane's dword is a wave's dwords in a row.
    spill_.scalars = spill_.base * tools_->glue->waveSize();
    spill_.base += (SpillArea::kScalarBytes / tools_->glue->waveSize() + 15) & ~15u;
    pool_->allowMemory(SpillArea::kKeptScalars);
  }
  LUTHIER_TRY(planEntry());
  for (SiteAccount &site : result_.sites)
    site.late = site.rejected.empty();

  // The entry comes first in the code but is written last: it depends on what the hooks turned out to need.
  Layout body;
  layout_ = &body;
  Placer placer(*tools_->glue, *pool_, spill_);
  LUTHIER_TRY(writeFunctions(body, placer));
  LUTHIER_TRY(finish(body));
  for (size_t n = 0; n < insertions_.size(); ++n) {
    SiteAccount &site = result_.sites[n];
    if (!insertions_[n].module && site.rejected.empty())
      site.places = 1;
    site.placed = site.rejected.empty();
    site.late &= !site.placed;
  }
  return std::move(result_);
}

} // namespace luthier::rewrite
