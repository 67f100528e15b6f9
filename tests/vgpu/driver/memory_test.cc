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

TEST_F(Memory, hostsMapBuffersByTheirOffsets) {
  uint64_t handle = 0, offset = 0, second = 0, secondOffset = 0;
  const uint64_t address = reserveAddresses(4 * kPage);
  ASSERT_EQ(memory.allocate(0, address, 4 * kPage, kVram, 0, handle, offset), 0);
  ASSERT_EQ(memory.allocate(1, 0, kPage, kVram, 0, second, secondOffset), 0);
  EXPECT_NE(handle, second);
  EXPECT_NE(offset, secondOffset);
  auto *whole = static_cast<char *>(memory.mapToHost(pointer(address), 4 * kPage, MAP_SHARED | MAP_FIXED, offset));
  ASSERT_EQ(whole, pointer(address));
  auto *part = static_cast<char *>(memory.mapToHost(nullptr, kPage, MAP_SHARED, offset + 2 * kPage));
  ASSERT_NE(part, MAP_FAILED);
  whole[2 * kPage] = 42;
  EXPECT_EQ(part[0], 42);
  EXPECT_EQ(memory.mapToHost(nullptr, 5 * kPage, MAP_SHARED, offset), MAP_FAILED);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(memory.mapToHost(nullptr, 2 * kPage, MAP_SHARED, offset + 3 * kPage), MAP_FAILED);
  EXPECT_EQ(memory.mapToHost(nullptr, kPage, MAP_SHARED, 1ull << 50), MAP_FAILED);
  EXPECT_EQ(memory.mapToHost(nullptr, kPage, MAP_SHARED, 0), MAP_FAILED);
}

// Thunks map what the host need not see with PROT_NONE, privately, or not at all.
TEST_F(Memory, whatTheHostMayNotUseTheGpuCan) {
  uint64_t handle = 0, offset = 0;
  const uint64_t address = reserveAddresses(kPage);
  ASSERT_EQ(memory.allocate(0, address, kPage, kVram, 0, handle, offset), 0);
  ASSERT_EQ(memory.mapToHost(pointer(address), kPage, MAP_PRIVATE | MAP_FIXED, offset), pointer(address));
  auto *again = static_cast<char *>(memory.mapToHost(nullptr, kPage, MAP_SHARED, offset));
  pointer(address)[1] = 5;
  EXPECT_EQ(again[1], 5);
  const uint64_t unseen = allocate(0, kPage);
  ASSERT_EQ(map(unseen, {0}), 0);
  pointer(unseen)[0] = 1;
}

TEST_F(Memory, memoryWithoutAnAddressCannotBeMapped) {
  uint64_t handle = 0, offset = 0;
  ASSERT_EQ(memory.allocate(0, 0, kPage, kVram, 0, handle, offset), 0);
  handles[0] = handle;
  EXPECT_EQ(map(0, {0}), EINVAL);
  EXPECT_NE(memory.mapToHost(nullptr, kPage, MAP_SHARED, offset), MAP_FAILED);
  EXPECT_EQ(memory.release(handle), 0);
}

TEST_F(Memory, freedMemoryComesBackEmpty) {
  for (const uint64_t size : {kPage, uint64_t{4} << 20})
    for (int round = 0; round < 4; ++round) {
      const uint64_t at = allocate(0, size);
      ASSERT_EQ(map(at, {0}), 0);
      EXPECT_TRUE(std::all_of(pointer(at), pointer(at + size), [](char byte) { return byte == 0; })) << round;
      std::memset(pointer(at), 0xee, size);
      EXPECT_EQ(unmap(at, {0}), 0);
      EXPECT_EQ(release(at), 0);
    }
}

// The kernel driver pins the pages when the buffer is made.
TEST_F(UserMemory, pagesThatTheHostHasNotAreRefused) {
  munmap(pointer(base + 2 * kPage), kPage);
  uint64_t handle = 0, offset = 0;
  EXPECT_EQ(memory.allocate(0, base, 4 * kPage, kUserPointer | kFlags, base, handle, offset), EFAULT);
  EXPECT_EQ(memory.allocate(0, base, 2 * kPage, kUserPointer | kFlags, base, handle, offset), 0);
  EXPECT_EQ(memory.allocate(0, base, kPage, kUserPointer | kFlags, 0, handle, offset), EINVAL);
}

/// Older thunks give the application's pages an address of the GPU's own.
struct Aliases : UserMemory {
  const uint64_t alias = reserveAddresses(16 * kPage);

