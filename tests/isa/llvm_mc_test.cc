// LlvmMc gives LLVM no more bytes than an instruction seems to need. What comes out must be what LLVM makes of all of
// them.
#include "isa/llvm_mc.h"

#include "isa/target.h"

#include <llvm/Support/raw_ostream.h>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace luthier::isa {
namespace {

class LlvmMcOf : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, LlvmMcOf,
                         testing::Values("gfx900", "gfx90a", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1201"),
                         [](const auto &info) { return std::string(info.param); });

bool same(const llvm::MCInst &a, const llvm::MCInst &b) {
  if (a.getOpcode() != b.getOpcode() || a.getNumOperands() != b.getNumOperands())
    return false;
  for (unsigned n = 0; n < a.getNumOperands(); ++n) {
    const llvm::MCOperand &x = a.getOperand(n), &y = b.getOperand(n);
    if (x.isReg() != y.isReg() || x.isImm() != y.isImm() || (x.isReg() && x.getReg() != y.getReg()) ||
        (x.isImm() && x.getImm() != y.getImm()))
      return false;
  }
  return true;
}

TEST_P(LlvmMcOf, TakesNoInstructionForAShorterOne) {
  const Target &target = *findTarget(GetParam());
  auto mc = LlvmMc::create(target, 0);
  ASSERT_TRUE(mc) << mc.error().message();
  std::mt19937_64 random(1);
  // Codes of sources that more dwords belong to, which random bits seldom have.
  constexpr std::array<uint32_t, 5> kSpecial = {233, 234, 249, 250, 255};
  unsigned decoded = 0, longer = 0;
  for (unsigned n = 0; n < 120000; ++n) {
    std::array<uint8_t, 20> bytes;
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(random());
    uint64_t bits;
    memcpy(&bits, bytes.data(), sizeof bits);
    if (n % 3)
      for (const unsigned low : {0u, 8u, 32u, 41u, 50u})
        if (random() % 3 == 0)
          bits = (bits & ~(0x1ffull << low)) | uint64_t{kSpecial[random() % kSpecial.size()]} << low;
    memcpy(bytes.data(), &bits, sizeof bits);

    llvm::MCInst whole, inst;
    uint64_t wholeSize = 0, size = 0;
    const auto status = (*mc)->disassembler->getInstruction(whole, wholeSize, bytes, 0, llvm::nulls());
    if (!(*mc)->decode(bytes, 0, inst, size) || status == llvm::MCDisassembler::Fail)
      continue; // refused for other reasons, or known with halves of registers only
    ++decoded;
    longer += size > 8;
    ASSERT_EQ(size, wholeSize) << std::hex << bits;
    ASSERT_TRUE(same(inst, whole)) << std::hex << bits;
  }
  EXPECT_GE(decoded, 5000u);
  if (target.encoding >= EncodingFamily::Gfx10)
    EXPECT_GE(longer, 100u);
}

/// And refuses none.
TEST_P(LlvmMcOf, DecodesWhatLlvmDecodes) {
  const Target &target = *findTarget(GetParam());
  auto mc = LlvmMc::create(target, 0);
  ASSERT_TRUE(mc) << mc.error().message();
  std::mt19937_64 random(2);
  unsigned decoded = 0;
  for (unsigned n = 0; n < 20000; ++n) {
    std::array<uint8_t, 20> bytes;
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(random());
    bytes[0] = static_cast<uint8_t>(random() % 128), bytes[1] &= 0xfe; // sources that are registers
    llvm::MCInst whole, inst;
    uint64_t wholeSize = 0, size = 0;
    if ((*mc)->disassembler->getInstruction(whole, wholeSize, bytes, 0, llvm::nulls()) != llvm::MCDisassembler::Success)
      continue;
    if (target.encoding < EncodingFamily::Gfx10 && wholeSize > 8)
      continue; // VOP3 has no literals there
    ++decoded;
    EXPECT_TRUE((*mc)->decode(bytes, 0, inst, size))
        << std::hex << int(bytes[3]) << int(bytes[2]) << int(bytes[1]) << int(bytes[0]);
  }
  EXPECT_GE(decoded, 2000u);
}

} // namespace
} // namespace luthier::isa
