// Workgroups of a translated kernel whose waves do not wait for each other.
//
// Most of their waves run from the first instruction to the last without the interpreter, so that no workgroup need be
// made for them: what tells waves from each other is put into one wave record after the other, and nothing else is set
// up. Only when translated code leaves a wave to the interpreter does its workgroup become a resident one.

#include "vgpu/state/fp_mode.h"
#include "vgpu/translate/translations.h"
#include "vgpu/wave/workgroup.h"

namespace luthier::vgpu {

bool Workgroup::runsAlone(const Dispatch &dispatch) {
  return !dispatch.translation_->needsGroup() && !dispatch.launch().groupSegmentSize &&
         !dispatch.launch().privateSegmentSize;
}

Workgroup::TranslatedRun Workgroup::runTranslated(Dispatch &dispatch, const TranslatedCode &code, WavePool &pool,
                                                  GroupRange &taken) {
  TranslatedRun result;
  const Translation &translation = *dispatch.translation_;
  const WaveStart &start = dispatch.start_;
  const Launch &launch = dispatch.launch();
  const auto &groups = dispatch.groups_;
  Wave *wave = pool.take();
  start.setCommon(*wave); // and translated code that calls no handler leaves it like that
  HostFpMode fp;
  fp.set(mxcsrForF32(start.mode()));
  WaveStart::Place place{};
  place.groupSize = start.fullSize();
  place.groupWaves = start.fullWaves();
  // What handlers ask of their workgroup; it has no waves of its own.
  Workgroup standIn(dispatch, 0, pool);
  standIn.waves_.resize(place.groupWaves);
  place.group = &standIn;
  do {
    const uint64_t index = takeIndex(dispatch, &taken);
    if (index >= dispatch.groupCount_)
      break;
    const uint64_t row = index / groups[0];
    place.groupId = {static_cast<uint32_t>(index % groups[0]), static_cast<uint32_t>(row % groups[1]),
                     static_cast<uint32_t>(row / groups[1])};
    standIn.id_ = place.groupId;
    bool full = true;
    for (unsigned d = 0; d < 3; ++d)
      full &= launch.grid[d] - place.groupId[d] * launch.workgroup[d] >= launch.workgroup[d];
    if (!full) {
      result.group = make(dispatch, index, pool, nullptr);
      break;
    }
    for (place.index = 0; place.index < place.groupWaves; ++place.index) {
      if (!wave->ip) [[unlikely]]
        start.setCommon(*wave);
      start.setPlace(*wave, place);
      const bool allLanes = wave->exec() == ~0ull;
      const uint32_t end =
          allLanes ? code.entry(wave, start.itemIds(place.index), translation.first(), kQuantum) : translation.first();
      if (end == TranslatedCode::kEnded) [[likely]]
        continue;
      if (wave->stop == Stop::Fault)
        break; // of the whole dispatch
      // The waves before this one have ended, and this one goes on in its record.
      const bool yields = TranslatedCode::yields(end);
      result.left += allLanes && !yields;
      result.group = make(dispatch, index, pool, nullptr);
      Workgroup &group = *result.group;
      for (uint32_t n = 0; n < place.index; ++n)
        group.waves_[n]->stop = Stop::End;
      group.running_ -= place.index;
      group.interpreted_[place.index] = !yields;
      std::swap(group.waves_[place.index], wave);
      Wave &left = *group.waves_[place.index];
      left.group = &group;
      left.lds = group.lds_.data();
      std::optional<uint32_t> at;
      if (end != TranslatedCode::kStopped && end != TranslatedCode::kLeft) {
        at = end & ~TranslatedCode::kYield;
        left.ip = translation.at(*at);
      }
      if (left.stop == Stop::Mode)
        left.stop = Stop::None;
      start.setVectors(left, group.size_, allLanes ? translation.written(at) : std::vector<uint16_t>{});
      break;
    }
    result.waves += place.index;
    if (result.group)
      break;
    ++result.groups;
  } while (!taken.empty() && !dispatch.aborted());
  standIn.waves_.clear();
  pool.give(wave);
  return result;
}

bool Workgroup::enterTranslated(Wave &wave, HostFpMode &fp) {
  const Translation *translation = dispatch_.translation_;
  const TranslatedCode *code = translation ? translation->code() : nullptr;
  const auto at = code && wave.mode == dispatch_.start_.mode() ? translation->entryAt(wave.ip) : std::nullopt;
  if (!at)
    return false;
  fp.set(mxcsrForF32(wave.mode));
  wave.stop = Stop::None;
  // At the kernel's first instruction a wave has in its registers what `given` would be.
  const uint32_t end = code->entry(&wave, wave.v[0], *at, kQuantum);
  switch (end) {
  case TranslatedCode::kEnded:
    wave.stop = Stop::End;
    return true;
  case TranslatedCode::kStopped:
    return wave.stop != Stop::Mode;
  case TranslatedCode::kLeft:
  case TranslatedCode::kRefused:
    return false;
  default:
    wave.ip = translation->at(end & ~TranslatedCode::kYield);
    return TranslatedCode::yields(end);
  }
}

} // namespace luthier::vgpu
