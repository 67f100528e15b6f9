// The instruction table is complete, and the list of what is left out is about instructions that exist.

#include "vgpu/coverage.h"

#include "isa/disassembler.h"
#include "isa/opcode_universe.h"
#include "vgpu/exec/level.h"
#include "vgpu/wave/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace luthier::vgpu {
namespace {

class CoverageTest : public testing::TestWithParam<const char *> {
protected:
  static const isa::Target &target() { return *isa::findTarget(GetParam()); }
  static void expectSdwaAndDppAreNotIgnored(const isa::OpcodeUniverse &universe);
};

INSTANTIATE_TEST_SUITE_P(Targets, CoverageTest,
                         testing::Values("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1010", "gfx1030",
                                         "gfx1100", "gfx1151", "gfx1201"),
                         [](const auto &info) { return std::string(info.param); });

// One test, as walking through all opcodes of a target takes seconds.
TEST_P(CoverageTest, IsCompleteAndCountsEveryOpcodeOnce) {
  const auto measured = coverage(target());
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_THAT(measured->missing, testing::IsEmpty());
  EXPECT_TRUE(measured->complete());
  EXPECT_GE(measured->implemented.size(), 1000u);

  const auto universe = isa::opcodeUniverse(target());
  ASSERT_TRUE(universe) << universe.error().message();
  size_t graphics = 0;
  for (const Coverage::Group &group : measured->graphics)
    graphics += group.mnemonics.size();
  EXPECT_EQ(measured->compute() + graphics, universe->opcodes.size());
  EXPECT_EQ(measured->forms, universe->forms);
  expectSdwaAndDppAreNotIgnored(*universe);
}

TEST(Graphics, OpcodesExistAndAreNotImplemented) {
  const auto disassembler = isa::Disassembler::create(*isa::findTarget("gfx90a"));
  ASSERT_TRUE(disassembler);
  const std::vector<std::string> all = (*disassembler)->mnemonicsOfAllTargets();
  std::set<std::string_view> rows;
  for (std::span<const Row> table : execLevel().tables)
    for (const Row &row : table)
      rows.insert(row.mnemonic);
  std::set<std::string_view> listed;
  for (const GraphicsGroup &group : graphicsGroups()) {
    EXPECT_FALSE(group.reason.empty());
    EXPECT_FALSE(group.mnemonics.empty());
    for (const std::string_view mnemonic : group.mnemonics) {
      EXPECT_TRUE(std::ranges::binary_search(all, mnemonic)) << mnemonic;
      EXPECT_FALSE(rows.contains(mnemonic)) << mnemonic;
      EXPECT_TRUE(listed.insert(mnemonic).second) << mnemonic << " is listed twice";
    }
  }
}

// A row may be for another target than this one, but not for none.
TEST(Rows, AreInstructionsAndStandOnce) {
  auto disassembler = isa::Disassembler::create(*isa::findTarget("gfx90a"));
  ASSERT_TRUE(disassembler);
  const std::vector<std::string> all = (*disassembler)->mnemonicsOfAllTargets();
  std::set<std::string_view> rows;
  for (std::span<const Row> table : execLevel().tables)
    for (const Row &row : table) {
      EXPECT_TRUE(std::ranges::binary_search(all, row.mnemonic)) << row.mnemonic;
      EXPECT_TRUE(rows.insert(row.mnemonic).second) << row.mnemonic << " has two rows";
    }
}

// Only rows with a lane loop know SDWA and DPP; a handler of its own would ignore them, unless it says otherwise.
void CoverageTest::expectSdwaAndDppAreNotIgnored(const isa::OpcodeUniverse &universe) {
  Decoder decoder(target());
  unsigned seen = 0;
  for (const isa::OpcodeEntry &opcode : universe.opcodes)
    for (const isa::OpcodeForm &form : opcode.forms) {
      uint8_t bytes[16] = {};
      memcpy(bytes, &form.bits, sizeof form.bits);
      Inst inst;
      decoder.decode(bytes, 0, inst);
      if (form.format < isa::Format::Vop1 || form.format > isa::Format::Vop3p || !(inst.flags & (kSdwa | kDpp)) ||
          opcode.mnemonic == "v_nop" || opcode.mnemonic == "v_clrexcp")
        continue; // flags of memory instructions have another meaning
      ++seen;
      ASSERT_NE(inst.row, nullptr) << opcode.mnemonic;
      EXPECT_TRUE(inst.row->loop || (inst.row->traits & kTakesDpp) || !Decoder::implements(inst)) << opcode.mnemonic;
    }
  EXPECT_GE(seen, 340u); // gfx900 has the fewest
}

TEST(Decoder, ImplementsSaysNoForWhatIsNotThere) {
  Decoder decoder(*isa::findTarget("gfx90a"));
  auto implements = [&](uint32_t word) {
    uint8_t bytes[16] = {};
    memcpy(bytes, &word, sizeof word);
    Inst inst;
    decoder.decode(bytes, 0, inst);
    return Decoder::implements(inst);
  };
  EXPECT_TRUE(implements(0xbf810000)) << "s_endpgm";
  EXPECT_FALSE(implements(0xbf9e0000)) << "s_endpgm_ordered_ps_done";
  EXPECT_FALSE(implements(0xbfff0000)) << "no instruction";
}

// LLVM disassembles them for gfx90a too. Their value here would be made up.
TEST(Decoder, SourcesOfGraphicsStop) {
  Decoder decoder(*isa::findTarget("gfx90a"));
  auto handler = [&](uint32_t word) {
    uint8_t bytes[16] = {};
    memcpy(bytes, &word, sizeof word);
    Inst inst;
    decoder.decode(bytes, 0, inst);
    return single(inst) == inst.row->handler;
  };
  EXPECT_TRUE(handler(0x7e0002fd)) << "v_mov_b32 v0, src_scc";
  EXPECT_FALSE(handler(0x7e0002fe)) << "v_mov_b32 v0, src_lds_direct";
  EXPECT_FALSE(handler(0x7e0002ef)) << "v_mov_b32 v0, src_pops_exiting_wave_id";
  EXPECT_FALSE(handler(0xbe8000ef)) << "s_mov_b32 s0, src_pops_exiting_wave_id";
}

} // namespace
} // namespace luthier::vgpu
