// Compressed bundles: every version and method, and headers that lie.

#include "files.h"
#include "packing.h"

#include <gmock/gmock.h>

namespace luthier::object {
namespace {

using testing::HasSubstr;
using Method = CompressedHeader::Method;

std::string failure(ByteSpan bytes, const UnpackLimits &limits = {}) {
  auto header = readCompressedHeader(bytes, limits);
  if (!header)
    return header.error().message();
  auto unpacked = unpack(bytes, *header);
  return unpacked ? "accepted" : unpacked.error().message();
}

class EveryPacking : public testing::TestWithParam<std::tuple<unsigned, Method>> {
protected:
  std::vector<std::byte> plain = readTestFile("kernels_v5.co");
  std::vector<std::byte> packed = pack(plain, std::get<0>(GetParam()), std::get<1>(GetParam()));
};

TEST_P(EveryPacking, Unpacks) {
  // What follows belongs to the next bundle.
  std::vector<std::byte> more = packed;
  more.resize(more.size() + 1000, std::byte{0x55});
  auto header = readCompressedHeader(more);
  ASSERT_TRUE(header) << header.error().message();
  EXPECT_EQ(header->version, std::get<0>(GetParam()));
  auto unpacked = unpack(more, *header);
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  EXPECT_TRUE(std::ranges::equal(unpacked->bundle.bytes(), plain));
  EXPECT_EQ(unpacked->consumed, packed.size());
  EXPECT_EQ(*packedSize(more, *header), packed.size());
}

TEST_P(EveryPacking, EveryTruncationIsNoticed) {
  for (size_t size = 0; size < packed.size(); ++size)
    EXPECT_NE(failure(ByteSpan(packed).first(size)), "accepted") << size;
}

TEST_P(EveryPacking, AChangedByteNeverChangesTheContents) {
  // The frame formats have bits of no consequence; anything else the hash finds.
  size_t refused = 0;
  for (size_t at = 0; at < packed.size(); ++at) {
    std::vector<std::byte> bent = packed;
    bent[at] ^= std::byte{0x20};
    auto header = readCompressedHeader(bent, {.bytes = 1 << 20});
    auto unpacked = header ? unpack(bent, *header) : Result<Unpacked>(header.error());
    if (unpacked)
      EXPECT_TRUE(std::ranges::equal(unpacked->bundle.bytes(), plain)) << at;
    else
      ++refused;
  }
  EXPECT_GT(refused, packed.size() * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Decompress, EveryPacking,
                         testing::Combine(testing::Values(1, 2, 3), testing::Values(Method::Zlib, Method::Zstd)));

TEST(Decompress, SizesAreBoundedBeforeAnythingIsAllocated) {
  std::vector<std::byte> packed = pack(std::vector<std::byte>(1 << 16), 3, Method::Zstd);
  const uint64_t huge = uint64_t{1} << 40;
  memcpy(packed.data() + 16, &huge, 8);
  EXPECT_THAT(failure(packed), HasSubstr("claim to unpack to 0x10000000000, which is not plausible"));
  const uint64_t improbable = packed.size() * 5000;
  memcpy(packed.data() + 16, &improbable, 8);
  EXPECT_THAT(failure(packed), HasSubstr("is not plausible"));
}

TEST(Decompress, ALargerFrameThanClaimedIsAnError) {
  for (Method method : {Method::Zlib, Method::Zstd}) {
    std::vector<std::byte> packed = pack(std::vector<std::byte>(1 << 16), 2, method);
    for (uint32_t claim : {0u, 1u, 65535u, 65537u}) {
      memcpy(packed.data() + 12, &claim, 4);
      EXPECT_NE(failure(packed), "accepted") << claim;
    }
  }
}

TEST(Decompress, UnknownVersionsAndMethodsAreNamed) {
  std::vector<std::byte> packed = pack(readTestFile("kernels_v5.co"), 2, Method::Zstd);
  packed[4] = std::byte{9};
  EXPECT_THAT(failure(packed), HasSubstr("version 9"));
  packed[4] = std::byte{2};
  packed[6] = std::byte{7};
  EXPECT_THAT(failure(packed), HasSubstr("method 7"));
}

} // namespace
} // namespace luthier::object
