// One instruction in different encodings is one record. gfx90a, gfx1030 and gfx1100 have the same instructions at other
// bits and partly under other names; what the decoder makes of them differs only in what differs by nature.

#include "assembler.h"
#include "isa/disassembler.h"
#include "isa/target.h"
#include "vgpu/exec/renamed.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"
#include "vgpu/wave/decoder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace luthier::vgpu::test {
namespace {

const isa::Target &target(std::string_view name) { return *isa::findTarget(name); }

/// Assembles with waves of 64 lanes, as the decoders of this test decode.
Inst decoded(Decoder &decoder, const isa::Target &target, std::string_view text) {
  Inst inst{};
  const auto code = isa::assemble(target, text, 64);
  EXPECT_TRUE(code) << target.name << ": " << code.error().message();
  if (code)
    decoder.decode(*code, 0, inst);
  EXPECT_NE(inst.row, nullptr) << target.name << " " << text;
  return inst;
}

/// Memory instructions carry a few facts of the target with them.
bool isMemory(const Inst &inst) {
  const std::string_view name = inst.row->mnemonic;
  return !name.starts_with("v_") && !name.starts_with("s_");
}

void expectSame(const Inst &a, const Inst &b) {
  EXPECT_EQ(a.row, b.row);
  EXPECT_EQ(a.fn, b.fn);
  EXPECT_EQ(a.threaded, b.threaded);
  EXPECT_EQ(a.dst, b.dst);
  EXPECT_EQ(a.sdst, b.sdst);
  EXPECT_EQ(a.imm, b.imm);
  if (isMemory(a)) {
    constexpr int kFacts = kLoadKeepsHalf | kFlushes | kNarrowScratch;
    EXPECT_EQ(a.flags & ~kFacts, b.flags & ~kFacts);
    EXPECT_EQ(a.buffer.offen, b.buffer.offen);
    EXPECT_EQ(a.buffer.idxen, b.buffer.idxen);
  } else {
    EXPECT_EQ(a.control, b.control);
    EXPECT_EQ(a.flags, b.flags);
  }
  EXPECT_EQ(a.omod, b.omod);
  for (unsigned n = 0; n < 3; ++n) {
    EXPECT_EQ(a.srcKind[n], b.srcKind[n]) << "source " << n;
    EXPECT_EQ(a.srcMods[n], b.srcMods[n]) << "source " << n;
    if (a.srcKind[n] != b.srcKind[n])
      continue;
    if (a.srcKind[n] == SrcKind::Constant) {
      EXPECT_EQ(a.src[n].lanes[0], b.src[n].lanes[0]) << "source " << n;
      EXPECT_EQ(a.src[n].lanes[kMaxLanes], b.src[n].lanes[kMaxLanes]) << "source " << n;
    } else {
      EXPECT_EQ(a.src[n].reg, b.src[n].reg) << "source " << n;
    }
  }
}

TEST(DecoderEncodings, AreOneRecord) {
  constexpr std::string_view kTexts[] = {
      "s_add_u32 s5, s101, vcc_hi",
      "s_mov_b32 m0, s7",
      "s_mov_b32 s1, m0",
      "s_and_b64 s[2:3], exec, -16",
      "s_mov_b64 s[2:3], 0x12345678",
      "s_cmp_eq_u32 s3, 64",
      "s_movk_i32 s3, 0x8000",
      "s_branch 0xfffe",
      "s_load_dwordx2 s[8:9], s[4:5], -8",
      "s_load_dword s8, s[4:5], s20",
      "s_buffer_load_dwordx4 s[8:11], s[4:7], 0x10",
      "v_add_f32 v0, v1, v2",
      "v_add_f32 v0, 1.0, v2",
      "v_add_f32 v0, 0x40490fdb, v2",
      "v_fma_f32 v0, |v1|, -s2, -|v3| clamp mul:2",
      "v_add_f64 v[0:1], 0.5, -v[2:3]",
      "v_cndmask_b32 v0, v1, v2, vcc",
      "v_cndmask_b32_e64 v0, v1, v2, s[4:5]",
      "v_cmp_lt_f32 vcc, v0, v1",
      "v_cmp_lt_f32_e64 s[10:11], v0, |v1|",
      "v_mad_u64_u32 v[0:1], s[4:5], v2, v3, v[4:5]",
      "v_div_scale_f32 v0, vcc, v1, v2, v3",
      "v_fmac_f32 v7, v1, v2",
      "v_readlane_b32 s3, v4, s5",
      "v_writelane_b32 v3, s4, 7",
      "v_readfirstlane_b32 s3, v4",
      "v_swap_b32 v1, v2",
      "v_pk_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,1] neg_lo:[0,1,0] neg_hi:[0,0,1] clamp",
      "v_add_f32_dpp v3, -v1, |v2| row_shr:1 row_mask:0x3 bank_mask:0x5 bound_ctrl:1",
      "v_mov_b32_dpp v3, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf",
      "global_load_dword v5, v6, s[8:9] offset:-2048",
      "global_load_dwordx4 v[8:11], v[6:7], off offset:16",
      "global_store_dword v[6:7], v9, off offset:2047",
      "global_store_byte v6, v9, s[2:3]",
      "flat_load_dword v5, v[6:7]",
      "flat_store_dwordx2 v[6:7], v[8:9]",
      "global_atomic_swap v5, v[6:7], v8, off glc",
      "ds_read_b32 v1, v2 offset:16",
      "ds_write2_b32 v1, v2, v3 offset0:4 offset1:8",
      "ds_bpermute_b32 v1, v2, v3 offset:4",
      "buffer_load_dword v1, v2, s[4:7], s9 offen offset:4",
      "buffer_load_dword v1, v[2:3], s[4:7], 0 idxen offen",
      "buffer_store_dwordx2 v[2:3], off, s[4:7], s9 offset:8",
  };
  const isa::Target &old = target("gfx90a");
  Decoder reference(old, 64);
  for (const char *name : {"gfx1030", "gfx1100"}) {
    const isa::Target &other = target(name);
    Decoder decoder(other, 64);
    for (const std::string_view text : kTexts) {
      SCOPED_TRACE(std::string(name) + ": " + std::string(text));
      expectSame(decoded(reference, old, text), decoded(decoder, other, text));
    }
  }
}

TEST(DecoderEncodings, SdwaOfGfx10IsThatOfGfx9) {
  Decoder nine(target("gfx90a"), 64), ten(target("gfx1030"), 64);
  for (const char *text : {"v_add_f32_sdwa v3, -v1, |v2| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 "
                           "src1_sel:DWORD",
                           "v_mov_b32_sdwa v3, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
                           "v_cmp_eq_u32_sdwa vcc, v1, v2 src0_sel:BYTE_0 src1_sel:BYTE_3"}) {
    SCOPED_TRACE(text);
    expectSame(decoded(nine, target("gfx90a"), text), decoded(ten, target("gfx1030"), text));
  }
}

TEST(DecoderEncodings, TheNullRegister) {
  for (const char *name : {"gfx1030", "gfx1100"}) {
    SCOPED_TRACE(name);
    Decoder decoder(target(name), 64);
    EXPECT_EQ(decoded(decoder, target(name), "s_mov_b32 null, s1").dst, kDiscarded);
    const Inst read = decoded(decoder, target(name), "s_add_u32 s0, null, s1");
    ASSERT_EQ(read.srcKind[0], SrcKind::Constant);
    EXPECT_EQ(read.src[0].lanes[0], 0u);
    EXPECT_EQ(decoded(decoder, target(name), "s_load_dword s0, s[2:3], null").sdst, kNoScalar);
    EXPECT_EQ(decoded(decoder, target(name), "s_mov_b32 m0, s1").dst, kM0);
  }
}

TEST(DecoderEncodings, FromGfx10OnCmpxHasNoResultButExec) {
  Decoder nine(target("gfx90a"), 64), ten(target("gfx1030"), 64);
  EXPECT_EQ(decoded(nine, target("gfx90a"), "v_cmpx_lt_f32 vcc, v1, v2").sdst, kVcc);
  EXPECT_EQ(decoded(ten, target("gfx1030"), "v_cmpx_lt_f32 v1, v2").sdst, kExec);
}

/// What gfx10 added must not be taken for what it resembles, nor what it has no more be executed.
TEST(DecoderEncodings, KindsOfDppAreToldApart) {
  Decoder decoder(target("gfx1030"), 64);
  const auto record = [&](const char *text) { return decoded(decoder, target("gfx1030"), text); };
  const Inst eight = record("v_mov_b32_dpp v3, v1 dpp8:[7,6,5,4,3,2,1,0]");
  EXPECT_EQ(eight.flags & (kDpp | kDpp8), kDpp | kDpp8);
  EXPECT_EQ(eight.dpp8.lanes, 001234567u) << "three bits each, the first lane's lowest";
  EXPECT_FALSE(eight.dpp8.fetchInactive);
  EXPECT_TRUE(record("v_mov_b32_dpp v3, v1 dpp8:[7,6,5,4,3,2,1,0] fi:1").dpp8.fetchInactive);
  const Inst sixteen = record("v_mov_b32_dpp v3, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf fi:1");
  EXPECT_EQ(sixteen.flags & (kDpp | kDpp8), kDpp);
  EXPECT_TRUE(sixteen.dpp.fetchInactive);
  Inst inst;
  const uint32_t waveShift[] = {0x7e0602fa, 0xff013001}; // v_mov_b32_dpp v3, v1 wave_shl:1
  decoder.decode({reinterpret_cast<const uint8_t *>(waveShift), sizeof waveShift}, 0, inst);
  EXPECT_FALSE(Decoder::implements(inst));
}

std::string registers(char file, unsigned first, unsigned count) {
  return count == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + count - 1);
}

