// Chooses the CPU level at start.

#include "vgpu/exec/level.h"

#include "support/env.h"
#include "support/log.h"

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

static const ExecLevel &choose() {
  __builtin_cpu_init();
  size_t best = 0;
  if (__builtin_cpu_supports("x86-64-v4"))
    best = 2;
  else if (__builtin_cpu_supports("x86-64-v3"))
    best = 1;
  auto wanted = env::choice("LUTHIER_VGPU_CPU", {"base", "avx2", "avx512"}, best);
  if (!wanted)
    log::error("{}", wanted.error().message());
  else if (*wanted > best)
    log::warn("LUTHIER_VGPU_CPU asks for more than this CPU has; ignored");
  else
    best = *wanted;
  switch (best) {
  case 2:
    return level_avx512::level();
  case 1:
    return level_avx2::level();
  default:
    return level_base::level();
  }
}

const ExecLevel &execLevel() {
  static const ExecLevel &level = choose();
  return level;
}

} // namespace luthier::vgpu
