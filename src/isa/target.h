// What Luthier knows of each GPU target: one row per target, no code per target elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace luthier::isa {

/// Instruction encodings come in families; a family shares formats and field positions.
enum class EncodingFamily : uint8_t { Gfx9 };

struct Target {
  std::string_view name; ///< as LLVM and ROCm spell it: "gfx90a"
  uint8_t major, minor, step;
  uint8_t elfMachine; ///< EF_AMDGPU_MACH in a code object's e_flags
  EncodingFamily encoding;
  uint8_t waveSize;       ///< lanes of a wave unless the kernel says otherwise
  uint16_t sgprs;         ///< addressable, without VCC, FLAT_SCRATCH and XNACK_MASK
  uint16_t vgprs;         ///< addressable architectural VGPRs
  uint16_t accVgprs;      ///< AccVGPRs, 0 where there are none
  uint16_t vgprFileLanes; ///< VGPRs of one SIMD lane, shared by its resident waves
  uint8_t vgprGranule;    ///< allocation unit of VGPRs; also the unit of the kernel descriptor's count
  uint8_t sgprGranule;
  uint16_t maxWorkgroupWaves;
  uint32_t ldsGranule;    ///< bytes
  uint8_t flatOffsetBits; ///< of FLAT's immediate offset, sign included
  bool unifiedVgprs;      ///< architectural and AccVGPRs share one file, split at ACCUM_OFFSET
  bool packedWorkitemIds; ///< work-item ids arrive in one VGPR, ten bits each
};

/// All targets, in ascending order of name.
std::span<const Target> targets();

/// The row for `name`, which may carry features ("gfx90a:sramecc+:xnack-"); null when there is none.
const Target *findTarget(std::string_view name);

} // namespace luthier::isa
