// How many waves fit on a GPU at once, given what a kernel uses, and what could be used more without a loss.
//
// The waves of a SIMD share its registers, and the workgroups of a compute unit (a WGP on gfx10 and later) its LDS;
// both are handed out in granules. Whatever runs out first is the limit.
#pragma once

#include <cstdint>
#include <optional>

namespace luthier::isa {

struct Target;

/// What a kernel's waves use. Registers are counts: v7 alone makes 8.
struct ResourceUse {
  unsigned waveSize = 0; ///< 0: the target's own
  unsigned vgprs = 0;    ///< architectural
  unsigned accVgprs = 0;
  unsigned sgprs = 0;         ///< with VCC, FLAT_SCRATCH and XNACK_MASK as far as used
  uint32_t ldsBytes = 0;      ///< of a workgroup, static and dynamic
  unsigned workgroupSize = 0; ///< work-items; 0: one wave, no bound on workgroups
};

enum class OccupancyLimit : uint8_t { Waves, Vgprs, Sgprs, Lds, Workgroups };

struct Occupancy {
  unsigned wavesPerSimd = 0; ///< 0: cannot run at all
  unsigned maximum = 0;      ///< of the target
  OccupancyLimit limit = OccupancyLimit::Waves;
};

Occupancy occupancy(const Target &target, const ResourceUse &use);

/// What one workgroup can address, however much LDS there is.
inline constexpr uint32_t kMaxWorkgroupLds = 65536;

/// Workgroups that a compute unit (a WGP on gfx10 and later) holds at once; 0: it cannot hold any.
unsigned workgroupsPerComputeUnit(const Target &target, const ResourceUse &use);

/// Numbers of VGPRs depend on the size of waves where that can be chosen.
unsigned vgprGranule(const Target &target, unsigned waveSize);           ///< allocation unit
unsigned vgprDescriptorGranule(const Target &target, unsigned waveSize); ///< unit of the kernel descriptor's count
unsigned vgprFile(const Target &target, unsigned waveSize);              ///< per SIMD lane

/// AccVGPRs start behind the architectural ones at a multiple of this where both share one file (ACCUM_OFFSET).
inline constexpr unsigned kAccumOffsetGranule = 4;

/// VGPRs of both kinds together as the hardware allocates them. With separate files: the greater.
unsigned allocatedVgprs(const Target &target, const ResourceUse &use);
unsigned allocatedSgprs(const Target &target, const ResourceUse &use);

/// The most VGPRs (both kinds together where they share a file) and SGPRs with which `waves` waves fit on a SIMD.
unsigned maxVgprs(const Target &target, unsigned waveSize, unsigned waves);
unsigned maxSgprs(const Target &target, unsigned waves);

/// How many more architectural VGPRs and SGPRs could be used at the same occupancy.
struct Headroom {
  unsigned vgprs = 0;
  unsigned accVgprs = 0; ///< instead of VGPRs where both share a file, besides them where not
  unsigned sgprs = 0;
};
Headroom headroom(const Target &target, const ResourceUse &use);

} // namespace luthier::isa
