#include "rewrite/entry.h"

namespace luthier::rewrite {

namespace {

using hook::LaunchValue;
using object::InitialSgpr;
namespace bits = object::properties;

constexpr unsigned kMostUserSgprs = 16;

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

Result<void> canSpill(const isa::Target &target, const object::KernelDescriptor &descriptor) {
  if (descriptor.dynamicStack())
    return makeError("the kernel's stack has no known end behind which there were room");
  if (object::KernelDescriptor::architectedFlatScratch(target) ||
      (target.flatScratch == isa::FlatScratch::Sgprs && target.scratchInstructions))
    return {};
  return makeError("scratch cannot be set up on {} yet", target.name);
}

Result<object::KernelDescriptor> Entry::extended(const object::KernelDescriptor &original, bool spill) const {
  object::KernelDescriptor d = original;
  unsigned user = d.userSgprs();
  const auto enable = [&](const object::BitField<uint16_t> &field, unsigned registers) {
    if (field.get(d.codeProperties))
      return;
    field.set(d.codeProperties, 1);
    user += registers;
  };
  for (LaunchValue value : needs_.values)
    switch (value) {
    case LaunchValue::WorkgroupIdX:
    case LaunchValue::WorkgroupIdY:
    case LaunchValue::WorkgroupIdZ:
      object::rsrc2::workgroupIds.set(d.rsrc2, object::rsrc2::workgroupIds.get(d.rsrc2) |
                                                   1u << dimension(value, LaunchValue::WorkgroupIdX));
      break;
    case LaunchValue::WorkitemIdX:
    case LaunchValue::WorkitemIdY:
    case LaunchValue::WorkitemIdZ:
      object::rsrc2::workitemIds.set(d.rsrc2, std::max(d.workitemIds(), dimension(value, LaunchValue::WorkitemIdX)));
      break;
    case LaunchValue::DispatchPtr:
      enable(bits::dispatchPtr, 2);
      break;
    case LaunchValue::QueuePtr:
      enable(bits::queuePtr, 2);
      break;
    case LaunchValue::KernargPtr:
    case LaunchValue::HostcallBuffer:
    case LaunchValue::LaunchNumber:
      enable(bits::kernargPtr, 2);
      break;
    case LaunchValue::DispatchId:
      enable(bits::dispatchId, 2);
      break;
    }
  if (needs_.launchBlocks && blocksInSegment_)
    enable(bits::kernargPtr, 2);
  if (spill) {
    object::rsrc2::privateSegment.set(d.rsrc2, 1);
    if (!object::KernelDescriptor::architectedFlatScratch(*target_))
      enable(bits::flatScratchInit, 2);
  }
  if (user > kMostUserSgprs && user > original.userSgprs())
    return makeError("a wave can be given {} values in user SGPRs, and the hooks ask for {}", kMostUserSgprs, user);
  LUTHIER_TRY(d.setUserSgprs(user));
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
  const auto widest = LUTHIER_TRY(entry.extended(descriptor, false));
  const unsigned least = widest.initialSgprs(target).total + kForScratch;
  RegSet reserved;
  bool lanes = false;
  const auto scalars = [&](unsigned count, std::string_view what) -> Result<Home> {
    const Home home = pool.reserveScalars(count, least);
    if (home.empty())
      return makeError("no registers are left for {}", what);
    reserved.insert(home.regs);
    lanes |= home.lanes || home.memory >= 0;
    return home;
  };
  if (needs.waveRegisters)
    entry.wave_ = LUTHIER_TRY(scalars(needs.waveRegisters, "per-wave variables"));
  if (needs.launchBlocks)
    entry.blocks_ = LUTHIER_TRY(scalars(2 * needs.launchBlocks, "the address of per-launch variables"));
  for (LaunchValue value : needs.values) {
    if (isWorkitemId(value)) {
      entry.values_[value] = {pool.reserveVector()};
      if (entry.values_[value].empty())
        return makeError("no vector register is left for a work-item id");
      continue;
    }
    const unsigned count = isLaunchArgument(value) ? 2 : widest.initialSgprs(target)[sgprOf(value)].count;
    entry.values_[value] = LUTHIER_TRY(scalars(count, "a launch value"));
  }
  // What the kernel has in other registers at its start is not yet of interest to anybody.
  if (lanes || entry.segment().bytes) {
    RegRange spare{sgpr((least + 1) & ~1u), 2};
    while (reserved.containsAny(spare))
      spare.first = spare.first + 2;
    entry.spare_ = spare.first;
    pool.use(spare);
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
  if (offset != segment.blocks)
    segment.bytes = offset;
  return segment;
}

bool Entry::setsFlatScratch(bool spill) const {
  return spill && !object::KernelDescriptor::architectedFlatScratch(*target_);
}

Result<CodeSequence> Entry::write(const Glue &glue, object::KernelDescriptor &descriptor, bool spill,
                                  const SpillArea &area) const {
  const object::KernelDescriptor original = descriptor;
  CodeSequence code;
  literals_.clear();
  const bool nothing = needs_.values.empty() && !needs_.waveRegisters && !needs_.launchBlocks && !spill;
  if (nothing)
    return code;
  descriptor = LUTHIER_TRY(extended(original, spill));
  const object::InitialSgprs was = original.initialSgprs(*target_), is = descriptor.initialSgprs(*target_);
  const LaunchSegment segment = this->segment();
  const Reg kernarg = sgpr(is[InitialSgpr::KernargSegmentPtr].first);

  const auto setFlatScratch = [&] {
    const Reg init = sgpr(is[InitialSgpr::FlatScratchInit].first);
    glue.add(code, GlueOp::FlatScratchLow, init, sgpr(is[InitialSgpr::PrivateSegmentWaveOffset].first));
    glue.add(code, GlueOp::FlatScratchHigh, init + 1);
  };
  if (area.scalars && setsFlatScratch(spill))
    setFlatScratch(); // before anything is kept there
  // To where a value is kept; the scalar registers behind those that the wave was given are free here.
  const auto keep = [&](const Home &home, unsigned dword, Reg from) {
    if (home.memory >= 0) {
      glue.scalarMemory(code, GlueOp::ScalarStore, from, area.kept(home.memory + static_cast<int>(dword)));
      glue.add(code, GlueOp::WaitScalar); // it reads late
    } else if (home.lanes)
      glue.writeLane(code, home.regs.first, home.lane + dword, from);
    else
      glue.add(code, GlueOp::MoveScalar, home.regs.first + dword, from);
  };
  const auto elsewhere = [](const Home &home) { return home.lanes || home.memory >= 0; };
  const auto load = [&](const Home &home, uint32_t offset) {
    glue.loadPair(code, elsewhere(home) ? spare_ : home.regs.first, kernarg, offset);
    if (elsewhere(home))
      glue.add(code, GlueOp::WaitScalar);
    for (unsigned half = 0; half < 2 && elsewhere(home); ++half)
      keep(home, half, spare_ + half);
  };
  for (unsigned n = 0; n < needs_.launchBlocks; ++n) {
    const Home home = launchBlock(n);
    if (blocksInSegment_) {
      load(home, segment.blocks + 8 * n);
      continue;
    }
    for (unsigned half = 0; half < 2; ++half) {
      glue.literal(code, (elsewhere(home) ? spare_ : home.regs.first) + half, 0);
      literals_.push_back({code.size() - 4, n, half == 1});
    }
    for (unsigned half = 0; half < 2 && elsewhere(home); ++half)
      keep(home, half, spare_ + half);
  }
  for (const LaunchArgument &argument : segment.arguments)
    load(valueOf(argument.value), argument.offset);
  if (segment.bytes) {
    // From here on the pair is what the application gave, for hooks too. Not loaded over itself: with XNACK a load may
    // be done again, from the address that it started with.
    glue.loadPair(code, spare_, kernarg, LaunchSegment::kOriginal);
    glue.add(code, GlueOp::WaitScalar);
    for (unsigned half = 0; half < 2; ++half)
      glue.add(code, GlueOp::MoveScalar, kernarg + half, spare_ + half);
  }
  for (const auto &[value, home] : values_)
    if (!isWorkitemId(value) && !isLaunchArgument(value))
      for (unsigned n = 0; n < is[sgprOf(value)].count; ++n)
        keep(home, n, sgpr(is[sgprOf(value)].first + n));
  if (!area.scalars && setsFlatScratch(spill))
    setFlatScratch();
  // What the kernel knows, back to where it knows it. Everything has only moved up, so that going up is safe.
  for (unsigned n = 0; n < object::kInitialSgprs; ++n)
    for (unsigned i = 0; i < was.ranges[n].count; ++i)
      if (was.ranges[n].first != is.ranges[n].first)
        glue.add(code, GlueOp::MoveScalar, sgpr(was.ranges[n].first + i), sgpr(is.ranges[n].first + i));

  for (const auto &[value, home] : values_) {
    if (!isWorkitemId(value))
      continue;
    const RegRange regs = home.regs;
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
  if (elsewhere(wave_) && needs_.waveRegisters)
    glue.constant(code, spare_, 0);
  for (unsigned n = 0; n < needs_.waveRegisters; ++n)
    if (elsewhere(wave_))
      keep(wave_, n, spare_);
    else
      glue.constant(code, wave_.regs.first + n, 0);
  return code;
}

} // namespace luthier::rewrite
