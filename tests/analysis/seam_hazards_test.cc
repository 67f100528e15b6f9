#include "analysis/seam_hazards.h"

#include "code.h"

#include <fmt/format.h>

namespace luthier::analysis::test {
namespace {

std::string text(Cures cures) {
  std::string list;
  for (const auto &[cure, name] :
       {std::pair(Cure::Drain, "drain"), std::pair(Cure::ScalarMove, "move"), std::pair(Cure::WaitStores, "stores"),
        std::pair(Cure::ForgetReads, "forget"), std::pair(Cure::VectorMove, "vector")})
    if (has(cures, cure))
      list += fmt::format("{}{}", list.empty() ? "" : " ", name);
  return list;
}

/// Cures before and behind inserted code, "drain / stores"; `guest` is what comes next, and all that there is.
std::string cures(std::string_view target, unsigned waveSize, std::string_view inserted,
                  std::string_view guest = "s_endpgm") {
  const Code code(inserted, {.target = target, .waveSize = waveSize});
  const Code kernel(guest, {.target = target, .waveSize = waveSize});
  std::vector<const Instr *> list;
  for (size_t n = 0; n < code.size(); ++n)
    list.push_back(&code[n]);
  const std::span<const Instr> next(&kernel[0], kernel.size());
  const SeamCures found = seamCures(code.target(), waveSize, list, scalarsReadByVectors(next), next);
  return text(found.before) + " / " + text(found.behind);
}

constexpr const char *kCounter = "s_add_u32 s10, s10, s0\ns_addc_u32 s11, s11, 0";
constexpr const char *kVector = "v_mov_b32 v0, s10";

TEST(SeamHazards, NoneWhereHardwareHasNone) {
  for (const char *target : {"gfx908", "gfx90a", "gfx942"})
    EXPECT_EQ(cures(target, 64, kVector), " / ");
  EXPECT_EQ(cures("gfx1030", 32, kVector), " / ");
  EXPECT_EQ(cures("gfx1030", 64, kCounter), " / ");
}

TEST(SeamHazards, Gfx1010) {
  EXPECT_EQ(cures("gfx1010", 32, kCounter), "drain / drain");
  EXPECT_EQ(cures("gfx1010", 32, "v_readfirstlane_b32 s0, v1"), "move / drain");
  EXPECT_EQ(cures("gfx1010", 32, "global_load_dword v0, v1, s[2:3]"), "stores / drain stores");
  EXPECT_EQ(cures("gfx1010", 32, "s_load_dword s4, s[2:3], 0x0"), "drain / drain move");
}

/// What counts in registers costs nothing in waves of 32 lanes.
TEST(SeamHazards, Gfx11) {
  EXPECT_EQ(cures("gfx1100", 32, kCounter), " / ");
  EXPECT_EQ(cures("gfx1100", 64, kCounter), "drain / ");
  EXPECT_EQ(cures("gfx1100", 32, kVector), "drain / drain");
  EXPECT_EQ(cures("gfx1151", 32, kVector), " / ");
  EXPECT_EQ(cures("gfx1151", 64, kVector), "drain / drain");
}

TEST(SeamHazards, Gfx12ForgetsReads) {
  EXPECT_EQ(cures("gfx1201", 32, kCounter, "v_mov_b32 v0, s4\ns_endpgm"), " / drain");
  EXPECT_EQ(cures("gfx1201", 32, kCounter, "v_mov_b32 v0, s11\ns_endpgm"), "forget / drain");
  EXPECT_EQ(cures("gfx1201", 32, kVector), " / forget");
}

TEST(SeamHazards, PermlaneBehindCmpx) {
  constexpr const char *kCmpx = "v_cmpx_eq_u32 v0, v1";
  constexpr const char *kPermlane = "s_nop 0\nv_permlane16_b32 v5, v6, s0, s1\ns_endpgm";
  EXPECT_EQ(cures("gfx1100", 32, kCmpx, kPermlane), "drain / drain vector");
  EXPECT_EQ(cures("gfx1100", 32, kCmpx, "v_mov_b32 v0, v1\nv_permlane16_b32 v5, v6, s0, s1\ns_endpgm"),
            "drain / drain");
  EXPECT_EQ(cures("gfx1030", 32, kCmpx, kPermlane), " / ");
}

} // namespace
} // namespace luthier::analysis::test
