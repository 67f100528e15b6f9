// The state of wait_check.h: what may be in flight at one point of a program, and how it is merged, waited for and
// added to.
#pragma once

#include "analysis/wait_events.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace luthier::analysis::flight {

/// Groups of operations that are in order among themselves, as bits; with several in one counter there is no order.
enum Group : uint8_t {
  kUnordered = 1 << 0,
  kVectorMemory = 1 << 1,
  kLdsAccess = 1 << 2,
  kMessages = 1 << 3,
  kGdsAccess = 1 << 4,
  kExports = 1 << 5,
  kDirect = 1 << 6,
};

inline Group groupOf(const WaitEvent &event, const isa::Target &target) {
  switch (event.kind) {
  case EventKind::Vector:
  case EventKind::Image: // what order there is among images is the order of counting; see writesInOrder
  case EventKind::Sample:
  case EventKind::Bvh:
    return kVectorMemory;
  case EventKind::Flat:
    return !target.flatInOrder                                            ? kUnordered
           : event.counter == Counter::Vm || event.counter == Counter::Vs ? kVectorMemory
                                                                          : kLdsAccess;
  case EventKind::Lds:
    return kLdsAccess;
  case EventKind::LdsDirect:
    return kDirect;
  case EventKind::Scalar:
    return kUnordered;
  case EventKind::Message:
    return kMessages;
  case EventKind::Gds:
    return kGdsAccess;
  case EventKind::Export:
    return kExports;
  }
  return kUnordered;
}

/// Whether results of `later` arrive after those of an operation in flight by themselves.
inline bool writesInOrder(EventKind earlier, EventKind later, const isa::Target &target) {
  if (earlier == EventKind::Lds && later == EventKind::Lds)
    return true;
  if (!target.loadsWriteInOrder)
    return false;
  const auto plain = [](EventKind kind) { return kind == EventKind::Vector || kind == EventKind::Image; };
  if (plain(later))
    return plain(earlier) || earlier == EventKind::Flat;
  return earlier == later && (later == EventKind::Sample || later == EventKind::Bvh);
}

inline constexpr auto kLanded =
    static_cast<Counter>(kCounters); ///< in place of a counter: data in LDS that was waited for
inline constexpr uint16_t kFirstLdsLoad =
    number(Reg::End); ///< loads to LDS have numbers in place of registers from here on

struct Entry {
  uint16_t reg = 0;
  Counter counter = Counter::Vm;
  uint8_t behind = 0; ///< at least so many were issued behind it
  EventKind kind = EventKind::Vector;
  bool late = false; ///< it reads the register
  uint8_t halves = kBothHalves;
  const Instr *op = nullptr;

  auto key() const { return std::pair(reg, counter); }
  bool operator==(const Entry &) const = default;
};

/// What may be in flight at one point.
class InFlight {
public:
  bool empty() const { return entries_.empty() && !fromCaller_; }
  std::span<const Entry> entries() const { return entries_; }
  CounterSet fromCaller() const { return fromCaller_; }
  bool unordered(Counter counter) const {
    const uint8_t groups = groups_[static_cast<unsigned>(counter)];
    return (groups & kUnordered) || std::popcount(groups) > 1;
  }

  static InFlight unknown(const isa::Target &target) {
    InFlight state;
    state.fromCaller_ = static_cast<CounterSet>(setOf(Counter::Vm) | setOf(Counter::Lgkm) |
                                                (target.splitCounters ? setOf(Counter::Ds) : 0));
    return state;
  }

