#include "vgpu/wave/race_global.h"

#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace luthier::vgpu {

namespace {

// An access in one word.
constexpr unsigned kWave = 42, kNumber = 24, kInst = 10, kLane = 4;
constexpr uint64_t kBytes = 0xf, kLaneMask = 0x3f, kInstMask = 0x1fff, kNumberMask = 0x3ffff;
/// The record is of several lanes, of which it has one.
constexpr uint64_t kManyLanes = uint64_t{1} << 23;
constexpr uint32_t kMostWaves = (1u << 22) - 1;

uint32_t waveOf(uint64_t access) { return static_cast<uint32_t>(access >> kWave); }
uint32_t numberOf(uint64_t access) { return static_cast<uint32_t>(access >> kNumber & kNumberMask); }
uint32_t instOf(uint64_t access) { return static_cast<uint32_t>(access >> kInst & kInstMask); }
unsigned laneOf(uint64_t access) { return static_cast<unsigned>(access >> kLane & kLaneMask); }

constexpr uint64_t kPageBytes = 4096, kLineBytes = 64, kWordBytes = 4;
constexpr unsigned kLines = kPageBytes / kLineBytes, kWords = kLineBytes / kWordBytes;

/// A store that may be an atomic one: the same instruction on most targets.
constexpr uint32_t kMostAtomicBytes = 8;

} // namespace

struct GlobalRaces::Line {
  uint64_t writer = 0, readers[2] = {};
  uint16_t written = 0, read[2] = {}; ///< dwords
  std::unique_ptr<Cell[]> cells;      ///< null: the line is one
};

struct GlobalRaces::Page {
  std::atomic_flag locked = ATOMIC_FLAG_INIT;
  uint32_t generation = 0;
  Line lines[kLines];

  void lock() {
    while (locked.test_and_set(std::memory_order_acquire))
      __builtin_ia32_pause();
  }
  void unlock() { locked.clear(std::memory_order_release); }
};

/// The access that is being looked at.
struct GlobalRaces::Place {
  const Wave &w;
  const MemoryAgent &agent;
  const CheckedInst &inst;
  Races &races;
  uint64_t access; ///< without lane and bytes
  unsigned lane = 0;
  uint64_t begin = 0;        ///< of the lane's access
  uint64_t line = 0;         ///< address
  uint32_t bytesPerLane = 0; ///< of consecutive lanes; 0: there is one lane
};

GlobalRaces::GlobalRaces(const CheckedCode &code) : code_(code) {}
GlobalRaces::~GlobalRaces() = default;

GlobalRaces::Begun GlobalRaces::begin(const Dispatch &dispatch, uint64_t waves, uint32_t wavesPerGroup) {
  std::lock_guard lock(mutex_);
  if (active_ == 0) {
    // Everything so far is ordered before what comes.
    generation_.fetch_add(1, std::memory_order_release);
    nextWave_ = 1;
    dispatches_.clear();
    nodes_.clear();
    for (ToldShard &shard : told_)
      shard.told.clear();
    for (ChainShard &shard : chains_)
      shard.heads.clear();
    chained_ = 0;
  }
  Running running;
  running.firstWave = nextWave_;
  running.wavesPerGroup = wavesPerGroup;
  running.waves = waves;
  running.began = ++events_;
  running.kernelObject = dispatch.launch().kernelObject;
  running.groups = dispatch.groups();
  ++active_;
  dispatches_.push_back(running);
  const auto number = static_cast<uint32_t>(dispatches_.size());
  if (waves > kMostWaves - nextWave_) {
    dispatches_.back().waves = 0;
    return {0, number};
  }
  nextWave_ += static_cast<uint32_t>(waves);
  return {running.firstWave, number};
}

void GlobalRaces::end(uint32_t dispatch) {
  std::lock_guard lock(mutex_);
  if (dispatch == 0 || dispatch > dispatches_.size() || dispatches_[dispatch - 1].ended)
    return;
  dispatches_[dispatch - 1].ended = ++events_;
  --active_;
}

GlobalRaces::Running GlobalRaces::runningOf(uint32_t wave) const {
  std::lock_guard lock(mutex_);
  const auto behind =
      std::ranges::upper_bound(dispatches_, wave, {}, [](const Running &running) { return running.firstWave; });
  return behind == dispatches_.begin() ? Running() : *(behind - 1);
}

