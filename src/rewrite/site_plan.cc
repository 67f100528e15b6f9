#include "rewrite/site_plan.h"

#include "rewrite/testing.h"

#include <algorithm>
#include <optional>

namespace luthier::rewrite {

namespace {

using hook::HookKind;

bool isGeneralScalar(Reg reg) { return reg < Reg::FlatScrLo; }

/// Registers for a fragment, chosen one need at a time.
class Allocation {
public:
  Allocation(const isa::Target &target, const RegisterPool::Free &free, const RegSet &lendable, const RegSet &excluded)
      : target_(target), inside_(free.inside - excluded), beyond_(free.beyond - excluded),
        lendable_(lendable - excluded) {}

  /// `count` registers of the file whose first is equal to `like` modulo `alignment`.
  std::optional<Reg> take(Reg like, unsigned count, unsigned alignment, bool mayLend) {
    std::optional<Reg> found = find(inside_, like, count, alignment);
    if (!found) {
      const RegSet both = inside_ | beyond_;
      found = find(both, like, count, alignment);
      if (!found && mayLend) {
        found = find(both | lendable_, like, count, alignment);
        if (found)
          for (unsigned n = 0; n < count; ++n)
            if (!both.contains(*found + n))
              lent_.push_back(*found + n);
      }
    }
    if (found)
      remove({*found, static_cast<uint16_t>(count)});
    return found;
  }
  /// One that is free in all lanes.
  std::optional<Reg> takeOneOf(const RegSet &allowed, Reg like) {
    const auto found = find((inside_ | beyond_) & allowed, like, 1, 1);
    if (found)
      remove({*found, 1});
    return found;
  }
  std::optional<Reg> lendVector() {
    const auto found = find(lendable_, Reg::V0, 1, 1);
    if (found)
      remove({*found, 1});
    return found;
  }
  const std::vector<Reg> &lent() const { return lent_; }
  const RegSet &taken() const { return taken_; }

private:
  std::optional<Reg> find(const RegSet &set, Reg like, unsigned count, unsigned alignment) const {
    const Reg file = isVector(like) ? Reg::V0 : Reg::S0;
    const unsigned limit = isVector(like) ? target_.vgprs : target_.sgprs;
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
    lendable_.erase(range);
    taken_.insert(range);
  }

  const isa::Target &target_;
  RegSet inside_, beyond_, lendable_, taken_;
  std::vector<Reg> lent_;
};

class Planner {
public:
  Planner(const Glue &glue, RegisterPool &pool, const SpillArea &spill, const Site &site)
      : glue_(glue), pool_(pool), spill_(spill), site_(site), fragment_(*site.fragment->fragment) {}

  Result<SitePlan> plan();

private:
  Result<SitePlan> choose();
  Result<SitePlan> attempt(bool wait);
  void bind(SitePlan &plan);
  std::optional<Reg> execInput(const SitePlan &plan) const;
  Result<void> lendLanes(SitePlan &plan, Allocation &allocation, const RegSet &excluded) const;
  bool wave64() const { return glue_.waveSize() == 64; }
  bool needed(Reg special) const { return site_.live.active.contains(special) || pool_.kept().contains(special); }

