// The physical machine (strict_resources.h): each thing in which silicon is less kind than the virtual GPU otherwise
// is.
#include "vgpu/wave/strict_resources.h"

#include "engine.h"
#include "vgpu/wave/poison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace luthier::vgpu::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// `vgprs` of both kinds together; AccVGPRs begin at `accumOffset`.
DescriptorBits registers(unsigned sgprs, unsigned vgprs, unsigned accumOffset) {
  DescriptorBits bits;
  bits.rsrc1 = (vgprs / 8 - 1) | (sgprs / 16 - 1) * 2 << 6 | 0xf0 << 12 | 1 << 21 | 1 << 23;
  bits.rsrc3 = accumOffset / 4 - 1;
  return bits;
}

class Strict : public testing::Test {
protected:
  /// Runs `code` on `items` work-items of one workgroup, strictly. What it leaves at the address that it has in s[6:7]
  /// can be looked at in `out`.
  testing::AssertionResult run(const std::string &code, const DescriptorBits &bits, uint32_t items = 64) {
    if (!out_)
      out_ = engine_.memory(64 * 1024);
    Launch launch;
    launch.kernelObject = engine_.kernel("s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n" + code, bits);
    launch.grid = {items, 1, 1};
    launch.workgroup = {static_cast<uint16_t>(items), 1, 1};
    launch.kernarg = engine_.arguments(out_);
    launch.groupSegmentSize = lds_;
    launch.strictResources = strict_;
    launch.strictWaits = strictWaits_;
    launch.poison = poison_;
    if (scratch_) {
      launch.privateSegmentSize = scratch_;
      launch.scratch = std::make_shared<ScratchRing>();
      const uint64_t bytes = uint64_t{scratch_} * 64;
      launch.scratch->reset(engine_.memory(bytes), bytes, 1, {});
    }
    const auto running = engine_.start(launch);
    const auto result = running->completed();
    fault_ = running->fault;
    return result;
  }
  uint32_t out(unsigned index) { return Engine::at<uint32_t>(out_, index); }

  /// Code that stores SGPRs, and then more.
  static std::string store(std::initializer_list<std::string_view> scalars, unsigned first = 0) {
    std::string code = "v_mov_b32 v1, 0\n";
    for (const std::string_view scalar : scalars)
      code += fmt::format("v_mov_b32 v2, {}\nglobal_store_dword v1, v2, s[6:7] offset:{}\n", scalar, 4 * first++);
    return code;
  }

  Engine engine_{1};
  uint64_t out_ = 0;
  uint32_t lds_ = 0, scratch_ = 0;
  bool strictWaits_ = false;
  std::shared_ptr<StrictResources> strict_ = std::make_shared<StrictResources>(1);
  std::shared_ptr<const Poison> poison_;
  Fault fault_;
};

// Registers that are not there.

struct Missing {
  const char *code, *instruction, *message;
};

class StrictMissing : public Strict, public testing::WithParamInterface<Missing> {};

TEST_P(StrictMissing, StopsTheKernel) {
  const auto [code, instruction, message] = GetParam();
  const DescriptorBits bits = registers(32, 24, 16); // s0-s31, v0-v15, a0-a7
  EXPECT_FALSE(run(std::string(code) + "\ns_endpgm", bits)) << code;
  EXPECT_EQ(fault_.kind, Fault::Kind::MissingRegister) << fault_.text;
  EXPECT_THAT(fault_.text,
              AllOf(testing::StartsWith(message), HasSubstr(std::string("instruction ") + instruction),
                    HasSubstr("kernel      test_kernel"), HasSubstr("allocated   32 SGPRs, 16 VGPRs, 8 AccVGPRs"),
                    HasSubstr("seed        1\n")));
  strict_ = nullptr;
  EXPECT_TRUE(run(std::string(code) + "\ns_endpgm", bits)) << "not strict: " << code;
}

