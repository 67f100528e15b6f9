#include "rewrite/site_plan.h"

#include "rewrite/shared_hook.h"
#include "rewrite/testing.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace luthier::rewrite {

namespace {

using hook::HookKind;

/// Registers for a fragment, chosen one need at a time.
class Allocation {
public:
  /// `spilled`: registers that are to be saved in any case.
  Allocation(const isa::Target &target, const RegisterPool::Free &free, const RegSet &spillable, const RegSet &excluded,
             std::vector<Reg> spilled)
      : target_(target), inside_(free.inside - excluded), beyond_(free.beyond - excluded),
        spillable_(spillable - excluded), spilled_(std::move(spilled)) {}

  /// `count` registers of the file whose first is equal to `like` modulo `alignment`, and that are below `limit`.
  std::optional<Reg> take(Reg like, unsigned count, unsigned alignment, bool maySpill, unsigned limit = 256) {
    std::optional<Reg> found = find(inside_, like, count, alignment, limit);
    if (!found) {
      const RegSet both = inside_ | beyond_;
      found = find(both, like, count, alignment, limit);
      if (!found && maySpill) {
        found = find(both | spillable_, like, count, alignment, limit);
        if (found)
          for (unsigned n = 0; n < count; ++n)
            if (!both.contains(*found + n))
              spilled_.push_back(*found + n);
      }
    }
    if (found)
      remove({*found, static_cast<uint16_t>(count)});
    return found;
  }
  /// One that is free in all lanes.
  std::optional<Reg> takeOneOf(const RegSet &allowed, Reg like) {
    const auto found = find((inside_ | beyond_) & allowed, like, 1, 1, 256);
    if (found)
      remove({*found, 1});
    return found;
  }
  std::optional<Reg> spillVector() {
    const auto found = find(spillable_, Reg::V0, 1, 1, 256);
    if (found)
      remove({*found, 1});
    return found;
  }
  const std::vector<Reg> &spilled() const { return spilled_; }
  const RegSet &taken() const { return taken_; }

private:
  std::optional<Reg> find(const RegSet &set, Reg like, unsigned count, unsigned alignment, unsigned limit) const {
    const Reg file = isVector(like) ? Reg::V0 : Reg::S0;
    limit = std::min<unsigned>(limit, isVector(like) ? target_.vgprs : target_.sgprs);
    const unsigned phase = (number(like) - number(file)) % alignment;
    for (unsigned n = phase; n + count <= limit;) {
      // Where members are rare, straight to the next one.
      const unsigned gap = number(set.firstFrom(file + n)) - number(file + n);
      if (gap == 0 && set.containsAll({file + n, static_cast<uint16_t>(count)}))
        return file + n;
      n += std::max(1u, (gap + alignment - 1) / alignment) * alignment;
    }
    return {};
  }
  void remove(RegRange range) {
    inside_.erase(range);
    beyond_.erase(range);
    spillable_.erase(range);
    taken_.insert(range);
  }

  const isa::Target &target_;
  RegSet inside_, beyond_, spillable_, taken_;
  std::vector<Reg> spilled_;
};

} // namespace

SitePorts::SitePorts(const Site &site) : site_(site) {
  for (const InputBinding &input : site.inputs)
    inputs_[number(input.fragment)] = &input;
  for (const OutputBinding &output : site.outputs)
    outputs_[number(output.fragment)] = &output;
}

/// Whether the cluster is EXEC, and only instructions that can name it as they name an SGPR read it, while it is what
/// it was: those of a hook that is scalar throughout.
bool SitePorts::readsExecWhereItIs(const Cluster &cluster) const {
  const hook::Fragment &fragment = *site_.fragment->fragment;
  const InputBinding *head = inputs_[number(cluster.regs.first)];
  return fragment.kind == hook::HookKind::Wave && !fragment.vector && !fragment.asWritten && !cluster.written &&
         head->guest == Reg::ExecLo && std::ranges::all_of(fragment.code.instrs(), [](const Instr &instr) {
           return instr.is(Property::Scalar) && instr.memorySpace() == MemorySpace::None;
         });
}

