#include "hook/scalar_waits.h"

#include "assembler.h"
#include "hook/inspect.h"
#include "hooks.h"
#include "isa/pending_scalars.h"

#include <gmock/gmock.h>

namespace luthier::hook {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char *kWait = "s_wait_alu depctr_sa_sdst(0) depctr_va_sdst(0) depctr_va_vcc(0)";

Fragment inspected(const std::string &code, std::string_view name = "gfx1201",
                   std::vector<FragmentRelocation> relocations = {}) {
  Fragment fragment;
  fragment.hook = "written";
  fragment.kind = HookKind::Wave;
  fragment.relocations = std::move(relocations);
  const auto bytes = isa::assemble(target(name), code, 32);
  EXPECT_TRUE(bytes) << bytes.error().message();
  if (bytes)
    fragment.bytes = *bytes;
  const auto result = inspect(fragment, target(name), 32);
  EXPECT_TRUE(result) << result.error().message();
  return fragment;
}

TEST(ScalarWaits, AreAddedOnce) {
  Fragment fragment = inspected("s_add_co_u32 s0, s0, 1\ns_lshl_b32 s1, s0, 2\nv_mov_b32 v0, s0\nv_mov_b32 v1, s1");
  EXPECT_THAT(textOf(fragment, target("gfx1201"), 32),
              ElementsAre("s_add_co_u32 s0, s0, 1", kWait, "s_lshl_b32 s1, s0, 2", "v_mov_b32_e32 v0, s0", kWait,
                          "v_mov_b32_e32 v1, s1"));
  const auto bytes = fragment.bytes;
  ASSERT_TRUE(inspect(fragment, target("gfx1201"), 32));
  EXPECT_EQ(fragment.bytes, bytes) << "as when it is read from the cache";
}

TEST(ScalarWaits, NoneElsewhere) {
  for (const char *name : {"gfx1030", "gfx1100", "gfx1151"})
    EXPECT_THAT(textOf(inspected("s_mov_b32 s0, 1\ns_mov_b32 s1, s0", name), target(name), 32),
                ElementsAre("s_mov_b32 s0, 1", "s_mov_b32 s1, s0"));
}

/// Branches go to the wait, and over it; relocations stay with their instructions.
TEST(ScalarWaits, MoveBranchesAndRelocations) {
  const Fragment fragment = inspected("loop:\n"
                                      "s_add_co_u32 s0, s0, 1\n" // reads what the last turn wrote
                                      "s_cmp_lt_u32 s1, 5\n"
                                      "s_cbranch_scc0 skip\n"
                                      "s_mov_b32 s2, 0x12345678\n"
                                      "s_branch loop\n"
                                      "skip:\n"
                                      "v_mov_b32 v0, s0",
                                      "gfx1201", {{.offset = 16, .high = false, .variable = 0, .addend = 0}});
  const auto code = fragment.code.instrs();
  const auto text = textOf(fragment, target("gfx1201"), 32);
  ASSERT_EQ(code.size(), 8u);
  EXPECT_EQ(text[0], kWait);
  EXPECT_EQ(text[6], kWait);
  EXPECT_EQ(code[3].target(), code[6].address());
  EXPECT_EQ(code[5].target(), 0u);
  ASSERT_EQ(fragment.relocations.size(), 1u);
  uint32_t literal = 0;
  memcpy(&literal, fragment.bytes.data() + fragment.relocations[0].offset, sizeof literal);
  EXPECT_EQ(literal, 0x12345678u);
}

/// The compiler's own hooks, for either size: nothing is left to wait for on any straight way through them.
TEST(ScalarWaits, OfCompiledHooks) {
  const auto module = load();
  ASSERT_TRUE(module);
  FragmentCompiler compiler{{}};
  unsigned waits = 0;
  for (const unsigned waveSize : {32u, 64u})
    for (const Hook &hook : module->hooks()) {
      SCOPED_TRACE(hook.name);
      const auto fragment = compiler.compile(module, plainRequest(*module, hook.name), target("gfx1201"), waveSize);
      ASSERT_TRUE(fragment) << fragment.error().message();
      isa::PendingScalars state(isa::PendingScalars::all());
      for (const Instr &instr : (*fragment)->code.instrs()) {
        EXPECT_FALSE(state.holdUp(instr)) << "at " << instr.address();
        state.execute(instr);
        waits += instr.mnemonic() == "s_wait_alu";
        if (instr.is(Property::Branch) && !instr.is(Property::Conditional))
          state.wait(); // nobody falls through
      }
    }
  EXPECT_GT(waits, 0u);
}

} // namespace
} // namespace luthier::hook