INSTANTIATE_TEST_SUITE_P(
    Registers, StrictMissing,
    testing::Values(
        Missing{"s_mov_b32 s32, 0", "s_mov_b32 s32, 0", "s32 is written"},
        Missing{"s_mov_b32 s4, s101", "s_mov_b32 s4, s101", "s101 is read"},
        Missing{"s_load_dwordx8 s[28:35], s[0:1], 0x0", "s_load_dwordx8 s[28:35]", "s32 is written"},
        Missing{"v_mov_b32 v16, 0", "v_mov_b32_e32 v16, 0", "v16 is written"},
        Missing{"v_mov_b32 v0, v255", "v_mov_b32_e32 v0, v255", "v255 is read"},
        Missing{"v_accvgpr_write_b32 a8, v0", "v_accvgpr_write_b32 a8, v0", "a8 is written"},
        Missing{"v_accvgpr_read_b32 v0, a9", "v_accvgpr_read_b32 v0, a9", "a9 is read"},
        Missing{"global_load_dwordx4 v[14:17], v1, s[6:7]", "global_load_dwordx4 v[14:17]", "v16 is written"},
        Missing{"global_load_dwordx4 a[6:9], v1, s[6:7]", "global_load_dwordx4 a[6:9]", "a8 is written"},
        Missing{"v_cmp_eq_u32 s[40:41], v0, v0", "v_cmp_eq_u32_e64 s[40:41]", "s40 is written"},
        Missing{"s_mov_b32 m0, 20\ns_movrels_b32 s4, s12", "s_movrels_b32 s4, s12", "s32 is read"},
        Missing{"s_mov_b32 m0, 10\ns_movreld_b64 s[22:23], 0", "s_movreld_b64 s[22:23], 0", "s33 is written"},
        Missing{"s_mov_b32 s4, 12\ns_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v0, v4\ns_set_gpr_idx_off",
                "v_mov_b32_e32 v0, v4", "v16 is read"},
        Missing{"s_mov_b32 s4, 12\ns_set_gpr_idx_on s4, gpr_idx(DST)\nv_mov_b32 v5, v4\ns_set_gpr_idx_off",
                "v_mov_b32_e32 v5, v4", "v17 is written"}));

TEST_F(Strict, AllThatIsAllocatedIsThere) {
  EXPECT_TRUE(run("s_mov_b32 s31, s25\nv_mov_b32 v15, v0\nv_accvgpr_write_b32 a7, v15\n"
                  "s_mov_b32 m0, 19\ns_movrels_b32 s4, s12\n"
                  "s_mov_b32 s4, 11\ns_set_gpr_idx_on s4, gpr_idx(SRC0,DST)\nv_mov_b32 v4, v4\ns_set_gpr_idx_off\n"
                  "s_endpgm",
                  registers(32, 24, 16)));
  EXPECT_TRUE(
      run("s_mov_b32 s101, 0\nv_mov_b32 v255, 0\nv_accvgpr_write_b32 a255, v255\ns_endpgm", registers(112, 512, 256)));
}

TEST_F(Strict, TrapRegistersAreNotForKernels) {
  EXPECT_FALSE(run("s_mov_b32 ttmp3, 0\ns_endpgm", registers(32, 8, 8)));
  EXPECT_THAT(fault_.text, testing::StartsWith("a TTMP register is written"));
}

// The special SGPRs are the last of those allocated.

TEST_F(Strict, SpecialRegistersAreTheLastOnes) {
  engine_.device().xnack = [](uint64_t) { return false; };
  ASSERT_TRUE(
      run("s_mov_b32 flat_scratch_lo, 1\ns_mov_b32 flat_scratch_hi, 2\ns_mov_b32 xnack_mask_lo, 3\n"
          "s_mov_b32 xnack_mask_hi, 4\ns_mov_b64 vcc, 5\n" +
              store({"s26", "s27", "s28", "s29", "s30", "s31"}) +
              "s_mov_b64 s[26:27], 11\ns_mov_b32 s28, 12\ns_mov_b32 s29, 13\n"
              "v_cmp_eq_u32 s[30:31], 0, v1\n" +
              store({"flat_scratch_lo", "flat_scratch_hi", "xnack_mask_lo", "xnack_mask_hi", "vcc_lo", "vcc_hi"}, 6) +
              "s_endpgm",
          registers(32, 8, 8)));
  const uint32_t expected[] = {1, 2, 3, 4, 5, 0, 11, 0, 12, 13, ~0u, ~0u};
  for (unsigned n = 0; n < std::size(expected); ++n)
    EXPECT_EQ(out(n), expected[n]) << n;
}

