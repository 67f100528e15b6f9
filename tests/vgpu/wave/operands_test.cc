// operandsOf against what handlers do: of all registers, only those declared as written may change, and inputs that are
// not declared as read must not matter.
#include "vgpu/wave/operands.h"

#include "harness.h"
#include "trace_file.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace luthier::vgpu::test {
namespace {

/// One instruction per shape of operands; every file and encoding is there. Addresses: v[10:11] and s[40:41] point into
/// memory, v12 is an LDS offset, s[44:47] a buffer resource, v14 an offset, v15 a lane offset of 4.
constexpr const char *kInstructions[] = {
    // SALU
    "s_add_u32 s0, s1, s2", "s_addc_u32 s0, s1, s2", "s_cmp_eq_u32 s0, s1", "s_cselect_b64 s[0:1], s[2:3], s[4:5]",
    "s_and_b64 s[0:1], s[2:3], s[4:5]", "s_bfe_u64 s[0:1], s[2:3], s4", "s_mul_hi_u32 s0, s1, s2",
    "s_and_saveexec_b64 s[0:1], s[2:3]", "s_andn1_wrexec_b64 s[0:1], s[2:3]", "s_mov_b64 vcc, s[2:3]",
    "s_mov_b32 m0, s3", "s_addk_i32 s3, 5", "s_cmpk_eq_i32 s3, 5", "s_mulk_i32 s3, 7", "s_bitset1_b32 s0, s1",
    "s_bitset1_b64 s[0:1], s2", "s_cmov_b32 s0, s1", "s_brev_b64 s[0:1], s[2:3]", "s_ff1_i32_b64 s0, s[2:3]",
    "s_bcnt1_i32_b64 s0, s[2:3]", "s_getpc_b64 s[0:1]", "s_getreg_b32 s0, hwreg(HW_REG_MODE)", "s_abs_i32 s0, s1",
    "s_quadmask_b64 s[0:1], s[2:3]", "s_lshl4_add_u32 s0, s1, s2", "s_pack_ll_b32_b16 s0, s1, s2",
    "s_bitcmp1_b64 s[0:1], s2", "s_cmp_lg_u64 s[0:1], s[2:3]", "s_mov_b32 flat_scratch_lo, s1", "s_movk_i32 s0, 5",
    // SMEM
    "s_load_dword s0, s[40:41], 0x4", "s_load_dwordx2 s[0:1], s[40:41], 0x4", "s_load_dwordx4 s[0:3], s[40:41], 0x0",
    "s_load_dwordx8 s[0:7], s[40:41], 0x0", "s_load_dwordx16 s[0:15], s[40:41], 0x0",
    "s_buffer_load_dwordx4 s[0:3], s[44:47], 0x8", "s_memtime s[0:1]", "s_memrealtime s[0:1]",
    // VOP1, VOP2, VOPC
    "v_mov_b32 v0, v1", "v_add_f32 v0, v1, v2", "v_cvt_f64_i32 v[0:1], v2", "v_rcp_f64 v[0:1], v[2:3]",
    "v_add_co_u32 v0, vcc, v1, v2", "v_addc_co_u32 v0, vcc, v1, v2, vcc", "v_cndmask_b32 v0, v1, v2, vcc",
    "v_cmp_lt_f32 vcc, v1, v2", "v_cmpx_lt_u32 vcc, v1, v2", "v_cmp_lt_f64 s[4:5], v[2:3], v[4:5]",
    "v_cmpx_lt_u32 s[4:5], v1, v2", "v_fmac_f32 v0, v1, v2", "v_readfirstlane_b32 s3, v1", "v_swap_b32 v0, v1",
    "v_fmac_f64 v[0:1], v[2:3], v[4:5]", "v_mov_b32 v0, vcc_lo", "v_add_f32 v0, s3, v1", "v_mov_b32 v0, src_scc",
    // SDWA, DPP
    "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf",
    "v_add_f32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD",
    "v_cmp_eq_u32_sdwa s[4:5], v1, v2 src0_sel:BYTE_0 src1_sel:DWORD",
    // VOP3, VOP3P
    "v_readlane_b32 s3, v1, s4", "v_writelane_b32 v1, s3, 5", "v_mad_u64_u32 v[0:1], s[2:3], v2, v3, v[4:5]",
    "v_div_scale_f64 v[0:1], vcc, v[2:3], v[2:3], v[6:7]", "v_div_fmas_f32 v0, v1, v2, v3",
    "v_div_fixup_f64 v[0:1], v[2:3], v[4:5], v[6:7]", "v_perm_b32 v0, v1, v2, v3", "v_lshlrev_b64 v[0:1], v2, v[4:5]",
    "v_mbcnt_lo_u32_b32 v0, -1, v1", "v_cndmask_b32 v0, v1, v2, s[4:5]", "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]",
    "v_pk_add_u16 v0, v1, v2", "v_dot2_f32_f16 v0, v1, v2, v3", "v_fma_mixlo_f16 v0, v1, v2, v3",
    "v_mad_u16 v0, v1, v2, v3 op_sel:[0,0,0,1]", "v_add_co_u32 v0, s[4:5], v1, v2", "v_ldexp_f64 v[0:1], v[2:3], v4",
    "v_mqsad_u32_u8 v[0:3], v[4:5], v6, v[16:19]", "v_frexp_exp_i32_f64 v0, v[2:3]",
    // MFMA and AccVGPRs
    "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[16:31]", "v_mfma_f32_4x4x1f32 v[0:3], v8, v9, v[0:3]",
    "v_mfma_f64_16x16x4f64 v[0:7], v[20:21], v[22:23], v[24:31]", "v_mfma_i32_16x16x16i8 a[0:3], v0, v1, a[4:7]",
    "v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[32:63]", "v_accvgpr_write_b32 a1, v2", "v_accvgpr_read_b32 v1, a2",
    "v_accvgpr_mov_b32 a1, a2",
    // DS
    "ds_read_b32 v0, v12", "ds_read_b64 v[0:1], v12", "ds_read_b96 v[0:2], v12", "ds_read_b128 v[0:3], v12",
    "ds_read2_b32 v[0:1], v12 offset0:1 offset1:2", "ds_read2st64_b64 v[0:3], v12 offset1:1", "ds_read_u8 v0, v12",
    "ds_read_u16_d16_hi v0, v12", "ds_write_b128 v12, v[0:3]", "ds_write2_b64 v12, v[0:1], v[2:3] offset1:1",
    "ds_add_rtn_u32 v0, v12, v1", "ds_add_u64 v12, v[0:1]", "ds_cmpst_rtn_b64 v[0:1], v12, v[2:3], v[4:5]",
    "ds_wrxchg2_rtn_b32 v[0:1], v12, v2, v3 offset1:1", "ds_bpermute_b32 v0, v12, v1", "ds_swizzle_b32 v0, v1 offset:1",
    "ds_append v0", "ds_read_addtid_b32 v0", "ds_add_rtn_f64 v[0:1], v12, v[2:3]", "ds_read_b64 a[0:1], v12",
    // FLAT, GLOBAL, SCRATCH
    "global_load_dword v0, v[10:11], off", "global_load_dwordx3 v[0:2], v[10:11], off offset:8",
    "global_load_dwordx4 v[0:3], v15, s[40:41]", "global_load_short_d16_hi v0, v[10:11], off",
    "global_load_ubyte v0, v[10:11], off", "global_store_dwordx4 v[10:11], v[0:3], off",
    "global_atomic_add v0, v[10:11], v1, off glc", "global_atomic_cmpswap_x2 v[0:1], v[10:11], v[2:5], off glc",
    "global_atomic_add_f64 v[10:11], v[2:3], off", "global_atomic_pk_add_f16 v[10:11], v2, off",
    "flat_load_dwordx2 v[0:1], v[10:11]", "flat_store_dword v[10:11], v0", "flat_atomic_swap v0, v[10:11], v1 glc",
    "global_load_dwordx2 a[0:1], v[10:11], off", "scratch_load_dwordx2 v[0:1], v15, off",
    "scratch_store_dword v15, v0, off", "scratch_load_dword v0, off, s50",
    // MUBUF, MTBUF
    "buffer_load_dword v0, off, s[44:47], 0", "buffer_load_dwordx4 v[0:3], v14, s[44:47], 0 offen",
    "buffer_load_short_d16 v0, off, s[44:47], 0", "buffer_store_dwordx2 v[0:1], v14, s[44:47], 0 offen",
    "buffer_atomic_cmpswap v[0:1], off, s[44:47], 0 glc", "buffer_atomic_add v0, off, s[44:47], 0",
    "tbuffer_load_format_xyzw v[0:3], off, s[44:47], dfmt:14, nfmt:7, 0",
    "buffer_load_format_xy v[0:1], off, s[44:47], 0"};

struct Machine {
  ExecTest t;
  explicit Machine(uint32_t seed) {
    uint32_t x = seed * 2654435761u + 1;
    const auto next = [&] { return x = x * 1664525u + 1013904223u; };
    for (unsigned reg = 0; reg < 96; ++reg)
      for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
        t.v(reg, lane) = next();
        t.acc(reg, lane) = next();
      }
    for (unsigned reg = 0; reg < 40; ++reg)
      t.s(reg) = next();
    t.vcc((static_cast<uint64_t>(next()) << 32) | next());
    t.scc(next() >> 31);
    t.exec(0x00ff00ff00ff00ffull);
    t.lds(8192);
    t.scratch(64);
    std::vector<uint32_t> data(1024);
    for (uint32_t &word : data)
      word = next();
    const uint64_t memory = t.buffer(data);
    t.setS64(40, memory);
    t.s(44) = static_cast<uint32_t>(memory);
    t.s(45) = static_cast<uint32_t>(memory >> 32);
    t.s(46) = 4096;
    t.s(47) = 0x00077fac; // dwords of unsigned integers
    t.s(50) = 8;
    for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
      t.setV64(10, lane, memory + 16 * lane);
      t.v(12, lane) = 16 * lane;
      t.v(14, lane) = t.v(15, lane) = 16;
    }
    t.m0(64);
  }
};

