#include "analysis/wait_events.h"

#include <algorithm>

namespace luthier::analysis {

namespace {

/// s_wait_* of gfx12 and s_waitcnt_* before: the counters that an instruction waits for, and where the immediate has
/// their numbers.
struct WaitRow {
  std::string_view mnemonic;
  Counter counter;
  uint8_t shift = 0;
  bool second = false; ///< of a pair: DScnt is in the low bits
};
constexpr WaitRow kWaitRows[] = {
    {"s_waitcnt_vscnt", Counter::Vs},
    {"s_waitcnt_vmcnt", Counter::Vm},
    {"s_waitcnt_expcnt", Counter::Exp},
    {"s_waitcnt_lgkmcnt", Counter::Lgkm},
    {"s_wait_loadcnt", Counter::Vm},
    {"s_wait_storecnt", Counter::Vs},
    {"s_wait_samplecnt", Counter::Sample},
    {"s_wait_bvhcnt", Counter::Bvh},
    {"s_wait_expcnt", Counter::Exp},
    {"s_wait_dscnt", Counter::Ds},
    {"s_wait_kmcnt", Counter::Lgkm},
    {"s_wait_loadcnt_dscnt", Counter::Vm, 8, true},
    {"s_wait_storecnt_dscnt", Counter::Vs, 8, true},
};
constexpr unsigned kPairField = 0x3f; ///< of both counters of a pair

// gfx12's; those of s_waitcnt are in the target's row.
constexpr unsigned kMostSplit[kCounters] = {63, 31, 7, 63, 63, 63, 7};
constexpr unsigned kMostStores = 63;

/// Whether an image instruction goes through the sampler.
bool samples(std::string_view name) {
  return name.starts_with("image_sample") || name.starts_with("image_gather") || name == "image_get_lod";
}

/// Invalidating a cache is not waited for before gfx12, writing it back is.
bool isUncounted(std::string_view name) {
  static constexpr std::string_view kStarts[] = {"buffer_wbinv",   "buffer_inv",  "buffer_gl0_inv",
                                                 "buffer_gl1_inv", "s_prefetch_", "s_buffer_prefetch_"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return name.starts_with(start); });
}

EventKind kindOfImage(std::string_view name) {
  if (samples(name))
    return EventKind::Sample;
  return name.starts_with("image_bvh") ? EventKind::Bvh : EventKind::Image;
}

} // namespace

std::string_view toString(Counter counter, const isa::Target &target) {
  static constexpr std::string_view kJoint[kCounters] = {"vmcnt", "lgkmcnt", "expcnt", "vscnt", "", "", ""};
  static constexpr std::string_view kSplit[kCounters] = {"loadcnt", "kmcnt",     "expcnt", "storecnt",
                                                         "dscnt",   "samplecnt", "bvhcnt"};
  return (target.splitCounters ? kSplit : kJoint)[static_cast<unsigned>(counter)];
}

unsigned largestCount(Counter counter, const isa::Target &target) {
  if (target.splitCounters)
    return kMostSplit[static_cast<unsigned>(counter)];
  if (counter == Counter::Vs)
    return target.storeCounter ? kMostStores : 0;
  const isa::WaitFields *fields = target.waitFields;
  if (!fields)
    return 0;
  return counter == Counter::Vm     ? fields->vm.most()
         : counter == Counter::Lgkm ? fields->lgkm.most()
         : counter == Counter::Exp  ? fields->exp.most()
                                    : 0;
}

