// TTMPs, which only trap handlers may write: what programs do with them is dropped, and where programs may not read
// them, they are 0 (manuals, "Trap and Exception registers" and, from RDNA 3 on, "SGPR rules").

#include "one_instruction.h"

namespace luthier::vgpu::test {
namespace {

constexpr unsigned kTtmps = 16;
constexpr uint32_t kValue = 0x1234; ///< what the hardware has put there

class Ttmps : public testing::TestWithParam<const char *> {
protected:
  Ttmps() {
    for (unsigned n = 0; n < kTtmps; ++n)
      wave().s[kTtmp + n] = kValue + n;
  }
  Wave &wave() { return *lone_.wave; }
  const isa::Target &target() const { return *isa::findTarget(GetParam()); }
  void execute(const std::string &text) { test::execute(GetParam(), lone_, text); }
  std::string mask(const char *one, const char *pair) const { return wave32() ? one : pair; }
  bool wave32() const { return target().waveSize == 32; }
  void expectUntouched(const std::string &text) {
    execute(text);
    for (unsigned n = 0; n < kTtmps; ++n)
      EXPECT_EQ(wave().s[kTtmp + n], kValue + n) << text << ": ttmp" << n;
  }

  LoneWave lone_{isa::findTarget(GetParam())->waveSize};
};

INSTANTIATE_TEST_SUITE_P(Targets, Ttmps,
                         testing::Values("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201"),
                         [](const auto &info) { return info.param; });

TEST_P(Ttmps, WritesAreDropped) {
  for (const char *text : {"s_mov_b32 ttmp3, 5", "s_mov_b64 ttmp[4:5], -1", "s_add_u32 ttmp3, s1, s2",
                           "s_movk_i32 ttmp6, 0x77", "s_addk_i32 ttmp6, 0x77", "s_not_b64 ttmp[14:15], s[2:3]",
                           "v_readfirstlane_b32 ttmp2, v1", "v_readlane_b32 ttmp2, v1, 3"})
    expectUntouched(text);
  expectUntouched("v_cmp_eq_u32 " + mask("ttmp2", "ttmp[2:3]") + ", v1, v1");
  expectUntouched("v_cmp_lt_f32 " + mask("ttmp2", "ttmp[2:3]") + ", |v1|, v2");
}

/// Everything else that the instruction does happens.
TEST_P(Ttmps, OtherEffectsAreNot) {
  wave().setScalar64(kExec, 0xff);
  wave().setScalar64(2, 0x0f);
  expectUntouched(wave32() ? "s_and_saveexec_b32 ttmp0, s2" : "s_and_saveexec_b64 ttmp[0:1], s[2:3]");
  EXPECT_EQ(wave().exec(), 0x0fu);
}

TEST_P(Ttmps, SccIsKeptWhereTheManualSaysSo) {
  wave().scc = 0;
  expectUntouched("s_or_b32 ttmp3, 1, 1");
  EXPECT_EQ(wave().scc, target().droppedWritesKeepScc ? 0u : 1u);
  // A TTMP that is only read keeps nothing from being written.
  wave().scc = 0;
  execute("s_or_b32 s3, ttmp3, 1");
  EXPECT_EQ(wave().scc, 1u);
  wave().scc = 0;
  execute("s_cmp_lg_u32 ttmp3, 1");
  EXPECT_EQ(wave().scc, 1u);
}

TEST_P(Ttmps, ReadsAreZeroWhereProgramsMayNot) {
  const uint32_t seen = target().readableTtmps ? kValue + 7 : 0;
  execute("s_mov_b32 s3, ttmp7");
  EXPECT_EQ(wave().s[3], seen);
  execute("v_mov_b32 v0, ttmp7");
  EXPECT_EQ(wave().v[0][5], seen);
}

} // namespace
} // namespace luthier::vgpu::test
