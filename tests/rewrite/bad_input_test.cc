// What cannot be done is refused by name: hook, place and reason. The rest is done, and nothing is left half-written.
// (Files of hooks that are refused as a whole, with LDS, recursion or undefined symbols: tests/hook/module_test.cc.)
#include "run_fixture.h"

namespace luthier::rewrite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class BadInputTest : public testing::Test {
protected:
  /// The insertion is refused, a good one beside it is done, and the refused one leaves no trace.
  std::string refusal(const Insertion &bad, std::string_view kernel = "changes") {
    const Insertion good = subject_.before(subject_.instr(kernel, "s_endpgm"), "countWave");
    const std::vector<Insertion> both = {bad, good}, one = {good};
    const Rewrite rewrite = must(subject_.rewriter->rewrite(subject_.file.kernel(kernel), both));
    EXPECT_FALSE(rewrite.sites[0].placed);
    EXPECT_EQ(rewrite.sites[0].places, 0u);
    EXPECT_TRUE(rewrite.sites[1].placed) << rewrite.sites[1].rejected;
    const Rewrite without = subject_.rewrite(kernel, one);
    EXPECT_EQ(rewrite.variant.code, without.variant.code);
    EXPECT_EQ(rewrite.variant.descriptor, without.variant.descriptor);
    EXPECT_TRUE(rewrite.sites[0].rejected.ends_with(rewrite.sites[0].reason));
    return rewrite.sites[0].rejected;
  }
  std::string place(const Instr &instr) { return fmt::format("at {:#x} of changes: ", instr.address()); }

  Machine machine_;
  Subject subject_{STATE_KERNELS};
  const Instr &nop_ = subject_.instr("changes", "s_nop");
};

TEST_F(BadInputTest, Hooks) {
  Insertion insertion = subject_.before(nop_, "nobody");
  EXPECT_THAT(refusal(insertion),
              AllOf(HasSubstr("hook nobody, before " + place(nop_)), HasSubstr("has no hook nobody")));
  insertion.module = must(hook::HookModule::load(fileBytes(BAD_HOOKS), "bad.bc"));
  insertion.hook = "largeFrame";
  insertion.arguments = {Argument::constant(1)};
  EXPECT_THAT(refusal(insertion),
              AllOf(HasSubstr("hook largeFrame, before " + place(nop_)), HasSubstr("bytes of local variables")));
  insertion.hook = "writesScalar";
  insertion.arguments = {};
  EXPECT_THAT(refusal(insertion), HasSubstr("hook writesScalar, before " + place(nop_)));
  insertion.module = nullptr;
  EXPECT_THAT(refusal(insertion), HasSubstr("no hook is given"));
}

TEST_F(BadInputTest, Arguments) {
  const auto with = [&](std::string hook, std::vector<Argument> arguments) {
    return refusal(subject_.before(nop_, std::move(hook), std::move(arguments)));
  };
  EXPECT_THAT(with("addSeven", {}),
              AllOf(HasSubstr("hook addSeven, before " + place(nop_)), HasSubstr("it takes 1 arguments, 0 are given")));
  EXPECT_THAT(with("addSeven", {Argument::operand(7)}),
              HasSubstr("argument 0: s_nop has 1 operands, there is no number 7"));
  EXPECT_THAT(with("addSeven", {Argument::reg({vgpr(200), 1})}), HasSubstr("the kernel has no register v200"));
  EXPECT_THAT(with("scalarAddSeven", {Argument::reg({sgpr(103), 3})}), HasSubstr("has no register"));
  EXPECT_THAT(with("swapHalves", {Argument::reg({vgpr(255), 2})}), HasSubstr("has no register"));
  EXPECT_THAT(with("scalarAddSeven", {Argument::reg({vgpr(2), 1})}), HasSubstr("v2 has a value per lane"));
  EXPECT_THAT(with("addSeven", {Argument::reg({vgpr(4), 2})}), HasSubstr("v[4:5] has 64 bits, the parameter takes 32"));
  EXPECT_THAT(with("swapHalves", {Argument::address()}), HasSubstr("s_nop accesses no memory"));
  EXPECT_THAT(with("addSeven", {Argument::width()}), HasSubstr("s_nop accesses no memory"));
  EXPECT_THAT(with("addSeven", {Argument::constant(uint64_t{1} << 40)}), HasSubstr("does not fit into 32 bits"));
  const Instr &load = subject_.instr("changes", "global_load_dword");
  EXPECT_THAT(refusal(subject_.before(load, "swapHalves", {Argument::address(1)})), HasSubstr("has no second access"));
  EXPECT_THAT(refusal(subject_.before(load, "invert", {Argument::address()})), HasSubstr("has an address per lane"));
}

