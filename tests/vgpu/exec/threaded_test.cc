// Threaded handlers (exec/valu.h, exec/row.h): whatever operands are made of, they must do what the row's own handler
// does. The harness runs every snippet both ways and compares all that is left behind; here are the snippets that bring
// every threaded handler to execution, and the pairs of instructions that one handler executes.

#include "harness.h"
#include "row_text.h"
#include "valu_cases.h"

#include "vgpu/exec/level.h"

namespace luthier::vgpu::test {
namespace {

TEST(Threaded, EveryWayToNameSources) {
  unsigned executed = 0;
  std::string refused;
  for (std::span<const Row> table : execLevel().tables)
    for (const Row &row : table) {
      if (!row.threaded || !row.loop || row.mnemonic.starts_with("v_pk_"))
        continue;
      for (unsigned uniform = 0; uniform < 8; ++uniform) {
        if (!row.threaded[uniform])
          continue;
        const std::string text = instructionText(row, uniform);
        for (const uint64_t exec : {~0ull, 0x00ff00ff12345678ull}) {
          ExecTest t;
          fillRegisters(t);
          t.setS64(4, 0x40490fdb3f000001);
          t.exec(exec);
          const auto result = t.run(text);
          if (!result && std::string(result.message()).find("threaded") == std::string::npos)
            refused += text + "\n"; // no such encoding
          else
            EXPECT_TRUE(result) << text;
          executed += static_cast<bool>(result);
        }
      }
    }
  EXPECT_GT(executed, 2000u) << refused;
}

TEST(Threaded, PackedF32) {
  for (const char *text :
       {"v_pk_fma_f32 v[10:11], v[2:3], v[4:5], v[6:7]", "v_pk_fma_f32 v[10:11], v[2:3], s[4:5], v[6:7]",
        "v_pk_fma_f32 v[10:11], s[4:5], v[2:3], s[4:5]", "v_pk_fma_f32 v[2:3], v[2:3], s[4:5], 1.0",
        "v_pk_add_f32 v[10:11], v[2:3], s[4:5]", "v_pk_mul_f32 v[10:11], s[4:5], v[2:3]",
        "v_pk_mul_f32 v[10:11], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]",
        "v_pk_add_f32 v[2:3], v[2:3], v[4:5] neg_lo:[1,0]"}) {
    for (const uint64_t exec : {~0ull, 0x5ull}) {
      ExecTest t;
      fillRegisters(t);
      t.setS64(4, 0x404900003f000001);
      t.exec(exec);
      EXPECT_TRUE(t.run(text)) << text;
    }
  }
}

// Pairs that one handler executes. What they leave is compared with 64-bit arithmetic.

struct WideOperands {
  uint64_t a, b;
};
WideOperands operandsOf(unsigned lane) {
  const Values values = test::values(kEdgesU32, 40, 0xffffffff);
  auto pick = [&](unsigned n) { return values[n % values.size()]; };
  return {pick(lane) | pick(lane * 3 + 1) << 32, pick(lane * 5 + 2) | pick(lane * 7 + 3) << 32};
}

/// a in v[0:1], b in v[2:3] (or s[8:9], the same for all lanes), the result in v[4:5].
void wide(const std::string &text, bool uniform, uint64_t (*f)(uint64_t, uint64_t), bool (*carry)(uint64_t, uint64_t)) {
  ExecTest t;
  const uint64_t same = 0x80000000fffffff0;
  t.setS64(8, same);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    t.setV64(0, lane, operandsOf(lane).a);
    t.setV64(2, lane, operandsOf(lane).b);
  }
  ASSERT_TRUE(t.run(text)) << text;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    const auto [a, b] = operandsOf(lane);
    EXPECT_EQ(t.v64(4, lane), f(a, uniform ? same : b)) << text << " lane " << lane;
    EXPECT_EQ(t.vcc() >> lane & 1, carry(a, uniform ? same : b)) << text << " lane " << lane;
  }
}
uint64_t sum(uint64_t a, uint64_t b) { return a + b; }
bool carryOf(uint64_t a, uint64_t b) { return a + b < a; }

TEST(Threaded, WideAddition) {
  wide("v_add_co_u32 v4, vcc, v2, v0\nv_addc_co_u32 v5, vcc, v3, v1, vcc", false, sum, carryOf);
  wide("v_mov_b32 v5, s9\nv_add_co_u32 v4, vcc, s8, v0\nv_addc_co_u32 v5, vcc, v5, v1, vcc", true, sum, carryOf);
  wide(
      "v_sub_co_u32 v4, vcc, v0, v2\nv_subb_co_u32 v5, vcc, v1, v3, vcc", false,
      [](uint64_t a, uint64_t b) { return a - b; }, [](uint64_t a, uint64_t b) { return a < b; });
}

TEST(Threaded, SecondOfAPairSeesTheFirst) {
  ExecTest t;
  t.setVector(0, 0xffffffff);
  t.setVector(1, 2);
  ASSERT_TRUE(t.run("v_add_co_u32 v2, vcc, v0, v1\nv_addc_co_u32 v2, vcc, v2, v0, vcc"));
  EXPECT_EQ(t.v(2, 63), 1u + 0xffffffffu + 1u);
}

TEST(Threaded, MasksOfAPairThatIsNone) {
  ExecTest t;
  t.setVector(0, 0xffffffff);
  t.setVector(1, 2);
  // The first mask stays visible: in a register of its own, or as a number that the second one reads.
  ASSERT_TRUE(t.run("v_add_co_u32_e64 v2, s[10:11], v0, v1\nv_addc_co_u32_e64 v3, vcc, v1, v1, s[10:11]"));
  EXPECT_EQ(t.s64(10), ~0ull);
  EXPECT_EQ(t.vcc(), 0u);
  ASSERT_TRUE(t.run("v_add_co_u32 v2, vcc, v0, v1\n.long 0x3806026a"));
  EXPECT_EQ(t.v(3, 0), 0xffffffffu + 2 + 1) << "v_addc_co_u32 v3, vcc, vcc_lo, v1, vcc, which assemblers refuse";
}

TEST(Threaded, JumpToTheSecondOfAPair) {
  ExecTest t;
  t.setVector(0, 0xffffffff);
  t.setVector(1, 1);
  t.setVector(3, 0);
  // Three times: once behind the first, twice by itself, each time with the carry that the last one left.
  ASSERT_TRUE(t.run("s_mov_b32 s20, 0\nv_add_co_u32 v2, vcc, v0, v1\nagain:\nv_addc_co_u32 v3, vcc, v3, v0, vcc\n"
                    "s_add_u32 s20, s20, 1\ns_cmp_lt_u32 s20, 3\ns_cbranch_scc1 again"));
  EXPECT_EQ(t.v(3, 5), 0u); // 0 + ~0 + 1 each time
  EXPECT_EQ(t.vcc(), ~0ull);
}

TEST(Threaded, PartialExec) {
  ExecTest t;
  t.setVector(0, 0xffffffff);
  t.setVector(1, 1);
  t.setVector(2, 7);
  t.setVector(3, 7);
  t.exec(0xf0);
  ASSERT_TRUE(t.run("v_add_co_u32 v2, vcc, v0, v1\nv_addc_co_u32 v3, vcc, v1, v1, vcc"));
  EXPECT_EQ(t.v(2, 4), 0u);
  EXPECT_EQ(t.v(3, 4), 3u);
  EXPECT_EQ(t.v(2, 0), 7u);
  EXPECT_EQ(t.v(3, 0), 7u);
}

} // namespace
} // namespace luthier::vgpu::test
