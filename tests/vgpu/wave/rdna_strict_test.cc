// The physical machine (strict_resources.h, strict_caches.h) for RDNA, in waves of both sizes.

#include "vgpu/wave/strict_resources.h"

#include "engine.h"
#include "vgpu/wave/strict_caches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::vgpu::test {
namespace {

using testing::HasSubstr;

struct Machine {
  const char *target;
  unsigned lanes;
};
void PrintTo(const Machine &m, std::ostream *os) { *os << m.target << " wave" << m.lanes; }

class RdnaStrict : public testing::TestWithParam<Machine> {
protected:
  bool hasSplitCounters() { return engine_.device().target().splitCounters; }
  /// Waits for everything.
  std::string wait() {
    return hasSplitCounters() ? "s_wait_loadcnt_dscnt 0x0\ns_wait_kmcnt 0x0\ns_wait_storecnt 0x0\n"
                              : "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0\n";
  }

  /// Runs `code` on one wave, strictly, with `vgprs` VGPRs. s[6:7] is the address of what `out` shows.
  testing::AssertionResult run(const std::string &code, unsigned vgprs = 24) {
    const unsigned lanes = GetParam().lanes, granule = lanes == 32 ? 8 : 4;
    if (!out_)
      out_ = engine_.memory(64 * 1024);
    Launch launch;
    launch.kernelObject = engine_.kernel("s_load_dwordx2 s[6:7], s[0:1], 0x0\n" + wait() + code + "\ns_endpgm\n",
                                         {.rsrc1 = (vgprs / granule - 1) | 0xf0 << 12,
                                          .rsrc2 = 2 << 1 | 7 << 7,
                                          .rsrc3 = 0,
                                          .properties = static_cast<uint16_t>(8 | (lanes == 32 ? 1 << 10 : 0))});
    launch.grid = {lanes, 1, 1};
    launch.workgroup = {static_cast<uint16_t>(lanes), 1, 1};
    launch.kernarg = engine_.arguments(out_);
    launch.strictResources = strict_;
    const auto running = engine_.start(launch);
    const auto result = running->completed();
    fault_ = running->fault;
    return result;
  }
  uint32_t out(unsigned index) { return Engine::at<uint32_t>(out_, index); }
  static std::string store(std::initializer_list<std::string_view> scalars) {
    std::string code = "v_mov_b32 v1, 0\n";
    unsigned at = 0;
    for (const std::string_view scalar : scalars) {
      code += fmt::format("v_mov_b32 v2, {}\nglobal_store_dword v1, v2, s[6:7] offset:{}\n", scalar, at);
      at += 4;
    }
    return code;
  }