GlobalRaces::Page &GlobalRaces::pageOf(uint64_t address) {
  struct Recent {
    uint64_t owner = 0, number = 0;
    Page *page = nullptr;
  };
  thread_local std::array<Recent, 256> recent;
  const uint64_t number = address / kPageBytes;
  Recent &slot = recent[number % recent.size()];
  if (slot.owner == id_ && slot.number == number) [[likely]]
    return *slot.page;
  PageShard &shard = pages_[number % kShards];
  std::lock_guard lock(shard.mutex);
  std::unique_ptr<Page> &page = shard.pages[number];
  if (!page)
    page = std::make_unique<Page>();
  slot = {id_, number, page.get()};
  return *page;
}

const SyncNode *GlobalRaces::make(SyncNode node) {
  std::lock_guard lock(mutex_);
  return &nodes_.emplace_back(std::move(node));
}

const SyncNode *GlobalRaces::join(const SyncNode *a, const SyncNode *b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  SyncNode both;
  both.parents = {a, b};
  return make(std::move(both));
}

namespace {

/// Calls `each` with what `from` contains, until it returns true: then so does this.
template <class Each> bool any(const SyncNode *from, Each each) {
  std::vector<const SyncNode *> left = {from};
  std::unordered_set<const SyncNode *> known;
  while (!left.empty()) {
    const SyncNode *node = left.back();
    left.pop_back();
    if (!node || !known.insert(node).second)
      continue;
    if (each(*node))
      return true;
    left.insert(left.end(), node->parents.begin(), node->parents.end());
  }
  return false;
}

bool contains(const SyncNode *from, uint64_t access, bool writes) {
  const uint32_t wave = waveOf(access), number = numberOf(access);
  return any(from, [&](const SyncNode &node) {
    if (wave < node.first || wave - node.first >= node.done.size())
      return false;
    const DoneUpTo &done = node.done[wave - node.first];
    return number <= (writes ? done.stores : done.loads);
  });
}

/// Whether its wave, or one of its workgroup, has published something behind it.
bool isFollowed(const SyncNode *from, uint64_t access, uint32_t groupFirst, uint32_t groupWaves) {
  const uint32_t wave = waveOf(access), number = numberOf(access);
  return any(from, [&](const SyncNode &node) {
    return (node.first == wave && node.issued > number) ||
           (node.first != wave && node.first >= groupFirst && node.first < groupFirst + groupWaves);
  });
}

} // namespace

bool GlobalRaces::isOrdered(const Place &place, uint64_t past, bool pastWrites, MissingOrder &missing) const {
  const MemoryAgent &agent = place.agent;
  const uint32_t wave = waveOf(past), number = numberOf(past);
  if (wave == agent.number)
    return true;
  const bool sameGroup = wave >= agent.groupFirst && wave - agent.groupFirst < agent.groupWaves;
  const SyncNode *const seen = agent.seen;
  if (sameGroup) {
    const DoneUpTo &visible = (*agent.visible)[wave - agent.groupFirst];
    if (number <= (pastWrites ? visible.stores : visible.loads) || contains(seen, past, pastWrites))
      return true;
    missing = number <= (*agent.met)[wave - agent.groupFirst] ? MissingOrder::BarrierWait : MissingOrder::Barrier;
    return false;
  }
  const Running running = runningOf(wave);
  if (running.firstWave != 0 && agent.dispatch != 0) {
    std::lock_guard lock(mutex_);
    const Running &mine = dispatches_[agent.dispatch - 1];
    if (running.ended && running.ended < mine.began)
      return true;
  }
  if (contains(seen, past, pastWrites)) {
    const bool sees =
        place.inst.writes || place.inst.beyondUnit || !pastWrites || place.inst.operands.space == MemorySpace::Scalar;
    if (sees || contains(agent.valid, past, pastWrites))
      return true;
    missing = MissingOrder::Acquire;
    return false;
  }
  const uint32_t theirFirst = wave - (wave - running.firstWave) % running.wavesPerGroup;
  if (isFollowed(seen, past, theirFirst, running.wavesPerGroup))
    missing = MissingOrder::ReleaseWait;
  else if (contains(agent.narrow, past, pastWrites) ||
           isFollowed(agent.narrow, past, theirFirst, running.wavesPerGroup))
    missing = MissingOrder::Scope;
  else
    missing = running.firstWave == 0 ||
                      (agent.number >= running.firstWave && agent.number - running.firstWave < running.waves)
                  ? MissingOrder::Synchronisation
                  : MissingOrder::Kernels;
  return false;
}

