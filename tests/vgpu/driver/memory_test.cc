#include "vgpu/driver/memory.h"

#include "fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <vector>

namespace luthier::vgpu {
namespace {

using namespace kfd::memory;

struct Memory : testing::Test {
  AddressSpace space;
  MemoryManager memory{space, 1ull << 30, {64ull << 20, 64ull << 20}};
  std::map<uint64_t, uint64_t> handles; ///< by address

  static constexpr uint32_t kFlags = kWritable | kPublic;

  int tryAllocate(uint32_t gpu, uint64_t address, uint64_t size, uint32_t flags, uint64_t host = 0) {
    uint64_t handle = 0, mmapOffset = 0;
    const int error = memory.allocate(gpu, address, size, flags, host, handle, mmapOffset);
    if (!error)
      handles[address] = handle;
    return error;
  }
  uint64_t allocate(uint32_t gpu, uint64_t size, uint32_t kind = kVram) {
    const uint64_t address = reserveAddresses(size);
    EXPECT_EQ(tryAllocate(gpu, address, size, kind | kFlags), 0);
    return address;
  }
  int map(uint64_t address, std::vector<uint32_t> gpus) {
    uint32_t done = 0;
    const int error = memory.map(handles[address], gpus, done);
    EXPECT_EQ(done, error ? 0 : gpus.size());
    return error;
  }
  int unmap(uint64_t address, std::vector<uint32_t> gpus) {
    uint32_t done = 0;
    return memory.unmap(handles[address], gpus, done);
  }
  int release(uint64_t address) { return memory.release(handles[address]); }
};

TEST_F(Memory, onlyMappedPagesAreAccessible) {
  const uint64_t at = allocate(0, 4 * kPage);
  EXPECT_FALSE(space.allows(at, 1, 1));
  EXPECT_EQ(map(at, {0}), 0);
  EXPECT_TRUE(space.allows(at, 4 * kPage, 1));
  EXPECT_FALSE(space.allows(at, 1, 2));
  EXPECT_FALSE(space.allows(at - 1, 1, 1));
  EXPECT_FALSE(space.allows(at + 4 * kPage, 1, 1));
  std::memset(pointer(at), 1, 4 * kPage);
}

// Addresses are the thunk's choice; what is behind them must not be shared.
TEST_F(Memory, everyBufferHasBytesOfItsOwn) {
  std::vector<uint64_t> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(allocate(0, kPage));
    ASSERT_EQ(map(all.back(), {0}), 0);
    std::memset(pointer(all.back()), i + 1, kPage);
  }
  for (size_t i = 0; i < all.size(); ++i)
    for (const uint64_t byte : {uint64_t{0}, kPage - 1})
      EXPECT_EQ(pointer(all[i])[byte], static_cast<char>(i + 1));
}

TEST_F(Memory, mappingAddsGpusAndUnmappingTakesThoseThatAreNamed) {
  const uint64_t at = allocate(0, kPage, kGtt);
  EXPECT_EQ(map(at, {0}), 0);
  EXPECT_EQ(map(at, {1}), 0);
  EXPECT_TRUE(space.allows(at, 1, 3));
  EXPECT_EQ(unmap(at, {0}), 0);
  EXPECT_FALSE(space.allows(at, 1, 1));
  EXPECT_TRUE(space.allows(at, 1, 2));
  EXPECT_EQ(unmap(at, {0, 1}), 0);
  EXPECT_FALSE(space.allows(at, 1, 2));
  EXPECT_EQ(map(at, {0, 1}), 0);
  EXPECT_TRUE(space.allows(at, 1, 3));
  EXPECT_EQ(map(at, {2}), EINVAL);
  EXPECT_EQ(unmap(at, {2}), EINVAL);
}

TEST_F(Memory, sizeOfTheGpuIsALimit) {
  const uint64_t most = allocate(0, 60ull << 20);
  EXPECT_EQ(tryAllocate(0, reserveAddresses(8ull << 20), 8ull << 20, kVram | kFlags), ENOMEM);
  allocate(1, 8ull << 20);
  EXPECT_EQ(memory.available(0), 4ull << 20);
  EXPECT_EQ(memory.available(1), 56ull << 20);
  EXPECT_EQ(release(most), 0);
  EXPECT_EQ(memory.available(0), 64ull << 20);
  allocate(0, 64ull << 20);
  EXPECT_EQ(memory.available(0), 0u);
  EXPECT_EQ(tryAllocate(0, reserveAddresses(2ull << 30), 2ull << 30, kGtt | kFlags), ENOMEM);
  allocate(0, 1ull << 20, kGtt); // the host's, which is no limit of the GPU's
}

TEST_F(Memory, freedMemoryIsNotAccessible) {
  std::vector<std::pair<uint64_t, uint64_t>> gone;
  memory.onGone = [&](uint64_t begin, uint64_t size) { gone.emplace_back(begin, size); };
  const uint64_t data = allocate(0, kPage);
  ASSERT_EQ(map(data, {0}), 0);
  EXPECT_EQ(release(data), EBUSY);
  EXPECT_TRUE(space.allows(data, 1, 1));
  EXPECT_TRUE(gone.empty());
  EXPECT_EQ(unmap(data, {0}), 0);
  EXPECT_EQ(gone, (std::vector<std::pair<uint64_t, uint64_t>>{{data, kPage}}));
  EXPECT_FALSE(space.allows(data, 1, 1));
  EXPECT_EQ(release(data), 0);
  EXPECT_EQ(release(data), EINVAL);
}

TEST_F(Memory, badRequests) {
  const uint64_t at = reserveAddresses(4 * kPage);
  EXPECT_EQ(tryAllocate(0, at, 0, kVram), EINVAL);
  EXPECT_EQ(tryAllocate(0, at, kPage + 1, kVram), EINVAL);
  EXPECT_EQ(tryAllocate(0, at + 1, kPage, kVram), EINVAL);
  EXPECT_EQ(tryAllocate(0, at, kPage, kVram | kGtt), EINVAL);
  EXPECT_EQ(tryAllocate(0, at, kPage, kWritable), EINVAL);
  uint32_t done = 0;
  const uint32_t gpu = 0;
  EXPECT_EQ(memory.map(12345, {&gpu, 1}, done), EINVAL);
  EXPECT_EQ(memory.unmap(12345, {&gpu, 1}, done), EINVAL);
  EXPECT_EQ(memory.release(12345), EINVAL);
  EXPECT_EQ(memory.buffer(12345), nullptr);
}

// The host may then use large pages, if the thunk aligns the address as well.
TEST_F(Memory, largeBuffersBeginAtLargePages) {
  allocate(0, kPage);
  const uint64_t large = allocate(0, 4ull << 20);
  EXPECT_EQ(memory.buffer(handles[large])->fileOffset % (2ull << 20), 0u);
  ASSERT_EQ(map(large, {0}), 0);
  std::memset(pointer(large), 1, 4ull << 20);
  EXPECT_EQ(unmap(large, {0}), 0);
  EXPECT_EQ(release(large), 0);
}

/// The application's pages, under the address that they have, as newer thunks do it.
struct UserMemory : Memory {
  uint64_t base = hostPages(16 * kPage);
  std::multimap<uint64_t, uint64_t> registered;

