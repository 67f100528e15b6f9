// Instructions of each workgroup, and which one it is.
#include <luthier/hook.h>

LUTHIER_PER_WORKGROUP uint64_t instructions;
LUTHIER_PER_WORKGROUP uint32_t id[3];
LUTHIER_PER_WAVE uint64_t ofWave;

LUTHIER_HOOK(wave) void count(uint32_t n) { ofWave += n; }
LUTHIER_HOOK(wave) void flush() {
  luthier::atomicAdd(instructions, ofWave);
  for (uint32_t axis = 0; axis < 3; ++axis)
    id[axis] = axis == 0 ? luthier::workgroupId(0) : axis == 1 ? luthier::workgroupId(1) : luthier::workgroupId(2);
}