TEST_F(Strict, WithAllSgprsNothingIsShared) {
  engine_.device().xnack = [](uint64_t) { return false; };
  ASSERT_TRUE(run("s_mov_b32 s100, 1\ns_mov_b32 s101, 2\ns_mov_b64 vcc, 5\ns_mov_b64 flat_scratch, 6\n" +
                      store({"s100", "s101", "vcc_lo", "flat_scratch_lo"}) + "s_endpgm",
                  registers(112, 8, 8)));
  EXPECT_EQ(out(0), 1u);
  EXPECT_EQ(out(1), 2u);
  EXPECT_EQ(out(2), 5u);
  EXPECT_EQ(out(3), 6u);
}

/// VCC is dead, but the SGPRs that it is are not: they must be left alone.
TEST_F(Strict, PoisonSpeaksOfNames) {
  DeadRegisters dead;
  dead.active.insert({Reg::VccLo, 2});
  dead.inactive = dead.active;
  poison_ = std::make_shared<Poison>([dead](uint64_t, uint64_t) { return dead; }, 1);
  const std::string code = "s_mov_b32 s30, 7\ns_mov_b32 s31, 8\ns_mov_b64 s[10:11], vcc\n" +
                           store({"s30", "s31", "s10", "s11"}) + "s_endpgm";
  ASSERT_TRUE(run(code, registers(32, 8, 8)));
  EXPECT_EQ(out(0), 7u);
  EXPECT_EQ(out(1), 8u);
  EXPECT_EQ(out(2), 7u);
  EXPECT_EQ(out(3), 8u);
  strict_ = nullptr;
  ASSERT_TRUE(run(code, registers(32, 8, 8)));
  EXPECT_NE(out(2), 7u) << "otherwise, VCC is a register of its own";
}

// What nobody defines is garbage.

TEST_F(Strict, UndefinedStartIsGarbage) {
  lds_ = 512;
  scratch_ = 16;
  DescriptorBits bits = registers(48, 24, 16);
  bits.properties |= 1 << 5; // FLAT_SCRATCH_INIT in s[2:3]
  bits.rsrc2 = 1 | 4 << 1;   // with the wave's offset behind the four user SGPRs
  const std::string code = "s_mov_b64 s[24:25], vcc\n"
                           "s_mov_b32 s26, m0\n"
                           "v_mov_b32 v3, 0\n"
                           "ds_read_b32 v4, v3 offset:64\n"
                           "s_add_u32 flat_scratch_lo, s2, s4\n"
                           "s_addc_u32 flat_scratch_hi, s3, 0\n"
                           "scratch_load_dword v5, v3, off\n"
                           "v_accvgpr_read_b32 v6, a5\n"
                           "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
                           "v_mbcnt_lo_u32_b32 v1, -1, 0\n"
                           "v_mbcnt_hi_u32_b32 v1, -1, v1\n"
                           "s_mov_b64 exec, -1\n"
                           "v_mbcnt_lo_u32_b32 v1, -1, 0\n"
                           "v_mbcnt_hi_u32_b32 v1, -1, v1\n"
                           "v_lshlrev_b32 v1, 2, v1\n"
                           "global_store_dword v1, v0, s[6:7]\n"             // 0: work-item ids
                           "global_store_dword v1, v10, s[6:7] offset:256\n" // 64: an undefined VGPR
                           "global_store_dword v1, v6, s[6:7] offset:512\n"  // 128: an AccVGPR
                           "global_store_dword v1, v4, s[6:7] offset:768\n"  // 192: LDS, in the first lanes
                           "global_store_dword v1, v5, s[6:7] offset:1024\n" // 256: scratch
                           "v_mov_b32 v8, 0\n"
                           "v_mov_b32 v9, s20\n"
                           "global_store_dword v8, v9, s[6:7] offset:2048\n"
                           "v_mov_b32 v9, s26\n"
                           "global_store_dword v8, v9, s[6:7] offset:2052\n"
                           "v_mov_b32 v9, s24\n"
                           "global_store_dword v8, v9, s[6:7] offset:2056\n"
                           "s_endpgm";
  std::map<uint64_t, std::vector<uint32_t>> seen;
  for (const uint64_t seed : {1, 2, 1}) {
    strict_ = std::make_shared<StrictResources>(seed);
    ASSERT_TRUE(run(code, bits, 48));
    for (unsigned lane = 0; lane < 48; ++lane)
      EXPECT_EQ(out(lane), lane);
    std::vector<uint32_t> garbage;
    for (unsigned n = 48; n < 64; ++n) // lanes without a work-item
      garbage.push_back(out(n));
    for (const unsigned first : {64, 128, 256})
      for (unsigned n = 0; n < 48; ++n)
        garbage.push_back(out(first + n));
    garbage.push_back(out(192));
    for (unsigned n = 512; n < 515; ++n)
      garbage.push_back(out(n));
    for (const size_t first : {0, 16, 64, 112})
      EXPECT_GT(std::set(garbage.begin() + static_cast<std::ptrdiff_t>(first),
                         garbage.begin() + static_cast<std::ptrdiff_t>(first) + 16)
                    .size(),
                4u)
          << first;
    EXPECT_GT(std::set(garbage.end() - 4, garbage.end()).size(), 2u);
    if (const auto [known, isNew] = seen.try_emplace(seed, garbage); !isNew) {
      EXPECT_EQ(known->second, garbage) << "the same seed";
    }
  }
  EXPECT_NE(seen[1], seen[2]);
}

