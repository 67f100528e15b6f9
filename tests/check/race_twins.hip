// Pairs of kernels for `luthier check race` and `barrier`: `race_twins safe` does what `race_twins faulty` does, but
// for one thing in each case that puts accesses in an order. `race_twins safe CASE` runs a single one.
//
// Lines that race with each other end with the case's name in a comment, which is how race.py finds them: a case has
// one such line where an instruction races with itself in another wave, or two. Workgroups have several waves of either
// size, and there are several workgroups, which use the same LDS after each other.
#include "sample.h"

#include <cstring>
#include <string>

namespace {

constexpr int kItems = 256, kGroups = 24;

using LocalInt = __attribute__((address_space(3))) int;

/// True or false for all lanes of a wave, in a scalar register.
__device__ bool uniformly(bool condition) { return __builtin_amdgcn_readfirstlane(condition); }

__device__ int *place(int *to) { return to + blockIdx.x * kItems + threadIdx.x; }

__global__ void writeRead(int *to, bool ordered) {
  __shared__ int values[kItems];
  const int t = threadIdx.x;
  values[t] = t; // BAD: lds_write_read
  if (ordered)
    __syncthreads();
  *place(to) = values[(t + 64) % kItems]; // BAD: lds_write_read
}

__global__ void readWrite(int *to, bool ordered) {
  __shared__ int values[kItems];
  const int t = threadIdx.x;
  values[t] = t;
  __syncthreads();
  const int other = values[(t + 64) % kItems]; // BAD: lds_read_write
  if (ordered)
    __syncthreads();
  values[t] = other + 1; // BAD: lds_read_write
  __syncthreads();
  *place(to) = values[t];
}

__global__ void writeWrite(int *to, int mask) {
  __shared__ int values[kItems];
  const int t = threadIdx.x;
  values[t & mask] = t; // BAD: lds_write_write
  __syncthreads();
  *place(to) = values[t & mask];
}

__global__ void withinWave(int *to, int distance) {
  __shared__ int values[kItems];
  const int t = threadIdx.x;
  values[t] = t; // BAD: lds_same_wave
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
  *place(to) = values[t ^ distance]; // BAD: lds_same_wave
}

__global__ void withoutWait(int *to, bool waits) {
  __shared__ int values[kItems];
  const int t = threadIdx.x;
  LocalInt *const mine = (LocalInt *)&values[t];
  waits = uniformly(waits); // now: waiting for arguments would be the wait that is meant to be missing
  asm volatile("" ::"s"(static_cast<int>(waits)), "s"(to));
  asm volatile("ds_write_b32 %0, %1" ::"v"(mine), "v"(t) : "memory"); // BAD: lds_barrier_wait
  if (waits)
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
  asm volatile("s_barrier" ::: "memory");
  *place(to) = values[(t + 64) % kItems]; // BAD: lds_barrier_wait
}

__global__ void readTwo(int *to, bool ordered) {
  __shared__ int values[kItems];
  const int t = threadIdx.x, i = t % 64;
  values[t] = t; // BAD: lds_read2
  if (ordered)
    __syncthreads();
  *place(to) = values[i] * values[i + 128]; // BAD: lds_read2
}

__global__ void count(int *to, bool ordered) {
  __shared__ int bins[8];
  const int t = threadIdx.x;
  if (t < 8)
    bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[t % 8], 1); // BAD: lds_atomic
  if (ordered)
    __syncthreads();
  *place(to) = bins[t % 8]; // BAD: lds_atomic
}

__global__ void pingPong(int *to, int mask) {
  __shared__ int values[2][kItems];
  const int t = threadIdx.x;
  int sum = 0;
  for (int k = 0; k < 6; ++k) {
    values[k & mask][t] = sum + k; // BAD: lds_double_buffer
    __syncthreads();
    sum += values[k & mask][(t + 64) % kItems]; // BAD: lds_double_buffer
  }
  *place(to) = sum;
}

