// assert() in every kernel and in functions that they call: a failed one calls a function that never returns, and the
// compiler puts nothing behind such a call. All of them hold here.
#include "sample.h"

#include <cassert>

__global__ void bounds(const int *in, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(i < n);
  assert(in[i] >= 0 && in[i] < n);
  out[in[i]] = i;
}

__device__ __attribute__((noinline)) int checkedRoot(int x) {
  int root = 0;
  while ((root + 1) * (root + 1) <= x)
    ++root;
  assert(root * root <= x);
  return root;
}

__global__ void inFunctions(const int *in, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < (i & 7); ++k)
    sum += checkedRoot(in[(i + k) % n]);
  out[i] = sum;
}

// Never returns, and is called where nothing else can happen: the kernel's code ends in the call.
__device__ __attribute__((noinline, noreturn)) void giveUp(int *out, int why) {
  out[0] = why;
  assert(!"unreachable");
  __builtin_trap();
}

__global__ void cases(const int *in, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  switch (in[i] & 3) {
  case 0:
    out[i] = in[i] / 3;
    break;
  case 1:
    out[i] = in[i] * 5;
    break;
  case 2:
  case 3:
    if (in[i] >= n)
      giveUp(out, in[i]);
    out[i] = in[i] ^ 0x55;
    break;
  }
}

int rootOf(int x) {
  int root = 0;
  while ((root + 1) * (root + 1) <= x)
    ++root;
  return root;
}

void expect(const char *kernel, int at, int found, int expected) {
  if (found != expected)
    sample::fail("%s: out[%d] = %d, expected %d", kernel, at, found, expected);
}

int main() {
  constexpr int kCount = 15 * 64;
  std::vector<int> in(kCount);
  for (int i = 0; i < kCount; ++i)
    in[i] = (i * 7 + 3) % kCount;
  sample::DeviceArray<int> from(in), to(kCount);

  bounds<<<kCount / 64, 64>>>(from.data(), to.data(), kCount);
  HIP_CHECK(hipGetLastError());
  std::vector<int> out = to.toHost();
  for (int i = 0; i < kCount; ++i)
    expect("bounds", in[i], out[in[i]], i);

  inFunctions<<<kCount / 64, 64>>>(from.data(), to.data(), kCount);
  HIP_CHECK(hipGetLastError());
  out = to.toHost();
  for (int i = 0; i < kCount; ++i) {
    int sum = 0;
    for (int k = 0; k < (i & 7); ++k)
      sum += rootOf(in[(i + k) % kCount]);
    expect("inFunctions", i, out[i], sum);
  }

  cases<<<kCount / 64, 64>>>(from.data(), to.data(), kCount);
  HIP_CHECK(hipGetLastError());
  out = to.toHost();
  for (int i = 0; i < kCount; ++i)
    expect("cases", i, out[i], in[i] % 4 == 0 ? in[i] / 3 : in[i] % 4 == 1 ? in[i] * 5 : in[i] ^ 0x55);
  return sample::pass();
}
