// The state of one wave, and how handlers reach it.
#pragma once

#include "isa/hardware_register.h"
#include "vgpu/memory/address_space.h"
#include "vgpu/state/inst.h"

#include <cstdint>
#include <cstring>
#include <string>

namespace luthier::vgpu {

class CodeChunk;
class CodeSnapshot;
class Device;
class GlobalWaveSync;
class HostFpMode;
class MemoryCheck;
class Workgroup;
class WaveObserver;
struct OpcodeCount;

/// Lanes that the register file has room for; a wave uses the first `Wave::lanes` of them.
inline constexpr unsigned kMaxLanes = 64;
inline constexpr unsigned kAccBase = 256; ///< Wave::v index of AccVGPR 0

/// Scalar registers by the numbers that gfx9's encodings give them, whatever the target's do.
inline constexpr unsigned kFlatScratch = 102;
inline constexpr unsigned kVcc = 106;
inline constexpr unsigned kTtmp = 108;
inline constexpr unsigned kM0 = 124;
inline constexpr unsigned kExec = 126;
/// Results for the null register go here and beyond, the largest is 16 dwords; nobody reads them.
inline constexpr unsigned kDiscarded = 128;
inline constexpr unsigned kHardwareFlatScratch = 144; ///< FLAT_SCRATCH where it is not an operand
inline constexpr unsigned kScalars = 146;

enum class Stop : uint8_t {
  None,    ///< the quantum is over
  Yield,   ///< the wave waits for others (s_sleep)
  Barrier, ///< at s_barrier
  Mode,    ///< MODE has changed: `run` goes on under the new one
  Gws,     ///< in ds_gws_barrier or ds_gws_sema_p, until `gwsTicket` is called
  End,     ///< s_endpgm
  Fault,   ///< `Workgroup`'s dispatch has been told
};

/// MODE register fields (manual, section "Mode register").
namespace mode {
inline constexpr uint32_t kRoundMask = 0xf;      ///< [1:0] f32, [3:2] f64 and f16
inline constexpr uint32_t kDenormF32 = 0x3 << 4; ///< 0 flush both, 3 keep both
inline constexpr uint32_t kDenormF64 = 0x3 << 6; ///< f64 and f16
inline constexpr uint32_t kDx10Clamp = 1 << 8;
inline constexpr uint32_t kIeee = 1 << 9;
inline constexpr uint32_t kFp16Overflow = 1 << 23; ///< clamp f16 results that overflow to the largest number
} // namespace mode

/// What a wave has beside vector registers. Copied as a whole when a wave starts (wave_start.h).
struct alignas(64) WaveState {
  uint32_t s[kScalars]; ///< SGPRs, FLAT_SCRATCH, VCC, TTMPs, M0, EXEC at their numbers
  uint32_t scc;
  uint32_t mode;
  uint32_t lanes; ///< 64 or 32
  uint32_t vgprCount;
  uint32_t sgprs;       ///< that can be addressed
  uint32_t flatScratch; ///< where in `s` FLAT_SCRATCH is: kFlatScratch or kHardwareFlatScratch
  Stop stop;
  bool barrierSignalled, barrierComplete; ///< split barriers: the wave has signalled; all have, since it last waited
  bool staleVccz;                         ///< VCCZ is not what VCC says; only where strict_resources.h keeps it

  const Inst *ip; ///< where to go on; kept by `run` and by handlers that stop the wave
  const CodeChunk *chunk;
  const CodeChunk *recentChunks[4]; ///< by low bits of the chunk's number: far calls and returns find theirs here
  CodeSnapshot *code;