/// All registers by name; a vector register is one entry.
std::map<std::string, std::vector<uint32_t>> registersOf(ExecTest &t) {
  std::map<std::string, std::vector<uint32_t>> all;
  for (unsigned reg = 0; reg < 256; ++reg) {
    all[toString(vgpr(reg))].assign(t.lanes(reg).begin(), t.lanes(reg).end());
    all[toString(agpr(reg))].assign(t.lanes(kAccBase + reg).begin(), t.lanes(kAccBase + reg).end());
  }
  for (unsigned reg = 0; reg < 128; ++reg)
    all[toString(sgpr(reg))] = {t.s(reg)};
  all["scc"] = {t.scc()};
  return all;
}

/// The trace's record of a snippet of one instruction.
nlohmann::json record(Machine &m, const std::string &instruction) {
  TraceFile file;
  auto trace = Trace::open(file.path(), "", {});
  EXPECT_TRUE(trace);
  m.t.trace(*trace);
  EXPECT_TRUE(m.t.run(instruction)) << instruction;
  m.t.trace(nullptr);
  (*trace)->flush();
  const auto lines = file.lines();
  EXPECT_EQ(lines.size(), 2u) << instruction; // and s_endpgm
  return lines.empty() ? nlohmann::json() : lines[0];
}

TEST(Operands, OnlyDeclaredRegistersChange) {
  for (const std::string instruction : kInstructions) {
    std::set<std::string> changedEver, declared;
    for (uint32_t seed = 1; seed <= 5; ++seed) {
      Machine m(seed);
      const auto before = registersOf(m.t);
      const nlohmann::json line = record(m, instruction);
      for (const auto &[name, value] : line["out"].items())
        declared.insert(name);
      for (const auto &[name, value] : registersOf(m.t))
        if (value != before.at(name)) {
          changedEver.insert(name);
          EXPECT_TRUE(line["out"].contains(name)) << instruction << " changes " << name;
        }
    }
    // The other way round, where the values make sure of it: something declared does change. VCC may be rewritten with
    // what it was, wide results need not differ in every register.
    if (!declared.empty()) {
      EXPECT_FALSE(changedEver.empty()) << instruction << " changes nothing of what it declares";
    }
  }
}

