// What a thunk does on its side: addresses for buffers, and a driver of some gfx90a to ask by ioctls.
#pragma once

#include "vgpu/driver/driver.h"
#include "vgpu/driver/kfd.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace luthier::vgpu {

inline constexpr uint64_t kPage = AddressSpace::kPageSize;

template <typename T = char> T *pointer(uint64_t address) { return reinterpret_cast<T *>(address); }

/// Addresses of the host that nobody else has, with nothing behind them, nor at their neighbours.
inline uint64_t reserveAddresses(uint64_t size) {
  void *at = mmap(nullptr, size + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT_NE(at, MAP_FAILED);
  return reinterpret_cast<uint64_t>(at) + kPage;
}

/// Pages of the application.
inline uint64_t hostPages(uint64_t size) {
  const uint64_t at = reserveAddresses(size);
  EXPECT_EQ(mprotect(pointer(at), size, PROT_READ | PROT_WRITE), 0);
  return at;
}

/// What `run` writes to stderr.
template <typename Run> std::string messagesOf(Run run) {
  testing::internal::CaptureStderr();
  run();
  return testing::internal::GetCapturedStderr();
}

inline Topology someGpus(size_t count) {
  return Topology(HostInfo::read(), std::vector<DeviceConfig>(count, deviceConfig(*isa::findTarget("gfx90a"))));
}

struct KfdTest : testing::Test {
  static constexpr uint32_t kVram = kfd::memory::kVram | kfd::memory::kWritable | kfd::memory::kPublic;
  static constexpr uint32_t kGtt = kfd::memory::kGtt | kfd::memory::kWritable;

  explicit KfdTest(size_t gpus = 2) : topology(someGpus(gpus)) {}

  Topology topology;
  Driver driver{topology};

  /// 0 or an errno value.
  template <typename T> int call(kfd::Request request, T &argument) {
    return kfdIoctl(driver, static_cast<unsigned>(request), sizeof(T), &argument);
  }
  uint32_t id(uint32_t gpu) const { return driver.gpuId(gpu); }

  /// Memory at addresses of its own, mapped to the GPU but not to the host.
  kfd::AllocMemory allocate(uint64_t size, uint32_t flags = kVram, uint32_t gpu = 0) {
    kfd::AllocMemory request{reserveAddresses(size), size, 0, 0, id(gpu), flags};
    EXPECT_EQ(call(kfd::Request::AllocMemory, request), 0);
    return request;
  }
  int map(uint64_t handle, std::vector<uint32_t> gpus, bool unmap = false) {
    for (uint32_t &gpu : gpus)
      gpu = id(gpu);
    kfd::MapMemory request{handle, reinterpret_cast<uint64_t>(gpus.data()), static_cast<uint32_t>(gpus.size()), 0};
    const int error = call(unmap ? kfd::Request::UnmapMemory : kfd::Request::MapMemory, request);
    EXPECT_EQ(request.done, error ? 0 : gpus.size());
    return error;
  }
  int free(uint64_t handle) {
    kfd::FreeMemory request{handle};
    return call(kfd::Request::FreeMemory, request);
  }
  /// Of the driver and of the host, mapped.
  uint64_t mapped(uint64_t size, uint32_t flags = kGtt, std::vector<uint32_t> gpus = {0}) {
    const kfd::AllocMemory made = allocate(size, flags);
    EXPECT_EQ(map(made.handle, gpus), 0);
    return made.address;
  }
};

} // namespace luthier::vgpu
