// Hooks that a module may have and that cannot be compiled, each for a reason of its own.

#include <luthier/hook.h>

LUTHIER_PER_WAVE uint32_t seen;
LUTHIER_DEVICE uint32_t memory[1024];

LUTHIER_HOOK(lane) uint32_t largeFrame(uint32_t n) {
  volatile uint32_t local[20000];
  for (uint32_t i = 0; i < 20000; ++i)
    local[i] = i * n;
  return local[n & 63];
}
LUTHIER_RECURSION(4000) __device__ uint32_t deep(uint32_t n, uint32_t m) {
  volatile uint32_t local[64];
  local[m & 63] = n;
  return n ? deep(n - 1, m + local[n & 63]) + local[m & 63] : 0;
}
LUTHIER_HOOK(lane) uint32_t deepFrame(uint32_t n) { return deep(n, n); }
LUTHIER_HOOK(lane) uint32_t variableFrame(uint32_t n) {
  volatile uint32_t *local = static_cast<volatile uint32_t *>(__builtin_alloca(4 * n));
  for (uint32_t i = 0; i < n; ++i)
    local[i] = i * n;
  return local[n / 2];
}
LUTHIER_HOOK(lane) uint32_t alignedFrame(uint32_t n) {
  alignas(256) volatile uint32_t local[64];
  local[n & 63] = n;
  return local[7 * n & 63];
}
LUTHIER_HOOK(lane) uint32_t manyValues(uint32_t n) {
  uint32_t values[300];
#pragma unroll
  for (uint32_t i = 0; i < 300; ++i) {
    values[i] = n + i;
    asm volatile("" : "+v"(values[i]));
  }
#pragma unroll
  for (uint32_t i = 0; i < 300; ++i)
    asm volatile("" : "+v"(values[299 - i]));
  uint32_t sum = 0;
#pragma unroll
  for (uint32_t i = 0; i < 300; ++i)
    sum = sum * 3 ^ values[i];
  return sum;
}
/// Of the kernel's own private memory.
LUTHIER_HOOK(lane) uint32_t otherFrame(uint32_t n) { return *(__attribute__((address_space(5))) uint32_t *)n; }
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
LUTHIER_HOOK(wave) uint32_t hiddenArguments() {
  return *(__attribute__((address_space(4))) const uint32_t *)__builtin_amdgcn_implicitarg_ptr();
}
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
LUTHIER_PER_LANE uint32_t visits;
LUTHIER_HOOK(wave) void waveReadsPerLane() { memory[0] = visits; }
LUTHIER_HOOK(wave) void waveWritesPerLane() { visits += 1; }
LUTHIER_HOOK(lane) void addressPerLane() { pointer = &visits; }
LUTHIER_HOOK(lane) void atomicPerLane() {
  __hip_atomic_fetch_add(&visits, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
LUTHIER_LDS uint32_t bins[4];
/// Memory that may be either.
LUTHIER_HOOK(lane) void addressLds(uint32_t n) { luthier::atomicAdd(n & 1 ? bins[n & 3] : memory[n & 3], n); }
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