__global__ void flag(int *to, bool waits) {
  __shared__ int value, ready;
  const int t = threadIdx.x;
  if (t == 0)
    ready = 0;
  __syncthreads();
  if (uniformly(t < 64)) {
    if (t == 0) {
      value = 7; // BAD: lds_flag
      __hip_atomic_store(&ready, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
    return;
  }
  if (waits)
    while (__hip_atomic_load(&ready, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {
    }
  *place(to) = value; // BAD: lds_flag
}

__global__ void lock(int *to, bool locks) {
  __shared__ int taken, sum;
  const int t = threadIdx.x;
  if (t == 0)
    taken = sum = 0;
  __syncthreads();
  if (t % 64 == 0) {
    if (locks)
      while (__hip_atomic_exchange(&taken, 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP)) {
      }
    sum += t; // BAD: lds_lock
    if (locks)
      __hip_atomic_exchange(&taken, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  __syncthreads();
  *place(to) = sum;
}

// Workgroup 0 tells workgroup 1 that its data is there.

constexpr auto kAgent = __HIP_MEMORY_SCOPE_AGENT;

/// What compilers must not move across, and no instruction.
__device__ void keepOrder() { asm volatile("" ::: "memory"); }

__device__ void waitFor(int *ready) {
  while (__hip_atomic_load(ready, __ATOMIC_RELAXED, kAgent) == 0) {
  }
}

__global__ void tell(int *data, int *ready, int *to, bool tells) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x; // BAD: global_workgroups
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
      __hip_atomic_store(ready, 1, __ATOMIC_RELAXED, kAgent);
    return;
  }
  if (tells)
    waitFor(ready);
  __threadfence();
  to[threadIdx.x] = data[threadIdx.x]; // BAD: global_workgroups
}

__global__ void release(int *data, int *ready, int *to, bool waits) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    if (t == 0) {
      *data = 7; // BAD: global_release
      if (waits)
        __threadfence();
      keepOrder();
      __hip_atomic_store(ready, 1, __ATOMIC_RELAXED, kAgent);
    }
    return;
  }
  if (t != 0)
    return;
  waitFor(ready);
  __threadfence();
  *to = *data; // BAD: global_release
}

__global__ void acquire(int *data, int *ready, int *to, bool invalidates) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    if (t == 0) {
      *data = 7; // BAD: global_acquire
      __threadfence();
      __hip_atomic_store(ready, 1, __ATOMIC_RELAXED, kAgent);
    }
    return;
  }
  if (t != 0)
    return;
  waitFor(ready);
  if (invalidates)
    __threadfence();
  keepOrder();
  *to = *data; // BAD: global_acquire
}