  /// Either may be the case; says whether this changed.
  bool merge(const InFlight &other) {
    bool changed = (other.fromCaller_ & ~fromCaller_) != 0;
    fromCaller_ |= other.fromCaller_;
    for (unsigned n = 0; n < kCounters; ++n) {
      changed |= (other.groups_[n] & ~groups_[n]) != 0;
      groups_[n] |= other.groups_[n];
    }
    if (other.entries_.empty())
      return changed;
    std::vector<Entry> merged;
    merged.reserve(std::max(entries_.size(), other.entries_.size()));
    auto a = entries_.cbegin();
    auto b = other.entries_.cbegin();
    while (a != entries_.end() || b != other.entries_.end()) {
      if (b == other.entries_.end() || (a != entries_.end() && a->key() < b->key()))
        merged.push_back(*a++);
      else if (a == entries_.end() || b->key() < a->key())
        merged.push_back(*b++);
      else {
        // The youngest is the last to be done.
        const auto rank = [](const Entry &e) { return std::tuple(e.behind, e.op->address(), e.late); };
        merged.push_back(rank(*a) <= rank(*b) ? *a : *b);
        ++a, ++b;
      }
    }
    if (merged == entries_)
      return changed;
    entries_ = std::move(merged);
    return true;
  }

  void wait(Counter counter, unsigned left) {
    const auto number = static_cast<unsigned>(counter);
    if (left == 0) {
      groups_[number] = 0;
      fromCaller_ &= static_cast<CounterSet>(~setOf(counter));
    } else if (unordered(counter))
      return;
    land([&](const Entry &entry) { return entry.counter == counter && entry.behind >= left; });
  }

  void waitForAll() {
    groups_ = {};
    fromCaller_ = 0;
    land([](const Entry &entry) { return entry.counter != kLanded; });
  }

  void issue(const WaitEvent &event, const isa::Target &target) {
    if (event.counts == WaitEvent::Counts::Hardly)
      return;
    groups_[static_cast<unsigned>(event.counter)] |= groupOf(event, target);
    for (Entry &entry : entries_)
      if (entry.counter == event.counter && entry.behind < UINT8_MAX)
        ++entry.behind;
    // The counter cannot hold more than that.
    if (const unsigned most = largestCount(event.counter, target); most && !unordered(event.counter))
      land([&](const Entry &entry) { return entry.counter == event.counter && entry.behind >= most; });
  }

  void add(const Entry &entry) {
    const auto at = std::ranges::lower_bound(entries_, entry.key(), {}, &Entry::key);
    if (at != entries_.end() && at->key() == entry.key())
      *at = entry;
    else
      entries_.insert(at, entry);
  }

  /// Calls `found` for each entry of the registers.
  template <class Found> void forEach(RegRange range, Found &&found) const {
    const unsigned end = number(range.first) + range.count;
    for (auto at = std::ranges::lower_bound(entries_, static_cast<uint16_t>(number(range.first)), {}, &Entry::reg);
         at != entries_.end() && at->reg < end; ++at)
      found(*at);
  }

  template <class Is> void erase(Is &&is) { std::erase_if(entries_, is); }
  void forgetCaller() { fromCaller_ = 0; }

  /// What is in flight behind a call, as the callee returned it: of what came from callers, only what this caller had.
  static InFlight behindCall(const InFlight &returned, const InFlight &calleeEntry, const InFlight &site) {
    const auto in = [](const InFlight &state, const Entry &entry) {
      const auto at = std::ranges::lower_bound(state.entries_, entry.key(), {}, &Entry::key);
      return at != state.entries_.end() && at->key() == entry.key() && at->op == entry.op;
    };
    InFlight result = returned;
    result.erase([&](const Entry &entry) { return in(calleeEntry, entry) && !in(site, entry); });
    result.fromCaller_ &= site.fromCaller_;
    return result;
  }

private:
  /// Removes what is done. Loads to LDS are remembered.
  template <class Is> void land(Is &&is) {
    std::vector<Entry> landed;
    std::erase_if(entries_, [&](const Entry &entry) {
      if (!is(entry))
        return false;
      if (entry.reg >= kFirstLdsLoad)
        landed.push_back(entry);
      return true;
    });
    for (Entry &entry : landed) {
      entry.counter = kLanded;
      entry.behind = 0;
      add(entry);
    }
  }

  std::vector<Entry> entries_; ///< by register and counter
  std::array<uint8_t, kCounters> groups_ = {};
  CounterSet fromCaller_ = 0; ///< counters in which an unknown caller may have something in flight
};

} // namespace luthier::analysis::flight
