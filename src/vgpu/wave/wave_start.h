// What waves begin with: the state that the packet processor sets up before a wave's first instruction (AMDGPUUsage,
// "Initial Kernel Execution State").
//
// Kernels that do little per wave start very many waves, and starting one costs as much as several instructions. What
// all waves of a dispatch have in common is worked out once, so that starting a wave is copying it and filling in the
// few values that differ.
#pragma once

#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/wave.h"

#include <array>
#include <cstdint>
#include <vector>

namespace luthier::vgpu {

class Dispatch;
struct Launch;

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

private:
  /// Registers of work-item ids: at most x, y and z.
  using ItemIds = std::array<std::array<uint32_t, kMaxLanes>, 3>;

  void setUserRegisters(const KernelDescriptor &descriptor, const Launch &launch, const isa::Target &target);
  void fillItemIds(ItemIds &ids, const std::array<uint32_t, 3> &groupSize, uint32_t index) const;

  static constexpr uint8_t kNone = 0xff;
  WaveState state_{};
  std::array<uint8_t, 3> groupIdAt_{kNone, kNone, kNone}; ///< SGPR of each dimension
  uint8_t groupInfoAt_ = kNone, scratchOffsetAt_ = kNone;
  uint32_t itemIdRegisters_ = 1;
  uint32_t wantedIds_ = 0; ///< 0: x, 1: x and y, 2: all
  bool packedIds_ = false;
  uint32_t vgprs_ = 0, accVgprs_ = 0; ///< to clear
  std::array<uint32_t, 3> fullSize_{};
  std::vector<ItemIds> itemIds_; ///< by wave of a workgroup of full size
};

} // namespace luthier::vgpu
