#include "vgpu/wave/waits.h"

#include "waits_machine.h"

#include <sstream>

namespace luthier::vgpu::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void expectClean(std::string_view code) { WaitsMachine().expectClean(code); }

/// The instruction that is stopped, the one in flight, and the register.
void expectEarly(std::string_view code, const char *instruction, const char *inFlight, const char *reg) {
  WaitsMachine m;
  m.expectEarly(code, inFlight, reg);
  EXPECT_THAT(m.t.fault().text,
              AllOf(HasSubstr(std::string("instruction ") + instruction), HasSubstr("kernel      snippet")))
      << code;
}

TEST(Waits, ValuesLandWithTheWait) {
  WaitsMachine m;
  ASSERT_TRUE(m.t.run("global_load_dword v0, v[10:11], off\n"
                      "ds_read_b32 v1, v12\n"
                      "s_load_dword s0, s[40:41], 0x8\n"
                      "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
                      "v_add_u32 v2, v0, v1\n"
                      "s_add_u32 s1, s0, s0\n"));
  EXPECT_EQ(m.t.v(2, 5), 105u + 505u);
  EXPECT_EQ(m.t.s(1), 204u);
}

TEST(Waits, WithoutAWaitTheyDoNot) {
  WaitsMachine m;
  ASSERT_TRUE(m.t.run("global_load_dword v0, v[10:11], off\n s_load_dword s0, s[40:41], 0x8"));
  EXPECT_EQ(m.t.v(0, 5), kPoison);
  EXPECT_EQ(m.t.s(0), kPoison);
}

TEST(Waits, ReadingAndOverwritingTooEarly) {
  expectEarly("global_load_dwordx2 v[0:1], v[10:11], off\n v_mov_b32 v2, v1", "v_mov_b32_e32 v2, v1",
              "global_load_dwordx2 v[0:1]", "v1");
  expectEarly("global_load_dword v0, v[10:11], off\n v_mov_b32 v0, 0", "v_mov_b32_e32 v0, 0", "global_load_dword v0",
              "v0");
  expectEarly("ds_read_b32 v0, v12\n v_mov_b32 v2, v0", "v_mov_b32_e32 v2, v0", "ds_read_b32 v0, v12", "v0");
  expectEarly("s_load_dwordx4 s[0:3], s[40:41], 0x0\n s_mov_b32 s8, s3", "s_mov_b32 s8, s3", "s_load_dwordx4", "s3");
  expectEarly("s_load_dwordx4 s[0:3], s[40:41], 0x0\n s_mov_b32 s3, 0", "s_mov_b32 s3, 0", "s_load_dwordx4", "s3");
  expectEarly("s_load_dwordx2 vcc, s[40:41], 0x0\n v_cndmask_b32 v0, v1, v2, vcc", "v_cndmask_b32_e32",
              "s_load_dwordx2 vcc", "vcc_lo");
  expectEarly("global_load_dword a0, v[10:11], off\n v_accvgpr_read_b32 v2, a0", "v_accvgpr_read_b32",
              "global_load_dword a0", "a0");
  expectEarly("global_atomic_add v0, v[10:11], v1, off glc\n v_mov_b32 v2, v0", "v_mov_b32", "global_atomic_add v0",
              "v0");
  expectEarly("global_load_dword v0, v[10:11], off\n global_store_dword v[10:11], v0, off", "global_store_dword",
              "global_load_dword v0", "v0");
  expectEarly("global_load_dword v0, v[10:11], off\n v_readlane_b32 s0, v0, 5", "v_readlane_b32", "global_load_dword",
              "v0");
  expectEarly("global_load_short_d16 v0, v[10:11], off\n global_load_short_d16_hi v0, v[10:11], off",
              "global_load_short_d16_hi", "global_load_short_d16 v0", "v0");
  expectEarly("s_memtime s[0:1]\n s_mov_b32 s4, s0", "s_mov_b32 s4, s0", "s_memtime", "s0");
}

TEST(Waits, VectorMemoryReturnsInOrder) {
  const std::string two = "global_load_dword v0, v[10:11], off\n global_load_dword v1, v[10:11], off\n";
  expectClean(two + "s_waitcnt vmcnt(1)\n v_mov_b32 v2, v0");
  expectEarly(two + "s_waitcnt vmcnt(1)\n v_mov_b32 v2, v1", "v_mov_b32_e32 v2, v1", "global_load_dword v1", "v1");
  expectEarly(two + "s_waitcnt vmcnt(2)\n v_mov_b32 v2, v0", "v_mov_b32_e32 v2, v0", "global_load_dword v0", "v0");
  // Stores count too.
  const std::string store = "global_load_dword v0, v[10:11], off\n global_store_dword v[10:11], v1, off\n";
  expectClean(store + "s_waitcnt vmcnt(1)\n v_mov_b32 v2, v0");
  expectEarly(store + "s_waitcnt vmcnt(2)\n v_mov_b32 v2, v0", "v_mov_b32", "global_load_dword v0", "v0");
  expectClean("global_store_dword v[10:11], v1, off\n v_mov_b32 v1, 0"); // the store has read its data
  expectClean("global_load_dword v0, v[10:11], off\n global_load_dword v0, v[10:11], off\n s_waitcnt vmcnt(0)");
  // 63 is the counter's largest value, in two pieces.
  std::ostringstream many;
  for (unsigned n = 0; n < 21; ++n)
    many << "global_load_dword v" << 20 + n << ", v[10:11], off\n";
  expectClean(many.str() + "s_waitcnt vmcnt(20)\n v_mov_b32 v2, v20");
  expectEarly(many.str() + "s_waitcnt vmcnt(20)\n v_mov_b32 v2, v21", "v_mov_b32_e32 v2, v21", "global_load_dword v21",
              "v21");
}

