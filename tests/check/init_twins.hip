// Pairs of kernels for `luthier check init`: `init_twins safe` does what `init_twins faulty` does, but for one thing in
// each that nobody has written.
//
// Each case is a kernel of its own, by whose name init.py knows it; the line where the value decides something ends
// with "BAD:" and the case's name. What decides is in memory and not in the code, so that both twins run the same code.
#include "sample.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace {

constexpr int kItems = 64;

/// Keeps the compiler from joining a load with what is done with it, or from leaving it out.
template <class T> __device__ T opaque(T value) {
  asm volatile("" : "+v"(value));
  return value;
}

__global__ void global_never(const int *flags, int *to) {
  if (flags[threadIdx.x] == 3) // BAD: global_never
    to[threadIdx.x] = 1;
}

__global__ void global_part(const unsigned *index, int *to) {
  to[threadIdx.x] = to[opaque(index[threadIdx.x]) % kItems]; // BAD: global_part
}

__global__ void uniform_branch(const int *__restrict flag, int *to) {
  if (*flag > 3) // BAD: uniform_branch
    to[threadIdx.x] = 1;
}

__global__ void loop_count(const int *__restrict count, int *to) {
  for (int i = 0; i < *count; ++i) // BAD: loop_count
    to[i] = i;
}

__global__ void lds_never(int written, int *to) {
  __shared__ int flags[kItems];
  if (static_cast<int>(threadIdx.x) < written)
    flags[threadIdx.x] = 0;
  __syncthreads();
  if (flags[kItems - 1 - threadIdx.x] == 3) // BAD: lds_never
    to[threadIdx.x] = 1;
}

__global__ void scratch_part(int written, const int *index, int *to) {
  volatile int values[16]; // or the compiler keeps them in registers
  for (int i = 0; i < written; ++i)
    values[i] = i;
  if (values[index[threadIdx.x]] == 77) // BAD: scratch_part
    to[threadIdx.x] = 1;
}

__global__ void register_never(int written, int *to) {
  int value;
  asm volatile("" : "=v"(value));
  if (static_cast<int>(threadIdx.x) < written)
    value = 0;
  if (value == 3) // BAD: register_never
    to[threadIdx.x] = 1;
}

__global__ void counter(int *counters) {
  atomicAdd(&counters[threadIdx.x % 4], 1); // BAD: counter
}

__global__ void atomic_operand(const int *values, int *sum) {
  atomicAdd(sum, opaque(values[threadIdx.x])); // BAD: atomic_operand
}

/// What came by a copy on the device is as good as what it was copied from.
__global__ void copied(const int *flags, int *to) {
  if (flags[threadIdx.x] == 3) // BAD: copied
    to[threadIdx.x] = 1;
}

__global__ void copy(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x]; }

struct Padded {
  int value;
  char flag; ///< three bytes of padding behind it
};

__global__ void fill(Padded *items) {
  items[threadIdx.x].value = static_cast<int>(threadIdx.x);
  items[threadIdx.x].flag = 1;
}

/// Copies padding as well. `mask` of all ones makes a branch of it.
__global__ void padding(const Padded *from, Padded *to, unsigned mask) {
  const auto both = opaque(reinterpret_cast<const unsigned long *>(from)[threadIdx.x]);
  reinterpret_cast<unsigned long *>(to)[threadIdx.x] = both;
  if ((static_cast<unsigned>(both >> 32) & mask) == 7) // BAD: padding
    to[threadIdx.x].flag = 0;
}

/// A load that is done in all lanes, and used in some.
__global__ void masked_tail(const int *from, int count, int *to) {
  const int value = opaque(from[threadIdx.x]);
  if (static_cast<int>(threadIdx.x) < count && opaque(value) == 3) // BAD: masked_tail
    to[threadIdx.x] = 1;
}

/// Loaded ahead of the test that says whether it is wanted.
__global__ void speculative(const int *from, const int *wanted, int *to) {
  const int value = opaque(from[threadIdx.x]);
  const int selected = wanted[threadIdx.x] ? value : 0;
  if (selected == 3) // BAD: speculative
    to[threadIdx.x] = 1;
}

template <class T> T *allocate(size_t count) {
  T *memory = nullptr;
  HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&memory), count * sizeof(T)));
  return memory;
}
template <class T> T *zeros(size_t count, size_t set) {
  T *memory = allocate<T>(count);
  if (set)
    HIP_CHECK(hipMemset(memory, 0, set * sizeof(T)));
  return memory;
}
template <class T> T *zeros(size_t count) { return zeros<T>(count, count); }

