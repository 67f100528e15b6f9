// What Luthier knows of each GPU target: one row per target, no code per target elsewhere.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::isa {

/// Instruction encodings come in families; a family shares formats and field positions.
enum class EncodingFamily : uint8_t { Gfx8, Gfx9, Gfx10, Gfx11 };

/// Sizes of the vector register file are for waves of 64 lanes; waves of 32 have twice as many (isa/occupancy.h).
struct Target {
  std::string_view name; ///< as LLVM and ROCm spell it: "gfx90a"
  uint8_t major, minor, step;
  uint8_t elfMachine; ///< EF_AMDGPU_MACH in a code object's e_flags
  EncodingFamily encoding;
  uint8_t waveSize;              ///< lanes of a wave unless the kernel says otherwise
  bool wave32;                   ///< whether it may
  uint16_t sgprs;                ///< addressable, without VCC, FLAT_SCRATCH and XNACK_MASK
  uint16_t sgprFile;             ///< SGPRs of one SIMD, shared by its resident waves; 0: every wave has all
  uint8_t sgprGranule;           ///< allocation unit of SGPRs
  uint16_t vgprs;                ///< addressable architectural VGPRs
  uint16_t accVgprs;             ///< AccVGPRs, 0 where there are none
  uint16_t vgprFileLanes;        ///< VGPRs of one SIMD lane, shared by its resident waves
  uint8_t vgprGranule;           ///< allocation unit of VGPRs
  uint8_t vgprDescriptorGranule; ///< unit of the kernel descriptor's count
  uint8_t maxWavesPerSimd;
  uint8_t simdsPerComputeUnit; ///< that a workgroup is spread over and that share an LDS
  uint16_t maxWorkgroupWaves;
  uint32_t ldsBytes; ///< that the workgroups of a compute unit share
  uint32_t ldsGranule;
  uint8_t flatOffsetBits; ///< of FLAT's immediate offset, sign included; 0: there is none
  bool unifiedVgprs;      ///< architectural and AccVGPRs share one file, split at ACCUM_OFFSET
  bool packedWorkitemIds; ///< work-item ids arrive in one VGPR, ten bits each
  bool virtualGpu;        ///< the virtual GPU executes its code
};

/// All targets, in ascending order of name.
std::span<const Target> targets();

/// The row for `name`, features allowed ("gfx90a:xnack-"), or of a generic one's member; null if there is none.
const Target *findTarget(std::string_view name);
/// The row for `elfMachine`; null when there is none.
const Target *findTarget(uint8_t elfMachine);
/// The row for `name` if the virtual GPU can be one; else an error that says which it can be.
Result<const Target *> findVirtualTarget(std::string_view name);
/// Names of all that it can be.
std::vector<std::string_view> virtualTargets();

} // namespace luthier::isa
