// A HIP graph built node by node: copy in, two kernels, copy out; launched three times. Then the same work captured
// from a stream.
#include "sample.h"

constexpr int Launches = 3;

__global__ void addOne(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] += 1;
}

__global__ void doubleIt(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] *= 2;
}

// Launches the graph with new input each time; the graph's kernels are in order only if its edges are kept.
void launchAndCheck(const char *what, hipGraph_t graph, hipStream_t stream, int *host, int n) {
  hipGraphExec_t executable;
  HIP_CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int launch = 0; launch < Launches; ++launch) {
    for (int i = 0; i < n; ++i)
      host[i] = i + launch;
    HIP_CHECK(hipGraphLaunch(executable, stream));
    HIP_CHECK(hipStreamSynchronize(stream));
    for (int i = 0; i < n; ++i)
      if (host[i] != (i + launch + 1) * 2)
        sample::fail("%s, launch %d: element %d is %d, expected %d", what, launch, i, host[i], (i + launch + 1) * 2);
  }
  HIP_CHECK(hipGraphExecDestroy(executable));
  HIP_CHECK(hipGraphDestroy(graph));
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 50'000);
  size_t bytes = n * sizeof(int);
  int *host = nullptr;
  HIP_CHECK(hipHostMalloc(&host, bytes));
  sample::DeviceArray<int> device(n);
  hipStream_t stream;
  HIP_CHECK(hipStreamCreate(&stream));
  dim3 grid((n + 255) / 256), group(256);

  hipGraph_t graph;
  hipGraphNode_t copyIn, first, second, copyOut;
  HIP_CHECK(hipGraphCreate(&graph, 0));
  int *data = device.data();
  void *arguments[] = {&data, &n};
  hipKernelNodeParams kernel = {};
  kernel.gridDim = grid;
  kernel.blockDim = group;
  kernel.kernelParams = arguments;
  HIP_CHECK(hipGraphAddMemcpyNode1D(&copyIn, graph, nullptr, 0, data, host, bytes, hipMemcpyHostToDevice));
  kernel.func = reinterpret_cast<void *>(addOne);
  HIP_CHECK(hipGraphAddKernelNode(&first, graph, &copyIn, 1, &kernel));
  kernel.func = reinterpret_cast<void *>(doubleIt);
  HIP_CHECK(hipGraphAddKernelNode(&second, graph, &first, 1, &kernel));
  HIP_CHECK(hipGraphAddMemcpyNode1D(&copyOut, graph, &second, 1, host, data, bytes, hipMemcpyDeviceToHost));
  launchAndCheck("built graph", graph, stream, host, n);

  HIP_CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  HIP_CHECK(hipMemcpyAsync(data, host, bytes, hipMemcpyHostToDevice, stream));
  addOne<<<grid, group, 0, stream>>>(data, n);
  doubleIt<<<grid, group, 0, stream>>>(data, n);
  HIP_CHECK(hipMemcpyAsync(host, data, bytes, hipMemcpyDeviceToHost, stream));
  HIP_CHECK(hipStreamEndCapture(stream, &graph));
  launchAndCheck("captured graph", graph, stream, host, n);

  HIP_CHECK(hipStreamDestroy(stream));
  HIP_CHECK(hipHostFree(host));
  std::printf("two graphs of four nodes, each launched %d times on %d numbers\n", Launches, n);
  return sample::pass();
}
