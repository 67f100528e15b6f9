// The targets and wave sizes that tests of RDNA's memory instructions run on, and what their assembly spells otherwise.
// LLVM takes the older mnemonics (global_load_dword) on all of them.
#pragma once

#include "memory_cases.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace luthier::vgpu::test {

struct RdnaMachine {
  const char *target;
  unsigned lanes;
  int generation;
  int mostOffset; ///< of GLOBAL and SCRATCH; the least is - this - 1

  /// Behind an atomic that returns the old value.
  std::string returning() const { return generation == 12 ? " th:TH_ATOMIC_RETURN" : " glc"; }
  /// No scalar offset of a buffer instruction: gfx12 takes no constants.
  std::string noOffset() const { return generation == 12 ? "null" : "0"; }
  uint64_t all() const { return lanes == 64 ? ~0ull : 0xffffffffull; }
};

inline constexpr RdnaMachine kRdnaMachines[] = {
    {"gfx1030", 32, 10, 2047}, {"gfx1030", 64, 10, 2047},    {"gfx1100", 32, 11, 4095},
    {"gfx1100", 64, 11, 4095}, {"gfx1201", 32, 12, 8388607}, {"gfx1201", 64, 12, 8388607},
};

inline std::string nameOf(const RdnaMachine &m) { return fmt::format("{} wave{}", m.target, m.lanes); }

/// EXEC masks for both sizes of waves.
inline constexpr uint64_t kSomeExecs[] = {~0ull, 0xaaaaaaaaaaaaaaaa, 0x80000000'80000000, 0x01234567'89abcdef, 0};

/// What a load leaves in register r that held `old`: D16 loads keep the other half, as no RDNA has SRAM-ECC.
inline uint32_t rdnaLoadedRegister(const LoadCase &c, const uint8_t *bytes, unsigned r, uint32_t old) {
  const std::string_view name = c.name;
  const uint32_t value = loadedRegister(c, bytes, r);
  if (name.ends_with("_d16_hi"))
    return (value & 0xffff0000) | (old & 0xffff);
  return name.ends_with("_d16") ? (value & 0xffff) | (old & 0xffff0000) : value;
}

} // namespace luthier::vgpu::test