// VCCZ.

TEST_F(Strict, WritingHalfOfVccLeavesVccz) {
  const std::string code = "s_mov_b32 s10, 0\ns_mov_b64 vcc, 0\ns_mov_b32 vcc_lo, 1\n"
                           "s_mov_b32 s11, src_vccz\n"
                           "s_getreg_b32 s12, hwreg(HW_REG_STATUS, 10, 1)\n"
                           "s_cbranch_vccz stale\ns_mov_b32 s10, 1\nstale:\n"
                           "s_mov_b32 s13, vcc_lo\n"
                           "s_mov_b64 vcc, vcc\ns_mov_b32 s14, 0\ns_cbranch_vccz wrong\ns_mov_b32 s14, 1\nwrong:\n" +
                           store({"s10", "s11", "s12", "s13", "s14"}) + "s_endpgm";
  ASSERT_TRUE(run(code, registers(32, 8, 8)));
  EXPECT_EQ(out(0), 0u) << "VCC is not zero, but VCCZ says so";
  EXPECT_EQ(out(1), 1u);
  EXPECT_EQ(out(2), 1u);
  EXPECT_EQ(out(3), 1u) << "VCC itself is what was written";
  EXPECT_EQ(out(4), 1u) << "writing all of VCC restores VCCZ";
  EXPECT_EQ(strict_->totals.staleBranches, 1u);
  strict_ = nullptr;
  ASSERT_TRUE(run(code, registers(32, 8, 8)));
  EXPECT_EQ(out(0), 1u) << "not strict";
}

TEST_F(Strict, WhatSetsVccz) {
  struct Case {
    const char *code;
    bool vccz;
  };
  for (const Case &c : {Case{"s_mov_b64 vcc, 1\ns_mov_b32 vcc_lo, 0", false}, // stale the other way round
                        {"s_mov_b64 vcc, 1\ns_mov_b32 vcc_hi, 0", false},
                        {"s_mov_b64 vcc, 0\nv_cmp_eq_u32 vcc, v0, v0", false},
                        {"s_mov_b64 vcc, 1\nv_cmp_ne_u32 vcc, v0, v0", true},
                        {"s_mov_b64 vcc, 1\nv_add_co_u32 v3, vcc, 0, 0", true},
                        {"s_mov_b64 vcc, 1\ns_mov_b64 s[30:31], 0", true}, // VCC by its numbers
                        {"s_mov_b64 vcc, 0\ns_mov_b32 s30, 1", true},
                        {"s_mov_b64 vcc, 0\nv_readfirstlane_b32 vcc_lo, v0\ns_mov_b32 vcc_lo, 1", true},
                        {"s_mov_b64 vcc, 1\ns_mov_b64 s[4:5], 0\ns_and_b64 vcc, vcc, s[4:5]", true},
                        {"s_mov_b64 vcc, 0\ns_load_dwordx2 vcc, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)", false}})
    for (const bool waits : {false, true}) {
      strictWaits_ = waits;
      ASSERT_TRUE(run(std::string(c.code) + "\ns_mov_b32 s10, 0\ns_cbranch_vccz zero\ns_mov_b32 s10, 1\nzero:\n" +
                          store({"s10"}) + "s_endpgm",
                      registers(32, 8, 8)))
          << c.code;
      EXPECT_EQ(out(0) == 0, c.vccz) << c.code << (waits ? ", strict waits" : "");
    }
}