std::optional<Reg> SitePorts::directFor(const Cluster &cluster, const isa::Target &target) const {
  const auto sourcesOf = [&](Reg guest) {
    return std::ranges::count_if(site_.inputs,
                                 [&](const InputBinding &i) { return i.inRegister() && i.guest == guest; });
  };
  const Reg first = cluster.regs.first;
  const InputBinding *head = inputs_[number(first)];
  bool direct =
      head && head->inRegister() && head->lane < 0 &&
      (isVector(first) ? isVector(head->guest) : number(head->guest) < target.sgprs || readsExecWhereItIs(cluster)) &&
      (number(head->guest) & 255) % cluster.alignment == (number(first) & 255) % cluster.alignment &&
      (number(head->guest) & 255) + cluster.regs.count <= cluster.limit;
  for (unsigned n = 0; n < cluster.regs.count && direct; ++n) {
    const InputBinding *input = inputs_[number(first + n)];
    const OutputBinding *output = outputs_[number(first + n)];
    direct = input && input->inRegister() && input->lane < 0 && input->guest == head->guest + n;
    if (direct && cluster.written)
      direct = output && output->guest == input->guest && sourcesOf(input->guest) == 1;
    else if (direct && output)
      direct = output->guest == input->guest;
  }
  return direct ? std::optional(head->guest) : std::nullopt;
}

namespace {

class Planner {
public:
  Planner(const Glue &glue, RegisterPool &pool, const SpillArea &spill, const Site &site)
      : glue_(glue), pool_(pool), spill_(spill), site_(site), fragment_(*site.fragment->fragment) {}

  Result<SitePlan> plan();

private:
  Result<SitePlan> choose();
  Result<SitePlan> attempt(bool wait);
  void bind(SitePlan &plan);
  Result<std::vector<Reg>> spilledForShared(const RegisterPool::Free &free, const RegSet &spillable) const;
  Result<void> orderCopies(SitePlan &plan) const;
  std::optional<Reg> execInput(const SitePlan &plan) const;
  Result<void> spillLaneHolder(SitePlan &plan, Allocation &allocation, const RegSet &excluded) const;
  bool putChecksFirst(SitePlan &plan, Allocation &allocation) const;
  bool wave64() const { return glue_.waveSize() == 64; }
  bool isGeneralScalar(Reg reg) const { return number(reg) < glue_.target().sgprs; }
  bool needed(Reg special) const {
    return (site_.live.active.contains(special) || pool_.kept().contains(special)) &&
           !site_.mayChange.contains(special);
  }

