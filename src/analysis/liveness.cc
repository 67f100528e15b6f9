#include "analysis/liveness.h"

#include "analysis/effects.h"

namespace luthier::analysis {

namespace {

constexpr RegRange kAllSgprs = {Reg::S0, 108};
constexpr RegRange kVgprsLow = {Reg::V0, 128}, kVgprsHigh = {Reg::V0 + 128, 128};
constexpr RegRange kAgprsLow = {Reg::A0, 128}, kAgprsHigh = {Reg::A0 + 128, 128};

LiveSets makeEverything() {
  RegSet all;
  all.insert(RegRange{Reg::S0, 192});
  for (RegRange range : {kVgprsLow, kVgprsHigh, kAgprsLow, kAgprsHigh})
    all.insert(range);
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

constexpr uint32_t bit(Property property) { return static_cast<uint32_t>(property); }

/// One instruction, backwards. What happens last is undone first: EXEC changes, then registers are written, and before
/// all that the sources were read, under the old EXEC.
template <class Rows> void stepBack(const Instr &instr, bool indexed, Rows rows) {
  const uint16_t rare = traits(instr.opcode()) & kRareForLiveness;
  if (instr.is(Property::WritesExec)) {
    switch (execChange(instr)) {
    case ExecChange::None:
      break;
    case ExecChange::Narrow:
      rows.narrow();
      break;
    case ExecChange::Widen:
      rows.widen();
      break;
    case ExecChange::Other:
      rows.narrow();
      rows.widen();
      break;
    }
  }

  indexed |= (rare & kIndexed) != 0;
  const bool everyLane = instr.is(Property::CrossLane) || instr.is(Property::IgnoresExec);
  if (!(rare & kConditionalWrite) && !indexed && !instr.is(Property::PartialWrite)) {
    const bool matrix = instr.is(Property::Matrix) && instr.is(Property::IgnoresExec);
    // A DPP or permlane destination keeps its old value where the source lane does not exist or is masked, and
    // v_writelane_b32 writes one lane. Memory instructions across lanes (ds_bpermute_b32) write all active lanes.
    const bool keepsLanes = everyLane && !matrix && instr.memorySpace() == MemorySpace::None;
    for (RegRange range : instr.writes()) {
      if (isScalar(range.first)) {
        rows.killActive(range);
        rows.killInactive(range);
      } else if (!keepsLanes) {
        rows.killActive(range);
        if (matrix)
          rows.killInactive(range);
      }
    }
  }

  for (RegRange range : instr.reads()) {
    rows.genActive(range);
    if (everyLane || isScalar(range.first))
      rows.genInactive(range);
  }
  if (indexed) {
    if (instr.is(Property::Scalar)) {
      rows.genActive(kAllSgprs);
      rows.genInactive(kAllSgprs);
    } else
      for (RegRange range : {kVgprsLow, kVgprsHigh}) {
        rows.genActive(range);
        if (everyLane)
          rows.genInactive(range);
      }
  }
}

/// Which instructions run with indexing of vector operands on; empty when none does. s_set_gpr_idx_on and _off
/// within one block mark what is between them; anything less orderly marks the whole function.
std::vector<uint8_t> findIndexed(const Cfg &cfg) {
  std::vector<uint8_t> indexed;
  for (const Block &block : cfg.blocks()) {
    bool on = false;
    for (uint32_t n = block.first; n <= block.last(); ++n) {
      const Instr &instr = cfg.instrs()[n];
      if (on) {
        indexed.resize(cfg.instrs().size());
        indexed[n] = instr.is(Property::Vector);
      }
      if (!instr.is(Property::Scalar))
        continue;
      const uint16_t t = traits(instr.opcode());
      if (t & kIndexingOn)
        on = true;
      else if (t & kIndexingOff)
        on = false;
      else if ((t & (kIndexingMode | kSetReg)) && !on && mayTurnIndexingOn(instr))
        return std::vector<uint8_t>(cfg.instrs().size(), 1);
    }
    if (on)
      return std::vector<uint8_t>(cfg.instrs().size(), 1);
  }
  return indexed;
}

bool isIndexed(const std::vector<uint8_t> &indexed, const Cfg &cfg, uint32_t instr) {
  return !indexed.empty() && indexed[instr] && cfg.instrs()[instr].is(Property::Vector);
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

Transfer composeBlock(const Cfg &cfg, const Block &block, const std::vector<uint8_t> &indexed,
                      const LivenessContext &context) {
  Transfer transfer = Transfer::identity();
  if (block.call != CallKind::None)
    transfer.prepend(calleeOf(block, context));
  for (uint32_t n = block.first + block.count; n-- > block.first;)
    stepBack(cfg.instrs()[n], isIndexed(indexed, cfg, n), TransferRows{transfer});
  return transfer;
}

/// Live where control goes from the block's end when it leaves the function; nothing when it does not.
LiveSets liveAtExit(const Block &block, const LivenessContext &context) {
  switch (block.exit) {
  case Exit::None:
  case Exit::End:
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

/// Iterates over blocks until nothing changes, successors first. `update(block)` says whether the block's start changed.
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
  result.indexed_ = findIndexed(cfg);
  result.start_.resize(cfg.blocks().size());

  std::vector<Transfer> transfers;
  transfers.reserve(cfg.blocks().size());
  for (const Block &block : cfg.blocks())
    transfers.push_back(composeBlock(cfg, block, result.indexed_, context));
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
  const Block &block = cfg_->blocks()[n];
  LiveSets end = liveAtExit(block, context_);
  for (const Edge &edge : cfg_->successors(block))
    end |= start_[edge.to];
  return end;
}

void Liveness::stepBack(uint32_t instr, const Block &block, LiveSets &live) const {
  if (block.call != CallKind::None && instr == block.last())
    live = calleeOf(block, context_)(live);
  analysis::stepBack(cfg_->instrs()[instr], isIndexed(indexed_, *cfg_, instr), SetRows{live});
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
  const std::vector<uint8_t> indexed = findIndexed(cfg);
  std::vector<Transfer> transfers, start(cfg.blocks().size());
  transfers.reserve(cfg.blocks().size());
  for (const Block &block : cfg.blocks())
    transfers.push_back(composeBlock(cfg, block, indexed, context));
  iterate(cfg, [&](uint32_t n) {
    const Block &block = cfg.blocks()[n];
    Transfer total;
    switch (block.exit) {
    case Exit::None:
    case Exit::End:
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