void GlobalRaces::judge(const Place &place, uint64_t past, bool pastWrites, uint64_t address) {
  const CheckedInst *other = code_.find(instOf(past));
  if (!other) // its number did not fit
    return;
  const CheckedInst &mine = place.inst;
  const auto isAtomic = [&](const CheckedInst &inst) { return inst.atomic || inst.beyondUnit; };
  const auto maySynchronise = [&](const CheckedInst &inst) {
    return isAtomic(inst) || (!inst.writes && polls(place.w, inst));
  };
  const auto isPlainStore = [&](const CheckedInst &inst) {
    return inst.writes && !inst.atomic && inst.bytes <= kMostAtomicBytes;
  };
  if (isAtomic(mine) && isAtomic(*other))
    return;
  if ((maySynchronise(mine) && isPlainStore(*other)) || (maySynchronise(*other) && isPlainStore(mine)) ||
      (maySynchronise(mine) && maySynchronise(*other)))
    return;
  Race race;
  if (isOrdered(place, past, pastWrites, race.missing))
    return;
  const Running running = runningOf(waveOf(past));
  const uint64_t index = waveOf(past) - running.firstWave, group = index / running.wavesPerGroup;
  race.scalar = mine.operands.space == MemorySpace::Scalar;
  race.write = mine.writes;
  race.past.inst = other;
  race.past.write = pastWrites;
  race.past.kernelObject = running.kernelObject;
  race.past.wave = static_cast<uint32_t>(index % running.wavesPerGroup);
  if (running.groups[0] && running.groups[1])
    race.past.workgroup = {static_cast<uint32_t>(group % running.groups[0]),
                           static_cast<uint32_t>(group / running.groups[0] % running.groups[1]),
                           static_cast<uint32_t>(group / running.groups[0] / running.groups[1])};
  unsigned lane = place.lane;
  if (place.bytesPerLane)
    lane = static_cast<unsigned>((address - place.begin) / place.bytesPerLane);
  place.races.add(race, lane, address, past & kManyLanes ? Races::kNoLane : laneOf(past));
}

/// The line as a whole, of which the bits of `dwords` are accessed.
void GlobalRaces::touchLine(Place &place, Line &line, uint32_t dwords) {
  const uint32_t me = place.agent.number;
  const bool many = static_cast<unsigned>(std::popcount(dwords)) * kWordBytes > place.inst.bytes;
  const uint64_t access = place.access | uint64_t{place.lane} << kLane | kBytes | (many ? kManyLanes : 0);
  // Added to what the wave has touched before.
  const auto with = [&](uint16_t touched) { return access | (touched & ~dwords ? kManyLanes : 0); };
  const auto check = [&](uint64_t past, uint32_t touched, bool writes) {
    // Of whom it is known that it races, every dword is told.
    if (past && waveOf(past) != me && (touched & dwords))
      for (uint32_t m = touched & dwords; m; m &= m - 1)
        judge(place, past, writes, place.line + static_cast<unsigned>(__builtin_ctz(m)) * kWordBytes);
  };
  // Operations of one wave may share a record if nobody can have been told of the one and not of the other.
  const auto merges = [&](uint64_t past, uint32_t touched) {
    return waveOf(past) == me && (numberOf(past) >= place.agent.mergeFrom || !(touched & ~dwords));
  };
  check(line.writer, line.written, true);
  if (place.inst.writes) {
    for (unsigned n = 0; n < 2; ++n)
      check(line.readers[n], line.read[n], false);
    if (!line.writer || !(line.written & ~dwords) || merges(line.writer, line.written)) {
      const auto before = static_cast<uint16_t>(waveOf(line.writer) == me ? line.written : 0);
      line.writer = with(before);
      line.written = static_cast<uint16_t>(before | dwords);
      for (unsigned n = 0; n < 2; ++n) {
        line.read[n] &= static_cast<uint16_t>(~dwords);
        if (!line.read[n])
          line.readers[n] = 0;
      }
      return;
    }
  } else {
    for (unsigned n = 0; n < 2; ++n)
      if (merges(line.readers[n], line.read[n])) {
        line.readers[n] = with(line.read[n]);
        line.read[n] |= static_cast<uint16_t>(dwords);
        return;
      }
    for (unsigned n = 0; n < 2; ++n)
      if (!line.readers[n]) {
        line.readers[n] = access;
        line.read[n] = static_cast<uint16_t>(dwords);
        return;
      }
    const auto covered = [&](unsigned n) { return !(dwords & ~line.read[n]); };
    if (covered(0) && covered(1) && waveOf(line.readers[0]) != me && waveOf(line.readers[1]) != me)
      return; // two are enough
  }
  expand(line);
  for (uint32_t m = dwords; m; m &= m - 1) {
    const auto word = static_cast<unsigned>(__builtin_ctz(m));
    touchCells(place, line, place.line + word * kWordBytes, place.line + (word + 1) * kWordBytes);
  }
}

