// Handlers for waves of 32 lanes against those for 64: what a wave of 32 does is what the first half of a wave of 64
// does, and nothing beyond its lanes and its one register per lane mask is touched.

#include "assembler.h"
#include "lone_wave.h"
#include "vgpu/exec/level.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

namespace luthier::vgpu::test {
namespace {

constexpr unsigned kNarrow = 32;

const isa::Target &target() { return *isa::findTarget("gfx1030"); }

/// Equal results of a lane. Which of two NaNs an operation returns depends on how the host's compiler ordered them.
bool same(Type type, const uint32_t *a, const uint32_t *b) {
  const auto nan16 = [](uint32_t x) { return (x & 0x7fff) > 0x7c00; };
  const auto nan32 = [](uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; };
  const auto nan64 = [](const uint32_t *x) {
    return ((uint64_t{x[kMaxLanes]} << 32 | x[0]) & 0x7fffffffffffffff) > 0x7ff0000000000000;
  };
  if (a[0] == b[0] && (!is64(type) || a[kMaxLanes] == b[kMaxLanes]))
    return true;
  switch (type) {
  case Type::F16:
    return nan16(a[0]) && nan16(b[0]) && a[0] >> 16 == b[0] >> 16;
  case Type::PkF16:
    return (static_cast<uint16_t>(a[0]) == static_cast<uint16_t>(b[0]) || (nan16(a[0]) && nan16(b[0]))) &&
           (a[0] >> 16 == b[0] >> 16 || (nan16(a[0] >> 16) && nan16(b[0] >> 16)));
  case Type::F32:
    return nan32(a[0]) && nan32(b[0]);
  case Type::PkF32:
    return (a[0] == b[0] || (nan32(a[0]) && nan32(b[0]))) &&
           (a[kMaxLanes] == b[kMaxLanes] || (nan32(a[kMaxLanes]) && nan32(b[kMaxLanes])));
  case Type::F64:
    return nan64(a) && nan64(b);
  default:
    return false;
  }
}

class Lanes : public testing::Test {
protected:
  /// Executes one instruction on a wave of 32 lanes, and on the first 32 of a wave of 64.
  void run(std::string_view text, std::string_view wide = {}) {
    execute(decoder32, narrow, text);
    execute(decoder64, full, wide.empty() ? text : wide);
  }
  static void execute(Decoder &decoder, LoneWave &w, std::string_view text) {
    const unsigned lanes = w.wave->lanes;
    auto code = isa::assemble(target(), text, lanes);
    ASSERT_TRUE(code) << text << ": " << code.error().message();
    Inst insts[8] = {};
    decoder.decode(*code, 0, insts[0]);
    ASSERT_TRUE(Decoder::implements(insts[0])) << text;
    insts[insts[0].words].fn = [](Wave &, const Inst *i) { return i; };
    if (lanes == 64)
      w.wave->setExec(w.wave->exec() & 0xffffffff);
    EXPECT_EQ(single(insts[0])(*w.wave, insts), insts + insts[0].words) << text;
    if (insts[0].threaded) // its second handler must do the same again, where doing it twice is harmless
      EXPECT_NE(insts[0].fn, insts[0].row->handler);
  }
  void expectSame(unsigned reg) {
    for (unsigned lane = 0; lane < kNarrow; ++lane)
      EXPECT_EQ(narrow.wave->v[reg][lane], full.wave->v[reg][lane]) << "v" << reg << " lane " << lane;
  }
  void expectUntouched(unsigned reg) {
    const LoneWave fresh(kNarrow);
    for (unsigned lane = kNarrow; lane < kMaxLanes; ++lane)
      EXPECT_EQ(narrow.wave->v[reg][lane], fresh.wave->v[reg][lane]) << "v" << reg << " lane " << lane;
  }

