// What the decoder makes of operands: registers, constants, literals and modifiers of each encoding.

#include "assembler.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"
#include "vgpu/wave/decoder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>

namespace luthier::vgpu::test {
namespace {

class DecoderTest : public testing::Test {
protected:
  Inst decode(std::string_view text) {
    auto code = assemble(target, text);
    EXPECT_TRUE(code) << code.error().message();
    Inst inst{};
    if (code) {
      decoder.decode(*code, 0x1000, inst);
      EXPECT_EQ(inst.words * 4u, code->size()) << text;
    }
    EXPECT_NE(inst.row, nullptr) << text << " has no row";
    return inst;
  }
  static uint64_t constant(const Inst &inst, unsigned n) {
    EXPECT_EQ(inst.srcKind[n], SrcKind::Constant);
    if (inst.srcKind[n] != SrcKind::Constant)
      return 0;
    for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
      EXPECT_EQ(inst.src[n].lanes[lane], inst.src[n].lanes[0]);
      EXPECT_EQ(inst.src[n].lanes[kMaxLanes + lane], inst.src[n].lanes[kMaxLanes]);
    }
    return inst.src[n].lanes[0] | static_cast<uint64_t>(inst.src[n].lanes[kMaxLanes]) << 32;
  }

  const isa::Target &target = *isa::findTarget("gfx90a");
  Decoder decoder{target};
};

TEST_F(DecoderTest, ScalarRegisters) {
  const Inst inst = decode("s_add_u32 s5, s101, vcc_hi");
  EXPECT_EQ(inst.dst, 5);
  EXPECT_EQ(inst.srcKind[0], SrcKind::Scalar);
  EXPECT_EQ(inst.src[0].reg, 101u);
  EXPECT_EQ(inst.src[1].reg, 107u);
  EXPECT_EQ(decoder.mnemonic(inst.opcode), "s_add_u32");
}

TEST_F(DecoderTest, InlineIntegersAndLiterals) {
  EXPECT_EQ(constant(decode("s_add_u32 s0, 0, s1"), 0), 0u);
  EXPECT_EQ(constant(decode("s_add_u32 s0, 64, s1"), 0), 64u);
  EXPECT_EQ(constant(decode("s_add_u32 s0, -1, s1"), 0), 0xffffffffu);
  EXPECT_EQ(constant(decode("s_add_u32 s0, -16, s1"), 0), 0xfffffff0u);
  EXPECT_EQ(constant(decode("s_add_u32 s0, s1, 0x12345678"), 1), 0x12345678u);
  EXPECT_EQ(constant(decode("s_and_b64 s[0:1], s[2:3], -16"), 1), 0xfffffffffffffff0u);
  EXPECT_EQ(constant(decode("s_and_b64 s[0:1], s[2:3], 64"), 1), 64u);
}

TEST_F(DecoderTest, InlineFloats) {
  EXPECT_EQ(constant(decode("v_add_f32 v0, 1.0, v1"), 0), std::bit_cast<uint32_t>(1.0f));
  EXPECT_EQ(constant(decode("v_add_f32 v0, -4.0, v1"), 0), std::bit_cast<uint32_t>(-4.0f));
  EXPECT_EQ(constant(decode("v_add_f32 v0, 0.15915494, v1"), 0), 0x3e22f983u);
  EXPECT_EQ(constant(decode("v_add_f64 v[0:1], 0.5, v[2:3]"), 0), std::bit_cast<uint64_t>(0.5));
  EXPECT_EQ(constant(decode("v_add_f64 v[0:1], 0.15915494309189532, v[2:3]"), 0), 0x3fc45f306dc9c882u);
  EXPECT_EQ(constant(decode("v_add_f16 v0, 2.0, v1"), 0) & 0xffff, 0x4000u);
}

TEST_F(DecoderTest, VectorRegistersOfTheShortEncoding) {
  const Inst inst = decode("v_add_f32 v255, v1, v254");
  EXPECT_EQ(inst.dst, 255);
  EXPECT_EQ(inst.srcKind[0], SrcKind::Vgpr);
  EXPECT_EQ(inst.src[0].reg, 1u);
  EXPECT_EQ(inst.srcKind[1], SrcKind::Vgpr);
  EXPECT_EQ(inst.src[1].reg, 254u);
}

TEST_F(DecoderTest, ModifiersOfVop3) {
  const Inst inst = decode("v_add_f32_e64 v0, |v1|, -v2 clamp div:2");
  EXPECT_EQ(inst.srcMods[0], kAbs);
  EXPECT_EQ(inst.srcMods[1], kNeg);
  EXPECT_TRUE(inst.flags & kClamp);
  EXPECT_EQ(inst.omod, 3);
  const Inst both = decode("v_add_f32_e64 v0, -|v1|, v2 mul:4");
  EXPECT_EQ(both.srcMods[0], kAbs | kNeg);
  EXPECT_EQ(both.omod, 2);
}

TEST_F(DecoderTest, Sdwa) {
  const Inst inst =
      decode("v_add_f32_sdwa v3, -v1, |v2| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:DWORD");
  EXPECT_TRUE(inst.flags & kSdwa);
  EXPECT_EQ(inst.dst, 3);
  EXPECT_EQ(inst.src[0].reg, 1u);
  EXPECT_EQ(inst.src[1].reg, 2u);
  EXPECT_EQ(inst.srcMods[0], kNeg);
  EXPECT_EQ(inst.srcMods[1], kAbs);
  EXPECT_EQ(inst.sdwa.dstSelect, 5u);
  EXPECT_EQ(inst.sdwa.dstUnused, 2u);
  EXPECT_EQ(inst.sdwa.select0, 2u);
  EXPECT_EQ(inst.sdwa.select1, 6u);
  EXPECT_EQ(inst.sdwa.signExtend0, 0u);
  EXPECT_EQ(decode("v_add_u32_sdwa v3, v1, sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
                   "src1_sel:BYTE_1")
                .sdwa.signExtend1,
            1u);
}

TEST_F(DecoderTest, SdwaSourcesMayBeScalar) {
  const Inst inst =
      decode("v_add_f32_sdwa v3, s5, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD");
  EXPECT_EQ(inst.srcKind[0], SrcKind::Scalar);
  EXPECT_EQ(inst.src[0].reg, 5u);
}

TEST_F(DecoderTest, Dpp) {
  const Inst inst = decode("v_add_f32_dpp v3, -v1, v2 row_shr:1 row_mask:0x3 bank_mask:0x5 bound_ctrl:0");
  EXPECT_TRUE(inst.flags & kDpp);
  EXPECT_EQ(inst.src[0].reg, 1u);
  EXPECT_EQ(inst.srcMods[0], kNeg);
  EXPECT_EQ(inst.dpp.pattern, 0x111u);
  EXPECT_EQ(inst.dpp.rowMask, 3u);
  EXPECT_EQ(inst.dpp.bankMask, 5u);
  EXPECT_EQ(inst.dpp.boundControl, 1u);
}

TEST_F(DecoderTest, Buffers) {
  const Inst inst = decode("tbuffer_load_format_x v1, v2, s[4:7], s9 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] "
                           "idxen offset:4");
  EXPECT_EQ(inst.dst, 1);
  EXPECT_EQ(inst.src[0].reg, 2u);
  EXPECT_EQ(inst.sdst, 4);
  EXPECT_EQ(inst.src[2].reg, 9u);
  EXPECT_EQ(inst.buffer.idxen, 1u);
  EXPECT_EQ(inst.buffer.offen, 0u);
  EXPECT_EQ(inst.buffer.format, 4u | 7u << 4);
  EXPECT_EQ(inst.imm, 4);
}

/// LLVM disassembles results that go to no register, which were written beyond the end of the scalar registers.
TEST_F(DecoderTest, ResultsGoToRegisters) {
  for (const uint64_t bits : {0x00020300d04100c0ull,    // v_cmp_lt_f32_e64 64, ...
                              0x000000007f800501ull}) { // v_readfirstlane_b32 64, ...
    uint8_t bytes[8];
    memcpy(bytes, &bits, sizeof bits);
    Inst inst{};
    decoder.decode(bytes, 0, inst);
    EXPECT_FALSE(Decoder::implements(inst)) << decoder.text(bytes, 0);
  }
}

TEST_F(DecoderTest, ComparesWriteMasks) {
  EXPECT_EQ(decode("v_cmp_lt_f32 vcc, v0, v1").sdst, kVcc);
  EXPECT_EQ(decode("v_cmp_lt_f32_e64 s[10:11], v0, v1").sdst, 10);
}

TEST_F(DecoderTest, AccumulatorsAreTheThirdSource) {
  const Inst inst = decode("v_fmac_f32 v7, v1, v2");
  EXPECT_EQ(inst.srcKind[2], SrcKind::Vgpr);
  EXPECT_EQ(inst.src[2].reg, 7u);
}

TEST_F(DecoderTest, GlobalMemory) {
  const Inst load = decode("global_load_dword v5, v6, s[8:9] offset:-4096 glc");
  EXPECT_EQ(load.dst, 5);
  EXPECT_EQ(load.src[0].reg, 6u);
  EXPECT_EQ(load.sdst, 8);
  EXPECT_EQ(load.imm, -4096);
  EXPECT_TRUE(load.flags & kGlc);
  EXPECT_FALSE(load.flags & kReturnsOld);
  EXPECT_TRUE(decode("global_atomic_add v5, v[6:7], v8, off glc").flags & kReturnsOld);
  EXPECT_FALSE(decode("global_atomic_add v[6:7], v8, off").flags & kReturnsOld);
  const Inst store = decode("global_store_dword v[6:7], v9, off offset:4095");
  EXPECT_EQ(store.src[0].reg, 6u);
  EXPECT_EQ(store.src[1].reg, 9u);
  EXPECT_EQ(store.sdst, kNoScalar);
  EXPECT_EQ(store.imm, 4095);
  const Inst accumulator = decode("global_load_dword a5, v[6:7], off");
  EXPECT_EQ(accumulator.dst, kAccBase + 5);
}

TEST_F(DecoderTest, ScalarMemory) {
  const Inst load = decode("s_load_dwordx2 s[8:9], s[4:5], -8");
  EXPECT_EQ(load.dst, 8);
  EXPECT_EQ(load.src[0].reg, 4u);
  EXPECT_EQ(load.imm, -8);
  EXPECT_EQ(load.sdst, kNoScalar);
  EXPECT_FALSE(load.flags & kGlc);
  EXPECT_TRUE(decode("s_load_dwordx2 s[8:9], s[4:5], 0 glc").flags & kGlc);
  const Inst indexed = decode("s_load_dword s8, s[4:5], s20");
  EXPECT_EQ(indexed.sdst, 20);
  EXPECT_EQ(indexed.imm, 0);
}

TEST_F(DecoderTest, Lds) {
  const Inst inst = decode("ds_write2_b32 v1, v2, v3 offset0:4 offset1:8");
  EXPECT_EQ(inst.src[0].reg, 1u);
  EXPECT_EQ(inst.src[1].reg, 2u);
  EXPECT_EQ(inst.src[2].reg, 3u);
  EXPECT_EQ(inst.imm, 4 | 8 << 8);
}

TEST_F(DecoderTest, BranchesAreSigned) {
  const Inst inst = decode("s_branch 0xfffe");
  EXPECT_EQ(inst.imm, -2);
  EXPECT_TRUE(inst.row->traits & kEndsRun);
}

TEST_F(DecoderTest, WhatIsNoInstructionStopsTheDispatchLater) {
  const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff};
  Inst inst{};
  decoder.decode(bytes, 0, inst);
  EXPECT_NE(inst.fn, nullptr);
  EXPECT_EQ(inst.row, nullptr);
  EXPECT_EQ(inst.words, 1);
}

TEST_F(DecoderTest, GraphicsInstructionsAreRefused) {
  // exp mrt0 v0, v1, v2, v3 of gfx900, which gfx90a does not have.
  const uint8_t bytes[] = {0x0f, 0x00, 0x00, 0xc4, 0x00, 0x01, 0x02, 0x03};
  Inst inst{};
  decoder.decode(bytes, 0, inst);
  EXPECT_EQ(inst.row, nullptr);
}

TEST_F(DecoderTest, RowsHaveDistinctMnemonics) {
  std::set<std::string_view> seen;
  for (std::span<const Row> table : execLevel().tables)
    for (const Row &row : table) {
      EXPECT_TRUE(seen.insert(row.mnemonic).second) << row.mnemonic << " stands in two rows";
      EXPECT_TRUE(row.handler || row.loop) << row.mnemonic;
    }
  EXPECT_LT(seen.size(), Decoder::kMaxOpcodes);
}

} // namespace
} // namespace luthier::vgpu::test
