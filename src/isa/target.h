// What Luthier knows of each GPU target: one row per target, one field per fact, no code per target elsewhere.
//
// Only src/isa asks for a version or an encoding family; everybody else asks for the fact that depends on it
// (tests/isa/no_target_conditionals.py). A new target is a row: an older one's, and what is different.
#pragma once

#include "isa/hardware_register.h"
#include "isa/matrix.h"
#include "isa/waitcnt.h"
#include "support/result.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::isa {

/// Instruction encodings come in families; a family shares formats and field positions.
enum class EncodingFamily : uint8_t { Gfx8, Gfx9, Gfx10, Gfx11, Gfx12 };

/// How a kernel comes to the address of its scratch memory.
enum class FlatScratch : uint8_t {
  Sgprs,             ///< it computes the SGPR pair FLAT_SCRATCH from what it is given
  HardwareRegisters, ///< the same, into registers that only s_setreg writes
  Architected,       ///< it need not: they are set when it starts
};

/// Targets that need the same wait states between instructions (analysis/hazard_rules.h).
enum class HazardSet : uint8_t { None, Gfx8, Gfx9, Gfx908, Gfx90a, Gfx940, Gfx10 };

/// Mistakes of hardware that no wait states cure (analysis/seam_hazards.h), by LLVM's names: bits of a set.
enum class SeamHazard : uint16_t {
  VmemToScalarWrite = 1 << 0,
  SmemToVectorWrite = 1 << 1,
  VcmpxExecWar = 1 << 2,
  LdsBranchVmem = 1 << 3,
  Offset3f = 1 << 4, ///< branches by 0x3f dwords go elsewhere
  VcmpxPermlane = 1 << 5,
  ValuPartialForwarding = 1 << 6, ///< in waves of 64 lanes
  ValuMaskWrite = 1 << 7,         ///< in waves of 64 lanes
  ValuTransUse = 1 << 8,
  ValuReadSgpr = 1 << 9,
};
constexpr uint16_t setOf(std::initializer_list<SeamHazard> hazards) {
  uint16_t set = 0;
  for (const SeamHazard hazard : hazards)
    set |= static_cast<uint16_t>(hazard);
  return set;
}

/// Layouts of a buffer resource (V#).
enum class BufferResource : uint8_t { Gfx8, Gfx9, Gfx10, Gfx11, Gfx12 };

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
  bool
      workgroupIdsInTtmps; ///< TTMP9 is x, TTMP7 y and z, 16 bits each, TTMP8 has the wave's number at bit 25; no SGPRs
  FlatScratch flatScratch;
  bool kernargPreload;    ///< the descriptor may ask for arguments in user SGPRs
  bool dynamicVgprs;      ///< a kernel may ask for VGPRs that its waves allocate themselves
  bool clampAndIeeeModes; ///< MODE and the descriptor have DX10_CLAMP and IEEE; without, all is as if both were set
  uint32_t rsrc1Reserved, rsrc3Reserved; ///< bits of the kernel descriptor's words
  uint8_t prefetchSizeBits;              ///< of the descriptor's INST_PREF_SIZE; 0: there is none

  // Instructions
  uint8_t flatOffsetBits; ///< of FLAT's immediate offset, sign included; 0: there is none
  bool signedFlatOffset;  ///< of FLAT itself too; without, it has one bit less and no sign
  uint8_t nopBits;        ///< of s_nop's count
  const HardwareRegisters *hardwareRegisters;
  uint8_t hardwareIdRegister;  ///< number of HW_ID, or of HW_ID1 where that has taken its place
  uint16_t fetchedAheadBytes;  ///< behind a kernel's end, that the instruction cache may ask for
  uint32_t branchWord;         ///< s_branch 0
  bool codeEnd;                ///< s_code_end, which compilers put there
  bool dppWaveShifts;          ///< DPP moves lanes across rows: wave_shl, row_bcast and their kin
  bool dppRowShare;            ///< row_share (gfx90a's row_newbcast)
  bool dppRowXmask;            ///< row_xmask
  bool constantsFillHalves;    ///< of packed f16 sources, in encodings that cannot select halves (VOP2, VOP3, VOPD)
  bool omodInAnyMode;          ///< without, only where denormal results are flushed
  bool splitBarriers;          ///< s_barrier_signal and s_barrier_wait in the place of s_barrier
  bool dualIssue;              ///< VOPD, for waves of 32 lanes
  bool clauses;                ///< s_clause
  bool delayHints;             ///< s_delay_alu
  bool deallocatesVgprs;       ///< s_sendmsg has MSG_DEALLOC_VGPRS
  bool pcZeroExtends;          ///< s_getpc_b64 gives 48 bits of address without their sign
  bool readableTtmps;          ///< programs may read them; without, they are 0. Writes are dropped everywhere
  bool droppedWritesKeepScc;   ///< a scalar instruction whose write of a TTMP is dropped does not write SCC either
  bool callInstruction;        ///< s_call_b64
  bool gprIndexing;            ///< s_set_gpr_idx_on and its relatives
  bool scratchInstructions;    ///< scratch_load and scratch_store
  bool scratchVgprBit;         ///< of which a bit says whether a VGPR is part of the address; without, an SGPR or it is
  bool scratchWithoutAddress;  ///< ... whose offset may be all of the address
  bool ldsLimitInM0;           ///< LDS instructions read M0
  bool imageAddressByResource; ///< the resource decides how many registers an image's address has
  BufferResource bufferResource;
  bool loadsKeepHalves;    ///< loads of 16 bits leave the register's other half alone; without (SRAM-ECC), it is 0
  uint8_t permuteLanes;    ///< that ds_permute_b32 and ds_bpermute_b32 exchange data between
  bool ldsDwordsApart;     ///< each dword of an LDS access is in range or not; without, the whole access is
  bool wideScratchAtomics; ///< FLAT atomics of 64 bits may be on private memory; without, they are a violation
  bool memoryAddsFlush;    ///< additions to f32 in memory take and leave no denormals
  /// Bits of a memory instruction's cache policy, as LLVM numbers them, any of which loads past the first-level cache:
  /// GLC; SC1 and NT; SCOPE.
  uint8_t vectorMissPolicy, scalarMissPolicy;
  const MatrixUnit *matrixUnit; ///< how its matrix instructions add up; null where it has none, or nobody knows

  // Counters of outstanding operations, and hazards
  const WaitFields *waitFields; ///< s_waitcnt's; null where its layout is not known
  bool storeCounter;            ///< vector stores have a counter of their own
  bool splitCounters;           ///< loads, samples, BVH, LDS and scalar memory have counters and waits of their own
  bool imagesInOrder;           ///< images' results arrive in order with those of other vector loads
  bool flatInOrder;             ///< each half of FLAT is done in order with vector memory or LDS
  bool loadsWriteInOrder;       ///< vector loads write their registers in order, not only count so
  HazardSet hazards;
  uint16_t seamHazards; ///< of SeamHazard

  // The packet processor and the copy engine
  bool gcrAcquire;       ///< ACQUIRE_MEM has GCR_CNTL
  uint8_t sdmaVersion;   ///< ten times the major number, and the minor one
  uint8_t copyCountBits; ///< of SDMA's COPY_LINEAR

  // COMPUTE_TMPRING_SIZE, in which a queue has the size of its scratch memory
  uint8_t scratchSizeBits;   ///< of a wave's size
  uint16_t scratchSizeUnit;  ///< that it counts in, in bytes
  bool scratchWavesPerArray; ///< the number of waves is for each shader array; without, it is for the whole GPU

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
