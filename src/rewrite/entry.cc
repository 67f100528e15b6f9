#include "rewrite/entry.h"

#include <algorithm>

namespace luthier::rewrite {

namespace {

using hook::LaunchValue;
using object::InitialSgpr;
namespace bits = object::properties;

constexpr unsigned kMostUserSgprs = 16, kMostDescribed = 31;
constexpr uint32_t kPrivateSegmentSize = 24, kGroupSegmentSize = 28; ///< offsets in hsa_kernel_dispatch_packet_t
constexpr unsigned kWorkitemIds = 3;                                 ///< vector registers that a wave may find them in

Result<void> canHaveLds(const isa::Target &target, const object::KernelDescriptor &descriptor, const LdsNeeds &needs) {
  if (target.ldsLimitInM0)
    return makeError("hooks cannot have LDS on {}", target.name);
  if (target.unifiedVgprs && object::rsrc3::threadgroupSplit.get(descriptor.rsrc3))
    return makeError("the kernel's workgroups are split over compute units and can have no LDS");
  if (descriptor.groupSegmentSize + needs.more() > isa::kMaxWorkgroupLds)
    return makeError("the kernel has {} bytes of LDS and its hooks want {} more: a workgroup has {}",
                     descriptor.groupSegmentSize, needs.more(), isa::kMaxWorkgroupLds);
  return {};
}

/// User SGPRs that the descriptor's fields ask for. It may count more: some compilers for gfx11 do.
unsigned enabledUserSgprs(const object::KernelDescriptor &d, const isa::Target &target) {
  const object::InitialSgprs sgprs = d.initialSgprs(target);
  unsigned end = 0;
  for (unsigned n = 0; n <= static_cast<unsigned>(InitialSgpr::PreloadedKernargs); ++n)
    if (sgprs.ranges[n])
      end = std::max<unsigned>(end, sgprs.ranges[n].first + sgprs.ranges[n].count);
  return end;
}

bool isWorkgroupId(LaunchValue value) { return value <= LaunchValue::WorkgroupIdZ; }

unsigned dimension(LaunchValue value, LaunchValue x) { return static_cast<unsigned>(value) - static_cast<unsigned>(x); }

InitialSgpr sgprOf(LaunchValue value) {
  switch (value) {
  case LaunchValue::WorkgroupIdX:
    return InitialSgpr::WorkgroupIdX;
  case LaunchValue::WorkgroupIdY:
    return InitialSgpr::WorkgroupIdY;
  case LaunchValue::WorkgroupIdZ:
    return InitialSgpr::WorkgroupIdZ;
  case LaunchValue::DispatchPtr:
    return InitialSgpr::DispatchPtr;
  case LaunchValue::QueuePtr:
    return InitialSgpr::QueuePtr;
  case LaunchValue::DispatchId:
    return InitialSgpr::DispatchId;
  default:
    return InitialSgpr::KernargSegmentPtr;
  }
}

} // namespace

void LdsNeeds::add(uint32_t size, uint32_t aligned) {
  offsets.push_back((end + aligned - 1) / aligned * aligned);
  end = offsets.back() + size;
  alignment = std::max(alignment, aligned);
  bytes = (end + kClearedAtOnce - 1) / kClearedAtOnce * kClearedAtOnce;
}

Result<void> canSpill(const isa::Target &target, const object::KernelDescriptor &descriptor) {
  if (descriptor.dynamicStack())
    return makeError("the kernel's stack has no known end, so nothing can be placed after it");
  if (!target.scratchInstructions)
    return makeError("{} has no instructions that hooks could use scratch with", target.name);
  return {};
}

Result<object::KernelDescriptor> Entry::extended(const object::KernelDescriptor &original, bool spill) const {
  object::KernelDescriptor d = original;
  const auto enable = [&](const object::BitField<uint16_t> &field) { field.set(d.codeProperties, 1); };
  for (LaunchValue value : needs_.values)
    switch (value) {
    case LaunchValue::WorkgroupIdX:
    case LaunchValue::WorkgroupIdY:
    case LaunchValue::WorkgroupIdZ:
      if (!target_->workgroupIdsInTtmps)
        object::rsrc2::workgroupIds.set(d.rsrc2, object::rsrc2::workgroupIds.get(d.rsrc2) |
                                                     1u << dimension(value, LaunchValue::WorkgroupIdX));
      break;
    case LaunchValue::WorkitemIdX:
    case LaunchValue::WorkitemIdY:
    case LaunchValue::WorkitemIdZ:
      object::rsrc2::workitemIds.set(d.rsrc2, std::max(d.workitemIds(), dimension(value, LaunchValue::WorkitemIdX)));
      break;
    case LaunchValue::DispatchPtr:
      enable(bits::dispatchPtr);
      break;
    case LaunchValue::QueuePtr:
      enable(bits::queuePtr);
      break;
    case LaunchValue::KernargPtr:
    case LaunchValue::HostcallBuffer:
    case LaunchValue::LaunchNumber:
      enable(bits::kernargPtr);
      break;
    case LaunchValue::DispatchId:
      enable(bits::dispatchId);
      break;
    }
  if ((needs_.launchBlocks && blocksInSegment_) || needs_.groupBlocks)
    enable(bits::kernargPtr);
  if (needs_.groupBlocks && !target_->workgroupIdsInTtmps)
    object::rsrc2::workgroupIds.set(d.rsrc2, 7);
  if (needs_.lds.bytes || needs_.frameAtEnd)
    enable(bits::dispatchPtr);
  if (spill) {
    object::rsrc2::privateSegment.set(d.rsrc2, 1);
    if (!object::KernelDescriptor::architectedFlatScratch(*target_))
      enable(bits::flatScratchInit);
  }
  // Preloaded arguments go where they can be loaded as well.
  LUTHIER_TRY(d.setUserSgprs(kMostDescribed)); // so that there is room for all that is enabled
  if (d.preloadLength() && (segment().bytes || enabledUserSgprs(d, *target_) > kMostUserSgprs)) {
    d.kernargPreload = 0;
    enable(bits::kernargPtr);
  }
  const unsigned asked = enabledUserSgprs(d, *target_);
  if (asked > kMostUserSgprs && asked > original.userSgprs())
    return makeError("a wave can be given {} values in user SGPRs, and the hooks ask for {}", kMostUserSgprs, asked);
  LUTHIER_TRY(d.setUserSgprs(std::max(asked, original.userSgprs())));
  return d;
}

Result<Entry> Entry::plan(const isa::Target &target, const object::KernelDescriptor &descriptor,
                          const EntryNeeds &needs, bool blocksInSegment, RegisterPool &pool) {
  Entry entry;
  entry.target_ = &target;
  entry.needs_ = needs;
  entry.blocksInSegment_ = blocksInSegment;
  // Reserved registers must not be among those that the wave is given at its start, whatever gets enabled: scratch
  // needs three more.
  constexpr unsigned kForScratch = 3;
  const auto widest = LUTHIER_TRY(entry.extended(descriptor, needs.scratch));
  const unsigned least = widest.initialSgprs(target).total + kForScratch;
  RegSet reserved;
  bool lanes = false;
  const auto scalars = [&](unsigned count, std::string_view what) -> Result<ReservedSlot> {
    const ReservedSlot slot = pool.reserveScalars(count, least);
    if (slot.empty())
      return makeError("no registers are left for {}", what);
    reserved.insert(slot.regs);
    lanes |= slot.lanes || slot.memory >= 0;
    return slot;
  };
  if (needs.waveRegisters)
    entry.wave_ = LUTHIER_TRY(scalars(needs.waveRegisters, "per-wave variables"));
  for (unsigned n = 0; n < needs.counters; ++n)
    entry.counters_.push_back(LUTHIER_TRY(
        scalars(1, needs.counters == 1 ? "a counter of visits"
                                       : fmt::format("{} counters of visits; sites can share one", needs.counters))));
  if (needs.launchBlocks)
    entry.blocks_ = LUTHIER_TRY(scalars(2 * needs.launchBlocks, "the address of per-launch variables"));
  for (LaunchValue value : needs.values) {
    if (isWorkitemId(value)) {
      entry.values_[value] = {pool.reserveVectors()};
      if (entry.values_[value].empty())
        return makeError("no vector register is left for a work-item id");
      continue;
    }
    const unsigned count = isLaunchArgument(value) ? 2
                           : isWorkgroupId(value) && target.workgroupIdsInTtmps
                               ? 1
                               : widest.initialSgprs(target)[sgprOf(value)].count;
    entry.values_[value] = LUTHIER_TRY(scalars(count, "a launch value"));
  }
  if (needs.lds.bytes) {
    LUTHIER_TRY(canHaveLds(target, descriptor, needs.lds));
    entry.lds_ = LUTHIER_TRY(scalars(static_cast<unsigned>(needs.lds.offsets.size()), "the address of LDS"));
  }
  if (needs.frameAtEnd)
    entry.frame_ = LUTHIER_TRY(scalars(1, "the address of local variables"));
  if (needs.groupBlocks)
    entry.groups_ = LUTHIER_TRY(scalars(2 * needs.groupBlocks, "the address of per-workgroup variables"));
  if (needs.startLanes)
    entry.startLanes_ = LUTHIER_TRY(scalars(descriptor.waveSize(target) / 32, "the lanes that a wave starts with"));
  for (const unsigned count : needs.laneVariables) {
    entry.lanes_.push_back(pool.reserveLaneValues(count));
    if (entry.lanes_.back().empty())
      return makeError("no vector registers are left for per-lane variables");
  }
  // What the kernel has in other registers at its start is not yet of interest to anybody.
  const bool preloaded = descriptor.preloadLength() != 0;
  const bool ofPacket = needs.lds.bytes || needs.groupBlocks || needs.frameAtEnd;
  RegRange spare{sgpr((least + 1) & ~1u), static_cast<uint16_t>(preloaded || ofPacket ? 4 : 2)};
  while (reserved.containsAny(spare))
    spare.first = spare.first + 2;
  entry.spare_ = spare.first;
  if (lanes || preloaded || ofPacket || entry.segment().bytes || !entry.lanes_.empty())
    pool.use(spare);
  if (needs.lds.bytes) {
    const RegRange pair = pool.unreservedVectors(2, kWorkitemIds);
    if (pair.empty())
      return makeError("no vector registers are left to clear LDS with");
    entry.ldsAddress_ = pair.first;
    entry.ldsZero_ = pair.first + 1;
  }
  return entry;
}

LaunchSegment Entry::segment() const {
  LaunchSegment segment;
  segment.blocks = LaunchSegment::kOriginal + 8;
  uint32_t offset = segment.blocks + (blocksInSegment_ ? 8 * needs_.launchBlocks : 0);
  for (LaunchValue value : needs_.values)
    if (isLaunchArgument(value)) {
      segment.arguments.push_back({value, offset});
      offset += 8;
    }
  segment.groups = offset;
  offset += LaunchSegment::kGroupBytes * needs_.groupBlocks;
  if (offset != segment.blocks)
    segment.bytes = offset;
  return segment;
}

bool Entry::setsFlatScratch(bool spill) const {
  return spill && !object::KernelDescriptor::architectedFlatScratch(*target_);
}

/// For firmware that cannot preload: it starts here, and finds the same behind it as one that can.
void Entry::writePreloading(const Glue &glue, CodeSequence &code, const object::InitialSgprs &is,
                            uint32_t offset) const {
  const object::SgprRange to = is[InitialSgpr::PreloadedKernargs], from = is[InitialSgpr::KernargSegmentPtr];
  if (!from)
    glue.add(code, GlueOp::Trap); // as LLVM has it
  for (unsigned n = 0; from && n < to.count; ++n)
    glue.loadDword(code, sgpr(to.first + n), sgpr(from.first), (offset + n) * 4);
  glue.wait(code, analysis::setOf(analysis::Counter::Lgkm));
  while (code.size() < object::KernelDescriptor::kPreloadSkip)
    glue.add(code, GlueOp::Nop);
}

Result<CodeSequence> Entry::write(const Glue &glue, object::KernelDescriptor &descriptor, bool spill,
                                  const SpillArea &area) const {
  const object::KernelDescriptor original = descriptor;
  CodeSequence code;
  literals_.clear();
  const bool nothing = needs_.values.empty() && !needs_.waveRegisters && counters_.empty() && lanes_.empty() &&
                       !needs_.launchBlocks && !needs_.lds.bytes && !needs_.groupBlocks && !needs_.frameAtEnd && !spill;
  if (nothing && !original.preloadLength())
    return code;
  descriptor = LUTHIER_TRY(extended(original, spill));
  const object::InitialSgprs was = original.initialSgprs(*target_), is = descriptor.initialSgprs(*target_);
  if (descriptor.preloadLength())
    writePreloading(glue, code, is, descriptor.preloadOffset());
  const LaunchSegment segment = this->segment();
  const Reg kernarg = sgpr(is[InitialSgpr::KernargSegmentPtr].first);

  const auto setFlatScratch = [&] {
    const Reg init = sgpr(is[InitialSgpr::FlatScratchInit].first),
              offset = sgpr(is[InitialSgpr::PrivateSegmentWaveOffset].first);
    if (target_->flatScratch == isa::FlatScratch::Sgprs) {
      glue.add(code, GlueOp::FlatScratchLow, init, offset);
      glue.add(code, GlueOp::FlatScratchHigh, init + 1);
      return;
    }
    for (unsigned half = 0; half < 2; ++half)
      glue.add(code, GlueOp::MoveScalar, spare_ + half, init + half);
    glue.add(code, GlueOp::AddScalar, spare_, offset);
    glue.add(code, GlueOp::AddCarry, spare_ + 1);
    glue.add(code, GlueOp::SetFlatScratchLow, spare_);
    glue.add(code, GlueOp::SetFlatScratchHigh, spare_ + 1);
  };
  if (area.scalars && setsFlatScratch(spill))
    setFlatScratch(); // before anything is kept there
  // To where a value is kept; the scalar registers behind those that the wave was given are free here.
  const auto keep = [&](const ReservedSlot &slot, unsigned dword, Reg from) {
    if (slot.memory >= 0) {
      glue.scalarMemory(code, GlueOp::ScalarStore, from, area.kept(slot.memory + static_cast<int>(dword)));
      glue.wait(code, analysis::setOf(analysis::Counter::Lgkm)); // it reads late
    } else if (slot.lanes)
      glue.writeLane(code, slot.regs.first, slot.lane + dword, from);
    else
      glue.add(code, GlueOp::MoveScalar, slot.regs.first + dword, from);
  };
  const auto elsewhere = [](const ReservedSlot &slot) { return slot.lanes || slot.memory >= 0; };
  const auto load = [&](const ReservedSlot &slot, uint32_t offset) {
    glue.loadPair(code, elsewhere(slot) ? spare_ : slot.regs.first, kernarg, offset);
    if (elsewhere(slot))
      glue.wait(code, analysis::setOf(analysis::Counter::Lgkm));
    for (unsigned half = 0; half < 2 && elsewhere(slot); ++half)
      keep(slot, half, spare_ + half);
  };
  for (unsigned n = 0; n < needs_.launchBlocks; ++n) {
    const ReservedSlot slot = launchBlock(n);
    if (blocksInSegment_) {
      load(slot, segment.blocks + 8 * n);
      continue;
    }
    for (unsigned half = 0; half < 2; ++half) {
      glue.literal(code, (elsewhere(slot) ? spare_ : slot.regs.first) + half, 0);
      literals_.push_back({code.size() - 4, n, half == 1});
    }
    for (unsigned half = 0; half < 2 && elsewhere(slot); ++half)
      keep(slot, half, spare_ + half);
  }
  for (const LaunchArgument &argument : segment.arguments)
    load(valueOf(argument.value), argument.offset);
  writeGroupBlocks(glue, code, is, keep);
  writeFrame(glue, code, is, keep);
  writeLds(glue, code, is, keep);
  if (segment.bytes) {
    // From here on the pair is what the application gave, for hooks too. Not loaded over itself: with XNACK a load may
    // be done again, from the address that it started with.
    glue.loadPair(code, spare_, kernarg, LaunchSegment::kOriginal);
    glue.wait(code, analysis::setOf(analysis::Counter::Lgkm));
    glue.movePair(code, kernarg, spare_);
  }
  for (const auto &[value, slot] : values_) {
    if (isWorkitemId(value) || isLaunchArgument(value))
      continue;
    if (isWorkgroupId(value) && target_->workgroupIdsInTtmps) {
      constexpr GlueOp kIds[] = {GlueOp::WorkgroupIdX, GlueOp::WorkgroupIdY, GlueOp::WorkgroupIdZ};
      const Reg to = elsewhere(slot) ? spare_ : slot.regs.first;
      glue.add(code, kIds[dimension(value, LaunchValue::WorkgroupIdX)], to);
      if (elsewhere(slot))
        keep(slot, 0, spare_);
      continue;
    }
    for (unsigned n = 0; n < is[sgprOf(value)].count; ++n)
      keep(slot, n, sgpr(is[sgprOf(value)].first + n));
  }
  if (!area.scalars && setsFlatScratch(spill))
    setFlatScratch();
  // Arguments that are not preloaded any more are loaded when their registers are free.
  const object::SgprRange preloaded = was[InitialSgpr::PreloadedKernargs];
  const bool loads = preloaded && !descriptor.preloadLength();
  const Reg arguments = spare_ + 2;
  if (loads)
    glue.movePair(code, arguments, kernarg);
  // What the kernel knows, back to where it knows it. Everything has only moved up, so that going up is safe.
  for (unsigned n = 0; n < object::kInitialSgprs; ++n)
    for (unsigned i = 0; i < was.ranges[n].count; ++i)
      if (is.ranges[n] && was.ranges[n].first != is.ranges[n].first)
        glue.add(code, GlueOp::MoveScalar, sgpr(was.ranges[n].first + i), sgpr(is.ranges[n].first + i));

  for (unsigned n = 0; n < preloaded.count && loads; ++n)
    glue.loadDword(code, sgpr(preloaded.first + n), arguments, (original.preloadOffset() + n) * 4);
  if (loads)
    glue.wait(code, analysis::setOf(analysis::Counter::Lgkm));

  for (const auto &[value, slot] : values_) {
    if (!isWorkitemId(value))
      continue;
    const RegRange regs = slot.regs;
    const unsigned axis = dimension(value, LaunchValue::WorkitemIdX);
    if (!target_->packedWorkitemIds)
      glue.add(code, GlueOp::MoveVector, regs.first, vgpr(axis));
    else if (axis == 0)
      glue.addLiteral(code, GlueOp::AndLiteral, regs.first, 0x3ff, vgpr(0));
    else
      glue.add(code, axis == 1 ? GlueOp::ExtractY : GlueOp::ExtractZ, regs.first, vgpr(0));
  }
  if (target_->packedWorkitemIds && descriptor.workitemIds() != original.workitemIds())
    glue.addLiteral(code, GlueOp::AndLiteral, vgpr(0), original.workitemIds() ? 0xfffff : 0x3ff, vgpr(0));
  if ((elsewhere(wave_) && needs_.waveRegisters) || std::ranges::any_of(counters_, elsewhere))
    glue.constant(code, spare_, 0);
  const auto clear = [&](const ReservedSlot &slot, unsigned dword) {
    if (elsewhere(slot))
      keep(slot, dword, spare_);
    else
      glue.constant(code, slot.regs.first + dword, 0);
  };
  for (unsigned n = 0; n < needs_.waveRegisters; ++n)
    if (!elsewhere(wave_) && number(wave_.regs.first + n) % 2 == 0 && n + 1 < needs_.waveRegisters)
      glue.add(code, GlueOp::ClearScalarPair, wave_.regs.first + n++);
    else
      clear(wave_, n);
  for (const ReservedSlot &counter : counters_)
    clear(counter, 0);
  for (unsigned half = 0; half < glue.waveSize() / 32 && needs_.startLanes; ++half) {
    const Reg exec = Reg::ExecLo + half;
    if (startLanes_.memory >= 0)
      glue.add(code, GlueOp::MoveScalar, spare_, exec);
    keep(startLanes_, half, startLanes_.memory >= 0 ? spare_ : exec);
  }
  clearLanes(glue, code);
  return code;
}

/// Each block's address is that of the launch's memory and as far from there as the workgroup's number says.
void Entry::writeGroupBlocks(const Glue &glue, CodeSequence &code, const object::InitialSgprs &is,
                             const Keep &keep) const {
  constexpr GlueOp kIds[] = {GlueOp::WorkgroupIdX, GlueOp::WorkgroupIdY, GlueOp::WorkgroupIdZ};
  constexpr InitialSgpr kSgprs[] = {InitialSgpr::WorkgroupIdX, InitialSgpr::WorkgroupIdY, InitialSgpr::WorkgroupIdZ};
  const Reg kernarg = sgpr(is[InitialSgpr::KernargSegmentPtr].first), stride = spare_ + 2;
  for (unsigned n = 0; n < needs_.groupBlocks; ++n) {
    const uint32_t at = segment().groups + n * LaunchSegment::kGroupBytes;
    glue.loadPair(code, spare_, kernarg, at);
    for (unsigned axis = 0; axis < 3; ++axis) {
      glue.loadDword(code, stride, kernarg, at + 8 + 4 * axis);
      glue.wait(code, analysis::setOf(analysis::Counter::Lgkm));
      Reg id = spare_ + 3;
      if (target_->workgroupIdsInTtmps)
        glue.add(code, kIds[axis], id);
      else
        id = sgpr(is[kSgprs[axis]].first);
      glue.add(code, GlueOp::Multiply, stride, id);
      glue.add(code, GlueOp::AddScalar, spare_, stride);
      glue.add(code, GlueOp::AddCarry, spare_ + 1);
    }
    for (unsigned half = 0; half < 2; ++half)
      keep(groupBlock(n), half, spare_ + half);
  }
}

/// Behind all that the launch has given the stack. What there is more than local variables take is for their alignment.
void Entry::writeFrame(const Glue &glue, CodeSequence &code, const object::InitialSgprs &is, const Keep &keep) const {
  if (!needs_.frameAtEnd)
    return;
  const Reg base = spare_ + 2;
  constexpr uint32_t kAlign = hook::kFrameAlignment - 1;
  glue.loadDword(code, base, sgpr(is[InitialSgpr::DispatchPtr].first), kPrivateSegmentSize);
  glue.wait(code, analysis::setOf(analysis::Counter::Lgkm));
  glue.addLiteral(code, GlueOp::AddScalarLiteral, base, kAlign - needs_.frameAtEnd, base);
  glue.addLiteral(code, GlueOp::AndScalarLiteral, base, ~kAlign, base);
  keep(frame_, 0, base);
}

/// Every wave clears all of it before any goes on: a barrier that all of them come to, as the first thing they do,
/// leaves the kernel's own barriers as they are.
void Entry::writeLds(const Glue &glue, CodeSequence &code, const object::InitialSgprs &is, const Keep &keep) const {
  const LdsNeeds &lds = needs_.lds;
  if (!lds.bytes)
    return;
  const Reg base = spare_ + 2, block = spare_ + 3;
  glue.loadDword(code, base, sgpr(is[InitialSgpr::DispatchPtr].first), kGroupSegmentSize);
  glue.wait(code, analysis::setOf(analysis::Counter::Lgkm));
  glue.addLiteral(code, GlueOp::AddScalarLiteral, base, 0 - lds.bytes, base);
  glue.addLiteral(code, GlueOp::AndScalarLiteral, base, ~(lds.alignment - 1), base);
  for (unsigned n = 0; n < lds.offsets.size(); ++n) {
    glue.addLiteral(code, GlueOp::AddScalarLiteral, block, lds.offsets[n], base);
    keep(ldsBlock(n), 0, block);
  }
  glue.add(code, GlueOp::SaveExec, spare_);
  glue.add(code, GlueOp::ExecAll);
  glue.add(code, GlueOp::LaneIdLow, ldsAddress_);
  if (glue.waveSize() == 64)
    glue.add(code, GlueOp::LaneIdHigh, ldsAddress_);
  glue.add(code, GlueOp::LaneAddress, ldsAddress_, base);
  glue.constant(code, ldsZero_, 0);
  for (uint32_t offset = 0; offset < lds.bytes; offset += 4 * glue.waveSize())
    glue.storeLds(code, ldsAddress_, ldsZero_, offset);
  glue.add(code, GlueOp::RestoreExec, spare_);
  glue.wait(code, analysis::setOf(analysis::Counter::Lgkm) | analysis::setOf(analysis::Counter::Ds));
  glue.add(code, GlueOp::Barrier);
  if (glue.has(GlueOp::BarrierWait))
    glue.add(code, GlueOp::BarrierWait);
}

/// In all lanes: the kernel may turn some on that the wave was started without.
void Entry::clearLanes(const Glue &glue, CodeSequence &code) const {
  if (lanes_.empty())
    return;
  glue.add(code, GlueOp::SaveExec, spare_);
  glue.add(code, GlueOp::ExecAll);
  for (const std::vector<Reg> &variable : lanes_)
    for (const Reg reg : variable)
      if (isAccumulator(reg))
        glue.add(code, GlueOp::ClearAccumulator, reg);
      else
        glue.constant(code, reg, 0);
  glue.add(code, GlueOp::RestoreExec, spare_);
}

} // namespace luthier::rewrite