  Workgroup *group;
  Device *device;
  const AddressSpace *memory;
  DeviceMask deviceMask;
  uint8_t *lds;
  uint32_t ldsSize;
  uint32_t index;        ///< within the workgroup
  uint64_t scratchBase;  ///< address of this wave's slot
  uint64_t scratchBytes; ///< its size; what the launch asked for where accesses are checked
  uint64_t sharedAperture, privateAperture;
  OpcodeCount *counts;    ///< null when nobody counts
  WaveObserver *observer; ///< null when nobody watches
  MemoryCheck *check;     ///< null when accesses are not checked beyond what hardware does
  /// Memory for arguments of many launches, and those of this one in it. Empty where accesses are not checked.
  uint64_t argumentMemory, argumentMemoryBytes, arguments, argumentsEnd;
  uint64_t gwsTicket; ///< what a wave stopped by Stop::Gws waits for
};

struct alignas(64) Wave : WaveState {
  uint32_t v[512][kMaxLanes];                 ///< VGPRs, then AccVGPRs from kAccBase
  alignas(64) uint32_t tmp[6][2 * kMaxLanes]; ///< operands made for one instruction (broadcast, SDWA, DPP, modifiers)
  alignas(64) uint64_t addresses[kMaxLanes];

  // Caches. What they hold is true of its key whichever wave it was made for: they outlive waves.

  uint64_t execLanesFor;
  alignas(64) uint32_t execLanes[kMaxLanes]; ///< EXEC as one dword per lane, 0 or ~0; valid when execLanesFor == exec()

  /// Scalar operands as lanes, by register number: a loop's constants are broadcast once. An entry holds while its key
  /// is the register's value.
  struct Broadcast {
    alignas(64) uint32_t lanes[2 * kMaxLanes];
  };
  static constexpr unsigned kBroadcasts = 16;
  Broadcast broadcast32[kBroadcasts]; ///< only the first kMaxLanes lanes are used
  Broadcast broadcast64[kBroadcasts];
  uint64_t broadcast32For[kBroadcasts];
  uint64_t broadcast64For[kBroadcasts];
  uint32_t broadcast64Valid; ///< bit per entry: any 64-bit key can be a value

  /// For a new record, whose memory holds anything.
  void clearCaches();

  /// Active lanes. In waves of 32, the high half of EXEC stands for none.
  uint64_t exec() const { return scalar64(kExec) & allLanes(); }
  void setExec(uint64_t value) { setScalar64(kExec, value); }
  uint64_t vcc() const { return scalar64(kVcc) & allLanes(); }
  uint64_t allLanes() const { return lanes == 64 ? ~0ull : 0xffffffffull; }

  uint64_t scalar64(unsigned reg) const {
    uint64_t value;
    memcpy(&value, &s[reg], 8);
    return value;
  }
  void setScalar64(unsigned reg, uint64_t value) { memcpy(&s[reg], &value, 8); }

  uint64_t pc(const Inst *inst) const;

  /// Writes the MODE register; `next` is where to go on. For handlers to return.
  const Inst *setMode(uint32_t value, const Inst *next);

  /// Runs until the wave stops or `budget` instructions have been executed. Straight code counts as one, unless this is
  /// to be `exact`. `fp` is the caller's, who runs many waves under it.
  void run(uint64_t budget, HostFpMode &fp, bool exact = false);

  /// Stops the dispatch because `inst` touched memory it may not touch. Returns null, for handlers to return.
  const Inst *memoryFault(const Inst *inst, uint64_t address, bool write);
  /// Stops the dispatch because `inst` cannot be executed; `why` completes the sentence.
  const Inst *illegal(const Inst *inst, const char *why);
  const Inst *trap(const Inst *inst, uint32_t id);
  /// Stops the dispatch because `inst` uses a result that may not have arrived; strict mode only (waits.h).
  const Inst *earlyAccess(const Inst *inst, const std::string &what);
  /// Stops the dispatch because `inst` uses a register that the wave does not have (strict_resources.h).
  const Inst *missingRegister(const Inst *inst, const std::string &what);

  // What handlers ask of the machine around the wave (wave/machine.cc).

