// Strict waits by the counters of RDNA 1 to 4 (vgpu/wave/counters.h).

#include "vgpu/wave/waits.h"

#include "waits_machine.h"

#include <fmt/format.h>

namespace luthier::vgpu::test {
namespace {

enum Generation { kRdna2 = 10, kRdna3 = 11, kRdna4 = 12 };

const char *targetOf(Generation generation) {
  return generation == kRdna2 ? "gfx1030" : generation == kRdna3 ? "gfx1100" : "gfx1201";
}

class RdnaWaits : public testing::TestWithParam<std::tuple<Generation, unsigned>> {
protected:
  Generation generation() const { return std::get<0>(GetParam()); }
  unsigned lanes() const { return std::get<1>(GetParam()); }

  /// Waits in the words of the generation: at most so many left of loads, stores, LDS, scalar memory.
  std::string loads(unsigned left) const {
    return generation() == kRdna4 ? fmt::format("s_wait_loadcnt {}\n", left)
                                  : fmt::format("s_waitcnt vmcnt({})\n", left);
  }
  std::string stores(unsigned left) const {
    return generation() == kRdna4 ? fmt::format("s_wait_storecnt {}\n", left)
                                  : fmt::format("s_waitcnt_vscnt null, {}\n", left);
  }
  std::string lds(unsigned left) const {
    return generation() == kRdna4 ? fmt::format("s_wait_dscnt {}\n", left)
                                  : fmt::format("s_waitcnt lgkmcnt({})\n", left);
  }
  std::string scalars(unsigned left) const {
    return generation() == kRdna4 ? fmt::format("s_wait_kmcnt {}\n", left)
                                  : fmt::format("s_waitcnt lgkmcnt({})\n", left);
  }

