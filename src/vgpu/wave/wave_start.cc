#include "vgpu/wave/wave_start.h"

#include "vgpu/wave/device.h"
#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/memory_check.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>

namespace luthier::vgpu {

namespace {

/// EXEC of a wave whose first work-item is number `first` of `items`.
uint64_t activeLanes(uint32_t lanes, uint32_t items, uint32_t first) {
  const uint32_t active = std::min(lanes, items - first);
  return active == 64 ? ~0ull : (1ull << active) - 1;
}

/// What the packet processor fills in of the resource for scratch memory, where waves come in two sizes: INDEX_STRIDE,
/// which is their size, and ADD_TID_ENABLE.
uint32_t swizzleOf(const isa::Target &target, uint32_t lanes) {
  return target.wave32 ? (lanes == 64 ? 3u : 2u) << 21 | 1u << 23 : 0;
}

/// Rows of vector registers, as far as the wave has lanes; `from` null: zeros.
void setRows(uint32_t (*to)[kMaxLanes], const uint32_t (*from)[kMaxLanes], uint32_t count, uint32_t lanes) {
  const auto set = [&](void *row, const void *source, size_t size) {
    from ? memcpy(row, source, size) : memset(row, 0, size);
  };
  if (lanes == kMaxLanes)
    set(to, from, count * sizeof *to);
  else
    for (uint32_t n = 0; n < count; ++n)
      set(to[n], from ? from[n] : nullptr, kMaxLanes / 2 * sizeof(uint32_t));
}

} // namespace

WaveStart::WaveStart(const Dispatch &dispatch) {
  const Launch &launch = dispatch.launch();
  const Device &device = dispatch.device();
  const isa::Target &target = device.target();
  const KernelDescriptor descriptor = descriptorAt(launch.kernelObject);

  state_.vgprCount = std::min<uint32_t>(descriptor.vgprs(target), 512);
  state_.mode = descriptor.mode();
  if (!target.clampAndIeeeModes)
    state_.mode |= mode::kDx10Clamp | mode::kIeee;
  state_.lanes = dispatch.lanes();
  state_.sgprs = target.sgprs;
  state_.flatScratch = target.flatScratch == isa::FlatScratch::Sgprs ? kFlatScratch : kHardwareFlatScratch;
  setsFlatScratch_ = target.flatScratch == isa::FlatScratch::Architected;
  state_.stop = Stop::None;
  state_.ip = dispatch.entry();
  state_.chunk = dispatch.entryChunk();
  std::ranges::fill(state_.recentChunks, state_.chunk);
  state_.code = dispatch.code();
  state_.device = &dispatch.device();
  state_.memory = &device.memory();
  state_.deviceMask = device.mask();
  state_.ldsSize = launch.groupSegmentSize;
  state_.sharedAperture = device.config().sharedApertureBase;
  state_.privateAperture = device.config().privateApertureBase;
  if (launch.privateSegmentSize)
    state_.scratchBytes = launch.scratch->bytesPerWave();
  state_.check = device.memoryCheck.get();
  if (state_.check) {
    // Hardware has no opinion on what is behind the private segment.
    state_.scratchBytes = uint64_t{launch.privateSegmentSize} * state_.lanes;
    const auto memory = state_.check->allocations().liveAround(launch.kernarg, 1);
    if (memory && memory->kind == Allocation::Kind::Kernarg && descriptor.kernargSize &&
        !memcheck::argumentsLeadInto(*memory, launch.kernarg, descriptor.kernargSize)) {
      constexpr uint64_t kAlignment = 16; // up to which compilers load, rather than three dwords alone
      state_.argumentMemory = memory->begin;
      state_.argumentMemoryBytes = memory->end - memory->begin;
      state_.arguments = launch.kernarg;
      state_.argumentsEnd = launch.kernarg + (descriptor.kernargSize + kAlignment - 1) / kAlignment * kAlignment;
    }
  }
  setUserRegisters(descriptor, launch, target);

  vgprs_ = std::min<uint32_t>(state_.vgprCount, target.vgprs);
  accVgprs_ = state_.vgprCount > 8 && target.accVgprs ? std::min<uint32_t>(state_.vgprCount, target.accVgprs) : 0;
  packedIds_ = target.packedWorkitemIds;
  wantedIds_ = descriptor.workitemIds();
  fullSize_ = {launch.workgroup[0], launch.workgroup[1], launch.workgroup[2]};
  itemIdRegisters_ = packedIds_ ? 1 : wantedIds_ + 1;
  itemIds_.resize((product(fullSize_) + state_.lanes - 1) / state_.lanes);
  for (uint32_t wave = 0; wave < itemIds_.size(); ++wave)
    fillItemIds(itemIds_[wave], fullSize_, wave);
}

/// User SGPRs in the order of their enable bits, then system SGPRs.
void WaveStart::setUserRegisters(const KernelDescriptor &descriptor, const Launch &launch, const isa::Target &target) {
  uint8_t next = 0;
  auto push = [&](uint32_t value) { state_.s[next++] = value; };
  auto push64 = [&](uint64_t value) {
    push(static_cast<uint32_t>(value));
    push(static_cast<uint32_t>(value >> 32));
  };
  if (descriptor.privateSegmentBuffer()) {
    if (launch.scratch) {
      const auto [base, size, range, format] = launch.scratch->resource();
      for (const uint32_t word : {base, size, range, format | swizzleOf(target, state_.lanes)})
        push(word);
    } else {
      next += 4;
    }
  }
  if (descriptor.dispatchPtr())
    push64(launch.packet);
  if (descriptor.queuePtr())
    push64(launch.queue);
  if (descriptor.kernargPtr())
    push64(launch.kernarg);
  if (descriptor.dispatchId())
    push64(launch.dispatchId);
  if (descriptor.flatScratchInit())
    push64(launch.scratch ? launch.scratch->base() : 0);
  if (descriptor.privateSegmentSizeSgpr())
    push(launch.privateSegmentSize);
  if (const uint32_t preloaded = descriptor.preloaded(target)) {
    const GuestCopy guest;
    memcpy(&state_.s[next], reinterpret_cast<const uint32_t *>(launch.kernarg) + descriptor.preloadOffset(),
           preloaded * sizeof(uint32_t));
    next = static_cast<uint8_t>(next + preloaded);
  }
  givenSgprs_ = (1ull << next) - 1;
  const object::InitialSgprs sgprs = descriptor.initialSgprs(target);
  const auto place = [&](object::InitialSgpr what) { return sgprs[what] ? sgprs[what].first : kNone; };
  groupIdAt_ = {place(object::InitialSgpr::WorkgroupIdX), place(object::InitialSgpr::WorkgroupIdY),
                place(object::InitialSgpr::WorkgroupIdZ)};
  groupInfoAt_ = place(object::InitialSgpr::WorkgroupInfo);
  scratchOffsetAt_ = place(object::InitialSgpr::PrivateSegmentWaveOffset);
  givenSgprs_ |= (1ull << sgprs.total) - (1ull << sgprs.user);
  idsInTtmps_ = target.workgroupIdsInTtmps;
}

/// The wave's lanes are work-items index * lanes, index * lanes + 1, ... of the workgroup; those behind its end are 0.
void WaveStart::fillItemIds(ItemIds &ids, const std::array<uint32_t, 3> &groupSize, uint32_t index) const {
  ids = {};
  const uint32_t first = index * state_.lanes;
  const uint32_t active = std::min(state_.lanes, product(groupSize) - first);
  uint32_t x = first % groupSize[0], y = first / groupSize[0] % groupSize[1], z = first / groupSize[0] / groupSize[1];
  for (uint32_t lane = 0; lane < active; ++lane) {
    const uint32_t givenY = wantedIds_ > 0 ? y : 0, givenZ = wantedIds_ > 1 ? z : 0;
    ids.lanes[0][lane] = packedIds_ ? x | givenY << 10 | givenZ << 20 : x;
    ids.lanes[1][lane] = packedIds_ ? 0 : givenY;
    ids.lanes[2][lane] = packedIds_ ? 0 : givenZ;
    if (++x == groupSize[0]) {
      x = 0;
      if (++y == groupSize[1]) {
        y = 0;
        ++z;
      }
    }
  }
}

void WaveStart::start(Wave &w, const Place &place) const {
  setCommon(w);
  setPlace(w, place);
  setVectors(w, place.groupSize);
}

void WaveStart::setPlace(Wave &w, const Place &place) const {
  w.group = place.group;
  w.index = place.index;
  w.lds = place.lds;
  w.counts = place.counts;
  if (state_.scratchBytes)
    w.scratchBase = w.group->dispatch().launch().scratch->base() + place.scratchOffset;
  if (setsFlatScratch_)
    w.setScalar64(w.flatScratch, w.scratchBase);
  w.setExec(activeLanes(w.lanes, product(place.groupSize), place.index * w.lanes));
  for (unsigned d = 0; d < 3; ++d)
    if (groupIdAt_[d] != kNone)
      w.s[groupIdAt_[d]] = place.groupId[d];
  if (idsInTtmps_) {
    w.s[kTtmp + 9] = place.groupId[0];
    w.s[kTtmp + 7] = (place.groupId[1] & 0xffff) | place.groupId[2] << 16;
    w.s[kTtmp + 8] = place.index << 25;
  }
  if (groupInfoAt_ != kNone)
    w.s[groupInfoAt_] = place.groupWaves | (place.index == 0 ? 0x80000000u : 0);
  if (scratchOffsetAt_ != kNone)
    w.s[scratchOffsetAt_] = static_cast<uint32_t>(place.scratchOffset);
}

void WaveStart::setVectors(Wave &w, const std::array<uint32_t, 3> &groupSize, std::span<const uint16_t> except) const {
  const uint32_t given = itemIdRegisters();
  ItemIds own;
  const ItemIds *ids = &own;
  if (groupSize == fullSize_) [[likely]]
    ids = &itemIds_[w.index];
  else
    fillItemIds(own, groupSize, w.index);
  if (except.empty()) [[likely]] {
    setRows(w.v, ids->lanes, given, w.lanes);
    setRows(w.v + given, nullptr, vgprs_ - given, w.lanes);
    if (accVgprs_)
      setRows(w.v + kAccBase, nullptr, accVgprs_, w.lanes);
    return;
  }
  const auto kept = [&](uint32_t reg) { return std::ranges::binary_search(except, reg); };
  for (uint32_t reg = 0; reg < vgprs_; ++reg) {
    if (kept(reg))
      continue;
    if (reg < given)
      memcpy(w.v[reg], ids->lanes[reg], sizeof w.v[0]);
    else
      memset(w.v[reg], 0, sizeof w.v[0]);
  }
  for (uint32_t reg = kAccBase; reg < kAccBase + accVgprs_; ++reg)
    if (!kept(reg))
      memset(w.v[reg], 0, sizeof w.v[0]);
}

} // namespace luthier::vgpu
