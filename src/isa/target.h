// What Luthier knows of each GPU target: one row per target, one field per fact, no code per target elsewhere.
//
// Only src/isa asks for a version or an encoding family; everybody else asks for the fact that depends on it
// (tests/isa/no_target_conditionals.py). A new target is a row: an older one's, and what is different.
#pragma once

#include "isa/matrix.h"
#include "isa/waitcnt.h"
#include "support/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::isa {

/// Instruction encodings come in families; a family shares formats and field positions.
enum class EncodingFamily : uint8_t { Gfx8, Gfx9, Gfx10, Gfx11 };

/// How a kernel comes to the address of its scratch memory.
enum class FlatScratch : uint8_t {
  Sgprs,             ///< it computes the SGPR pair FLAT_SCRATCH from what it is given
  HardwareRegisters, ///< the same, into registers that only s_setreg writes
  Architected,       ///< it need not: they are set when it starts
};

/// Targets that need the same wait states between instructions (analysis/hazard_rules.h).
enum class HazardSet : uint8_t { None, Gfx8, Gfx9, Gfx908, Gfx90a, Gfx940, Gfx10 };

/// Layouts of a buffer resource (V#).
enum class BufferResource : uint8_t { Gfx8, Gfx9, Gfx10, Gfx11 };

/// The "gfx" number of a target, taken apart.
struct TargetVersion {
  uint8_t major, minor, step;
};

/// Sizes of the vector register file are for waves of 64 lanes; waves of 32 have twice as many (isa/occupancy.h).
struct Target {
  std::string_view name; ///< as LLVM and ROCm spell it: "gfx90a"
  TargetVersion version;
  uint8_t elfMachine; ///< EF_AMDGPU_MACH in a code object's e_flags
  EncodingFamily encoding;
  bool virtualGpu; ///< the virtual GPU executes its code

  // Waves
  uint8_t waveSize; ///< lanes of a wave unless the kernel says otherwise
  bool wave32, wave64;

  // Scalar registers
  uint16_t sgprs;                  ///< addressable, without VCC, FLAT_SCRATCH and XNACK_MASK
  uint16_t sgprFile;               ///< SGPRs of one SIMD, shared by its resident waves; 0: every wave has all
  uint8_t sgprGranule;             ///< allocation unit of SGPRs
  uint8_t sgprDescriptorGranule;   ///< what the kernel descriptor's count is rounded to
  uint8_t trailingSgprs;           ///< of those allocated, the last ones, which VCC, FLAT_SCRATCH and XNACK_MASK are
  bool xnackMask;                  ///< there is XNACK_MASK, which the hardware writes while it repeats an access
  bool scalarFlatScratch;          ///< FLAT_SCRATCH is an operand of scalar instructions
  bool partialVccWritesUpdateVccz; ///< writing one half of VCC sets VCCZ; without, only writing both does
  bool m0BehindNull;               ///< the codes of M0 and NULL are 125 and 124, not the other way round

  // Vector registers
  uint16_t vgprs;                ///< addressable architectural VGPRs
  uint16_t accVgprs;             ///< AccVGPRs, 0 where there are none
  uint16_t vgprFileLanes;        ///< VGPRs of one SIMD lane, shared by its resident waves
  uint8_t vgprGranule;           ///< allocation unit of VGPRs
  uint8_t vgprDescriptorGranule; ///< unit of the kernel descriptor's count
  bool unifiedVgprs;             ///< architectural and AccVGPRs share one file, split at ACCUM_OFFSET
  bool accumulatorOperands;      ///< memory and matrix instructions have a bit for each operand that may be an AccVGPR
  bool alignedTuples;            ///< tuples of VGPRs start at even numbers
  bool keepsHalves;              ///< most instructions with 16-bit results keep the register's other half
  bool keepsAllHalves;           ///< so do the rest

  // Workgroups and compute units
  uint8_t maxWavesPerSimd;
  uint8_t simdsPerComputeUnit; ///< that a workgroup is spread over and that share an LDS
  uint16_t maxWorkgroupWaves;
  uint32_t ldsBytes; ///< that the workgroups of a compute unit share
  uint32_t ldsGranule;

  // A kernel's start
  bool packedWorkitemIds; ///< work-item ids arrive in one VGPR, ten bits each
  FlatScratch flatScratch;
  uint32_t rsrc1Reserved, rsrc3Reserved; ///< bits of the kernel descriptor's words

  // Instructions
  uint8_t flatOffsetBits;      ///< of FLAT's immediate offset, sign included; 0: there is none
  uint8_t nopBits;             ///< of s_nop's count
  uint8_t hardwareIdRegister;  ///< number of HW_ID, or of HW_ID1 where that has taken its place
  uint16_t fetchedAheadBytes;  ///< behind a kernel's end, that the instruction cache may ask for
  uint32_t branchWord;         ///< s_branch 0
  bool codeEnd;                ///< s_code_end, which compilers put there
  bool callInstruction;        ///< s_call_b64
  bool gprIndexing;            ///< s_set_gpr_idx_on and its relatives
  bool scratchInstructions;    ///< scratch_load and scratch_store
  bool ldsLimitInM0;           ///< LDS instructions read M0
  bool imageAddressByResource; ///< the resource decides how many registers an image's address has
  BufferResource bufferResource;
  const MatrixUnit *matrixUnit; ///< how its matrix instructions add up; null where it has none, or nobody knows

  // Counters of outstanding operations, and hazards
  const WaitFields *waitFields; ///< s_waitcnt's; null where its layout is not known
  bool storeCounter;            ///< vector stores have a counter of their own
  bool imagesInOrder;           ///< images' results arrive in order with those of other vector loads
  HazardSet hazards;

  // The packet processor and the copy engine
  bool gcrAcquire;       ///< ACQUIRE_MEM has GCR_CNTL
  uint8_t sdmaVersion;   ///< ten times the major number, and the minor one
  uint8_t copyCountBits; ///< of SDMA's COPY_LINEAR

  /// Whether a wave has only the SGPRs that its kernel asks for.
  constexpr bool countsSgprs() const { return sgprFile != 0; }
  /// As KFD and ROCr print it: 90010 for gfx90a.
  constexpr uint32_t gfxVersion() const { return version.major * 10000u + version.minor * 100u + version.step; }
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
