#include "vgpu/wave/checked_code.h"

#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/observer.h"
#include "vgpu/wave/wave_checks.h"

#include <algorithm>

namespace luthier::vgpu {

namespace {

const Inst *checkedStep(Wave &w, const Inst *i) {
  const CheckedInst &inst = checkedInst(i);
  WaveChecks *const checks = w.observer ? w.observer->checks() : nullptr;
  if (!checks)
    return inst.original(w, i);
  checks->before(w, i, inst);
  const Inst *next = inst.original(w, i);
  checks->after(w, i, inst);
  return next;
}

bool invalidates(std::string_view name) {
  return name.starts_with("buffer_wbinvl1") || name == "buffer_gl0_inv" || name == "buffer_inv" || name == "global_inv";
}

CheckedInst::Role roleOf(const Instr &instr, const Operands &o) {
  using Role = CheckedInst::Role;
  if (o.waits)
    return Role::Wait;
  if (o.mnemonic == "s_barrier")
    return Role::Barrier;
  if (o.mnemonic == "s_barrier_wait")
    return Role::BarrierWait;
  if (o.mnemonic.starts_with("s_barrier_signal"))
    return Role::BarrierSignal;
  if (o.mnemonic == "ds_gws_barrier")
    return Role::GridBarrier;
  if (invalidates(o.mnemonic))
    return Role::Invalidate;
  const bool accesses = instr.is(Property::Load) || instr.is(Property::Store) || instr.is(Property::Atomic);
  return o.memory && accesses && o.space != MemorySpace::None ? Role::Access : Role::Other;
}

} // namespace

void CheckedCode::wrap(Inst &inst, std::span<const uint8_t> code, uint64_t pc, uint32_t lanes, Decoder &decoder,
                       const isa::Target &target) {
  if (!inst.row || !inst.fn)
    return;
  const auto sequence = decoder.instruction(code, pc);
  if (!sequence || sequence->instrs().empty())
    return;
  const Instr &instr = sequence->instrs().front();
  Operands operands;
  operands.mnemonic = instr.mnemonic();
  operands.space = instr.memorySpace();
  operands.memory = instr.memory();
  operands.counters = countersOf(instr, target);
  operands.waits = instr.is(Property::Wait);
  if (operands.waits)
    operands.limits = limitsOf(instr, target);
  const CheckedInst::Role role = roleOf(instr, operands);
  if (role == CheckedInst::Role::Other && !operands.counters)
    return;
  std::lock_guard lock(mutex_);
  CheckedInst &made = all_.emplace_back(*inst.row);
  made.original = single(inst);
  made.number = static_cast<uint32_t>(all_.size());
  made.pc = pc;
  made.lanes = lanes;
  made.words = inst.words;
  made.role = role;
  if (operands.memory) {
    made.atomic = operands.memory->atomic;
    made.reads = operands.memory->load || made.atomic;
    made.writes = operands.memory->store || made.atomic;
    made.returns = made.atomic && operands.memory->load;
    made.bytes = operands.memory->bytes;
    made.beyondUnit = operands.space != MemorySpace::Lds && (inst.flags & kGlc);
  }
  made.operands = std::move(operands);
  inst.row = &made;
  inst.fn = checkedStep;
  inst.threaded = false;
}

const CheckedInst *CheckedCode::find(uint32_t number) const {
  std::lock_guard lock(mutex_);
  return number && number <= all_.size() ? &all_[number - 1] : nullptr;
}

namespace {

/// A loop of this many instructions is none that only waits.
constexpr unsigned kLongestPoll = 48;

/// v_mov_b32 of a constant and its like: the same in every turn.
bool isConstant(const Instr &instr) {
  return instr.is(Property::Vector) && std::ranges::all_of(instr.reads(), [](RegRange regs) {
           return regs.first == Reg::ExecLo || regs.first == Reg::Mode;
         });
}

bool overlaps(RegRange a, RegRange b) {
  return !a.empty() && !b.empty() && number(a.first) < number(b.first) + b.count &&
         number(b.first) < number(a.first) + a.count;
}

/// The instructions from `begin` on, until `each` has seen enough. False when there is something else before that.
template <class Each> bool walk(const Wave &w, uint64_t begin, Decoder &decoder, Each each) {
  constexpr uint64_t kMostBytes = 16;
  uint64_t pc = begin;
  for (unsigned n = 0; n < 2 * kLongestPoll; ++n) {
    uint64_t readable = 0;
    while (readable < kMostBytes && w.memory->mapped(pc + readable, 4, w.deviceMask))
      readable += 4;
    const auto sequence =
        decoder.instruction({reinterpret_cast<const uint8_t *>(pc), static_cast<size_t>(readable)}, pc);
    if (!sequence || sequence->instrs().empty())
      return false;
    const Instr &instr = sequence->instrs().front();
    if (!each(instr))
      return true;
    pc += instr.size();
  }
  return false;
}

/// A load whose address nothing in the loop changes would have been taken out of it if its value could not change:
/// whoever wrote it waits for somebody.
bool isPoll(const Wave &w, const CheckedInst &inst) {
  const auto &memory = inst.operands.memory;
  if (!memory || inst.writes || inst.bytes > 8)
    return false;
  Decoder &decoder = w.device->code(w.lanes).decoder();
  uint64_t begin = 0, end = 0;
  unsigned behind = 0;
  bool compared = false;
  walk(w, inst.pc, decoder, [&](const Instr &instr) {
    const auto target = instr.target();
    if (instr.is(Property::Atomic) && instr.mnemonic().find("cmp") != std::string_view::npos)
      if (const auto other = instr.memory();
          other && other->vaddr == memory->vaddr && other->saddr == memory->saddr && other->offset == memory->offset) {
        compared = true;
        return false;
      }
    if (instr.is(Property::Branch) && target && *target <= inst.pc && inst.pc - *target < kLongestPoll * 8) {
      begin = *target;
      end = instr.address();
      return false;
    }
    return ++behind < kLongestPoll && !instr.is(Property::EndProgram);
  });
  if (compared || !end)
    return compared;
  bool only = true;
  const bool whole = walk(w, begin, decoder, [&](const Instr &instr) {
    if (instr.address() > end)
      return false;
    only &= !instr.is(Property::Store) && !instr.is(Property::Barrier);
    for (const RegRange written : instr.writes())
      for (const RegRange address : {memory->vaddr, memory->saddr})
        only &= !overlaps(written, address) || isConstant(instr) || instr.address() == inst.pc;
    return only;
  });
  // Its own result in the place of its address: the next turn reads elsewhere.
  return whole && only && !overlaps(memory->result, memory->vaddr);
}

} // namespace

bool polls(const Wave &w, const CheckedInst &inst) {
  if (const uint8_t known = inst.polls.load(std::memory_order_relaxed))
    return known == 1;
  const bool does = isPoll(w, inst);
  inst.polls.store(does ? 1 : 2, std::memory_order_relaxed);
  return does;
}

} // namespace luthier::vgpu