/// By copies of all sizes, however HIP makes them.
void copiesFromHost() {
  for (const size_t count : {1, 3, 100, 3000, 20000, 1000000}) {
    int *flags = allocate<int>(count);
    const std::string host(count * sizeof(int), '\0');
    HIP_CHECK(hipMemcpy(flags, host.data(), host.size(), hipMemcpyHostToDevice));
    const unsigned items = std::min<size_t>(count, kItems);
    global_never<<<1, items>>>(flags, zeros<int>(kItems));
    global_never<<<1, items>>>(flags + (count - items), zeros<int>(kItems));
  }
  int *flags = allocate<int>(kItems);
  HIP_CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(flags), 0, kItems));
  global_never<<<1, kItems>>>(flags, zeros<int>(kItems));
  int *row = nullptr;
  size_t pitch = 0;
  HIP_CHECK(hipMallocPitch(reinterpret_cast<void **>(&row), &pitch, kItems * sizeof(int), 4));
  const int host[2 * kItems] = {};
  HIP_CHECK(hipMemcpy2D(row, pitch, host, kItems * sizeof(int), kItems * sizeof(int), 2, hipMemcpyHostToDevice));
  global_never<<<1, kItems>>>(reinterpret_cast<int *>(reinterpret_cast<char *>(row) + pitch), zeros<int>(kItems));
  int *pinned = nullptr;
  HIP_CHECK(hipHostMalloc(reinterpret_cast<void **>(&pinned), kItems * sizeof(int), 0));
  global_never<<<1, kItems>>>(pinned, zeros<int>(kItems));
  int *managed = nullptr;
  HIP_CHECK(hipMallocManaged(reinterpret_cast<void **>(&managed), kItems * sizeof(int)));
  global_never<<<1, kItems>>>(managed, zeros<int>(kItems));
  HIP_CHECK(hipDeviceSynchronize());
}

void runAll(bool faulty) {
  if (!faulty)
    copiesFromHost();
  int *to = zeros<int>(kItems);
  global_never<<<1, kItems>>>(zeros<int>(kItems, faulty ? 0 : kItems), to);
  global_part<<<1, kItems>>>(zeros<unsigned>(kItems, faulty ? 10 : kItems), to);
  uniform_branch<<<1, kItems>>>(zeros<int>(1, faulty ? 0 : 1), to);
  loop_count<<<1, kItems>>>(zeros<int>(1, faulty ? 0 : 1), to);
  lds_never<<<1, kItems>>>(faulty ? 60 : kItems, to);
  int index[kItems] = {};
  index[7] = index[9] = 12;
  int *indices = allocate<int>(kItems);
  HIP_CHECK(hipMemcpy(indices, index, sizeof(index), hipMemcpyHostToDevice));
  scratch_part<<<1, kItems>>>(faulty ? 12 : 16, indices, to);
  register_never<<<1, kItems>>>(faulty ? 5 : kItems, to);
  counter<<<1, kItems>>>(zeros<int>(4, faulty ? 0 : 4));
  atomic_operand<<<1, kItems>>>(zeros<int>(kItems, faulty ? 60 : kItems), zeros<int>(1));
  int *source = zeros<int>(kItems, faulty ? 20 : kItems), *middle = allocate<int>(kItems),
      *target = allocate<int>(kItems);
  copy<<<1, kItems>>>(source, middle);
  HIP_CHECK(hipMemcpy(target, middle, kItems * sizeof(int), hipMemcpyDeviceToDevice));
  copied<<<1, kItems>>>(target, to);
  Padded *items = allocate<Padded>(kItems), *others = allocate<Padded>(kItems);
  fill<<<1, kItems>>>(items);
  padding<<<1, kItems>>>(items, others, faulty ? ~0u : 0xff);
  masked_tail<<<1, kItems>>>(zeros<int>(kItems, 50), faulty ? 52 : 50, to);
  int wanted[kItems] = {};
  for (int i = 0; i < 40 + faulty; ++i)
    wanted[i] = 1;
  int *isWanted = allocate<int>(kItems);
  HIP_CHECK(hipMemcpy(isWanted, wanted, sizeof(wanted), hipMemcpyHostToDevice));
  speculative<<<1, kItems>>>(zeros<int>(kItems, 40), isWanted, to);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    sample::fail("usage: init_twins safe|faulty");
  runAll(std::strcmp(argv[1], "faulty") == 0);
  return sample::pass();
}
