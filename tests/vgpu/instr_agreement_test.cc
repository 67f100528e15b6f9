// The virtual GPU's instruction table and the isa layer's know the same instructions from different sources: rows are
// written after the manual, the isa layer's tables come from LLVM. Where both say something, they must agree.

#include "isa/decode.h"
#include "isa/opcode_universe.h"
#include "isa/target.h"
#include "vgpu/exec/level.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace luthier::vgpu {
namespace {

bool has(std::span<const RegRange> ranges, Reg reg) {
  return std::ranges::any_of(ranges, [&](RegRange range) { return range.contains(reg); });
}

class AgreementOf : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, AgreementOf, testing::Values("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(AgreementOf, TraitsAndProperties) {
  const isa::Target &target = *isa::findTarget(GetParam());
  auto universe = isa::opcodeUniverse(target);
  auto instructions = isa::Decoder::create(target);
  ASSERT_TRUE(universe);
  ASSERT_TRUE(instructions);
  Decoder decoder(target);
  unsigned compared = 0;
  for (const isa::OpcodeEntry &opcode : universe->opcodes)
    for (const isa::OpcodeForm &form : opcode.forms) {
      uint8_t bytes[16] = {};
      memcpy(bytes, &form.bits, sizeof form.bits);
      Inst inst;
      decoder.decode(bytes, 0, inst);
      auto sequence = (*instructions)->decodeOne(bytes, 0);
      ASSERT_TRUE(sequence) << opcode.mnemonic;
      const Instr &instr = sequence->instrs()[0];
      SCOPED_TRACE((*instructions)->text(instr));
      EXPECT_EQ(instr.mnemonic(), opcode.mnemonic);
      EXPECT_EQ(instr.size(), inst.words * 4u);
      if (!inst.row)
        continue;
      ++compared;
      const uint16_t traits = inst.row->traits;
      EXPECT_EQ((traits & kEndsRun) != 0, instr.is(Property::Terminator) && !instr.is(Property::Conditional));
      if (instr.is(Property::Vector)) {
        EXPECT_EQ((traits & kWritesExec) != 0, instr.is(Property::WritesExec));
      }
      if (traits & kReadsVcc) {
        EXPECT_TRUE(has(instr.reads(), Reg::VccLo) && has(instr.reads(), Reg::VccHi));
      }
      if (traits & kAccumulates) {
        EXPECT_TRUE(instr.operands()[0].read && instr.operands()[0].written);
      }
      // Flags of memory instructions have another meaning.
      if ((traits & kKeepsHigh) || (instr.memorySpace() == MemorySpace::None && (inst.flags & kOpSelDst))) {
        EXPECT_TRUE(instr.is(Property::PartialWrite));
        EXPECT_TRUE(instr.operands()[0].read);
      }
      EXPECT_EQ((inst.flags & kDpp) != 0, instr.is(Property::CrossLane) && !opcode.mnemonic.starts_with("ds_") &&
                                              !instr.is(Property::Matrix) &&
                                              opcode.mnemonic.find("lane") == std::string::npos);
      const bool memoryFormat = form.format == isa::Format::Smem || form.format == isa::Format::Ds ||
                                form.format == isa::Format::Flat || form.format == isa::Format::Mubuf ||
                                form.format == isa::Format::Mtbuf || form.format == isa::Format::Mimg;
      EXPECT_EQ(instr.memorySpace() != MemorySpace::None, memoryFormat);
      EXPECT_EQ(instr.is(Property::Scalar), form.format <= isa::Format::Smem);
    }
  EXPECT_GE(compared, 2300u);
}

TEST(InstrAgreement, EveryRowHasAnOpcode) {
  for (std::span<const Row> table : execLevel().tables)
    for (const Row &row : table)
      EXPECT_TRUE(opcodeFromName(row.mnemonic)) << row.mnemonic;
}

} // namespace
} // namespace luthier::vgpu
