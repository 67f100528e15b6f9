#include "analysis/liveness.h"

#include "analysis/effects.h"

#include <algorithm>

namespace luthier::analysis {

namespace {

LiveSets makeEverything() {
  RegSet all;
  for (unsigned n = 0; n < number(Reg::End); ++n)
    if (isScalar(static_cast<Reg>(n)) || n >= number(Reg::V0))
      all.insert(static_cast<Reg>(n));
  return {all, all};
}

/// The same steps act on live sets and on transfers, which are live sets with unknowns: see `Steps` below.
struct SetRows {
  LiveSets &s;
  void narrow() { s.active |= s.inactive; }
  void widen() { s.inactive |= s.active; }
  void killActive(RegRange r) { s.active.erase(r); }
  void killInactive(RegRange r) { s.inactive.erase(r); }
  void genActive(RegRange r) { s.active.insert(r); }
  void genInactive(RegRange r) { s.inactive.insert(r); }
};

struct TransferRows {
  Transfer &t;
  void narrow() {
    t.fromActive |= t.intoActive;
    t.fromInactive |= t.intoInactive;
    t.always |= t.alwaysOff;
  }
  void widen() {
    t.intoActive |= t.fromActive;
    t.intoInactive |= t.fromInactive;
    t.alwaysOff |= t.always;
  }
  void killActive(RegRange r) {
    t.fromActive.erase(r);
    t.fromInactive.erase(r);
    t.always.erase(r);
  }
  void killInactive(RegRange r) {
    t.intoActive.erase(r);
    t.intoInactive.erase(r);
    t.alwaysOff.erase(r);
  }
  void genActive(RegRange r) { t.always.insert(r); }
  void genInactive(RegRange r) { t.alwaysOff.insert(r); }
};

/// One instruction, backwards. What happens last is undone first: EXEC changes, then registers are written, and before
/// all that the sources were read, under the old EXEC. Where an instruction keeps a part of a register that it writes
/// (d16 loads, DPP, s_cmov_b32, indexed writes), Instr has the register among the reads.
template <class Rows> void stepBack(const Instr &instr, Rows rows) {
  if (instr.is(Property::WritesExec)) {
    const ExecChange change = execChange(instr);
    if (change != ExecChange::Widen)
      rows.narrow();
    if (change != ExecChange::Narrow)
      rows.widen();
  }

  const bool everyLane = instr.is(Property::CrossLane) || instr.is(Property::IgnoresExec);
  if (!everyLane) {
    for (RegRange range : instr.writes()) {
      rows.killActive(range);
      if (isScalar(range.first))
        rows.killInactive(range);
    }
    for (RegRange range : instr.reads()) {
      rows.genActive(range);
      if (isScalar(range.first))
        rows.genInactive(range);
    }
    // By convention the trap handler finds the queue in s[0:1] (AMDGPUUsage, "Trap Handler ABI").
    if (instr.opcode() == Opcode::S_TRAP) {
      rows.genActive({Reg::S0, 2});
      rows.genInactive({Reg::S0, 2});
    }
    return;
  }

  // v_writelane_b32 leaves the other lanes as they are: needed before if needed behind. It reads no vector register.
  const bool writesLane = traits(instr.opcode()) & kWritesLane;
  const bool matrix = instr.is(Property::Matrix) && instr.is(Property::IgnoresExec);
  for (RegRange range : instr.writes()) {
    const bool scalar = isScalar(range.first);
    if (scalar || !writesLane)
      rows.killActive(range);
    if (scalar || matrix)
      rows.killInactive(range);
  }
  for (RegRange range : instr.reads()) {
    if (writesLane && !isScalar(range.first))
      continue;
    rows.genActive(range);
    rows.genInactive(range);
  }
}

const Transfer *summaryOf(const LivenessContext &context, uint64_t address) {
  return context.summary ? context.summary(address) : nullptr;
}

const LiveSets &liveAtReturn(const LivenessContext &context) {
  return context.atReturn ? *context.atReturn : LiveSets::everything();
}

/// The callee between a call and what follows it.
Transfer calleeOf(const Block &block, const LivenessContext &context) {
  const Transfer *known = block.call == CallKind::Direct ? summaryOf(context, block.callTarget) : nullptr;
  return known ? *known : Transfer::unknown();
}

Transfer composeBlock(const Cfg &cfg, const Block &block, const LivenessContext &context) {
  Transfer transfer = Transfer::identity();
  if (block.call != CallKind::None)
    transfer.prepend(calleeOf(block, context));
  for (uint32_t n = block.first + block.count; n-- > block.first;)
    stepBack(cfg.instrs()[n], TransferRows{transfer});
  return transfer;
}

/// Live where control goes from the block's end when it leaves the function; nothing when it does not.
LiveSets liveAtExit(const Block &block, const LivenessContext &context) {
  switch (block.exit) {
  case Exit::None:
  case Exit::End:
  case Exit::RunsOut:
    return {};
  case Exit::Return:
    return liveAtReturn(context);
  case Exit::Tail:
  case Exit::FallsOut:
    if (const Transfer *target = summaryOf(context, block.exitTarget))
      return (*target)(liveAtReturn(context));
    return LiveSets::everything();
  case Exit::Unknown:
    return LiveSets::everything();
  }
  return LiveSets::everything();
}

/// s_setvskip makes the hardware leave out vector instructions, on a condition: what they write is then not written.
/// No compiler uses it. With it, nothing is said.
bool maySkipVectors(const Cfg &cfg) {
  return std::ranges::any_of(cfg.instrs(), [](const Instr &i) { return i.is(Property::SkipMode); });
}

/// Iterates over blocks until nothing changes, successors first. `update(block)` says whether the block's start
/// changed.
template <class Update> void iterate(const Cfg &cfg, Update &&update) {
  std::vector<uint8_t> dirty(cfg.blocks().size(), 1);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t block : cfg.postorder()) {
      if (!dirty[block])
        continue;
      dirty[block] = 0;
      if (!update(block))
        continue;
      for (uint32_t edge : cfg.predecessors(cfg.blocks()[block])) {
        dirty[cfg.edges()[edge].from] = 1;
        again = true;
      }
    }
  }
}

} // namespace

