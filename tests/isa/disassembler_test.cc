#include "isa/disassembler.h"

#include "assembler.h"
#include "isa/target.h"

#include <gtest/gtest.h>

#include <cstring>

namespace luthier::isa {
namespace {

class DisassemblerTest : public testing::Test {
protected:
  void SetUp() override {
    auto made = Disassembler::create(*findTarget("gfx90a"));
    ASSERT_TRUE(made) << made.error().message();
    disassembler = std::move(*made);
  }
  std::vector<uint8_t> code(const char *text) {
    auto bytes = vgpu::test::assemble(*findTarget("gfx90a"), text);
    EXPECT_TRUE(bytes) << bytes.error().message();
    return bytes ? *bytes : std::vector<uint8_t>();
  }
  std::unique_ptr<Disassembler> disassembler;
};

TEST_F(DisassemblerTest, MnemonicsHaveNoEncodingSuffix) {
  const std::pair<const char *, const char *> cases[] = {
      {"v_add_f32_e32 v0, v1, v2", "v_add_f32"},
      {"v_add_f32_e64 v0, v1, v2", "v_add_f32"},
      {"v_add_f32_sdwa v0, v1, v2 dst_sel:DWORD src0_sel:WORD_1 src1_sel:DWORD", "v_add_f32"},
      {"v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf", "v_add_f32"},
      {"v_cmp_lt_i32_e64 s[0:1], v0, v1", "v_cmp_lt_i32"},
      {"v_cmpx_lt_i32_sdwa vcc, v0, v1 src0_sel:DWORD src1_sel:DWORD", "v_cmpx_lt_i32"},
      {"s_endpgm", "s_endpgm"},
      {"global_load_dword v0, v1, s[0:1]", "global_load_dword"},
      {"v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]", "v_mfma_f32_32x32x1f32"},
  };
  for (const auto &[text, mnemonic] : cases) {
    SCOPED_TRACE(text);
    auto decoded = disassembler->disassemble(code(text), 0);
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(decoded->mnemonic, mnemonic);
  }
}

TEST_F(DisassemblerTest, SizesIncludeLiterals) {
  const std::pair<const char *, uint32_t> cases[] = {
      {"s_mov_b32 s0, 64", 4},
      {"s_mov_b32 s0, 65", 8},
      {"v_fma_f32 v0, v1, v2, v3", 8},
      {"s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x12345", 8},
      {"v_madmk_f32 v0, v1, 0x3f8ccccd, v2", 8},
      {"buffer_load_dword v0, off, s[0:3], 0", 8},
  };
  for (const auto &[text, size] : cases) {
    SCOPED_TRACE(text);
    const std::vector<uint8_t> bytes = code(text);
    EXPECT_EQ(bytes.size(), size);
    auto decoded = disassembler->disassemble(bytes, 0);
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(decoded->size, size);
  }
}

TEST_F(DisassemblerTest, RefusesWhatIsNoInstruction) {
  const std::vector<uint8_t> invalid = {0xff, 0xff, 0xff, 0xff};
  EXPECT_FALSE(disassembler->disassemble(invalid, 0));
  EXPECT_EQ(disassembler->text(invalid, 0), "<invalid>");
  EXPECT_FALSE(disassembler->disassemble({}, 0));
}

// LLVM decodes them, and its printer crashes on them.
TEST_F(DisassemblerTest, RefusesReservedSdwaSelections) {
  const uint32_t vMovSdwa = 0x7e0202f9, vAddSdwa = 0x020202f9; // v_mov_b32_sdwa, v_add_f32_sdwa
  for (const auto &[first, second] : {std::pair{vMovSdwa, 0x00060706u}, std::pair{vMovSdwa, 0x00071600u},
                                      std::pair{vMovSdwa, 0x00061e00u}, std::pair{vAddSdwa, 0x07061600u}}) {
    const uint32_t words[] = {first, second};
    uint8_t bytes[8];
    memcpy(bytes, words, sizeof bytes);
    EXPECT_EQ(disassembler->text(bytes, 0), "<invalid>") << std::hex << first << " " << second;
    EXPECT_FALSE(disassembler->disassemble(bytes, 0)) << std::hex << first << " " << second;
  }
}

TEST_F(DisassemblerTest, RefusesTruncatedInstructions) {
  std::vector<uint8_t> bytes = code("v_fma_f32 v0, v1, v2, v3");
  bytes.resize(4);
  EXPECT_FALSE(disassembler->disassemble(bytes, 0));
}

TEST_F(DisassemblerTest, TextIsAssembly) {
  EXPECT_EQ(disassembler->text(code("v_add_f32_e64 v0, |v1|, -v2 clamp"), 0), "v_add_f32_e64 v0, |v1|, -v2 clamp");
  EXPECT_EQ(disassembler->text(code("s_add_u32 s0, s1, 0x12345"), 0), "s_add_u32 s0, s1, 0x12345");
}

TEST(EncodingSuffix, IsDroppedOnce) {
  EXPECT_EQ(withoutEncodingSuffix("v_add_f32_e32"), "v_add_f32");
  EXPECT_EQ(withoutEncodingSuffix("v_add_f32"), "v_add_f32");
  EXPECT_EQ(withoutEncodingSuffix("v_x_dpp"), "v_x");
}

} // namespace
} // namespace luthier::isa
