// Values that nobody has written, followed through a wave until one decides something (`luthier check init`).
//
// Reading such a value is no mistake: compilers copy padding, load more than they need and compute in lanes whose
// results they drop. So loads, stores and arithmetic only pass on what is undefined, and what is reported is its use
//
//   as an address of memory, or as a jump's
//   in EXEC, VCC or SCC where that decides which way a branch goes, or which lanes go on
//   by an atomic, as its operand or as what it finds in memory (a counter that was never set to 0)
//   and, where asked for, in a store to memory that the host sees.
//
// What is reported counts as defined from there on, so that one mistake is one finding.
//
// Memory, LDS and scratch have a bit per byte (memory/undefined_memory.h); vector registers a mask of lanes for each of
// their four bytes, scalar registers a bit per bit, since many of them are masks of lanes. Most instructions read
// nothing that is undefined, and cost a look at which registers they name (OperandCache::Known::names). What others
// make of their operands is not written down here a second time: the instruction is executed again with other values in
// the place of the undefined ones, and what then differs in its results depends on them. That follows every permutation
// of lanes, select, mask, shift and matrix to the byte, and it errs on the side of silence: a result that happens to be
// the same is taken for defined. Only comparisons, which are the same for nearly all values, are undefined as soon as
// one of their operands is.
#pragma once