// XNACK_MASK.

TEST_F(Strict, HardwareWritesXnackMask) {
  for (const bool off : {false, true}) {
    engine_.device().xnack = [=](uint64_t) { return !off; };
    std::string nops;
    for (unsigned n = 0; n < 200; ++n)
      nops += "s_nop 0\n";
    for (const char *name : {"s28", "xnack_mask_lo"}) {
      ASSERT_TRUE(
          run(fmt::format("s_mov_b32 {}, 77\n{}", name, nops) + store({name}) + "s_endpgm", registers(32, 8, 8)));
      EXPECT_EQ(out(0) == 77, off) << name;
    }
  }
}

// Residency.

/// The most workgroups that were resident at once, of `groups` that stay for a while.
uint32_t mostResident(std::shared_ptr<StrictResources> strict, const DescriptorBits &bits, uint32_t items, uint32_t lds,
                      unsigned threads) {
  Engine engine(threads, {.computeUnits = 1});
  const uint64_t out = engine.memory(4096);
  Launch launch;
  launch.kernelObject = engine.kernel("s_load_dwordx2 s[6:7], s[0:1], 0x0\n"
                                      "s_waitcnt lgkmcnt(0)\n"
                                      "v_mov_b32 v1, 0\n"
                                      "v_mov_b32 v2, 1\n"
                                      "v_cmp_eq_u32 vcc, 0, v0\n"
                                      "s_and_b64 exec, exec, vcc\n"
                                      "s_cbranch_execz done\n"
                                      "global_atomic_add v3, v1, v2, s[6:7] glc\n"
                                      "s_waitcnt vmcnt(0)\n"
                                      "v_add_u32 v3, 1, v3\n"
                                      "global_atomic_umax v1, v3, s[6:7] offset:4\n"
                                      "s_movk_i32 s8, 60\n"
                                      "again:\n"
                                      "s_sleep 1\n"
                                      "s_sub_i32 s8, s8, 1\n"
                                      "s_cmp_lg_u32 s8, 0\n"
                                      "s_cbranch_scc1 again\n"
                                      "global_atomic_sub v1, v2, s[6:7]\n"
                                      "done:\n"
                                      "s_endpgm",
                                      bits);
  launch.grid = {items * 64, 1, 1};
  launch.workgroup = {static_cast<uint16_t>(items), 1, 1};
  launch.kernarg = engine.arguments(out);
  launch.groupSegmentSize = lds;
  launch.strictResources = std::move(strict);
  EXPECT_TRUE(engine.run(launch));
  return Engine::at<uint32_t>(out, 1);
}

TEST_F(Strict, ResidencyIsLimitedByRegistersAndLds) {
  // 512 VGPRs a SIMD: two waves of 256 on each of four; eight of 64. SGPRs: 800 a SIMD, seven waves of 112.
  EXPECT_EQ(mostResident(strict_, registers(16, 256, 256), 64, 0, 1), 8u);
  EXPECT_EQ(mostResident(strict_, registers(16, 256, 256), 128, 0, 1), 4u);
  EXPECT_EQ(mostResident(strict_, registers(16, 64, 64), 64, 0, 1), 32u);
  EXPECT_EQ(mostResident(strict_, registers(112, 64, 64), 64, 0, 1), 28u);
  EXPECT_EQ(mostResident(strict_, registers(16, 64, 64), 64, 20000, 1), 3u);
  EXPECT_EQ(mostResident(strict_, registers(16, 264, 256), 256, 0, 2), 1u) << "not one more for the second worker";
  EXPECT_EQ(mostResident(nullptr, registers(16, 256, 256), 64, 0, 1), 32u) << "not strict";
}

TEST_F(Strict, AWorkgroupThatFitsNowhereIsRefused) {
  EXPECT_FALSE(run("s_endpgm", registers(16, 512, 256), 1024));
  EXPECT_EQ(fault_.kind, Fault::Kind::BadLaunch);
  EXPECT_THAT(fault_.text, HasSubstr("more than a compute unit has"));
}

} // namespace
} // namespace luthier::vgpu::test
