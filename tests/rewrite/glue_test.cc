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

INSTANTIATE_TEST_SUITE_P(Targets, GlueTest,
                         testing::Values(std::pair("gfx90a", 64u), std::pair("gfx1030", 32u),
                                         std::pair("gfx1100", 32u)),
                         [](const auto &info) { return std::string(info.param.first); });

} // namespace
} // namespace luthier::rewrite::test
