#include "rewrite/placement.h"

#include "rewrite/site_plan.h"
#include "rewrite/testing.h"

#include <algorithm>
#include <optional>

namespace luthier::rewrite {

namespace {

using hook::HookKind;

/// Writes the code of a plan.
class Writer {
public:
  Writer(const Glue &glue, RegisterPool &pool, SpillArea &spill, const Site &site, const SitePlan &plan)
      : glue_(glue), pool_(pool), spill_(spill), site_(site), fragment_(*site.fragment->fragment), plan_(plan) {}

  Result<PlacedSite> write();

private:
  /// The n-th lent vector register is kept in the n-th free accumulator, or in scratch when those are used up.
  std::optional<Reg> accumulatorFor(unsigned slot) const;
  void store(CodeSequence &code, unsigned slot, Reg reg, std::optional<Reg> base);
  bool load(CodeSequence &code, unsigned slot, Reg reg, std::optional<Reg> base); ///< whether it must be waited for
  bool outputIs(Reg guest) const {
    return std::ranges::any_of(site_.outputs, [&](const OutputBinding &o) { return o.memory < 0 && o.guest == guest; });
  }
  /// Whether two scalar inputs, one after the other, are the halves of 64 bits that one instruction can move.
  bool movesAsPair(const InputBinding &low, const InputBinding &high) const;
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
  glue_.scratch(code, GlueOp::ScratchStore, reg, *base, place * 4);
}

bool Writer::load(CodeSequence &code, unsigned slot, Reg reg, std::optional<Reg> base) {
  if (const auto accumulator = accumulatorFor(slot)) {
    glue_.add(code, GlueOp::AccumulatorRead, reg, *accumulator);
    return false;
  }
  glue_.scratch(code, GlueOp::ScratchLoad, reg, *base, (slot - pool_.freeAccumulators().size()) * 4);
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

/// Fields of MODE that are set at once.
constexpr std::pair<unsigned, unsigned> kModeFields[] = {{0, 10}, {12, 7}, {23, 1}};

constexpr uint32_t fieldOf(uint32_t mode, unsigned first, unsigned bits) { return mode >> first & ((1u << bits) - 1); }

/// The guest's mode is saved if it is not known.
void Writer::setMode(CodeSequence &code) const {
  if (plan_.flags)
    glue_.add(code, GlueOp::SaveFlags, *plan_.flags);
  if (plan_.mode) {
    glue_.add(code, GlueOp::SaveMode, *plan_.mode);
    glue_.setMode(code, 0, 24, analysis::kHookMode);
  } else if (site_.mode)
    for (const auto &[first, bits] : kModeFields)
      if (const uint32_t hook = fieldOf(analysis::kHookMode, first, bits);
          hook != fieldOf(site_.mode->value, first, bits))
        glue_.setMode(code, first, bits, hook);
}

void Writer::restoreMode(CodeSequence &code) const {
  if (plan_.flags) // first: exceptions that are enabled again must not find any
    glue_.add(code, GlueOp::RestoreFlags, *plan_.flags);
  if (plan_.mode)
    glue_.add(code, GlueOp::RestoreMode, *plan_.mode);
  else if (site_.mode)
    for (const auto &[first, bits] : kModeFields)
      if (const uint32_t guest = fieldOf(site_.mode->value, first, bits);
          guest != fieldOf(analysis::kHookMode, first, bits))
        glue_.setMode(code, first, bits, guest);
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
    glue_.add(code, GlueOp::WaitScalar);
  if (halves) // a write of all of it, for VCCZ
    glue_.add(code, GlueOp::RestoreVcc, Reg::VccLo);
  return {};
}

Result<PlacedSite> Writer::write() {
  PlacedSite placed;
  CodeSequence &in = placed.before, &out = placed.after;
  const bool lane = fragment_.kind == HookKind::Lane;
  if (plan_.wait) {
    // Exports and GDS read their sources late.
    glue_.add(in, site_.waits->most(analysis::Counter::Exp) && plantedFault() != Fault::Exports ? GlueOp::WaitAll
                                                                                                : GlueOp::WaitBoth);
    placed.waited = true;
  }
  if (site_.indexed)
    glue_.add(in, GlueOp::IndexOff);

  // Scalar registers that are lent, and the vector register that keeps them.
  const unsigned lanesSlot = 0, firstSlot = plan_.lanesLent;
  if (plan_.lanesLent) {
    if (plan_.lanesBase)
      glue_.constant(in, *plan_.lanesBase, spill_.base);
    glue_.add(in, GlueOp::SaveExec, *plan_.lanesExec);
    glue_.add(in, GlueOp::ExecAll);
    store(in, lanesSlot, *plan_.lanes, plan_.lanesBase);
    glue_.add(in, GlueOp::RestoreExec, *plan_.lanesExec);
  }
  for (unsigned n = 0; n < plan_.lentScalars.size(); ++n)
    if (plan_.scalarsInMemory)
      glue_.scalarMemory(in, GlueOp::ScalarStore, plan_.lentScalars[n], spill_.saved(n));
    else
      glue_.writeLane(in, *plan_.lanes, n, plan_.lentScalars[n]);
  if (plan_.scalarsInMemory) { // scalar stores read their data late
    glue_.add(in, GlueOp::WaitScalar);
    spill_.scalarsUsed = true;
  }

  if (plan_.scc)
    glue_.add(in, GlueOp::SaveScc, *plan_.scc);
  for (const InputBinding &copy : plan_.copies)
    if (copy.inRegister() && copy.guest == Reg::Scc && !isVector(copy.fragment))
      glue_.add(in, GlueOp::SaveScc, plan_.map(copy.fragment));
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
    glue_.add(in, GlueOp::WaitScalar);
  if (plan_.exec) {
    if (!plan_.execGiven)
      glue_.add(in, GlueOp::SaveExec, *plan_.exec);
    glue_.add(in, GlueOp::ExecOne);
  }
  if (plan_.vectorsExec) {
    glue_.add(in, GlueOp::SaveExec, *plan_.vectorsExec);
    glue_.add(in, GlueOp::ExecAll);
  }
  for (unsigned n = 0; n < plan_.lentVectors.size(); ++n)
    store(in, firstSlot + n, plan_.lentVectors[n], plan_.spillBase);
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

  for (const InstrTemplate &instr : site_.fragment->instrs)
    placed.fragment.add(instr, plan_.map);

  restoreMode(out);
  if (lane)
    LUTHIER_TRY(writeOutputs(out));
  if (lane && !fragment_.safeWhenEmpty) {
    // Around the hook when no lane is active.
    placed.guard = {in.size(), out.size(), out.instrs().size()};
    glue_.add(in, GlueOp::BranchExecZero);
  }
  setMode(in);
  bool loads = false;
  if (plan_.vectorsExec)
    glue_.add(out, GlueOp::ExecAll);
  for (unsigned n = 0; n < plan_.lentVectors.size(); ++n)
    loads |= load(out, firstSlot + n, plan_.lentVectors[n], plan_.spillBase);
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
  if (plan_.scc && !outputIs(Reg::Scc))
    glue_.add(out, GlueOp::RestoreScc, *plan_.scc);
  for (unsigned n = 0; n < plan_.lentScalars.size(); ++n)
    if (plan_.scalarsInMemory)
      glue_.scalarMemory(out, GlueOp::ScalarLoad, plan_.lentScalars[n], spill_.saved(n));
    else
      glue_.readLane(out, plan_.lentScalars[n], *plan_.lanes, n);
  if (plan_.lanesLent) {
    if (plan_.lanesBase)
      glue_.constant(out, *plan_.lanesBase, spill_.base);
    glue_.add(out, GlueOp::SaveExec, *plan_.lanesExec);
    glue_.add(out, GlueOp::ExecAll);
    loads |= load(out, lanesSlot, *plan_.lanes, plan_.lanesBase);
    glue_.add(out, GlueOp::RestoreExec, *plan_.lanesExec);
  }
  const bool scalars = fragment_.pendingScalar || plan_.scalarsInMemory;
  if (loads || scalars)
    glue_.add(out, loads && scalars ? GlueOp::WaitBoth : loads ? GlueOp::WaitVector : GlueOp::WaitScalar);
  if (site_.indexed)
    glue_.add(out, GlueOp::IndexOn);
  placed.saved = static_cast<unsigned>(plan_.lentScalars.size() + plan_.lentVectors.size()) + plan_.lanesLent;
  for (const InputBinding &input : site_.inputs)
    placed.inputs.push_back(plan_.map(input.fragment));
  return placed;
}

void padFront(CodeSequence &code, const Glue &glue, unsigned waitStates) {
  CodeSequence padded;
  glue.nops(padded, waitStates);
  padded.append(code);
  code = std::move(padded);
}

} // namespace

void PlacedSite::padBefore(const Glue &glue, unsigned waitStates) {
  const size_t was = before.size();
  padFront(before, glue, waitStates);
  if (guard)
    guard->at += before.size() - was;
}

void PlacedSite::padBeforeFragment(const Glue &glue, unsigned waitStates) { glue.nops(before, waitStates); }

void PlacedSite::padBehindFragment(const Glue &glue, unsigned waitStates) {
  const size_t was = after.size(), instrs = after.instrs().size();
  padFront(after, glue, waitStates);
  if (guard) {
    guard->into += after.size() - was;
    guard->instrs += after.instrs().size() - instrs;
  }
}

void PlacedSite::padAround(const Glue &glue, unsigned waitStates) {
  if (!waitStates)
    return;
  CodeSequence nops;
  glue.nops(nops, waitStates);
  after.insert(guard->into, guard->instrs, nops);
}

void PlacedSite::padBehind(const Glue &glue, unsigned waitStates) { glue.nops(after, waitStates); }

void PlacedSite::finish() {
  if (guard)
    before.setSimm16(guard->at, static_cast<int>((before.size() - guard->at - 4 + fragment.size() + guard->into) / 4));
}

Result<PlacedSite> Placer::place(const Site &site) {
  const SitePlan plan = LUTHIER_TRY(planSite(glue_, pool_, spill_, site));
  PlacedSite placed = LUTHIER_TRY(Writer(glue_, pool_, spill_, site, plan).write());
  pool_.use(plan.used);
  return placed;
}

} // namespace luthier::rewrite
