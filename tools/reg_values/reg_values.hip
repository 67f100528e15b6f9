// Prints a register where the kernel is: a line for each active lane, or one for the wave if it is a scalar register.
#include <luthier/hook.h>
#include <luthier/hostcall.h>

LUTHIER_PER_LAUNCH uint64_t lines;

#define WATCH(hook, name, everyLane)                                                                                   \
  LUTHIER_HOOK(lane) void hook(uint64_t limit, uint32_t address, uint32_t number, uint32_t value) {                    \
    if (!(everyLane) && !luthier::isFirstLane())                                                                       \
      return;                                                                                                          \
    if (luthier::atomicAdd(lines, 1) < limit)                                                                          \
      luthier::printf("launch %lu group %u,%u,%u thread %u,%u,%u at 0x%x " name "%u 0x%08x\n",                         \
                      luthier::launchNumber(), luthier::workgroupId(0), luthier::workgroupId(1),                       \
                      luthier::workgroupId(2), luthier::workitemId(0), luthier::workitemId(1), luthier::workitemId(2), \
                      address, number, value);                                                                         \
  }
WATCH(vgpr, "v", true)
WATCH(accVgpr, "a", true)
WATCH(sgpr, "s", false)
// Of which there are two: 0 is the low half.
WATCH(vcc, "vcc", false)
WATCH(exec, "exec", false)
