#include "vgpu/driver/svm.h"

#include "support/log.h"

#include <algorithm>
#include <cerrno>
#include <sys/uio.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

constexpr uint64_t kSvmGranule = AddressSpace::kPageSize;
/// Pages that are looked for at once.
constexpr uint64_t kBlockPages = 64;

/// How many of `pages` pages from `begin` on the host can read, up to the first that it cannot.
uint64_t readablePages(uint64_t begin, uint64_t pages) {
  iovec remote[kBlockPages];
  char bytes[kBlockPages];
  for (uint64_t n = 0; n < pages; ++n)
    remote[n] = {reinterpret_cast<void *>(begin + n * kSvmGranule), 1};
  iovec local{bytes, pages};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, remote, pages, 0);
  return got < 0 ? 0 : static_cast<uint64_t>(got);
}

} // namespace

SharedMemory::SharedMemory(AddressSpace &space, std::vector<uint32_t> gpuIds)
    : space_(space), gpuIds_(std::move(gpuIds)) {}

bool SharedMemory::maskOf(uint32_t gpuId, DeviceMask &mask) const {
  const auto found = std::ranges::find(gpuIds_, gpuId);
  if (found == gpuIds_.end())
    return false;
  mask = static_cast<DeviceMask>(1u << (found - gpuIds_.begin()));
  return true;
}

bool SharedMemory::validLocation(uint32_t value) const {
  DeviceMask mask;
  return value == kfd::kSvmSystemMemory || value == kfd::kSvmUndefined || maskOf(value, mask);
}

void SharedMemory::split(uint64_t at) {
  auto after = ranges_.upper_bound(at);
  if (after == ranges_.begin())
    return;
  auto &[start, range] = *std::prev(after);
  if (start == at || range.end <= at)
    return;
  ranges_.emplace(at, Range{range.end, range.attributes});
  range.end = at;
}

int SharedMemory::set(uint64_t start, uint64_t size, std::span<const kfd::SvmAttribute> attributes) {
  using enum kfd::SvmType;
  if (start % kSvmGranule || size % kSvmGranule || size == 0 || start >= AddressSpace::kEnd ||
      size > AddressSpace::kEnd - start)
    return EINVAL;
  for (const kfd::SvmAttribute &attribute : attributes) {
    DeviceMask mask;
    bool valid = false;
    switch (static_cast<kfd::SvmType>(attribute.type)) {
    case PreferredLocation:
      valid = validLocation(attribute.value);
      break;
    case PrefetchLocation:
      valid = attribute.value != kfd::kSvmUndefined && validLocation(attribute.value);
      break;
    case Access:
    case AccessInPlace:
    case NoAccess:
      valid = maskOf(attribute.value, mask);
      break;
    case SetFlags:
      valid = (attribute.value & ~kfd::kSvmKnownFlags) == 0;
      break;
    case ClearFlags: // the thunk clears all but those that it wants
    case Granularity:
      valid = true;
      break;
    }
    if (!valid) {
      log::error("vgpu: AMDKFD_IOC_SVM: attribute {} cannot have the value {:#x}", attribute.type, attribute.value);
      return EINVAL;
    }
  }
  std::lock_guard lock(mutex_);
  const uint64_t end = start + size;
  split(start);
  split(end);
  for (uint64_t at = start; at < end;) {
    auto range = ranges_.lower_bound(at);
    if (range == ranges_.end() || range->first > at) {
      const uint64_t next = range == ranges_.end() ? end : std::min(end, range->first);
      range = ranges_.emplace(at, Range{next, {}}).first;
    }
    Attributes &now = range->second.attributes;
    for (const kfd::SvmAttribute &attribute : attributes) {
      DeviceMask mask = 0;
      maskOf(attribute.value, mask);
      switch (static_cast<kfd::SvmType>(attribute.type)) {
      case PreferredLocation:
        now.preferred = attribute.value;
        break;
      case PrefetchLocation:
        now.prefetched = attribute.value;
        break;
      case Access:
      case AccessInPlace:
      case NoAccess:
        now.access &= static_cast<DeviceMask>(~mask);
        now.inPlace &= static_cast<DeviceMask>(~mask);
        now.denied &= static_cast<DeviceMask>(~mask);
        (attribute.type == static_cast<uint32_t>(Access)          ? now.access
         : attribute.type == static_cast<uint32_t>(AccessInPlace) ? now.inPlace
                                                                  : now.denied) |= mask;
        break;
      case SetFlags:
        now.flags |= attribute.value;
        break;
      case ClearFlags:
        now.flags &= ~attribute.value;
        break;
      case Granularity:
        now.granularity = std::min(attribute.value, 0x3fu);
        break;
      }
    }
    at = range->second.end;
  }
  // Neighbours that say the same are one, lest the map grow with every registration.
  auto at = ranges_.lower_bound(start);
  if (at != ranges_.begin())
    --at;
  while (at != ranges_.end() && at->first <= end) {
    auto next = std::next(at);
    if (next != ranges_.end() && next->first == at->second.end && next->second.attributes == at->second.attributes) {
      at->second.end = next->second.end;
      ranges_.erase(next);
    } else {
      at = next;
    }
  }
  return 0;
}

