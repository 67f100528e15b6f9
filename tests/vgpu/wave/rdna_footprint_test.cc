// Registers of RDNA's instructions by the manuals' fields (vgpu/wave/rdna_fields.h) against the isa layer's: for every
// form of every instruction, with random operands.

#include "vgpu/wave/footprint.h"

#include "isa/decode.h"
#include "isa/disassembler.h"
#include "isa/opcode_universe.h"
#include "vgpu/wave/decoder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <cstring>
#include <map>
#include <random>

namespace luthier::vgpu::test {
namespace {

using Bytes = std::array<uint8_t, 16>;

void flip(Bytes &bytes, unsigned bit) { bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8); }

class RdnaFootprint : public testing::TestWithParam<std::tuple<const char *, unsigned>> {
protected:
  const isa::Target &target() const { return *isa::findTarget(std::get<0>(GetParam())); }
  unsigned lanes() const { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Targets, RdnaFootprint,
                         testing::Combine(testing::Values("gfx1030", "gfx1100", "gfx1201"), testing::Values(32u, 64u)),
                         [](const auto &info) {
                           return fmt::format("{}wave{}", std::get<0>(info.param), std::get<1>(info.param));
                         });

TEST_P(RdnaFootprint, AgreesWithTheIsaLayerForEveryForm) {
  constexpr unsigned kBits = 96, kTries = 6;
  const auto universe = isa::opcodeUniverse(target());
  ASSERT_TRUE(universe) << universe.error().message();
  auto disassembler = isa::Disassembler::create(target(), lanes());
  auto instructions = isa::Decoder::create(target(), lanes());
  ASSERT_TRUE(disassembler && instructions);
  Decoder decoder(target(), lanes());
  std::minstd_rand random(7);
  unsigned compared = 0;
  std::map<std::string, std::string> wrong; // by mnemonic: an example is enough
  for (const isa::OpcodeEntry &opcode : universe->opcodes)
    for (const isa::OpcodeForm &form : opcode.forms) {
      Bytes example{};
      memcpy(example.data(), &form.bits, sizeof form.bits);
      const auto isSame = [&](const Bytes &bytes) {
        const auto found = (*disassembler)->disassemble(bytes, 0);
        return found && found->mnemonic == opcode.mnemonic;
      };
      if (!isSame(example))
        continue;              // not in waves of this size
      std::bitset<kBits> free; // that leave it the same instruction
      for (unsigned bit = 0; bit < kBits; ++bit) {
        Bytes bytes = example;
        flip(bytes, bit);
        free[bit] = isSame(bytes);
      }
      for (unsigned n = 0; n < kTries; ++n) {
        Bytes bytes = example;
        for (unsigned bit = 0; bit < kBits; ++bit)
          if (free[bit] && random() / 7 % 2)
            flip(bytes, bit);
        if (n == 0)
          bytes = example;
        Inst inst;
        decoder.decode(bytes, 0, inst);
        if (!isSame(bytes) || !inst.row || !Decoder::implements(inst))
          continue;
        const auto sequence = (*instructions)->decodeOne(bytes, 0);
        ASSERT_TRUE(sequence) << opcode.mnemonic;
        const Instr &instr = sequence->instrs()[0];
        const std::string text = (*instructions)->text(instr);
        // Operands that an instruction cannot have are a comment in LLVM's text.
        if (instr.is(Property::Indexed) || text.find("/*Invalid") != text.npos ||
            text.substr(text.find(' ') + 1).starts_with("src_"))
          continue;
        RegSet reads, writes;
        for (const RegRange range : instr.reads())
          reads.insert(range);
        for (const RegRange range : instr.writes())
          writes.insert(range);
        for (RegSet *set : {&reads, &writes})
          set->erase(Reg::Mode);
        const auto footprint = footprintOf(*inst.row, std::span(bytes).first(instr.size()), target(), lanes());
        ASSERT_TRUE(footprint);
        ++compared;
        if (const std::string what = disagreement(*footprint, reads, writes); !what.empty())
          wrong.try_emplace(opcode.mnemonic, text + ": " + what);
      }
    }
  for (const auto &[mnemonic, what] : wrong)
    ADD_FAILURE() << mnemonic << ": " << what;
  EXPECT_GE(compared, 8000u);
}

} // namespace
} // namespace luthier::vgpu::test
