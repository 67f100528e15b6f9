// What waves begin with: the state that the packet processor sets up before a wave's first instruction (AMDGPUUsage,
// "Initial Kernel Execution State").
//
// Kernels that do little per wave start very many waves, and starting one costs as much as several instructions. What
// all waves of a dispatch have in common is worked out once, so that starting a wave is copying it and filling in the
// few values that differ.
#pragma once

#include "vgpu/state/wave.h"
#include "vgpu/wave/kernel_descriptor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace luthier::vgpu {

class Dispatch;
struct Launch;

/// Work-items of a workgroup.
inline uint32_t product(const std::array<uint32_t, 3> &size) { return size[0] * size[1] * size[2]; }

class WaveStart {
public:
  WaveStart() = default;
  /// `dispatch` must have found its entry.
  explicit WaveStart(const Dispatch &dispatch);

  /// What tells a wave from the others of its dispatch.
  struct Place {
    Workgroup *group;
    std::array<uint32_t, 3> groupId;
    std::array<uint32_t, 3> groupSize; ///< in work-items
    uint32_t groupWaves;
    uint32_t index; ///< within the workgroup
    uint8_t *lds;
    OpcodeCount *counts;
    uint64_t scratchOffset; ///< of its slot
  };
  void start(Wave &wave, const Place &place) const;

  // What `start` does, in parts: for whoever starts many waves with the same record, and for waves whose vector
  // registers may never be looked at.

  /// What all waves have in common.
  void setCommon(Wave &wave) const { static_cast<WaveState &>(wave) = state_; }
  /// What is the wave's own, but for vector registers.
  void setPlace(Wave &wave, const Place &place) const;
  /// Vector registers other than those in `except`, which is sorted.
  void setVectors(Wave &wave, const std::array<uint32_t, 3> &groupSize, std::span<const uint16_t> except = {}) const;

  /// Whether waves are given a value in this SGPR, or TTMP.
  bool givesSgpr(unsigned reg) const {
    return (reg < 64 && givenSgprs_ >> reg & 1) || (idsInTtmps_ && reg >= kTtmp + 7 && reg <= kTtmp + 9);
  }

  /// Work-item ids of a wave of a workgroup of full size, as they go to the first vector registers, and to how many.
  const uint32_t *itemIds(uint32_t wave) const { return itemIds_[wave].lanes[0]; }
  uint32_t itemIdRegisters() const { return std::min(itemIdRegisters_, vgprs_); }
  const std::array<uint32_t, 3> &fullSize() const { return fullSize_; }
  uint32_t fullWaves() const { return static_cast<uint32_t>(itemIds_.size()); }
  uint32_t mode() const { return state_.mode; }
  uint32_t flatScratch() const { return state_.flatScratch; }

private:
  /// Registers of work-item ids: at most x, y and z.
  struct alignas(64) ItemIds {
    uint32_t lanes[3][kMaxLanes];
  };

  void setUserRegisters(const KernelDescriptor &descriptor, const Launch &launch, const isa::Target &target);
  void fillItemIds(ItemIds &ids, const std::array<uint32_t, 3> &groupSize, uint32_t index) const;

  static constexpr uint8_t kNone = 0xff;
  WaveState state_{};
  std::array<uint8_t, 3> groupIdAt_{kNone, kNone, kNone}; ///< SGPR of each dimension
  uint8_t groupInfoAt_ = kNone, scratchOffsetAt_ = kNone;
  uint64_t givenSgprs_ = 0; ///< a bit for each
  uint32_t itemIdRegisters_ = 1;
  uint32_t wantedIds_ = 0; ///< 0: x, 1: x and y, 2: all
  bool packedIds_ = false;
  bool idsInTtmps_ = false; ///< workgroup ids
  bool setsFlatScratch_ = false;
  uint32_t vgprs_ = 0, accVgprs_ = 0; ///< to clear
  std::array<uint32_t, 3> fullSize_{};
  std::vector<ItemIds> itemIds_; ///< by wave of a workgroup of full size
};

} // namespace luthier::vgpu
