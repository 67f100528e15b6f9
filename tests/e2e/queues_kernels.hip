// What queues.hip launches, as a bare code object, which HSA and HIP both load.
extern "C" __attribute__((global)) void count(unsigned long long *counter) {
  __hip_atomic_fetch_add(counter, 1ull, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
