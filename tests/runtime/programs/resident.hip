// A kernel whose workgroups wait for each other, launched with as many as are on the GPU at once, with fewer, and,
// without waiting, with more. It uses all registers that a wave of 256 work-items may have at its occupancy.
#include "sample.h"

__global__ void __launch_bounds__(256) meet(uint32_t *data, uint32_t *arrived, uint32_t groups) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += groups;
  asm volatile(".set n, 0\n .rept 128\n v_mov_b32 v[n], 0\n .set n, n + 1\n .endr" ::: "v127");
  asm volatile(".set n, 0\n .rept 20\n s_mov_b32 s[n], s[n]\n .set n, n + 1\n .endr"); // used, and left as they are
  asm volatile(".set n, 20\n .rept 82\n s_mov_b32 s[n], 0\n .set n, n + 1\n .endr" ::: "s101");
  if (threadIdx.x == 0 && groups) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < groups)
      __builtin_amdgcn_s_sleep(1);
  }
}

int main() {
  constexpr uint32_t kSize = 256;
  hipDeviceProp_t properties;
  HIP_CHECK(hipGetDeviceProperties(&properties, 0));
  int perUnit = 0;
  HIP_CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&perUnit, meet, kSize, 0));
  const uint32_t resident = static_cast<uint32_t>(perUnit * properties.multiProcessorCount);
  sample::DeviceArray<uint32_t> data(2 * resident * kSize), arrived(1);
  HIP_CHECK(hipMemset(data.data(), 0, 2 * resident * kSize * sizeof(uint32_t)));
  uint32_t expected = 0;
  for (const uint32_t groups : {resident, resident / 2, 2 * resident, resident}) {
    HIP_CHECK(hipMemset(arrived.data(), 0, sizeof(uint32_t)));
    meet<<<groups, kSize>>>(data.data(), arrived.data(), groups <= resident ? groups : 0);
    HIP_CHECK(hipGetLastError());
    expected += groups <= resident ? groups : 0;
  }
  if (data.toHost()[0] != expected)
    sample::fail("%u instead of %u", data.toHost()[0], expected);
  std::printf("%u workgroups are resident\n", resident);
  return sample::pass();
}