TEST_F(BadInputTest, Results) {
  const Argument v2 = Argument::reg({vgpr(2), 1});
  EXPECT_THAT(refusal(subject_.before(nop_, "addSeven", {v2}, {vgpr(2), 2})),
              HasSubstr("it returns 32 bits, v[2:3] has 64"));
  EXPECT_THAT(refusal(subject_.before(nop_, "addSeven", {v2}, {vgpr(250), 1})),
              HasSubstr("the kernel has no register v250"));
  EXPECT_THAT(refusal(subject_.before(nop_, "addSeven", {v2}, {sgpr(20), 1})),
              HasSubstr("a value per lane cannot be put into s20"));
}

TEST_F(BadInputTest, Points) {
  const auto at = [&](Position position, uint64_t address) { return subject_.at(position, address, "countWave"); };
  const Instr &end = subject_.instr("changes", "s_endpgm");
  EXPECT_THAT(refusal(at(Position::After, end.address())), AllOf(HasSubstr("hook countWave, after " + place(end)),
                                                                 HasSubstr("ends its block: nothing comes behind it")));
  EXPECT_THAT(refusal(at(Position::Before, nop_.address() + 1)), HasSubstr("no instruction"));
  EXPECT_THAT(refusal(at(Position::Before, end.end() + 0x10000)), HasSubstr("no instruction"));
  EXPECT_THAT(refusal(at(Position::BlockEntry, nop_.address())), HasSubstr("no block starts at"));
  EXPECT_THAT(refusal(at(Position::FunctionExit, 0)),
              HasSubstr("hook countWave, function exit of changes: changes never returns"));
  EXPECT_THAT(refusal(at(Position::Replace, end.address())), HasSubstr("cannot be taken out"));
  Insertion insertion = at(Position::Edge, nop_.address());
  insertion.edgeTo = end.address();
  EXPECT_THAT(refusal(insertion), HasSubstr("no edge leads from"));
  insertion = at(Position::Before, nop_.address());
  insertion.function = &subject_.file.kernel("loops");
  EXPECT_THAT(refusal(insertion), HasSubstr("loops is not a function that the kernel can reach"));
  const Instr &branch = subject_.instr("loops", "s_cbranch_scc1");
  EXPECT_THAT(refusal(at(Position::After, branch.address()), "loops"), HasSubstr("s_cbranch_scc1"));
  EXPECT_THAT(refusal(at(Position::Remove, branch.address()), "loops"), HasSubstr("decides where control goes"));
}

/// What is known to be impossible only when code is written: the instruction to be replaced stays.
TEST_F(BadInputTest, NothingIsHalfDone) {
  const Instr &move = subject_.instr("changes", "v_mov_b32", 5);
  const Insertion bad = subject_.at(Position::Replace, move.address(), "product",
                                    {Argument::reg({vgpr(2), 1}), Argument::reg({vgpr(2), 1})}, {sgpr(20), 1});
  EXPECT_THAT(refusal(bad), HasSubstr("hook product, replace " + place(move) + "a value per lane"));
  const Rewrite rewrite = must(subject_.rewriter->rewrite(subject_.file.kernel("changes"), {&bad, 1}));
  expectSame(machine_, subject_, must(emitMerged(subject_.file.object, {&rewrite.variant, 1})), "changes");
}

TEST_F(BadInputTest, OverlappingFunctions) {
  Subject subject(BAD_KERNELS);
  const auto result = subject.rewriter->rewrite(subject.file.kernel("overlapping"), {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(), AllOf(HasSubstr("overlapping"), HasSubstr("outer"), HasSubstr("inner")));
}

} // namespace
} // namespace luthier::rewrite::test