  void expectClean(const std::string &code) const { machine().expectClean(code); }
  void expectEarly(const std::string &code, const char *inFlight, const char *reg) const {
    machine().expectEarly(code, inFlight, reg);
  }
  WaitsMachine machine() const { return WaitsMachine(targetOf(generation()), lanes()); }
};

INSTANTIATE_TEST_SUITE_P(Targets, RdnaWaits,
                         testing::Combine(testing::Values(kRdna2, kRdna3, kRdna4), testing::Values(32u, 64u)),
                         [](const auto &info) {
                           return fmt::format("Rdna{}Wave{}", std::get<0>(info.param) - 8, std::get<1>(info.param));
                         });

TEST_P(RdnaWaits, ValuesLandWithTheWait) {
  WaitsMachine m = machine();
  ASSERT_TRUE(m.t.run("global_load_dword v0, v[10:11], off\n"
                      "ds_read_b32 v1, v12\n"
                      "s_load_dword s0, s[40:41], 0x8\n" +
                      loads(0) + lds(0) + scalars(0) +
                      "v_add_nc_u32 v2, v0, v1\n"
                      "s_add_u32 s1, s0, s0\n"));
  EXPECT_EQ(m.t.v(2, 5), 105u + 505u);
  EXPECT_EQ(m.t.s(1), 204u);
}

TEST_P(RdnaWaits, EachWaitCoversItsOwn) {
  const std::string all =
      "global_load_dword v0, v[10:11], off\n ds_read_b32 v1, v12\n s_load_dword s0, s[40:41], 0x8\n";
  expectEarly(all + lds(0) + scalars(0) + "v_mov_b32 v2, v0", "global_load_", "v0");
  expectEarly(all + loads(0) + stores(0) + "v_mov_b32 v2, v1", "ds_", "v1");
  expectEarly(all + loads(0) + stores(0) + "s_mov_b32 s1, s0", "s_load_", "s0");
  if (generation() == kRdna4) { // LDS and scalar memory have one counter before
    expectEarly(all + lds(0) + "s_mov_b32 s1, s0", "s_load_", "s0");
    expectEarly(all + scalars(0) + "v_mov_b32 v2, v1", "ds_", "v1");
    expectClean(all + "s_wait_loadcnt_dscnt 0x0\nv_add_nc_u32 v2, v0, v1");
    expectEarly(all + "s_wait_storecnt_dscnt 0x0\nv_add_nc_u32 v2, v0, v1", "global_load_", "v0");
  }
}

TEST_P(RdnaWaits, StoresHaveACounterOfTheirOwn) {
  const std::string load = "global_load_dword v0, v[10:11], off\n", store = "global_store_dword v[10:11], v1, off\n";
  const std::string use = "v_mov_b32 v2, v0";
  // The store does not count: one load is left, and it is this one.
  expectEarly(load + store + loads(1) + use, "global_load_", "v0");
  expectClean(load + store + loads(0) + use);
  expectEarly(load + store + stores(0) + use, "global_load_", "v0");
  const std::string atomic = "global_atomic_add v[10:11], v1, off\n"; // returns nothing: a store
  expectEarly(load + atomic + loads(1) + use, "global_load_", "v0");
}

TEST_P(RdnaWaits, LoadsAreDoneInOrder) {
  const std::string two = "global_load_dword v0, v[10:11], off\n global_load_dword v1, v[10:11], off\n";
  expectClean(two + loads(1) + "v_mov_b32 v2, v0");
  expectEarly(two + loads(1) + "v_mov_b32 v2, v1", "global_load_", "v1");
  const std::string reads = "ds_read_b32 v0, v12\n ds_read_b32 v1, v12\n";
  expectClean(reads + lds(1) + "v_mov_b32 v2, v0");
  expectEarly(reads + lds(1) + "v_mov_b32 v2, v1", "ds_", "v1");
  // 63 is the most that a counter can say, and its field holds more than gfx9's.
  std::string many;
  for (unsigned n = 0; n < 40; ++n)
    many += fmt::format("ds_read_b32 v{}, v12\n", 20 + n);
  expectClean(many + lds(39) + "v_mov_b32 v2, v20");
  expectEarly(many + lds(39) + "v_mov_b32 v2, v21", "ds_", "v21");
}

TEST_P(RdnaWaits, ScalarMemoryIsDoneInAnyOrder) {
  const std::string two = "s_load_dword s0, s[40:41], 0x0\n s_load_dword s1, s[40:41], 0x4\n";
  expectEarly(two + scalars(1) + "s_mov_b32 s2, s0", "s_load_", "s0");
  expectClean(two + scalars(0) + "s_mov_b32 s2, s0");
  // It spoils the order of LDS where both share a counter.
  const std::string mixed = "ds_read_b32 v0, v12\n s_load_dword s0, s[40:41], 0x0\n";
  if (generation() == kRdna4)
    expectClean("ds_read_b32 v0, v12\n ds_read_b32 v1, v12\n s_load_dword s0, s[40:41], 0x0\n" + lds(1) +
                "v_mov_b32 v2, v0");
  else
    expectEarly(mixed + lds(1) + "v_mov_b32 v2, v0", "ds_", "v0");
}

TEST_P(RdnaWaits, FlatCountsTwice) {
  const std::string toLds = "flat_load_dword v0, v[14:15]\n", toMemory = "flat_load_dword v0, v[10:11]\n";
  expectEarly(toLds + loads(0) + "v_mov_b32 v2, v0", "flat_load_", "v0");
  expectClean(toLds + lds(0) + "v_mov_b32 v2, v0");
  expectEarly(toMemory + lds(0) + "v_mov_b32 v2, v0", "flat_load_", "v0");
  expectClean(toMemory + loads(0) + "v_mov_b32 v2, v0");
  // Each half is in order with its kind.
  expectClean(toMemory + "global_load_dword v1, v[10:11], off\n" + loads(1) + "v_mov_b32 v2, v0");
  expectClean(toLds + "ds_read_b32 v1, v12\n" + lds(1) + "v_mov_b32 v2, v0");
}

TEST_P(RdnaWaits, OverwritingWhatIsOnItsWay) {
  const std::string two = "global_load_dword v0, v[10:11], off\n global_load_dword v0, v[10:11], off\n" + loads(0);
  if (generation() == kRdna4)
    expectEarly(two, "global_load_", "v0"); // results need not be written in order
  else
    expectClean(two);
  expectClean("ds_read_b32 v0, v12\n ds_read_b32 v0, v12\n" + lds(0));
  expectEarly("global_load_dword v0, v[10:11], off\n v_mov_b32 v0, 0", "global_load_", "v0");
  expectEarly("global_load_dword v0, v[10:11], off\n ds_read_b32 v0, v12", "global_load_", "v0");
}

TEST_P(RdnaWaits, VccOfSmallWavesIsOneRegister) {
  const std::string load = "s_load_dword vcc_hi, s[40:41], 0x0\n";
  const std::string use = lanes() == 32 ? "v_cndmask_b32 v0, v1, v2, vcc_lo" : "v_cndmask_b32 v0, v1, v2, vcc";
  if (lanes() == 32)
    expectClean(load + use);
  else
    expectEarly(load + use, "s_load_", "vcc_hi");
}

TEST_P(RdnaWaits, ACountInARegister) {
  if (generation() == kRdna4)
    return; // has none of these
  expectClean("ds_read_b32 v0, v12\n s_waitcnt_lgkmcnt null, 0\n v_mov_b32 v2, v0");
  if (generation() == kRdna3)
    return; // the assembler wants the null register there
  const std::string two =
      "s_mov_b32 s8, 1\nglobal_load_dword v0, v[10:11], off\n global_load_dword v1, v[10:11], off\n";
  expectClean(two + "s_waitcnt_vmcnt s8, 0\n v_mov_b32 v2, v0");
  expectEarly(two + "s_waitcnt_vmcnt s8, 0\n v_mov_b32 v2, v1", "global_load_", "v1");
  expectEarly(two + "s_waitcnt_vmcnt s8, 1\n v_mov_b32 v2, v0", "global_load_", "v0");
}

TEST_P(RdnaWaits, DirectLoadsAreExports) {
  if (generation() == kRdna2)
    return; // has them as sources
  const std::string load =
      generation() == kRdna4 ? "ds_direct_load v0 wait_va_vdst:0 wait_vm_vsrc:1\n" : "lds_direct_load v0 wait_vdst:0\n";
  const std::string start = "s_mov_b32 m0, 0x20000\n", use = "v_mov_b32 v2, v0";
  const char *inFlight = generation() == kRdna4 ? "ds_direct_load" : "lds_direct_load";
  expectEarly(start + load + lds(0) + loads(0) + use, inFlight, "v0");
  expectClean(start + load + (generation() == kRdna4 ? "s_wait_expcnt 0\n" : "s_waitcnt expcnt(0)\n") + use);
}

TEST_P(RdnaWaits, CacheControl) {
  const std::string load = "global_load_dword v0, v[10:11], off\n", use = "v_mov_b32 v2, v0";
  if (generation() != kRdna4) {
    expectEarly(load + "buffer_gl0_inv\n" + loads(1) + use, "global_load_", "v0"); // nobody counts it
    return;
  }
  expectClean(load + "global_inv scope:SCOPE_DEV\n" + loads(1) + use); // as a load
  expectEarly(load + "global_wb scope:SCOPE_DEV\n" + loads(1) + use, "global_load_", "v0");
}

} // namespace
} // namespace luthier::vgpu::test
