#include "vgpu/wave/race.h"

#include "vgpu/wave/race_global.h"

namespace luthier::vgpu {

RaceCheck::RaceCheck(const CheckedCode &code) : memory_(std::make_unique<GlobalRaces>(code)) {}
RaceCheck::~RaceCheck() = default;

void Races::add(const Race &like, unsigned lane, uint64_t address, unsigned pastLane) {
  Race *same = nullptr;
  for (Race &race : found_)
    if (race.missing == like.missing && race.past.inst == like.past.inst && race.past.wave == like.past.wave &&
        race.past.workgroup == like.past.workgroup && race.past.write == like.past.write)
      same = &race;
  if (!same) {
    same = &found_.emplace_back(like);
    same->lanes = same->past.lanes = 0;
  }
  if (!(same->lanes >> lane & 1))
    same->addresses[lane] = address;
  same->lanes |= uint64_t{1} << lane;
  if (pastLane != kNoLane)
    same->past.lanes |= uint64_t{1} << pastLane;
}

} // namespace luthier::vgpu
