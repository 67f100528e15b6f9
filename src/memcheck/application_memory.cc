#include "memcheck/application_memory.h"

#include "memcheck/host_stack.h"
#include "support/variables.h"

#include <algorithm>

namespace luthier::memcheck {

namespace {

/// The function of HIP that the application has called, if it was that.
bool calledThrough(const HostStack &stack, std::string_view function) {
  return std::ranges::any_of(describeHostStack(stack),
                             [&](const check::HostFrame &frame) { return frame.function == function; });
}

uint64_t quarantineBytes() {
  const auto mebibytes = env::number(env::kCheckQuarantine, ApplicationMemory::kDefaultQuarantine);
  return (mebibytes ? *mebibytes : ApplicationMemory::kDefaultQuarantine) << 20;
}

} // namespace

ApplicationMemory::ApplicationMemory(PageGuards &guards) : allocations_(guards), quarantineBytes_(quarantineBytes()) {}

void ApplicationMemory::allocated(uint64_t begin, uint64_t size) {
  Allocation allocation;
  allocation.begin = begin;
  allocation.size = size;
  const bool device = isDevice(begin);
  allocation.kind = device ? Allocation::Kind::Device : Allocation::Kind::Host;
  allocation.allocatedAt = captureHostStack();
  // HIP keeps arguments of all its launches together. Whoever uses ROCr alone may have anything beside them.
  allocation.mayBeKernarg = !device && passesThroughHip(allocation.allocatedAt);
  // What HIP allocates for itself it fills in ways of its own; what it allocates for its caller is claimed.
  if (onUndefined && device && !passesThroughHip(allocation.allocatedAt))
    onUndefined(begin, size);
  allocations_.add(std::move(allocation));
}

void ApplicationMemory::claimed(uint64_t begin) {
  allocations_.claim(begin);
  const auto live = onUndefined ? allocations_.liveAround(begin, 1) : std::nullopt;
  if (live && live->begin == begin && live->kind == Allocation::Kind::Device)
    onUndefined(live->begin, live->end - live->begin);
}

void ApplicationMemory::registered(uint64_t host, uint64_t begin, uint64_t size) {
  Allocation allocation;
  allocation.begin = begin;
  allocation.size = size;
  allocation.kind = Allocation::Kind::Registered;
  allocation.allocatedAt = captureHostStack();
  allocations_.add(std::move(allocation));
  std::lock_guard lock(mutex_);
  registered_[host] = begin;
}

void ApplicationMemory::unregistered(uint64_t host) {
  uint64_t begin = 0;
  {
    std::lock_guard lock(mutex_);
    const auto found = registered_.find(host);
    if (found == registered_.end())
      return;
    begin = found->second;
    registered_.erase(found);
  }
  allocations_.free(begin, captureHostStack());
}

void ApplicationMemory::managed(uint64_t begin, uint64_t size) {
  HostStack stack = captureHostStack();
  // The same call also gives advice on memory that exists.
  if (!calledThrough(stack, "hipMallocManaged"))
    return;
  Allocation allocation;
  allocation.begin = begin;
  allocation.size = size;
  allocation.kind = Allocation::Kind::Managed;
  allocation.allocatedAt = std::move(stack);
  allocations_.add(std::move(allocation));
}

void ApplicationMemory::freedByHip(uint64_t begin) {
  const auto live = allocations_.liveAround(begin, 1);
  if (!live || live->begin != begin || live->kind != Allocation::Kind::Managed)
    return;
  allocations_.free(begin, captureHostStack());
  allocations_.forget(begin); // the host may use the addresses again at once
}

ApplicationMemory::Freed ApplicationMemory::freed(uint64_t begin) {
  const auto live = allocations_.liveAround(begin, 1);
  if (live && live->begin == begin && allocations_.free(begin, captureHostStack())) {
    std::lock_guard lock(mutex_);
    quarantine_.emplace_back(begin, live->end - begin);
    quarantined_ += live->end - begin;
    return Freed::Kept;
  }
  std::lock_guard lock(mutex_);
  return std::ranges::find(quarantine_, begin, &std::pair<uint64_t, uint64_t>::first) != quarantine_.end()
             ? Freed::Again
             : Freed::Unknown;
}

std::vector<uint64_t> ApplicationMemory::release(bool all) {
  std::vector<uint64_t> addresses;
  std::vector<std::pair<uint64_t, uint64_t>> gone;
  {
    std::lock_guard lock(mutex_);
    while (!quarantine_.empty() && (all || quarantined_ > quarantineBytes_)) {
      addresses.push_back(quarantine_.front().first);
      gone.push_back(quarantine_.front());
      quarantined_ -= quarantine_.front().second;
      quarantine_.pop_front();
    }
  }
  for (const auto &[begin, size] : gone) {
    allocations_.forget(begin);
    if (onGivenBack)
      onGivenBack(begin, size);
  }
  return addresses;
}

} // namespace luthier::memcheck
