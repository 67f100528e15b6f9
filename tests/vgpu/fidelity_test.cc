// What the rows say of their own fidelity, against a list of what cannot be exact, made from the manual.

#include "vgpu/fidelity.h"

#include "isa/opcode_universe.h"
#include "vgpu/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

namespace luthier::vgpu {
namespace {

class FidelityTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    auto result = fidelity(*isa::findTarget("gfx90a"));
    ASSERT_TRUE(result) << result.error().message();
    for (const OpcodeFidelity &opcode : *result)
      EXPECT_TRUE(all_.emplace(opcode.mnemonic, opcode).second) << opcode.mnemonic << " is listed twice";
  }
  static inline std::map<std::string, OpcodeFidelity> all_;
};

TEST_F(FidelityTest, EveryOpcodeHasOne) {
  const auto universe = isa::opcodeUniverse(*isa::findTarget("gfx90a"));
  ASSERT_TRUE(universe);
  EXPECT_EQ(all_.size(), universe->opcodes.size());
  for (const isa::OpcodeEntry &opcode : universe->opcodes)
    EXPECT_TRUE(all_.contains(opcode.mnemonic)) << opcode.mnemonic;
}

TEST_F(FidelityTest, WhatIsNotExactSaysWhy) {
  for (const auto &[mnemonic, opcode] : all_)
    EXPECT_EQ(opcode.reason.empty(), opcode.fidelity == Fidelity::Exact) << mnemonic;
}

// What the manual gives a tolerance for, what depends on time, on the machine or on an order that nobody fixes, and
// what is converted or summed up in a way that it does not give.
TEST_F(FidelityTest, WhatCannotBeExactIsNot) {
  const std::regex documented("v_(rcp|rsq|sqrt|exp|log|sin|cos)_.*|v_rcp_iflag_f32|v_mfma_.*|(ds|flat|global|buffer)_"
                              "(atomic_)?(pk_)?add_(rtn_)?f(16|32|64)|s_dcache_.*|buffer_(wb|inv).*");
  const std::regex chosen("s_memtime|s_memrealtime|s_getreg_b32|v_div_(scale|fmas|fixup)_f(32|64)|v_dot2c?_f32_f16|"
                          "v_cvt_pk_u8_f32|v_ma[dc].*_f32|v_(exp|log)_legacy_f32|tbuffer_.*|ds_gws_sema_release_all");
  unsigned seen = 0;
  for (const auto &[mnemonic, opcode] : all_) {
    const bool isChosen = std::regex_match(mnemonic, chosen);
    if (!isChosen && !std::regex_match(mnemonic, documented))
      continue;
    ++seen;
    EXPECT_EQ(nameOf(opcode.fidelity), isChosen ? "chosen" : "documented") << mnemonic;
  }
  EXPECT_GE(seen, 90u);
}

// Whole numbers, moves and single operations of IEEE 754 have one result.
TEST_F(FidelityTest, WhatIsDefinedIsExact) {
  for (const char *mnemonic :
       {"v_add_f32",      "v_fma_f64",       "v_mul_f16",           "v_pk_fma_f16",    "v_pk_add_f32",
        "v_mad_u64_u32",  "v_cvt_f16_f32",   "v_cvt_i32_f64",       "s_add_u32",       "s_mul_hi_u32",
        "v_readlane_b32", "ds_bpermute_b32", "global_load_dwordx4", "flat_atomic_add", "s_load_dwordx8",
        "v_cmp_lt_f32",   "v_cmp_class_f64", "v_dot4_i32_i8",       "s_barrier",       "s_endpgm"}) {
    ASSERT_TRUE(all_.contains(mnemonic)) << mnemonic;
    EXPECT_EQ(nameOf(all_.at(mnemonic).fidelity), "exact") << mnemonic;
  }
}

TEST_F(FidelityTest, RefusedAreGraphicsAndDebuggers) {
  std::set<std::string> refused, expected = {"s_rfe_b64", "s_rfe_restore_b64", "s_sendmsghalt"};
  for (const auto &[mnemonic, opcode] : all_)
    if (opcode.fidelity == Fidelity::Refused)
      refused.insert(mnemonic);
  for (const GraphicsGroup &group : graphicsGroups())
    expected.insert(group.mnemonics.begin(), group.mnemonics.end());
  EXPECT_THAT(refused, testing::ContainerEq(expected));
}

} // namespace
} // namespace luthier::vgpu