WaitEvents waitEventsOf(const Instr &instr, const isa::Target &target) {
  using Counts = WaitEvent::Counts;
  WaitEvents events;
  if (instr.is(Property::Message)) {
    events.add({Counter::Lgkm, EventKind::Message, Counts::Surely, true, false}); // s_sendmsg_rtn_b32
    return events;
  }
  if (instr.is(Property::Export)) {
    events.add({Counter::Exp, EventKind::Export, Counts::Surely, false, true});
    return events;
  }
  if (instr.memorySpace() == MemorySpace::None)
    return events;

  const bool cacheControl = !instr.is(Property::Load) && !instr.is(Property::Store);
  const Counts counts = !cacheControl                   ? Counts::Surely
                        : isUncounted(instr.mnemonic()) ? Counts::Hardly
                                                        : Counts::Perhaps;
  const bool returns = instr.is(Property::Load) || !instr.writes().empty();
  const bool stores = target.storeCounter && instr.is(Property::Store) && !instr.is(Property::Load);
  const Counter lds = target.splitCounters ? Counter::Ds : Counter::Lgkm;
  switch (instr.memorySpace()) {
  case MemorySpace::None:
    break;
  case MemorySpace::Scalar:
    events.add({Counter::Lgkm, EventKind::Scalar, counts, true, instr.is(Property::Store)});
    break;
  case MemorySpace::Lds:
    if (instr.mnemonic().starts_with("lds_") || instr.mnemonic().starts_with("ds_direct_load") ||
        instr.mnemonic().starts_with("ds_param_load"))
      events.add({Counter::Exp, EventKind::LdsDirect, counts, true, false});
    else
      events.add({lds, EventKind::Lds, returns ? Counts::Surely : counts, true, false});
    break;
  case MemorySpace::Gds:
    events.add({Counter::Lgkm, EventKind::Gds, counts, true, false});
    events.add({Counter::Exp, EventKind::Gds, counts, false, true});
    break;
  case MemorySpace::Flat:
    events.add({stores ? Counter::Vs : Counter::Vm, EventKind::Flat, counts, returns, false});
    events.add({lds, EventKind::Flat, counts, returns, false});
    break;
  case MemorySpace::Global:
  case MemorySpace::Scratch:
  case MemorySpace::Buffer:
    events.add({stores ? Counter::Vs : Counter::Vm, EventKind::Vector, counts, returns, false});
    break;
  case MemorySpace::Image: {
    // On gfx12, each kind has a counter to itself.
    const EventKind kind = kindOfImage(instr.mnemonic());
    const Counter counter = !target.splitCounters || kind == EventKind::Image ? Counter::Vm
                            : kind == EventKind::Sample                       ? Counter::Sample
                                                                              : Counter::Bvh;
    events.add({stores ? Counter::Vs : counter, kind, counts, returns, false});
    break;
  }
  }
  return events;
}

Halves loadedHalves(const Instr &instr) {
  if (!instr.is(Property::Load) || !instr.is(Property::PartialWrite) || instr.is(Property::Atomic))
    return kBothHalves;
  const std::string_view name = instr.mnemonic();
  const size_t at = name.find("d16");
  if (at == name.npos || name.ends_with("_xy") || name.ends_with("_xyz") || name.ends_with("_xyzw"))
    return kBothHalves;
  return name.substr(at).starts_with("d16_hi") ? kHighHalf : kLowHalf;
}

bool mayUseOneHalf(const Instr &instr) {
  const std::string_view name = instr.mnemonic();
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (instr.memorySpace() != MemorySpace::None)
    return instr.is(Property::Store) && (has("16") || has("_b8") || has("short") || has("byte"));
  if (!instr.is(Property::Vector) || instr.is(Property::Matrix) || name.starts_with("v_pk_") ||
      name.starts_with("v_dot") || has("wmma"))
    return false;
  return has("16") || has("_mix");
}

WaitLimits waitLimitsOf(const Instr &instr, const isa::Target &target) {
  WaitLimits limits;
  const std::string_view name = instr.mnemonic();
  if (name == "s_wait_idle") {
    limits.left.fill(0);
    return limits;
  }
  uint32_t value = UINT32_MAX;
  for (const Operand &operand : instr.operands()) {
    limits.unknown |= operand.kind == OperandKind::Register && operand.regs.first != Reg::Null && !operand.regs.empty();
    if (operand.kind == OperandKind::Immediate || operand.kind == OperandKind::Modifier)
      value = static_cast<uint32_t>(operand.value) & 0xffff;
  }
  if (value == UINT32_MAX)
    return limits;
  const auto set = [&](Counter counter, unsigned left) {
    limits.left[static_cast<unsigned>(counter)] = static_cast<uint8_t>(std::min<unsigned>(left, WaitLimits::kAny));
  };
  if (name == "s_waitcnt") {
    // Where counters are split, nobody says which of them it means.
    if (const isa::WaitFields *fields = target.splitCounters ? nullptr : target.waitFields) {
      set(Counter::Vm, fields->vm.get(value));
      set(Counter::Exp, fields->exp.get(value));
      set(Counter::Lgkm, fields->lgkm.get(value));
    }
    return limits;
  }
  for (const WaitRow &row : kWaitRows)
    if (name == row.mnemonic) {
      set(row.counter, row.second ? value >> row.shift & kPairField : value);
      if (row.second)
        set(Counter::Ds, value & kPairField);
    }
  return limits;
}

} // namespace luthier::analysis
