#include "vgpu/queue/pm4.h"

#include "fixture.h"

namespace luthier::vgpu {
namespace {

uint32_t header(uint8_t opcode, uint32_t words) { return 3u << 30 | (words - 2) << 16 | uint32_t{opcode} << 8; }

struct Pm4 : QueueTest {
  Fault fault;
};

TEST_F(Pm4, followsIndirectBuffers) {
  auto *buffer = make<uint32_t>(16);
  const uint32_t acquire[] = {header(0x58, 7), 1u << 29, 0xffffffff, 0xff, 0, 0, 0};
  std::copy(std::begin(acquire), std::end(acquire), buffer);
  const auto base = reinterpret_cast<uint64_t>(buffer);
  const uint32_t jump[] = {header(0x3f, 4), static_cast<uint32_t>(base), static_cast<uint32_t>(base >> 32),
                           7 | 1 << 23};
  EXPECT_TRUE(runPm4(device, jump, 4, fault));
}

TEST_F(Pm4, skipsWhatItDoesNotKnow) {
  const uint32_t words[] = {header(0x10, 3), 0, 0, header(0x77, 2), 5, 0x80000000, header(0x49, 2), 0};
  EXPECT_TRUE(runPm4(device, words, std::size(words), fault));
  const uint32_t cut[] = {header(0x10, 9), 0};
  EXPECT_TRUE(runPm4(device, cut, std::size(cut), fault));
}

TEST_F(Pm4, indirectBufferOutsideTheGpusMemory) {
  const uint32_t jump[] = {header(0x3f, 4), 0x1000, 0x12, 7};
  EXPECT_FALSE(runPm4(device, jump, 4, fault));
  EXPECT_EQ(fault.kind, Fault::Kind::Memory);
  EXPECT_EQ(fault.address, 0x1200001000u);
}

} // namespace
} // namespace luthier::vgpu
