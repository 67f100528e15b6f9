// Streams and events: asynchronous copies in all directions, memset, pitched 2D copies, host callbacks, timing, and an
// order between two streams that only hipStreamWaitEvent makes right.
#include "sample.h"

#include <atomic>

constexpr int Streams = 4;

__global__ void multiply(int *data, int factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] *= factor;
}

// Slow on purpose: later work on another stream overtakes it unless it waits.
__global__ void addSlowly(int *data, int amount, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < 200; ++round)
    __builtin_amdgcn_s_sleep(1);
  if (i < n)
    data[i] += amount;
}

// Each stream: host to device, kernel, device to device, device to host; a callback counts the streams that are done.
void copiesOnManyStreams(int n) {
  hipStream_t streams[Streams];
  int *host[Streams], *first[Streams], *second[Streams];
  size_t bytes = n * sizeof(int);
  std::atomic<int> done = 0;
  hipEvent_t start, stop;
  HIP_CHECK(hipEventCreate(&start));
  HIP_CHECK(hipEventCreate(&stop));
  for (int s = 0; s < Streams; ++s) {
    HIP_CHECK(hipStreamCreate(&streams[s]));
    HIP_CHECK(hipHostMalloc(&host[s], bytes));
    HIP_CHECK(hipMalloc(&first[s], bytes));
    HIP_CHECK(hipMalloc(&second[s], bytes));
    for (int i = 0; i < n; ++i)
      host[s][i] = i + s;
  }

  HIP_CHECK(hipEventRecord(start, streams[0]));
  for (int s = 0; s < Streams; ++s) {
    HIP_CHECK(hipMemcpyAsync(first[s], host[s], bytes, hipMemcpyHostToDevice, streams[s]));
    multiply<<<(n + 255) / 256, 256, 0, streams[s]>>>(first[s], s + 2, n);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpyAsync(second[s], first[s], bytes, hipMemcpyDeviceToDevice, streams[s]));
    HIP_CHECK(hipMemcpyAsync(host[s], second[s], bytes, hipMemcpyDeviceToHost, streams[s]));
    auto count = [](hipStream_t, hipError_t status, void *counter) {
      if (status == hipSuccess)
        ++*static_cast<std::atomic<int> *>(counter);
    };
    HIP_CHECK(hipStreamAddCallback(streams[s], count, &done, 0));
  }
  HIP_CHECK(hipEventRecord(stop, streams[0]));
  HIP_CHECK(hipEventSynchronize(stop));
  HIP_CHECK(hipEventQuery(stop));
  float milliseconds = 0;
  HIP_CHECK(hipEventElapsedTime(&milliseconds, start, stop));
  if (!(milliseconds > 0))
    sample::fail("the events are %g ms apart", milliseconds);

  for (int s = 0; s < Streams; ++s) {
    HIP_CHECK(hipStreamSynchronize(streams[s]));
    HIP_CHECK(hipStreamQuery(streams[s]));
    for (int i = 0; i < n; ++i)
      if (host[s][i] != (i + s) * (s + 2))
        sample::fail("stream %d: element %d is %d, expected %d", s, i, host[s][i], (i + s) * (s + 2));
    HIP_CHECK(hipStreamDestroy(streams[s]));
    HIP_CHECK(hipHostFree(host[s]));
    HIP_CHECK(hipFree(first[s]));
    HIP_CHECK(hipFree(second[s]));
  }
  if (done != Streams)
    sample::fail("%d callbacks ran, expected %d", done.load(), Streams);
  HIP_CHECK(hipEventDestroy(start));
  HIP_CHECK(hipEventDestroy(stop));
  std::printf("%d streams each copied %d numbers there and back; stream 0 took %.3f ms\n", Streams, n, milliseconds);
}

// (1 + 5) * 3 is 18, but 1 * 3 + 5 is 8.
void orderBetweenStreams(int n) {
  hipStream_t slow, quick;
  hipEvent_t added;
  HIP_CHECK(hipStreamCreateWithFlags(&slow, hipStreamNonBlocking));
  HIP_CHECK(hipStreamCreateWithFlags(&quick, hipStreamNonBlocking));
  HIP_CHECK(hipEventCreateWithFlags(&added, hipEventDisableTiming));
  sample::DeviceArray<int> data(std::vector<int>(n, 1));
  addSlowly<<<(n + 255) / 256, 256, 0, slow>>>(data.data(), 5, n);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipEventRecord(added, slow));
  HIP_CHECK(hipStreamWaitEvent(quick, added, 0));
  multiply<<<(n + 255) / 256, 256, 0, quick>>>(data.data(), 3, n);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipStreamSynchronize(quick));
  std::vector<int> result = data.toHost();
  for (int i = 0; i < n; ++i)
    if (result[i] != 18)
      sample::fail("order: element %d is %d, expected 18", i, result[i]);
  HIP_CHECK(hipEventDestroy(added));
  HIP_CHECK(hipStreamDestroy(slow));
  HIP_CHECK(hipStreamDestroy(quick));
}

// A window of a host image goes into a pitched device image whose background is set by memset, and back.
void pitchedCopies() {
  constexpr size_t Width = 100, Height = 37, HostPitch = 160, Margin = 8;
  std::vector<uint8_t> image(HostPitch * Height), back(Width * Height);
  for (size_t i = 0; i < image.size(); ++i)
    image[i] = uint8_t(i * 7);
  uint8_t *device = nullptr;
  size_t pitch = 0;
  hipStream_t stream;
  HIP_CHECK(hipStreamCreate(&stream));
  HIP_CHECK(hipMallocPitch(reinterpret_cast<void **>(&device), &pitch, Width, Height));
  HIP_CHECK(hipMemset(device, 0xa5, pitch * Height));
  HIP_CHECK(hipDeviceSynchronize());
  HIP_CHECK(hipMemcpy2DAsync(device + Margin, pitch, image.data() + Margin, HostPitch, Width - 2 * Margin, Height,
                             hipMemcpyHostToDevice, stream));
  HIP_CHECK(hipMemcpy2DAsync(back.data(), Width, device, pitch, Width, Height, hipMemcpyDeviceToHost, stream));
  HIP_CHECK(hipStreamSynchronize(stream));
  for (size_t y = 0; y < Height; ++y)
    for (size_t x = 0; x < Width; ++x) {
      uint8_t expected = x < Margin || x >= Width - Margin ? 0xa5 : image[y * HostPitch + x];
      if (back[y * Width + x] != expected)
        sample::fail("pixel (%zu, %zu) is %#x, expected %#x", x, y, back[y * Width + x], expected);
    }
  HIP_CHECK(hipFree(device));
  HIP_CHECK(hipStreamDestroy(stream));
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 50'000);
  copiesOnManyStreams(n);
  orderBetweenStreams(n);
  pitchedCopies();
  return sample::pass();
}
