#include "analysis/waits.h"

#include "code.h"

#include <fmt/format.h>

namespace luthier::analysis::test {
namespace {

/// Counts before an instruction: "vm2 lgkm1", with * for no bound; and what is busy: "vm1:v1 v2".
std::string state(const WaitState &waits, const isa::Target &target) {
  std::string text;
  for (unsigned n = 0; n < kCounters; ++n)
    if (const unsigned most = waits.most(static_cast<Counter>(n))) {
      std::string_view name = toString(static_cast<Counter>(n), target);
      name.remove_suffix(3);
      text +=
          fmt::format("{}{}{}", text.empty() ? "" : " ", name, most == WaitState::kMany ? "*" : std::to_string(most));
    }
  std::string regs;
  const RegSet busy = waits.busy();
  for (unsigned n = 0; n < number(Reg::End); ++n)
    if (busy.contains(static_cast<Reg>(n)))
      regs += " " + toString(static_cast<Reg>(n));
  if (waits.anyRegister())
    regs += " any";
  return text + (regs.empty() ? "" : ":" + regs);
}

std::string before(const Code &code, size_t n, const WaitContext &context = {}) {
  if (n >= code.size())
    return "no such instruction";
  return state(Waits::compute(code.cfg(), code.target(), context).before(code[n]), code.target());
}

TEST(Waits, VectorMemoryIsInOrder) {
  const Code code("global_load_dword v1, v[2:3], off\n"
                  "buffer_load_dword v4, v5, s[0:3], 0 offen\n"
                  "global_store_dword v[2:3], v6, off\n"
                  "s_waitcnt vmcnt(2)\n"
                  "s_waitcnt vmcnt(1)\n"
                  "s_waitcnt vmcnt(0)\n"
                  "s_endpgm");
  EXPECT_EQ(before(code, 0), "");
  EXPECT_EQ(before(code, 1), "vm1: v1");
  EXPECT_EQ(before(code, 3), "vm3: v1 v4"); // data of the store is not busy
  EXPECT_EQ(before(code, 4), "vm2: v4");
  EXPECT_EQ(before(code, 5), "vm1"); // the store
  EXPECT_EQ(before(code, 6), "");
}

TEST(Waits, CountsBeyondFifteenOnGfx9) {
  const Code code("global_load_dword v1, v[2:3], off\n"
                  "s_waitcnt vmcnt(17)\n"
                  "s_endpgm");
  EXPECT_EQ(before(code, 2), "vm1: v1");
}

TEST(Waits, FlatCountsInBothAndInNoOrder) {
  const Code code("global_load_dword v1, v[2:3], off\n"
                  "flat_load_dword v4, v[2:3]\n"
                  "global_load_dword v5, v[2:3], off\n"
                  "s_waitcnt vmcnt(2)\n"
                  "s_waitcnt vmcnt(0)\n"
                  "s_waitcnt lgkmcnt(0)\n"
                  "s_endpgm");
  EXPECT_EQ(before(code, 3), "vm3 lgkm1: v1 v4 v5");
  EXPECT_EQ(before(code, 4), "vm2 lgkm1: v1 v4 v5"); // only 0 would say which
  EXPECT_EQ(before(code, 5), "lgkm1: v4");
  EXPECT_EQ(before(code, 6), "");
}

TEST(Waits, LdsIsInOrderUntilSomethingElseCounts) {
  const Code lds("ds_read_b32 v1, v0\n"
                 "ds_read_b64 v[2:3], v0\n"
                 "s_waitcnt lgkmcnt(1)\n"
                 "s_endpgm");
  EXPECT_EQ(before(lds, 3), "lgkm1: v2 v3");
  const Code mixed("ds_read_b32 v1, v0\n"
                   "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                   "s_waitcnt lgkmcnt(1)\n"
                   "s_waitcnt lgkmcnt(0)\n"
                   "s_endpgm");
  EXPECT_EQ(before(mixed, 3), "lgkm1: s4 s5 v1");
  EXPECT_EQ(before(mixed, 4), "");
}

TEST(Waits, PermutesReturnLikeLoads) {
  const Code code("ds_bpermute_b32 v1, v0, v2\ns_endpgm");
  EXPECT_EQ(before(code, 1), "lgkm1: v1");
}

TEST(Waits, MessagesAndTime) {
  const Code code("s_memtime s[0:1]\n"
                  "s_sendmsg sendmsg(MSG_INTERRUPT)\n"
                  "s_endpgm");
  EXPECT_EQ(before(code, 1), "lgkm1: s0 s1");
  EXPECT_EQ(before(code, 2), "lgkm2: s0 s1");
}

TEST(Waits, ScalarStoresReadLate) {
  const Code code("s_store_dword s4, s[0:1], 0x0\ns_endpgm", {.target = "gfx803"});
  EXPECT_EQ(before(code, 1), "lgkm1: s0 s1 s4");
}

TEST(Waits, GdsReadsItsSourcesLate) {
  const Code code("ds_write_b32 v0, v1 gds\n"
                  "s_waitcnt expcnt(0)\n"
                  "s_endpgm",
                  {.target = "gfx908"});
  EXPECT_EQ(before(code, 1).substr(0, 11), "lgkm1 exp1:");
  EXPECT_EQ(before(code, 2), "lgkm1");
}

TEST(Waits, AtomicsReturnOnlyWhenAsked) {
  const Code code("global_atomic_add v[2:3], v1, off\n"
                  "global_atomic_add v4, v[2:3], v1, off glc\n"
                  "s_endpgm");
  EXPECT_EQ(before(code, 1), "vm1");
  EXPECT_EQ(before(code, 2), "vm2: v4");
}

TEST(Waits, CacheControlPushesNothingOut) {
  const Code code("global_load_dword v1, v[2:3], off\n"
                  "buffer_wbl2\n"
                  "s_waitcnt vmcnt(1)\n"
                  "s_endpgm");
  EXPECT_EQ(before(code, 3), "vm1: v1");
}

TEST(Waits, PathsJoin) {
  const Code code("global_load_dword v1, v[2:3], off\n" // 0
                  "s_cbranch_scc0 join\n"               // 1
                  "global_load_dword v4, v[2:3], off\n" // 2
                  "join:\n"
                  "s_waitcnt vmcnt(1)\n" // 3
                  "s_endpgm");
  EXPECT_EQ(before(code, 3), "vm2: v1 v4");
  EXPECT_EQ(before(code, 4), "vm1: v1 v4"); // v1 has one behind it on one path only
}

TEST(Waits, LoopsReachABound) {
  const Code code("loop:\n"
                  "global_load_dword v1, v[2:3], off\n"
                  "s_cbranch_scc0 loop\n"
                  "s_waitcnt vmcnt(0)\n"
                  "s_endpgm");
  EXPECT_EQ(before(code, 0), "vm*: v1");
  EXPECT_EQ(before(code, 3), "");
}

TEST(Waits, PaddingBeforeALoopIsNoWayIntoIt) {
  const Code code("s_branch loop\n" // 0
                  "s_nop 0\n"       // 1: alignment, which nothing reaches
                  "loop:\n"
                  "s_cbranch_scc0 loop\n" // 2
                  "s_endpgm");
  EXPECT_EQ(before(code, 1), "vm* lgkm* exp*: any");
  EXPECT_EQ(before(code, 2), "");
  EXPECT_EQ(before(code, 3), "");
  // With a jump to who knows where, it may be one.
  const Code jump("s_branch loop\n"
                  "s_nop 0\n"
                  "loop:\n"
                  "s_cbranch_scc0 loop\n"
                  "s_setpc_b64 s[0:1]");
  EXPECT_EQ(before(jump, 2), "vm* lgkm* exp*: any");
}

TEST(Waits, CallsLeaveTheUnknown) {
  const Code code("s_call_b64 s[30:31], 0x100\n"
                  "s_waitcnt vmcnt(0) lgkmcnt(0) expcnt(0)\n"
                  "s_endpgm");
  EXPECT_EQ(before(code, 1), "vm* lgkm* exp*: any");
  EXPECT_EQ(before(code, 2), "");
  const WaitState nothing;
  WaitContext context;
  context.returned = [&](uint64_t) { return &nothing; };
  EXPECT_EQ(before(code, 1, context), "");
}

TEST(Waits, FunctionsStartWithTheUnknown) {
  const Code code("s_waitcnt vmcnt(0) lgkmcnt(0) expcnt(0)\n"
                  "global_store_dword v[2:3], v1, off\n"
                  "s_setpc_b64 s[30:31]",
                  {.kernel = false});
  EXPECT_TRUE(
      Waits::compute(code.cfg(), code.target(), {.kernel = false, .returned = {}}).before(code[0]).anyRegister());
}

TEST(Waits, StoresHaveACounterOfTheirOwnOnGfx10) {
  ASSERT_TRUE(isa::findTarget("gfx1030"));
  const Code code("global_load_dword v1, v[2:3], off\n"
                  "global_store_dword v[2:3], v4, off\n"
                  "global_atomic_add v5, v[2:3], v4, off glc\n"
                  "global_atomic_add v[2:3], v4, off\n"
                  "s_waitcnt vmcnt(1)\n"
                  "s_waitcnt_vscnt null, 0x0\n"
                  "s_waitcnt lgkmcnt(0) vmcnt(0)\n"
                  "s_endpgm",
                  {.target = "gfx1030"});
  EXPECT_EQ(before(code, 4), "vm2 vs2: v1 v5");
  EXPECT_EQ(before(code, 5), "vm1 vs2: v5");
  EXPECT_EQ(before(code, 6), "vm1: v5");
  EXPECT_EQ(before(code, 7), "");
}

TEST(Waits, MessagesMayReturnOnGfx11) {
  const Code code("s_sendmsg_rtn_b64 s[2:3], sendmsg(MSG_RTN_GET_REALTIME)\n"
                  "s_waitcnt lgkmcnt(0)\n"
                  "s_endpgm",
                  {.target = "gfx1100"});
  EXPECT_EQ(before(code, 1), "lgkm1: s2 s3");
  EXPECT_EQ(before(code, 2), "");
}

TEST(Waits, CountersAreSplitOnGfx12) {
  const CodeOptions gfx12{.target = "gfx1201"};
  const Code code("global_load_b32 v1, v[2:3], off\n"  // 0
                  "global_store_b32 v[2:3], v4, off\n" // 1
                  "ds_load_b32 v5, v6\n"               // 2
                  "s_load_b64 s[4:5], s[0:1], 0x0\n"   // 3
                  "s_wait_kmcnt 0x0\n"                 // 4
                  "global_load_b32 v7, v[2:3], off\n"  // 5
                  "s_wait_loadcnt 0x1\n"               // 6
                  "s_wait_storecnt 0x0\n"              // 7
                  "s_wait_loadcnt_dscnt 0x0\n"         // 8
                  "s_endpgm",
                  gfx12);
  EXPECT_EQ(before(code, 4), "load1 km1 store1 ds1: s4 s5 v1 v5");
  EXPECT_EQ(before(code, 5), "load1 store1 ds1: v1 v5");
  EXPECT_EQ(before(code, 7), "load1 store1 ds1: v5 v7");
  EXPECT_EQ(before(code, 8), "load1 ds1: v5 v7");
  EXPECT_EQ(before(code, 9), "");
  const Code pair("global_load_b32 v1, v[2:3], off\n"
                  "global_load_b32 v4, v[2:3], off\n"
                  "ds_load_b32 v5, v6\n"
                  "ds_load_b32 v7, v6\n"
                  "s_wait_loadcnt_dscnt 0x100\n"
                  "s_endpgm",
                  gfx12);
  EXPECT_EQ(before(pair, 5), "load1: v4");
  const Code flat("flat_load_b32 v1, v[2:3]\n"
                  "s_wait_loadcnt 0x0\n"
                  "s_wait_dscnt 0x0\n"
                  "s_endpgm",
                  gfx12);
  EXPECT_EQ(before(flat, 1), "load1 ds1: v1");
  EXPECT_EQ(before(flat, 2), "ds1: v1");
  EXPECT_EQ(before(flat, 3), "");
  const Code image("image_sample v1, [v2, v3], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D\n"
                   "global_load_b32 v4, v[2:3], off\n"
                   "s_wait_loadcnt 0x0\n"
                   "s_wait_idle\n"
                   "s_endpgm",
                   gfx12);
  EXPECT_EQ(before(image, 2), "load1 sample1: v1 v4");
  EXPECT_EQ(before(image, 3), "sample1: v1");
  EXPECT_EQ(before(image, 4), "");
  const Code call("s_call_b64 s[30:31], 0x100\ns_endpgm", gfx12);
  EXPECT_EQ(before(call, 1), "load* km* exp* store* ds* sample* bvh*: any");
}

} // namespace
} // namespace luthier::analysis::test
