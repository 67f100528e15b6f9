// Instructions that the rewriter puts around hooks, as the assembler writes them.
#include "emit_fixture.h"
#include "rewrite/glue.h"

#include <fmt/format.h>

namespace luthier::rewrite::test {
namespace {

class GlueTest : public testing::TestWithParam<std::pair<const char *, unsigned>> {
protected:
  GlueTest()
      : target_(*isa::findTarget(GetParam().first)), waveSize_(GetParam().second),
        decoder_(must(isa::Decoder::create(target_, waveSize_))),
        finder_(must(isa::FieldFinder::create(target_, waveSize_))),
        glue_(must(Glue::create(target_, waveSize_, *decoder_, *finder_))) {}

  std::vector<uint8_t> assembled(const std::string &text) { return must(isa::assemble(target_, text, waveSize_)); }
  static std::vector<uint8_t> bytesOf(const CodeSequence &code) { return {code.bytes().begin(), code.bytes().end()}; }

  const isa::Target &target_;
  unsigned waveSize_;
  std::unique_ptr<isa::Decoder> decoder_;
  std::unique_ptr<isa::FieldFinder> finder_;
  std::unique_ptr<Glue> glue_;
};

TEST_P(GlueTest, ConstantsAreAsShortAsTheyCanBe) {
  for (const int32_t value : {0, 1, 63, 64, 65, -1, -15, -16, -17, INT32_MIN, INT32_MAX}) {
    CodeSequence scalar, vector, m0;
    glue_->constant(scalar, sgpr(77), static_cast<uint32_t>(value));
    glue_->constant(vector, vgpr(201), static_cast<uint32_t>(value));
    glue_->constant(m0, Reg::M0, static_cast<uint32_t>(value));
    EXPECT_EQ(bytesOf(scalar), assembled(fmt::format("s_mov_b32 s77, {:#x}", static_cast<uint32_t>(value)))) << value;
    EXPECT_EQ(bytesOf(vector), assembled(fmt::format("v_mov_b32_e32 v201, {:#x}", static_cast<uint32_t>(value))))
        << value;
    EXPECT_EQ(bytesOf(m0), assembled(fmt::format("s_mov_b32 m0, {:#x}", static_cast<uint32_t>(value)))) << value;
  }
}

TEST_P(GlueTest, LiteralsHavePlaceForAnything) {
  CodeSequence scalar, vector;
  glue_->literal(scalar, sgpr(3), 0);
  glue_->literal(vector, vgpr(3), 0);
  EXPECT_EQ(scalar.bytes().size(), 8u);
  EXPECT_EQ(vector.bytes().size(), 8u);
}

TEST_P(GlueTest, Waits) {
  using analysis::Counter;
  using analysis::setOf;
  const auto wait = [&](analysis::CounterSet counters) {
    CodeSequence code;
    glue_->wait(code, counters);
    return bytesOf(code);
  };
  const bool split = target_.splitCounters;
  EXPECT_TRUE(wait(0).empty());
  EXPECT_EQ(wait(setOf(Counter::Vm)), assembled(split ? "s_wait_loadcnt 0" : "s_waitcnt vmcnt(0)"));
  EXPECT_EQ(wait(setOf(Counter::Lgkm)), assembled(split ? "s_wait_kmcnt 0" : "s_waitcnt lgkmcnt(0)"));
  EXPECT_EQ(wait(setOf(Counter::Vm) | setOf(Counter::Lgkm) | setOf(Counter::Ds)),
            assembled(split ? "s_wait_loadcnt 0\ns_wait_kmcnt 0\ns_wait_dscnt 0" : "s_waitcnt vmcnt(0) lgkmcnt(0)"));
  EXPECT_EQ(wait(setOf(Counter::Vm) | setOf(Counter::Lgkm) | setOf(Counter::Exp)),
            assembled(split ? "s_wait_loadcnt 0\ns_wait_kmcnt 0\ns_wait_expcnt 0"
                            : "s_waitcnt vmcnt(0) lgkmcnt(0) expcnt(0)"));
  if (target_.storeCounter)
    EXPECT_EQ(wait(setOf(Counter::Vs)), assembled(split ? "s_wait_storecnt 0" : "s_waitcnt_vscnt null, 0"));
}

TEST_P(GlueTest, Scratch) {
  CodeSequence store, load;
  glue_->scratch(store, GlueOp::ScratchStore, vgpr(201), sgpr(77), 1000);
  glue_->scratch(load, GlueOp::ScratchLoad, vgpr(201), sgpr(77), 1000);
  EXPECT_EQ(bytesOf(store), assembled("scratch_store_dword off, v201, s77 offset:1000"));
  EXPECT_EQ(bytesOf(load), assembled("scratch_load_dword v201, off, s77 offset:1000"));
  ASSERT_EQ(glue_->has(GlueOp::ScratchStoreDirect), target_.scratchWithoutAddress);
  if (!target_.scratchWithoutAddress)
    return;
  const unsigned last = glue_->scratchReach() - 4;
  store.clear();
  load.clear();
  glue_->scratch(store, GlueOp::ScratchStoreDirect, vgpr(201), Reg::S0, last);
  glue_->scratch(load, GlueOp::ScratchLoadDirect, vgpr(201), Reg::S0, last);
  EXPECT_EQ(bytesOf(store), assembled(fmt::format("scratch_store_dword off, v201, off offset:{}", last)));
  EXPECT_EQ(bytesOf(load), assembled(fmt::format("scratch_load_dword v201, off, off offset:{}", last)));
}

TEST_P(GlueTest, LanesAndLoads) {
  CodeSequence write, read, pair, dword;
  glue_->writeLane(write, vgpr(201), 31, sgpr(77));
  glue_->readLane(read, sgpr(77), vgpr(201), 31);
  glue_->loadPair(pair, sgpr(76), sgpr(78), 0x48);
  glue_->loadDword(dword, sgpr(77), sgpr(78), 0x48);
  EXPECT_EQ(bytesOf(write), assembled("v_writelane_b32 v201, s77, 31"));
  EXPECT_EQ(bytesOf(read), assembled("v_readlane_b32 s77, v201, 31"));
  EXPECT_EQ(bytesOf(pair), assembled("s_load_dwordx2 s[76:77], s[78:79], 0x48"));
  EXPECT_EQ(bytesOf(dword), assembled("s_load_dword s77, s[78:79], 0x48"));
}

TEST_P(GlueTest, Masks) {
  CodeSequence code;
  for (const GlueOp op : {GlueOp::SaveExec, GlueOp::RestoreExec, GlueOp::SaveVcc, GlueOp::RestoreVcc})
    glue_->add(code, op, sgpr(76));
  glue_->add(code, GlueOp::ExecOne);
  EXPECT_EQ(bytesOf(code),
            assembled(waveSize_ == 64 ? "s_mov_b64 s[76:77], exec\ns_mov_b64 exec, s[76:77]\ns_mov_b64 s[76:77], vcc\n"
                                        "s_mov_b64 vcc, s[76:77]\ns_mov_b64 exec, 1"
                                      : "s_mov_b32 s76, exec_lo\ns_mov_b32 exec_lo, s76\ns_mov_b32 s76, vcc_lo\n"
                                        "s_mov_b32 vcc_lo, s76\ns_mov_b32 exec_lo, 1"));
}

INSTANTIATE_TEST_SUITE_P(Targets, GlueTest,
                         testing::Values(std::pair("gfx900", 64u), std::pair("gfx906", 64u), std::pair("gfx908", 64u),
                                         std::pair("gfx90a", 64u), std::pair("gfx942", 64u), std::pair("gfx1010", 32u),
                                         std::pair("gfx1030", 32u), std::pair("gfx1030", 64u),
                                         std::pair("gfx1100", 32u), std::pair("gfx1100", 64u),
                                         std::pair("gfx1101", 32u), std::pair("gfx1102", 32u),
                                         std::pair("gfx1151", 32u), std::pair("gfx1200", 32u),
                                         std::pair("gfx1201", 32u), std::pair("gfx1201", 64u)),
                         [](const auto &info) { return fmt::format("{}_{}", info.param.first, info.param.second); });

} // namespace
} // namespace luthier::rewrite::test