  static DeviceConfig config() {
    DeviceConfig config;
    config.target = isa::findTarget(GetParam().target);
    return config;
  }
  Engine engine_{1, config()};
  std::shared_ptr<StrictResources> strict_ = std::make_shared<StrictResources>(1);
  uint64_t out_ = 0;
  Fault fault_;
};

INSTANTIATE_TEST_SUITE_P(Targets, RdnaStrict,
                         testing::Values(Machine{"gfx1030", 32}, Machine{"gfx1030", 64}, Machine{"gfx1100", 32},
                                         Machine{"gfx1100", 64}, Machine{"gfx1201", 32}, Machine{"gfx1201", 64}),
                         [](const auto &info) { return fmt::format("{}wave{}", info.param.target, info.param.lanes); });

TEST_P(RdnaStrict, RegistersEndWhereTheDescriptorSays) {
  EXPECT_TRUE(run("v_mov_b32 v23, 0"));
  EXPECT_FALSE(run("v_mov_b32 v24, 0"));
  EXPECT_THAT(fault_.text, testing::StartsWith("v24 "));
  EXPECT_FALSE(run("global_load_dwordx4 v[21:24], v1, s[6:7]"));
  EXPECT_THAT(fault_.text, testing::StartsWith("v24 "));
  // Every wave has all SGPRs, and those that were special before are ordinary ones.
  EXPECT_TRUE(run("s_mov_b32 s105, 7\ns_mov_b32 s102, 8\n" + store({"s105", "s102"})));
  EXPECT_EQ(out(0), 7u);
  EXPECT_EQ(out(1), 8u);
}

TEST_P(RdnaStrict, UndefinedStartIsGarbageButWhatIsGivenIsNot) {
  ASSERT_TRUE(run(store({"s40", "s41", "s42", "s43", "s104", "m0", "vcc_lo"})));
  unsigned garbage = 0;
  for (unsigned n = 0; n < 7; ++n)
    garbage += out(n) != 0;
  EXPECT_GE(garbage, 3u);
  // Workgroup ids: in SGPRs behind the arguments' address, or in TTMPs.
  const bool inTtmps = engine_.device().target().workgroupIdsInTtmps;
  ASSERT_TRUE(run(inTtmps ? store({"ttmp9", "ttmp7"}) : store({"s2", "s3"})));
  EXPECT_EQ(out(0), 0u);
  EXPECT_EQ(out(1), 0u);
}

TEST_P(RdnaStrict, NoVectorRegistersBehindTheirDeallocation) {
  const std::string give = "v_mov_b32 v0, 0\ns_nop 0\ns_sendmsg 3\n";
  if (!engine_.device().target().deallocatesVgprs) {
    EXPECT_FALSE(run(give)) << "the target has no such message";
    return;
  }
  EXPECT_TRUE(run(give + "s_mov_b32 s8, 1\ns_nop 0"));
  EXPECT_FALSE(run(give + "v_mov_b32 v3, s8"));
  EXPECT_THAT(fault_.text, testing::StartsWith("v3 is used behind s_sendmsg(MSG_DEALLOC_VGPRS)"));
  EXPECT_THAT(fault_.text, HasSubstr("v_mov_b32_e32 v3, s8"));
  EXPECT_FALSE(run(give + "global_store_dword v5, v6, s[6:7]"));
  EXPECT_THAT(fault_.text, HasSubstr("is used behind s_sendmsg(MSG_DEALLOC_VGPRS)"));
  // Other waves and other messages have nothing to do with it.
  EXPECT_TRUE(run("s_mov_b32 m0, 0\ns_sendmsg sendmsg(MSG_INTERRUPT)\nv_mov_b32 v3, 0"));
}

TEST_P(RdnaStrict, WritingHalfOfVccSetsVccz) {
  const std::string code = "s_mov_b32 vcc_hi, 0\ns_mov_b32 vcc_lo, 0\ns_cbranch_vccz zero\ns_mov_b32 s8, 1\n"
                           "s_branch end\nzero:\ns_mov_b32 s8, 2\nend:\n";
  ASSERT_TRUE(run(code + store({"s8"})));
  EXPECT_EQ(out(0), 2u);
  if (GetParam().lanes == 64)
    return;
  // The high half is none of it, and survives branches that a VCCZ of unknown value decides.
  for (uint64_t seed = 1; seed < 9; ++seed) {
    strict_ = std::make_shared<StrictResources>(seed);
    ASSERT_TRUE(run("s_mov_b32 vcc_hi, 0x1234\ns_cbranch_vccz next\nnext:\n" + store({"vcc_hi"})));
    EXPECT_EQ(out(0), 0x1234u) << seed;
  }
}

TEST_P(RdnaStrict, TheScalarCacheKeepsWhatItHasRead) {
  const std::string change = "s_load_dword s8, s[6:7], 0x100\n" + wait() +
                             "v_mov_b32 v1, 0\nv_mov_b32 v2, 77\nglobal_store_dword v1, v2, s[6:7] offset:256\n" +
                             wait();
  out_ = engine_.memory(64 * 1024);
  ASSERT_TRUE(run(change + "s_load_dword s9, s[6:7], 0x100\n" + wait() + store({"s9"})));
  EXPECT_EQ(out(0), 0u);
  Engine::at<uint32_t>(out_, 64) = 0;
  ASSERT_TRUE(run(change + "s_dcache_inv\n" + wait() + "s_load_dword s9, s[6:7], 0x100\n" + wait() + store({"s9"})));
  EXPECT_EQ(out(0), 77u);
}

} // namespace
} // namespace luthier::vgpu::test