  const Glue &glue_;
  RegisterPool &pool_;
  const SpillArea &spill_;
  const Site &site_;
  const hook::Fragment &fragment_;
  std::vector<const Cluster *> open_; ///< clusters that are not bound to guest registers
  bool lanesFirst_ = false;           ///< scalar registers that are free are for saving a vector register
  enum class Lack : uint8_t { None, Vectors, Scalars } lack_ = Lack::None; ///< of what an attempt found too little
};

/// A hook that wants more registers than the kernel has may cost occupancy.
Result<SitePlan> Planner::plan() {
  for (;;) {
    lack_ = Lack::None;
    auto plan = choose();
    if (plan || lack_ == Lack::None || !(lack_ == Lack::Vectors ? pool_.growVectors() : pool_.growScalars()))
      return plan;
  }
}

Result<SitePlan> Planner::choose() {
  const analysis::WaitState &waits = *site_.waits;
  const RegSet busy = waits.busy();
  bool wait = false;
  const auto touches = [&](Reg reg) {
    if (busy.contains(reg) || (waits.anyRegister() && (isGeneralScalar(reg) || isVector(reg) || isAccumulator(reg))))
      wait = true;
  };
  for (const InputBinding &input : site_.inputs)
    if (input.inRegister())
      touches(input.guest);
  for (const OutputBinding &output : site_.outputs)
    if (output.memory < 0)
      touches(output.guest);
  if (fragment_.asWritten) {
    const RegSet named = fragment_.reads | fragment_.writes;
    for (Reg reg = named.firstFrom(Reg::S0); reg != Reg::End; reg = named.firstFrom(reg + 1))
      touches(reg);
  }
  auto first = attempt(wait);
  const auto spillCount = [](const SitePlan &plan) { return plan.spilledScalars.size() + plan.spilledVectors.size(); };
  if (site_.shared && first && spillCount(*first) && !wait &&
      !waits.idle()) { // most must be saved whatever is in flight
    auto second = attempt(true);
    return second && spillCount(*second) < spillCount(*first) ? std::move(second) : std::move(first);
  }
  if (first && (wait || !spillCount(*first)))
    return first;
  // Loads in flight may be what keeps registers away.
  if (!wait && !(waits.idle()))
    return attempt(true);
  return first;
}

/// Which clusters stay in registers of the guest, and what is copied.
void Planner::bind(SitePlan &plan) {
  RegSet bound;
  if (site_.shared) {
    plan.map = site_.shared->map;
    bound = site_.shared->bound;
  } else {
    const SitePorts ports(site_);
    for (const Cluster &cluster : site_.fragment->clusters)
      if (const auto direct = ports.directFor(cluster, glue_.target())) {
        plan.map.set(cluster.regs, *direct);
        bound.insert(cluster.regs);
      } else
        open_.push_back(&cluster);
  }
  for (const InputBinding &input : site_.inputs)
    if (!bound.contains(input.fragment))
      plan.copies.push_back(input);
  for (const OutputBinding &output : site_.outputs)
    if (!bound.contains(output.fragment))
      plan.results.push_back(output);
}

/// The registers of a shared hook that must be saved here.
Result<std::vector<Reg>> Planner::spilledForShared(const RegisterPool::Free &free, const RegSet &spillable) const {
  std::vector<Reg> spilled;
  const RegSet &taken = site_.shared->taken;
  for (const OutputBinding &output : site_.outputs)
    if (output.memory < 0 && taken.contains(output.guest))
      return makeError("{} gets a result, and the shared hook overwrites it", toString(output.guest));
  for (Reg reg = taken.firstFrom(Reg::S0); reg != Reg::End; reg = taken.firstFrom(reg + 1)) {
    if (free.inside.contains(reg) || free.beyond.contains(reg))
      continue;
    if (!spillable.contains(reg))
      return makeError("the shared hook overwrites {}, which cannot be saved here", toString(reg));
    spilled.push_back(reg);
  }
  return spilled;
}

/// A shared hook's inputs may be in registers that others are copied to: what is read there goes first.
Result<void> Planner::orderCopies(SitePlan &plan) const {
  // As they are written: SCC, other scalar values, vector values.
  const auto phase = [](const InputBinding &copy) {
    return isVector(copy.fragment) ? 2 : copy.inRegister() && copy.guest == Reg::Scc ? 0 : 1;
  };
  std::vector<InputBinding> open = std::move(plan.copies);
  plan.copies.clear();
  const auto isRead = [&](const InputBinding &copy) { // what it overwrites, by one that is still to be written
    return std::ranges::any_of(open, [&](const InputBinding &other) {
      return &other != &copy && other.inRegister() && other.guest == plan.map(copy.fragment);
    });
  };
  for (int now = 0; !open.empty();) {
    const auto inPhase = [&](const InputBinding &copy) { return phase(copy) == now; };
    const auto next =
        std::ranges::find_if(open, [&](const InputBinding &copy) { return inPhase(copy) && !isRead(copy); });
    if (next != open.end()) {
      plan.copies.push_back(*next);
      open.erase(next);
    } else if (std::ranges::any_of(open, inPhase))
      return makeError("inputs of the shared hook are in each other's registers");
    else
      ++now;
  }
  return {};
}

/// The register of the fragment in which it is given EXEC, if EXEC can be restored from there: fragments leave their
/// inputs as they were.
std::optional<Reg> Planner::execInput(const SitePlan &plan) const {
  const auto gets = [&](Reg fragment, Reg guest) {
    return std::ranges::any_of(plan.copies,
                               [&](const InputBinding &copy) {
                                 return copy.fragment == fragment && copy.inRegister() && copy.lane < 0 &&
                                        copy.guest == guest;
                               }) &&
           std::ranges::none_of(site_.outputs, [&](const OutputBinding &o) { return o.fragment == fragment; });
  };
  for (const Cluster &cluster : site_.fragment->clusters)
    for (unsigned n = 0; n < cluster.regs.count; ++n) {
      const Reg low = cluster.regs.first + n;
      if (isVector(low) || !gets(low, Reg::ExecLo))
        continue;
      if (!wave64() ||
          (n + 1 < cluster.regs.count && n % 2 == 0 && cluster.alignment % 2 == 0 && gets(low + 1, Reg::ExecHi)))
        return low;
    }
  return {};
}

/// A vector register for spilled scalar ones that is itself in use. It must be saved in all lanes before anything else,
/// with registers that need not be saved.
Result<void> Planner::spillLaneHolder(SitePlan &plan, Allocation &allocation, const RegSet &excluded) const {
  const std::optional<Reg> spilled = allocation.spillVector();
  if (!spilled)
    return makeError("no vector register is there to keep scalar ones in");
  plan.lanes.push_back(*spilled);
  ++plan.lanesSpilled;
  RegSet dead; // special registers that nobody needs here
  for (Reg reg : {Reg::VccLo, Reg::VccHi, Reg::M0})
    if (!needed(reg) && !excluded.contains(reg)) // the hook itself may use it: it is not needed for that long
      dead.insert(reg);
  dead.insert(pool_.spareScalars());
  const auto take = [&](std::optional<Reg> &where, unsigned count, const char *what) -> Result<void> {
    where = allocation.take(Reg::S0, count, count, false);
    for (Reg reg : {Reg::M0, Reg::XnackMaskLo, Reg::XnackMaskHi, Reg::VccLo, Reg::VccHi})
      if (!where && dead.contains(reg) &&
          (count == 1 || ((reg == Reg::VccLo || reg == Reg::XnackMaskLo) && dead.contains(reg + 1)))) {
        where = reg;
        dead.erase({reg, static_cast<uint16_t>(count)});
      }
    if (!where)
      return makeError("all registers are in use: none is left to keep {} in", what);
    return {};
  };
  if (!plan.lanesExec)
    LUTHIER_TRY(take(plan.lanesExec, wave64() ? 2 : 1, "EXEC"));
  if (pool_.freeAccumulators().size() >= plan.lanesSpilled || plan.lanesBase)
    return {};
  if (!spill_.available)
    return makeError("a vector register would have to be saved: {}", spill_.reason);
  if (spill_.direct)
    return {};
  return take(plan.lanesBase, 1, "the address of saved registers");
}

/// Registers for what decides about a visit before anything has been saved or waited for; whether there are any.
bool Planner::putChecksFirst(SitePlan &plan, Allocation &allocation) const {
  const auto is = [&](auto &&what) {
    return std::ranges::any_of(site_.checks, [&](const VisitCheck &check) { return what(check.slot); });
  };
  const bool lanes = is([](const ReservedSlot &slot) { return slot.lanes; });
  if (is([](const ReservedSlot &slot) { return slot.memory >= 0; }) || (lanes && site_.indexed))
    return false;
  const RegisterPool::Free free = pool_.free(site_.live, site_.waits->busy(), site_.waits->anyRegister(), true);
  const RegSet now = free.inside | free.beyond;
  if (lanes)
    plan.checkValue = allocation.takeOneOf(now, Reg::S0);
  if (needed(Reg::Scc) && (!lanes || plan.checkValue))
    plan.checkScc = allocation.takeOneOf(now, Reg::S0);
  plan.checksFirst = (!lanes || plan.checkValue) && (!needed(Reg::Scc) || plan.checkScc);
  return plan.checksFirst;
}

Result<SitePlan> Planner::attempt(bool wait) {
  SitePlan plan;
  plan.wait = wait;
  open_.clear();
  const analysis::WaitState &waits = *site_.waits;
  const RegSet busy = wait ? RegSet() : waits.busy();
  const bool anyBusy = !wait && waits.anyRegister();
  const bool lane = fragment_.kind == HookKind::Lane;
  const bool oneLane = !lane && fragment_.vector;
  bind(plan);

  RegSet excluded = busy;
  for (const InputBinding &input : site_.inputs)
    if (input.inRegister())
      excluded.insert(input.guest);
  for (const OutputBinding &output : site_.outputs)
    if (output.memory < 0)
      excluded.insert(output.guest);
  const RegisterPool::Free free =
      pool_.free(site_.live, busy, anyBusy, !lane || fragment_.crossLane || site_.startLanes);
  const RegisterPool::Free allLanes = pool_.free(site_.live, busy, anyBusy, true);
  RegSet spillable = anyBusy ? RegSet() : pool_.spillable() - busy;
  std::vector<Reg> spilledForHook;
  if (site_.shared) {
    LUTHIER_TRY(orderCopies(plan));
    spilledForHook = LUTHIER_TRY(spilledForShared({free.inside - busy, free.beyond - busy}, spillable));
    excluded |= site_.shared->taken;
  }
  Allocation allocation(glue_.target(), free, spillable, excluded, std::move(spilledForHook));

  const auto keep = [&](std::optional<Reg> &where, unsigned count, const char *what) -> Result<void> {
    where = allocation.take(Reg::S0, count, count, true);
    if (!where)
      lack_ = Lack::Scalars;
    if (!where)
      return makeError("no scalar register is there to keep {} in", what);
    return {};
  };
  const unsigned mask = wave64() ? 2 : 1;
  if (lanesFirst_) {
    plan.lanesExec = allocation.take(Reg::S0, mask, mask, false);
    if (plan.lanesExec && spill_.available && !spill_.direct && pool_.freeAccumulators().empty())
      plan.lanesBase = allocation.take(Reg::S0, 1, 1, false);
  }
  const bool keepsScc = needed(Reg::Scc) && plantedFault() != Fault::Scc;
  if (!site_.checks.empty() && !putChecksFirst(plan, allocation)) {
    plan.checkValue.reset();
    if (std::ranges::any_of(site_.checks, [](const VisitCheck &c) { return c.slot.lanes || c.slot.memory >= 0; }))
      LUTHIER_TRY(keep(plan.checkValue, 1, "a counter"));
    if (keepsScc)
      LUTHIER_TRY(keep(plan.scc, 1, "SCC"));
  }
  const std::optional<Reg> givenExec = oneLane ? execInput(plan) : std::nullopt;
  if ((oneLane && !givenExec) || site_.startLanes)
    LUTHIER_TRY(keep(plan.exec, mask, "EXEC"));
  if (site_.startLanes && (site_.startLanes->lanes || site_.startLanes->memory >= 0))
    LUTHIER_TRY(keep(plan.startLanes, mask, "the lanes of the wave"));
  if (fragment_.writes.contains(Reg::Scc) && keepsScc && !plan.scc && !plan.checkScc)
    LUTHIER_TRY(keep(plan.scc, 1, "SCC"));

  // Vector registers.
  for (const Cluster *cluster : open_) {
    if (!isVector(cluster->regs.first))
      continue;
    const auto to = allocation.take(cluster->regs.first, cluster->regs.count, cluster->alignment, true, cluster->limit);
    if (!to) {
      lack_ = Lack::Vectors;
      return makeError("not enough vector registers for {} in a row", cluster->regs.count);
    }
    plan.map.set(cluster->regs, *to);
  }
  const size_t spilledVectors = static_cast<size_t>(std::ranges::count_if(allocation.spilled(), isVector));
  const size_t accumulators = pool_.freeAccumulators().size();
  if (spilledVectors > accumulators && !spill_.available)
    lack_ = Lack::Vectors;
  if (spilledVectors > accumulators && !spill_.available)
    return makeError("{} vector registers would have to be saved: {}", spilledVectors, spill_.reason);
  // Some more may keep scalar registers.
  const size_t mostHolders = SpillArea::kSavedScalars / glue_.waveSize();
  if (spilledVectors && spilledVectors + mostHolders > accumulators && spill_.available && !spill_.direct)
    LUTHIER_TRY(keep(plan.spillBase, 1, "the address of saved registers"));
  // A hook whose lanes look at each other may write lanes that are off.
  if (spilledVectors && lane && fragment_.crossLane)
    LUTHIER_TRY(keep(plan.vectorsExec, mask, "EXEC"));

  // Scalar registers.
  const auto wants = [&](Reg low, Reg high) {
    return (fragment_.writes.contains(low) && needed(low)) || (fragment_.writes.contains(high) && needed(high));
  };
  // In waves of 32 lanes, the upper half is a scalar register like any other, which LLVM does not use.
  if (!wave64() && wants(Reg::VccHi, Reg::VccHi))
    return makeError("the hook overwrites VCC_HI, which is in use");
  if (wants(Reg::VccLo, wave64() ? Reg::VccHi : Reg::VccLo))
    LUTHIER_TRY(keep(plan.vcc, mask, "VCC"));
  if (wants(Reg::M0, Reg::M0))
    LUTHIER_TRY(keep(plan.m0, 1, "M0"));
  if (site_.mode && site_.mode->known != analysis::kModeBits)
    LUTHIER_TRY(keep(plan.mode, 1, "MODE"));
  if (site_.keepFlags)
    LUTHIER_TRY(keep(plan.flags, 1, "the flags of exceptions"));
  for (const Cluster *cluster : open_) {
    if (isVector(cluster->regs.first))
      continue;
    if (isAccumulator(cluster->regs.first))
      return makeError("the hook uses accumulation registers");
    const auto to = allocation.take(cluster->regs.first, cluster->regs.count, cluster->alignment, true, cluster->limit);
    if (!to) {
      lack_ = Lack::Scalars;
      return makeError("not enough scalar registers for {} in a row", cluster->regs.count);
    }
    plan.map.set(cluster->regs, *to);
  }
  if (givenExec) {
    plan.exec = plan.map(*givenExec);
    plan.execGiven = true;
  }
  if (plantedFault() != Fault::Placement)
    for (Reg reg : allocation.spilled())
      (isVector(reg) ? plan.spilledVectors : plan.spilledScalars).push_back(reg);
  if (plan.spilledScalars.size() > SpillArea::kSavedScalars)
    return makeError("{} scalar registers would have to be saved", plan.spilledScalars.size());
  const size_t holders = (plan.spilledScalars.size() + glue_.waveSize() - 1) / glue_.waveSize();
  while (plan.lanes.size() < holders) {
    const auto holder = allocation.takeOneOf(allLanes.inside | allLanes.beyond, Reg::V0);
    if (!holder)
      break;
    plan.lanes.push_back(*holder);
  }
  for (const Reg reg : pool_.lastResorts())
    if (plan.lanes.size() < holders)
      plan.lanes.push_back(reg);
  while (plan.lanes.size() < holders)
    if (const auto holder = spillLaneHolder(plan, allocation, excluded); !holder) {
      // The few that need not be saved are for this: all over again. So it is with a register that gets reserved, which
      // may be one of those just taken.
      if (!std::exchange(lanesFirst_, true) || (pool_.lastResorts().size() < holders && pool_.reserveLastResort()) ||
          (pool_.freeAccumulators().empty() && pool_.addAccumulator()))
        return attempt(wait);
      pool_.noteLack();
      if (!spill_.scalars)
        return holder.error();
      plan.lanes.clear();
      plan.lanesExec.reset();
      plan.lanesBase.reset();
      plan.lanesSpilled = 0;
      plan.scalarsInMemory = true;
      break;
    }
  if (plan.lanesSpilled && !plan.spilledVectors.empty() &&
      plan.spilledVectors.size() + plan.lanesSpilled > accumulators && !plan.spillBase && !spill_.direct)
    return makeError("a vector register would have to be saved: {}", spill_.reason);
  plan.used = allocation.taken();
  if (site_.shared)
    plan.used |= site_.shared->taken;
  // Special registers too: a kernel that did not use them may have none.
  for (unsigned n = glue_.target().sgprs; n < number(Reg::Ttmp0); ++n)
    if (fragment_.writes.contains(static_cast<Reg>(n)))
      plan.used.insert(static_cast<Reg>(n));
  for (const OutputBinding &output : site_.outputs)
    if (number(output.guest) >= glue_.target().sgprs && output.guest < Reg::Ttmp0)
      plan.used.insert(output.guest);
  for (const std::optional<Reg> &where : {plan.lanesExec, plan.lanesBase})
    if (where)
      plan.used.insert({*where, static_cast<uint16_t>(where == plan.lanesExec ? mask : 1)});
  return plan;
}

} // namespace

Result<SitePlan> planSite(const Glue &glue, RegisterPool &pool, const SpillArea &spill, const Site &site) {
  return Planner(glue, pool, spill, site).plan();
}

} // namespace luthier::rewrite