void GlobalRaces::expand(Line &line) {
  line.cells = std::make_unique<Cell[]>(kWords);
  for (unsigned word = 0; word < kWords; ++word) {
    Cell &cell = line.cells[word];
    if (line.written >> word & 1)
      cell.writer = line.writer;
    for (unsigned n = 0; n < 2; ++n)
      if (line.read[n] >> word & 1)
        cell.readers[n] = line.readers[n];
  }
}

void GlobalRaces::touchCells(Place &place, Line &line, uint64_t begin, uint64_t end) {
  const uint32_t me = place.agent.number;
  for (uint64_t at = begin & ~(kWordBytes - 1); at < end; at += kWordBytes) {
    Cell &cell = line.cells[at % kLineBytes / kWordBytes];
    uint64_t bytes = kBytes;
    if (at < begin)
      bytes &= kBytes << (begin - at);
    if (at + kWordBytes > end)
      bytes &= kBytes >> (at + kWordBytes - end);
    const unsigned lane =
        place.bytesPerLane ? static_cast<unsigned>((at - place.begin) / place.bytesPerLane) : place.lane;
    const uint64_t access = place.access | uint64_t{lane} << kLane | bytes;
    if (cell.writer && waveOf(cell.writer) != me && (cell.writer & bytes))
      judge(place, cell.writer, true, std::max(at, begin));
    if (place.inst.writes) {
      for (uint64_t &reader : cell.readers) {
        if (reader && waveOf(reader) != me && (reader & bytes))
          judge(place, reader, false, std::max(at, begin));
        if (!(reader & kBytes & ~bytes))
          reader = 0;
      }
      const bool more = waveOf(cell.writer) == me && numberOf(cell.writer) >= place.agent.mergeFrom;
      cell.writer = access | (more ? cell.writer & kBytes : 0);
      continue;
    }
    uint64_t *slot = nullptr;
    for (uint64_t &reader : cell.readers)
      if (reader && waveOf(reader) == me)
        slot = &reader;
    for (uint64_t &reader : cell.readers)
      if (!slot && !reader)
        slot = &reader;
    if (slot)
      *slot = access | (waveOf(*slot) == me && numberOf(*slot) >= place.agent.mergeFrom ? *slot & kBytes : 0);
  }
}

void GlobalRaces::access(const Wave &w, const MemoryAgent &agent, const CheckedInst &inst, uint32_t number,
                         const uint64_t *addresses, uint64_t mask, Races &races) {
  const uint64_t instNumber = inst.number;
  Place place{w, agent, inst, races,
              uint64_t{agent.number} << kWave | uint64_t{std::min(number, kMostNumber)} << kNumber |
                  instNumber << kInst};
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  Page *page = nullptr;
  uint64_t pageNumber = ~uint64_t{0};
  const auto touch = [&](uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end;) {
      const uint64_t lineEnd = std::min(end, (at & ~(kLineBytes - 1)) + kLineBytes);
      if (at / kPageBytes != pageNumber) {
        if (page)
          page->unlock();
        pageNumber = at / kPageBytes;
        page = &pageOf(at);
        page->lock();
        if (page->generation != generation) {
          for (Line &line : page->lines)
            line = Line();
          page->generation = generation;
        }
      }
      place.line = at & ~(kLineBytes - 1);
      Line &line = page->lines[at % kPageBytes / kLineBytes];
      if (place.bytesPerLane)
        place.lane = static_cast<unsigned>((at - place.begin) / place.bytesPerLane);
      if (!line.cells && (at | lineEnd) % kWordBytes == 0) {
        const auto first = static_cast<unsigned>(at % kLineBytes / kWordBytes);
        const auto words = static_cast<unsigned>((lineEnd - at) / kWordBytes);
        touchLine(place, line, ((1u << words) - 1) << first);
      } else {
        if (!line.cells)
          expand(line);
        touchCells(place, line, at, lineEnd);
      }
      at = lineEnd;
    }
  };
  const auto lanes = static_cast<unsigned>(std::popcount(mask));
  bool consecutive = lanes > 1 && mask == (lanes == 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1);
  for (unsigned lane = 1; consecutive && lane < lanes; ++lane)
    consecutive = addresses[lane] == addresses[0] + uint64_t{lane} * inst.bytes;
  if (consecutive) {
    place.begin = addresses[0];
    place.bytesPerLane = inst.bytes;
    touch(addresses[0], addresses[0] + uint64_t{lanes} * inst.bytes);
  } else {
    uint64_t last = ~uint64_t{0};
    for (uint64_t m = mask; m; m &= m - 1) {
      place.lane = static_cast<unsigned>(__builtin_ctzll(m));
      place.begin = addresses[place.lane];
      if (place.begin == last)
        continue;
      last = place.begin;
      touch(place.begin, place.begin + inst.bytes);
    }
  }
  if (page)
    page->unlock();
}