/// In the scope of a workgroup, a load may find in the cache what was there before.
__global__ void scope(int *data, int *ready, int *to, bool wide) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    if (t == 0) {
      *data = 7; // BAD: global_scope
      __threadfence();
      __hip_atomic_store(ready, 1, __ATOMIC_RELAXED, kAgent);
    }
    return;
  }
  if (t != 0)
    return;
  if (wide)
    waitFor(ready);
  else
    while (__hip_atomic_load(ready, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {
    }
  __threadfence();
  *to = *data; // BAD: global_scope
}

/// A sum that each workgroup passes on to the next: what the first has written is known to the last by way of all.
__global__ void passOn(int *sums, int *ready, int *to, int impatient) {
  const int group = blockIdx.x;
  if (threadIdx.x != 0)
    return;
  if (group > 0) {
    if (group != impatient)
      waitFor(ready + group - 1);
    __threadfence();
  }
  sums[group] = group > 0 ? sums[group - 1] + group : 0; // BAD: global_chain
  __threadfence();
  __hip_atomic_store(ready + group, 1, __ATOMIC_RELAXED, kAgent);
  if (group != impatient)
    *place(to) = sums[0]; // BAD: global_chain
}

/// The last workgroup adds up what all have written.
__global__ void sumUp(int *parts, int *done, int *to, bool all) {
  __shared__ bool last;
  const int t = threadIdx.x;
  parts[blockIdx.x * kItems + t] = t; // BAD: global_last
  if (all)
    __threadfence();
  asm volatile("s_barrier" ::: "memory"); // which does not wait for stores
  if (t == 0) {
    __threadfence(); // of this wave alone
    last = atomicAdd(done, 1) == kGroups - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last)
    return;
  int sum = 0;
  for (int group = 0; group < kGroups; ++group)
    sum += parts[group * kItems + t]; // BAD: global_last
  to[t] = sum;
}

__global__ void lockGlobal(int *taken, int *sum, bool locks) {
  if (threadIdx.x != 0)
    return;
  if (locks)
    while (atomicExch(taken, 1))
      __builtin_amdgcn_s_sleep(1);
  __threadfence();
  int index = threadIdx.x;
  asm("" : "+v"(index)); // or this is loaded through the scalar cache
  sum[index] += 1;       // BAD: global_lock
  __threadfence();
  if (locks)
    atomicExch(taken, 0);
}

__global__ void exchange(int *values, int *to, bool ordered) {
  int *const mine = place(values);
  *mine = threadIdx.x; // BAD: global_same_group
  if (ordered)
    __syncthreads();
  *place(to) = mine[threadIdx.x < 64 ? 64 : -64]; // BAD: global_same_group
}

__global__ void countAndRead(int *counter, int *to, bool atomically) {
  atomicAdd(counter, 1);                                                                     // BAD: global_atomic
  *place(to) = atomically ? __hip_atomic_load(counter, __ATOMIC_RELAXED, kAgent) : *counter; // BAD: global_atomic
}

/// Bytes of one dword are written by different waves.
__global__ void bytes(char *values, int apart) {
  const int t = threadIdx.x;
  values[t % 64 * 4 + t / 64 * apart] = static_cast<char>(t); // BAD: global_bytes
}

/// Waits until as many workgroups are there as `meeting` says.
__device__ void meet(int *arrived, int meeting) {
  if (threadIdx.x == 0 && meeting) {
    atomicAdd(arrived, 1);
    while (__hip_atomic_load(arrived, __ATOMIC_RELAXED, kAgent) < meeting)
      __builtin_amdgcn_s_sleep(1);
  }
  __syncthreads();
}

__global__ void fill(int *values, int *arrived, int meeting) {
  meet(arrived, meeting);
  values[threadIdx.x] = threadIdx.x; // BAD: global_streams
}

__global__ void copy(const int *values, int *to, int *arrived, int meeting) {
  meet(arrived, meeting);
  to[threadIdx.x] = values[threadIdx.x]; // BAD: global_streams
}

/// In two streams, neither kernel waits for the other one to end.
void twoKernels(int *values, int *to, int *arrived, bool faulty) {
  hipStream_t streams[2];
  for (hipStream_t &stream : streams)
    HIP_CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  fill<<<1, kItems, 0, streams[0]>>>(values, arrived, faulty ? 2 : 0);
  copy<<<1, kItems, 0, streams[faulty ? 1 : 0]>>>(values, to, arrived, faulty ? 2 : 0);
  for (const hipStream_t stream : streams) {
    HIP_CHECK(hipStreamSynchronize(stream));
    HIP_CHECK(hipStreamDestroy(stream));
  }
}

__global__ void skippedByWaves(int *to, int first) {
  if (uniformly(static_cast<int>(threadIdx.x) < first))
    __syncthreads(); // BAD: barrier_waves
  *place(to) = 1;
}

__global__ void skippedByLanes(int *to, int every) {
  if (threadIdx.x % every == 0)
    __syncthreads(); // BAD: barrier_lanes
  *place(to) = 1;
}

__global__ void different(int *to, int first) {
  if (uniformly(static_cast<int>(threadIdx.x) < first)) {
    *place(to) = 1;
    __syncthreads(); // BAD: barrier_different
  } else {
    *place(to) = 2;
    __syncthreads(); // BAD: barrier_different
    *place(to) = 3;
  }
}

/// Work-items may return before a barrier.
__global__ void returnsEarly(int *to, int count, int skipping) {
  const int t = threadIdx.x;
  if (t >= count)
    return;
  if (t != skipping)
    __syncthreads(); // BAD: barrier_return
  *place(to) = 1;
}

constexpr const char *kCases[] = {
    "lds_write_read",    "lds_read_write", "lds_write_write",   "lds_same_wave",     "lds_barrier_wait",
    "lds_read2",         "lds_atomic",     "lds_double_buffer", "lds_flag",          "lds_lock",
    "global_workgroups", "global_release", "global_acquire",    "global_scope",      "global_chain",
    "global_last",       "global_lock",    "global_same_group", "global_atomic",     "global_bytes",
    "global_streams",    "barrier_waves",  "barrier_lanes",     "barrier_different", "barrier_return"};

void runCase(const std::string &name, bool faulty) {
  int *to = nullptr, *more = nullptr;
  HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&more), (kGroups + 1) * kItems * sizeof(int)));
  HIP_CHECK(hipMemset(more, 0, (kGroups + 1) * kItems * sizeof(int)));
  HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&to), kGroups * kItems * sizeof(int)));
  HIP_CHECK(hipMemset(to, 0, kGroups * kItems * sizeof(int)));
  if (name == "lds_write_read")
    writeRead<<<kGroups, kItems>>>(to, !faulty);
  else if (name == "lds_read_write")
    readWrite<<<kGroups, kItems>>>(to, !faulty);
  else if (name == "lds_write_write")
    writeWrite<<<kGroups, kItems>>>(to, faulty ? 63 : kItems - 1);
  else if (name == "lds_same_wave")
    withinWave<<<kGroups, kItems>>>(to, faulty ? 64 : 1);
  else if (name == "lds_barrier_wait")
    withoutWait<<<kGroups, kItems>>>(to, !faulty);
  else if (name == "lds_read2")
    readTwo<<<kGroups, kItems>>>(to, !faulty);
  else if (name == "lds_atomic")
    count<<<kGroups, kItems>>>(to, !faulty);
  else if (name == "lds_double_buffer")
    pingPong<<<kGroups, kItems>>>(to, faulty ? 0 : 1);
  else if (name == "lds_flag")
    flag<<<kGroups, kItems>>>(to, !faulty);
  else if (name == "lds_lock")
    lock<<<kGroups, kItems>>>(to, !faulty);
  else if (name == "global_workgroups")
    tell<<<2, kItems>>>(more, more + kItems, to, !faulty);
  else if (name == "global_release")
    release<<<2, kItems>>>(more, more + kItems, to, !faulty);
  else if (name == "global_acquire")
    acquire<<<2, kItems>>>(more, more + kItems, to, !faulty);
  else if (name == "global_scope")
    scope<<<2, kItems>>>(more, more + kItems, to, !faulty);
  else if (name == "global_chain")
    passOn<<<kGroups, kItems>>>(more, more + kItems, to, faulty ? 5 : -1);
  else if (name == "global_last")
    sumUp<<<kGroups, kItems>>>(more, more + kGroups * kItems, to, !faulty);
  else if (name == "global_lock")
    lockGlobal<<<kGroups, kItems>>>(more, more + kItems, !faulty);
  else if (name == "global_same_group")
    exchange<<<kGroups, kItems>>>(more, to, !faulty);
  else if (name == "global_atomic")
    countAndRead<<<kGroups, kItems>>>(more, to, !faulty);
  else if (name == "global_bytes")
    bytes<<<1, kItems>>>(reinterpret_cast<char *>(more), faulty ? 0 : 1);
  else if (name == "global_streams")
    twoKernels(more, to, more + kItems, faulty);
  else if (name == "barrier_waves")
    skippedByWaves<<<kGroups, kItems>>>(to, faulty ? 64 : kItems);
  else if (name == "barrier_lanes")
    skippedByLanes<<<kGroups, kItems>>>(to, faulty ? 2 : 1);
  else if (name == "barrier_different")
    different<<<kGroups, kItems>>>(to, faulty ? 128 : kItems);
  else if (name == "barrier_return")
    returnsEarly<<<kGroups, kItems>>>(to, 100, faulty ? 5 : -1);
  else
    sample::fail("there is no case %s", name.c_str());
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    sample::fail("usage: race_twins safe|faulty [CASE]");
  for (const char *name : kCases)
    if (argc < 3 || std::strcmp(argv[2], name) == 0)
      runCase(name, std::strcmp(argv[1], "faulty") == 0);
  return sample::pass();
}
