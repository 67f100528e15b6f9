#include "analysis/waits.h"

#include "isa/waitcnt.h"

#include <algorithm>

namespace luthier::analysis {

namespace {

bool hasKnownCounters(const isa::Target &target) { return target.waitFields != nullptr; }

bool isCacheControl(const Instr &instr) { return !instr.is(Property::Load) && !instr.is(Property::Store); }

} // namespace

std::string_view toString(Counter counter) {
  switch (counter) {
  case Counter::Vm:
    return "vmcnt";
  case Counter::Lgkm:
    return "lgkmcnt";
  case Counter::Exp:
    return "expcnt";
  case Counter::Vs:
    return "vscnt";
  }
  return "vmcnt";
}

bool WaitState::idle() const {
  return std::ranges::all_of(counters_, [](const PerCounter &c) { return c.most == 0; });
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

void WaitState::waitcnt(const Instr &instr, const isa::Target &target) {
  const auto operands = instr.operands();
  uint32_t value = UINT32_MAX;
  for (const Operand &operand : operands) {
    if (operand.kind == OperandKind::Register && operand.regs.first != Reg::Null && !operand.regs.empty())
      return; // s_waitcnt_vscnt with a register: it counts in addition, so nothing is known
    if (operand.kind == OperandKind::Immediate || operand.kind == OperandKind::Modifier)
      value = static_cast<uint32_t>(operand.value) & 0xffff;
  }
  if (value == UINT32_MAX)
    return;
  const std::string_view name = instr.mnemonic();
  if (name == "s_waitcnt") {
    if (const isa::WaitFields *fields = target.waitFields) {
      wait(Counter::Vm, fields->vm.get(value));
      wait(Counter::Exp, fields->exp.get(value));
      wait(Counter::Lgkm, fields->lgkm.get(value));
    }
  } else if (name == "s_waitcnt_vscnt")
    wait(Counter::Vs, value);
  else if (name == "s_waitcnt_vmcnt")
    wait(Counter::Vm, value);
  else if (name == "s_waitcnt_expcnt")
    wait(Counter::Exp, value);
  else if (name == "s_waitcnt_lgkmcnt")
    wait(Counter::Lgkm, value);
}

void WaitState::step(const Instr &instr, const isa::Target &target) {
  if (instr.is(Property::Wait)) {
    waitcnt(instr, target);
    return;
  }
  const bool message = instr.is(Property::Message), exports = instr.is(Property::Export);
  if (instr.memorySpace() == MemorySpace::None && !message && !exports)
    return;
  if (!hasKnownCounters(target)) {
    *this = unknown(target);
    return;
  }

  const auto addResults = [&](Counter counter) {
    for (RegRange range : instr.writes())
      if (range.first < Reg::M0 || isVector(range.first) || isAccumulator(range.first))
        add(counter, range);
  };
  const auto addSources = [&](Counter counter) {
    for (RegRange range : instr.reads())
      if (range.first < Reg::M0 || isVector(range.first) || isAccumulator(range.first))
        add(counter, range);
  };
  if (message) {
    issue(Counter::Lgkm, false, true);
    return;
  }
  if (exports) {
    issue(Counter::Exp, false, true);
    addSources(Counter::Exp);
    return;
  }

  // Operations of which it is not certain that they count (cache control) count, but push nothing out.
  const bool certain = !isCacheControl(instr);
  const bool returns = instr.is(Property::Load) || !instr.writes().empty();
  const bool storeCounter = target.storeCounter && instr.is(Property::Store) && !instr.is(Property::Load);
  switch (instr.memorySpace()) {
  case MemorySpace::None:
    break;
  case MemorySpace::Scalar:
    issue(Counter::Lgkm, false, certain);
    addResults(Counter::Lgkm);
    if (instr.is(Property::Store))
      addSources(Counter::Lgkm);
    break;
  case MemorySpace::Lds:
    issue(Counter::Lgkm, true, certain || returns);
    addResults(Counter::Lgkm);
    break;
  case MemorySpace::Gds:
    issue(Counter::Lgkm, false, certain);
    addResults(Counter::Lgkm);
    issue(Counter::Exp, false, certain);
    addSources(Counter::Exp);
    break;
  case MemorySpace::Flat:
    issue(storeCounter ? Counter::Vs : Counter::Vm, false, certain);
    issue(Counter::Lgkm, false, certain);
    if (returns) {
      addResults(Counter::Vm);
      addResults(Counter::Lgkm);
    }
    break;
  case MemorySpace::Global:
  case MemorySpace::Scratch:
  case MemorySpace::Buffer:
  case MemorySpace::Image:
    issue(storeCounter ? Counter::Vs : Counter::Vm, target.imagesInOrder || instr.memorySpace() != MemorySpace::Image,
          certain);
    if (returns)
      addResults(Counter::Vm);
    break;
  }
}

Waits Waits::compute(const Cfg &cfg, const isa::Target &target, const WaitContext &context) {
  Waits result;
  result.cfg_ = &cfg;
  result.target_ = &target;
  const auto blocks = cfg.blocks();
  result.start_.resize(blocks.size());
  std::vector<uint8_t> reached(blocks.size()), dirty(blocks.size());
  for (uint32_t n = 0; n < blocks.size(); ++n)
    if (n == 0 || blocks[n].addressTaken || !blocks[n].reachable) {
      reached[n] = dirty[n] = 1;
      if (n != 0 || !context.kernel || !hasKnownCounters(target))
        result.start_[n] = WaitState::unknown(target);
    }

  bool returned = false;
  const auto order = cfg.postorder();
  for (bool again = true; again;) {
    again = false;
    for (size_t i = order.size(); i-- > 0;) {
      const uint32_t n = order[i];
      if (!dirty[n])
        continue;
      dirty[n] = 0;
      WaitState state = result.start_[n];
      for (const Instr &instr : cfg.instrs(blocks[n]))
        state.step(instr, target);
      if (blocks[n].call != CallKind::None) {
        const WaitState *left =
            blocks[n].call == CallKind::Direct && context.returned ? context.returned(blocks[n].callTarget) : nullptr;
        state = left ? *left : WaitState::unknown(target);
      }
      for (const Edge &edge : cfg.successors(blocks[n])) {
        if (!cfg.mayBeTaken(edge))
          continue;
        bool changed = !reached[edge.to];
        if (changed) {
          result.start_[edge.to] = state;
          reached[edge.to] = 1;
        } else
          changed = result.start_[edge.to].merge(state);
        if (changed) {
          dirty[edge.to] = 1;
          again = true;
        }
      }
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
    }
  }
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
