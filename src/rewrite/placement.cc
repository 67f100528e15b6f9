#include "rewrite/placement.h"

#include "rewrite/shared_hook.h"
#include "rewrite/site_plan.h"
#include "rewrite/testing.h"

#include <algorithm>
#include <optional>

namespace luthier::rewrite {

namespace {

using analysis::Counter;
using analysis::CounterSet;
using analysis::setOf;
using hook::HookKind;

/// Writes the code of a plan.
class Writer {
public:
  Writer(const Glue &glue, RegisterPool &pool, SpillArea &spill, const Site &site, const SitePlan &plan)
      : glue_(glue), pool_(pool), spill_(spill), site_(site), fragment_(*site.fragment->fragment), plan_(plan) {}

  Result<PlacedSite> write();

private:
  /// The n-th spilled vector register is kept in the n-th free accumulator, or in scratch when those are used up.
  std::optional<Reg> accumulatorFor(unsigned slot) const;
  void store(CodeSequence &code, unsigned slot, Reg reg, std::optional<Reg> base);
  bool load(CodeSequence &code, unsigned slot, Reg reg, std::optional<Reg> base); ///< whether it must be waited for
  bool outputIs(Reg guest) const {
    return std::ranges::any_of(site_.outputs, [&](const OutputBinding &o) { return o.memory < 0 && o.guest == guest; });
  }
  /// Whether two scalar inputs, one after the other, are the halves of 64 bits that one instruction can move.
  bool movesAsPair(const InputBinding &low, const InputBinding &high) const;
  void writeChecks(PlacedSite &placed);
  void endChecks(PlacedSite &placed) const;
  void setLanes(CodeSequence &code) const;
  void setMode(CodeSequence &code) const;
  void restoreMode(CodeSequence &code) const;
  Result<void> writeOutputs(CodeSequence &code);