// More operations than the counters can tell apart: stores are forgotten, what returns is not.
TEST(Waits, BehindManyStores) {
  std::ostringstream stores;
  for (unsigned n = 0; n < 200; ++n)
    stores << "global_store_dword v[10:11], v1, off\n";
  const std::string load = "global_load_dword v0, v[10:11], off\n", use = "v_mov_b32 v2, v0";
  expectEarly(stores.str() + load + use, "v_mov_b32_e32 v2, v0", "global_load_dword v0", "v0");
  WaitsMachine m;
  m.expectStopped(load + stores.str() + use, "global_load_dword v0", "v0");
  EXPECT_TRUE(m.check(load + stores.str() + use).empty()) << "the counter cannot hold so many: the load is done";
  expectClean(stores.str() + load + "s_waitcnt vmcnt(0)\n" + use);
  expectClean(load + stores.str() + "s_waitcnt vmcnt(62)\n" + use);
  // A FLAT store leaves only 0 to wait for, however old it is.
  const std::string flat = "flat_store_dword v[10:11], v1\n";
  expectEarly(flat + load + stores.str() + "s_waitcnt vmcnt(62)\n" + use, "v_mov_b32_e32 v2, v0",
              "global_load_dword v0", "v0");
}

TEST(Waits, LdsInOrderScalarNot) {
  const std::string lds = "ds_read_b32 v0, v12\n ds_read_b32 v1, v12\n";
  expectClean(lds + "s_waitcnt lgkmcnt(1)\n v_mov_b32 v2, v0");
  expectEarly(lds + "s_waitcnt lgkmcnt(1)\n v_mov_b32 v2, v1", "v_mov_b32_e32 v2, v1", "ds_read_b32 v1", "v1");
  const std::string scalar = "s_load_dword s0, s[40:41], 0x0\n s_load_dword s1, s[40:41], 0x4\n";
  expectEarly(scalar + "s_waitcnt lgkmcnt(1)\n s_mov_b32 s4, s0", "s_mov_b32 s4, s0", "s_load_dword s0", "s0");
  expectClean(scalar + "s_waitcnt lgkmcnt(0)\n s_mov_b32 s4, s0");
  expectEarly("ds_read_b32 v0, v12\n s_load_dword s0, s[40:41], 0x0\n s_waitcnt lgkmcnt(1)\n v_mov_b32 v2, v0",
              "v_mov_b32", "ds_read_b32 v0", "v0");
  // The wrong counter.
  expectEarly(lds + "s_waitcnt vmcnt(0)\n v_mov_b32 v2, v0", "v_mov_b32", "ds_read_b32 v0", "v0");
}

TEST(Waits, FlatCountsInBoth) {
  const std::string global = "flat_load_dword v0, v[10:11]\n", lds = "flat_load_dword v0, v[14:15]\n";
  expectClean(global + "s_waitcnt vmcnt(0) lgkmcnt(0)\n v_mov_b32 v2, v0");
  expectClean(lds + "s_waitcnt vmcnt(0) lgkmcnt(0)\n v_mov_b32 v2, v0");
  expectEarly(global + "s_waitcnt lgkmcnt(0)\n v_mov_b32 v2, v0", "v_mov_b32", "flat_load_dword", "v0");
  expectEarly(lds + "s_waitcnt vmcnt(0)\n v_mov_b32 v2, v0", "v_mov_b32", "flat_load_dword", "v0");
  // With a FLAT operation in flight, no other count than 0 says which one has come back.
  expectEarly("global_load_dword v1, v[10:11], off\n" + global + "s_waitcnt vmcnt(1)\n v_mov_b32 v2, v1", "v_mov_b32",
              "global_load_dword v1", "v1");
}

TEST(Waits, OnlyTheLanesThatWereLoaded) {
  expectClean("s_mov_b64 exec, 1\n global_load_dword v0, v[10:11], off\n s_mov_b64 exec, 2\n v_mov_b32 v0, 7\n"
              "s_mov_b64 exec, 3\n s_waitcnt vmcnt(0)\n v_mov_b32 v1, v0");
  expectEarly("s_mov_b64 exec, 1\n global_load_dword v0, v[10:11], off\n s_mov_b64 exec, 3\n v_mov_b32 v0, 7",
              "v_mov_b32_e32 v0, 7", "global_load_dword v0", "v0");
  WaitsMachine m;
  ASSERT_TRUE(m.t.run("s_mov_b64 exec, 1\n global_load_dword v0, v[10:11], off\n s_mov_b64 exec, 2\n v_mov_b32 v0, 7\n"
                      "s_waitcnt vmcnt(0)"));
  EXPECT_EQ(m.t.v(0, 0), 100u);
  EXPECT_EQ(m.t.v(0, 1), 7u);
}

TEST(Waits, PcIsTheEarlyInstructions) {
  WaitsMachine m;
  EXPECT_FALSE(m.t.run("global_load_dword v0, v[10:11], off\n s_nop 0\n v_mov_b32 v1, v0"));
  EXPECT_EQ(m.t.fault().address, m.t.codeAddress() + 12);
}

} // namespace
} // namespace luthier::vgpu::test
