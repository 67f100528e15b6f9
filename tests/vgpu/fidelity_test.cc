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

class FidelityTest : public testing::TestWithParam<const char *> {
protected:
  using All = std::map<std::string, OpcodeFidelity>;
  /// Found out once per target.
  static const All &of(const char *target) {
    static std::map<std::string, All> known;
    const auto [place, isNew] = known.try_emplace(target);
    if (!isNew)
      return place->second;
    auto result = fidelity(*isa::findTarget(target));
    EXPECT_TRUE(result) << result.error().message();
    for (const OpcodeFidelity &opcode : result ? *result : std::vector<OpcodeFidelity>())
      EXPECT_TRUE(place->second.emplace(opcode.mnemonic, opcode).second) << opcode.mnemonic << " is listed twice";
    return place->second;
  }
  const All &all_ = of(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Targets, FidelityTest, testing::Values("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(FidelityTest, EveryOpcodeHasOne) {
  const auto universe = isa::opcodeUniverse(*isa::findTarget(GetParam()));
  ASSERT_TRUE(universe);
  EXPECT_EQ(all_.size(), universe->opcodes.size());
  for (const isa::OpcodeEntry &opcode : universe->opcodes)
    EXPECT_TRUE(all_.contains(opcode.mnemonic)) << opcode.mnemonic;
}

TEST_P(FidelityTest, WhatIsNotExactSaysWhy) {
  for (const auto &[mnemonic, opcode] : all_)
    EXPECT_EQ(opcode.reason.empty(), opcode.fidelity == Fidelity::Exact) << mnemonic;
}

// What the manual gives a tolerance for, what depends on time, on the machine or on an order that nobody fixes, and
// what is converted or summed up in a way that it does not give.
TEST_P(FidelityTest, WhatCannotBeExactIsNot) {
  const std::regex documented(
      "v_(rcp|rsq|sqrt|exp|log|sin|cos)_.*|v_rcp_iflag_f32|v_mfma_.*|v_smfmac_i32_.*|(ds|flat|global|buffer)_"
      "(atomic_)?(pk_)?add_(rtn_)?f(16|32|64)|s_dcache_.*|buffer_(wb|inv).*");
  const std::regex chosen(
      "s_memtime|s_memrealtime|s_getreg_b32|v_div_(scale|fmas|fixup)_f(32|64)|v_dot2c?_f32_f16|"
      "v_cvt_pk_u8_f32|v_ma[dc].*_f32|v_mad_mix.*|v_(exp|log)_legacy_f32|tbuffer_.*|ds_gws_sema_release_all|"
      "v_smfmac_f32_.*|ds_.*_src2_.*");
  unsigned seen = 0;
  for (const auto &[mnemonic, opcode] : all_) {
    const bool isChosen = std::regex_match(mnemonic, chosen);
    if (!isChosen && !std::regex_match(mnemonic, documented))
      continue;
    ++seen;
    EXPECT_EQ(nameOf(opcode.fidelity), isChosen ? "chosen" : "documented") << mnemonic;
  }
  EXPECT_GE(seen, 80u);
}

// Whole numbers, moves and single operations of IEEE 754 have one result.
TEST_P(FidelityTest, WhatIsDefinedIsExact) {
  for (const char *mnemonic :
       {"v_add_f32",      "v_fma_f64",       "v_mul_f16",           "v_pk_fma_f16",    "v_pk_add_f32",
        "v_mad_u64_u32",  "v_cvt_f16_f32",   "v_cvt_i32_f64",       "s_add_u32",       "s_mul_hi_u32",
        "v_readlane_b32", "ds_bpermute_b32", "global_load_dwordx4", "flat_atomic_add", "s_load_dwordx8",
        "v_cmp_lt_f32",   "v_cmp_class_f64", "v_dot4_i32_i8",       "s_barrier",       "s_endpgm",
        "v_mov_b64",      "v_lshl_add_u64"}) {
    const auto found = all_.find(mnemonic); // not all targets have all of them
    EXPECT_TRUE(found != all_.end() || std::string_view(mnemonic).starts_with("v_")) << mnemonic;
    if (found != all_.end())
      EXPECT_EQ(nameOf(found->second.fidelity), "exact") << mnemonic;
  }
}

TEST_P(FidelityTest, RefusedAreGraphicsAndDebuggers) {
  std::set<std::string> refused, expected = {"s_rfe_b64", "s_rfe_restore_b64", "s_sendmsghalt"};
  for (const auto &[mnemonic, opcode] : all_)
    if (opcode.fidelity == Fidelity::Refused)
      refused.insert(mnemonic);
  for (const GraphicsGroup &group : graphicsGroups())
    for (const std::string_view mnemonic : group.mnemonics)
      if (all_.contains(std::string(mnemonic)))
        expected.emplace(mnemonic);
  EXPECT_THAT(refused, testing::ContainerEq(expected));
}

} // namespace
} // namespace luthier::vgpu
