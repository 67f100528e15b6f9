#include "vgpu/wave/trace.h"

#include "harness.h"
#include "support/access_sum.h"
#include "trace_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::vgpu::test {
namespace {

using testing::HasSubstr;

std::vector<nlohmann::json> traceOf(ExecTest &t, std::string_view code, const std::string &kernels = "",
                                    WaveRange waves = {}) {
  TraceFile file;
  auto trace = Trace::open(file.path(), kernels, waves);
  EXPECT_TRUE(trace);
  t.trace(*trace);
  EXPECT_TRUE(t.run(code));
  (*trace)->flush();
  return file.lines();
}

TEST(Trace, ShowsOperandsBeforeAndResultsAfter) {
  ExecTest t;
  std::vector<uint32_t> data(64);
  for (unsigned lane = 0; lane < 64; ++lane) {
    data[lane] = 1000 + lane;
    t.v(0, lane) = lane;
  }
  const uint64_t memory = t.buffer(data);
  t.setS64(4, memory);
  t.s(6) = 7;
  t.exec(0xff);
  const auto lines = traceOf(t, "v_lshlrev_b32 v1, 2, v0\n"
                                "global_load_dword v2, v1, s[4:5]\n"
                                "s_waitcnt vmcnt(0)\n"
                                "v_add_u32 v2, s6, v2\n"
                                "s_add_u32 s6, s6, s6\n"
                                "v_cmp_lt_u32 vcc, v0, v1\n");
  ASSERT_EQ(lines.size(), 7u);
  for (unsigned n = 0; n < 7; ++n) {
    EXPECT_EQ(lines[n]["step"], n);
    EXPECT_EQ(lines[n]["kernel"], "snippet");
    EXPECT_EQ(lines[n]["wave"], 0);
    EXPECT_EQ(lines[n]["exec"], "0xff");
  }
  EXPECT_EQ(lines[0]["offset"], 0);
  EXPECT_EQ(lines[1]["offset"], 4);
  EXPECT_EQ(lines[2]["offset"], 12);
  EXPECT_EQ(lines[0]["pc"], (std::ostringstream() << "0x" << std::hex << t.codeAddress()).str());
  EXPECT_THAT(lines[1]["inst"].get<std::string>(), HasSubstr("global_load_dword v2, v1, s[4:5]"));
  EXPECT_EQ(lines[1]["space"], "global");
  for (unsigned lane = 0; lane < 64; ++lane) {
    const bool active = lane < 8;
    EXPECT_EQ(lines[0]["in"]["v0"][lane], lane);
    EXPECT_EQ(lines[0]["out"]["v1"][lane], active ? 4 * lane : kPoison);
    if (active)
      EXPECT_EQ(lines[1]["addresses"][lane], memory + 4 * lane);
    else
      EXPECT_TRUE(lines[1]["addresses"][lane].is_null());
    EXPECT_EQ(lines[1]["out"]["v2"][lane], active ? 1000 + lane : kPoison);
    EXPECT_EQ(lines[3]["in"]["v2"][lane], active ? 1000 + lane : kPoison);
    EXPECT_EQ(lines[3]["out"]["v2"][lane], active ? 1007 + lane : kPoison);
  }
  EXPECT_EQ(lines[3]["in"]["s6"], 7);
  EXPECT_EQ(lines[4]["in"]["s6"], 7);
  EXPECT_EQ(lines[4]["out"]["s6"], 14);
  EXPECT_EQ(lines[4]["out"]["scc"], 0);
  EXPECT_EQ(lines[5]["out"]["vcc_lo"], 0xfe);
  EXPECT_THAT(lines[6]["inst"].get<std::string>(), HasSubstr("s_endpgm"));
}

TEST(Trace, WavesOf32Lanes) {
  ExecTest t("gfx1100", 32);
  const uint64_t memory = t.buffer(4096);
  t.scratch(64);
  t.setS64(4, memory);
  t.s(8) = static_cast<uint32_t>(memory);
  t.s(9) = static_cast<uint32_t>(memory >> 32) | 8 << 16 | 1u << 30; // records of 8 bytes, swizzled by 4 bytes
  t.s(10) = 1000;
  t.s(11) = 20 << 12 | 2 << 21 | 1 << 28; // 32 records together; their number is checked
  for (unsigned lane = 0; lane < 32; ++lane)
    t.v(0, lane) = lane;
  t.exec(0xff);
  const auto lines = traceOf(t, "v_cmp_gt_u32 vcc_lo, 4, v0\n"
                                "global_load_addtid_b32 v2, s[4:5] offset:8\n"
                                "s_waitcnt vmcnt(0)\n"
                                "scratch_store_b32 v0, v2, off offset:4\n"
                                "buffer_load_b32 v3, v0, s[8:11], 0 idxen offset:4\n"
                                "s_waitcnt vmcnt(0)\n"
                                "v_dual_add_f32 v4, v2, v3 :: v_dual_mov_b32 v5, v0\n"
                                "s_load_b32 s0, s[4:5], null\n");
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines[0]["out"]["vcc_lo"], 0xf);
  EXPECT_FALSE(lines[0]["out"].contains("vcc_hi"));
  EXPECT_FALSE(lines[0]["in"].contains("exec_hi"));
  EXPECT_EQ(lines[0]["in"]["v0"].size(), 32u);
  EXPECT_EQ(lines[1]["addresses"].size(), 32u);
  EXPECT_EQ(lines[1]["addresses"][5], memory + 8 + 20);
  EXPECT_TRUE(lines[1]["addresses"][8].is_null());
  EXPECT_EQ(lines[3]["in"]["flat_scratch_lo"], static_cast<uint32_t>(t.scratchBase()));
  EXPECT_EQ(lines[3]["addresses"][5], 9u);
  EXPECT_EQ(lines[4]["addresses"][5], memory + 4 * 32 + 4 * 5);
  EXPECT_EQ(lines[6]["out"]["v5"][5], 5u);
  EXPECT_TRUE(lines[6]["out"].contains("v4"));
  EXPECT_EQ(lines[7]["addresses"][0], memory);
}

