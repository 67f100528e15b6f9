#include "isa/occupancy.h"

#include "isa/target.h"

#include <algorithm>

namespace luthier::isa {

namespace {

/// More workgroups of several waves than this find no barrier, per compute unit of four SIMDs (LLVM's limit; twice as
/// many in a WGP).
constexpr unsigned kBarriers = 16;
unsigned workgroupLimit(const Target &target) { return kBarriers * (target.sgprFile ? 1 : 2); }

unsigned alignUp(unsigned value, unsigned granule) { return (value + granule - 1) / granule * granule; }
unsigned alignDown(unsigned value, unsigned granule) { return value / granule * granule; }
unsigned ceilDivide(unsigned value, unsigned by) { return (value + by - 1) / by; }

unsigned waveSizeOf(const Target &target, unsigned waveSize) { return waveSize ? waveSize : target.waveSize; }

/// Rows of targets are for waves of 64 lanes.
unsigned scaled(unsigned value, const Target &target, unsigned waveSize) {
  return waveSizeOf(target, waveSize) == 32 ? 2 * value : value;
}

/// The highest number of SGPRs that can be used. VCC counts, also where it has a number of its own.
unsigned sgprLimit(const Target &target) { return target.sgprs + std::max<unsigned>(target.trailingSgprs, 2); }

} // namespace

unsigned vgprGranule(const Target &target, unsigned waveSize) { return scaled(target.vgprGranule, target, waveSize); }
unsigned vgprDescriptorGranule(const Target &target, unsigned waveSize) {
  return scaled(target.vgprDescriptorGranule, target, waveSize);
}
unsigned vgprFile(const Target &target, unsigned waveSize) { return scaled(target.vgprFileLanes, target, waveSize); }

unsigned allocatedVgprs(const Target &target, const ResourceUse &use) {
  unsigned count = std::max(use.vgprs, use.accVgprs);
  if (target.unifiedVgprs)
    count = use.accVgprs ? alignUp(use.vgprs, kAccumOffsetGranule) + use.accVgprs : use.vgprs;
  // A wave has at least one granule.
  return alignUp(std::max(count, 1u), vgprGranule(target, use.waveSize));
}

unsigned allocatedSgprs(const Target &target, const ResourceUse &use) {
  return target.sgprFile ? alignUp(std::max(use.sgprs, 1u), target.sgprGranule) : target.sgprGranule;
}

unsigned maxVgprs(const Target &target, unsigned waveSize, unsigned waves) {
  const unsigned addressable = target.vgprs + (target.unifiedVgprs ? target.accVgprs : 0);
  const unsigned share = alignDown(vgprFile(target, waveSize) / std::max(waves, 1u), vgprGranule(target, waveSize));
  return std::min(addressable, share);
}

unsigned maxSgprs(const Target &target, unsigned waves) {
  if (!target.sgprFile)
    return sgprLimit(target);
  return std::min(sgprLimit(target), alignDown(target.sgprFile / std::max(waves, 1u), target.sgprGranule));
}

Occupancy occupancy(const Target &target, const ResourceUse &use) {
  Occupancy result = {target.maxWavesPerSimd, target.maxWavesPerSimd, OccupancyLimit::Waves};
  const auto limit = [&](unsigned waves, OccupancyLimit by) {
    if (waves < result.wavesPerSimd) {
      result.wavesPerSimd = waves;
      result.limit = by;
    }
  };
  const bool addressable = use.vgprs <= target.vgprs && use.accVgprs <= target.accVgprs;
  limit(addressable ? vgprFile(target, use.waveSize) / allocatedVgprs(target, use) : 0, OccupancyLimit::Vgprs);
  if (const unsigned sgprs = allocatedSgprs(target, use); use.sgprs > sgprLimit(target))
    limit(0, OccupancyLimit::Sgprs);
  else if (target.sgprFile)
    limit(target.sgprFile / sgprs, OccupancyLimit::Sgprs);

  const unsigned simds = target.simdsPerComputeUnit;
  const unsigned lanes = waveSizeOf(target, use.waveSize);
  const unsigned waves = ceilDivide(std::max(use.workgroupSize, 1u), lanes);
  if (waves * lanes > target.maxWorkgroupWaves * unsigned{target.waveSize})
    limit(0, OccupancyLimit::Workgroups);
  // Workgroups go to a compute unit as a whole, their waves spread evenly over its SIMDs.
  const auto limitGroups = [&](unsigned groups, OccupancyLimit by) { limit(ceilDivide(groups * waves, simds), by); };
  if (waves > 1) {
    limitGroups(workgroupLimit(target), OccupancyLimit::Workgroups);
    limitGroups(target.maxWavesPerSimd * simds / waves, OccupancyLimit::Workgroups);
  }
  if (use.ldsBytes > kMaxWorkgroupLds)
    limit(0, OccupancyLimit::Lds);
  else if (use.ldsBytes)
    limitGroups(target.ldsBytes / alignUp(use.ldsBytes, target.ldsGranule), OccupancyLimit::Lds);
  return result;
}

unsigned workgroupsPerComputeUnit(const Target &target, const ResourceUse &use) {
  ResourceUse wave = use; // alone: what its registers allow
  wave.ldsBytes = wave.workgroupSize = 0;
  const unsigned waves = ceilDivide(std::max(use.workgroupSize, 1u), waveSizeOf(target, use.waveSize));
  unsigned groups = occupancy(target, wave).wavesPerSimd * target.simdsPerComputeUnit / waves;
  if (waves > 1)
    groups = std::min(groups, workgroupLimit(target));
  if (use.ldsBytes > kMaxWorkgroupLds)
    return 0;
  return use.ldsBytes ? std::min(groups, target.ldsBytes / alignUp(use.ldsBytes, target.ldsGranule)) : groups;
}

Headroom headroom(const Target &target, const ResourceUse &use) {
  const Occupancy now = occupancy(target, use);
  if (!now.wavesPerSimd)
    return {};
  Headroom result;
  const unsigned most = maxVgprs(target, use.waveSize, now.wavesPerSimd);
  if (target.unifiedVgprs) {
    // With AccVGPRs behind them, architectural ones grow in steps of the offset.
    const unsigned room = most - use.accVgprs;
    const unsigned architectural =
        std::min<unsigned>(target.vgprs, use.accVgprs ? alignDown(room, kAccumOffsetGranule) : room);
    result.vgprs = architectural - use.vgprs;
    result.accVgprs =
        std::min<unsigned>(target.accVgprs, most - alignUp(use.vgprs, kAccumOffsetGranule)) - use.accVgprs;
  } else {
    result.vgprs = most - use.vgprs;
    result.accVgprs = target.accVgprs ? most - use.accVgprs : 0;
  }
  const unsigned sgprs = maxSgprs(target, now.wavesPerSimd);
  result.sgprs = sgprs > use.sgprs ? sgprs - use.sgprs : 0;
  return result;
}

} // namespace luthier::isa