// Of several ranges, the kernel driver tells what they have in common.
int SharedMemory::get(uint64_t start, uint64_t size, std::span<kfd::SvmAttribute> attributes) {
  using enum kfd::SvmType;
  if (start % kSvmGranule || size % kSvmGranule || size == 0)
    return EINVAL;
  std::lock_guard lock(mutex_);
  std::vector<const Attributes *> found;
  static const Attributes kDefault;
  uint64_t at = start;
  auto range = ranges_.upper_bound(start);
  if (range != ranges_.begin())
    --range;
  for (; range != ranges_.end() && range->first < start + size; ++range) {
    if (range->second.end <= start)
      continue;
    if (range->first > at)
      found.push_back(&kDefault);
    found.push_back(&range->second.attributes);
    at = range->second.end;
  }
  if (at < start + size)
    found.push_back(&kDefault);
  const auto common = [&](auto member) {
    for (const Attributes *one : found)
      if (one->*member != found.front()->*member)
        return kfd::kSvmUndefined;
    return found.front()->*member;
  };
  for (kfd::SvmAttribute &attribute : attributes) {
    DeviceMask mask = 0;
    switch (static_cast<kfd::SvmType>(attribute.type)) {
    case PreferredLocation:
      attribute.value = common(&Attributes::preferred);
      break;
    case PrefetchLocation:
      attribute.value = common(&Attributes::prefetched);
      break;
    case Access: {
      if (!maskOf(attribute.value, mask))
        return EINVAL;
      const auto all = [&](auto member) {
        return std::ranges::all_of(found, [&](const Attributes *one) { return (one->*member & mask) != 0; });
      };
      const bool any = std::ranges::all_of(found, [&](const Attributes *one) { return allows(*one, mask); });
      attribute.type = static_cast<uint32_t>(all(&Attributes::access)    ? Access
                                             : all(&Attributes::inPlace) ? AccessInPlace
                                             : any                       ? Access
                                                                         : NoAccess);
      break;
    }
    case SetFlags:
      attribute.value = ~0u;
      for (const Attributes *one : found)
        attribute.value &= one->flags;
      break;
    case ClearFlags:
      attribute.value = ~0u;
      for (const Attributes *one : found)
        attribute.value &= ~one->flags;
      break;
    case Granularity:
      attribute.value = found.front()->granularity;
      for (const Attributes *one : found)
        attribute.value = std::min(attribute.value, one->granularity);
      break;
    default:
      return EINVAL;
    }
  }
  return 0;
}

bool SharedMemory::allows(const Attributes &attributes, DeviceMask device) const {
  return ((attributes.access | attributes.inPlace) & device) == device || (xnack() && !(attributes.denied & device));
}

bool SharedMemory::pageIn(uint64_t address, DeviceMask device) {
  if (address >= AddressSpace::kEnd)
    return false;
  std::lock_guard lock(mutex_);
  const uint64_t page = address / kSvmGranule * kSvmGranule;
  uint64_t end = (page / (kBlockPages * kSvmGranule) + 1) * (kBlockPages * kSvmGranule);
  auto after = ranges_.upper_bound(page);
  const auto before = after == ranges_.begin() ? ranges_.end() : std::prev(after);
  if (before != ranges_.end() && page < before->second.end) {
    if (!allows(before->second.attributes, device))
      return false;
    end = std::min(end, before->second.end);
  } else {
    if (!xnack())
      return false;
    if (after != ranges_.end())
      end = std::min(end, after->first);
  }
  // From the page that is wanted to the end of the block, or to what the host has not.
  const uint64_t readable = readablePages(page, (end - page) / kSvmGranule);
  if (readable == 0)
    return false;
  // Pages that are there for another reason must stay when these go.
  for (uint64_t at = page; at < page + readable * kSvmGranule; at += kSvmGranule) {
    if (space_.mapped(at, 1, device))
      continue;
    if (!pages_.empty() && pages_.back().begin + pages_.back().size == at && pages_.back().devices == device)
      pages_.back().size += kSvmGranule;
    else
      pages_.push_back({at, kSvmGranule, device});
    space_.map(at, kSvmGranule, device);
  }
  hasPages_.store(true, std::memory_order_release);
  return true;
}

void SharedMemory::disown(uint64_t begin, uint64_t size) {
  if (!hasPages_.load(std::memory_order_acquire))
    return;
  std::lock_guard lock(mutex_);
  const uint64_t end = begin + size;
  for (size_t n = pages_.size(); n-- > 0;) {
    const Pages pages = pages_[n];
    if (pages.begin >= end || pages.begin + pages.size <= begin)
      continue;
    pages_.erase(pages_.begin() + static_cast<ptrdiff_t>(n));
    if (pages.begin < begin)
      pages_.push_back({pages.begin, begin - pages.begin, pages.devices});
    if (pages.begin + pages.size > end)
      pages_.push_back({end, pages.begin + pages.size - end, pages.devices});
  }
}

void SharedMemory::forgetPages() {
  if (!hasPages_.load(std::memory_order_acquire))
    return;
  std::lock_guard lock(mutex_);
  hasPages_.store(false, std::memory_order_release);
  for (const Pages &pages : pages_)
    space_.unmap(pages.begin, pages.size, pages.devices);
  pages_.clear();
}

} // namespace luthier::vgpu
