#include "vgpu/wave/waits.h"

#include "vgpu/exec/row.h"

#include <fmt/format.h>

#include <algorithm>

namespace luthier::vgpu {

namespace {

/// The most that VM_CNT can say; LGKM_CNT ends before.
constexpr size_t kLongestCount = 63;

bool countsVector(const Operands &o) {
  switch (o.space) {
  case MemorySpace::Global:
  case MemorySpace::Scratch:
  case MemorySpace::Flat:
    return true;
  case MemorySpace::Buffer: // invalidating a cache is not waited for, writing it back is
    return !o.mnemonic.starts_with("buffer_wbinv") && !o.mnemonic.starts_with("buffer_inv");
  default:
    return false;
  }
}

bool countsOther(const Operands &o) {
  switch (o.space) {
  case MemorySpace::Scalar:
  case MemorySpace::Lds:
  case MemorySpace::Gds:
  case MemorySpace::Flat:
    return true;
  default:
    return o.message;
  }
}

/// Whether results of `later` arrive after those of an operation of `earlier` by themselves.
bool inOrder(MemorySpace earlier, MemorySpace later) {
  const auto vector = [](MemorySpace space) {
    return space == MemorySpace::Global || space == MemorySpace::Scratch || space == MemorySpace::Buffer;
  };
  return (vector(earlier) && vector(later)) || (earlier == MemorySpace::Lds && later == MemorySpace::Lds);
}

bool isAnyVector(Reg reg) { return isVector(reg) || isAccumulator(reg); }

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
      w.v[vectorIndex(part.regs.first) + n][lane] = part.values[size_t{n} * kMaxLanes + lane];
    }
}

void WaitChecker::land(Wave &w, const Pending &pending) {
  for (const Part &part : pending.parts)
    load(w, part, pending.lanes);
}

void WaitChecker::landUntil(Wave &w, Queue &queue, size_t left, bool ordered) {
  if (left != 0 && !ordered)
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
  for (const Queue *each : {&vector_, &other_})
    for (const Pending &pending : *each)
      for (const Part &part : pending.parts)
        awaited_.insert(part.regs);
}

/// Kernels may never wait for their stores: those that so many younger operations stand behind are forgotten.
void WaitChecker::push(Queue &queue, uint64_t lanes) {
  const auto isForgettable = [](const Pending &p) {
    return p.parts.empty() && inOrder(p.operation->space, p.operation->space);
  };
  while (queue.size() >= kLongestCount && isForgettable(queue.front()))
    queue.pop_front();
  issued_.lanes = lanes;
  for (const Part &part : issued_.parts)
    awaited_.insert(part.regs);
  queue.push_back(issued_);
}

bool WaitChecker::check(Wave &w, const Inst *inst, const Operands &o, const RegisterUse &use, uint64_t lanes) const {
  for (const Queue *queue : {&vector_, &other_})
    for (const Pending &pending : *queue) {
      Reg reg;
      if (!touches(pending, use.regs, lanes, reg) || (!use.read && inOrder(pending.operation->space, o.space)))
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
  const bool counted = o.space != MemorySpace::None || o.message;
  if (!counted && idle())
    return true;
  const uint64_t lanes = o.crossLane ? w.allLanes() : w.exec();
  saved_.clear();
  for (const RegisterUse &use : placed(w, inst, o, placed_)) {
    if (use.regs.first == Reg::Scc)
      continue;
    if (awaited_.containsAny(use.regs) && !check(w, inst, o, use, lanes))
      return false;
    if (use.write && o.space != MemorySpace::None)
      saved_.push_back(save(w, use.regs));
  }
  if (!counted)
    return true;
  issued_ = {&o, w.pc(inst), w.exec(), {}};
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
    const auto simm = static_cast<uint32_t>(inst->imm);
    const auto is = [](MemorySpace space) { return [space](const Pending &p) { return p.operation->space == space; }; };
    landUntil(w, vector_, (simm & 0xf) | (simm >> 14 & 3) << 4, std::ranges::none_of(vector_, is(MemorySpace::Flat)));
    landUntil(w, other_, simm >> 8 & 0xf, std::ranges::all_of(other_, is(MemorySpace::Lds)));
    return;
  }
  if (!countsVector(o) && !countsOther(o))
    return;
  for (const Part &old : saved_) {
    issued_.parts.push_back(save(w, old.regs));
    load(w, old, ~0ull);
  }
  saved_.clear();
  const uint64_t active = issued_.lanes;
  if (countsVector(o))
    push(vector_, active & ~ldsLanes_);
  if (countsOther(o))
    push(other_, o.space == MemorySpace::Flat ? active & ldsLanes_ : active);
}

} // namespace luthier::vgpu
