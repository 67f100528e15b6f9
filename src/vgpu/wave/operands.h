// What a decoded instruction touches: registers read and written, and memory.
//
// Handlers access registers directly, so nothing in the interpreter knows this; observers (observer.h) do need it. It
// comes from the isa layer's decoder, and is compared with what the engine knows by itself (footprint.h): an observer
// stops the dispatch where the two disagree. tests/vgpu/wave/operands_test.cc compares it with what handlers really do.
#pragma once

#include "luthier/instr.h"
#include "vgpu/state/wave.h"
#include "vgpu/wave/counters.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/physical_registers.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace luthier::vgpu {

struct RegisterUse {
  RegRange regs;
  bool read = false;
  bool write = false;
  bool implicit = false; ///< not an operand
};

struct Operands {
  std::string text; ///< as assembly
  std::string_view mnemonic;
  std::vector<RegisterUse> registers; ///< all but MODE
  std::string disagreement;           ///< between the isa layer and the engine about these; empty: none
  MemorySpace space = MemorySpace::None;
  std::optional<MemoryAccess> memory;
  CounterSet counters = 0; ///< that it goes through
  bool waits = false;      ///< for operations in flight, as `limits` says
  WaitLimits limits;
  bool crossLane = false; ///< reads or writes vector registers of lanes that EXEC has off, or of other lanes
};

/// Operands of `inst`, whose code must still be where it was decoded from.
Operands operandsOf(const Wave &w, const Inst *inst);

/// The registers as they are now: indexed ones (s_set_gpr_idx_on, s_movrels) moved by their index. `storage` may be
/// used for them.
std::span<const RegisterUse> placed(const Wave &w, const Inst *inst, const Operands &operands,
                                    std::vector<RegisterUse> &storage);

/// Where a wave keeps a vector or accumulator register.
constexpr unsigned vectorIndex(Reg reg) {
  return isAccumulator(reg) ? kAccBase + number(reg) - number(Reg::A0) : number(reg) - number(Reg::V0);
}

/// Where it keeps a scalar one.
inline unsigned scalarIndex(const Wave &w, Reg reg) {
  return reg == Reg::FlatScratchLo || reg == Reg::FlatScratchHi ? w.flatScratch + (reg == Reg::FlatScratchHi)
                                                                : number(reg);
}

/// Effective addresses of an instruction that is about to be executed: one per lane (inactive lanes: undefined), or a
/// single one for scalar memory. LDS and scratch addresses are offsets; the others are the GPU's addresses.
/// `second` is for instructions that access two places per lane (ds_read2_b32).
struct Addresses {
  std::vector<uint64_t> first, second;
};
Addresses addressesOf(const Wave &w, const Operands &operands);
/// The same into memory that is used again and again.
void addressesOf(const Wave &w, const Operands &operands, Addresses &to);
/// The same without memory of its own: `to` has room for kMaxLanes. `second`: of the second place.
void laneAddresses(const Wave &w, const Operands &operands, bool second, uint64_t *to);

/// A word of a set of registers.
constexpr uint64_t wordOf(const RegSet &set, unsigned n) {
  return std::bit_cast<std::array<uint64_t, RegSet::kWords>>(set)[n];
}

/// Operands of all instructions that a dispatch has executed, for all its waves.
class OperandCache {
public:
  struct Known : Operands {
    const Inst *inst = nullptr;
    /// It has nothing to do with memory, messages and waits, and its registers are those that it names: whoever waits
    /// for something to happen to certain registers can ask `names` and look away.
    bool isPlain = false;
    struct Word {
      uint8_t number = 0;
      uint64_t registers = 0;
    };
    std::vector<Word> words; ///< of the set of its registers, those that have any
    bool names(const RegSet &set) const {
      uint64_t common = 0;
      for (const Word &word : words)
        common |= wordOf(set, word.number) & word.registers;
      return common != 0;
    }
    ResourcePlan resources;                                ///< where `physical` is set
    mutable std::atomic<const Known *> follower = nullptr; ///< what some wave executed behind this one
  };

  const Known &of(const Wave &w, const Inst *inst);
  /// The same for a wave that has just executed `last` (null: nothing yet). Waves mostly go the way of others, so that
  /// the map is rarely asked.
  const Known &of(const Wave &w, const Inst *inst, const Known *last);
  /// The same for whoever asks for every instruction: a table by the record's place in its chunk. It stays where it is.
  using Table = std::vector<std::atomic<const Known *>>;
  Table &tableOf(const CodeChunk &chunk);

  /// Set before the first question where resources are strict (strict_resources.h).
  const PhysicalRegisters *physical = nullptr;

  /// Whether it is known to have nothing to do with memory, messages and waits: true of most instructions.
  bool isPlain(const Inst &inst) const { return plain_[inst.opcode].load(std::memory_order_relaxed); }

private:
  std::array<std::atomic<bool>, Decoder::kMaxOpcodes> plain_ = {};
  std::shared_mutex mutex_;
  std::unordered_map<const Inst *, std::unique_ptr<Known>> known_;
  std::unordered_map<const CodeChunk *, std::unique_ptr<Table>> tables_;
};

} // namespace luthier::vgpu
