#include "rewrite/shared_hook.h"

#include "rewrite/site_plan.h"

#include <algorithm>

namespace luthier::rewrite {

namespace {

/// What a register costs at a place where it must be saved, where it is an input (copies have an order then), and
/// where a result goes there: that place gets a copy of the hook.
constexpr uint32_t kSaved = 2, kInput = 1, kResult = 64;

template <class Each> void forEach(const RegSet &set, Each each) {
  for (Reg reg = set.firstFrom(Reg::S0); reg != Reg::End; reg = set.firstFrom(reg + 1))
    each(reg);
}

} // namespace

bool growsTooMuch(size_t places, size_t fragmentBytes) {
  constexpr size_t kLeastBytes = 256;              // of a fragment that is worth a call
  constexpr size_t kMostCopies = size_t{32} << 10; // bytes: an instruction cache
  return fragmentBytes >= kLeastBytes && places > 1 && places * fragmentBytes > kMostCopies;
}

void SharedHookSurvey::add(const RegisterPool &pool, const isa::Target &target, const Site &site) {
  const hook::Fragment &fragment = *fragment_.fragment;
  const RegisterPool::Free free =
      pool.free(site.live, {}, false, fragment.kind != hook::HookKind::Lane || fragment.crossLane);
  forEach(pool.spillable() - free.inside, [&](Reg reg) { costs_[number(reg)] += kSaved; });
  for (const InputBinding &input : site.inputs)
    if (input.inRegister())
      costs_[number(input.guest)] += kInput;
  for (const OutputBinding &output : site.outputs)
    if (output.memory < 0)
      costs_[number(output.guest)] += kResult;
  const SitePorts ports(site);
  if (sites_++ == 0)
    for (const Cluster &cluster : fragment_.clusters)
      bindings_.push_back(ports.directFor(cluster, target));
  else
    for (size_t n = 0; n < bindings_.size(); ++n)
      if (bindings_[n] && bindings_[n] != ports.directFor(fragment_.clusters[n], target))
        bindings_[n].reset();
}

/// The registers that cost least together; the lowest of several such.
std::optional<Reg> SharedHookSurvey::cheapest(const RegSet &available, RegRange like, unsigned alignment,
                                              unsigned limit, const isa::Target &target) const {
  const Reg file = isVector(like.first) ? Reg::V0 : Reg::S0;
  limit = std::min<unsigned>(limit, isVector(like.first) ? target.vgprs : target.sgprs);
  std::optional<Reg> best;
  uint64_t least = UINT64_MAX;
  for (unsigned n = (number(like.first) - number(file)) % alignment; n + like.count <= limit; n += alignment) {
    if (!available.containsAll({file + n, like.count}))
      continue;
    uint64_t cost = 0;
    for (unsigned k = 0; k < like.count; ++k)
      cost += costs_[number(file + n + k)];
    if (cost < least) {
      least = cost;
      best = file + n;
    }
  }
  return best;
}

Result<SharedHook> SharedHookSurvey::choose(const Glue &glue, RegisterPool &pool, const SpillArea &spill) const {
  const isa::Target &target = glue.target();
  if (!glue.has(GlueOp::Call))
    return makeError("{} has no call instruction for it", target.name);
  for (;;) {
    SharedHook hook;
    hook.fragment = &fragment_;
    RegSet available = pool.spillable() | pool.free({}, {}, false, true).beyond;
    const auto take = [&](RegRange like, unsigned alignment, unsigned limit) -> std::optional<Reg> {
      const auto found = cheapest(available, like, alignment, limit, target);
      if (found) {
        available.erase({*found, like.count});
        hook.taken.insert({*found, like.count});
      }
      return found;
    };
    for (size_t n = 0; n < bindings_.size(); ++n)
      if (const RegRange regs = fragment_.clusters[n].regs; bindings_[n]) {
        hook.map.set(regs, *bindings_[n]);
        hook.bound.insert(regs);
        available.erase({*bindings_[n], regs.count});
      }
    for (size_t n = 0; n < bindings_.size(); ++n) {
      const Cluster &cluster = fragment_.clusters[n];
      if (bindings_[n])
        continue;
      if (isAccumulator(cluster.regs.first))
        return makeError("the hook uses accumulation registers");
      const auto to = take(cluster.regs, cluster.alignment, cluster.limit);
      if (!to)
        return makeError("there are no {} registers in a row for it", cluster.regs.count);
      hook.map.set(cluster.regs, *to);
    }
    const auto pair = take({Reg::S0, 2}, 2, 256);
    if (!pair)
      return makeError("there is no pair of scalar registers for its return address");
    hook.returnTo = *pair;
    // Where none can be saved, none may be live at any place.
    size_t saved = 0;
    forEach(hook.taken, [&](Reg reg) { saved += isVector(reg) && costs_[number(reg)] >= kSaved; });
    if (saved > pool.freeAccumulators().size() && !spill.available && pool.growVectors())
      continue;
    for (const InstrTemplate &instr : fragment_.instrs)
      hook.body.add(instr, hook.map);
    glue.add(hook.body, GlueOp::Return, hook.returnTo);
    glue.add(hook.path, GlueOp::Call, hook.returnTo);
    hook.path.append(hook.body);
    return hook;
  }
}

} // namespace luthier::rewrite
