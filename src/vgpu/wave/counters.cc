#include "vgpu/wave/counters.h"

#include <algorithm>
#include <string_view>

namespace luthier::vgpu {

namespace {

/// Invalidating a cache is not waited for before gfx12, writing it back is.
bool isUncounted(std::string_view name) {
  static constexpr std::string_view kStarts[] = {"buffer_wbinv",   "buffer_inv",  "buffer_gl0_inv",
                                                 "buffer_gl1_inv", "s_prefetch_", "s_buffer_prefetch_"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return name.starts_with(start); });
}

bool isDirectLoad(std::string_view name) { return name.starts_with("lds_") || name.starts_with("ds_direct_load"); }

/// Waits whose immediate is a count, and where two of them have the second.
struct WaitRow {
  std::string_view mnemonic;
  Counter counter;
  uint8_t bits;
  uint8_t shift = 0; ///< of two counts: the other one is DScnt, in the low bits
};
constexpr WaitRow kWaitRows[] = {
    // gfx10 and gfx11
    {"s_waitcnt_vscnt", Counter::Store, 6},
    {"s_waitcnt_vmcnt", Counter::Vector, 6},
    {"s_waitcnt_expcnt", Counter::Export, 3},
    {"s_waitcnt_lgkmcnt", Counter::Scalar, 6},
    // gfx12. Nothing counts in SAMPLEcnt and BVHcnt: images are not executed.
    {"s_wait_loadcnt", Counter::Vector, 6},
    {"s_wait_storecnt", Counter::Store, 6},
    {"s_wait_expcnt", Counter::Export, 3},
    {"s_wait_dscnt", Counter::Lds, 6},
    {"s_wait_kmcnt", Counter::Scalar, 5},
    {"s_wait_loadcnt_dscnt", Counter::Vector, 6, 8},
    {"s_wait_storecnt_dscnt", Counter::Store, 6, 8},
};

} // namespace

bool isDoneInOrder(MemorySpace space, const isa::Target &target) {
  switch (space) {
  case MemorySpace::Global:
  case MemorySpace::Scratch:
  case MemorySpace::Buffer:
  case MemorySpace::Lds:
    return true;
  case MemorySpace::Flat:
    return target.flatInOrder;
  default:
    return false;
  }
}

CounterSet countersOf(const Instr &instr, const isa::Target &target) {
  const std::string_view name = instr.mnemonic();
  if (isUncounted(name))
    return 0;
  // Loads return something, and so do those of a cache's state; all else is a store, or writes caches back.
  const bool returns = instr.is(Property::Load) || name == "global_inv";
  const CounterSet vector = setOf(target.storeCounter && !returns ? Counter::Store : Counter::Vector);
  const CounterSet lds = setOf(target.splitCounters ? Counter::Lds : Counter::Scalar);
  switch (instr.memorySpace()) {
  case MemorySpace::Global:
  case MemorySpace::Scratch:
  case MemorySpace::Buffer:
  case MemorySpace::Image:
    return vector;
  case MemorySpace::Flat:
    return vector | lds;
  case MemorySpace::Lds:
    return isDirectLoad(name) ? setOf(Counter::Export) : lds;
  case MemorySpace::Gds:
  case MemorySpace::Scalar:
    return setOf(Counter::Scalar);
  case MemorySpace::None:
    break;
  }
  return instr.is(Property::Message) || name == "s_get_barrier_state" ? setOf(Counter::Scalar) : 0;
}

WaitLimits limitsOf(const Instr &instr, const isa::Target &target) {
  WaitLimits limits;
  const std::string_view name = instr.mnemonic();
  const auto limit = [&](Counter counter) -> uint16_t & { return limits.most[static_cast<unsigned>(counter)]; };
  if (name == "s_wait_idle") {
    limits.most.fill(0);
    return limits;
  }
  uint32_t value = 0;
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Register)
      limits.addend = operand.regs.first;
    else
      value = static_cast<uint32_t>(operand.value);
  // Where counters are split, nobody says which of them s_waitcnt means.
  if (name == "s_waitcnt" && !target.splitCounters && target.waitFields) {
    limit(Counter::Vector) = static_cast<uint16_t>(target.waitFields->vm.get(value));
    limit(Counter::Export) = static_cast<uint16_t>(target.waitFields->exp.get(value));
    limit(Counter::Scalar) = static_cast<uint16_t>(target.waitFields->lgkm.get(value));
  }
  for (const WaitRow &row : kWaitRows)
    if (name == row.mnemonic) {
      limit(row.counter) = static_cast<uint16_t>(value >> row.shift & ((1u << row.bits) - 1));
      if (row.shift)
        limit(Counter::Lds) = static_cast<uint16_t>(value & 0x3f);
    }
  return limits;
}

} // namespace luthier::vgpu
