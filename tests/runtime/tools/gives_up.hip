// "LLVM ERROR: Cannot select" where there is no such instruction.
#include <luthier/hook.h>

LUTHIER_DEVICE uint32_t last;

__attribute__((target("gfx10-insts"))) LUTHIER_HOOK(lane) void onlyGfx10(uint32_t n) {
  last = __builtin_amdgcn_permlane16(n, n, 0, 0, false, false);
}
