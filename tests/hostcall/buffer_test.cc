#include "hostcall/buffer.h"

#include "amd_hostcall.h"
#include "host_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace luthier::hostcall {
namespace {

TEST(Buffer, SizeIsTheProtocols) {
  EXPECT_EQ(bufferBytes(1), 48 + 24 + 4096u);
  EXPECT_EQ(bufferBytes(100), 48 + 100 * (24 + 4096u));
  EXPECT_EQ(bufferBytes(kMaxPackets), 48 + uint64_t{kMaxPackets} * (24 + 4096u));
  EXPECT_EQ(bufferBytes(0), 0u);
  EXPECT_EQ(bufferBytes(kMaxPackets + 1), 0u);
  EXPECT_EQ(bufferBytes(UINT32_MAX), 0u);
  EXPECT_EQ(kBufferAlignment, 8u);
}

TEST(Buffer, IndexMaskIsBelowTheNextPowerOfTwo) {
  EXPECT_EQ(indexMask(1), 0u);
  EXPECT_EQ(indexMask(2), 1u);
  EXPECT_EQ(indexMask(3), 3u);
  EXPECT_EQ(indexMask(64), 63u);
  EXPECT_EQ(indexMask(65), 127u);
}

TEST(Buffer, InitialisedAsDevicesExpectIt) {
  const HostBuffer buffer(5);
  const auto *words = static_cast<const uint64_t *>(buffer.memory());
  const auto base = reinterpret_cast<uintptr_t>(buffer.memory());
  EXPECT_EQ(words[0], base + 48);
  EXPECT_EQ(words[1], base + 48 + 5 * 24);
  EXPECT_EQ(words[3], 4u); // the last packet is on top
  EXPECT_EQ(words[4], 0u);
  EXPECT_EQ(words[5], 7u);
  // next of packets 0 to 4: none; packet 0, which is never called 0; 1; 2; 3
  const uint64_t expected[] = {0, 8, 1, 2, 3};
  for (uint32_t n = 0; n < 5; ++n)
    EXPECT_EQ(buffer.header(n).next, expected[n]) << n;
}

TEST(Buffer, InitialiseRefusesWhatIsNoBuffer) {
  std::vector<uint64_t> memory(bufferBytes(2) / 8);
  EXPECT_EQ(initializeBuffer(nullptr, 1).error().code(), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(initializeBuffer(reinterpret_cast<char *>(memory.data()) + 4, 1).error().code(),
            AMD_HOSTCALL_ERROR_INCORRECT_ALIGNMENT);
  EXPECT_EQ(initializeBuffer(memory.data(), 0).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(initializeBuffer(memory.data(), kMaxPackets + 1).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(initializeBuffer(memory.data(), bufferBytes(2) - 1, 2).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_TRUE(initializeBuffer(memory.data(), bufferBytes(2), 2));
}

TEST(BufferView, FindsPacketsByIndexOnly) {
  const HostBuffer buffer(5);
  EXPECT_EQ(buffer.view().packets(), 5u);
  EXPECT_EQ(buffer.view().find(8 * 7 + 3), buffer.view().find(3));
  EXPECT_EQ(buffer.view().find(5), nullptr);
  EXPECT_EQ(buffer.view().find(UINT64_MAX), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(&buffer.view().payload(buffer.header(2))), buffer.shared().payloads + 2 * 4096);
}

TEST(BufferView, FieldsThatContradictEachOtherAreRefused) {
  const auto codeAfter = [](auto &&change) {
    const HostBuffer buffer(5);
    change(buffer.shared());
    const auto view = BufferView::of(buffer.memory());
    return view ? 0 : view.error().code();
  };
  using Shared = wire::Buffer &;
  EXPECT_EQ(codeAfter([](Shared) {}), 0);
  for (int64_t difference : {-24, -1, 1, 8, 24, 24 * 16, -5 * 24, INT32_MAX}) {
    EXPECT_EQ(codeAfter([&](Shared b) { b.headers += static_cast<uint64_t>(difference); }),
              AMD_HOSTCALL_ERROR_INVALID_REQUEST)
        << difference;
    if (difference != -24 && difference != 24) // still four or six packets: nobody could tell
      EXPECT_EQ(codeAfter([&](Shared b) { b.payloads += static_cast<uint64_t>(difference); }),
                AMD_HOSTCALL_ERROR_INVALID_REQUEST)
          << difference;
    EXPECT_EQ(codeAfter([&](Shared b) { b.indexMask += static_cast<uint64_t>(difference); }),
              AMD_HOSTCALL_ERROR_INVALID_REQUEST)
        << difference;
  }
  EXPECT_EQ(codeAfter([](Shared b) { b.headers = b.payloads = 0; }), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  std::vector<uint64_t> zeros(bufferBytes(1) / 8);
  EXPECT_EQ(BufferView::of(zeros.data()).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
}

} // namespace
} // namespace luthier::hostcall