/// Operands that fit an instruction of kRenamed.
std::string operandsFor(std::string_view name) {
  constexpr std::pair<std::string_view, unsigned> kWidths[] = {
      {"x16", 16}, {"x8", 8}, {"x4", 4}, {"x3", 3}, {"x2", 2}, {"b64", 2}, {"b96", 3}, {"b128", 4}, {"", 1}};
  unsigned width = 1;
  for (const auto &[suffix, count] : kWidths)
    if (name.ends_with(suffix)) {
      width = count;
      break;
    }
  if (name.find("cmpswap") != name.npos)
    width *= 2;
  if (const size_t format = name.rfind("format_"); format != name.npos) {
    const auto components = static_cast<unsigned>(name.size() - name.rfind('_') - 1);
    width = name.find("_d16_") != name.npos ? (components + 1) / 2 : components;
  }
  const std::string scalar = registers('s', 16, width), vector = registers('v', 8, width);
  const bool store =
      name.find("store") != name.npos || name.find("write") != name.npos || name.find("atomic") != name.npos;
  const auto ordered = [&](const std::string &address) {
    return store ? address + ", " + vector : vector + ", " + address;
  };
  if (name.starts_with("s_load"))
    return scalar + ", s[4:5], 0";
  if (name.starts_with("s_buffer"))
    return scalar + ", s[4:7], 0";
  if (name.starts_with("s_ff1_") || name.starts_with("s_flbit_"))
    return "s16, " + registers('s', 16, name.ends_with("64") ? 2 : 1);
  if (name.find("_saveexec_") != name.npos || name.find("_wrexec_") != name.npos)
    return registers('s', 16, width) + ", " + registers('s', 16, width);
  if (name == "s_inst_prefetch")
    return "0x3";
  if (name.starts_with("s_"))
    return scalar + ", " + scalar + ", " + scalar;
  if (name.starts_with("global") && name.ends_with("addtid"))
    return "v8, s[4:5]";
  if (name == "global_atomic_csub")
    return "v1, v[6:7], v8, off glc";
  if (name.starts_with("global"))
    return ordered("v[6:7]") + ", off";
  if (name.starts_with("flat"))
    return ordered("v[6:7]");
  if (name.starts_with("scratch"))
    return ordered("v6") + ", off";
  if (name.starts_with("buffer"))
    return vector + ", off, s[4:7], 0" + (name == "buffer_atomic_csub" ? " glc" : "");
  if (name.starts_with("tbuffer"))
    return vector + ", off, s[4:7], 0 format:[BUF_FMT_32_FLOAT]";
  if (name.ends_with("addtid_b32"))
    return "v8";
  if (name.starts_with("ds_wrxchg2"))
    return registers('v', 20, 2 * width) + ", v6, " + vector + ", " + vector;
  if (name.starts_with("ds_wrxchg"))
    return registers('v', 20, width) + ", v6, " + vector;
  if (name.starts_with("ds_read2"))
    return registers('v', 8, 2 * width) + ", v6";
  if (name.starts_with("ds_write2"))
    return "v6, " + vector + ", " + vector;
  return ordered("v6");
}

