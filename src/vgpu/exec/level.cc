// Chooses the CPU level.

#include "vgpu/exec/level.h"

#include "support/log.h"
#include "support/variables.h"

namespace luthier::vgpu {

namespace level_base {
const ExecLevel &level();
}
namespace level_base_32 {
const ExecLevel &level();
}
namespace level_avx2 {
const ExecLevel &level();
}
namespace level_avx2_32 {
const ExecLevel &level();
}
namespace level_avx512 {
const ExecLevel &level();
}
namespace level_avx512_32 {
const ExecLevel &level();
}

namespace {

struct Choice {
  std::string_view name;
  bool supported;
  unsigned lanes;
  const ExecLevel &(*level)();
};

const ExecLevel &choose(unsigned lanes) {
  __builtin_cpu_init();
  // Best first.
  const Choice all[] = {
#ifdef LUTHIER_VGPU_HAS_avx512
      {"avx512", __builtin_cpu_supports("x86-64-v4") != 0, 64, level_avx512::level},
#endif
#ifdef LUTHIER_VGPU_HAS_avx512_32
      {"avx512", __builtin_cpu_supports("x86-64-v4") != 0, 32, level_avx512_32::level},
#endif
#ifdef LUTHIER_VGPU_HAS_avx2
      {"avx2", __builtin_cpu_supports("x86-64-v3") != 0, 64, level_avx2::level},
#endif
#ifdef LUTHIER_VGPU_HAS_avx2_32
      {"avx2", __builtin_cpu_supports("x86-64-v3") != 0, 32, level_avx2_32::level},
#endif
      {"base", true, 64, level_base::level},
#ifdef LUTHIER_VGPU_HAS_base_32
      {"base", true, 32, level_base_32::level},
#endif
  };
  const auto wanted = env::text(env::kCpu.name);
  const auto known = env::check(env::kCpu);
  if (!known)
    log::error("{}; the best level that this CPU has is used", known.error().message());
  bool allowed = !known || !wanted; // from here on: what is wanted, or what comes closest below it
  for (const Choice &choice : all) {
    allowed |= wanted && choice.name == *wanted;
    if (!allowed || !choice.supported || choice.lanes != lanes)
      continue;
    if (known && wanted && choice.name != *wanted && lanes == 64)
      log::error("LUTHIER_VGPU_CPU is '{}', which this CPU or this build does not have; '{}' is used", *wanted,
                 choice.name);
    return choice.level();
  }
  if (lanes == 64) { // wanted is a level that was not built
    log::error("LUTHIER_VGPU_CPU is '{}', which this build does not have; 'base' is used", wanted.value_or(""));
    return level_base::level();
  }
  static const ExecLevel kNone{"none", 32, {}, nullptr}; // builds that have nothing for waves of 32 lanes
  return kNone;
}

} // namespace

const ExecLevel &execLevel(unsigned lanes) {
  if (lanes == 32) {
    static const ExecLevel &level = choose(32);
    return level;
  }
  static const ExecLevel &level = choose(64);
  return level;
}

} // namespace luthier::vgpu