  uint64_t add(uint64_t address, uint64_t host, uint64_t size, std::vector<uint32_t> gpus) {
    uint64_t handle = 0, offset = 0;
    EXPECT_EQ(memory.allocate(0, address, size, kUserPointer | kFlags, host, handle, offset), 0);
    uint32_t done = 0;
    EXPECT_EQ(memory.map(handle, gpus, done), 0);
    return handle;
  }
  void take(uint64_t handle, std::vector<uint32_t> gpus) {
    uint32_t done = 0;
    EXPECT_EQ(memory.unmap(handle, gpus, done), 0);
  }
  /// Where a GPU finds an address; 0: nowhere.
  uint64_t resolved(uint64_t address, uint64_t size, DeviceMask device) {
    return space.resolve(address, size, device) ? address : 0;
  }
};

TEST_F(Aliases, areTheHostsPages) {
  const uint64_t handle = add(alias, base, 2 * kPage, {0});
  EXPECT_EQ(resolved(alias + kPage + 5, 8, 1), base + kPage + 5);
  EXPECT_EQ(resolved(base + 5, 8, 1), base + 5);
  EXPECT_EQ(resolved(alias + 2 * kPage - 4, 8, 1), 0u);
  EXPECT_EQ(resolved(alias + 2 * kPage, 1, 1), 0u);
  EXPECT_EQ(resolved(alias, 1, 2), 0u);
  uint32_t done = 0;
  const uint32_t second = 1;
  ASSERT_EQ(memory.map(handle, {&second, 1}, done), 0);
  EXPECT_EQ(resolved(alias, 1, 2), base);
  take(handle, {0});
  EXPECT_EQ(resolved(alias, 1, 1), 0u);
  EXPECT_EQ(resolved(base, 1, 1), 0u);
  EXPECT_EQ(resolved(alias, 1, 2), base);
  take(handle, {1});
  EXPECT_EQ(resolved(alias, 1, 2), 0u);
  EXPECT_EQ(memory.release(handle), 0);
}

TEST_F(Aliases, twoOfTheSamePages) {
  const uint64_t first = add(alias, base, 2 * kPage, {0}), second = add(alias + 4 * kPage, base + kPage, kPage, {0});
  EXPECT_EQ(resolved(alias + kPage, 1, 1), base + kPage);
  EXPECT_EQ(resolved(alias + 4 * kPage, 1, 1), base + kPage);
  take(first, {0});
  EXPECT_EQ(resolved(alias + kPage, 1, 1), 0u);
  EXPECT_EQ(resolved(base, 1, 1), 0u);
  EXPECT_EQ(resolved(alias + 4 * kPage, 1, 1), base + kPage);
  take(second, {0});
  EXPECT_EQ(resolved(base + kPage, 1, 1), 0u);
}

// What was shared is not used again as long as there is anything else; the file has 32 TiB.
TEST(Backing, retiredRangesComeLast) {
  const std::shared_ptr<BackingFile> file = BackingFile::create();
  ASSERT_TRUE(file);
  constexpr uint64_t kLarge = 1ull << 40;
  const auto freed = file->reserve(kLarge, kPage), retired = file->reserve(kLarge, kPage);
  ASSERT_TRUE(freed && retired);
  EXPECT_TRUE(file->discard(*freed, kLarge, true));
  EXPECT_TRUE(file->discard(*retired, kLarge, false));
  EXPECT_EQ(file->reserve(kLarge, kPage), freed);
  for (int n = 2; n < 31; ++n) {
    const auto next = file->reserve(kLarge, kPage);
    ASSERT_TRUE(next);
    EXPECT_NE(next, retired);
  }
  EXPECT_EQ(file->reserve(kLarge, kPage), retired);
  EXPECT_FALSE(file->reserve(kLarge, kPage));
}

TEST(BackingFileTest, notesGoWithTheirBuffer) {
  const std::shared_ptr<BackingFile> file = BackingFile::create();
  ASSERT_TRUE(file);
  const auto first = file->reserve(2 * kPage, kPage), second = file->reserve(2 * kPage, kPage);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(file->writeNote(*first, {1, 2, 4, {5}}) && file->writeNote(*second, {6, 7, 4, {8}}));
  EXPECT_EQ(file->readNote(*first).words[0], 5u);
  ASSERT_TRUE(file->discard(*first, 2 * kPage, true));
  ASSERT_EQ(file->reserve(2 * kPage, kPage), first); // another buffer in the same place
  EXPECT_EQ(file->readNote(*first).bytes, 0u);
  EXPECT_EQ(file->readNote(*first).words[0], 0u);
  EXPECT_EQ(file->readNote(*second).words[0], 8u);
}

} // namespace
} // namespace luthier::vgpu
