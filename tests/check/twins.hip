// Pairs of programs for `luthier check memory`: `twins CASE safe` does what `twins CASE faulty` does, but for one
// access.
//
// The line that is wrong ends with the case's name in a comment, which is how memory.py finds it. Kernels get what
// decides as an argument, so that both twins run the same code. The faulty twins must get to their end where the
// virtual GPU checks: what they read outside is 0, and what they write is dropped.
#include "sample.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace {

constexpr int kItems = 128, kFloats = 100;

__global__ void store(float *to, int count) {
  const int i = threadIdx.x;
  if (i < count)
    to[i] = 1; // BAD: one_past_end pinned managed registered two_launches many_waves
}

__global__ void storePair(double2 *to, int count) {
  const int i = threadIdx.x;
  if (i < count)
    to[i] = double2{1, 2}; // BAD: straddling
}

__global__ void loadBefore(const float *from, float *to, int distance) {
  const int i = threadIdx.x;
  to[i] = from[i - distance]; // BAD: before_start
}

__global__ void storeAt(char *to, long offset) {
  if (threadIdx.x == 5)
    to[offset] = 1; // BAD: between far_behind
}

__global__ void load(const float *from, float *to) {
  const int i = threadIdx.x;
  to[i] = from[i]; // BAD: after_free null_offset
}

__global__ void count(char *counters, int offset) {
  if (threadIdx.x % 32 == 7)
    atomicAdd(reinterpret_cast<int *>(counters + offset), 1); // BAD: misaligned_atomic
}

__global__ void countInLds(int *to, int offset) {
  __shared__ int counters[4];
  if (threadIdx.x < 4)
    counters[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 9)
    atomicAdd(reinterpret_cast<int *>(reinterpret_cast<char *>(counters) + offset), 1); // BAD: misaligned_lds
  __syncthreads();
  if (threadIdx.x < 4)
    to[threadIdx.x] = counters[threadIdx.x];
}

__global__ void uniform(const int *__restrict from, int *to, int index) {
  to[threadIdx.x] = from[index]; // BAD: scalar
}

__global__ void uniformAt(const char *__restrict from, int *to, int offset) {
  to[threadIdx.x] = *reinterpret_cast<const int *>(from + offset); // BAD: misaligned_scalar
}

__global__ void rotateInLds(int *to, int distance) {
  extern __shared__ int values[];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  to[threadIdx.x] = values[threadIdx.x + distance]; // BAD: lds_read
}

__global__ void fillLds(int *to, int distance) {
  extern __shared__ int values[];
  values[threadIdx.x + distance] = static_cast<int>(threadIdx.x); // BAD: lds_write
  __syncthreads();
  to[threadIdx.x] = values[threadIdx.x];
}

__global__ void local(int *to, const int *indices) {
  volatile int values[16]; // or the compiler keeps them in registers
  for (int i = 0; i < 16; ++i)
    values[i] = i * static_cast<int>(threadIdx.x);
  values[indices[threadIdx.x]] = 7; // BAD: scratch
  int sum = 0;
  for (int i = 0; i < 16; ++i)
    sum += values[i ^ indices[0]];
  to[threadIdx.x] = sum;
}

__global__ void arguments(int *to, int index) {
  const auto *all = (const __attribute__((address_space(4))) int *)__builtin_amdgcn_kernarg_segment_ptr();
  to[threadIdx.x] = all[index]; // BAD: kernel_arguments
}

__global__ void tellArguments(uint64_t *to) { *to = (uint64_t)__builtin_amdgcn_kernarg_segment_ptr(); }

/// Through a pointer that does not say what it points to.
__device__ __attribute__((noinline)) void put(volatile int *at) {
  *at = 7; // BAD: flat_global flat_lds flat_scratch
}

__global__ void putInMemory(int *to, int distance) { put(to + threadIdx.x + distance); }

__global__ void putInLds(int *to, int distance) {
  __shared__ int values[64];
  values[threadIdx.x] = 0;
  __syncthreads();
  put(&values[threadIdx.x + distance]);
  __syncthreads();
  to[threadIdx.x] = values[threadIdx.x];
}

__global__ void putInScratch(int *to, const int *indices) {
  volatile int values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = i;
  put(&values[indices[threadIdx.x]]);
  to[threadIdx.x] = values[indices[0]];
}

/// 16 indices of arrays of 16, over and over, but for one.
int *indicesOnDevice(int bad) {
  int indices[64], *from = nullptr;
  for (int i = 0; i < 64; ++i)
    indices[i] = i % 16;
  indices[33] = bad;
  HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&from), sizeof(indices)));
  HIP_CHECK(hipMemcpy(from, indices, sizeof(indices), hipMemcpyHostToDevice));
  return from;
}

template <class T> T *onDevice(size_t count) {
  T *memory = nullptr;
  HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&memory), count * sizeof(T)));
  HIP_CHECK(hipMemset(memory, 0, count * sizeof(T)));
  return memory;
}

void finish() {
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
}