#include "vgpu/memory/undefined_memory.h"
#include "vgpu/wave/operands.h"

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace luthier::vgpu {

/// Where an undefined value came from.
struct Origin {
  enum class Kind : uint8_t { Register, Memory, Lds, Scratch };
  Kind kind = Kind::Register;
  Reg reg = Reg::S0;    ///< Register: that nobody has written
  uint64_t address = 0; ///< else: of the first undefined byte; in LDS and scratch an offset
  uint64_t pc = 0;      ///< of the load that read it
  std::string load;     ///< as assembly
};

/// One instruction's use of a value that nobody has written.
struct UndefinedUse {
  enum class Kind : uint8_t { Address, Branch, Atomic, AtomicMemory, Store };
  Kind kind = Kind::Address;
  std::string what;          ///< that holds it: "v5", "exec"
  uint64_t lanes = 0;        ///< 0: of scalar registers
  bool hasAddresses = false; ///< `addresses` are valid, of these lanes
  std::array<uint64_t, kMaxLanes> addresses{};
  Origin origin;
};

/// Where undefined values come from: few places, and a number for each. 0 is none.
class Origins {
public:
  using Number = uint32_t;
  static Number ofRegister(Reg reg) { return 1 + number(reg); }
  Number ofLoad(Origin origin);
  Origin at(Number number) const;

private:
  static constexpr Number kFirstLoad = 1 + number(Reg::End);
  mutable std::mutex mutex_;
  std::vector<Origin> loads_;
};

/// The check, of all GPUs of a process.
struct InitCheck {
  UndefinedMemory memory;
  Origins origins;
  bool stores = false; ///< report stores to memory that the host sees, too
  /// Called on the thread that runs the wave. Set once, before anything runs.
  std::function<void(const Wave &wave, const Inst *inst, const UndefinedUse &use)> onFinding;
  /// Whether the host can read what is at this address.
  std::function<bool(uint64_t address)> hostSees;
};

/// What is undefined of the registers of one wave, and of its scratch memory.
class WaveInit {
public:
  /// `lds`: the workgroup's.
  WaveInit(InitCheck &check, UndefinedBytes &lds) : check_(check), lds_(lds) {}

  void start(const Wave &w);
  /// Registers of which anything is undefined. Instructions that name none of these, that access no memory, need not be
  /// shown.
  const RegSet &undefined() const { return undefined_; }
  void before(Wave &w, const Inst *inst, const OperandCache::Known &known);
  void after(Wave &w, const Inst *inst, const OperandCache::Known &known);

private:
  struct Lanes {
    uint64_t bytes[4]; ///< lanes whose byte n is undefined
    uint64_t any() const { return bytes[0] | bytes[1] | bytes[2] | bytes[3]; }
  };
  /// What an instruction leaves in its results when its undefined operands are something else.
  struct Alternative {
    std::vector<uint32_t> vectors; ///< rows of results, in the order of `results_`
    std::array<uint32_t, kScalars> s;
    uint32_t scc = 0;
  };

  // Registers (init_check.cc).
  uint64_t lanesOf(RegRange regs) const;
  uint32_t bitsOf(const Wave &w, Reg reg) const;
  bool isUndefined(const Wave &w, const RegisterUse &use, uint64_t lanes) const;
  void defineVector(Reg reg, uint64_t lanes);
  void defineScalar(const Wave &w, Reg reg);
  void define(const Wave &w, RegRange regs, uint64_t lanes);
  void setVector(Reg reg, uint64_t lanes, const Lanes &undefined, Origins::Number origin);
  void setScalar(const Wave &w, Reg reg, uint32_t bits, Origins::Number origin);
  void setScc(bool undefined, Origins::Number origin);
  /// Of vector registers: what is undefined in these lanes.
  Origins::Number originOf(const Wave &w, RegRange regs, uint64_t lanes = 0) const;

  // Instructions that are no access to memory (init_check.cc).
  void compare(Wave &w, const Inst *inst, const OperandCache::Known &known);
  uint64_t comparedLanes(const Wave &w, const Inst *inst, unsigned source) const;
  void branch(Wave &w, const Inst *inst, const OperandCache::Known &known);
  void execute(Wave &w, const Inst *inst, uint32_t pattern, Alternative &to);
  void tryAlternatives(Wave &w, const Inst *inst);
  void settleVectors(Wave &w, const Inst *inst, const OperandCache::Known &known);
  void settleScalars(Wave &w, const Inst *inst);
  void decided(const Wave &w, const Inst *inst, std::string what, uint64_t lanes, Origins::Number origin) const;

  // Memory (init_memory.cc).
  enum class Place : uint8_t { None, Memory, Lds, Scratch };
  struct Access {
    uint64_t lanes = 0;        ///< that access memory
    Place place = Place::None; ///< of all of them
    alignas(64) std::array<uint64_t, kMaxLanes> at{};
  };
  void memory(Wave &w, const Inst *inst, const OperandCache::Known &known);
  void scalarMemory(Wave &w, const Inst *inst, const OperandCache::Known &known);
  void checkAddress(Wave &w, const Inst *inst, const OperandCache::Known &known);
  bool locate(const Wave &w, const Operands &operands, bool second);
  void sortByPlace(const Wave &w, const Operands &operands);
  bool anyUndefined(const Access &access, unsigned bytes) const;
  uint64_t bytesAt(const Access &access, unsigned lane, unsigned bytes) const;
  void setBytes(const Access &access, unsigned lane, unsigned bytes, uint64_t undefined, Origins::Number origin);
  Origins::Number originAt(const Access &access, uint64_t at) const;
  void defineAll(const Wave &w, const Access &access, unsigned bytes);
  void load(const Wave &w, const Inst *inst, const Operands &operands, RegRange result, const Access &access);
  void store(Wave &w, const Inst *inst, const Operands &operands, RegRange data, const Access &access);
  void atomic(Wave &w, const Inst *inst, const Operands &operands, const Access &access);
  void loadToLds(const Wave &w, const Operands &operands, const Access &access);
  Origins::Number originOfLoad(const Wave &w, const Inst *inst, const Operands &operands, Place place, uint64_t at);

  InitCheck &check_;
  UndefinedBytes &lds_, scratch_;
  uint32_t scratchPerLane_ = 0;
  RegSet undefined_;
  std::array<Lanes, 2 * kAccBase> v_; ///< valid where `undefined_` has the register
  std::array<uint32_t, kScalars> s_;
  bool scc_ = false;
  std::array<Origins::Number, 2 * kAccBase> vectorOrigin_;
  std::array<Origins::Number, kScalars> scalarOrigin_;
  Origins::Number sccOrigin_ = 0;

  // The instruction being executed.
  bool tried_ = false; ///< `alternatives_` are its
  unsigned tries_ = 0;
  Origins::Number origin_ = 0; ///< of the first undefined operand
  std::array<Alternative, 4> alternatives_;
  std::vector<RegisterUse> placed_;
  std::vector<RegisterUse> uses_; ///< of registers, as they are now
  std::vector<RegRange> results_; ///< vector registers
  std::vector<uint32_t> saved_;
  std::vector<Access> accesses_;
  struct RecentLoad {
    const Inst *inst = nullptr;
    Origins::Number number = 0;
  } recentLoad_;
};

} // namespace luthier::vgpu