  GlobalWaveSync &gws() const;
  /// The counter behind s_memrealtime.
  static uint64_t clock();
  /// s_sendmsg MSG_INTERRUPT.
  void interrupt(uint32_t m0);
  /// s_icache_inv.
  void invalidateCode();
  /// Whether its workgroup has other waves.
  bool hasCompany() const;
  /// s_barrier_signal: true for the first wave to do so. s_get_barrier_state.
  bool signalBarrier();
  uint32_t barrierState() const;
  /// s_sendmsg has MSG_DEALLOC_VGPRS.
  bool deallocatesVgprs() const;
  /// The hardware register of this number.
  isa::HardwareRegister hardwareRegister(uint32_t number) const;
  /// HW_ID (or HW_ID1) and GPR_ALLOC.
  uint32_t hardwareId() const;
  uint32_t xccId() const;
  uint32_t gprAllocation() const;
  /// Bits of `mode` that the target does not have: they are always set.
  uint32_t fixedModes() const;
  /// FLAT_SCRATCH is set when a wave starts, and not to be written.
  bool hasFixedFlatScratch() const;

  /// Where execution goes on after a jump to `pc`.
  const Inst *jump(uint64_t pc);

  /// True when [address, address + size) may be accessed, maybe elsewhere: `address` is then where. By the page table
  /// alone, whatever else checks accesses.
  bool accessible(uint64_t &address, uint64_t size) const {
    return memory->allows(address, size, deviceMask) || memory->resolve(address, size, deviceMask);
  }

  // Accesses of `inst`. Addresses that the page table refuses may still be good: registered host memory by an address
  // of its own, pageable memory, and the first and last page of what the application allocated where accesses are
  // checked (wave/memory_check.h). There, a bad access is reported and led to memory that reads as 0 and that nobody
  // else looks at, so that the kernel goes on.

  /// True when a scalar access may go on at `address`.
  bool accessible(const Inst *inst, uint64_t &address, uint64_t size, bool write) {
    return memory->allows(address, size, deviceMask) || resolve(inst, address, size, write);
  }
  bool resolve(const Inst *inst, uint64_t &address, uint64_t size, bool write);
  /// True when the lanes of `mask`, whose addresses are in [low, high], may access `span` bytes each, which may move
  /// them; else `bad` is the first address that may not be accessed (of an access over a page boundary, the page
  /// behind it).
  bool resolveLanes(const Inst *inst, uint64_t *address, uint64_t mask, uint64_t span, bool write, uint64_t low,
                    uint64_t high, uint64_t &bad);

  // What hardware does without a word, or not as the program means it. Called only where accesses are checked.

  /// Lanes whose LDS address (`address` is the host's) is beyond the workgroup's LDS.
  void outsideLds(const Inst *inst, const uint64_t *address, uint64_t lanes, uint32_t bytes, bool write);
  /// Lanes whose private address is beyond the wave's scratch.
  void outsideScratch(const Inst *inst, const uint32_t *offset, uint64_t lanes, uint32_t bytes, bool write);
  /// Of the lanes of `mask`, those whose swizzled address is in the wave's scratch; the others are reported.
  uint64_t insideScratch(const Inst *inst, const uint64_t *address, uint64_t mask, uint32_t bytes, bool write);
  /// A scalar access to arguments of another launch: it is led elsewhere. True when the instruction may go on.
  bool outsideArguments(const Inst *inst, uint64_t &address, uint32_t bytes);
  /// A scalar access at an address whose low bits are ignored. True when the instruction may go on.
  bool misalignedScalar(const Inst *inst, uint64_t address, uint32_t bytes);
  /// Atomics of the lanes at addresses that are not multiples of `bytes`, in memory or at offsets in LDS. True when
  /// they are led elsewhere, or left out by the caller; false when this is a fault.
  bool misalignedAtomics(const Inst *inst, uint64_t *address, uint64_t lanes, uint32_t bytes, bool lds);
};

} // namespace luthier::vgpu