TEST(Operands, UndeclaredRegistersDoNotMatter) {
  for (const std::string instruction : kInstructions) {
    if (instruction.starts_with("s_memtime") || instruction.starts_with("s_memrealtime"))
      continue;
    Machine plain(7), changed(7);
    const nlohmann::json line = record(plain, instruction);
    std::set<std::string> kept = {"exec_lo", "exec_hi", "m0", "flat_scratch_lo", "flat_scratch_hi"};
    for (const auto &[name, value] : line["in"].items())
      kept.insert(name);
    // Everything else gets another value; of vector registers, in lane 0.
    for (unsigned reg = 0; reg < 96; ++reg) {
      if (!kept.contains(toString(vgpr(reg))))
        changed.t.v(reg, 0) ^= 0x5a5a5a5a;
      if (!kept.contains(toString(agpr(reg))))
        changed.t.acc(reg, 0) ^= 0x5a5a5a5a;
    }
    for (unsigned reg = 0; reg < 52; ++reg)
      if (!kept.contains(toString(sgpr(reg))))
        changed.t.s(reg) ^= 0x5a5a5a5a;
    if (!kept.contains("vcc_lo"))
      changed.t.vcc(~changed.t.vcc());
    if (!kept.contains("scc"))
      changed.t.scc(!changed.t.scc());
    const nlohmann::json other = record(changed, instruction);
    for (const auto &[name, value] : line["out"].items()) {
      const bool vector = value.is_array();
      EXPECT_EQ(vector ? other["out"][name][0] : other["out"][name], vector ? value[0] : value)
          << instruction << ": " << name;
    }
  }
}

} // namespace
} // namespace luthier::vgpu::test
