// Two GPUs in one program: kernels on both, hipMemcpyPeer between them, and a kernel on GPU 0 that reads and writes
// memory of GPU 1 directly. Needs two devices.
#include "sample.h"

__global__ void fill(int *data, int seed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] = i * 3 + seed;
}

// Runs on GPU 0; `remote` is memory of GPU 1.
__global__ void exchange(int *local, int *remote, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int theirs = remote[i];
  remote[i] = theirs + local[i];
  local[i] = theirs;
}

void expectSequence(const char *what, const std::vector<int> &data, int factor, int seed) {
  for (int i = 0; i < int(data.size()); ++i)
    if (data[i] != i * factor + seed)
      sample::fail("%s[%d] = %d, expected %d", what, i, data[i], i * factor + seed);
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 100'000);
  int devices = 0;
  HIP_CHECK(hipGetDeviceCount(&devices));
  if (devices < 2)
    sample::skip("needs two GPUs");
  int groups = (n + 255) / 256;

  HIP_CHECK(hipSetDevice(1));
  sample::DeviceArray<int> onGpu1(n);
  fill<<<groups, 256>>>(onGpu1.data(), 1, n);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());

  HIP_CHECK(hipSetDevice(0));
  sample::DeviceArray<int> onGpu0(n), copy(n);
  fill<<<groups, 256>>>(onGpu0.data(), 500, n);
  HIP_CHECK(hipGetLastError());

  HIP_CHECK(hipMemcpyPeer(copy.data(), 0, onGpu1.data(), 1, onGpu1.bytes()));
  HIP_CHECK(hipDeviceSynchronize());
  expectSequence("copy", copy.toHost(), 3, 1);

  int canAccess = 0;
  HIP_CHECK(hipDeviceCanAccessPeer(&canAccess, 0, 1));
  if (!canAccess)
    sample::fail("GPU 0 cannot access the memory of GPU 1");
  HIP_CHECK(hipDeviceEnablePeerAccess(1, 0));
  exchange<<<groups, 256>>>(onGpu0.data(), onGpu1.data(), n);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  expectSequence("onGpu0", onGpu0.toHost(), 3, 1);
  HIP_CHECK(hipSetDevice(1));
  expectSequence("onGpu1", onGpu1.toHost(), 6, 501);

  std::printf("GPU 0 and GPU 1 exchanged %d numbers\n", n);
  return sample::pass();
}