const LiveSets &LiveSets::everything() {
  static const LiveSets sets = makeEverything();
  return sets;
}

Transfer Transfer::identity() {
  const RegSet &all = LiveSets::everything().active;
  return {.fromActive = all, .fromInactive = {}, .always = {}, .intoActive = {}, .intoInactive = all, .alwaysOff = {}};
}

Transfer Transfer::unknown() {
  const RegSet &all = LiveSets::everything().active;
  return {.fromActive = {}, .fromInactive = {}, .always = all, .intoActive = {}, .intoInactive = {}, .alwaysOff = all};
}

LiveSets Transfer::operator()(const LiveSets &after) const {
  return {(fromActive & after.active) | (fromInactive & after.inactive) | always,
          (intoActive & after.active) | (intoInactive & after.inactive) | alwaysOff};
}

void Transfer::prepend(const Transfer &e) {
  Transfer r;
  r.fromActive = (e.fromActive & fromActive) | (e.fromInactive & intoActive);
  r.fromInactive = (e.fromActive & fromInactive) | (e.fromInactive & intoInactive);
  r.always = (e.fromActive & always) | (e.fromInactive & alwaysOff) | e.always;
  r.intoActive = (e.intoActive & fromActive) | (e.intoInactive & intoActive);
  r.intoInactive = (e.intoActive & fromInactive) | (e.intoInactive & intoInactive);
  r.alwaysOff = (e.intoActive & always) | (e.intoInactive & alwaysOff) | e.alwaysOff;
  *this = r;
}

Transfer &Transfer::operator|=(const Transfer &other) {
  fromActive |= other.fromActive;
  fromInactive |= other.fromInactive;
  always |= other.always;
  intoActive |= other.intoActive;
  intoInactive |= other.intoInactive;
  alwaysOff |= other.alwaysOff;
  return *this;
}

Liveness Liveness::compute(const Cfg &cfg, const LivenessContext &context) {
  Liveness result;
  result.cfg_ = &cfg;
  result.context_ = context;
  result.start_.resize(cfg.blocks().size());
  if (maySkipVectors(cfg)) {
    result.opaque_ = true;
    result.start_.assign(cfg.blocks().size(), LiveSets::everything());
    return result;
  }

  std::vector<Transfer> transfers;
  transfers.reserve(cfg.blocks().size());
  for (const Block &block : cfg.blocks())
    transfers.push_back(composeBlock(cfg, block, context));
  iterate(cfg, [&](uint32_t n) {
    const Block &block = cfg.blocks()[n];
    LiveSets end = liveAtExit(block, context);
    for (const Edge &edge : cfg.successors(block))
      end |= result.start_[edge.to];
    const LiveSets start = transfers[n](end);
    if (start == result.start_[n])
      return false;
    result.start_[n] = start;
    return true;
  });
  return result;
}

LiveSets Liveness::atEnd(uint32_t n) const {
  if (opaque_)
    return LiveSets::everything();
  const Block &block = cfg_->blocks()[n];
  LiveSets end = liveAtExit(block, context_);
  for (const Edge &edge : cfg_->successors(block))
    end |= start_[edge.to];
  return end;
}

void Liveness::stepBack(uint32_t instr, const Block &block, LiveSets &live) const {
  if (opaque_)
    return;
  if (block.call != CallKind::None && instr == block.last())
    live = calleeOf(block, context_)(live);
  analysis::stepBack(cfg_->instrs()[instr], SetRows{live});
}

LiveSets Liveness::before(const Instr &instr) const {
  const uint32_t index = cfg_->indexOf(instr);
  const uint32_t block = cfg_->blockOf(index);
  const Block &b = cfg_->blocks()[block];
  LiveSets live = atEnd(block);
  for (uint32_t n = b.first + b.count; n-- > index;)
    stepBack(n, b, live);
  return live;
}

LiveSets Liveness::after(const Instr &instr) const {
  const uint32_t index = cfg_->indexOf(instr);
  const uint32_t block = cfg_->blockOf(index);
  return index == cfg_->blocks()[block].last() ? atEnd(block) : before(index + 1);
}

Transfer summarize(const Cfg &cfg, const LivenessContext &context) {
  if (maySkipVectors(cfg))
    return Transfer::unknown();
  std::vector<Transfer> transfers, start(cfg.blocks().size());
  transfers.reserve(cfg.blocks().size());
  for (const Block &block : cfg.blocks())
    transfers.push_back(composeBlock(cfg, block, context));
  iterate(cfg, [&](uint32_t n) {
    const Block &block = cfg.blocks()[n];
    Transfer total;
    switch (block.exit) {
    case Exit::None:
    case Exit::End:
    case Exit::RunsOut:
      break;
    case Exit::Return:
      total = Transfer::identity();
      break;
    case Exit::Tail:
    case Exit::FallsOut: {
      const Transfer *target = summaryOf(context, block.exitTarget);
      total = target ? *target : Transfer::unknown();
      break;
    }
    case Exit::Unknown:
      total = Transfer::unknown();
      break;
    }
    for (const Edge &edge : cfg.successors(block))
      total |= start[edge.to];
    total.prepend(transfers[n]);
    if (total == start[n])
      return false;
    start[n] = total;
    return true;
  });
  return cfg.blocks().empty() ? Transfer::identity() : start[0];
}

} // namespace luthier::analysis
