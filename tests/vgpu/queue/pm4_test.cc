#include "vgpu/queue/pm4.h"

#include "fixture.h"

#include "vgpu/wave/code_cache.h"

namespace luthier::vgpu {
namespace {

uint32_t header(uint8_t opcode, uint32_t words) { return 3u << 30 | (words - 2) << 16 | uint32_t{opcode} << 8; }

struct Pm4 : QueueTest {
  Fault fault;

  bool run(const std::vector<uint32_t> &words) {
    fault = {};
    return runPm4(device, words, fault, [] { return false; });
  }
  void expectRefused(const std::vector<uint32_t> &words, const char *part) {
    EXPECT_FALSE(run(words)) << part;
    EXPECT_EQ(fault.kind, Fault::Kind::BadLaunch) << part;
    EXPECT_NE(fault.text.find(part), std::string::npos) << part << " is not in: " << fault.text;
  }
  static std::vector<uint32_t> jump(const void *buffer, uint32_t words) {
    const auto base = reinterpret_cast<uint64_t>(buffer);
    return {header(0x3f, 4), static_cast<uint32_t>(base), static_cast<uint32_t>(base >> 32), words | 1 << 23};
  }
};

const std::vector<uint32_t> kAcquire = {header(0x58, 7), 1u << 29, 0xffffffff, 0xff, 0, 0, 0};

TEST_F(Pm4, followsIndirectBuffers) {
  auto *buffer = make<uint32_t>(16);
  std::ranges::copy(kAcquire, buffer);
  const auto before = device.code().current();
  EXPECT_TRUE(run(jump(buffer, 7))) << fault.text;
  EXPECT_NE(device.code().current(), before);
}

TEST_F(Pm4, fillersAndCacheActions) {
  EXPECT_TRUE(run({header(0x10, 3), 0xffffffff, 0xffffffff, 0x80000000, header(0x49, 3), 0, 0})) << fault.text;
}

TEST_F(Pm4, nothingIsSkipped) {
  expectRefused({header(0x77, 2), 5}, "opcode 0x77): is not implemented");
  expectRefused({header(0x10, 9), 0}, "count says 9 words; the buffer has 2");
  expectRefused({0x00000010}, "type is 0");
  expectRefused({0x80000001}, "type is 2");
  expectRefused({header(0x10, 2) | 1, 0}, "predication");
  expectRefused({header(0x10, 2) | 0x80, 0}, "reserved bits");
  expectRefused({header(0x49, 3), 0, 1u << 24}, "INT_SEL");
  expectRefused({header(0x49, 3), 0, 2u << 29}, "DATA_SEL");
  expectRefused({header(0x58, 8), 0, 0, 0, 0, 0, 0, 3}, "it has 8 words; expected 7");
}

TEST_F(Pm4, bitsOfAJumpWithoutAMeaning) {
  auto *buffer = make<uint32_t>(16);
  for (const auto &[word, mask] : {std::pair{1, 3u}, {2, 0xffff0000u}, {3, 0xcf700000u}})
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      std::vector<uint32_t> words = jump(buffer, 1);
      words[static_cast<size_t>(word)] |= rest & -rest;
      expectRefused(words, "only 0 is implemented");
    }
}

TEST_F(Pm4, nestingHasAnEnd) {
  auto *buffer = make<uint32_t>(16);
  std::ranges::copy(jump(buffer, 4), buffer); // to itself
  expectRefused(jump(buffer, 4), "nested");
}

TEST_F(Pm4, endsWhenItMust) {
  auto *buffer = make<uint32_t>(1024);
  std::fill_n(buffer, 1024, 0x80000000);
  int looks = 0;
  EXPECT_TRUE(runPm4(device, jump(buffer, 1024), fault, [&] { return ++looks > 10; }));
  EXPECT_EQ(looks, 11);
}

TEST_F(Pm4, indirectBufferOutsideTheGpusMemory) {
  EXPECT_FALSE(run({header(0x3f, 4), 0x1000, 0x12, 7}));
  EXPECT_EQ(fault.kind, Fault::Kind::Memory);
  EXPECT_EQ(fault.address, 0x1200001000u);
}

} // namespace
} // namespace luthier::vgpu
