#include "vgpu/wave/waits.h"

#include "vgpu/exec/row.h"

#include <fmt/format.h>

#include <algorithm>

namespace luthier::vgpu {

using isa::RegisterFile;
using isa::RegisterUse;

namespace {

bool countsVector(const Operands &o) {
  switch (o.unit) {
  case MemoryUnit::Global:
  case MemoryUnit::Scratch:
  case MemoryUnit::Flat:
    return true;
  case MemoryUnit::Buffer: // invalidating a cache is not waited for, writing it back is
    return !o.mnemonic.starts_with("buffer_wbinv") && !o.mnemonic.starts_with("buffer_inv");
  default:
    return false;
  }
}

bool countsOther(const Operands &o) {
  switch (o.unit) {
  case MemoryUnit::Scalar:
  case MemoryUnit::Lds:
  case MemoryUnit::Gds:
  case MemoryUnit::Message:
  case MemoryUnit::Flat:
    return true;
  default:
    return false;
  }
}

/// Whether results of `later` arrive after those of an operation of `earlier` by themselves.
bool inOrder(MemoryUnit earlier, MemoryUnit later) {
  const auto vector = [](MemoryUnit unit) {
    return unit == MemoryUnit::Global || unit == MemoryUnit::Scratch || unit == MemoryUnit::Buffer;
  };
  return (vector(earlier) && vector(later)) || (earlier == MemoryUnit::Lds && later == MemoryUnit::Lds);
}

bool isVector(RegisterFile file) { return file == RegisterFile::Vector || file == RegisterFile::Accumulator; }

unsigned indexOf(const RegisterUse &use) { return use.first + (use.file == RegisterFile::Accumulator ? kAccBase : 0); }

} // namespace

bool WaitChecker::touches(const Pending &pending, const RegisterUse &use, uint64_t lanes, unsigned &reg) {
  for (const Part &part : pending.parts) {
    if (part.use.file != use.file || use.first >= part.use.first + part.use.count ||
        part.use.first >= use.first + use.count)
      continue;
    if (isVector(use.file) && !(lanes & pending.lanes))
      continue;
    reg = std::max(use.first, part.use.first);
    return true;
  }
  return false;
}

WaitChecker::Part WaitChecker::save(const Wave &w, const RegisterUse &use) {
  Part part{use, {}};
  if (isVector(use.file))
    part.values.assign(&w.v[indexOf(use)][0], &w.v[indexOf(use)][0] + size_t{use.count} * kMaxLanes);
  else
    part.values.assign(&w.s[use.first], &w.s[use.first] + use.count);
  return part;
}

void WaitChecker::load(Wave &w, const Part &part, uint64_t lanes) {
  if (!isVector(part.use.file)) {
    std::ranges::copy(part.values, &w.s[part.use.first]);
    return;
  }
  for (unsigned n = 0; n < part.use.count; ++n)
    for (uint64_t m = lanes; m; m &= m - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
      w.v[indexOf(part.use) + n][lane] = part.values[size_t{n} * kMaxLanes + lane];
    }
}

void WaitChecker::land(Wave &w, const Pending &pending) {
  for (const Part &part : pending.parts)
    load(w, part, pending.lanes);
}

void WaitChecker::landUntil(Wave &w, Queue &queue, size_t left, bool ordered) {
  if (left != 0 && !ordered)
    return;
  while (queue.size() > left) {
    land(w, queue.front());
    queue.pop_front();
  }
}

bool WaitChecker::before(Wave &w, const Inst *inst, const Operands &o) {
  const uint64_t lanes = o.crossLane ? w.allLanes() : w.exec();
  saved_.clear();
  for (const RegisterUse &use : placed(w, inst, o, placed_)) {
    if (use.file == RegisterFile::Scc)
      continue;
    for (const Queue *queue : {&vector_, &other_})
      for (const Pending &pending : *queue) {
        unsigned reg;
        if (!touches(pending, use, lanes, reg) || (!use.read && inOrder(pending.unit, o.unit)))
          continue;
        w.earlyAccess(inst, fmt::format("{} is {} before a wait covers the operation that loads it\n"
                                        "  in flight   {}\n  issued at   {:#x}",
                                        registerName(use.file, reg), use.read ? "read" : "overwritten", pending.text,
                                        pending.pc));
        return false;
      }
    if (use.write && o.unit != MemoryUnit::None && o.unit != MemoryUnit::Message)
      saved_.push_back(save(w, use));
  }
  if (o.unit == MemoryUnit::None)
    return true;
  issued_ = {o.text, w.pc(inst), o.unit, w.exec(), {}};
  ldsLanes_ = 0;
  if (o.unit == MemoryUnit::Flat) {
    const Addresses addresses = addressesOf(w, inst, o);
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      ldsLanes_ |= static_cast<uint64_t>(addresses.first[lane] >> 32 == w.sharedAperture >> 32) << lane;
  }
  return true;
}

void WaitChecker::after(Wave &w, const Inst *inst, const Operands &o) {
  if (o.mnemonic == "s_waitcnt") {
    const auto simm = static_cast<uint32_t>(inst->imm);
    const auto is = [](MemoryUnit unit) { return [unit](const Pending &p) { return p.unit == unit; }; };
    landUntil(w, vector_, (simm & 0xf) | (simm >> 14 & 3) << 4, std::ranges::none_of(vector_, is(MemoryUnit::Flat)));
    landUntil(w, other_, simm >> 8 & 0xf, std::ranges::all_of(other_, is(MemoryUnit::Lds)));
    return;
  }
  if (!countsVector(o) && !countsOther(o))
    return;
  for (const Part &old : saved_) {
    issued_.parts.push_back(save(w, old.use));
    load(w, old, ~0ull);
  }
  saved_.clear();
  const uint64_t active = issued_.lanes;
  if (countsVector(o)) {
    issued_.lanes = active & ~ldsLanes_;
    vector_.push_back(issued_);
  }
  if (countsOther(o)) {
    issued_.lanes = o.unit == MemoryUnit::Flat ? active & ldsLanes_ : active;
    other_.push_back(issued_);
  }
}

} // namespace luthier::vgpu
