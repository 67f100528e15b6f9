#include "analysis/budget.h"

#include <algorithm>

namespace luthier::analysis {

namespace {

unsigned countIn(const RegSet &set, Reg first, Reg end) {
  unsigned count = 0;
  for (unsigned n = number(first); n < number(end); ++n)
    count += set.contains(static_cast<Reg>(n));
  return count;
}

void insertRange(RegSet &set, Reg first, unsigned count) {
  for (unsigned n = 0; n < count; ++n)
    set.insert(first + n);
}

} // namespace

Result<Allocation> allocationOf(const object::CodeObject &object, const object::Symbol &kernel) {
  const object::KernelDescriptor descriptor = LUTHIER_TRY(object.descriptor(kernel));
  const isa::Target &target = object.target();
  Allocation a;
  const unsigned sgprs = descriptor.sgprs(target);
  a.sgprs = std::min<unsigned>(sgprs - std::min<unsigned>(sgprs, target.trailingSgprs), target.sgprs);
  const unsigned vgprs = descriptor.vgprs(target);
  if (target.unifiedVgprs) {
    a.vgprs = std::min(vgprs, descriptor.accumOffset());
    a.accVgprs = vgprs - a.vgprs;
  } else {
    a.vgprs = vgprs;
    a.accVgprs = target.accVgprs ? vgprs : 0;
  }
  a.vgprs = std::min<unsigned>(a.vgprs, target.vgprs);
  a.accVgprs = std::min<unsigned>(a.accVgprs, target.accVgprs);
  insertRange(a.registers, Reg::S0, a.sgprs);
  insertRange(a.registers, Reg::V0, a.vgprs);
  insertRange(a.registers, Reg::A0, a.accVgprs);

  insertRange(a.initialised, Reg::S0, descriptor.initialSgprs(target).total);
  insertRange(a.initialised, Reg::V0, target.packedWorkitemIds ? 1 : descriptor.workitemIds() + 1);
  for (Reg reg : {Reg::ExecLo, Reg::ExecHi, Reg::Mode})
    a.initialised.insert(reg);
  // Every FLAT instruction reads it, and kernels without scratch leave it as it comes.
  if (target.scalarFlatScratch)
    insertRange(a.initialised, Reg::FlatScrLo, 2);
  insertRange(a.initialised, Reg::FlatScratchLo, 2);
  if (target.workgroupIdsInTtmps)
    insertRange(a.initialised, Reg::Ttmp0, number(Reg::M0) - number(Reg::Ttmp0));
  return a;
}

Budget &Budget::operator+=(const Budget &other) {
  points += other.points;
  deadSgprs += other.deadSgprs;
  deadVgprs += other.deadVgprs;
  deadVgprsWave += other.deadVgprsWave;
  enough += other.enough;
  enoughFree += other.enoughFree;
  undefinedAtEntry += other.undefinedAtEntry;
  return *this;
}

RegSet undefinedAtEntry(const Allocation &allocation, const Liveness &liveness) {
  return liveness.cfg().blocks().empty() ? RegSet() : liveness.atStart(0).active - allocation.initialised;
}

Budget measure(const Allocation &allocation, const Liveness &liveness, const Waits &waits) {
  Budget budget;
  const Cfg &cfg = liveness.cfg();
  std::vector<RegSet> busy;
  std::vector<uint8_t> unknown;
  for (uint32_t block = 0; block < cfg.blocks().size(); ++block) {
    busy.clear();
    unknown.clear();
    waits.walk(block, [&](const Instr &, const WaitState &state) {
      busy.push_back(state.busy());
      unknown.push_back(state.anyRegister());
    });
    liveness.walk(block, [&](const Instr &instr, const LiveSets &live) {
      const RegSet dead = allocation.registers - live.active;
      const size_t at = cfg.indexOf(instr) - cfg.blocks()[block].first;
      const RegSet available = unknown[at] ? RegSet() : dead - busy[at];
      const unsigned sgprs = countIn(dead, Reg::S0, Reg::VccLo), vgprs = countIn(dead, Reg::V0, Reg::A0);
      ++budget.points;
      budget.deadSgprs += sgprs;
      budget.deadVgprs += vgprs;
      budget.deadVgprsWave += countIn(dead - live.inactive, Reg::V0, Reg::A0);
      budget.enough += sgprs >= 4 && vgprs >= 2;
      budget.enoughFree += countIn(available, Reg::S0, Reg::VccLo) >= 4 && countIn(available, Reg::V0, Reg::A0) >= 2;
    });
  }
  budget.undefinedAtEntry = undefinedAtEntry(allocation, liveness).size();
  return budget;
}

} // namespace luthier::analysis
