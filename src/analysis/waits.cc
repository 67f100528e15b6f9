#include "analysis/waits.h"

#include "analysis/block_flow.h"

#include <algorithm>

namespace luthier::analysis {

namespace {

/// Whether operations of a kind are done in the order of their issue, for all that is certain.
bool inOrder(EventKind kind, const isa::Target &target) {
  switch (kind) {
  case EventKind::Vector:
  case EventKind::Lds:
    return true;
  case EventKind::Image:
  case EventKind::Sample:
  case EventKind::Bvh:
    return target.imagesInOrder || target.splitCounters; // or each has a counter to itself
  default:
    return false;
  }
}

} // namespace

bool WaitState::idle() const {
  return std::ranges::all_of(counters_, [](const PerCounter &c) { return c.most == 0; });
}

CounterSet WaitState::pending() const {
  CounterSet set = 0;
  for (unsigned n = 0; n < kCounters; ++n)
    if (counters_[n].most && n != static_cast<unsigned>(Counter::Vs))
      set |= setOf(static_cast<Counter>(n));
  return set;
}

RegSet WaitState::busy() const {
  RegSet set;
  for (const Entry &entry : entries_)
    set.insert(static_cast<Reg>(entry.reg));
  return set;
}

bool WaitState::anyRegister() const {
  return std::ranges::any_of(counters_, [](const PerCounter &c) { return c.anyRegister; });
}

WaitState WaitState::unknown(const isa::Target &target) {
  WaitState state;
  state.counters_.fill({kMany, true, true});
  if (!target.splitCounters)
    for (const Counter counter : {Counter::Ds, Counter::Sample, Counter::Bvh})
      state.counters_[static_cast<unsigned>(counter)] = {};
  // Stores return nothing.
  state.counters_[static_cast<unsigned>(Counter::Vs)] = {target.storeCounter ? kMany : uint8_t{0}, false, false};
  return state;
}

bool WaitState::merge(const WaitState &other) {
  WaitState merged;
  for (unsigned n = 0; n < kCounters; ++n) {
    const PerCounter &a = counters_[n], &b = other.counters_[n];
    merged.counters_[n] = {std::max(a.most, b.most), a.unordered || b.unordered, a.anyRegister || b.anyRegister};
  }
  const auto before = [](const Entry &x, const Entry &y) {
    return std::pair(x.counter, x.reg) < std::pair(y.counter, y.reg);
  };
  merged.entries_.reserve(std::max(entries_.size(), other.entries_.size()));
  auto a = entries_.cbegin();
  auto b = other.entries_.cbegin();
  while (a != entries_.end() || b != other.entries_.end()) {
    if (b == other.entries_.end() || (a != entries_.end() && before(*a, *b)))
      merged.entries_.push_back(*a++);
    else if (a == entries_.end() || before(*b, *a))
      merged.entries_.push_back(*b++);
    else {
      merged.entries_.push_back(*a);
      merged.entries_.back().behind = std::min(a->behind, b->behind);
      ++a, ++b;
    }
  }
  if (merged == *this)
    return false;
  *this = std::move(merged);
  return true;
}

void WaitState::issue(Counter counter, bool ordered, bool ages) {
  PerCounter &c = counters_[static_cast<unsigned>(counter)];
  if (c.most < kMany)
    ++c.most;
  c.unordered |= !ordered;
  if (!ages)
    return;
  for (Entry &entry : entries_)
    if (entry.counter == static_cast<uint8_t>(counter) && entry.behind < UINT8_MAX)
      ++entry.behind;
}

void WaitState::add(Counter counter, RegRange range) {
  for (unsigned n = 0; n < range.count; ++n) {
    const Entry entry{static_cast<uint16_t>(number(range.first) + n), static_cast<uint8_t>(counter), 0};
    const auto at = std::ranges::lower_bound(entries_, std::pair(entry.counter, entry.reg), {},
                                             [](const Entry &e) { return std::pair(e.counter, e.reg); });
    if (at != entries_.end() && at->reg == entry.reg && at->counter == entry.counter)
      at->behind = 0;
    else
      entries_.insert(at, entry);
  }
}

void WaitState::wait(Counter counter, unsigned left) {
  const auto number = static_cast<uint8_t>(counter);
  PerCounter &c = counters_[number];
  if (left == 0)
    c = {};
  c.most = static_cast<uint8_t>(std::min<unsigned>(c.most, left));
  std::erase_if(entries_, [&](const Entry &entry) {
    return entry.counter == number && (left == 0 || (!c.unordered && entry.behind >= left));
  });
}

void WaitState::step(const Instr &instr, const isa::Target &target) {
  if (instr.is(Property::Wait)) {
    const WaitLimits limits = waitLimitsOf(instr, target);
    if (limits.unknown)
      return;
    for (unsigned n = 0; n < kCounters; ++n)
      if (limits.left[n] != WaitLimits::kAny)
        wait(static_cast<Counter>(n), limits.left[n]);
    return;
  }
  const auto addAll = [&](Counter counter, std::span<const RegRange> ranges) {
    for (const RegRange range : ranges)
      if (isAwaited(range.first))
        add(counter, range);
  };
  for (const WaitEvent &event : waitEventsOf(instr, target)) {
    // Operations of which it is not certain that they count (cache control) count, but push nothing out.
    issue(event.counter, inOrder(event.kind, target), event.counts == WaitEvent::Counts::Surely);
    if (event.results)
      addAll(event.counter, instr.writes());
    if (event.sources)
      addAll(event.counter, instr.reads());
  }
}

Waits Waits::compute(const Cfg &cfg, const isa::Target &target, const WaitContext &context) {
  Waits result;
  result.cfg_ = &cfg;
  result.target_ = &target;
  const auto blocks = cfg.blocks();
  BlockFlow<WaitState> flow(cfg);
  for (uint32_t n = 0; n < blocks.size(); ++n)
    if (n == 0 || blocks[n].addressTaken || !blocks[n].reachable)
      flow.enter(n, n == 0 && context.kernel ? WaitState() : WaitState::unknown(target));

  bool returned = false;
  flow.run([&](uint32_t n, WaitState state) {
    for (const Instr &instr : cfg.instrs(blocks[n]))
      state.step(instr, target);
    if (blocks[n].call != CallKind::None) {
      const WaitState *left =
          blocks[n].call == CallKind::Direct && context.returned ? context.returned(blocks[n].callTarget) : nullptr;
      state = left ? *left : WaitState::unknown(target);
    }
    for (const Edge &edge : cfg.successors(blocks[n]))
      if (cfg.mayBeTaken(edge))
        flow.enter(edge.to, state);
    // A jump to other code returns from there: nothing is known of that.
    const bool leaves =
        blocks[n].exit == Exit::Tail || blocks[n].exit == Exit::FallsOut || blocks[n].exit == Exit::Unknown;
    if (blocks[n].exit == Exit::Return || leaves) {
      if (leaves)
        state = WaitState::unknown(target);
      if (returned)
        result.atReturn_.merge(state);
      else
        result.atReturn_ = state;
      returned = true;
    }
  });
  result.start_ = flow.takeStarts();
  return result;
}

WaitState Waits::before(const Instr &instr) const {
  const uint32_t index = cfg_->indexOf(instr);
  const uint32_t block = cfg_->blockOf(index);
  WaitState state = start_[block];
  for (uint32_t n = cfg_->blocks()[block].first; n < index; ++n)
    state.step(cfg_->instrs()[n], *target_);
  return state;
}

} // namespace luthier::analysis
