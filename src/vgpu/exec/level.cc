// Chooses the CPU level at start.

#include "vgpu/exec/level.h"

#include "support/log.h"
#include "support/variables.h"

namespace luthier::vgpu {

namespace level_base {
const ExecLevel &level();
}
namespace level_avx2 {
const ExecLevel &level();
}
namespace level_avx512 {
const ExecLevel &level();
}

namespace {

struct Choice {
  std::string_view name;
  bool supported;
  const ExecLevel &(*level)();
};

const ExecLevel &choose() {
  __builtin_cpu_init();
  // Best first.
  const Choice choices[] = {
#ifdef LUTHIER_VGPU_HAS_avx512
      {"avx512", __builtin_cpu_supports("x86-64-v4") != 0, level_avx512::level},
#endif
#ifdef LUTHIER_VGPU_HAS_avx2
      {"avx2", __builtin_cpu_supports("x86-64-v3") != 0, level_avx2::level},
#endif
      {"base", true, level_base::level},
  };
  const auto wanted = env::text(env::kCpu.name);
  if (const auto known = env::check(env::kCpu); !known)
    log::error("{}; the best level that this CPU has is used", known.error().message());
  else if (wanted) {
    for (const Choice &choice : choices)
      if (choice.name == *wanted && choice.supported)
        return choice.level();
    log::error("LUTHIER_VGPU_CPU is '{}', which this CPU or this build does not have; the best level that it has is "
               "used",
               *wanted);
  }
  for (const Choice &choice : choices)
    if (choice.supported)
      return choice.level();
  return level_base::level();
}

} // namespace

const ExecLevel &execLevel() {
  static const ExecLevel &level = choose();
  return level;
}

} // namespace luthier::vgpu
