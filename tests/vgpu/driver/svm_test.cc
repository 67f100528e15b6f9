#include "vgpu/driver/svm.h"

#include "fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <initializer_list>
#include <sys/mman.h>
#include <vector>

namespace luthier::vgpu {
namespace {

using kfd::SvmType;
using testing::HasSubstr;

constexpr uint32_t kFirst = 0x1001, kSecond = 0x1002;
constexpr DeviceMask kFirstBit = 1, kSecondBit = 2;

struct Svm : testing::Test {
  AddressSpace space;
  SharedMemory shared{space, {kFirst, kSecond}};
  const uint64_t base = hostPages(256 * kPage);

  using List = std::vector<std::pair<SvmType, uint32_t>>;
  static std::vector<kfd::SvmAttribute> raw(const List &list) {
    std::vector<kfd::SvmAttribute> attributes;
    for (const auto &[type, value] : list)
      attributes.push_back({static_cast<uint32_t>(type), value});
    return attributes;
  }
  int set(uint64_t start, uint64_t size, const List &list) { return shared.set(start, size, raw(list)); }
  void allow(uint64_t start, uint64_t size, uint32_t gpu = kFirst) {
    ASSERT_EQ(set(start, size, {{SvmType::Access, gpu}}), 0);
  }
  uint32_t get(uint64_t start, uint64_t size, SvmType type, uint32_t value = 0) {
    auto attributes = raw({{type, value}});
    EXPECT_EQ(shared.get(start, size, attributes), 0);
    return attributes[0].value;
  }
  SvmType access(uint64_t start, uint64_t size, uint32_t gpu) {
    auto attributes = raw({{SvmType::Access, gpu}});
    EXPECT_EQ(shared.get(start, size, attributes), 0);
    return static_cast<SvmType>(attributes[0].type);
  }
};

TEST_F(Svm, nothingIsSharedAtFirst) {
  EXPECT_FALSE(shared.pageIn(base, kFirstBit));
  EXPECT_FALSE(shared.xnack());
  EXPECT_EQ(access(base, kPage, kFirst), SvmType::NoAccess);
  EXPECT_EQ(get(base, kPage, SvmType::PreferredLocation), kfd::kSvmUndefined);
  EXPECT_EQ(get(base, kPage, SvmType::PrefetchLocation), kfd::kSvmUndefined);
  EXPECT_EQ(get(base, kPage, SvmType::SetFlags), 0x3u);
  EXPECT_EQ(get(base, kPage, SvmType::Granularity), 9u);
}

TEST_F(Svm, pagesComeInWhenTouched) {
  allow(base, 8 * kPage);
  EXPECT_FALSE(space.allows(base, 1, kFirstBit));
  EXPECT_TRUE(shared.pageIn(base + 3 * kPage + 7, kFirstBit));
  EXPECT_TRUE(space.allows(base + 3 * kPage, kPage, kFirstBit));
  EXPECT_FALSE(space.allows(base + 3 * kPage, 1, kSecondBit));
  EXPECT_FALSE(space.allows(base + 8 * kPage, 1, kFirstBit));
  EXPECT_FALSE(shared.pageIn(base + 8 * kPage, kFirstBit));
  EXPECT_FALSE(shared.pageIn(base, kSecondBit));
  EXPECT_FALSE(shared.pageIn(AddressSpace::kEnd, kFirstBit));
}

TEST_F(Svm, onlyWhatTheHostHas) {
  allow(base, 16 * kPage);
  munmap(pointer(base + 4 * kPage), kPage);
  mprotect(pointer(base + 8 * kPage), kPage, PROT_NONE);
  // Pages come in blocks, of which one may end anywhere.
  for (uint64_t page = 0; page < 4; ++page)
    EXPECT_TRUE(space.allows(base + page * kPage, 1, kFirstBit) || shared.pageIn(base + page * kPage, kFirstBit));
  for (const uint64_t hole : {4, 8}) {
    EXPECT_FALSE(shared.pageIn(base + hole * kPage, kFirstBit));
    EXPECT_FALSE(space.allows(base + hole * kPage, 1, kFirstBit));
    EXPECT_TRUE(shared.pageIn(base + (hole + 1) * kPage, kFirstBit));
  }
}

TEST_F(Svm, pagesAreForgotten) {
  allow(base, 4 * kPage);
  ASSERT_TRUE(shared.pageIn(base, kFirstBit));
  munmap(pointer(base), kPage);
  shared.forgetPages();
  EXPECT_FALSE(space.allows(base, 1, kFirstBit));
  EXPECT_FALSE(space.allows(base + kPage, 1, kFirstBit));
  EXPECT_FALSE(shared.pageIn(base, kFirstBit));
  EXPECT_TRUE(shared.pageIn(base + kPage, kFirstBit));
}

// Queues' context save areas are in such a range, and buffers may come to stand in one.
TEST_F(Svm, buffersInsideARangeStay) {
  allow(base, 8 * kPage);
  space.map(base + 2 * kPage, kPage, kFirstBit); // before
  ASSERT_TRUE(shared.pageIn(base, kFirstBit));
  shared.disown(base + 4 * kPage, 2 * kPage); // after
  space.map(base + 4 * kPage, 2 * kPage, kFirstBit);
  shared.forgetPages();
  for (const uint64_t page : {2, 4, 5})
    EXPECT_TRUE(space.allows(base + page * kPage, kPage, kFirstBit)) << page;
  for (const uint64_t page : {0, 1, 3, 6, 7})
    EXPECT_FALSE(space.allows(base + page * kPage, 1, kFirstBit)) << page;
}

TEST_F(Svm, rangesAreSplitByWhatIsSaidOfTheirParts) {
  allow(base, 8 * kPage);
  ASSERT_EQ(set(base + 2 * kPage, 2 * kPage, {{SvmType::NoAccess, kFirst}, {SvmType::Granularity, 3}}), 0);
  EXPECT_EQ(access(base, 2 * kPage, kFirst), SvmType::Access);
  EXPECT_EQ(access(base + 2 * kPage, 2 * kPage, kFirst), SvmType::NoAccess);
  EXPECT_EQ(access(base + 4 * kPage, 4 * kPage, kFirst), SvmType::Access);
  EXPECT_EQ(access(base, 8 * kPage, kFirst), SvmType::NoAccess); // what all have in common
  EXPECT_EQ(get(base, 8 * kPage, SvmType::Granularity), 3u);
  EXPECT_EQ(get(base, 2 * kPage, SvmType::Granularity), 9u);
  EXPECT_TRUE(shared.pageIn(base, kFirstBit));
  EXPECT_FALSE(space.allows(base + 2 * kPage, 1, kFirstBit));
  EXPECT_FALSE(shared.pageIn(base + 3 * kPage, kFirstBit));
  EXPECT_TRUE(shared.pageIn(base + 7 * kPage, kFirstBit));
  // Made one again.
  allow(base + 2 * kPage, 2 * kPage);
  ASSERT_EQ(set(base + 2 * kPage, 2 * kPage, {{SvmType::Granularity, 9}}), 0);
  EXPECT_EQ(access(base, 8 * kPage, kFirst), SvmType::Access);
  EXPECT_TRUE(shared.pageIn(base + 2 * kPage, kFirstBit));
}

TEST_F(Svm, aRangeOverGapsAndOthers) {
  allow(base + kPage, kPage);
  allow(base + 3 * kPage, kPage, kSecond);
  ASSERT_EQ(set(base, 5 * kPage, {{SvmType::AccessInPlace, kSecond}}), 0);
  EXPECT_EQ(access(base, 5 * kPage, kSecond), SvmType::AccessInPlace);
  EXPECT_EQ(access(base + kPage, kPage, kFirst), SvmType::Access);
  EXPECT_EQ(access(base, kPage, kFirst), SvmType::NoAccess);
  EXPECT_EQ(access(base, 6 * kPage, kSecond), SvmType::NoAccess); // the last page has no range
}

// What is taken away must not stay with the GPU until the next kernel.
TEST_F(Svm, accessTakenAwayIsGone) {
  allow(base, 4 * kPage);
  ASSERT_TRUE(shared.pageIn(base, kFirstBit));
  ASSERT_EQ(set(base, 4 * kPage, {{SvmType::NoAccess, kFirst}}), 0);
  shared.forgetPages();
  EXPECT_FALSE(shared.pageIn(base, kFirstBit));
}

TEST_F(Svm, attributesAreKept) {
  ASSERT_EQ(set(base, kPage,
                {{SvmType::PreferredLocation, kSecond},
                 {SvmType::PrefetchLocation, kfd::kSvmSystemMemory},
                 {SvmType::ClearFlags, ~0u},
                 {SvmType::SetFlags, 0x14},
                 {SvmType::Granularity, 200}}),
            0);
  EXPECT_EQ(get(base, kPage, SvmType::PreferredLocation), kSecond);
  EXPECT_EQ(get(base, kPage, SvmType::PrefetchLocation), kfd::kSvmSystemMemory);
  EXPECT_EQ(get(base, kPage, SvmType::SetFlags), 0x14u);
  EXPECT_EQ(get(base, kPage, SvmType::ClearFlags), ~0x14u);
  EXPECT_EQ(get(base, kPage, SvmType::Granularity), 0x3fu);
  EXPECT_EQ(get(base, 2 * kPage, SvmType::PreferredLocation), kfd::kSvmUndefined);
  EXPECT_EQ(get(base, 2 * kPage, SvmType::SetFlags), 0u);
}

TEST_F(Svm, badRequests) {
  EXPECT_EQ(set(base + 1, kPage, {}), EINVAL);
  EXPECT_EQ(set(base, kPage + 1, {}), EINVAL);
  EXPECT_EQ(set(base, 0, {}), EINVAL);
  EXPECT_EQ(set(AddressSpace::kEnd, kPage, {}), EINVAL);
  EXPECT_EQ(set(AddressSpace::kEnd - kPage, 2 * kPage, {}), EINVAL);
  for (const auto &[type, value] : List{{SvmType::PreferredLocation, 5},
                                        {SvmType::PrefetchLocation, kfd::kSvmUndefined},
                                        {SvmType::Access, 5},
                                        {SvmType::AccessInPlace, 0},
                                        {SvmType::NoAccess, 0x1003},
                                        {SvmType::SetFlags, 0x100},
                                        {static_cast<SvmType>(8), 0}})
    EXPECT_THAT(messagesOf([&] { EXPECT_EQ(set(base, kPage, {{SvmType::Access, kFirst}, {type, value}}), EINVAL); }),
                HasSubstr(fmt::format("attribute {} cannot have the value {:#x}", static_cast<int>(type), value)));
  EXPECT_EQ(access(base, kPage, kFirst), SvmType::NoAccess); // nothing of it was done
  auto attributes = raw({{static_cast<SvmType>(8), 0}});
  EXPECT_EQ(shared.get(base, kPage, attributes), EINVAL);
  attributes = raw({{SvmType::Access, 5}});
  EXPECT_EQ(shared.get(base, kPage, attributes), EINVAL);
  EXPECT_EQ(shared.get(base, 0, attributes), EINVAL);
}

TEST_F(Svm, xnackOpensEverythingThatIsNotDenied) {
  ASSERT_EQ(set(base + 4 * kPage, kPage, {{SvmType::NoAccess, kFirst}}), 0);
  shared.setXnack(true);
  EXPECT_EQ(access(base, kPage, kFirst), SvmType::Access);
  EXPECT_TRUE(shared.pageIn(base, kFirstBit));
  EXPECT_FALSE(space.allows(base + 4 * kPage, 1, kFirstBit));
  EXPECT_FALSE(shared.pageIn(base + 4 * kPage, kFirstBit));
  EXPECT_TRUE(shared.pageIn(base + 4 * kPage, kSecondBit));
  const uint64_t nothing = reserveAddresses(kPage);
  EXPECT_FALSE(shared.pageIn(nothing, kFirstBit));
  EXPECT_FALSE(shared.pageIn(0, kFirstBit));
  int local = 0;
  EXPECT_TRUE(shared.pageIn(reinterpret_cast<uint64_t>(&local), kFirstBit));
  shared.setXnack(false);
  shared.forgetPages();
  EXPECT_FALSE(shared.pageIn(base, kFirstBit));
}

// What GPUs see goes through the address space, which asks when it does not know.
TEST_F(Svm, resolvedThroughTheAddressSpace) {
  space.pager = [this](uint64_t address, DeviceMask device) { return shared.pageIn(address, device); };
  allow(base, 128 * kPage);
  uint64_t address = base + kPage - 4;
  EXPECT_TRUE(space.resolve(address, 8, kFirstBit));
  EXPECT_EQ(address, base + kPage - 4);
  address = base + 60 * kPage; // over the end of what comes in at once
  EXPECT_TRUE(space.resolve(address, 20 * kPage, kFirstBit));
  address = base + 127 * kPage;
  EXPECT_FALSE(space.resolve(address, kPage + 1, kFirstBit));
  EXPECT_FALSE(space.resolve(address, ~0ull, kFirstBit));
}

} // namespace
} // namespace luthier::vgpu
