// --strict-resources: the physical machine of the target, where the virtual GPU is otherwise kinder than silicon.
//
//   registers    those of physical_registers.h: others stop the kernel, and the special SGPRs are the last numbered
//                ones. So does a vector register, or scratch memory, behind MSG_DEALLOC_VGPRS: it may be another wave's
//   start        what the ABI does not define (AMDGPUUsage, "Initial Kernel Execution State") is garbage: SGPRs, VGPRs
//                in all lanes that have no work-item, AccVGPRs, VCC, M0, SCC, LDS, scratch
//   VCCZ         is a bit that writes of VCC set. Before gfx10, writing one half of VCC leaves it as it was (LLVM,
//                partialVCCWritesUpdateVCCZ, true from gfx10 on; so SIInsertWaitcnts restores it with s_mov_b64 vcc,
//                vcc). Nobody knows of a write of EXEC that leaves EXECZ behind: EXECZ follows EXEC.
//   XNACK_MASK   is the hardware's while accesses may be repeated: written at random points in code whose object does
//                not say xnack-, if the process is in that mode (HSA_XNACK=1) or, without ROCr, always. (Clang 15 does
//                not count XNACK_MASK for plain gfx90a, although it says that it reserves it, and gives these SGPRs to
//                the kernel; Clang 19 counts it. Such a kernel fails on this machine in that mode, as on hardware.)
//   residency    isa/occupancy.h decides how many workgroups a compute unit holds (dispatch.cc)
//   scalar cache keeps what it has read (strict_caches.h)
//
// Chosen where nobody says: writing VCC by the numbers of its SGPRs sets VCCZ as writing it by its name does (the
// manual only asks for a wait state between that and the branch); VCCZ starts as garbage.
//
// All of it works from outside, around each instruction, as other observers do (observer.h). Handlers know nothing of
// it but for the sources VCCZ and STATUS, which are no fast path.
#pragma once

#include "vgpu/wave/garbage.h"
#include "vgpu/wave/operands.h"
#include "vgpu/wave/physical_registers.h"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace luthier::vgpu {

class Dispatch;
class WaveStart;
struct Launch;

/// That a device or a launch is strict.
struct StrictResources {
  explicit StrictResources(uint64_t seed, bool vectorL1 = false) : seed(seed), vectorL1(vectorL1) {}
  uint64_t seed; ///< of all garbage
  bool vectorL1; ///< compute units have one

  /// Of all dispatches so far.
  struct Totals {
    std::atomic<uint64_t> waves = 0, xnackWrites = 0, staleBranches = 0, staleWords = 0;
  };
  mutable Totals totals;
};

/// What the waves of one dispatch share.
struct StrictMachine {
  StrictMachine(const StrictResources &strict, const Dispatch &dispatch);

  const StrictResources &strict;
  PhysicalRegisters registers;
  bool xnack; ///< XNACK_MASK may be written
  const WaveStart &waveStart;

  /// Fills a workgroup's LDS and its waves' scratch with garbage.
  void start(std::span<uint8_t> lds, std::span<Wave *const> waves, uint64_t firstWave) const;
  /// How many workgroups of the launch a compute unit holds at once; 0 when it cannot hold any.
  uint32_t workgroupsPerUnit(const isa::Target &target, const Launch &launch) const;
};

/// Strictness for one wave.
class WaveResources {
public:
  WaveResources(const StrictMachine &machine, uint64_t waveNumber);
  ~WaveResources();

  /// Fills what the ABI leaves undefined with garbage.
  void start(Wave &w);

  // Around an instruction, in this order.

  /// Registers may have been changed from outside: a debugger.
  void notice(Wave &w);
  /// Dead registers have been overwritten: a register that is dead by one of its names need not be by the other, so
  /// that it keeps its value unless both were.
  void undoPoison(Wave &w);
  /// False when the wave was stopped because a register is not there.
  bool check(Wave &w, const Inst *inst, const OperandCache::Known &known);
  void enter(Wave &w, const OperandCache::Known &known);
  void leave(Wave &w);
  /// When all results are where they belong.
  void settle(Wave &w, const Inst *inst, const OperandCache::Known &known);

private:
  const Inst *stop(Wave &w, const Inst *inst, Reg reg, bool written) const;
  bool checkGivenBack(Wave &w, const Inst *inst, const ResourcePlan &plan) const;
  bool checkIndexed(Wave &w, const Inst *inst);
  bool checkRelative(Wave &w, const Inst *inst, const Operands &operands);
  uint32_t &special(Wave &w, unsigned n) const { return w.s[PhysicalRegisters::kFirstSpecial + n]; }
  uint32_t &numbered(Wave &w, unsigned n) const { return w.s[*machine_.registers.alias + n]; }

  const StrictMachine &machine_;
  Garbage garbage_;
  bool vccz_ = false;
  uint32_t last_[PhysicalRegisters::kSpecials] = {}; ///< what the shared registers held
  uint64_t lastVcc_ = 0;                             ///< before the instruction
  bool replaced_ = false;
  bool givenBack_ = false; ///< the wave has sent MSG_DEALLOC_VGPRS
  uint64_t xnackWrites_ = 0, staleBranches_ = 0;
  std::vector<RegisterUse> placed_;
};

} // namespace luthier::vgpu
