#include "vgpu/wave/waits.h"

#include "vgpu/exec/row.h"
#include "vgpu/wave/device.h"

#include <fmt/format.h>

#include <algorithm>

namespace luthier::vgpu {

namespace {

/// The most that a counter can say.
constexpr size_t kLongestCount = 63;

/// Whether results of `later` arrive after those of an operation of `earlier` by themselves.
bool writeInOrder(MemorySpace earlier, MemorySpace later, const isa::Target &target) {
  const auto vector = [](MemorySpace space) {
    return space == MemorySpace::Global || space == MemorySpace::Scratch || space == MemorySpace::Buffer;
  };
  return (vector(earlier) && vector(later) && target.loadsWriteInOrder) ||
         (earlier == MemorySpace::Lds && later == MemorySpace::Lds);
}

bool isAnyVector(Reg reg) { return isVector(reg) || isAccumulator(reg); }

/// Bits of its result that a load brings. Loads of 16 bits leave the other half of their register to whoever wrote it,
/// or is still to do so: they arrive in order.
uint32_t loadedBits(const Inst *inst, const Operands &o) {
  if (!(inst->flags & kLoadKeepsHalf) || !inst->row || !o.memory || !o.memory->load || o.memory->atomic)
    return ~0u;
  const std::string_view name = inst->row->mnemonic;
  return name.ends_with("_d16_hi") || name.ends_with("_d16_hi_x")    ? 0xffff0000
         : name.ends_with("_d16") || name.ends_with("_format_d16_x") ? 0x0000ffff
                                                                     : ~0u;
}

} // namespace

bool WaitChecker::touches(const Pending &pending, RegRange regs, uint64_t lanes, Reg &reg) {
  for (const Part &part : pending.parts) {
    if (number(regs.first) >= number(part.regs.first) + part.regs.count ||
        number(part.regs.first) >= number(regs.first) + regs.count)
      continue;
    if (isAnyVector(regs.first) && !(lanes & pending.lanes))
      continue;
    reg = std::max(regs.first, part.regs.first);
    return true;
  }
  return false;
}

WaitChecker::Part WaitChecker::save(const Wave &w, RegRange regs) {
  Part part{regs, {}};
  if (isAnyVector(regs.first)) {
    const uint32_t *first = &w.v[vectorIndex(regs.first)][0];
    part.values.assign(first, first + size_t{regs.count} * kMaxLanes);
  } else {
    part.values.assign(&w.s[number(regs.first)], &w.s[number(regs.first)] + regs.count);
  }
  return part;
}

void WaitChecker::load(Wave &w, const Part &part, uint64_t lanes) {
  if (!isAnyVector(part.regs.first)) {
    std::ranges::copy(part.values, &w.s[number(part.regs.first)]);
    return;
  }
  for (unsigned n = 0; n < part.regs.count; ++n)
    for (uint64_t m = lanes; m; m &= m - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
      uint32_t &value = w.v[vectorIndex(part.regs.first) + n][lane];
      value = (value & ~part.bits) | (part.values[size_t{n} * kMaxLanes + lane] & part.bits);
    }
}

void WaitChecker::land(Wave &w, const Pending &pending) {
  for (const Part &part : pending.parts)
    load(w, part, pending.lanes);
}

void WaitChecker::landUntil(Wave &w, Queue &queue, size_t left) {
  if (left != 0 && !std::ranges::all_of(queue, &Pending::ordered))
    return;
  bool landed = false;
  while (queue.size() > left) {
    land(w, queue.front());
    landed |= !queue.front().parts.empty();
    queue.pop_front();
  }
  if (!landed)
    return;
  awaited_ = {};
  for (const Queue &each : queues_)
    for (const Pending &pending : each)
      for (const Part &part : pending.parts)
        awaited_.insert(part.regs);
}

/// Kernels may never wait for their stores: those that so many younger operations stand behind are forgotten.
void WaitChecker::push(Queue &queue, uint64_t lanes, bool ordered) {
  const auto isForgettable = [](const Pending &p) { return p.parts.empty() && p.ordered; };
  while (queue.size() >= kLongestCount && isForgettable(queue.front()))
    queue.pop_front();
  issued_.lanes = lanes;
  issued_.ordered = ordered;
  for (const Part &part : issued_.parts)
    awaited_.insert(part.regs);
  queue.push_back(issued_);
}

bool WaitChecker::check(Wave &w, const Inst *inst, const Operands &o, const RegisterUse &use, uint64_t lanes) const {
  for (const Queue &queue : queues_)
    for (const Pending &pending : queue) {
      Reg reg;
      if (!touches(pending, use.regs, lanes, reg) ||
          (!use.read && writeInOrder(pending.operation->space, o.space, w.device->target())))
        continue;
      w.earlyAccess(inst,
                    fmt::format("{} is {} before a wait covers the operation that loads it\n"
                                "  in flight   {}\n  issued at   {:#x}",
                                toString(reg), use.read ? "read" : "overwritten", pending.operation->text, pending.pc));
      return false;
    }
  return true;
}

bool WaitChecker::before(Wave &w, const Inst *inst, const Operands &o) {
  if (!o.counters && idle())
    return true;
  const uint64_t lanes = o.crossLane ? w.allLanes() : w.exec();
  const uint32_t bits = o.memory ? loadedBits(inst, o) : ~0u;
  saved_.clear();
  for (RegisterUse use : placed(w, inst, o, placed_)) {
    if (use.regs.first == Reg::Scc)
      continue;
    // What stays of a result is not read: it comes together in the register.
    if (bits != ~0u && use.regs == o.memory->result && use.regs != o.memory->vaddr)
      use.read = false;
    if (awaited_.containsAny(use.regs) && !check(w, inst, o, use, lanes))
      return false;
    if (use.write && o.counters)
      saved_.push_back(save(w, use.regs));
  }
  if (!o.counters)
    return true;
  issued_ = {&o, w.pc(inst), w.exec(), false, {}};
  ldsLanes_ = 0;
  if (o.space == MemorySpace::Flat) {
    const Addresses addresses = addressesOf(w, o);
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      ldsLanes_ |= static_cast<uint64_t>(addresses.first[lane] >> 32 == w.sharedAperture >> 32) << lane;
  }
  return true;
}

void WaitChecker::after(Wave &w, const Inst *inst, const Operands &o) {
  if (o.waits) {
    const uint32_t addend = o.limits.addend == Reg::Null ? 0 : w.s[number(o.limits.addend)] & kLongestCount;
    for (unsigned n = 0; n < kCounters; ++n)
      if (o.limits.most[n] != WaitLimits::kAny)
        landUntil(w, queues_[n], o.limits.most[n] + addend);
    return;
  }
  if (!o.counters)
    return;
  for (const Part &old : saved_) {
    issued_.parts.push_back(save(w, old.regs));
    if (o.memory && old.regs == o.memory->result)
      issued_.parts.back().bits = loadedBits(inst, o);
    load(w, old, ~0ull);
  }
  saved_.clear();
  const uint64_t active = issued_.lanes;
  const bool ordered = isDoneInOrder(o.space, w.device->target());
  for (unsigned n = 0; n < kCounters; ++n) {
    const auto counter = static_cast<Counter>(n);
    if (!contains(o.counters, counter))
      continue;
    const bool vector = counter == Counter::Vector || counter == Counter::Store;
    push(queues_[n],
         o.space != MemorySpace::Flat ? active
         : vector                     ? active & ~ldsLanes_
                                      : active & ldsLanes_,
         ordered);
  }
}

} // namespace luthier::vgpu
