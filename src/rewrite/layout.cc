#include "rewrite/layout.h"

#include "rewrite/testing.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace luthier::rewrite {

namespace {

constexpr uint32_t kUnbound = UINT32_MAX;
constexpr uint32_t kNop = 0xbf800000; // s_nop 0, everywhere

/// Branches on behalf of others, before an item.
struct Island {
  uint32_t item = 0;
  uint64_t offset = 0;
  std::vector<uint32_t> targets; ///< labels
  std::map<uint32_t, uint32_t> entries;

  /// The first dword jumps over it.
  uint64_t size() const { return targets.empty() ? 0 : 4 + 4 * targets.size(); }
  uint64_t entryOffset(uint32_t entry) const { return offset + 4 + 4 * entry; }
};

} // namespace

Layout::Label Layout::newLabel() {
  labels_.push_back(kUnbound);
  return static_cast<Label>(labels_.size() - 1);
}

void Layout::bind(Label label) { labels_[label] = static_cast<uint32_t>(items_.size()); }

void Layout::add(std::span<const uint8_t> bytes, CodeRange::Kind kind, uint64_t original, uint32_t site,
                 uint32_t note) {
  if (bytes.empty())
    return;
  items_.push_back({bytes_.size(), bytes.size(), kind, original, site, note, glued_});
  glued_ = false;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void Layout::addBranch(std::span<const uint8_t> bytes, Label to, CodeRange::Kind kind, uint64_t original, uint32_t site,
                       uint32_t note) {
  add(bytes, kind, original, site, note);
  jumps_.push_back({static_cast<uint32_t>(items_.size() - 1), to});
}

void Layout::replace(Place place, std::span<const uint8_t> bytes) {
  Item &item = items_[place];
  item.kind = CodeRange::Kind::Replacement;
  std::ranges::copy(bytes.first(item.size), bytes_.begin() + static_cast<ptrdiff_t>(item.begin));
}

void Layout::addRelocation(CodeRelocation relocation, int64_t offset) {
  relocation.offset = static_cast<uint64_t>(static_cast<int64_t>(bytes_.size()) + offset);
  relocations_.push_back(relocation);
}

luthier::Result<Layout::Result> Layout::finish(uint32_t branch, uint64_t reach, uint32_t forbidden) {
  // Islands at regular distances, each empty until somebody needs it.
  std::vector<Island> islands;
  if (bytes_.size() > reach)
    for (uint64_t last = 0, n = 0; n < items_.size(); ++n)
      if (items_[n].begin - last >= reach / 2 && !items_[n].glued) {
        islands.push_back({static_cast<uint32_t>(n), 0, {}, {}});
        last = items_[n].begin;
      }

  std::vector<uint64_t> offsets(items_.size() + 1);
  std::vector<uint32_t> padding(items_.size() + 1); // s_nops before an item and its island
  std::vector<uint64_t> paddingAt(items_.size() + 1);
  const auto place = [&] {
    uint64_t at = 0;
    auto island = islands.begin();
    for (uint32_t n = 0; n <= items_.size(); ++n) {
      paddingAt[n] = at;
      at += padding[n] * sizeof kNop;
      if (island != islands.end() && island->item == n) {
        island->offset = at;
        at += island->size();
        ++island;
      }
      offsets[n] = at;
      if (n < items_.size())
        at += items_[n].size;
    }
    return at;
  };
  const auto offsetOf = [&](Label label) { return offsets[labels_[label]]; };
  const auto inReach = [&](uint64_t from, uint64_t to) {
    const auto distance = static_cast<int64_t>(to - from) - 4;
    return distance <= static_cast<int64_t>(reach) && distance >= -static_cast<int64_t>(reach);
  };

  for (const Jump &jump : jumps_)
    if (labels_[jump.to] == kUnbound)
      return makeError("a branch at {:#x} goes to a label that is nowhere", items_[jump.item].original);

  // Where each jump goes first: straight to its target, or to an entry of an island.
  struct Hop {
    int island = -1;
    uint32_t entry = 0;
  };
  const auto targetOf = [&](Label to, const Hop &hop) {
    return hop.island >= 0 ? islands[hop.island].entryOffset(hop.entry) : offsetOf(to);
  };
  std::vector<Hop> hops(jumps_.size());
  std::vector<std::vector<Hop>> islandHops(islands.size());
  uint64_t total = place();
  bool changed = true;
  for (unsigned round = 0; changed; ++round) {
    // A round settles whole chains of hops; more are needed only because islands push others out of reach.
    if (round == 64 + islands.size())
      return makeError("branches of {} bytes of code do not settle", total);
    changed = false;
    const auto route = [&](uint64_t from, Label to, Hop &hop) -> bool {
      const uint64_t target = offsetOf(to);
      if (hop.island >= 0 ? inReach(from, islands[hop.island].entryOffset(hop.entry)) : inReach(from, target))
        return true;
      // The island that is nearest to the target among those that can be reached.
      int best = -1;
      const auto distance = [&](int n) {
        const uint64_t at = islands[n].offset;
        return at > target ? at - target : target - at;
      };
      for (int n = 0; n < static_cast<int>(islands.size()); ++n) {
        // Entries are added behind those that are there: leave room for some.
        const uint64_t end = islands[n].offset + islands[n].size() + 256;
        const bool progress = (from < target) ? islands[n].offset > from && islands[n].offset < target
                                              : islands[n].offset < from && islands[n].offset > target;
        if (progress && inReach(from, islands[n].offset) && inReach(from, end) &&
            (best < 0 || distance(n) < distance(best)))
          best = n;
      }
      if (best < 0)
        return false;
      Island &island = islands[best];
      const auto [entry, isNew] = island.entries.try_emplace(to, static_cast<uint32_t>(island.targets.size()));
      if (isNew) {
        island.targets.push_back(to);
        islandHops[best].push_back({});
      }
      hop = {best, entry->second};
      changed = true;
      return true;
    };
    for (size_t n = 0; n < jumps_.size(); ++n) {
      const Item &item = items_[jumps_[n].item];
      if (!route(offsets[jumps_[n].item] + item.size - 4, jumps_[n].to, hops[n]))
        return makeError("the branch at {:#x} cannot be made to reach its target", item.original);
    }
    // Chains that go up are followed on the way up, the others on the way back.
    for (size_t step = 0; step < 2 * islands.size(); ++step) {
      const size_t n = step < islands.size() ? step : 2 * islands.size() - 1 - step;
      for (uint32_t entry = 0; entry < islands[n].targets.size(); ++entry) {
        Hop hop = islandHops[n][entry];
        if (!route(islands[n].entryOffset(entry), islands[n].targets[entry], hop))
          return makeError("an island of branches cannot be made to reach its target");
        islandHops[n][entry] = hop;
      }
    }
    // All reach their targets: none must do so by the one distance.
    const auto avoid = [&](uint64_t from, Label to, const Hop &hop) {
      if (static_cast<int64_t>(targetOf(to, hop) - from) - 4 != int64_t{forbidden} * 4)
        return;
      ++padding[hop.island >= 0 ? islands[hop.island].item : labels_[to]];
      changed = true;
    };
    if (!changed && forbidden) {
      for (size_t n = 0; n < jumps_.size(); ++n)
        avoid(offsets[jumps_[n].item] + items_[jumps_[n].item].size - 4, jumps_[n].to, hops[n]);
      for (size_t n = 0; n < islands.size(); ++n)
        for (uint32_t entry = 0; entry < islands[n].targets.size(); ++entry)
          avoid(islands[n].entryOffset(entry), islands[n].targets[entry], islandHops[n][entry]);
    }
    if (changed)
      total = place();
  }

  Result result;
  result.code.resize(total);
  const auto patch = [&](uint64_t at, uint64_t to) {
    const auto distance = static_cast<int16_t>((static_cast<int64_t>(to) - static_cast<int64_t>(at) - 4) / 4);
    memcpy(result.code.data() + at, &distance, sizeof distance);
  };
  size_t island = 0;
  for (uint32_t n = 0; n < items_.size(); ++n) {
    for (uint32_t k = 0; k < padding[n]; ++k)
      memcpy(result.code.data() + paddingAt[n] + k * sizeof kNop, &kNop, sizeof kNop);
    if (padding[n])
      result.ranges.push_back(
          {CodeRange::Kind::Island, paddingAt[n], padding[n] * sizeof kNop, items_[n].original, UINT32_MAX});
    for (; island < islands.size() && islands[island].item == n; ++island) {
      const Island &here = islands[island];
      if (here.targets.empty())
        continue;
      for (uint64_t at = here.offset; at < here.offset + here.size(); at += 4)
        memcpy(result.code.data() + at, &branch, sizeof branch);
      patch(here.offset, here.offset + here.size());
      for (uint32_t entry = 0; entry < here.targets.size(); ++entry)
        patch(here.entryOffset(entry), targetOf(here.targets[entry], islandHops[island][entry]));
      result.ranges.push_back({CodeRange::Kind::Island, here.offset, here.size(), items_[n].original, UINT32_MAX});
    }
    const Item &item = items_[n];
    memcpy(result.code.data() + offsets[n], bytes_.data() + item.begin, item.size);
    CodeRange *last = result.ranges.empty() ? nullptr : &result.ranges.back();
    const bool isOriginal = item.kind == CodeRange::Kind::Original;
    const bool continues =
        last && last->kind == item.kind &&
        (isOriginal ? last->original + last->size == item.original
                    : last->site == item.site && last->note == item.note && last->original == item.original);
    if (continues)
      last->size += item.size;
    else
      result.ranges.push_back({item.kind, offsets[n], item.size, item.original, item.site, item.note});
  }
  for (size_t n = 0; n < jumps_.size(); ++n)
    if (plantedFault() != Fault::Branches || items_[jumps_[n].item].kind != CodeRange::Kind::Original)
      patch(offsets[jumps_[n].item] + items_[jumps_[n].item].size - 4, targetOf(jumps_[n].to, hops[n]));
  for (CodeRelocation relocation : relocations_) {
    const auto item = std::ranges::upper_bound(items_, relocation.offset, {}, &Item::begin) - 1;
    relocation.offset = offsets[static_cast<size_t>(item - items_.begin())] + relocation.offset - item->begin;
    result.relocations.push_back(relocation);
  }
  std::ranges::sort(result.relocations, {}, &CodeRelocation::offset);
  for (uint32_t label : labels_)
    result.labels.push_back(label == kUnbound ? UINT64_MAX : offsets[label]);
  return result;
}

} // namespace luthier::rewrite
