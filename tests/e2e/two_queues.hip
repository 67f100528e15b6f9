// A kernel that only ends when the host says so runs on one stream while a thousand short ones run on another.
#include "sample.h"

__global__ void waitFor(volatile int *flag, int *done) {
  while (*flag == 0) {
  }
  *done = 1;
}
__global__ void increment(int *counter) { atomicAdd(counter, 1); }

int main() {
  int *flag, *counter, *done;
  HIP_CHECK(hipHostMalloc(&flag, sizeof(int), hipHostMallocCoherent));
  HIP_CHECK(hipHostMalloc(&done, sizeof(int), hipHostMallocCoherent));
  HIP_CHECK(hipMalloc(&counter, sizeof(int)));
  HIP_CHECK(hipMemset(counter, 0, sizeof(int)));
  HIP_CHECK(hipDeviceSynchronize());
  *flag = *done = 0;
  hipStream_t slow, fast;
  HIP_CHECK(hipStreamCreateWithFlags(&slow, hipStreamNonBlocking));
  HIP_CHECK(hipStreamCreateWithFlags(&fast, hipStreamNonBlocking));
  waitFor<<<64, 256, 0, slow>>>(flag, done);
  for (int n = 0; n < 1000; ++n)
    increment<<<1, 64, 0, fast>>>(counter);
  HIP_CHECK(hipStreamSynchronize(fast));
  int value = 0;
  HIP_CHECK(hipMemcpyAsync(&value, counter, sizeof value, hipMemcpyDeviceToHost, fast));
  HIP_CHECK(hipStreamSynchronize(fast));
  if (value != 64000 || *done)
    sample::fail("counted %d of 64000; the waiting kernel %s", value, *done ? "ended early" : "still waits");
  *flag = 1;
  HIP_CHECK(hipStreamSynchronize(slow));
  return sample::pass();
}
