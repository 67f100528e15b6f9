// Workgroups of a translated kernel.
//
// Most of their waves run from the first instruction to the last without the interpreter, so that no workgroup need be
// made for them: what tells waves from each other is put into one wave record after the other, and nothing else is set
// up. Only when translated code leaves a wave to the interpreter does its workgroup become a resident one.

#include "vgpu/state/fp_mode.h"
#include "vgpu/translate/translations.h"
#include "vgpu/wave/workgroup.h"

namespace luthier::vgpu {

Workgroup::TranslatedRun Workgroup::runTranslated(Dispatch &dispatch, const TranslatedCode &code, WavePool &pool,
                                                  GroupRange &taken) {
  TranslatedRun result;
  const Translation &translation = *dispatch.translation_;
  const WaveStart &start = dispatch.start_;
  const Launch &launch = dispatch.launch();
  const auto &groups = dispatch.groups_;
  Wave *wave = pool.take();
  start.setCommon(*wave); // and translated code that reaches the end leaves it like that
  HostFpMode fp;
  fp.set(mxcsrForF32(start.mode()));
  WaveStart::Place place{};
  place.groupSize = start.fullSize();
  place.groupWaves = start.fullWaves();
  do {
    const uint64_t index = takeIndex(dispatch, &taken);
    if (index >= dispatch.groupCount_)
      break;
    const uint64_t row = index / groups[0];
    place.groupId = {static_cast<uint32_t>(index % groups[0]), static_cast<uint32_t>(row % groups[1]),
                     static_cast<uint32_t>(row / groups[1])};
    bool full = true;
    for (unsigned d = 0; d < 3; ++d)
      full &= launch.grid[d] - place.groupId[d] * launch.workgroup[d] >= launch.workgroup[d];
    if (!full) {
      result.group = make(dispatch, index, pool, nullptr);
      break;
    }
    for (place.index = 0; place.index < place.groupWaves; ++place.index) {
      start.setPlace(*wave, place);
      const bool allLanes = wave->exec() == ~0ull;
      const uint32_t at = allLanes ? code.entry(wave, start.itemIds(place.index)) : 0;
      if (at == translation.end()) [[likely]]
        continue;
      // The waves before this one have ended, and this one goes on in its record.
      result.left += allLanes;
      result.group = make(dispatch, index, pool, nullptr);
      Workgroup &group = *result.group;
      for (uint32_t n = 0; n < place.index; ++n)
        group.waves_[n]->stop = Stop::End;
      group.running_ -= place.index;
      std::swap(group.waves_[place.index], wave);
      Wave &left = *group.waves_[place.index];
      left.group = &group;
      left.lds = group.lds_.data();
      left.ip = translation.at(at);
      start.setVectors(left, group.size_, allLanes ? code.written[at] : std::vector<uint16_t>{});
      break;
    }
    result.waves += place.index;
    if (result.group)
      break;
    ++result.groups;
  } while (!taken.empty());
  pool.give(wave);
  return result;
}

} // namespace luthier::vgpu
