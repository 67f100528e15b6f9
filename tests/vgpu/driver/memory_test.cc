#include "vgpu/driver/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace luthier::vgpu {
namespace {

constexpr uint64_t kPage = AddressSpace::kPageSize;
constexpr uint64_t kTag = AddressSpace::kUserPointerTag;

struct Memory : testing::Test {
  AddressSpace space;
  MemoryManager memory{space, 1ull << 30, {64ull << 20, 64ull << 20}};

  static HsaMemFlags flags(bool local, bool executable = false) {
    HsaMemFlags result{};
    result.ui32.HostAccess = 1;
    result.ui32.NonPaged = local;
    result.ui32.ExecuteAccess = executable;
    return result;
  }
  uint64_t allocate(uint32_t node, uint64_t size, bool executable = false) {
    void *address = nullptr;
    EXPECT_EQ(memory.allocate(node, size, flags(node != 0, executable), &address), HSAKMT_STATUS_SUCCESS);
    return reinterpret_cast<uint64_t>(address);
  }
  static void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }
  HSAKMT_STATUS mapTo(uint64_t address, uint64_t size, std::vector<uint32_t> nodes) {
    return memory.mapToNodes(pointer(address), size, nodes, nullptr);
  }
};

TEST_F(Memory, onlyMappedPagesAreAccessible) {
  const uint64_t at = allocate(1, 4 * kPage);
  EXPECT_FALSE(space.allows(at, 1, 1));
  EXPECT_EQ(mapTo(at, 4 * kPage, {1}), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(space.allows(at, 4 * kPage, 1));
  EXPECT_FALSE(space.allows(at, 1, 2));
  EXPECT_FALSE(space.allows(at - 1, 1, 1));
  EXPECT_FALSE(space.allows(at + 4 * kPage, 1, 1));
  std::memset(pointer(at), 1, 4 * kPage);
}

TEST_F(Memory, neighboursAreSeparated) {
  std::vector<uint64_t> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(allocate(1, kPage));
    mapTo(all.back(), kPage, {1});
  }
  for (uint64_t at : all) {
    EXPECT_FALSE(space.allows(at + kPage, 1, 1));
    EXPECT_FALSE(space.allows(at - 1, 1, 1));
  }
}

