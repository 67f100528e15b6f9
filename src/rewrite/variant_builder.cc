#include "rewrite/variant_builder.h"

#include "analysis/interprocedural.h"
#include "analysis/replays.h"
#include "analysis/seam_hazards.h"
#include "rewrite/note.h"

#include <algorithm>

namespace luthier::rewrite {

using analysis::CallKind;
using analysis::Exit;

namespace {

uint32_t dwordsOf(const hook::Variable &variable) { return static_cast<uint32_t>((variable.size + 3) / 4); }

/// The number of the variable that decides about visits.
uint32_t variableOf(const Insertion &insertion) {
  const hook::Variable *variable = insertion.module->findVariable(insertion.sampling.when);
  return static_cast<uint32_t>(variable - insertion.module->variables().data());
}

/// At a wave's end, what each lane has counted is wanted of those too that have left the kernel before.
bool runsForAllLanes(const Insertion &insertion, const hook::Port &port) {
  return insertion.position == Position::KernelExit && port.kind == hook::Port::Kind::LaneVariable;
}

} // namespace

Result<ResolvedArgument> VariantBuilder::resolveOne(const Insertion &insertion, size_t n, const Instr &instr) const {
  const hook::Hook &hook = *insertion.module->findHook(insertion.hook);
  const size_t first = insertion.predicateArguments.size();
  const hook::HookParameter &parameter =
      n < first ? insertion.module->findHook(insertion.predicate)->parameters[n] : hook.parameters[n - first];
  auto resolved = resolve(insertion.argument(n), parameter, hook.kind, instr,
                          {insertion.position, metadata_, allocation_.registers, target_, tools_->glue->waveSize()});
  if (!resolved)
    return resolved.error().withContext(n < first ? fmt::format("argument {} of {}", n, insertion.predicate)
                                                  : fmt::format("argument {}", n - first));
  return resolved;
}

/// Assembly, and the registers that it makes the kernel's own.
Result<void> VariantBuilder::prepareAssembly(uint32_t n) {
  const Insertion &insertion = insertions_[n];
  if (!insertion.assembly || !refused_[n].empty())
    return {};
  if (insertion.sampling.any() || !insertion.predicate.empty())
    return makeError("assembly runs in every visit, for the lanes that are active: every, when and if are for hooks");
  const AssemblyCode *code = LUTHIER_TRY(rewriter_.assemble(insertion.assembly->text, tools_->glue->waveSize()));
  RegSet all;
  all.insert({Reg::S0, static_cast<uint16_t>(number(Reg::End))});
  const RegSet &changes = insertion.assembly->changes;
  for (Reg reg = changes.firstFrom(Reg::S0); reg != Reg::End; reg = changes.firstFrom(reg + 1))
    LUTHIER_TRY(checkRegisters({reg, 1}, all, target_));
  allocation_.registers |= changes;
  prepared_[n].assembly = code;
  prepared_[n].fragment = &code->fragment();
  return {};
}

/// Looks at each insertion: is there such a point, do the arguments exist there, does the hook compile.
Result<void> VariantBuilder::prepareInsertions() {
  result_.sites.resize(insertions_.size());
  prepared_.resize(insertions_.size());
  points_.resize(functions_.size());
  for (uint32_t n = 0; n < insertions_.size(); ++n)
    if (const auto done = prepareAssembly(n); !done)
      result_.sites[n].rejected = done.error().message();
  for (uint32_t n = 0; n < insertions_.size(); ++n) {
    const Insertion &insertion = insertions_[n];
    const auto prepare = [&]() -> Result<void> {
      if (!refused_[n].empty())
        return makeError("{}", refused_[n]);
      if (!result_.sites[n].rejected.empty())
        return makeError("{}", result_.sites[n].rejected);
      if (insertion.assembly)
        LUTHIER_TRY(prepared_[n].assembly->checkInputs(allocation_.registers, target_));
      else if (insertion.module) {
        const hook::Hook *hook = insertion.module->findHook(insertion.hook);
        if (!hook)
          return makeError("{} has no hook {}", insertion.module->origin(), insertion.hook);
        if (insertion.arguments.size() != hook->parameters.size())
          return makeError("it takes {} arguments, {} are given", hook->parameters.size(), insertion.arguments.size());
        const Instr *instr = instrOf(insertion, functions_);
        if (!instr) { // there is no such point: what follows knows best why
          uint32_t none = 0;
          LUTHIER_TRY(addPoints(insertion, n, functions_, target_, points_, none));
          return makeError("no instruction starts at {:#x}", insertion.address);
        }
        LUTHIER_TRY(checkSampling(insertion));
        LUTHIER_TRY(checkPredicate(insertion, *hook));
        for (size_t a = 0; a < insertion.argumentCount(); ++a)
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
          return makeError("it calls the host (printf, assertions) or uses the launch's number, which needs Luthier's "
                           "runtime (luthier run)");
        if (rewriter_.blocks != LaunchBlocks::Segment && asksFor(n, hook::Port::Kind::GroupBlock))
          return makeError("it has per-workgroup variables, which only Luthier's runtime (luthier run) allocates");
      } else if (insertion.position != Position::Remove && insertion.position != Position::Replace)
        return makeError("no hook is given");
      if (insertion.assembly && insertion.position == Position::Remove)
        return makeError("an instruction that is removed is replaced by nothing");
      uint32_t places = 0;
      return addPoints(insertion, n, functions_, target_, points_, places);
    };
    if (const auto done = prepare(); !done)
      result_.sites[n].rejected = done.error().message();
  }
  return {};
}

Result<void> VariantBuilder::checkSampling(const Insertion &insertion) const {
  const Sampling &sampling = insertion.sampling;
  if (sampling.every == 0)
    return makeError("every 0th visit is not possible: the minimum is 1");
  if (sampling.any() && insertion.position == Position::Replace)
    return makeError("the hook replaces the instruction, so it must run in every visit");
  if (sampling.when.empty())
    return {};
  const hook::Variable *variable = insertion.module->findVariable(sampling.when);
  if (!variable)
    return makeError("{} has no variable {}", insertion.module->origin(), sampling.when);
  if (variable->storage != hook::Storage::PerWave || dwordsOf(*variable) != 1)
    return makeError("{} cannot decide whether the hook runs: that takes a per-wave variable of at most 32 bits",
                     sampling.when);
  return {};
}

Result<void> VariantBuilder::checkPredicate(const Insertion &insertion, const hook::Hook &hook) const {
  if (insertion.predicate.empty())
    return {};
  const hook::Hook *predicate = insertion.module->findHook(insertion.predicate);
  if (!predicate)
    return makeError("{} has no hook {}", insertion.module->origin(), insertion.predicate);
  if (insertion.predicateArguments.size() != predicate->parameters.size())
    return makeError("{} takes {} arguments, {} are given", insertion.predicate, predicate->parameters.size(),
                     insertion.predicateArguments.size());
  LUTHIER_TRY(hook::conditional(*predicate, hook));
  if (!insertion.result.empty() || insertion.position == Position::Replace)
    return makeError("{} decides whether it runs; if it does not, there is no {}", insertion.predicate,
                     insertion.result.empty() ? "instruction" : "result");
  return {};
}

VariantBuilder::CounterKey VariantBuilder::counterKey(uint32_t n) const {
  const Sampling &sampling = insertions_[n].sampling;
  return {insertions_[n].module.get(), sampling.every, sampling.counter.has_value(), sampling.counter.value_or(n)};
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
  if (descriptor_.waveSize(target_) == 32 && set.contains(Reg::VccHi)) // not a part of VCC there
    used.insert(Reg::VccHi);
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
  if (prepared_[n].assembly)
    reads |= prepared_[n].assembly->inputs();
  reads.erase({Reg::ExecLo, 2});
  return reads;
}

bool VariantBuilder::asksFor(uint32_t n, hook::Port::Kind kind) const {
  const std::vector<hook::Port> &inputs = prepared_[n].fragment->fragment->inputs;
  return std::ranges::find(inputs, kind, &hook::Port::kind) != inputs.end();
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
  laneNumbers_.clear();
  counters_.clear();
  for (Modules *modules : {&blockModules_, &ldsModules_, &groupModules_})
    modules->clear();
  const auto noteModule = [](Modules &modules, const Insertion &insertion) {
    const bool fresh = std::ranges::find(modules, insertion.module) == modules.end();
    if (fresh)
      modules.push_back(insertion.module);
    return fresh;
  };
  const auto noteVariable = [&](const Insertion &insertion, uint32_t variable) {
    const auto key = std::pair(insertion.module.get(), variable);
    if (waveOffsets_.contains(key))
      return;
    const uint32_t dwords = dwordsOf(insertion.module->variables()[variable]);
    if (dwords > 1 && needs.waveRegisters % 2)
      ++needs.waveRegisters;
    waveOffsets_[key] = needs.waveRegisters;
    needs.waveRegisters += dwords;
  };
  const auto noteLanes = [&](const Insertion &insertion, const hook::Port &port) {
    const auto number = static_cast<uint32_t>(laneNumbers_.size());
    if (laneNumbers_.try_emplace(std::pair(insertion.module.get(), uint32_t{port.index}), number).second)
      needs.laneVariables.push_back(port.regs.count);
  };
  for (size_t n = 0; n < insertions_.size(); ++n) {
    if (!prepared_[n].fragment || !result_.sites[n].rejected.empty())
      continue;
    if (insertions_[n].sampling.every > 1 &&
        counters_.try_emplace(counterKey(static_cast<uint32_t>(n)), needs.counters).second)
      ++needs.counters;
    if (!insertions_[n].sampling.when.empty())
      noteVariable(insertions_[n], variableOf(insertions_[n]));
    for (const ResolvedArgument &argument : prepared_[n].arguments)
      if (argument.launch)
        needs.values.insert(*argument.launch);
    for (const hook::Port &port : prepared_[n].fragment->fragment->inputs) {
      if (port.kind == hook::Port::Kind::WaveVariable)
        noteVariable(insertions_[n], port.index);
      if (port.kind == hook::Port::Kind::LaneVariable)
        noteLanes(insertions_[n], port);
      needs.startLanes |= runsForAllLanes(insertions_[n], port);
      if (port.kind == hook::Port::Kind::Launch)
        needs.values.insert(static_cast<hook::LaunchValue>(port.launch));
      if (port.kind == hook::Port::Kind::LaunchBlock)
        noteModule(blockModules_, insertions_[n]);
      if (port.kind == hook::Port::Kind::GroupBlock)
        noteModule(groupModules_, insertions_[n]);
      if (port.kind == hook::Port::Kind::LdsBlock && noteModule(ldsModules_, insertions_[n])) {
        const hook::HookModule::Block &block = insertions_[n].module->block(hook::Storage::Lds);
        constexpr uint64_t kTooMuch = 16 * isa::kMaxWorkgroupLds; // refused, whatever else there is
        needs.lds.add(static_cast<uint32_t>(std::min(block.bytes, kTooMuch)),
                      static_cast<uint32_t>(std::min(block.alignment, kTooMuch)));
      }
      if (port.kind == hook::Port::Kind::Frame) {
        needs.scratch = true;
        needs.frameAtEnd = spill_.frameAtEnd ? spill_.frameBytes : 0;
      }
    }
  }
  needs.launchBlocks = static_cast<unsigned>(blockModules_.size());
  needs.groupBlocks = static_cast<unsigned>(groupModules_.size());
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
  const auto refuse = [&](auto &&asks) {
    for (uint32_t n = 0; n < insertions_.size(); ++n)
      if (prepared_[n].fragment && result_.sites[n].rejected.empty() && asks(n))
        result_.sites[n].rejected = planned.error().message();
    planned = attempt();
  };
  if (!planned)
    refuse([&](uint32_t n) { return insertions_[n].sampling.any(); });
  for (const Kind kind : {Kind::Frame, Kind::LdsBlock, Kind::LaneVariable, Kind::WaveVariable, Kind::GroupBlock,
                          Kind::LaunchBlock, Kind::Launch}) {
    if (planned)
      return planned;
    refuse([&](uint32_t n) {
      return asksFor(n, kind) ||
             (kind == Kind::Launch && std::ranges::any_of(prepared_[n].arguments, [](const ResolvedArgument &argument) {
                return argument.launch.has_value();
              }));
    });
  }
  return planned;
}

/// Connects a fragment's ports at a place. Arguments of an exit refer to the instruction that is there.
Result<void> VariantBuilder::bind(uint32_t n, const Instr &at, Site &site) {
  const Insertion &insertion = insertions_[n];
  const hook::Fragment &fragment = *prepared_[n].fragment->fragment;
  site.fragment = prepared_[n].fragment;
  if (const AssemblyCode *assembly = prepared_[n].assembly) {
    site.mayChange = insertion.assembly->changes;
    if (insertion.position == Position::Replace) // whatever that wrote is there to be written
      for (const RegRange range : at.writes())
        site.mayChange.insert(range);
    return assembly->checkPlace(site.live, site.mayChange, pool_->kept());
  }
  const auto fromSlot = [&](const hook::Port &port, const ReservedSlot &slot) {
    for (unsigned i = 0; i < port.regs.count; ++i)
      if (slot.memory >= 0)
        site.inputs.push_back({.fragment = port.regs.first + i, .memory = slot.memory + static_cast<int>(i)});
      else if (slot.lanes)
        site.inputs.push_back(
            {.fragment = port.regs.first + i, .guest = slot.regs.first, .lane = slot.lane + static_cast<int>(i)});
      else
        site.inputs.push_back({.fragment = port.regs.first + i, .guest = slot.regs.first + i});
  };
  const auto numberIn = [&](const Modules &modules) {
    return static_cast<unsigned>(std::ranges::find(modules, insertion.module) - modules.begin());
  };
  const auto slotOf = [&](const hook::Port &port) -> ReservedSlot {
    switch (port.kind) {
    case hook::Port::Kind::WaveVariable:
      return entry_->waveRegisters().from(waveOffsets_.at({insertion.module.get(), port.index}), port.regs.count);
    case hook::Port::Kind::LaunchBlock:
      return entry_->launchBlock(numberIn(blockModules_));
    case hook::Port::Kind::LdsBlock:
      return entry_->ldsBlock(numberIn(ldsModules_));
    case hook::Port::Kind::GroupBlock:
      return entry_->groupBlock(numberIn(groupModules_));
    case hook::Port::Kind::Launch:
      return entry_->valueOf(static_cast<hook::LaunchValue>(port.launch));
    default:
      return {port.guest};
    }
  };
  const auto laneRegisters = [&](const hook::Port &port) {
    return entry_->laneVariable(laneNumbers_.at({insertion.module.get(), port.index}));
  };
  if (const Sampling &sampling = insertion.sampling; sampling.any()) {
    if (!sampling.when.empty())
      site.checks.push_back(
          {entry_->waveRegisters().from(waveOffsets_.at({insertion.module.get(), variableOf(insertion)}), 1), 0});
    if (sampling.every > 1)
      site.checks.push_back({entry_->counter(counters_.at(counterKey(n))), sampling.every});
  }
  for (const hook::Port &port : fragment.inputs) {
    if (runsForAllLanes(insertion, port))
      site.startLanes = entry_->startLanes();
    if (port.kind == hook::Port::Kind::LaneVariable) {
      for (unsigned i = 0; i < port.regs.count; ++i)
        site.inputs.push_back({.fragment = port.regs.first + i, .guest = laneRegisters(port)[i]});
      continue;
    }
    if (port.kind == hook::Port::Kind::Register)
      LUTHIER_TRY(checkRegisters(port.guest, allocation_.registers, target_));
    if (port.kind == hook::Port::Kind::Frame && spill_.frameAtEnd) {
      fromSlot(port, entry_->frame());
      spill_.frameUsed = true;
      continue;
    }
    if (port.kind == hook::Port::Kind::Frame) {
      site.inputs.push_back({.fragment = port.regs.first, .constant = true, .value = spill_.frame});
      spill_.frameUsed = true;
      continue;
    }
    if (port.kind != hook::Port::Kind::Parameter) {
      fromSlot(port, slotOf(port));
      continue;
    }
    ResolvedArgument argument = prepared_[n].arguments[port.index];
    if (insertion.argument(port.index).kind == Argument::Kind::Pc)
      argument = LUTHIER_TRY(resolveOne(insertion, port.index, at));
    if (argument.launch && port.part != hook::Part::Offset) {
      fromSlot(port, entry_->valueOf(*argument.launch));
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
    if (port.kind == hook::Port::Kind::LaneVariable) {
      for (unsigned i = 0; i < port.regs.count; ++i)
        site.outputs.push_back({.fragment = port.regs.first + i, .guest = laneRegisters(port)[i]});
      continue;
    }
    ReservedSlot to;
    if (port.kind != hook::Port::Kind::Result)
      to = slotOf(port);
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
      if (i == 1 && isNarrowMask(to.regs, tools_->glue->waveSize()))
        continue;
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
  const auto found = std::ranges::find_if(
      used, [&](const UsedVariable &each) { return each.module == module && each.variable == variable; });
  if (found != used.end())
    return static_cast<uint32_t>(found - used.begin());
  used.push_back({module, variable});
  return static_cast<uint32_t>(used.size() - 1);
}

uint64_t VariantBuilder::addCopy(uint32_t variable, uint32_t n, const Instr &at) {
  UsedVariable &used = result_.variant.variables[variable];
  const hook::Variable &described = used.module->variables()[used.variable];
  const auto in = std::ranges::find_if(functions_, [&](const analysis::Function *function) {
    const auto instrs = function->instrs();
    return !instrs.empty() && at.address() >= instrs.front().address() && at.address() <= instrs.back().address();
  });
  result_.variant.notes.back() += fmt::format(", {}[{}]", described.name, used.copies.size());
  used.copies.push_back({n, in == functions_.end() ? nullptr : &(*in)->symbol(), at.address()});
  return (used.copies.size() - 1) * described.stride();
}

void VariantBuilder::relocate(uint32_t n, const Instr *at, int64_t behind) {
  const hook::Fragment &fragment = *prepared_[n].fragment->fragment;
  const auto size = static_cast<int64_t>(fragment.bytes.size());
  std::map<uint32_t, uint64_t> copies; // this place's, of PerSite variables
  for (const hook::FragmentRelocation &relocation : fragment.relocations) {
    const uint32_t variable = variableNumber(insertions_[n].module, relocation.variable);
    uint64_t copy = 0;
    if (result_.variant.variables[variable].isPerSite()) {
      if (const auto [it, fresh] = copies.try_emplace(variable, 0); fresh)
        it->second = addCopy(variable, n, *at);
      copy = copies[variable];
    }
    layout_->addRelocation({.high = relocation.high,
                            .base = CodeRelocation::Base::Variable,
                            .variable = variable,
                            .addend = static_cast<uint64_t>(relocation.addend) + copy},
                           relocation.offset - size - behind);
  }
}

Result<void> VariantBuilder::writeFunctions(Layout &layout, Placer &placer) {
  std::map<uint64_t, Layout::Label> entries;
  for (const analysis::Function *function : functions_)
    entries.try_emplace(function->symbol().address, layout.newLabel());
  VariantContext context{.glue = *tools_->glue,
                         .layout = layout,
                         .replays = analysis::mayReplay(object_),
                         .readsFlags = false,
                         .readByVectors = {},
                         .writeBack = spill_.scalars.has_value(),
                         .placer = placer,
                         .bind = [this](uint32_t n, const Instr &at, Site &site) { return bind(n, at, site); },
                         .relocate = [this](uint32_t n, const Instr &at, int64_t behind) { relocate(n, &at, behind); },
                         .entryOf = [&](uint64_t address) -> std::optional<Layout::Label> {
                           const auto found = entries.find(address);
                           return found == entries.end() ? std::nullopt : std::optional(found->second);
                         },
                         .pointedTo = {},
                         .accounts = result_.sites,
                         .describe = [this](uint32_t n, const Site &site,
                                            const PlacedSite &placed) { return noteOf(insertions_[n], site, placed); },
                         .notes = result_.variant.notes};
  if (target_.seamHazards)
    for (const analysis::Function *function : functions_)
      context.readByVectors |= analysis::scalarsReadByVectors(function->instrs());
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
  shareHooks(context, livenessOf);
  // Only floating-point hooks care about MODE, and only where the guest changes it.
  const bool floating = std::ranges::any_of(prepared_, [](const Prepared &prepared) {
    return prepared.fragment && dependsOnMode(*prepared.fragment->fragment);
  });
  const analysis::ModeState atStart = analysis::ModeState::atStart(descriptor_, target_);
  uint32_t modeChanges = 0;
  if (floating)
    for (const analysis::Function *function : functions_)
      for (const Instr &instr : function->instrs()) {
        modeChanges |= analysis::modeBitsWritten(instr, target_);
        context.readsFlags |= analysis::readsExceptionFlags(instr, target_);
      }
  const analysis::ModeState elsewhere{atStart.known & ~modeChanges, atStart.value & ~modeChanges};
  for (size_t n = 0; n < functions_.size(); ++n) {
    const analysis::Function &function = *functions_[n];
    std::optional<analysis::Waits> waits;
    std::optional<analysis::Modes> modes;
    if (floating && livenessOf[n])
      modes = analysis::Modes::compute(function.cfg(), target_, n == 0 ? atStart : elsewhere, elsewhere, modeChanges);
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
  writeSharedHooks(context);
  result_.originalInstructions = context.originalInstructions;
  result_.insertedInstructions = context.insertedInstructions;
  result_.openCalls = context.openCalls;
  deallocations_ = std::move(context.deallocations);
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

/// Hooks have one frame, as large as the largest: none runs while another does, and none remembers.
void VariantBuilder::placeFrames() {
  for (size_t n = 0; n < insertions_.size(); ++n) {
    const uint32_t bytes = prepared_[n].fragment ? prepared_[n].fragment->fragment->frameBytes : 0;
    if (!bytes || !result_.sites[n].rejected.empty())
      continue;
    if (spill_.available || spill_.frameAtEnd)
      spill_.frameBytes = std::max(spill_.frameBytes, bytes);
    else
      result_.sites[n].rejected =
          fmt::format("the hook needs {} bytes of memory for its local variables: {}", bytes, spill_.reason);
  }
  if (!spill_.frameBytes)
    return;
  constexpr uint32_t kAlign = hook::kFrameAlignment - 1;
  if (spill_.frameAtEnd) {
    spill_.frameBytes = ((spill_.frameBytes + kAlign) & ~kAlign) + hook::kFrameAlignment;
    spill_.base = ((descriptor_.privateSegmentSize + 15) & ~15u) + spill_.frameBytes;
    return;
  }
  spill_.frame = (spill_.base + kAlign) & ~kAlign;
  spill_.base = spill_.frame + ((spill_.frameBytes + 15) & ~15u);
}

Result<Rewrite> VariantBuilder::build() {
  Variant &variant = result_.variant;
  variant.kernel = &kernel_;
  descriptor_ = LUTHIER_TRY(object_.descriptor(kernel_));
  if (descriptor_.sharedVgprs(target_))
    return makeError("{}: vector registers that the halves of a wave share are not supported", kernel_.name);
  if (target_.dynamicVgprs && object::rsrc2::dynamicVgprs.get(descriptor_.rsrc2))
    return makeError("{}: vector registers that waves allocate while they run are not supported", kernel_.name);
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
  else {
    spill_.reason = can.error().message();
    spill_.frameAtEnd = descriptor_.dynamicStack() && target_.scratchInstructions;
  }
  for (uint32_t n = 0; n < insertions_.size(); ++n)
    if (prepared_[n].assembly && result_.sites[n].rejected.empty())
      if (const auto claimed = pool_->claim(prepared_[n].assembly->registers() | insertions_[n].assembly->changes);
          !claimed)
        result_.sites[n].rejected = claimed.error().message();
  if (scalarMemory_ && canKeepScalars()) {
    // Each lane's dword is a wave's dwords in a row.
    spill_.scalars = spill_.base * tools_->glue->waveSize();
    spill_.base += (SpillArea::kScalarBytes / tools_->glue->waveSize() + 15) & ~15u;
    pool_->allowMemory(SpillArea::kKeptScalars);
  }
  placeFrames();
  spill_.direct = tools_->glue->has(GlueOp::ScratchStoreDirect) &&
                  spill_.base + SpillArea::kMostSlots * 4 <= tools_->glue->scratchReach();
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
    if (!insertions_[n].inserts() && site.rejected.empty())
      site.places = 1;
    site.placed = site.rejected.empty();
    site.late &= !site.placed;
  }
  return std::move(result_);
}

} // namespace luthier::rewrite