  Decoder decoder32{target(), 32}, decoder64{target(), 64};
  LoneWave narrow{32}, full{64};
};

TEST_F(Lanes, EveryLaneLoop) {
  std::map<std::string_view, const Row *> wide;
  for (std::span<const Row> table : execLevel(64).tables)
    for (const Row &row : table)
      wide[row.mnemonic] = &row;
  std::mt19937 random(7);
  alignas(64) static uint32_t sources[3][2 * kMaxLanes], in[kMaxLanes];
  unsigned compared = 0;
  EXPECT_EQ(execLevel(32).lanes, 32u);
  for (std::span<const Row> table : execLevel(32).tables)
    for (const Row &row : table) {
      if (!row.loop)
        continue;
      const Row &other = *wide.at(row.mnemonic);
      EXPECT_NE(row.loop, other.loop) << row.mnemonic;
      alignas(64) uint32_t d[2][2 * kMaxLanes], out[2][kMaxLanes];
      for (auto &source : sources)
        for (uint32_t &lane : source)
          lane = random() % 4 ? random() : random() % 8;
      for (uint32_t &lane : in)
        lane = random() % 2 ? ~0u : 0;
      memset(d, 0xab, sizeof d);
      memset(out, 0xcd, sizeof out);
      const auto args = [&](unsigned n) {
        return LaneArgs{d[n], {sources[0], sources[1], sources[2]}, in, out[n], 0x3f0};
      };
      row.loop(args(0));
      other.loop(args(1));
      const bool hasD = row.dst != Type::Mask && row.dst != Type::None, mask = row.traits & kWritesMask;
      for (unsigned lane = 0; lane < kNarrow && hasD && is16(row.dst); ++lane) {
        EXPECT_EQ(d[0][lane] >> 16, 0xababu) << row.mnemonic << ": targets with such waves keep the other half";
        d[0][lane] &= 0xffff;
      }
      for (unsigned lane = 0; lane < kNarrow && hasD; ++lane)
        EXPECT_TRUE(same(row.dst, d[0] + lane, d[1] + lane)) << row.mnemonic << " lane " << lane;
      if (mask) {
        EXPECT_EQ(memcmp(out[0], out[1], kNarrow * 4), 0) << row.mnemonic;
      }
      for (unsigned half = 0; half < 2; ++half)
        for (unsigned lane = kNarrow; lane < kMaxLanes; ++lane)
          EXPECT_EQ(d[0][half * kMaxLanes + lane], 0xababababu) << row.mnemonic << " lane " << lane;
      ++compared;
    }
  EXPECT_GE(compared, 450u);
}

TEST_F(Lanes, Handlers) {
  run("v_add_f32 v0, v1, v2");
  expectSame(0);
  expectUntouched(0);
  run("v_add_f64 v[4:5], v[6:7], v[8:9]");
  expectSame(4);
  expectSame(5);
  expectUntouched(5);
  run("v_fma_f32 v0, |v1|, -s2, -v3 clamp"); // the general path
  expectSame(0);
  expectUntouched(0);
  run("v_mov_b32_dpp v0, v1 row_shr:3 row_mask:0x3 bank_mask:0xf");
  expectSame(0);
  expectUntouched(0);
  run("v_readlane_b32 s3, v4, 31");
  EXPECT_EQ(narrow.wave->s[3], full.wave->s[3]);
}

TEST_F(Lanes, AMaskIsOneRegister) {
  const uint32_t beside = narrow.wave->s[11];
  run("v_cmp_lt_u32_e64 s10, v1, v2", "v_cmp_lt_u32_e64 s[10:11], v1, v2");
  EXPECT_EQ(narrow.wave->s[10], full.wave->s[10]);
  EXPECT_EQ(narrow.wave->s[11], beside);
  run("v_cndmask_b32_e64 v0, v1, v2, s10", "v_cndmask_b32_e64 v0, v1, v2, s[10:11]");
  expectSame(0);
  const uint32_t vccHi = narrow.wave->s[kVcc + 1] = 0x1234;
  run("v_add_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo", "v_add_co_ci_u32 v0, vcc, v1, v2, vcc");
  expectSame(0);
  EXPECT_EQ(narrow.wave->s[kVcc], full.wave->s[kVcc]);
  EXPECT_EQ(narrow.wave->s[kVcc + 1], vccHi);
  run("v_cmpx_lt_u32 v1, v2");
  EXPECT_EQ(narrow.wave->s[kExec], full.wave->s[kExec]);
  run("v_add_f32 v0, v1, v2"); // some lanes only
  expectSame(0);
}

TEST_F(Lanes, LdsAndPermutation) {
  for (LoneWave *w : {&narrow, &full})
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      w->wave->v[1][lane] = lane * 4;
  run("ds_write_b32 v1, v2 offset:64");
  EXPECT_EQ(memcmp(narrow.lds, full.lds, 64 + kNarrow * 4), 0);
  EXPECT_EQ(narrow.lds[64 + kNarrow * 4], 0); // nothing of lane 32
  run("ds_read_b32 v0, v1 offset:64");
  expectSame(0);
  expectUntouched(0);
  for (LoneWave *w : {&narrow, &full})
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      w->wave->v[1][lane] = (lane * 7 + 3) % kNarrow * 4;
  run("ds_bpermute_b32 v0, v1, v2");
  expectSame(0);
  expectUntouched(0);
}

/// Caches of a record outlive its wave, and the next one may have more lanes.
TEST_F(Lanes, AWaveOf64AfterOneOf32) {
  LoneWave record(64), fresh(64);
  record.wave->lanes = 32;
  record.wave->setExec(0x55555555);
  execute(decoder32, record, "v_add_f32_e64 v0, s1, v2 clamp");
  memcpy(record.wave->v, fresh.wave->v, sizeof record.wave->v);
  for (Wave *w : {record.wave.get(), fresh.wave.get()}) {
    w->lanes = 64;
    Inst insts[8] = {};
    auto code = isa::assemble(target(), "v_add_f32_e64 v0, s1, v2 clamp", 64);
    ASSERT_TRUE(code);
    decoder64.decode(*code, 0, insts[0]);
    for (const uint64_t exec : {0x55555555ull, ~0ull}) {
      w->setExec(exec);
      single(insts[0])(*w, insts);
    }
  }
  EXPECT_EQ(memcmp(record.wave->v[0], fresh.wave->v[0], sizeof record.wave->v[0]), 0);
}

} // namespace
} // namespace luthier::vgpu::test