  const Glue &glue_;
  RegisterPool &pool_;
  SpillArea &spill_;
  const Site &site_;
  const hook::Fragment &fragment_;
  const SitePlan &plan_;
};

std::optional<Reg> Writer::accumulatorFor(unsigned slot) const {
  const RegSet accumulators = pool_.freeAccumulators();
  for (unsigned a = 0; a < glue_.target().accVgprs; ++a)
    if (accumulators.contains(agpr(a)) && slot-- == 0)
      return agpr(a);
  return {};
}

void Writer::store(CodeSequence &code, unsigned slot, Reg reg, std::optional<Reg> base) {
  if (const auto accumulator = accumulatorFor(slot)) {
    pool_.use({*accumulator, 1});
    glue_.add(code, GlueOp::AccumulatorWrite, *accumulator, reg);
    return;
  }
  const unsigned place = slot - pool_.freeAccumulators().size();
  spill_.slots = std::max(spill_.slots, place + 1);
  if (spill_.direct)
    glue_.scratch(code, GlueOp::ScratchStoreDirect, reg, Reg::S0, spill_.base + place * 4);
  else
    glue_.scratch(code, GlueOp::ScratchStore, reg, *base, place * 4);
}

bool Writer::load(CodeSequence &code, unsigned slot, Reg reg, std::optional<Reg> base) {
  if (const auto accumulator = accumulatorFor(slot)) {
    glue_.add(code, GlueOp::AccumulatorRead, reg, *accumulator);
    return false;
  }
  const unsigned place = slot - pool_.freeAccumulators().size();
  if (spill_.direct)
    glue_.scratch(code, GlueOp::ScratchLoadDirect, reg, Reg::S0, spill_.base + place * 4);
  else
    glue_.scratch(code, GlueOp::ScratchLoad, reg, *base, place * 4);
  return true;
}

bool Writer::movesAsPair(const InputBinding &low, const InputBinding &high) const {
  const auto plain = [](const InputBinding &copy) {
    return copy.inRegister() && copy.lane < 0 && !isVector(copy.fragment) && copy.guest < Reg::Scc;
  };
  const auto pair = [](Reg first, Reg second) { return number(first) % 2 == 0 && second == first + 1; };
  const Reg to = plan_.map(low.fragment);
  return plain(low) && plain(high) && pair(low.guest, high.guest) && pair(to, plan_.map(high.fragment)) &&
         to != low.guest;
}

/// Branches that are taken in visits that do not run the hook; endChecks() says where to.
void Writer::writeChecks(PlacedSite &placed) {
  CodeSequence &code = placed.before;
  if (plan_.checkScc)
    glue_.add(code, GlueOp::SaveScc, *plan_.checkScc);
  for (const auto &[slot, every] : site_.checks) {
    const bool memory = slot.memory >= 0;
    const Reg value = memory || slot.lanes ? *plan_.checkValue : slot.regs.first;
    const auto keep = [&] {
      if (memory) {
        glue_.scalarMemory(code, GlueOp::ScalarStore, value, spill_.kept(slot.memory));
        glue_.wait(code, setOf(Counter::Lgkm)); // its data is read late
      } else if (slot.lanes)
        glue_.writeLane(code, slot.regs.first, slot.lane, value);
    };
    if (memory) {
      glue_.scalarMemory(code, GlueOp::ScalarLoad, value, spill_.kept(slot.memory));
      glue_.wait(code, setOf(Counter::Lgkm));
    } else if (slot.lanes)
      glue_.readLane(code, value, slot.regs.first, slot.lane);
    if (every) {
      glue_.add(code, GlueOp::CountDown, value);
      keep();
    } else
      glue_.add(code, GlueOp::RestoreScc, value); // whether it is zero
    placed.guards.push_back({.at = code.size(), .before = code.instrs().size() + 1});
    glue_.add(code, GlueOp::BranchScc0);
    if (every) {
      glue_.constant(code, value, every - 1);
      keep();
    }
  }
}

/// What follows is executed in all visits: all that is restored there has been saved before the checks.
void Writer::endChecks(PlacedSite &placed) const {
  const std::optional<Reg> scc = plan_.checkScc ? plan_.checkScc : plan_.scc;
  if (scc && outputIs(Reg::Scc))
    glue_.add(placed.after, GlueOp::SaveScc, *scc);
  for (size_t n = 0; n < site_.checks.size(); ++n) {
    placed.guards[n].into = placed.after.size();
    placed.guards[n].instrs = placed.after.instrs().size();
  }
  if (scc)
    glue_.add(placed.after, GlueOp::RestoreScc, *scc);
}

/// EXEC as the site wants it.
void Writer::setLanes(CodeSequence &code) const {
  const ReservedSlot &slot = *site_.startLanes;
  for (unsigned half = 0; half < glue_.waveSize() / 32 && plan_.startLanes; ++half)
    if (slot.memory >= 0)
      glue_.scalarMemory(code, GlueOp::ScalarLoad, *plan_.startLanes + half,
                         spill_.kept(slot.memory + static_cast<int>(half)));
    else
      glue_.readLane(code, *plan_.startLanes + half, slot.regs.first, slot.lane + half);
  if (slot.memory >= 0)
    glue_.wait(code, setOf(Counter::Lgkm));
  glue_.add(code, GlueOp::RestoreExec, plan_.startLanes.value_or(slot.regs.first));
}

/// Fields of MODE that are set at once.
struct ModeField {
  unsigned first, bits;
};

/// Calls `set(first bit, bits, value)` for what must be changed in MODE to get from one to the other.
template <class Set> void changeMode(const isa::Target &target, uint32_t from, uint32_t to, Set set) {
  const uint32_t settable = analysis::settableModeBits(target);
  const ModeField fields[] = {{0, target.clampAndIeeeModes ? 10u : 8u}, {12, 7}, {23, 1}};
  for (const ModeField &field : fields) {
    const uint32_t mask = (1u << field.bits) - 1;
    if ((from ^ to) & settable & mask << field.first)
      set(field.first, field.bits, (to & settable) >> field.first & mask);
  }
}

/// The guest's mode is saved if it is not known.
void Writer::setMode(CodeSequence &code) const {
  if (plan_.flags)
    glue_.add(code, GlueOp::SaveFlags, *plan_.flags);
  if (plan_.mode) {
    glue_.add(code, GlueOp::SaveMode, *plan_.mode);
    glue_.setMode(code, 0, 24, analysis::kHookMode & analysis::settableModeBits(glue_.target()));
  } else if (site_.mode)
    changeMode(glue_.target(), site_.mode->value, analysis::kHookMode,
               [&](unsigned first, unsigned bits, uint32_t value) { glue_.setMode(code, first, bits, value); });
}

void Writer::restoreMode(CodeSequence &code) const {
  if (plan_.flags) // first: exceptions that are enabled again must not find any
    glue_.add(code, GlueOp::RestoreFlags, *plan_.flags);
  if (plan_.mode)
    glue_.add(code, GlueOp::RestoreMode, *plan_.mode);
  else if (site_.mode)
    changeMode(glue_.target(), analysis::kHookMode, site_.mode->value,
               [&](unsigned first, unsigned bits, uint32_t value) { glue_.setMode(code, first, bits, value); });
}

Result<void> Writer::writeOutputs(CodeSequence &code) {
  const auto pair = [&](size_t n) { // whether it and the next are the halves of VCC, from two registers in a row
    if (n + 1 >= plan_.results.size() || plan_.results[n].guest != Reg::VccLo ||
        plan_.results[n + 1].guest != Reg::VccHi)
      return false;
    const Reg from = plan_.map(plan_.results[n].fragment);
    return number(from) % 2 == 0 && plan_.map(plan_.results[n + 1].fragment) == from + 1;
  };
  bool halves = false, stored = false;
  for (size_t n = 0; n < plan_.results.size(); ++n) {
    const OutputBinding &output = plan_.results[n];
    const Reg from = plan_.map(output.fragment);
    const bool vcc = (output.guest == Reg::VccLo || output.guest == Reg::VccHi) &&
                     !glue_.target().partialVccWritesUpdateVccz && plantedFault() != Fault::Vccz;
    if (vcc && pair(n)) {
      glue_.add(code, GlueOp::RestoreVcc, from);
      ++n;
      continue;
    }
    halves |= vcc;
    if (output.memory >= 0) {
      glue_.scalarMemory(code, GlueOp::ScalarStore, from, spill_.kept(output.memory));
      stored = true;
    } else if (output.lane >= 0)
      glue_.writeLane(code, output.guest, static_cast<unsigned>(output.lane), from);
    else if (output.guest == Reg::Scc)
      glue_.add(code, GlueOp::RestoreScc, from);
    else
      LUTHIER_TRY(glue_.move(code, output.guest, from));
  }
  if (stored) // its data is read late
    glue_.wait(code, setOf(Counter::Lgkm));
  if (halves) // a write of all of it, for VCCZ
    glue_.add(code, GlueOp::RestoreVcc, Reg::VccLo);
  return {};
}

/// By an instruction that writes nothing of the other half.
bool writesHalfOfVcc(const hook::Fragment &fragment) {
  return std::ranges::any_of(fragment.code.instrs(), [](const Instr &instr) {
    return std::ranges::any_of(instr.writes(),
                               [](RegRange range) { return range.contains(Reg::VccLo) != range.contains(Reg::VccHi); });
  });
}

Result<PlacedSite> Writer::write() {
  PlacedSite placed;
  CodeSequence &in = placed.before, &out = placed.after;
  const bool lane = fragment_.kind == HookKind::Lane;
  if (plan_.checksFirst)
    writeChecks(placed);
  if (plan_.wait) {
    CounterSet counters = site_.waits->pending();
    if (plantedFault() == Fault::Exports) // they and GDS read their sources late
      counters &= static_cast<CounterSet>(~setOf(Counter::Exp));
    glue_.wait(in, counters);
    placed.waited = true;
  }
  if (site_.indexed)
    glue_.add(in, GlueOp::IndexOff);

  // Scalar registers that are spilled, and the vector register that keeps them.
  const unsigned firstSlot = plan_.lanesSpilled; // after those of the spilled ones that keep scalar registers
  const std::span<const Reg> spilledLanes = std::span(plan_.lanes).last(plan_.lanesSpilled);
  const auto laneOf = [&](unsigned n) { return plan_.lanes[n / glue_.waveSize()]; };
  if (plan_.lanesSpilled) {
    if (plan_.lanesBase)
      glue_.constant(in, *plan_.lanesBase, spill_.base);
    glue_.add(in, GlueOp::SaveExec, *plan_.lanesExec);
    glue_.add(in, GlueOp::ExecAll);
    for (unsigned n = 0; n < spilledLanes.size(); ++n)
      store(in, n, spilledLanes[n], plan_.lanesBase);
    glue_.add(in, GlueOp::RestoreExec, *plan_.lanesExec);
  }
  for (unsigned n = 0; n < plan_.spilledScalars.size(); ++n)
    if (plan_.scalarsInMemory)
      glue_.scalarMemory(in, GlueOp::ScalarStore, plan_.spilledScalars[n], spill_.saved(n));
    else
      glue_.writeLane(in, laneOf(n), n % glue_.waveSize(), plan_.spilledScalars[n]);
  if (plan_.scalarsInMemory) { // scalar stores read their data late
    glue_.wait(in, setOf(Counter::Lgkm));
    spill_.scalarsUsed = true;
  }

  if (plan_.scc)
    glue_.add(in, GlueOp::SaveScc, *plan_.scc);
  for (const InputBinding &copy : plan_.copies)
    if (copy.inRegister() && copy.guest == Reg::Scc && !isVector(copy.fragment)) {
      if (plan_.checkScc)
        glue_.add(in, GlueOp::MoveScalar, plan_.map(copy.fragment), *plan_.checkScc);
      else
        glue_.add(in, GlueOp::SaveScc, plan_.map(copy.fragment));
    }
  const bool checksHere = !site_.checks.empty() && !plan_.checksFirst;
  if (checksHere)
    writeChecks(placed);
  if (plan_.spillBase)
    glue_.constant(in, *plan_.spillBase, spill_.base);
  if (plan_.vcc)
    glue_.add(in, GlueOp::SaveVcc, *plan_.vcc);
  if (plan_.m0)
    glue_.add(in, GlueOp::SaveM0, *plan_.m0);
  // What the hook is given, as far as it is scalar: EXEC among it.
  bool loaded = false;
  for (size_t n = 0; n < plan_.copies.size(); ++n) {
    const InputBinding &copy = plan_.copies[n];
    if (isVector(copy.fragment) || (copy.inRegister() && copy.guest == Reg::Scc))
      continue;
    const Reg to = plan_.map(copy.fragment);
    if (copy.constant)
      glue_.constant(in, to, copy.value);
    else if (copy.memory >= 0) {
      glue_.scalarMemory(in, GlueOp::ScalarLoad, to, spill_.kept(copy.memory));
      loaded = true;
    } else if (copy.lane >= 0)
      glue_.readLane(in, to, copy.guest, static_cast<unsigned>(copy.lane));
    else if (n + 1 < plan_.copies.size() && movesAsPair(copy, plan_.copies[n + 1])) {
      glue_.add(in, GlueOp::MoveScalarPair, to, copy.guest);
      ++n;
    } else
      LUTHIER_TRY(glue_.move(in, to, copy.guest));
  }
  if (loaded)
    glue_.wait(in, setOf(Counter::Lgkm));
  if (plan_.exec) {
    if (!plan_.execGiven)
      glue_.add(in, GlueOp::SaveExec, *plan_.exec);
    if (site_.startLanes)
      setLanes(in);
    else
      glue_.add(in, GlueOp::ExecOne);
  }
  if (plan_.vectorsExec) {
    glue_.add(in, GlueOp::SaveExec, *plan_.vectorsExec);
    glue_.add(in, GlueOp::ExecAll);
  }
  for (unsigned n = 0; n < plan_.spilledVectors.size(); ++n)
    store(in, firstSlot + n, plan_.spilledVectors[n], plan_.spillBase);
  if (plan_.vectorsExec)
    glue_.add(in, GlueOp::RestoreExec, *plan_.vectorsExec);
  for (const InputBinding &copy : plan_.copies) {
    if (!isVector(copy.fragment))
      continue;
    const Reg to = plan_.map(copy.fragment);
    if (copy.constant)
      glue_.constant(in, to, copy.value);
    else
      LUTHIER_TRY(glue_.move(in, to, copy.guest));
  }

  placed.called = site_.shared;
  if (site_.shared)
    glue_.add(placed.fragment, GlueOp::Call, site_.shared->returnTo);
  else
    for (const InstrTemplate &instr : site_.fragment->instrs)
      placed.fragment.add(instr, plan_.map);

  if (fragment_.asWritten && writesHalfOfVcc(fragment_) && !glue_.target().partialVccWritesUpdateVccz)
    glue_.add(out, GlueOp::RestoreVcc, Reg::VccLo); // a write of all of it, for VCCZ
  restoreMode(out);
  if (lane)
    LUTHIER_TRY(writeOutputs(out));
  if (lane && !fragment_.safeWhenEmpty) {
    // Around the hook when no lane is active.
    placed.guards.push_back({in.size(), out.size(), in.instrs().size() + 1, out.instrs().size()});
    glue_.add(in, GlueOp::BranchExecZero);
  }
  setMode(in);
  bool loads = false;
  if (plan_.vectorsExec)
    glue_.add(out, GlueOp::ExecAll);
  for (unsigned n = 0; n < plan_.spilledVectors.size(); ++n)
    loads |= load(out, firstSlot + n, plan_.spilledVectors[n], plan_.spillBase);
  if (plan_.vectorsExec)
    glue_.add(out, GlueOp::RestoreExec, *plan_.vectorsExec);
  if (plan_.exec)
    glue_.add(out, GlueOp::RestoreExec, *plan_.exec);
  // A hook that sets a half of VCC leaves the other one as it was.
  if (plan_.vcc)
    glue_.add(out, GlueOp::RestoreVcc, *plan_.vcc);
  if (plan_.m0)
    glue_.add(out, GlueOp::RestoreM0, *plan_.m0);
  if (!lane)
    LUTHIER_TRY(writeOutputs(out));
  if (checksHere)
    endChecks(placed);
  else if (plan_.scc && !outputIs(Reg::Scc))
    glue_.add(out, GlueOp::RestoreScc, *plan_.scc);
  for (unsigned n = 0; n < plan_.spilledScalars.size(); ++n)
    if (plan_.scalarsInMemory)
      glue_.scalarMemory(out, GlueOp::ScalarLoad, plan_.spilledScalars[n], spill_.saved(n));
    else
      glue_.readLane(out, plan_.spilledScalars[n], laneOf(n), n % glue_.waveSize());
  if (plan_.lanesSpilled) {
    if (plan_.lanesBase)
      glue_.constant(out, *plan_.lanesBase, spill_.base);
    glue_.add(out, GlueOp::SaveExec, *plan_.lanesExec);
    glue_.add(out, GlueOp::ExecAll);
    for (unsigned n = 0; n < spilledLanes.size(); ++n)
      loads |= load(out, n, spilledLanes[n], plan_.lanesBase);
    glue_.add(out, GlueOp::RestoreExec, *plan_.lanesExec);
  }
  CounterSet counters = 0;
  if (loads)
    counters |= setOf(Counter::Vm);
  if (fragment_.pendingScalar)
    counters |= setOf(Counter::Lgkm) | setOf(Counter::Ds);
  if (plan_.scalarsInMemory)
    counters |= setOf(Counter::Lgkm);
  glue_.wait(out, counters);
  if (site_.indexed)
    glue_.add(out, GlueOp::IndexOn);
  if (plan_.checksFirst)
    endChecks(placed);
  placed.saved = static_cast<unsigned>(plan_.spilledScalars.size() + plan_.spilledVectors.size()) + plan_.lanesSpilled;
  for (const InputBinding &input : site_.inputs)
    placed.inputs.push_back(plan_.map(input.fragment));
  return placed;
}

} // namespace

std::span<const Instr *const> PlacedSite::executed() const {
  return called ? called->path.instrs() : fragment.instrs();
}

void PlacedSite::padBefore(const Glue &glue, unsigned waitStates) {
  CodeSequence nops;
  glue.nops(nops, waitStates);
  surround(nops, {});
}

void PlacedSite::padBeforeFragment(const Glue &glue, unsigned waitStates) { glue.nops(before, waitStates); }

void PlacedSite::padBehindFragment(const Glue &glue, unsigned waitStates) {
  CodeSequence nops;
  glue.nops(nops, waitStates);
  insertBehindFragment(nops);
}

void PlacedSite::insertBehindFragment(const CodeSequence &code) {
  after.insert(0, 0, code);
  for (Guard &guard : guards) {
    guard.into += code.size();
    guard.instrs += code.instrs().size();
  }
}

void PlacedSite::padAround(const Glue &glue, size_t number, unsigned waitStates) {
  if (!waitStates)
    return;
  CodeSequence nops;
  glue.nops(nops, waitStates);
  const Guard to = guards[number];
  after.insert(to.into, to.instrs, nops);
  for (Guard &guard : guards)
    if (guard.into > to.into) {
      guard.into += nops.size();
      guard.instrs += nops.instrs().size();
    }
}

void PlacedSite::padBehind(const Glue &glue, unsigned waitStates) { glue.nops(after, waitStates); }

void PlacedSite::surround(const CodeSequence &first, const CodeSequence &last) {
  for (Guard &guard : guards) {
    guard.at += first.size();
    guard.before += first.instrs().size();
  }
  before.insert(0, 0, first);
  after.append(last);
}

void PlacedSite::finish() {
  for (const Guard &guard : guards)
    before.setSimm16(guard.at, static_cast<int>(distance(guard)));
}

Result<PlacedSite> Placer::place(const Site &site) {
  if (site.shared) {
    if (auto called = placeAs(site))
      return called;
    Site copied = site;
    copied.shared = nullptr;
    return placeAs(copied);
  }
  return placeAs(site);
}

Result<PlacedSite> Placer::placeAs(const Site &site) {
  const SitePlan plan = LUTHIER_TRY(planSite(glue_, pool_, spill_, site));
  PlacedSite placed = LUTHIER_TRY(Writer(glue_, pool_, spill_, site, plan).write());
  pool_.use(plan.used);
  return placed;
}

} // namespace luthier::rewrite