void GlobalRaces::publish(const MemoryAgent &agent, uint32_t number, const SyncNode *node) {
  ToldShard &shard = told_[agent.number % kShards];
  std::lock_guard lock(shard.mutex);
  shard.told[agent.number].push_back({number, node});
}

const SyncNode *GlobalRaces::toldBy(uint64_t access) {
  ToldShard &shard = told_[waveOf(access) % kShards];
  std::lock_guard lock(shard.mutex);
  const auto found = shard.told.find(waveOf(access));
  if (found == shard.told.end())
    return nullptr;
  const auto behind = std::ranges::upper_bound(found->second, numberOf(access), {}, &Told::number);
  return behind == found->second.begin() ? nullptr : (behind - 1)->node;
}

void GlobalRaces::chain(const SyncNode *node, const uint64_t *addresses, uint64_t mask) {
  uint64_t last = ~uint64_t{0};
  for (uint64_t m = mask; m; m &= m - 1) {
    const uint64_t address = addresses[__builtin_ctzll(m)];
    if (address == last)
      continue;
    last = address;
    ChainShard &shard = chains_[address / kWordBytes % kShards];
    std::lock_guard lock(shard.mutex);
    const SyncNode *&head = shard.heads[address];
    if (!head)
      chained_.fetch_add(1, std::memory_order_relaxed);
    if (!head || std::ranges::find(head->parents, node) == head->parents.end())
      head = join(head, node);
  }
}

void GlobalRaces::learn(MemoryAgent &agent, const uint64_t *addresses, uint64_t mask, bool narrow) {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  const SyncNode *learnt = nullptr, *narrowly = nullptr;
  uint64_t last = ~uint64_t{0};
  for (uint64_t m = mask; m; m &= m - 1) {
    const uint64_t address = addresses[__builtin_ctzll(m)];
    if (address == last)
      continue;
    last = address;
    const SyncNode *node = nullptr;
    if (chained_.load(std::memory_order_relaxed)) {
      ChainShard &shard = chains_[address / kWordBytes % kShards];
      std::lock_guard lock(shard.mutex);
      if (const auto found = shard.heads.find(address); found != shard.heads.end())
        node = found->second;
    }
    uint64_t writer = 0;
    {
      Page &page = pageOf(address);
      page.lock();
      const Line &line = page.lines[address % kPageBytes / kLineBytes];
      const unsigned word = address % kLineBytes / kWordBytes;
      if (page.generation == generation)
        writer = line.cells ? line.cells[word].writer : line.written >> word & 1 ? line.writer : 0;
      page.unlock();
    }
    const bool foreign =
        writer && (waveOf(writer) < agent.groupFirst || waveOf(writer) >= agent.groupFirst + agent.groupWaves);
    if (writer && waveOf(writer) != agent.number) {
      const SyncNode *told = toldBy(writer);
      // That it has told something, and when, is worth knowing even if there was nothing to tell.
      if ((mask & (mask - 1)) == 0 && writer != agent.lastLearnt) {
        agent.lastLearnt = writer;
        SyncNode met;
        met.first = waveOf(writer);
        met.issued = numberOf(writer);
        if (told)
          met.parents.push_back(told);
        told = make(std::move(met));
      }
      if (told)
        (narrow && foreign ? narrowly : learnt) = join(narrow && foreign ? narrowly : learnt, told);
    }
    if (node)
      (narrow ? narrowly : learnt) = join(narrow ? narrowly : learnt, node);
  }
  // A loop that waits reads the same again and again.
  if (learnt && (!agent.seen ||
                 (agent.seen != learnt && std::ranges::find(agent.seen->parents, learnt) == agent.seen->parents.end())))
    agent.seen = join(agent.seen, learnt);
  if (narrowly && (!agent.narrow || (agent.narrow != narrowly && std::ranges::find(agent.narrow->parents, narrowly) ==
                                                                     agent.narrow->parents.end())))
    agent.narrow = join(agent.narrow, narrowly);
}

} // namespace luthier::vgpu
