// Two kernels on two streams that need each other: a producer fills a ring buffer in coherent host memory and a
// consumer empties it, with system-scope atomics in between. The consumer is launched first, so the program only ends
// if both are resident at the same time. The host watches too: after a while without an end it tells both kernels to
// give up.
#include "sample.h"

#include <chrono>
#include <thread>

constexpr int Slots = 4;
constexpr int Messages = 64;
constexpr int Width = 64; // words of a message: one per lane

struct Channel {
  unsigned written, read, giveUp;
  unsigned data[Slots][Width];
};

__device__ unsigned load(const unsigned *word) {
  return __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}

__device__ void store(unsigned *word, unsigned value) {
  __hip_atomic_store(word, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

__host__ __device__ unsigned payload(unsigned message, unsigned lane) { return message * 1000 + lane; }

__global__ void produce(Channel *channel) {
  for (unsigned message = 0; message < Messages; ++message) {
    while (message - load(&channel->read) >= Slots) {
      if (load(&channel->giveUp))
        return;
      __builtin_amdgcn_s_sleep(1);
    }
    channel->data[message % Slots][threadIdx.x] = payload(message, threadIdx.x);
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
      store(&channel->written, message + 1);
  }
}

__global__ void consume(Channel *channel, unsigned long long *sums) {
  unsigned long long sum = 0;
  for (unsigned message = 0; message < Messages; ++message) {
    while (load(&channel->written) <= message) {
      if (load(&channel->giveUp))
        return;
      __builtin_amdgcn_s_sleep(1);
    }
    sum += channel->data[message % Slots][threadIdx.x] * (message + 1ull);
    __syncthreads();
    if (threadIdx.x == 0)
      store(&channel->read, message + 1);
  }
  sums[threadIdx.x] = sum;
}

int main() {
  Channel *channel = nullptr;
  HIP_CHECK(hipHostMalloc(&channel, sizeof(Channel), hipHostMallocCoherent | hipHostMallocMapped));
  *channel = {};
  Channel *deviceChannel = nullptr;
  HIP_CHECK(hipHostGetDevicePointer(reinterpret_cast<void **>(&deviceChannel), channel, 0));
  sample::DeviceArray<unsigned long long> sums(Width);
  sums.zero();
  HIP_CHECK(hipDeviceSynchronize());

  hipStream_t producer, consumer;
  HIP_CHECK(hipStreamCreateWithFlags(&consumer, hipStreamNonBlocking));
  HIP_CHECK(hipStreamCreateWithFlags(&producer, hipStreamNonBlocking));
  consume<<<1, Width, 0, consumer>>>(deviceChannel, sums.data());
  HIP_CHECK(hipGetLastError());
  produce<<<1, Width, 0, producer>>>(deviceChannel);
  HIP_CHECK(hipGetLastError());

  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (hipStreamQuery(consumer) == hipErrorNotReady) {
    if (std::chrono::steady_clock::now() > deadline)
      __atomic_store_n(&channel->giveUp, 1u, __ATOMIC_RELEASE);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  HIP_CHECK(hipStreamSynchronize(consumer));
  HIP_CHECK(hipStreamSynchronize(producer));
  if (channel->giveUp)
    sample::fail("the kernels gave up after %u messages written and %u read", channel->written, channel->read);

  std::vector<unsigned long long> result = sums.toHost();
  for (unsigned lane = 0; lane < Width; ++lane) {
    unsigned long long expected = 0;
    for (unsigned message = 0; message < Messages; ++message)
      expected += payload(message, lane) * (message + 1ull);
    if (result[lane] != expected)
      sample::fail("lane %u received %llu, expected %llu", lane, result[lane], expected);
  }
  HIP_CHECK(hipStreamDestroy(producer));
  HIP_CHECK(hipStreamDestroy(consumer));
  HIP_CHECK(hipHostFree(channel));
  std::printf("%d messages of %d words went through %d slots\n", Messages, Width, Slots);
  return sample::pass();
}
