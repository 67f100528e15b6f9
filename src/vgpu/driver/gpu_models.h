// What the driver reports of a GPU beyond what its target fixes: one row per target, as on a product with that target.
//
// Generations differ by these numbers alone; no other file of the driver knows a target by name. Sources: properties
// files and rocminfo outputs that users have published, and the vendor's pages.
#pragma once

#include "vgpu/wave/device.h"

#include <cstdint>
#include <string_view>

namespace luthier::vgpu {

struct GpuModel {
  std::string_view target;
  std::string_view product;  ///< whose numbers these are
  std::string_view codename; ///< of the chip, as the kernel driver has it in a node's `name`
  uint16_t deviceId;
  uint8_t pciRevision;
  uint8_t drmFamily; ///< AMDGPU_FAMILY_*
  uint16_t computeUnits;
  uint8_t simdsPerComputeUnit, wavesPerSimd;
  uint8_t arrays, arraysPerEngine, computeUnitsPerArray; ///< shader arrays: of the whole GPU, and per shader engine
  uint16_t ldsKib;
  uint32_t l1Kib, l2Kib, l3Kib; ///< data caches; 0: there is none. The first is one compute unit's.
  uint16_t l1LineBytes, lineBytes;
  uint64_t memoryBytes;
  uint16_t memoryBusBits, memoryMhz, engineMhz;
  uint8_t sdmaEngines, xgmiSdmaEngines, queuesPerSdmaEngine, computeQueues, xccs;
  uint16_t firmware, sdmaFirmware; ///< versions
  uint8_t asicRevision;
  bool ecc;  ///< memories that correct errors: "sramecc+" in the name of the ISA
  bool xgmi; ///< such GPUs are connected to each other; others only by PCIe
};

/// Null when there is no row, though the target may be known.
const GpuModel *findGpuModel(std::string_view target);

/// A virtual GPU with this target, as its row says; as DeviceConfig says by itself where there is no row.
DeviceConfig deviceConfig(const isa::Target &target);

} // namespace luthier::vgpu
