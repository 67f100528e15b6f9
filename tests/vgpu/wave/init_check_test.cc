// `luthier check init`: what is followed, what is reported and where, for waves of 64 lanes and of 32.
//
// Kernels get two buffers: s[4:5] points to one that nobody has written, as the test says in which bytes; s[6:7] to one
// that is written. What really is in both are zeros.
#include "vgpu/wave/init_check.h"

#include "engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace luthier::vgpu::test {
namespace {

using Kind = UndefinedUse::Kind;

struct Found {
  Kind kind;
  std::string what;
  uint64_t lanes;
  Origin origin;
};

class Init : public testing::TestWithParam<std::pair<const char *, unsigned>> {
protected:
  static constexpr uint64_t kBytes = 8192;

  static DeviceConfig config() {
    DeviceConfig config;
    config.target = *isa::findVirtualTarget(GetParam().first);
    return config;
  }
  static bool wide() { return GetParam().second == 64; }
  static uint64_t all() { return wide() ? ~0ull : 0xffffffff; }

  void SetUp() override {
    check_->onFinding = [this](const Wave &, const Inst *, const UndefinedUse &use) {
      found_.push_back({use.kind, use.what, use.lanes, use.origin});
    };
    check_->hostSees = [this](uint64_t address) { return address - written_ < kBytes; };
    unwritten_ = engine_.memory(kBytes);
    written_ = engine_.memory(kBytes);
    check_->memory.undefine(unwritten_, kBytes);
  }

  /// Masks of lanes are one register or two.
  static std::string spelled(std::string text) {
    const std::pair<std::string, std::string> words[] = {
        {"{vcc}", wide() ? "vcc" : "vcc_lo"},   {"{exec}", wide() ? "exec" : "exec_lo"},
        {"{b}", wide() ? "b64" : "b32"},        {"{s8}", wide() ? "s[8:9]" : "s8"},
        {"{s10}", wide() ? "s[10:11]" : "s10"}, {"{add}", wide() ? "v_add_u32" : "v_add_nc_u32"}};
    for (const auto &[word, with] : words)
      for (size_t at; (at = text.find(word)) != std::string::npos;)
        text.replace(at, word.size(), with);
    return text;
  }

  /// What one wave of the kernel leads to. v1 is the lane's number times 4.
  const std::vector<Found> &run(const std::string &code) {
    found_.clear();
    DescriptorBits bits;
    if (!wide())
      bits.properties |= 1 << 10; // ENABLE_WAVEFRONT_SIZE32
    Launch launch;
    launch.kernelObject =
        engine_.kernel(spelled("s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v1, 2, v0\n" +
                               code + "\ns_endpgm"),
                       bits);
    launch.grid = {GetParam().second, 1, 1};
    launch.workgroup = {static_cast<uint16_t>(GetParam().second), 1, 1};
    const uint64_t scratchBytes = uint64_t{scratch_} * 64, scratchAt = scratch_ ? engine_.memory(scratchBytes) : 0;
    launch.kernarg = engine_.arguments(unwritten_, written_, scratchAt);
    launch.groupSegmentSize = 1024;
    launch.initCheck = check_;
    if (scratch_) {
      launch.privateSegmentSize = scratch_;
      launch.scratch = std::make_shared<ScratchRing>();
      launch.scratch->reset(scratchAt, scratchBytes, 1, {});
    }
    const auto running = engine_.start(launch);
    EXPECT_TRUE(running->completed()) << code;
    return found_;
  }
  void expectSilent(const std::string &code) { EXPECT_TRUE(run(code).empty()) << code << "\n" << found_[0].what; }
  void expectFound(const std::string &code, Kind kind, const std::string &what, uint64_t lanes, Origin::Kind from) {
    run(code);
    ASSERT_EQ(found_.size(), 1u) << code;
    EXPECT_EQ(found_[0].kind, kind) << code;
    EXPECT_EQ(found_[0].what, spelled(what)) << code;
    EXPECT_EQ(found_[0].lanes, lanes & all()) << code;
    EXPECT_EQ(found_[0].origin.kind, from) << code;
  }
  /// `value` in v2, which then decides for each lane.
  static std::string decide(const std::string &value) {
    return value + "v_cmp_eq_u32 {vcc}, 7, v2\ns_and_saveexec_{b} {s8}, {vcc}\n";
  }
  void expectDecided(const std::string &value, uint64_t lanes, Origin::Kind from = Origin::Kind::Memory) {
    expectFound(decide(value), Kind::Branch, "exec", lanes, from);
  }
  static std::string load(const std::string &instruction = "global_load_dword v2, v1, s[4:5]") {
    return instruction + "\ns_waitcnt vmcnt(0)\n";
  }

