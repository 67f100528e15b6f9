#include "object/kernel_descriptor.h"

#include "isa/occupancy.h"

#include <algorithm>

namespace luthier::object {

namespace {

// Offsets of the descriptor's words.
constexpr size_t kGroupSegment = 0, kPrivateSegment = 4, kKernarg = 8, kReserved12 = 12, kEntry = 16, kReserved24 = 24,
                 kRsrc3 = 44, kRsrc1 = 48, kRsrc2 = 52, kProperties = 56, kPreload = 58, kReserved60 = 60;

/// SGPRs that a wave has from gfx10 on, whatever it asks for.
constexpr uint32_t kFixedSgprs = 128;

constexpr uint32_t kMaxUserSgprs = 31;

template <class T> void store(std::byte *at, const T &value) { std::memcpy(at, &value, sizeof value); }

template <class T> void load(T &into, const std::byte *at) { std::memcpy(&into, at, sizeof into); }

} // namespace

std::string_view nameOf(InitialSgpr what) {
  static constexpr std::string_view kNames[kInitialSgprs] = {"private segment buffer",
                                                             "dispatch pointer",
                                                             "queue pointer",
                                                             "kernarg segment pointer",
                                                             "dispatch id",
                                                             "flat scratch init",
                                                             "private segment size",
                                                             "preloaded kernargs",
                                                             "workgroup id x",
                                                             "workgroup id y",
                                                             "workgroup id z",
                                                             "workgroup info",
                                                             "private segment wave offset"};
  return kNames[static_cast<unsigned>(what)];
}

KernelDescriptor KernelDescriptor::read(std::span<const std::byte, kBytes> bytes) {
  const std::byte *at = bytes.data();
  KernelDescriptor d;
  load(d.groupSegmentSize, at + kGroupSegment);
  load(d.privateSegmentSize, at + kPrivateSegment);
  load(d.kernargSize, at + kKernarg);
  load(d.reservedAt12, at + kReserved12);
  load(d.entryOffset, at + kEntry);
  load(d.reservedAt24, at + kReserved24);
  load(d.rsrc3, at + kRsrc3);
  load(d.rsrc1, at + kRsrc1);
  load(d.rsrc2, at + kRsrc2);
  load(d.codeProperties, at + kProperties);
  load(d.kernargPreload, at + kPreload);
  load(d.reservedAt60, at + kReserved60);
  return d;
}

void KernelDescriptor::write(std::span<std::byte, kBytes> bytes) const {
  std::byte *at = bytes.data();
  store(at + kGroupSegment, groupSegmentSize);
  store(at + kPrivateSegment, privateSegmentSize);
  store(at + kKernarg, kernargSize);
  store(at + kReserved12, reservedAt12);
  store(at + kEntry, entryOffset);
  store(at + kReserved24, reservedAt24);
  store(at + kRsrc3, rsrc3);
  store(at + kRsrc1, rsrc1);
  store(at + kRsrc2, rsrc2);
  store(at + kProperties, codeProperties);
  store(at + kPreload, kernargPreload);
  store(at + kReserved60, reservedAt60);
}

uint32_t KernelDescriptor::vgprs(const isa::Target &target) const {
  return (rsrc1::vgprBlocks.get(rsrc1) + 1) * isa::vgprDescriptorGranule(target, waveSize(target));
}

/// Unit of the count of SGPRs. Where more are allocated at a time, only some counts are used.
static constexpr uint32_t kSgprBlock = 8;

uint32_t KernelDescriptor::sgprs(const isa::Target &target) const {
  if (!target.countsSgprs())
    return kFixedSgprs;
  const uint32_t granule = target.sgprDescriptorGranule;
  return ((rsrc1::sgprBlocks.get(rsrc1) + 1) * kSgprBlock + granule - 1) / granule * granule;
}

Result<void> KernelDescriptor::setVgprs(const isa::Target &target, uint32_t count) {
  const uint32_t most = target.vgprs + (target.unifiedVgprs ? target.accVgprs : 0);
  if (count > most)
    return makeError("{} VGPRs are more than the {} of {}", count, most, target.name);
  const uint32_t block = isa::vgprDescriptorGranule(target, waveSize(target));
  rsrc1::vgprBlocks.set(rsrc1, (std::max(count, 1u) + block - 1) / block - 1);
  return {};
}

Result<void> KernelDescriptor::setSgprs(const isa::Target &target, uint32_t count) {
  if (!target.countsSgprs()) {
    if (count > kFixedSgprs)
      return makeError("{} SGPRs are more than the {} of {}", count, kFixedSgprs, target.name);
    rsrc1::sgprBlocks.set(rsrc1, 0);
    return {};
  }
  constexpr uint32_t kMost = 112;
  if (count > kMost)
    return makeError("{} SGPRs are more than the {} of {}", count, kMost, target.name);
  const uint32_t granule = target.sgprDescriptorGranule;
  rsrc1::sgprBlocks.set(rsrc1, ((std::max(count, 1u) + granule - 1) / granule - 1) * (granule / kSgprBlock));
  return {};
}

Result<void> KernelDescriptor::setAccumOffset(uint32_t count) {
  if (count % 4 != 0 || count < 4 || count > 256)
    return makeError("AccVGPRs cannot begin at {}: only at a multiple of 4 up to 256", count);
  rsrc3::accumOffset.set(rsrc3, count / 4 - 1);
  return {};
}

Result<void> KernelDescriptor::setUserSgprs(uint32_t count) {
  if (count > kMaxUserSgprs)
    return makeError("{} user SGPRs are more than a descriptor can ask for ({})", count, kMaxUserSgprs);
  rsrc2::userSgprs.set(rsrc2, count);
  return {};
}

void KernelDescriptor::setPrefetchedBytes(const isa::Target &target, uint64_t bytes) {
  constexpr uint64_t kLine = 128;
  const BitField<uint32_t> field{rsrc3::instPrefSize.shift, target.prefetchSizeBits};
  if (!field.width || !field.get(rsrc3))
    return;
  const uint64_t most = (uint64_t{1} << field.width) - 1;
  field.set(rsrc3, static_cast<uint32_t>(std::min((bytes + kLine - 1) / kLine, most)));
}

InitialSgprs KernelDescriptor::initialSgprs(const isa::Target &target) const {
  InitialSgprs sgprs;
  uint32_t next = 0;
  auto add = [&](InitialSgpr what, bool enabled, uint32_t count) {
    if (!enabled)
      return;
    sgprs.ranges[static_cast<unsigned>(what)] = {static_cast<uint8_t>(next), static_cast<uint8_t>(count)};
    next += count;
  };
  add(InitialSgpr::PrivateSegmentBuffer, privateSegmentBuffer(), 4);
  add(InitialSgpr::DispatchPtr, dispatchPtr(), 2);
  add(InitialSgpr::QueuePtr, queuePtr(), 2);
  add(InitialSgpr::KernargSegmentPtr, kernargPtr(), 2);
  add(InitialSgpr::DispatchId, dispatchId(), 2);
  add(InitialSgpr::FlatScratchInit, flatScratchInit(), 2);
  add(InitialSgpr::PrivateSegmentSize, privateSegmentSizeSgpr(), 1);
  // No more than the user SGPRs that are left: the length field can say 127.
  const uint32_t room = userSgprs() > next ? userSgprs() - next : 0;
  add(InitialSgpr::PreloadedKernargs, preloadLength() != 0, std::min(preloadLength(), room));
  // The system SGPRs follow the user SGPRs that are counted, which is not always the sum of those that are enabled.
  next = userSgprs();
  sgprs.user = static_cast<uint8_t>(next);
  const bool inSgprs = !target.workgroupIdsInTtmps;
  add(InitialSgpr::WorkgroupIdX, inSgprs && workgroupId(0), 1);
  add(InitialSgpr::WorkgroupIdY, inSgprs && workgroupId(1), 1);
  add(InitialSgpr::WorkgroupIdZ, inSgprs && workgroupId(2), 1);
  add(InitialSgpr::WorkgroupInfo, workgroupInfo(), 1);
  add(InitialSgpr::PrivateSegmentWaveOffset, usesScratch() && !architectedFlatScratch(target), 1);
  sgprs.total = static_cast<uint8_t>(next);
  return sgprs;
}

} // namespace luthier::object