TEST(Trace, AddressesOfEverySpace) {
  ExecTest t;
  const uint64_t memory = t.buffer(4096);
  t.lds(1024);
  t.scratch(64);
  t.exec(1);
  t.setS64(4, memory);
  t.s(8) = static_cast<uint32_t>(memory);
  t.s(9) = static_cast<uint32_t>(memory >> 32) | 16 << 16; // records of 16 bytes
  t.s(10) = 64;
  t.s(11) = 0x00077fac;
  t.s(12) = 32;
  t.v(2, 0) = 24;
  t.v(3, 0) = 4;
  t.setV64(4, 0, t.sharedAperture() + 64);
  const auto lines = traceOf(t, "s_load_dword s0, s[4:5], 0x10\n"
                                "ds_read_b32 v0, v2 offset:8\n"
                                "ds_read2_b64 v[20:23], v2 offset0:1 offset1:3\n"
                                "scratch_load_dword v0, v2, off offset:4\n"
                                "flat_load_dword v0, v[4:5] offset:4\n"
                                "buffer_load_dword v0, v[2:3], s[8:11], s12 idxen offen offset:4\n"
                                "ds_bpermute_b32 v0, v2, v3\n");
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[0]["space"], "scalar");
  EXPECT_EQ(lines[0]["addresses"], nlohmann::json::array({memory + 16}));
  EXPECT_EQ(lines[1]["space"], "lds");
  EXPECT_EQ(lines[1]["addresses"][0], 32);
  EXPECT_EQ(lines[2]["addresses"][0], 32);
  EXPECT_EQ(lines[2]["addresses2"][0], 48);
  EXPECT_EQ(lines[3]["space"], "scratch");
  EXPECT_EQ(lines[3]["addresses"][0], 28);
  EXPECT_EQ(lines[4]["space"], "flat");
  EXPECT_EQ(lines[4]["addresses"][0], t.sharedAperture() + 68);
  EXPECT_EQ(lines[5]["space"], "buffer");
  EXPECT_EQ(lines[5]["addresses"][0], memory + 32 + 24 * 16 + 4 + 4);
  EXPECT_FALSE(lines[6].contains("addresses"));
}

// The GPU's address of registered host memory is not the host's: it is the one that the program has.
TEST(Trace, AddressesAreTheGpusOwn) {
  ExecTest t;
  const uint64_t memory = t.alias(t.buffer(4096));
  t.exec(1);
  t.setS64(4, memory);
  t.setV64(2, 0, memory + 8);
  t.v(6, 0) = 12;
  const auto lines = traceOf(t, "s_load_dword s0, s[4:5], 0x4\n"
                                "global_load_dword v8, v6, s[4:5]\n"
                                "global_load_dword v9, v[2:3], off\n"
                                "flat_load_dword v10, v[2:3] offset:4\n");
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0]["addresses"][0], memory + 4);
  EXPECT_EQ(lines[1]["addresses"][0], memory + 12);
  EXPECT_EQ(lines[2]["addresses"][0], memory + 8);
  EXPECT_EQ(lines[3]["addresses"][0], memory + 12);
}

