// Whether the walk over the instruction space finds all there is: compared with the manual's tables, with LLVM's
// assembler, and with random bits.

#include "isa/opcode_universe.h"

#include "assembler.h"
#include "isa/disassembler.h"
#include "isa/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <sstream>

namespace luthier::isa {
namespace {

const Target &gfx90a() { return *findTarget("gfx90a"); }

const OpcodeUniverse &universe() {
  static const OpcodeUniverse found = [] {
    auto result = opcodeUniverse(gfx90a());
    EXPECT_TRUE(result) << result.error().message();
    return result ? std::move(*result) : OpcodeUniverse();
  }();
  return found;
}

bool hasFormat(const OpcodeEntry &opcode, Format format) {
  return std::ranges::any_of(opcode.forms, [&](const OpcodeForm &form) { return form.format == format; });
}

// Numbers of opcodes in the tables of the CDNA2 manual's chapter 13. VOP3 also has all of VOP1, VOP2 and VOPC (but
// for a few), FLAT has three segments.
TEST(OpcodeUniverse, HasAtLeastAsManyAsTheManual) {
  const std::map<Format, size_t> manual = {
      {Format::Sop1, 54},  {Format::Sop2, 52},  {Format::Sopk, 21},           {Format::Sopc, 20},
      {Format::Sopp, 30},  {Format::Smem, 84},  {Format::Vop1, 79},           {Format::Vop2, 62},
      {Format::Vopc, 198}, {Format::Vop3, 400}, {Format::Vop3p, 62},          {Format::Ds, 124},
      {Format::Mtbuf, 16}, {Format::Mubuf, 76}, {Format::Flat, 51 + 53 + 22}, {Format::Mimg, 25},
  };
  for (const auto &[format, count] : manual)
    EXPECT_GE(std::ranges::count_if(universe().opcodes, [&](const OpcodeEntry &o) { return hasFormat(o, format); }),
              count)
        << static_cast<int>(format);
  EXPECT_GE(universe().opcodes.size(), 1100u);
  EXPECT_GE(universe().forms, 2 * universe().opcodes.size());
}

struct Expected {
  const char *mnemonic;
  std::set<Format> formats;
};

class OpcodeIsFound : public testing::TestWithParam<Expected> {};

TEST_P(OpcodeIsFound, InItsFormats) {
  const OpcodeEntry *opcode = universe().find(GetParam().mnemonic);
  ASSERT_NE(opcode, nullptr);
  std::set<Format> formats;
  for (const OpcodeForm &form : opcode->forms)
    formats.insert(form.format);
  EXPECT_EQ(formats, GetParam().formats);
}

INSTANTIATE_TEST_SUITE_P(
    Gfx90a, OpcodeIsFound,
    testing::Values(
        Expected{"s_mov_b64", {Format::Sop1}}, Expected{"s_bfe_i64", {Format::Sop2}},
        Expected{"s_setreg_imm32_b32", {Format::Sopk}}, Expected{"s_bitcmp1_b64", {Format::Sopc}},
        Expected{"s_endpgm", {Format::Sopp}}, Expected{"s_atc_probe_buffer", {Format::Smem}},
        Expected{"s_buffer_atomic_cmpswap_x2", {Format::Smem}}, Expected{"v_sqrt_f16", {Format::Vop1, Format::Vop3}},
        Expected{"v_swap_b32", {Format::Vop1}}, Expected{"v_readfirstlane_b32", {Format::Vop1}},
        Expected{"v_fmac_f64", {Format::Vop2, Format::Vop3}}, Expected{"v_madak_f16", {Format::Vop2}},
        Expected{"v_cmpx_class_f64", {Format::Vopc, Format::Vop3}}, Expected{"v_div_scale_f64", {Format::Vop3}},
        Expected{"v_writelane_b32", {Format::Vop3}}, Expected{"v_pk_fma_f32", {Format::Vop3p}},
        Expected{"v_mfma_f64_16x16x4f64", {Format::Vop3p}}, Expected{"v_accvgpr_write_b32", {Format::Vop3p}},
        Expected{"ds_add_rtn_f64", {Format::Ds}}, Expected{"ds_gws_barrier", {Format::Ds}},
        Expected{"flat_atomic_add_f64", {Format::Flat}}, Expected{"global_load_short_d16_hi", {Format::Flat}},
        Expected{"scratch_store_dwordx3", {Format::Flat}}, Expected{"buffer_atomic_pk_add_f16", {Format::Mubuf}},
        Expected{"tbuffer_store_format_d16_xyzw", {Format::Mtbuf}}, Expected{"image_sample", {Format::Mimg}}));

// VOP1 or VOP2, VOP3, SDWA and DPP, of which 64-bit operations have only the last; addresses with and without a scalar,
// and to LDS; atomics with and without a result; scalar offsets as constant, register and both, the latter in two ways.
TEST(OpcodeUniverse, TellsFormsApart) {
  EXPECT_EQ(universe().find("v_bfrev_b32")->forms.size(), 4u);
  EXPECT_EQ(universe().find("v_add_f32")->forms.size(), 4u);
  EXPECT_EQ(universe().find("v_cmp_lt_f32")->forms.size(), 3u);
  EXPECT_EQ(universe().find("v_ceil_f64")->forms.size(), 3u);
  EXPECT_EQ(universe().find("global_load_dword")->forms.size(), 4u);
  EXPECT_EQ(universe().find("global_atomic_add_f64")->forms.size(), 4u);
  EXPECT_EQ(universe().find("s_load_dword")->forms.size(), 4u);
}

TEST(OpcodeUniverse, FindsNothingElse) {
  EXPECT_EQ(universe().find("v_add_f32_e32"), nullptr);
  EXPECT_EQ(universe().find("s_mov"), nullptr);
  EXPECT_EQ(universe().find("v_dual_mov_b32"), nullptr) << "gfx11";
  EXPECT_EQ(universe().find("zzz"), nullptr);
  EXPECT_EQ(universe().find(""), nullptr);
}

class UniverseOf : public testing::TestWithParam<const char *> {
protected:
  const Target &target() const { return *findTarget(GetParam()); }
  const OpcodeUniverse universe = *opcodeUniverse(target());
};
INSTANTIATE_TEST_SUITE_P(Targets, UniverseOf, testing::Values("gfx90a", "gfx1010", "gfx1030", "gfx1100", "gfx1201"));

TEST_P(UniverseOf, ExamplesAreInstructions) {
  auto disassembler = Disassembler::create(target());
  ASSERT_TRUE(disassembler);
  for (const OpcodeEntry &opcode : universe.opcodes)
    for (const OpcodeForm &form : opcode.forms) {
      uint8_t bytes[16] = {};
      memcpy(bytes, &form.bits, sizeof form.bits);
      auto found = (*disassembler)->disassemble(bytes, 0);
      ASSERT_TRUE(found) << opcode.mnemonic;
      EXPECT_EQ(found->mnemonic, opcode.mnemonic);
    }
}

// The assembler matches mnemonics through a table of its own. Given a bare mnemonic, it says whether the GPU has no
// such instruction or whether only the operands are missing.
TEST(OpcodeUniverse, AgreesWithTheAssembler) {
  auto disassembler = Disassembler::create(gfx90a());
  ASSERT_TRUE(disassembler);
  const std::vector<std::string> all = (*disassembler)->mnemonicsOfAllTargets();
  ASSERT_GE(all.size(), 2000u);
  std::string source;
  std::vector<std::string> names;
  for (const std::string &name : all)
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos) {
      source += name + "\n";
      names.push_back(name);
    }
  auto assembled = vgpu::test::assemble(gfx90a(), source);
  ASSERT_FALSE(assembled) << "most need operands";
  std::set<std::string> refused;
  // "line LINE, column COLUMN: ...; line ..."
  std::istringstream errors(assembled.error().message());
  for (std::string line; std::getline(errors, line, ';');)
    if (line.find("not supported on this GPU") != std::string::npos ||
        line.find("invalid instruction") != std::string::npos) {
      const size_t number = line.find("line ");
      ASSERT_NE(number, std::string::npos) << line;
      refused.insert(names.at(std::stoul(line.substr(number + 5)) - 1));
    }
  EXPECT_GE(refused.size(), 500u);
  for (const std::string &name : names)
    if (name != "v_mul_lo_i32") // the assembler's other name for v_mul_lo_u32
      EXPECT_EQ(universe().find(name) != nullptr, !refused.contains(name)) << name;
  for (const OpcodeEntry &opcode : universe().opcodes)
    EXPECT_TRUE(std::ranges::binary_search(names, opcode.mnemonic)) << opcode.mnemonic;
}

TEST_P(UniverseOf, RandomBitsShowNothingNew) {
  auto disassembler = Disassembler::create(target());
  ASSERT_TRUE(disassembler);
  std::mt19937_64 random(1);
  std::set<std::string> seen;
  for (unsigned n = 0; n < 500000; ++n) {
    const uint64_t words[2] = {random(), random()};
    uint8_t bytes[16];
    memcpy(bytes, words, sizeof bytes);
    if (auto found = (*disassembler)->disassemble(bytes, 0))
      seen.insert(found->mnemonic);
  }
  EXPECT_GE(seen.size(), 600u);
  for (const std::string &name : seen)
    EXPECT_NE(universe.find(name), nullptr) << name;
}

} // namespace
} // namespace luthier::isa