/// LLVM takes the older name for the same instruction, and prints the newer one.
TEST(DecoderEncodings, RenamedInstructionsAreLlvmsToo) {
  auto disassembler = isa::Disassembler::create(target("gfx1100"), 64);
  ASSERT_TRUE(disassembler);
  unsigned asked = 0;
  for (const Renamed &renamed : kRenamed) {
    EXPECT_TRUE(opcodeFromName(renamed.name)) << renamed.name;
    EXPECT_TRUE(opcodeFromName(renamed.row)) << renamed.row;
    // It has no second name for these, or none that gfx11 has.
    constexpr std::string_view kOnlyOurs[] = {"buffer_atomic_sub_clamp_u32",
                                              "global_atomic_sub_clamp_u32",
                                              "ds_direct_load",
                                              "s_add_co_u32",
                                              "s_sub_co_u32",
                                              "s_add_co_i32",
                                              "s_sub_co_i32",
                                              "s_add_co_ci_u32",
                                              "s_sub_co_ci_u32",
                                              "s_addk_co_i32",
                                              "s_wait_alu"};
    if (renamed.name.starts_with("v_") || renamed.name.starts_with("buffer_load_lds_") ||
        std::ranges::find(kOnlyOurs, renamed.name) != std::end(kOnlyOurs))
      continue;
    const std::string text = std::string(renamed.row) + " " + operandsFor(renamed.row);
    auto code = isa::assemble(target("gfx1100"), text, 64);
    ASSERT_TRUE(code) << text << ": " << code.error().message();
    auto found = (*disassembler)->disassemble(*code, 0);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->mnemonic, renamed.name);
    ++asked;
  }
  EXPECT_GE(asked, 150u);
}

} // namespace
} // namespace luthier::vgpu::test