TEST_F(Memory, mappingToNodesReplacesMappingToGpuAdds) {
  const uint64_t at = allocate(0, kPage);
  mapTo(at, kPage, {1});
  mapTo(at, kPage, {2});
  EXPECT_FALSE(space.allows(at, 1, 1));
  EXPECT_TRUE(space.allows(at, 1, 2));
  uint64_t alternate = 1;
  EXPECT_EQ(memory.mapToAll(pointer(at), kPage, &alternate), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(alternate, 0u);
  EXPECT_TRUE(space.allows(at, 1, 3));
  EXPECT_EQ(memory.unmap(pointer(at)), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(space.allows(at, 1, 1));
  EXPECT_FALSE(space.allows(at, 1, 2));
  EXPECT_EQ(mapTo(at, kPage, {0}), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(mapTo(at, kPage, {3}), HSAKMT_STATUS_INVALID_NODE_UNIT);
}

TEST_F(Memory, sizeOfTheGpuIsALimit) {
  const uint64_t most = allocate(1, 60ull << 20);
  void *more = nullptr;
  EXPECT_EQ(memory.allocate(1, 8ull << 20, flags(true), &more), HSAKMT_STATUS_NO_MEMORY);
  EXPECT_EQ(more, nullptr);
  EXPECT_NE(allocate(2, 8ull << 20), 0u);
  EXPECT_EQ(memory.used(1), 60ull << 20);
  EXPECT_EQ(memory.release(pointer(most)), HSAKMT_STATUS_SUCCESS);
  EXPECT_NE(allocate(1, 64ull << 20), 0u);
  EXPECT_EQ(memory.allocate(0, 2ull << 30, flags(false), &more), HSAKMT_STATUS_NO_MEMORY);
}

TEST_F(Memory, freedMemoryIsNotAccessible) {
  int codeGone = 0;
  memory.onCodeGone = [&] { ++codeGone; };
  const uint64_t data = allocate(1, kPage);
  const uint64_t code = allocate(1, kPage, true);
  mapTo(data, kPage, {1});
  mapTo(code, kPage, {1});
  memory.release(pointer(data));
  EXPECT_EQ(codeGone, 0);
  memory.release(pointer(code));
  EXPECT_EQ(codeGone, 1);
  EXPECT_FALSE(space.allows(data, 1, 1));
  EXPECT_FALSE(space.allows(code, 1, 1));
  EXPECT_EQ(memory.release(pointer(data)), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
}

TEST_F(Memory, badRequests) {
  void *address = nullptr;
  EXPECT_EQ(memory.allocate(3, kPage, flags(true), &address), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(memory.allocate(1, 0, flags(true), &address), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(memory.allocate(1, kPage + 1, flags(true), &address), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(memory.mapToAll(&address, 8, nullptr), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(memory.unmap(&address), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(memory.deregister(&address), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
}

TEST_F(Memory, largePagesAreAligned) {
  HsaMemFlags large = flags(true);
  large.ui32.PageSize = HSA_PAGE_SIZE_2MB;
  void *address = nullptr;
  ASSERT_EQ(memory.allocate(1, 4ull << 20, large, &address), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uint64_t>(address) % (2ull << 20), 0u);
  std::memset(address, 1, 4ull << 20);
  EXPECT_EQ(memory.release(address), HSAKMT_STATUS_SUCCESS);
}

TEST_F(Memory, scratchIsMappedPieceByPieceToItsOwner) {
  HsaMemFlags scratch{};
  scratch.ui32.Scratch = 1;
  scratch.ui32.HostAccess = 1;
  void *pool = nullptr;
  ASSERT_EQ(memory.allocate(2, 4ull << 30, scratch, &pool), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(memory.used(2), 0u);
  const uint64_t piece = reinterpret_cast<uint64_t>(pool) + 16 * kPage;
  EXPECT_EQ(memory.mapToAll(pointer(piece), 2 * kPage, nullptr), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(space.allows(piece, 2 * kPage, 2));
  EXPECT_FALSE(space.allows(piece, 1, 1));
  EXPECT_FALSE(space.allows(piece + 2 * kPage, 1, 2));
  *static_cast<char *>(pointer(piece)) = 7;
  EXPECT_EQ(memory.unmap(pointer(piece)), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(space.allows(piece, 1, 2));
  EXPECT_EQ(memory.unmap(pointer(piece)), HSAKMT_STATUS_ERROR);
  HsaPointerInfo info;
  EXPECT_EQ(memory.query(pool, &info), HSAKMT_STATUS_ERROR);
}

struct UserMemory : Memory {
  std::vector<char> host = std::vector<char>(16 * kPage);
  uint64_t base = (reinterpret_cast<uint64_t>(host.data()) + kPage) & ~(kPage - 1);
  void add(uint64_t at, uint64_t size) {
    EXPECT_EQ(memory.registerUser(pointer(at), size, flags(false), {}), HSAKMT_STATUS_SUCCESS);
    uint64_t alternate = 0;
    const uint32_t node = 1;
    EXPECT_EQ(memory.mapToNodes(pointer(at), size, {&node, 1}, &alternate), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(alternate, at | kTag);
  }
  void remove(uint64_t at) {
    EXPECT_EQ(memory.unmap(pointer(at)), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(memory.deregister(pointer(at)), HSAKMT_STATUS_SUCCESS);
  }
};

TEST_F(UserMemory, mapsToAllGpusAndGoesAway) {
  add(base + 100, 2 * kPage);
  EXPECT_TRUE(space.allows(base, 3 * kPage, 3));
  EXPECT_FALSE(space.allows(base + 3 * kPage, 1, 1));
  HsaPointerInfo info;
  ASSERT_EQ(memory.query(pointer((base + kPage) | kTag), &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(info.Type, HSA_POINTER_REGISTERED_USER);
  EXPECT_EQ(info.CPUAddress, pointer(base + 100));
  EXPECT_EQ(info.GPUAddress, (base + 100) | kTag);
  EXPECT_EQ(info.SizeInBytes, 2 * kPage);
  EXPECT_EQ(info.NMappedNodes, 2u);
  remove(base + 100);
  EXPECT_FALSE(space.allows(base, 1, 1));
  EXPECT_EQ(memory.query(pointer(base + 100), &info), HSAKMT_STATUS_ERROR);
}

TEST_F(UserMemory, sharedPagesStayUntilTheLast) {
  add(base, kPage + 10);
  add(base + kPage + 20, kPage);
  remove(base);
  EXPECT_FALSE(space.allows(base, 1, 1));
  EXPECT_TRUE(space.allows(base + kPage, 2 * kPage, 1));
  remove(base + kPage + 20);
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
  const uint64_t at = allocate(0, 4 * kPage);
  mapTo(at, 4 * kPage, {1});
  add(at + kPage, kPage);
  remove(at + kPage);
  EXPECT_TRUE(space.allows(at, 4 * kPage, 1));
  EXPECT_FALSE(space.allows(at + kPage, 1, 2));
}

TEST_F(Memory, queryAndUserData) {
  const uint64_t at = allocate(2, 2 * kPage);
  mapTo(at, 2 * kPage, {1, 2});
  EXPECT_EQ(memory.setUserData(pointer(at), &space), HSAKMT_STATUS_SUCCESS);
  HsaPointerInfo info;
  ASSERT_EQ(memory.query(pointer(at + kPage + 1), &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(info.Type, HSA_POINTER_ALLOCATED);
  EXPECT_EQ(info.Node, 2u);
  EXPECT_EQ(info.GPUAddress, at);
  EXPECT_EQ(info.SizeInBytes, 2 * kPage);
  ASSERT_EQ(info.NMappedNodes, 2u);
  EXPECT_EQ(info.MappedNodes[0], 1u);
  EXPECT_EQ(info.MappedNodes[1], 2u);
  EXPECT_EQ(info.UserData, &space);
  int local;
  EXPECT_EQ(memory.query(&local, &info), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(info.Type, HSA_POINTER_UNKNOWN);
}

TEST_F(Memory, flagsThatCannotBeHadAreRefused) {
  for (const uint32_t extra : {1u << 3 /* ReadOnly */, 1u << 18, 1u << 31}) {
    HsaMemFlags asked = flags(false);
    asked.Value |= extra;
    void *address = nullptr;
    testing::internal::CaptureStderr();
    EXPECT_EQ(memory.allocate(0, kPage, asked, &address), HSAKMT_STATUS_NOT_SUPPORTED) << extra;
    EXPECT_NE(testing::internal::GetCapturedStderr().find("hsaKmtAllocMemory"), std::string::npos);
    alignas(4096) static char own[4096];
    testing::internal::CaptureStderr();
    EXPECT_EQ(memory.registerUser(own, sizeof own, asked, {}), HSAKMT_STATUS_NOT_SUPPORTED) << extra;
    EXPECT_NE(testing::internal::GetCapturedStderr().find("hsaKmtRegisterMemory"), std::string::npos);
  }
}

// Page tables have 48 bits; what is above must not become something below.
TEST_F(Memory, addressesThatNobodyHas) {
  const uint64_t high = 1ull << 48 | 0x10000;
  EXPECT_EQ(memory.registerUser(pointer(high), kPage, flags(false), {}), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(memory.registerUser(pointer(0x10000), 1ull << 48, flags(false), {}), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_FALSE(space.allows(0x10000, 1, 1));
}

} // namespace
} // namespace luthier::vgpu
