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

/// What a counter holds at most: the width of its field.
size_t mostIn(Counter counter, const isa::Target &target) {
  constexpr size_t kKmCount = 31, kExportCount = 7;
  if (counter == Counter::Export)
    return kExportCount;
  if (counter == Counter::Scalar && target.splitCounters)
    return kKmCount;
  if (counter == Counter::Scalar && target.waitFields)
    return target.waitFields->lgkm.get(~0u);
  if (counter == Counter::Vector && !target.splitCounters && target.waitFields)
    return target.waitFields->vm.get(~0u);
  return kLongestCount;
}

/// A wait that leaves `left` operations of a counter in flight.
std::string waitText(Counter counter, size_t left, const isa::Target &target) {
  switch (counter) {
  case Counter::Vector:
    return fmt::format("{}{}", target.splitCounters ? "s_wait_loadcnt " : "s_waitcnt vmcnt(",
                       target.splitCounters ? fmt::format("{:#x}", left) : fmt::format("{})", left));
  case Counter::Store:
    return fmt::format("{} {:#x}", target.splitCounters ? "s_wait_storecnt" : "s_waitcnt_vscnt null,", left);
  case Counter::Lds:
    return fmt::format("s_wait_dscnt {:#x}", left);
  case Counter::Scalar:
    return target.splitCounters ? fmt::format("s_wait_kmcnt {:#x}", left) : fmt::format("s_waitcnt lgkmcnt({})", left);
  case Counter::Export:
    return target.splitCounters ? fmt::format("s_wait_expcnt {:#x}", left) : fmt::format("s_waitcnt expcnt({})", left);
  }
  return {};
}

/// Bits of M0 that say where a load straight to LDS begins (exec/vmem.h, exec/flat.cc).
uint32_t ldsBaseBits(std::string_view mnemonic) {
  const bool ofItsOwn = mnemonic.starts_with("global_load_lds_") || mnemonic.starts_with("scratch_load_lds_");
  return ofItsOwn ? 0x3fffc : 0xffff;
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
    if (!part.values.empty())
      load(w, part, pending.lanes);
}

void WaitChecker::landUntil(Wave &w, Queue &queue, size_t left) {
  if (left != 0 && !std::ranges::all_of(queue, &Pending::ordered))
    return;
  bool landed = false;
  while (queue.size() > left) {
    land(w, queue.front());
    landed |= queue.front().returns();
    queue.pop();
  }
  if (landed)
    awaitAnew();
}

void WaitChecker::awaitAnew() {
  awaited_ = {};
  ldsAwaited_ = 0;
  for (const Queue &each : queues_)
    for (const Pending &pending : each) {
      for (const Part &part : pending.parts)
        awaited_.insert(part.regs);
      ldsAwaited_ += pending.lds.has_value();
    }
}

/// Kernels may never wait for their stores: those that so many younger operations stand behind are forgotten.
void WaitChecker::push(const Wave &w, Counter counter, uint64_t lanes, bool ordered) {
  Queue &queue = queues_[static_cast<unsigned>(counter)];
  const auto isForgettable = [](const Pending &p) { return !p.returns() && p.ordered; };
  while (queue.size() >= kLongestCount && isForgettable(queue.front()))
    queue.pop();
  if (const size_t most = mostIn(counter, w.device->target()); check_ && queue.size() >= most)
    landUntil(const_cast<Wave &>(w), queue, most - 1);
  issued_.lanes = lanes;
  issued_.ordered = ordered;
  for (const Part &part : issued_.parts)
    awaited_.insert(part.regs);
  ldsAwaited_ += issued_.lds.has_value();
  queue.push(issued_);
}

/// The weakest wait behind which `pending` has arrived, in the words of the target.
std::string WaitChecker::waitFor(const Pending &pending, const isa::Target &target) const {
  std::string all;
  for (unsigned n = 0; n < kCounters; ++n) {
    const Queue &queue = queues_[n];
    const auto at = std::ranges::find_if(
        queue, [&](const Pending &p) { return p.operation == pending.operation && p.pc == pending.pc && p.returns(); });
    if (at == queue.end())
      continue;
    // The last one of a loop, say, that is still in flight: whoever waits for it has waited for the others.
    auto last = at;
    for (const Pending *p = at; p != queue.end(); ++p)
      if (p->pc == pending.pc && p->returns())
        last = p;
    const size_t left = std::ranges::all_of(queue, &Pending::ordered) ? static_cast<size_t>(queue.end() - last - 1) : 0;
    const std::string wait = waitText(static_cast<Counter>(n), left, target);
    const bool joined = wait.starts_with("s_waitcnt ") && all.starts_with("s_waitcnt ");
    all += all.empty() ? wait : joined ? wait.substr(wait.find(' ')) : " and " + wait;
  }
  return all;
}