void runCase(const std::string &name, bool faulty) {
  const int more = faulty ? 1 : 0;
  if (name == "one_past_end") {
    store<<<1, kItems>>>(onDevice<float>(kFloats), kFloats + more);
  } else if (name == "two_launches") {
    float *to = onDevice<float>(kFloats);
    for (int launch = 0; launch < 2; ++launch)
      store<<<3, kItems>>>(to, kFloats + more);
  } else if (name == "many_waves") { // more than are looked at one by one
    store<<<200, kItems>>>(onDevice<float>(kFloats), kFloats + more);
  } else if (name == "straddling") {
    storePair<<<1, 64>>>(reinterpret_cast<double2 *>(onDevice<char>(16 * 10 + 8)), 10 + more);
  } else if (name == "before_start") {
    loadBefore<<<1, 64>>>(onDevice<float>(kFloats), onDevice<float>(64), more);
  } else if (name == "between") {
    char *first = onDevice<char>(3000), *second = onDevice<char>(3000);
    char *low = std::min(first, second), *high = std::max(first, second);
    storeAt<<<1, 64>>>(low, faulty ? 2 * sizeof(int) + 3000 : 2999);
    storeAt<<<1, 64>>>(high, 0);
  } else if (name == "far_behind") { // also of the buffer that the driver has made of it
    constexpr long kSize = 8 << 20, kBehind = 512 << 10;
    storeAt<<<1, 64>>>(onDevice<char>(kSize), faulty ? kSize + kBehind : kSize - 1);
  } else if (name == "after_free") {
    float *from = onDevice<float>(kFloats), *to = onDevice<float>(64);
    if (faulty)
      HIP_CHECK(hipFree(from));
    load<<<1, 64>>>(from, to);
  } else if (name == "null_offset") {
    float *from = onDevice<float>(kFloats), *to = onDevice<float>(64);
    load<<<1, 64>>>(faulty ? reinterpret_cast<float *>(256) : from, to);
  } else if (name == "misaligned_atomic") {
    count<<<1, 64>>>(onDevice<char>(64), faulty ? 2 : 4);
  } else if (name == "misaligned_lds") {
    countInLds<<<1, 64>>>(onDevice<int>(4), faulty ? 6 : 4);
  } else if (name == "scalar") {
    uniform<<<1, 64>>>(onDevice<int>(kFloats), onDevice<int>(64), faulty ? kFloats + 3 : kFloats - 1);
  } else if (name == "misaligned_scalar") {
    uniformAt<<<1, 64>>>(onDevice<char>(400), onDevice<int>(64), faulty ? 2 : 4);
  } else if (name == "lds_read") {
    rotateInLds<<<1, 64, 64 * sizeof(int)>>>(onDevice<int>(64), more);
  } else if (name == "lds_write") {
    fillLds<<<1, 64, 64 * sizeof(int)>>>(onDevice<int>(64), more);
  } else if (name == "scratch") {
    local<<<1, 64>>>(onDevice<int>(64), indicesOnDevice(faulty ? 5000 : 3));
  } else if (name == "flat_global") {
    putInMemory<<<1, 64>>>(onDevice<int>(64), more);
  } else if (name == "flat_lds") {
    putInLds<<<1, 64>>>(onDevice<int>(64), more);
  } else if (name == "flat_scratch") {
    putInScratch<<<1, 64>>>(onDevice<int>(64), indicesOnDevice(faulty ? 5000 : 3));
  } else if (name == "pinned") {
    float *to = nullptr;
    HIP_CHECK(hipHostMalloc(reinterpret_cast<void **>(&to), kFloats * sizeof(float), 0));
    store<<<1, kItems>>>(to, kFloats + more);
  } else if (name == "managed") {
    float *to = nullptr;
    HIP_CHECK(hipMallocManaged(reinterpret_cast<void **>(&to), kFloats * sizeof(float)));
    store<<<1, kItems>>>(to, kFloats + more);
  } else if (name == "registered") {
    auto *host = static_cast<float *>(std::malloc(kFloats * sizeof(float)));
    float *to = nullptr;
    HIP_CHECK(hipHostRegister(host, kFloats * sizeof(float), hipHostRegisterDefault));
    HIP_CHECK(hipHostGetDevicePointer(reinterpret_cast<void **>(&to), host, 0));
    store<<<1, kItems>>>(to, kFloats + more);
    finish();
    HIP_CHECK(hipHostUnregister(host));
    std::free(host);
  } else if (name == "kernel_arguments") {
    arguments<<<1, 64>>>(onDevice<int>(64), faulty ? 200 : 2);
    // A kernel that is told of memory beside its arguments may read it, as HIP's own do.
    uint64_t beside = 0, *told = onDevice<uint64_t>(1);
    tellArguments<<<1, 1>>>(told);
    HIP_CHECK(hipMemcpy(&beside, told, sizeof beside, hipMemcpyDeviceToHost));
    uniform<<<1, 64>>>(reinterpret_cast<const int *>(beside), onDevice<int>(64), 0);
  } else {
    sample::fail("there is no case %s", name.c_str());
  }
  finish();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    sample::fail("usage: twins CASE safe|faulty");
  runCase(argv[1], std::strcmp(argv[2], "faulty") == 0);
  return sample::pass();
}
