#include "vgpu/wave/race_lds.h"

#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>

namespace luthier::vgpu {

namespace {

// An access in one word. The stamp comes first, so that words can be compared.
constexpr unsigned kStamp = 44, kWave = 38, kLane = 32, kInst = 17, kLate = 16, kNumber = 4;
constexpr uint32_t kMostStamp = (1u << 20) - 1;
constexpr uint64_t kBytes = 0xf, kNumberMask = 0xfff, kInstMask = 0x7fff, kLaneMask = 0x3f, kWaveMask = 0x3f;

uint32_t stampOf(uint64_t access) { return static_cast<uint32_t>(access >> kStamp); }
uint32_t waveOf(uint64_t access) { return static_cast<uint32_t>(access >> kWave & kWaveMask); }
unsigned laneOf(uint64_t access) { return static_cast<unsigned>(access >> kLane & kLaneMask); }
uint32_t instOf(uint64_t access) { return static_cast<uint32_t>(access >> kInst & kInstMask); }
bool isLate(uint64_t access) { return access >> kLate & 1; }
uint32_t numberOf(uint64_t access) { return static_cast<uint32_t>(access >> kNumber & kNumberMask); }

constexpr uint32_t kCellBytes = 4;

} // namespace

/// One lane's access to one cell, and whose it is.
struct LdsRaces::Place {
  const Wave &w;
  const CheckedInst &inst;
  Races &races;
  uint64_t access;
  uint32_t cell;
  uint64_t address;
  uint32_t orderedBefore;

