// The language of `luthier instrument --at`: what texts mean, and where errors point to.

#include "cli/instr_class.h"
#include "cli/site_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::cli {
namespace {

using rewrite::Argument;
using rewrite::Position;
using testing::AllOf;
using testing::HasSubstr;
using What = SiteSpec::What;

SiteSpec parsed(std::string_view text) {
  auto spec = parseSiteSpec(text);
  if (!spec) {
    ADD_FAILURE() << spec.error().message();
    return {};
  }
  return *spec;
}

/// The message, and the column that it names, from 1.
std::string errorOf(std::string_view text) {
  const auto spec = parseSiteSpec(text);
  return spec ? "no error" : spec.error().message();
}

TEST(SiteSpec, Instructions) {
  const SiteSpec spec = parsed("before global_store_*, loads, 0x1a40: record(address, width, exec)");
  EXPECT_EQ(spec.position, Position::Before);
  ASSERT_EQ(spec.what.size(), 3u);
  EXPECT_EQ(spec.what[0].kind, What::Kind::Pattern);
  EXPECT_EQ(spec.what[0].name, "global_store_*");
  EXPECT_EQ(spec.what[1].kind, What::Kind::Class);
  EXPECT_EQ(spec.what[2].kind, What::Kind::Address);
  EXPECT_EQ(spec.what[2].address, 0x1a40u);
  EXPECT_EQ(spec.hook, "record");
  ASSERT_EQ(spec.arguments.size(), 3u);
  EXPECT_EQ(spec.arguments[0].argument.kind, Argument::Kind::Address);
  EXPECT_EQ(spec.arguments[1].argument.kind, Argument::Kind::Width);
  EXPECT_EQ(spec.arguments[2].argument.regs, (RegRange{Reg::ExecLo, 2}));
  EXPECT_TRUE(spec.result.empty());
}

TEST(SiteSpec, VisitsWavesAndLanes) {
  const SiteSpec plain = parsed("before loads: f()");
  EXPECT_FALSE(plain.sampling.any());
  EXPECT_TRUE(plain.predicate.empty());
  const SiteSpec own = parsed("before loads in L3 every 16: f()");
  EXPECT_EQ(own.sampling.every, 16u);
  EXPECT_FALSE(own.sampling.counter);
  EXPECT_EQ(own.block, 3u);
  const SiteSpec all = parsed("block-entry every 7 together when chosen if \"my::far\"(s4, pc): f(1)");
  EXPECT_EQ(all.sampling.every, 7u);
  EXPECT_TRUE(all.sampling.counter);
  EXPECT_EQ(all.sampling.when, "chosen");
  EXPECT_EQ(all.predicate, "my::far");
  ASSERT_EQ(all.predicateArguments.size(), 2u);
  EXPECT_EQ(all.predicateArguments[1].argument.kind, Argument::Kind::Pc);
  ASSERT_EQ(all.arguments.size(), 1u);
  EXPECT_EQ(all.hook, "f");
  EXPECT_EQ(parsed("kernel-exit when chosen: f()").sampling.when, "chosen");
  EXPECT_EQ(parsed("before s_swappc_b64: f(callee)").arguments[0].argument.kind, Argument::Kind::Callee);
  EXPECT_THAT(errorOf("before loads every: f()"), HasSubstr("expected a number, 1 or more, after `every`"));
  EXPECT_THAT(errorOf("before loads every 0: f()"), HasSubstr("expected a number, 1 or more, after `every`"));
  EXPECT_THAT(errorOf("before loads when : f()"), HasSubstr("expected a variable after `when`"));
  EXPECT_THAT(errorOf("before loads if : f()"), HasSubstr("the hook's name is missing"));
  EXPECT_THAT(errorOf("remove loads every 2"), HasSubstr("an instruction that is removed is never executed"));
}

TEST(SiteSpec, Assembly) {
  const SiteSpec spec =
      parsed("replace 0x10 in f: assembly(\"s_nop 0\", \"v_mov_b32 v[1], 2 ; ok\") changes v1, s[4:5], vcc");
  EXPECT_TRUE(spec.hook.empty());
  ASSERT_TRUE(spec.assembly);
  EXPECT_EQ(spec.assembly->text, "s_nop 0\nv_mov_b32 v[1], 2 ; ok");
  RegSet changes;
  for (const RegRange range : {RegRange{vgpr(1), 1}, RegRange{sgpr(4), 2}, RegRange{Reg::VccLo, 2}})
    changes.insert(range);
  EXPECT_EQ(spec.assembly->changes, changes);
  EXPECT_TRUE(parsed("before all: assembly(\"s_nop 0\")").assembly->changes.empty());
  EXPECT_FALSE(parsed("before all: \"assembly\"(1)").assembly) << "a hook of that name, in quotes";
  EXPECT_THAT(errorOf("before all: assembly()"), HasSubstr("a line of assembly is missing: \"s_nop 0\""));
  EXPECT_THAT(errorOf("before all: assembly(\"s_nop 0\""), HasSubstr("',' or ')' is missing"));
  EXPECT_THAT(errorOf("before all: assembly(\"s_nop 0\") changes"), HasSubstr("expected a register after `changes`"));
  EXPECT_THAT(errorOf("before all every 2: assembly(\"s_nop 0\")"), HasSubstr("assembly runs in every visit"));
}

TEST(SiteSpec, Loops) {
  using OfLoop = What::OfLoop;
  const SiteSpec headers = parsed("block-entry loops: f()");
  EXPECT_EQ(headers.what[0].kind, What::Kind::Loops);
  EXPECT_EQ(headers.what[0].ofLoop, OfLoop::Header);
  EXPECT_EQ(parsed("edge loop-entries: f()").what[0].ofLoop, OfLoop::Entry);
  EXPECT_EQ(parsed("edge loop-backs in leaf: f()").what[0].ofLoop, OfLoop::Back);
  EXPECT_EQ(parsed("edge loop-exits: f()").what[0].ofLoop, OfLoop::Exit);
  EXPECT_THAT(errorOf("edge loops: f()"), HasSubstr("of loops there are loop-entries, loop-backs, loop-exits"));
  EXPECT_THAT(errorOf("block-entry loop-backs: f()"), HasSubstr("`loops` are the headers of loops"));
}

TEST(SiteSpec, PlacesOfAllPositions) {
  EXPECT_EQ(parsed("block-entry: f()").what[0].kind, What::Kind::All);
  EXPECT_EQ(parsed("block-entry L12: f()").what[0].block, 12u);
  const SiteSpec edge = parsed("edge L0->L3 in leaf: f()");
  EXPECT_EQ(edge.what[0].kind, What::Kind::Edge);
  EXPECT_EQ(edge.what[0].block, 0u);
  EXPECT_EQ(edge.what[0].to, 3u);
  EXPECT_EQ(edge.function, "leaf");
  EXPECT_EQ(parsed("edge L0 -> L3: f()").what[0].to, 3u);
  const SiteSpec scoped = parsed("after all in \"scale(float*)\" L3: f()");
  EXPECT_EQ(scoped.position, Position::After);
  EXPECT_EQ(scoped.function, "scale(float*)");
  EXPECT_EQ(scoped.block, 3u);
  EXPECT_EQ(parsed("replace s_nop in L1: f()").block, 1u);
  EXPECT_EQ(parsed("function-entry ns::leaf: f()").what[0].name, "ns::leaf");
  EXPECT_EQ(parsed("function-exit: f()").position, Position::FunctionExit);
  EXPECT_EQ(parsed("kernel-entry: f()").position, Position::KernelEntry);
  EXPECT_EQ(parsed("kernel-exit: f()").position, Position::KernelExit);
  const SiteSpec remove = parsed("remove s_barrier");
  EXPECT_EQ(remove.position, Position::Remove);
  EXPECT_EQ(remove.hook, "");
}

TEST(SiteSpec, Arguments) {
  const SiteSpec spec =
      parsed("before all: my::f(12, 0xff, -1, s4, s[4:5], v255, a[0:3], vcc, scc, m0, op2, address2, pc, block_size, "
             "workgroup_id_y, dispatch_id) -> v[2:3]");
  EXPECT_EQ(spec.hook, "my::f");
  ASSERT_EQ(spec.arguments.size(), 16u);
  const auto at = [&](size_t n) { return spec.arguments[n].argument; };
  EXPECT_EQ(at(0).value, 12u);
  EXPECT_EQ(at(1).value, 255u);
  EXPECT_EQ(at(2).value, UINT64_MAX);
  EXPECT_EQ(at(3).regs, (RegRange{sgpr(4), 1}));
  EXPECT_EQ(at(4).regs, (RegRange{sgpr(4), 2}));
  EXPECT_EQ(at(5).regs, (RegRange{vgpr(255), 1}));
  EXPECT_EQ(at(6).regs, (RegRange{agpr(0), 4}));
  EXPECT_EQ(at(7).regs, (RegRange{Reg::VccLo, 2}));
  EXPECT_EQ(at(8).regs, (RegRange{Reg::Scc, 1}));
  EXPECT_EQ(at(9).regs, (RegRange{Reg::M0, 1}));
  EXPECT_EQ(at(10).kind, Argument::Kind::Operand);
  EXPECT_EQ(at(10).value, 2u);
  EXPECT_EQ(at(11).kind, Argument::Kind::Address);
  EXPECT_EQ(at(11).value, 1u);
  EXPECT_EQ(at(12).kind, Argument::Kind::Pc);
  EXPECT_TRUE(spec.arguments[13].blockSize);
  EXPECT_EQ(at(14).launch, hook::LaunchValue::WorkgroupIdY);
  EXPECT_EQ(at(15).launch, hook::LaunchValue::DispatchId);
  EXPECT_EQ(spec.result, (RegRange{vgpr(2), 2}));
  EXPECT_EQ(parsed("after v_mov_b32: f(op0)->op0").resultOperand, 0u);
  EXPECT_EQ(parsed("before all: \"my::count(unsigned int)\"(1)").hook, "my::count(unsigned int)");
}

TEST(SiteSpec, WhatTheInstructionAndTheKernelHave) {
  const SiteSpec spec = parsed("after v_cmp_*: f(src1, result, kernarg[2], kernarg[16:4], kernarg[n])");
  ASSERT_EQ(spec.arguments.size(), 5u);
  const auto at = [&](size_t n) { return spec.arguments[n].argument; };
  EXPECT_EQ(at(0).kind, Argument::Kind::Source);
  EXPECT_EQ(at(0).value, 1u);
  EXPECT_EQ(at(1).kind, Argument::Kind::Result);
  EXPECT_EQ(at(2).kind, Argument::Kind::Kernarg);
  EXPECT_EQ(at(2).value, 2u);
  EXPECT_EQ(at(3).value, 16 | uint64_t{4} << 32);
  EXPECT_EQ(at(4).name, "n");
}

TEST(SiteSpec, ErrorsPointAtThePlace) {
  EXPECT_THAT(errorOf("before stores: record(addres)"),
              AllOf(HasSubstr("column 23"), HasSubstr("'addres' is not an argument"),
                    HasSubstr("\n  before stores: record(addres)\n"), HasSubstr("\n  " + std::string(22, ' ') + "^")));
  EXPECT_THAT(errorOf(""), HasSubstr("a position must come first: before, after"));
  EXPECT_THAT(errorOf("befor all: f()"), HasSubstr("column 1: a position"));
  EXPECT_THAT(errorOf("before: f()"), HasSubstr("column 7: which instructions?"));
  EXPECT_THAT(errorOf("before writes: f()"),
              HasSubstr("'writes' is not a class of instructions; expected one of loads"));
  EXPECT_THAT(errorOf("before L3: f()"), HasSubstr("all in L3"));
  EXPECT_THAT(errorOf("before 0xg: f()"), HasSubstr("no address"));
  EXPECT_THAT(errorOf("before all"), HasSubstr("column 11: ': HOOK(...)' is missing"));
  EXPECT_THAT(errorOf("before all f()"), HasSubstr("':' is expected before 'f'"));
  EXPECT_THAT(errorOf("before all: f"), HasSubstr("'(' is missing"));
  EXPECT_THAT(errorOf("before all: f(1"), HasSubstr("',' or ')' is missing"));
  EXPECT_THAT(errorOf("before all: f(1,)"), HasSubstr("column 17: an argument is missing"));
  EXPECT_THAT(errorOf("before all: f(s[5:4])"), HasSubstr("'s[5:4]' is not an argument"));
  EXPECT_THAT(errorOf("before all: f(s106)"), HasSubstr("'s106' is not an argument"));
  EXPECT_THAT(errorOf("before all: f(v[1)"), HasSubstr("']' is missing"));
  EXPECT_THAT(errorOf("before all: f() -> 5"), HasSubstr("column 20: a register or an operand"));
  EXPECT_THAT(errorOf("block-entry: f() -> op0"), HasSubstr("a register or an operand"));
  EXPECT_THAT(errorOf("before all: f() again"), HasSubstr("'again' is not expected here"));
  EXPECT_THAT(errorOf("remove all: f()"), HasSubstr("`remove` takes no hook"));
  EXPECT_THAT(errorOf("block-entry valu: f()"), HasSubstr("a block is written L3"));
  EXPECT_THAT(errorOf("edge L0: f()"), HasSubstr("an edge is written L0->L3"));
  EXPECT_THAT(errorOf("kernel-exit all: f()"), HasSubstr("take no selection"));
  EXPECT_THAT(errorOf("before all in: f()"), HasSubstr("expected a function or a block after `in`"));
  EXPECT_THAT(errorOf("before \"all: f()"), HasSubstr("the quotes are not closed"));
  EXPECT_THAT(errorOf("before all; f()"), HasSubstr("column 11: ';' has no meaning here"));
}

TEST(SiteSpec, Patterns) {
  EXPECT_TRUE(matchesPattern("global_store_dword", "global_store_*"));
  EXPECT_TRUE(matchesPattern("global_store_dword", "*store*"));
  EXPECT_TRUE(matchesPattern("v_add_f32", "v_???_f32"));
  EXPECT_TRUE(matchesPattern("v_add_f32", "v_add_f32"));
  EXPECT_TRUE(matchesPattern("", "*"));
  EXPECT_FALSE(matchesPattern("v_add_f32", "v_add"));
  EXPECT_FALSE(matchesPattern("v_add_f32", "v_???_f64"));
  EXPECT_FALSE(matchesPattern("v_add_f32", ""));
}

} // namespace
} // namespace luthier::cli
