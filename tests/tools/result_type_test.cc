#include "luthier/result_type.h"

#include "isa/assembler.h"
#include "isa/decode.h"

#include <gtest/gtest.h>

namespace luthier {
namespace {

ResultType typeOf(const char *target, const char *text) {
  const isa::Target &machine = *isa::findTarget(target);
  const auto bytes = isa::assemble(machine, text);
  EXPECT_TRUE(bytes) << text << ": " << bytes.error().message();
  if (!bytes)
    return {};
  const auto decoder = isa::Decoder::create(machine);
  const auto code = (*decoder)->decode(*bytes, 0);
  EXPECT_TRUE(code);
  return code ? resultTypeOf(code->instrs()[0]) : ResultType();
}

struct Case {
  const char *text;
  ResultType type;
};

TEST(ResultType, OfOneInstruction) {
  using enum ResultType::Kind;
  const Case cases[] = {
      {"v_add_f32 v0, v1, v2", {Float, 32}},
      {"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", {Float, 64}},
      {"v_pk_fma_f16 v0, v1, v2, v3", {Float, 16}},
      {"v_cvt_i32_f32 v0, v1", {Signed, 32}},
      {"v_cvt_f32_ubyte0 v0, v1", {Float, 32}},
      {"v_cvt_f16_f32 v0, v1", {Float, 16}},
      {"v_mad_u64_u32 v[0:1], vcc, v2, v3, v[4:5]", {Unsigned, 64}},
      {"v_mul_u32_u24 v0, v1, v2", {Unsigned, 32}},
      {"v_add_co_u32 v0, vcc, v1, v2", {Unsigned, 32}},
      {"v_dot2_f32_f16 v0, v1, v2, v3", {Float, 32}},
      {"v_mfma_f32_16x16x4f32 a[0:3], v0, v1, a[0:3]", {Float, 32}},
      {"v_mfma_f64_4x4x4f64 v[0:1], v[2:3], v[4:5], v[6:7]", {Float, 64}},
      {"v_frexp_exp_i32_f32 v0, v1", {Signed, 32}},
      {"v_sad_u8 v0, v1, v2, v3", {Unsigned, 32}},
      {"v_mov_b32 v0, v1", {Bits, 32}},
      {"v_cndmask_b32 v0, v1, v2, vcc", {Bits, 32}},
      {"v_readfirstlane_b32 s0, v1", {Bits, 32}},
      {"v_cmp_lt_f32 vcc, v0, v1", {Mask, 0}},
      {"v_cmpx_lt_f32 s[2:3], v0, v1", {Mask, 0}},
      {"s_cmp_eq_u32 s0, s1", {Condition, 0}},
      {"s_add_u32 s0, s1, s2", {Unsigned, 32}},
      {"s_and_b64 s[0:1], s[2:3], s[4:5]", {Bits, 64}},
      {"s_bcnt1_i32_b64 s0, s[2:3]", {Signed, 32}},
      {"s_load_dwordx4 s[0:3], s[4:5], 0", {Bits, 32}},
      {"global_load_dword v0, v[2:3], off", {Bits, 32}},
      {"global_load_dwordx4 v[0:3], v[4:5], off", {Bits, 32}},
      {"global_load_ubyte v0, v[2:3], off", {Unsigned, 8}},
      {"global_load_sshort v0, v[2:3], off", {Signed, 16}},
      {"global_load_short_d16 v0, v[2:3], off", {Bits, 16}},
      {"ds_read_b64 v[0:1], v2", {Bits, 32}},
      {"ds_read_u16 v0, v2", {Unsigned, 16}},
      {"ds_add_rtn_u32 v0, v1, v2", {Unsigned, 32}},
      {"ds_add_rtn_f32 v0, v1, v2", {Float, 32}},
      {"global_atomic_add v0, v[2:3], v1, off glc", {Unsigned, 32}},
      {"global_atomic_smax_x2 v[0:1], v[2:3], v[4:5], off glc", {Signed, 64}},
      {"global_atomic_add v[2:3], v1, off", {None, 0}},
      {"global_store_dword v[2:3], v1, off", {None, 0}},
      {"s_waitcnt 0", {None, 0}},
      {"s_swappc_b64 s[30:31], s[4:5]", {None, 0}},
  };
  for (const Case &each : cases) {
    const ResultType found = typeOf("gfx90a", each.text);
    EXPECT_EQ(static_cast<int>(found.kind), static_cast<int>(each.type.kind)) << each.text;
    EXPECT_EQ(found.bits, each.type.bits) << each.text;
  }
  EXPECT_EQ(typeOf("gfx1100", "global_load_b64 v[0:1], v[2:3], off"), (ResultType{Bits, 32}));
  EXPECT_EQ(typeOf("gfx1100", "global_load_u8 v0, v[2:3], off"), (ResultType{Unsigned, 8}));
  EXPECT_EQ(typeOf("gfx942", "v_cvt_pk_fp8_f32 v0, v1, v2"), (ResultType{Bits, 8}));
}

} // namespace
} // namespace luthier