  Engine engine_{1, config()};
  std::shared_ptr<InitCheck> check_ = std::make_shared<InitCheck>();
  uint64_t unwritten_ = 0, written_ = 0;
  uint32_t scratch_ = 0;
  std::vector<Found> found_;
};
INSTANTIATE_TEST_SUITE_P(Targets, Init, testing::Values(std::pair("gfx90a", 64u), std::pair("gfx1030", 32u)),
                         [](const auto &info) { return info.param.first; });

// Where values decide.

TEST_P(Init, Branches) {
  expectDecided(load(), ~0ull);
  expectSilent(decide(load("global_load_dword v2, v1, s[6:7]")));
  check_->memory.define(unwritten_, 20);
  check_->memory.define(unwritten_ + 28, 100); // lanes 5 and 6 are left, and those from 32 on
  expectDecided(load(), 0xffffffff00000060);
  EXPECT_EQ(found_[0].origin.address, unwritten_ + 20);
  EXPECT_THAT(found_[0].origin.load, testing::StartsWith("global_load_dword v2, v1, s[4:5]"));
}

TEST_P(Init, UniformBranches) {
  const std::string value = "s_load_dword s12, s[4:5], 0x10\ns_waitcnt lgkmcnt(0)\n";
  expectFound(value + "s_cmp_eq_u32 s12, 5\ns_cbranch_scc1 0", Kind::Branch, "scc", 0, Origin::Kind::Memory);
  expectFound(value + "s_and_b32 s13, s12, 1\ns_cbranch_scc0 0", Kind::Branch, "scc", 0, Origin::Kind::Memory);
  expectFound(value + "s_add_u32 s13, s12, 1\ns_cmp_lg_u32 s13, 0\ns_cbranch_scc0 0", Kind::Branch, "scc", 0,
              Origin::Kind::Memory);
  expectFound(load() + "v_cmp_lt_u32 {vcc}, 7, v2\ns_cbranch_vccnz 0", Kind::Branch, "vcc", ~0ull,
              Origin::Kind::Memory);
  // A bit that is 1 for sure.
  expectSilent(value + "s_or_b32 s13, s12, 1\ns_cbranch_scc0 0");
  expectSilent(value + "s_and_b32 s13, s12, 0\ns_cmp_lg_u32 s13, 0\ns_cbranch_scc0 0");
  expectSilent("s_load_dword s12, s[6:7], 0x10\ns_waitcnt lgkmcnt(0)\ns_cmp_eq_u32 s12, 5\ns_cbranch_scc1 0");
  // Read, and not used.
  expectSilent(value + "s_add_u32 s13, s12, 1\ns_cmp_eq_u32 s13, 5");
}

TEST_P(Init, Addresses) {
  expectFound(load() + "global_load_dword v3, v2, s[6:7]\ns_waitcnt vmcnt(0)", Kind::Address, "v2", ~0ull,
              Origin::Kind::Memory);
  expectFound(load() + "global_store_dword v2, v1, s[6:7]", Kind::Address, "v2", ~0ull, Origin::Kind::Memory);
  expectFound(load() + "ds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)", Kind::Address, "v2", ~0ull, Origin::Kind::Memory);
  expectFound(
      "s_load_dword s12, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\ns_load_dword s13, s[6:7], s12\ns_waitcnt lgkmcnt(0)",
      Kind::Address, "s12", 0, Origin::Kind::Memory);
  expectSilent(load("global_load_dword v2, v1, s[6:7]") + "global_load_dword v3, v2, s[6:7]\ns_waitcnt vmcnt(0)");
  // Lanes that are off have no address.
  check_->memory.define(unwritten_, 16);
  expectSilent(load() + "s_mov_{b} {exec}, 15\nglobal_load_dword v3, v2, s[6:7]\ns_waitcnt vmcnt(0)");
}

TEST_P(Init, Atomics) {
  const std::string add = "v_mov_b32 v3, 1\nglobal_atomic_add v1, v3, s[4:5]\n";
  expectFound(add, Kind::AtomicMemory, "memory", ~0ull, Origin::Kind::Memory);
  expectSilent(add); // what has been reported counts as written
  check_->memory.undefine(unwritten_, kBytes);
  expectFound(load() + "global_atomic_add v1, v2, s[6:7]", Kind::Atomic, "v2", ~0ull, Origin::Kind::Memory);
  expectSilent("v_mov_b32 v3, 1\nglobal_atomic_swap v1, v3, s[4:5]\ns_waitcnt vmcnt(0)\n" + decide(load()));
  expectFound("v_mov_b32 v3, 1\nds_add_u32 v1, v3\n", Kind::AtomicMemory, "memory", ~0ull, Origin::Kind::Lds);
  expectSilent("v_mov_b32 v3, 1\nds_write_b32 v1, v3\nds_add_u32 v1, v3\n");
}

TEST_P(Init, StoresWhereTheHostSees) {
  const std::string copy = load() + "global_store_dword v1, v2, s[6:7]";
  expectSilent(copy);
  check_->memory.define(written_, kBytes);
  check_->stores = true;
  expectFound(copy, Kind::Store, "v2", ~0ull, Origin::Kind::Memory);
  expectSilent(load("global_load_dword v2, v1, s[6:7]") + "global_store_dword v1, v2, s[6:7]");
}

// Where they come from.

TEST_P(Init, Lds) {
  const std::string read = "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n";
  expectDecided(read, ~0ull, Origin::Kind::Lds);
  expectSilent(decide("ds_write_b32 v1, v0\n" + read));
  expectDecided("s_mov_{b} {exec}, 0xff\nds_write_b32 v1, v0\ns_mov_{b} {exec}, -1\n" + read, ~0xffull,
                Origin::Kind::Lds);
  expectDecided("ds_write_b8 v1, v0\n" + read, ~0ull, Origin::Kind::Lds);
  expectSilent(decide("ds_write_b8 v1, v0\nds_read_u8 v2, v1\ns_waitcnt lgkmcnt(0)\n"));
  expectSilent(decide("ds_write2_b32 v1, v0, v0 offset0:64 offset1:128\n"
                      "ds_read2_b32 v[2:3], v1 offset0:64 offset1:128\ns_waitcnt lgkmcnt(0)\n"
                      "v_or_b32 v2, v2, v3\n"));
  expectDecided("ds_write2_b32 v1, v0, v0 offset0:64 offset1:192\n"
                "ds_read2_b32 v[2:3], v1 offset0:64 offset1:128\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v2, v3\n",
                ~0ull, Origin::Kind::Lds);
}

TEST_P(Init, Registers) {
  expectDecided("v_mov_b32 v2, v20\n", ~0ull, Origin::Kind::Register);
  EXPECT_EQ(found_[0].origin.reg, vgpr(20));
  expectDecided("s_mov_{b} {exec}, 0xff\nv_mov_b32 v2, 0\ns_mov_{b} {exec}, -1\n", ~0xffull, Origin::Kind::Register);
  expectFound("s_cmp_eq_u32 s20, 3\ns_cbranch_scc1 0", Kind::Branch, "scc", 0, Origin::Kind::Register);
  EXPECT_EQ(found_[0].origin.reg, sgpr(20));
  expectFound("s_cbranch_scc1 0", Kind::Branch, "scc", 0, Origin::Kind::Register);
  expectSilent(decide("v_mov_b32 v2, s2\n")); // the workgroup's number
  expectSilent(decide("v_xor_b32 v2, v20, v20\n"));
}

TEST_P(Init, Scratch) {
  scratch_ = 64;
  // By FLAT addresses, which gfx9 and gfx10 have in common, once FLAT_SCRATCH is set.
  const std::string base = wide() ? "s_mov_b64 flat_scratch, s[24:25]\n"
                                  : "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s24\ns_setreg_b32 "
                                    "hwreg(HW_REG_FLAT_SCR_HI), s25\n";
  const std::string at = "s_load_dwordx2 s[24:25], s[0:1], 0x10\ns_waitcnt lgkmcnt(0)\n" + base +
                         "s_mov_b64 s[22:23], src_private_base\nv_mov_b32 v4, 8\nv_mov_b32 v5, s23\n";
  const std::string read = "flat_load_dword v2, v[4:5]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n";
  expectDecided(at + read, ~0ull, Origin::Kind::Scratch);
  EXPECT_EQ(found_[0].origin.address, 8u);
  expectSilent(decide(at + "flat_store_dword v[4:5], v0\n" + read));
}

// What is only passed on.

TEST_P(Init, CopiesAreSilentAndKept) {
  const std::string copy = load("global_load_dwordx2 v[2:3], v1, s[4:5]") + "global_store_dwordx2 v1, v[2:3], s[6:7]\n";
  check_->memory.set(unwritten_, 8, 0xf0); // lane 0: padding in the second half
  check_->memory.define(unwritten_ + 8, kBytes - 8);
  const std::string one = "s_mov_{b} {exec}, 1\n";
  expectSilent(one + copy);
  EXPECT_EQ(check_->memory.at(written_, 8), 0xf0u);
  expectSilent(decide(one + load("global_load_dword v2, v1, s[6:7]")));
  expectDecided(one + load("global_load_dword v2, v1, s[6:7] offset:4"), 1);
  EXPECT_FALSE(check_->memory.anyIn(written_ + 8, written_ + kBytes));
}

TEST_P(Init, MaskedAndShiftedAway) {
  check_->memory.define(unwritten_, kBytes);
  for (unsigned lane = 0; lane < 64; ++lane)
    check_->memory.set(unwritten_ + 4 * lane, 4, 0xc); // the upper half is padding
  expectDecided(load(), ~0ull);
  for (const char *good : {"v_and_b32 v2, 0xffff, v2\n", "v_lshlrev_b32 v2, 16, v2\n", "v_bfe_u32 v2, v2, 4, 12\n",
                           "v_perm_b32 v2, v2, v2, s12\n", "v_alignbyte_b32 v2, v2, v2, 0\nv_bfe_i32 v2, v2, 8, 8\n",
                           "v_mov_b32 v3, 0\nv_cndmask_b32 v2, v0, v2, s[14:15]\n", "v_bfi_b32 v2, s16, v2, v0\n",
                           "v_readfirstlane_b32 s18, v2\ns_and_b32 s18, s18, 0xff\nv_mov_b32 v2, s18\n"}) {
    std::string text = good;
    if (!wide())
      if (const size_t at = text.find("s[14:15]"); at != std::string::npos)
        text.replace(at, 8, "s14");
    expectSilent(decide("s_mov_b32 s12, 0x01000100\ns_mov_b64 s[14:15], 0\ns_mov_b32 s16, 0xffff\n" + load() + text));
  }
  for (const char *bad :
       {"v_lshrrev_b32 v2, 16, v2\n", "v_bfe_u32 v2, v2, 12, 8\n", "v_or_b32 v2, 1, v2\n", "{add} v2, v2, v0\n",
        "v_cvt_f32_u32 v2, v2\n", "v_readfirstlane_b32 s18, v2\nv_mov_b32 v2, s18\n", "v_mul_lo_u32 v2, v2, s16\n",
        "v_alignbit_b32 v2, v2, v2, 8\n"})
    expectDecided("s_mov_b32 s16, 0xffff\n" + load() + bad, ~0ull);
}

TEST_P(Init, SmallLoads) {
  check_->memory.define(unwritten_, kBytes);
  for (unsigned lane = 0; lane < 64; ++lane)
    check_->memory.set(unwritten_ + 4 * lane, 4, 0xe); // one byte is written
  expectSilent(decide(load("global_load_ubyte v2, v1, s[4:5]")));
  expectSilent(decide(load("global_load_sbyte v2, v1, s[4:5]")));
  expectDecided(load("global_load_ushort v2, v1, s[4:5]"), ~0ull);
  expectDecided(load("global_load_sbyte v2, v1, s[4:5] offset:1"), ~0ull);
  expectDecided(load("global_load_sbyte v2, v1, s[4:5] offset:1") + "v_lshrrev_b32 v2, 24, v2\n", ~0ull);
  expectSilent(decide(load("global_load_ubyte v2, v1, s[4:5] offset:1") + "v_lshrrev_b32 v2, 8, v2\n"));
  expectSilent(
      decide("v_mov_b32 v2, 0\n" + load("global_load_short_d16_hi v2, v1, s[4:5]") + "v_and_b32 v2, 0xffff, v2\n"));
  expectDecided("v_mov_b32 v2, 0\n" + load("global_load_short_d16_hi v2, v1, s[4:5]"), ~0ull);
}

TEST_P(Init, OtherLanes) {
  check_->memory.define(unwritten_, kBytes);
  check_->memory.undefine(unwritten_ + 4 * 3, 4); // lane 3
  expectDecided(load(), 8);
  expectDecided(load() + "v_mov_b32_dpp v2, v2 quad_perm:[3,1,2,0] row_mask:0xf bank_mask:0xf\n", 1);
  expectSilent(decide(load() + "v_readlane_b32 s12, v2, 2\nv_mov_b32 v2, s12\n"));
  expectDecided(load() + "v_readlane_b32 s12, v2, 3\nv_mov_b32 v2, s12\n", ~0ull);
  expectDecided("v_xor_b32 v5, 4, v1\n" + load() + "ds_bpermute_b32 v2, v5, v2\ns_waitcnt lgkmcnt(0)\n", 4);
  expectDecided(load() + "ds_swizzle_b32 v2, v2 offset:swizzle(SWAP,1)\ns_waitcnt lgkmcnt(0)\n", 4);
  expectSilent(decide(load() + "v_writelane_b32 v2, s2, 3\n"));
}

TEST_P(Init, Halves) {
  check_->memory.define(unwritten_, kBytes);
  for (unsigned lane = 0; lane < 64; ++lane)
    check_->memory.set(unwritten_ + 4 * lane, 4, 0xc);
  const std::string low = "v_and_b32 v2, 0xffff, v2\n", high = "v_lshrrev_b32 v2, 16, v2\n";
  expectSilent(decide(load() + "v_pk_add_u16 v2, v2, v2\n" + low));
  expectDecided(load() + "v_pk_add_u16 v2, v2, v2\n" + high, ~0ull);
  expectSilent(decide(load() + "v_pk_add_u16 v2, v2, v2 op_sel_hi:[0,0]\n" + high));
  expectSilent(load() + "v_cmp_eq_u16 {vcc}, 7, v2\ns_and_saveexec_{b} {s8}, {vcc}");
}

TEST_P(Init, MasksOfLanes) {
  check_->memory.define(unwritten_, kBytes);
  check_->memory.undefine(unwritten_ + 4 * 3, 4); // lane 3
  const std::string compared = load() + "v_cmp_eq_u32 {s8}, 7, v2\n";
  expectFound(compared + "s_and_saveexec_{b} {s10}, {s8}", Kind::Branch, "exec", 8, Origin::Kind::Memory);
  expectSilent(compared + "s_and_{b} {s8}, {s8}, 7\ns_and_saveexec_{b} {s10}, {s8}");
  expectSilent(compared + "s_or_{b} {s8}, {s8}, 8\ns_and_saveexec_{b} {s10}, {s8}");
  expectFound(compared + "s_andn2_{b} {exec}, {exec}, {s8}", Kind::Branch, "exec", 8, Origin::Kind::Memory);
  // A mask that is merged lane by lane, and holds nothing yet in the lanes that are off.
  expectSilent("s_mov_{b} {exec}, 0xf0\nv_cmp_eq_u32 {s8}, v1, v1\ns_andn2_{b} {s10}, {s10}, {exec}\n"
               "s_or_{b} {s10}, {s10}, {s8}\ns_and_saveexec_{b} {vcc}, {s10}");
}

TEST_P(Init, StoresDefine) {
  expectSilent(decide("global_store_dword v1, v0, s[4:5]\ns_waitcnt vmcnt(0)\n" + load()));
  EXPECT_TRUE(check_->memory.anyIn(unwritten_ + 256, unwritten_ + kBytes));
  EXPECT_FALSE(check_->memory.anyIn(unwritten_, unwritten_ + (wide() ? 256 : 128)));
}

class InitMatrices : public Init {};
INSTANTIATE_TEST_SUITE_P(Targets, InitMatrices, testing::Values(std::pair("gfx90a", 64u)),
                         [](const auto &info) { return info.param.first; });

TEST_P(InitMatrices, ElementsOfAColumn) {
  check_->memory.define(unwritten_, kBytes);
  check_->memory.undefine(unwritten_ + 4 * 5, 4); // of B, column 5 % 4 of block 5 / 4
  const std::string load = "v_mov_b32 v20, 1.0\nglobal_load_dword v21, v1, s[4:5]\ns_waitcnt vmcnt(0)\n";
  expectDecided(load + "v_mfma_f32_4x4x1f32 v[24:27], v20, v21, 0\ns_nop 7\nv_mov_b32 v2, v24\n", 1 << 5);
}

// The shadow of memory, compared with one that is a byte per byte.
TEST(UndefinedMemory, IsWhatItWasMadeTo) {
  constexpr uint64_t kBase = 0x7f0000000000 - 5000, kSize = 5 * 4096;
  UndefinedMemory memory;
  std::vector<bool> expected(kSize);
  std::mt19937 random(1);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  for (unsigned round = 0; round < 4000; ++round) {
    const uint64_t at = below(kSize), size = std::min<uint64_t>(kSize - at, below(8) ? below(200) : below(kSize));
    const uint64_t from = below(kSize - size + 1);
    switch (below(4)) {
    case 0:
      memory.undefine(kBase + at, size);
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), size, true);
      break;
    case 1:
      memory.define(kBase + at, size);
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), size, false);
      break;
    case 2: {
      memory.copy(kBase + at, kBase + from, size);
      const std::vector<bool> old = expected;
      for (uint64_t n = 0; n < size; ++n)
        expected[at + n] = old[from + n];
      break;
    }
    default: {
      const auto bytes = static_cast<unsigned>(std::min<uint64_t>(size, below(65)));
      const uint64_t bits = random() | uint64_t{random()} << 32;
      if (!bytes)
        break;
      memory.set(kBase + at, bytes, bits);
      for (unsigned n = 0; n < bytes; ++n)
        expected[at + n] = bits >> n & 1;
    }
    }
    const uint64_t look = below(kSize - 64), end = look + below(kSize - look);
    uint64_t bits = 0;
    for (unsigned n = 0; n < 64; ++n)
      bits |= uint64_t{expected[look + n]} << n;
    ASSERT_EQ(memory.at(kBase + look, 64), bits) << round;
    bool any = false;
    for (uint64_t n = look; n < end; ++n)
      any |= expected[n];
    ASSERT_EQ(memory.anyIn(kBase + look, kBase + end), any) << round;
  }
}

} // namespace
} // namespace luthier::vgpu::test