  const Glue &glue_;
  RegisterPool &pool_;
  const SpillArea &spill_;
  const Site &site_;
  const hook::Fragment &fragment_;
  std::vector<const Cluster *> open_; ///< clusters that are not bound to guest registers
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
  auto first = attempt(wait);
  if (first && (wait || (first->lentScalars.empty() && first->lentVectors.empty())))
    return first;
  // Loads in flight may be what keeps registers away.
  if (!wait && !(waits.idle()))
    return attempt(true);
  return first;
}

/// Clusters that can stay in the guest's own registers: what is only read, and what is changed in place.
void Planner::bind(SitePlan &plan) {
  std::array<const InputBinding *, number(Reg::End)> inputs{};
  std::array<const OutputBinding *, number(Reg::End)> outputs{};
  for (const InputBinding &input : site_.inputs)
    inputs[number(input.fragment)] = &input;
  for (const OutputBinding &output : site_.outputs)
    outputs[number(output.fragment)] = &output;
  const auto sourcesOf = [&](Reg guest) {
    return std::ranges::count_if(site_.inputs,
                                 [&](const InputBinding &i) { return i.inRegister() && i.guest == guest; });
  };
  RegSet bound;
  for (const Cluster &cluster : site_.fragment->clusters) {
    const Reg first = cluster.regs.first;
    const InputBinding *head = inputs[number(first)];
    bool direct = head && head->inRegister() && head->lane < 0 &&
                  (isVector(first) ? isVector(head->guest) : isGeneralScalar(head->guest)) &&
                  (number(head->guest) & 255) % cluster.alignment == (number(first) & 255) % cluster.alignment;
    for (unsigned n = 0; n < cluster.regs.count && direct; ++n) {
      const InputBinding *input = inputs[number(first + n)];
      const OutputBinding *output = outputs[number(first + n)];
      direct = input && input->inRegister() && input->lane < 0 && input->guest == head->guest + n;
      if (direct && cluster.written)
        direct = output && output->guest == input->guest && sourcesOf(input->guest) == 1;
      else if (direct && output)
        direct = output->guest == input->guest;
    }
    if (direct) {
      plan.map.set(cluster.regs, head->guest);
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

/// A vector register for lent scalar ones that is itself in use. It must be saved in all lanes before anything else,
/// with registers that need not be saved.
Result<void> Planner::lendLanes(SitePlan &plan, Allocation &allocation, const RegSet &excluded) const {
  plan.lanes = allocation.lendVector();
  if (!plan.lanes)
    return makeError("no vector register is there to keep scalar ones in");
  plan.lanesLent = true;
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
  LUTHIER_TRY(take(plan.lanesExec, wave64() ? 2 : 1, "EXEC"));
  if (!pool_.freeAccumulators().empty())
    return {};
  if (!spill_.available)
    return makeError("a vector register would have to be saved: {}", spill_.reason);
  return take(plan.lanesBase, 1, "the address of saved registers");
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
  const RegisterPool::Free free = pool_.free(site_.live, busy, anyBusy, !lane || fragment_.crossLane);
  const RegisterPool::Free allLanes = pool_.free(site_.live, busy, anyBusy, true);
  RegSet lendable = anyBusy ? RegSet() : pool_.lendable();
  Allocation allocation(glue_.target(), free, lendable, excluded);

  const auto keep = [&](std::optional<Reg> &where, unsigned count, const char *what) -> Result<void> {
    where = allocation.take(Reg::S0, count, count, true);
    if (!where)
      lack_ = Lack::Scalars;
    if (!where)
      return makeError("no scalar register is there to keep {} in", what);
    return {};
  };
  const unsigned mask = wave64() ? 2 : 1;
  const std::optional<Reg> givenExec = oneLane ? execInput(plan) : std::nullopt;
  if (oneLane && !givenExec)
    LUTHIER_TRY(keep(plan.exec, mask, "EXEC"));
  if (fragment_.writes.contains(Reg::Scc) && needed(Reg::Scc) && plantedFault() != Fault::Scc)
    LUTHIER_TRY(keep(plan.scc, 1, "SCC"));

  // Vector registers.
  for (const Cluster *cluster : open_) {
    if (!isVector(cluster->regs.first))
      continue;
    const auto to = allocation.take(cluster->regs.first, cluster->regs.count, cluster->alignment, true);
    if (!to) {
      lack_ = Lack::Vectors;
      return makeError("not enough vector registers for {} in a row", cluster->regs.count);
    }
    plan.map.set(cluster->regs, *to);
  }
  const size_t lentVectors = static_cast<size_t>(std::ranges::count_if(allocation.lent(), isVector));
  const size_t accumulators = pool_.freeAccumulators().size();
  if (lentVectors > accumulators && !spill_.available)
    lack_ = Lack::Vectors;
  if (lentVectors > accumulators && !spill_.available)
    return makeError("{} vector registers would have to be saved: {}", lentVectors, spill_.reason);
  if (lentVectors && lentVectors + 1 > accumulators && spill_.available) // one more may keep scalar registers
    LUTHIER_TRY(keep(plan.spillBase, 1, "the address of saved registers"));
  // A hook whose lanes look at each other may write lanes that are off.
  if (lentVectors && lane && fragment_.crossLane)
    LUTHIER_TRY(keep(plan.vectorsExec, mask, "EXEC"));

  // Scalar registers.
  const auto wants = [&](Reg low, Reg high) {
    return (fragment_.writes.contains(low) && needed(low)) || (fragment_.writes.contains(high) && needed(high));
  };
  if (wants(Reg::VccLo, Reg::VccHi))
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
    const auto to = allocation.take(cluster->regs.first, cluster->regs.count, cluster->alignment, true);
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
    for (Reg reg : allocation.lent())
      (isVector(reg) ? plan.lentVectors : plan.lentScalars).push_back(reg);
  if (plan.lentScalars.size() > std::min(glue_.waveSize(), SpillArea::kSavedScalars))
    return makeError("{} scalar registers would have to be saved", plan.lentScalars.size());
  if (!plan.lentScalars.empty()) {
    plan.lanes = allocation.takeOneOf(allLanes.inside | allLanes.beyond, Reg::V0);
    if (!plan.lanes && !pool_.lastResort().empty())
      plan.lanes = pool_.lastResort().first;
    if (!plan.lanes)
      if (const auto lent = lendLanes(plan, allocation, excluded); !lent) {
        // The register that this reserves may be one of those just taken: all over again.
        if (pool_.reserveLastResort() || (pool_.freeAccumulators().empty() && pool_.addAccumulator()))
          return attempt(wait);
        pool_.noteLack();
        if (!spill_.scalars)
          return lent.error();
        plan.lanes.reset();
        plan.lanesExec.reset();
        plan.lanesBase.reset();
        plan.lanesLent = false;
        plan.scalarsInMemory = true;
      }
    if (plan.lanesLent && accumulators && plan.lentVectors.size() == accumulators && !plan.spillBase)
      return makeError("a vector register would have to be saved: {}", spill_.reason);
  }
  plan.used = allocation.taken();
  // Special registers too: a kernel that did not use them may have none.
  for (unsigned n = number(Reg::FlatScrLo); n < number(Reg::Ttmp0); ++n)
    if (fragment_.writes.contains(static_cast<Reg>(n)))
      plan.used.insert(static_cast<Reg>(n));
  for (const OutputBinding &output : site_.outputs)
    if (output.guest >= Reg::FlatScrLo && output.guest < Reg::Ttmp0)
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