  uint32_t wave() const { return waveOf(access); }
};

LdsRaces::LdsRaces(uint32_t bytes, uint32_t waves, const CheckedCode &code)
    : code_(code), waves_(waves), cells_((bytes + kCellBytes - 1) / kCellBytes), orderedBefore_(waves, 1),
      signalledAt_(waves), completedAt_(waves), ended_(waves) {}

bool LdsRaces::isOrdered(uint64_t access, uint32_t wave) const {
  if (stampOf(access) < orderedBefore_[wave] || waveOf(access) == wave)
    return true;
  return !known_.empty() && !isLate(access) && stampOf(access) <= known_[wave * waves_ + waveOf(access)];
}

/// The clock has run out after a million turns: what was before is forgotten.
void LdsRaces::tick() {
  if (++now_ <= kMostStamp)
    return;
  std::ranges::fill(cells_, Cell());
  std::ranges::fill(orderedBefore_, 1);
  std::ranges::fill(signalledAt_, 0);
  std::ranges::fill(completedAt_, 0);
  known_.clear();
  others_.clear();
  used_ = 0;
  now_ = 1;
}

/// `wave` has read what `with` has written: all that its wave did before is before what `wave` does from now on.
void LdsRaces::synchronise(uint32_t wave, uint64_t with) {
  if (known_.empty())
    known_.resize(size_t{waves_} * waves_);
  const uint32_t other = waveOf(with);
  uint32_t *const mine = &known_[wave * waves_], *const theirs = &known_[other * waves_];
  if (mine[other] >= stampOf(with))
    return;
  mine[other] = stampOf(with);
  for (uint32_t n = 0; n < waves_; ++n)
    mine[n] = std::max(mine[n], theirs[n]);
}

/// Two accesses to the same cell, by different waves, that no barrier orders.
void LdsRaces::judge(const Place &place, uint64_t past, bool pastWrites) {
  if (!(past & place.access & kBytes) || isOrdered(past, place.wave()))
    return;
  const CheckedInst *other = code_.find(instOf(past));
  const CheckedInst &mine = place.inst;
  // A store may be an atomic one, such as that which gives back a lock: it is the same instruction.
  const auto mayBeAtomic = [](const CheckedInst &inst) { return inst.atomic || (inst.writes && inst.bytes <= 8); };
  if (other && pastWrites && mine.writes && (mine.atomic || other->atomic) && mayBeAtomic(mine) && mayBeAtomic(*other))
    return mine.reads ? synchronise(place.wave(), past) : void();
  // A flag: somebody waits for the other one's write.
  if (other && pastWrites && !mine.writes && polls(place.w, mine))
    return synchronise(place.wave(), past);
  if (other && !pastWrites && polls(place.w, *other))
    return;
  Race race;
  race.missing = isLate(past) ? MissingOrder::BarrierWait : MissingOrder::Barrier;
  race.lds = true;
  race.write = mine.writes;
  race.past.inst = other;
  race.past.write = pastWrites;
  race.past.kernelObject = place.w.group->dispatch().launch().kernelObject;
  race.past.workgroup = place.w.group->id();
  race.past.wave = waveOf(past);
  place.races.add(race, laneOf(place.access), place.address, laneOf(past));
}

void LdsRaces::read(const Place &place, Cell &cell) {
  const uint32_t wave = place.wave();
  if (stampOf(cell.writer) >= place.orderedBefore && waveOf(cell.writer) != wave) [[unlikely]]
    judge(place, cell.writer, true);
  for (uint64_t &reader : cell.readers) {
    if (waveOf(reader) == wave && stampOf(reader) == stampOf(place.access)) {
      reader = place.access | (reader & kBytes);
      return;
    }
    if (stampOf(reader) < place.orderedBefore || waveOf(reader) == wave) {
      reader = place.access;
      return;
    }
  }
}

void LdsRaces::write(const Place &place, Cell &cell) {
  const uint32_t wave = place.wave();
  const uint64_t writer = cell.writer;
  if (stampOf(writer) >= place.orderedBefore && waveOf(writer) != wave) [[unlikely]] {
    judge(place, writer, true);
    if (writer & kBytes & ~place.access)
      others_[place.cell].push_back(writer);
  }
  for (uint64_t &reader : cell.readers) {
    if (stampOf(reader) >= place.orderedBefore && waveOf(reader) != wave) [[unlikely]]
      judge(place, reader, false);
    if (!(reader & kBytes & ~place.access))
      reader = 0;
  }
  const bool more = waveOf(writer) == wave && stampOf(writer) == stampOf(place.access);
  cell.writer = place.access | (more ? writer & kBytes : 0);
}

void LdsRaces::access(const Wave &w, const CheckedInst &inst, uint32_t number, const uint64_t *addresses, uint64_t mask,
                      Races &races) {
  const uint64_t instNumber = inst.number <= kInstMask ? inst.number : 0;
  const uint64_t common =
      uint64_t{now_} << kStamp | uint64_t{w.index} << kWave | instNumber << kInst | (number & kNumberMask) << kNumber;
  Place place{w, inst, races, 0, 0, 0, orderedBefore_[w.index]};
  const uint64_t size = cells_.size() * kCellBytes;
  uint64_t last = ~uint64_t{0};
  for (uint64_t m = mask; m; m &= m - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
    const uint64_t begin = addresses[lane];
    if (begin == last || begin + inst.bytes > size) // outside: hardware does nothing there
      continue;
    last = begin;
    const uint64_t end = begin + inst.bytes;
    for (uint64_t at = begin & ~uint64_t{kCellBytes - 1}; at < end; at += kCellBytes) {
      uint64_t bytes = kBytes;
      if (at < begin)
        bytes &= kBytes << (begin - at);
      if (at + kCellBytes > end)
        bytes &= kBytes >> (at + kCellBytes - end);
      place.cell = static_cast<uint32_t>(at / kCellBytes);
      place.address = begin;
      place.access = common | uint64_t{lane} << kLane | bytes;
      if (!others_.empty()) [[unlikely]]
        if (const auto found = others_.find(place.cell); found != others_.end())
          for (const uint64_t other : found->second)
            judge(place, other, true);
      Cell &cell = cells_[place.cell];
      inst.writes ? write(place, cell) : read(place, cell);
    }
    used_ = std::max<size_t>(used_, (end + kCellBytes - 1) / kCellBytes);
  }
  if (inst.atomic) // what the wave does from now on is not published by this
    tick();
}

/// What is on its way may take effect now, or later.
void LdsRaces::delay(uint32_t wave, const InFlight &pending) {
  bool late[kNumberMask + 1] = {};
  bool any = false;
  pending.pending(Effect::Lds, [&](uint32_t number) { any = late[number & kNumberMask] = true; });
  if (!any)
    return;
  const auto move = [&](uint64_t &access) {
    if (access && waveOf(access) == wave && stampOf(access) >= orderedBefore_[wave] && late[numberOf(access)])
      access = (access & ((uint64_t{1} << kStamp) - 1)) | uint64_t{now_} << kStamp | uint64_t{1} << kLate;
  };
  for (size_t n = 0; n < used_; ++n) {
    move(cells_[n].writer);
    for (uint64_t &reader : cells_[n].readers)
      move(reader);
  }
}

void LdsRaces::come(uint32_t wave, const InFlight &pending) {
  bool any = false;
  pending.pending(Effect::Lds, [&](uint32_t) { any = true; });
  if (any)
    late_.push_back({wave, pending});
}

void LdsRaces::release() {
  tick();
  for (const Late &late : late_)
    delay(late.wave, late.pending);
  late_.clear();
  others_.clear();
  std::ranges::fill(orderedBefore_, now_);
}

void LdsRaces::signal(uint32_t wave, const InFlight &pending) {
  signalledAt_[wave] = now_;
  tick();
  delay(wave, pending);
}

void LdsRaces::complete() { completedAt_ = signalledAt_; }

void LdsRaces::pass(uint32_t wave) {
  uint32_t first = now_;
  for (uint32_t n = 0; n < waves_; ++n)
    if (!ended_[n])
      first = std::min(first, completedAt_[n]);
  orderedBefore_[wave] = std::max(orderedBefore_[wave], first + 1);
  if (known_.empty())
    known_.resize(size_t{waves_} * waves_);
  for (uint32_t n = 0; n < waves_; ++n)
    known_[wave * waves_ + n] = std::max(known_[wave * waves_ + n], completedAt_[n]);
}

void LdsRaces::ended(uint32_t wave) {
  signalledAt_[wave] = now_;
  ended_[wave] = true;
}

} // namespace luthier::vgpu
