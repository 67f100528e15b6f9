// Hooks that a module may have and that cannot be compiled, each for a reason of its own.

#include <luthier/hook.h>

LUTHIER_PER_WAVE uint32_t seen;
LUTHIER_DEVICE uint32_t memory[1024];

LUTHIER_HOOK(lane) uint32_t stack(uint32_t n) {
  volatile uint32_t local[64];
  for (uint32_t i = 0; i < 64; ++i)
    local[i] = i * n;
  return local[n & 63];
}
LUTHIER_HOOK(lane) void trap() { __builtin_trap(); }
LUTHIER_HOOK(lane) void otherTrap() { __asm__ volatile("s_trap 3"); }
LUTHIER_HOOK(lane) void writesPerWave() { seen += 1; }
LUTHIER_HOOK(lane) void writesScalar() { luthier::writeSgpr<3>(1); }
LUTHIER_HOOK(wave) void writesVector() { luthier::writeVgpr<3>(1); }
LUTHIER_HOOK(wave) uint32_t readsVector() { return luthier::readVgpr<3>(); }
LUTHIER_HOOK(wave) uint32_t asksWorkitem() { return luthier::workitemId(1); }
LUTHIER_HOOK(wave) uint32_t variableRegister(uint32_t n) { return __luthier_read_reg(n); }
LUTHIER_HOOK(wave) uint32_t noRegister() { return luthier::readReg<140>(); }
LUTHIER_HOOK(wave) void writesExec() { luthier::writeReg<luthier::reg::execLo>(0); }
LUTHIER_HOOK(wave) void takesWave(uint32_t n) { seen += n; }
LUTHIER_HOOK(lane) void takesLane(uint32_t n) { memory[n & 1023] = n; }
LUTHIER_HOOK(lane) uint32_t readsAccumulator() { return luthier::readAccVgpr<2>(); }
LUTHIER_DEVICE uint32_t *pointer;
LUTHIER_HOOK(wave) void addressPerWave() { pointer = &seen; }
LUTHIER_HOOK(wave) uint32_t breaksLlvm(uint32_t n) {
  __attribute__((address_space(5))) uint32_t *local = (__attribute__((address_space(5))) uint32_t *)n;
  return __hip_atomic_fetch_add(local, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
// "LLVM ERROR: Cannot select", after which LLVM ends its process, where there is no such instruction.
__attribute__((target("gfx10-insts"))) LUTHIER_HOOK(lane) uint32_t onlyGfx10(uint32_t n) {
  return __builtin_amdgcn_permlane16(n, n, 0, 0, false, false);
}
LUTHIER_HOOK(wave) void atomicPerWave() {
  __hip_atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
LUTHIER_HOOK(wave) void manyRegisters() {
#define TEN(n)                                                                                                         \
  luthier::writeSgpr<n>(1);                                                                                            \
  luthier::writeSgpr<n + 1>(1);                                                                                        \
  luthier::writeSgpr<n + 2>(1);                                                                                        \
  luthier::writeSgpr<n + 3>(1);                                                                                        \
  luthier::writeSgpr<n + 4>(1);                                                                                        \
  luthier::writeSgpr<n + 5>(1);                                                                                        \
  luthier::writeSgpr<n + 6>(1);                                                                                        \
  luthier::writeSgpr<n + 7>(1);                                                                                        \
  luthier::writeSgpr<n + 8>(1);                                                                                        \
  luthier::writeSgpr<n + 9>(1);
  TEN(0) TEN(10) TEN(20) TEN(30) TEN(40)
}