TEST(Trace, AccessesAddedUp) {
  ExecTest t;
  const uint64_t memory = t.buffer(4096);
  t.lds(1024);
  t.setS64(4, memory);
  t.s(6) = 3;
  uint64_t lds[64] = {}, second[64] = {}, global[64] = {};
  AccessSum loads;
  for (unsigned lane = 0; lane < 64; ++lane) {
    t.v(2, lane) = 4 * lane;
    lds[lane] = 4 * lane + 8;
    second[lane] = 4 * lane + 16;
  }
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned lane = 0; lane < 64; ++lane)
      global[lane] = memory + 4 * lane + 256 * round;
    loads.add(0xff0, global);
  }
  TraceFile file;
  auto trace = Trace::open(file.path(), "", {}, TraceContent::AccessSums);
  ASSERT_TRUE(trace);
  t.trace(*trace);
  t.exec(0xff0);
  EXPECT_TRUE(t.run("s_load_dword s0, s[4:5], 0x10\n"
                    "ds_read2_b32 v[20:21], v2 offset0:2 offset1:4\n"
                    "v_mov_b32 v3, v2\n"
                    "1: global_load_dword v4, v3, s[4:5]\n" // three times, each time at another place
                    "v_add_u32 v3, 0x100, v3\n"
                    "s_sub_u32 s6, s6, 1\n"
                    "s_cmp_lg_u32 s6, 0\n"
                    "s_cbranch_scc1 1b\n"
                    "s_mov_b64 exec, 0\n"
                    "global_load_dword v5, v2, s[4:5]\n")); // of no lane
  (*trace)->flush();
  const auto lines = file.lines();
  ASSERT_EQ(lines.size(), 4u);
  const auto expectRow = [&](size_t n, const char *space, bool isSecond, const AccessSum &sum) {
    EXPECT_EQ(lines[n]["kernel"], "snippet");
    EXPECT_EQ(lines[n]["space"], space);
    EXPECT_EQ(lines[n]["second"], isSecond);
    EXPECT_EQ(lines[n]["executed"], sum.executed);
    EXPECT_EQ(lines[n]["lanes"], sum.lanes);
    EXPECT_EQ(lines[n]["mask_sum"], fmt::format("{:#018x}", sum.masks));
    EXPECT_EQ(lines[n]["address_sum"], fmt::format("{:#018x}", sum.addresses));
  };
  AccessSum scalar, firsts, seconds;
  const uint64_t scalarAddress = memory + 16;
  scalar.add(1, &scalarAddress);
  firsts.add(0xff0, lds);
  seconds.add(0xff0, second);
  expectRow(0, "scalar", false, scalar);
  expectRow(1, "lds", false, firsts);
  expectRow(2, "lds", true, seconds);
  expectRow(3, "global", false, loads);
  EXPECT_EQ(lines[3]["offset"], 8 + 8 + 4);
  EXPECT_THAT(lines[3]["inst"].get<std::string>(), HasSubstr("global_load_dword v4, v3, s[4:5]"));
}

TEST(Trace, IndexedRegistersAreTheRealOnes) {
  ExecTest t;
  t.s(0) = 3;
  t.setVector(5, 55);
  const auto lines = traceOf(t, "s_set_gpr_idx_on s0, gpr_idx(SRC0)\n v_mov_b32 v0, v2\n s_set_gpr_idx_off\n");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1]["in"]["v5"][0], 55);
  EXPECT_EQ(lines[1]["out"]["v0"][0], 55);
}

TEST(Trace, FiltersByKernelAndWave) {
  ExecTest t;
  EXPECT_EQ(traceOf(t, "s_nop 0", "^snip").size(), 2u);
  EXPECT_EQ(traceOf(t, "s_nop 0", "^nip").size(), 0u);
  EXPECT_EQ(traceOf(t, "s_nop 0", "", {0, 0}).size(), 2u);
  EXPECT_EQ(traceOf(t, "s_nop 0", "", {1, 5}).size(), 0u);
  EXPECT_EQ(parseWaveRange("7")->last, 7u);
  EXPECT_EQ(parseWaveRange("2-9")->first, 2u);
  for (const char *wrong : {"", "-", "3-", "-3", "5-2", "x", "1-2-3"})
    EXPECT_FALSE(parseWaveRange(wrong)) << wrong;
  EXPECT_FALSE(Trace::open("/tmp", "", {}));
  EXPECT_THAT(Trace::open("/dev/null", "(", {}).error().message(), HasSubstr("regular expression"));
}

TEST(Trace, FaultIsMarked) {
  ExecTest t;
  TraceFile file;
  auto trace = Trace::open(file.path(), "", {});
  t.trace(*trace);
  EXPECT_FALSE(t.run("v_mov_b32 v0, 0\nv_mov_b32 v1, 0\nglobal_load_dword v2, v[0:1], off"));
  (*trace)->flush();
  const auto lines = file.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2]["fault"], true);
  EXPECT_EQ(lines[2]["addresses"][0], 0);
}

} // namespace
} // namespace luthier::vgpu::test