  void add(uint64_t at, uint64_t size, std::vector<uint32_t> gpus = {0, 1}) {
    uint64_t handle = 0, mmapOffset = 0;
    ASSERT_EQ(memory.allocate(0, at, size, kUserPointer | kFlags, at, handle, mmapOffset), 0);
    uint32_t done = 0;
    ASSERT_EQ(memory.map(handle, gpus, done), 0);
    registered.emplace(at, handle);
  }
  void remove(uint64_t at) {
    const auto found = registered.find(at);
    ASSERT_NE(found, registered.end());
    const uint32_t gpus[] = {0, 1};
    uint32_t done = 0;
    EXPECT_EQ(memory.unmap(found->second, gpus, done), 0);
    EXPECT_EQ(memory.release(found->second), 0);
    registered.erase(found);
  }
};

TEST_F(UserMemory, mapsToAllGpusAndGoesAway) {
  add(base, 3 * kPage);
  EXPECT_TRUE(space.allows(base, 3 * kPage, 3));
  EXPECT_FALSE(space.allows(base + 3 * kPage, 1, 1));
  remove(base);
  EXPECT_FALSE(space.allows(base, 1, 1));
  EXPECT_FALSE(space.allows(base, 1, 2));
}

TEST_F(UserMemory, sharedPagesStayUntilTheLast) {
  add(base, 2 * kPage);
  add(base + kPage, 2 * kPage);
  remove(base);
  EXPECT_FALSE(space.allows(base, 1, 1));
  EXPECT_TRUE(space.allows(base + kPage, 2 * kPage, 1));
  remove(base + kPage);
  EXPECT_FALSE(space.allows(base + kPage, 1, 1));
}

TEST_F(UserMemory, registrationsOfTheSameRangeAreCounted) {
  add(base, kPage);
  add(base, kPage);
  remove(base);
  EXPECT_TRUE(space.allows(base, 1, 1));
  remove(base);
  EXPECT_FALSE(space.allows(base, 1, 1));
}

TEST_F(UserMemory, registeringPartOfAnAllocationKeepsTheAllocation) {
  const uint64_t at = allocate(0, 4 * kPage, kGtt);
  ASSERT_EQ(map(at, {0}), 0);
  add(at + kPage, kPage);
  remove(at + kPage);
  EXPECT_TRUE(space.allows(at, 4 * kPage, 1));
  EXPECT_FALSE(space.allows(at + kPage, 1, 2));
}

TEST_F(Memory, flagsThatCannotBeHadAreRefused) {
  for (const uint32_t extra : {1u << 5, 1u << 18, kAqlQueue}) {
    const uint64_t own = hostPages(kPage);
    for (const uint32_t kind : {kGtt, kUserPointer}) {
      const std::string said =
          messagesOf([&] { EXPECT_EQ(tryAllocate(0, own, kPage, kind | kWritable | extra, own), EINVAL) << extra; });
      EXPECT_NE(said.find("AMDKFD_IOC_ALLOC_MEMORY_OF_GPU"), std::string::npos);
      EXPECT_NE(said.find(fmt::format("{:#x} (of", extra)), std::string::npos) << said;
    }
  }
}

// Page tables have 48 bits; what is above must not become something below.
TEST_F(Memory, addressesThatNobodyHas) {
  const uint64_t high = 1ull << 48 | 0x10000, own = hostPages(kPage);
  EXPECT_EQ(tryAllocate(0, own, kPage, kUserPointer, high), EINVAL);
  EXPECT_EQ(tryAllocate(0, own, 1ull << 48, kUserPointer, own), EINVAL);
  EXPECT_EQ(tryAllocate(0, high, kPage, kUserPointer, own), EINVAL);
  EXPECT_EQ(tryAllocate(0, high, kPage, kVram), EINVAL);
  EXPECT_FALSE(space.allows(0x10000, 1, 1));
}

} // namespace
} // namespace luthier::vgpu