bool WaitChecker::report(Wave &w, const Inst *inst, EarlyUse use, const Pending &pending) {
  if (!check_) {
    w.earlyAccess(inst, fmt::format("{} is {} before a wait covers the operation that loads it\n"
                                    "  in flight   {}\n  issued at   {:#x}",
                                    use.what, use.read ? "read" : "overwritten", pending.operation->text, pending.pc));
    return false;
  }
  use.pc = pending.pc;
  use.operation = pending.operation->text;
  use.wait = waitFor(pending, w.device->target());
  check_->onFinding(w, inst, use);
  forgetResults(pending.operation, pending.pc);
  return true;
}

/// It has been reported: from here on, as if the wait were there. It still counts.
void WaitChecker::forgetResults(const Operands *operation, uint64_t pc) {
  for (Queue &queue : queues_)
    for (Pending &pending : queue)
      if (pending.operation == operation && pending.pc == pc) {
        pending.parts.clear();
        pending.lds.reset();
      }
  awaitAnew();
}

bool WaitChecker::check(Wave &w, const Inst *inst, const Operands &o, const RegisterUse &use, uint64_t lanes) {
  for (const Queue &queue : queues_)
    for (const Pending &pending : queue) {
      Reg reg;
      if (!touches(pending, use.regs, lanes, reg) ||
          (!use.read && writeInOrder(pending.operation->space, o.space, w.device->target())))
        continue;
      const EarlyUse early{.what = toString(reg),
                           .read = use.read,
                           .lanes = isAnyVector(reg) ? lanes & pending.lanes : 0,
                           .pc = 0,
                           .operation = {},
                           .wait = {}};
      if (!report(w, inst, early, Pending(pending)))
        return false;
      return check(w, inst, o, use, lanes); // it may be not the only one, and the queues have changed
    }
  return true;
}

/// Accesses to LDS that loads in flight are to write. LDS itself is in order, but these come from vector memory.
bool WaitChecker::checkLds(Wave &w, const Inst *inst, const Operands &o) {
  const bool flat = o.space == MemorySpace::Flat;
  if (!o.memory || (o.space != MemorySpace::Lds && !flat))
    return true;
  const Addresses addresses = addressesOf(w, o);
  for (const Queue &queue : queues_)
    for (const Pending &pending : queue) {
      if (!pending.lds)
        continue;
      uint64_t wrong = 0;
      for (const auto *places : {&addresses.first, &addresses.second})
        for (unsigned lane = 0; lane < places->size(); ++lane) {
          uint64_t at = (*places)[lane];
          if (!(w.exec() >> lane & 1) || (flat && at >> 32 != w.sharedAperture >> 32))
            continue;
          at = static_cast<uint32_t>(at);
          for (unsigned byte = 0; byte < o.memory->bytes; ++byte) {
            const uint64_t distance = at + byte - *pending.lds;
            if (distance < uint64_t{4} * w.lanes && pending.lanes >> (distance / 4) & 1)
              wrong |= 1ull << lane;
          }
        }
      if (!wrong)
        continue;
      const auto lane = static_cast<unsigned>(__builtin_ctzll(wrong));
      const EarlyUse early{.what = fmt::format("LDS at offset {:#x}", static_cast<uint32_t>(addresses.first[lane])),
                           .read = o.memory->load || o.memory->atomic,
                           .lanes = wrong,
                           .pc = 0,
                           .operation = {},
                           .wait = {}};
      return report(w, inst, early, Pending(pending)) && checkLds(w, inst, o);
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
      saved_.push_back(check_ ? Part{use.regs, {}} : save(w, use.regs));
  }
  if (!o.counters)
    return true;
  if (ldsAwaited_ && !checkLds(w, inst, o))
    return false;
  issued_ = {&o, w.pc(inst), w.exec(), false, {}, {}};
  if (o.memory && o.memory->toLds)
    issued_.lds = static_cast<uint32_t>((w.s[kM0] & ldsBaseBits(o.mnemonic)) + static_cast<uint32_t>(o.memory->offset));
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
    issued_.parts.push_back(check_ ? old : save(w, old.regs));
    if (o.memory && old.regs == o.memory->result)
      issued_.parts.back().bits = loadedBits(inst, o);
    if (!check_)
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
    push(w, counter,
         o.space != MemorySpace::Flat ? active
         : vector                     ? active & ~ldsLanes_
                                      : active & ldsLanes_,
         ordered);
  }
}

} // namespace luthier::vgpu
