#include "memcheck/allocations.h"

#include "support/code_object_uri.h"

#include <algorithm>
#include <mutex>
#include <tuple>

namespace luthier::memcheck {

namespace {

constexpr uint64_t kPage = PageGuards::kPageSize;
/// Freed allocations that are remembered once their addresses are in use again.
constexpr size_t kMostPast = 4096;

/// An access is near an allocation if it is no further away than this, or than the allocation is large.
constexpr uint64_t kNear = 1 << 20;

uint64_t pageOf(uint64_t address) { return address / kPage * kPage; }

/// Of a map whose allocations do not overlap: the one that has the address.
template <class Map> auto entryAt(Map &map, uint64_t address) {
  auto after = map.upper_bound(address);
  if (after == map.begin())
    return map.end();
  const auto entry = std::prev(after);
  return address - entry->second.begin < entry->second.size ? entry : map.end();
}

Allocations::Range rangeOf(const Allocation &allocation) {
  return {allocation.begin, allocation.end(), allocation.kind, allocation.mayBeKernarg && !allocation.claimed};
}

bool touchesPage(const Allocation &allocation, uint64_t page) {
  return allocation.begin < page + kPage && page < allocation.end();
}

} // namespace

/// Whether some bytes of the page may be accessed and others not, as far as allocations say.
bool Allocations::needsGuard(uint64_t page) const {
  const auto partly = [page](const Allocation &allocation) {
    return touchesPage(allocation, page) && (allocation.begin > page || allocation.end() < page + kPage);
  };
  // Allocations that begin in the page, and the one before.
  auto at = live_.lower_bound(page);
  if (at != live_.begin() && partly(std::prev(at)->second))
    return true;
  for (; at != live_.end() && at->first < page + kPage; ++at)
    if (partly(at->second))
      return true;
  for (at = registered_.begin(); at != registered_.end() && at->first < page + kPage; ++at)
    if (partly(at->second))
      return true;
  at = freed_.lower_bound(page);
  return (at != freed_.end() && at->first < page + kPage) ||
         (at != freed_.begin() && touchesPage(std::prev(at)->second, page));
}

void Allocations::updateGuards(uint64_t begin, uint64_t end) {
  const uint64_t first = pageOf(begin), last = pageOf(end - 1);
  for (const uint64_t page : {first, last})
    needsGuard(page) ? guards_.guard(page, kPage) : guards_.unguard(page, kPage);
}

/// Returns the ranges that are gone, whose guards must be looked at once more.
std::vector<Allocations::Range> Allocations::dropOverlapping(Map &map, uint64_t begin, uint64_t end) {
  std::vector<Range> gone;
  auto at = map.lower_bound(begin);
  if (at != map.begin() && std::prev(at)->second.end() > begin)
    --at;
  while (at != map.end() && at->first < end) {
    gone.push_back(rangeOf(at->second));
    guards_.unguard(at->second.begin, at->second.size);
    at = map.erase(at);
  }
  return gone;
}

void Allocations::add(Allocation allocation) {
  if (allocation.size == 0 || allocation.begin + allocation.size < allocation.begin)
    return;
  std::lock_guard lock(mutex_);
  allocation.number = nextNumber_++;
  const uint64_t begin = allocation.begin, end = allocation.end();
  const Allocation::Kind kind = allocation.kind;
  std::vector<Range> gone = dropOverlapping(freed_, begin, end);
  if (kind == Allocation::Kind::Registered) {
    registered_.emplace(begin, std::move(allocation));
  } else {
    for (const Range &range : dropOverlapping(live_, begin, end))
      gone.push_back(range);
    live_.emplace(begin, std::move(allocation));
    guards_.unguard(begin, end - begin);
  }
  updateGuards(begin, end);
  for (const Range &range : gone)
    updateGuards(range.begin, range.end);
  generation_.fetch_add(1, std::memory_order_acq_rel);
}

bool Allocations::free(uint64_t begin, HostStack freedAt) {
  std::lock_guard lock(mutex_);
  const bool registered = registered_.contains(begin);
  Map &map = registered ? registered_ : live_;
  const auto found = map.find(begin);
  if (found == map.end())
    return false;
  Allocation gone = std::move(found->second);
  map.erase(found);
  gone.freedAt = std::move(freedAt);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  const uint64_t end = gone.end();
  if (registered) {
    // The application's own pages: they stay, and may be registered again.
    past_.insert_or_assign(begin, std::move(gone));
    updateGuards(begin, end);
  } else {
    guards_.guard(begin, gone.size);
    freed_.emplace(begin, std::move(gone));
  }
  return true;
}

void Allocations::forget(uint64_t begin) {
  std::lock_guard lock(mutex_);
  const auto found = freed_.find(begin);
  if (found == freed_.end())
    return;
  Allocation gone = std::move(found->second);
  freed_.erase(found);
  guards_.unguard(begin, gone.size);
  updateGuards(begin, gone.end());
  if (past_.size() >= kMostPast)
    past_.erase(std::ranges::min_element(past_, {}, [](const auto &entry) { return entry.second.number; }));
  past_.insert_or_assign(begin, std::move(gone));
}

void Allocations::claim(uint64_t begin) {
  std::lock_guard lock(mutex_);
  for (Map *map : {&live_, &registered_})
    if (const auto found = map->find(begin); found != map->end())
      found->second.claimed = true;
}

void Allocations::useForArguments(uint64_t address) {
  {
    std::shared_lock lock(mutex_);
    const auto at = entryAt(live_, address);
    if (at == live_.end() || !at->second.mayBeKernarg || at->second.claimed ||
        at->second.kind == Allocation::Kind::Kernarg)
      return;
  }
  std::lock_guard lock(mutex_);
  const auto at = entryAt(live_, address);
  if (at == live_.end() || !at->second.mayBeKernarg || at->second.claimed)
    return;
  at->second.kind = Allocation::Kind::Kernarg;
}

std::optional<Allocations::Range> Allocations::liveAround(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(mutex_);
  if (const auto at = entryAt(live_, address); at != live_.end() && at->second.covers(address, bytes))
    return rangeOf(at->second);
  for (const auto &[begin, allocation] : registered_) {
    if (begin > address)
      break;
    if (allocation.covers(address, bytes))
      return rangeOf(allocation);
  }
  return std::nullopt;
}

bool Allocations::guards(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(mutex_);
  for (uint64_t page = pageOf(address); page < address + bytes; page += kPage)
    if (needsGuard(page))
      return true;
  return false;
}

std::vector<Allocations::Range> Allocations::ranges() const {
  std::vector<Range> all;
  {
    std::shared_lock lock(mutex_);
    all.reserve(live_.size() + registered_.size());
    for (const Map *map : {&live_, &registered_})
      for (const auto &[begin, allocation] : *map)
        all.push_back(rangeOf(allocation));
  }
  std::ranges::sort(all, {}, &Range::begin);
  return all;
}

bool Allocations::registeredNear(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(mutex_);
  for (uint64_t page = pageOf(address); page < address + bytes; page += kPage)
    for (const auto &[begin, allocation] : registered_)
      if (touchesPage(allocation, page))
        return true;
  return false;
}

bool Allocations::Neighbour::isNear() const { return distance <= std::max(kNear, allocation.size); }

std::optional<Allocations::Neighbour> Allocations::nearest(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(mutex_);
  // Memory that was freed and not used again since: there is no doubt.
  if (const auto at = entryAt(freed_, address); at != freed_.end())
    return Neighbour{at->second, true, Neighbour::Where::Inside, address - at->first};
  std::optional<Neighbour> best;
  const auto consider = [&](const Allocation &allocation, bool freed) {
    using Where = Neighbour::Where;
    Neighbour here{allocation, freed, Where::Inside, 0};
    if (address >= allocation.end()) {
      here.where = Where::Behind;
      here.distance = address - allocation.end();
    } else if (address >= allocation.begin) {
      // The first bad byte of an access that begins within and goes on behind the end.
      const bool straddles = bytes > allocation.end() - address;
      here.where = straddles ? Where::Behind : Where::Inside;
      here.distance = straddles ? 0 : address - allocation.begin;
    } else {
      here.where = Where::Before;
      here.distance = allocation.begin - address;
    }
    const auto rank = [](const Neighbour &n) {
      const bool inside = n.where == Where::Inside && !n.freed;
      return std::tuple(!inside && !(n.allocation.claimed && n.isNear()), inside ? 0 : n.distance, n.freed);
    };
    if (!best || rank(here) < rank(*best))
      best = std::move(here);
  };
  const auto around = [&](const auto &map, bool freed) {
    auto after = map.upper_bound(address);
    if (after != map.end())
      consider(after->second, freed);
    if (after != map.begin())
      consider(std::prev(after)->second, freed);
  };
  around(live_, false);
  around(registered_, false);
  // What was freed longer ago only if the address was in it.
  if (const auto at = entryAt(past_, address); at != past_.end() && (!best || best->distance >= kPage))
    return Neighbour{at->second, true, Neighbour::Where::Inside, address - at->first};
  return best;
}

std::vector<Allocation> Allocations::live() const {
  std::vector<Allocation> all;
  {
    std::shared_lock lock(mutex_);
    for (const Map *map : {&live_, &registered_})
      for (const auto &[begin, allocation] : *map)
        all.push_back(allocation);
  }
  std::ranges::sort(all, {}, &Allocation::number);
  return all;
}

bool argumentsLeadInto(const Allocations::Range &memory, uint64_t kernarg, uint64_t bytes) {
  std::vector<uint64_t> arguments(bytes / sizeof(uint64_t));
  if (!readOwnMemory(kernarg, arguments.data(), arguments.size() * sizeof(uint64_t)))
    return false;
  return std::ranges::any_of(arguments,
                             [&](uint64_t argument) { return argument >= memory.begin && argument < memory.end; });
}

} // namespace luthier::memcheck
