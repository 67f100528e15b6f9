// One kernel in workgroups of several sizes. It uses all registers that a wave of the largest workgroup may have.
#include "sample.h"

__global__ void __launch_bounds__(1024) mark(uint32_t *data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += blockDim.x;
  asm volatile(".set n, 0\n .rept 128\n v_mov_b32 v[n], 0\n .set n, n + 1\n .endr\n"
               ".set n, 0\n .rept 102\n s_mov_b32 s[n], 0\n .set n, n + 1\n .endr" ::
                   : "v127", "s101");
}

int main() {
  constexpr size_t kItems = 4096;
  sample::DeviceArray<uint32_t> data(kItems);
  HIP_CHECK(hipMemset(data.data(), 0, kItems * sizeof(uint32_t)));
  uint32_t expected = 0;
  for (const uint32_t size : {64u, 1024u, 256u, 1024u}) {
    mark<<<kItems / size, size>>>(data.data());
    HIP_CHECK(hipGetLastError());
    expected += size;
  }
  for (const uint32_t value : data.toHost())
    if (value != expected)
      sample::fail("%u instead of %u", value, expected);
  return sample::pass();
}
