// Prints what HIP reports about each device and checks that it can be true.
#include "sample.h"

#include <cstring>

__global__ void readWaveSize(int *out) { *out = warpSize; }

void expect(bool condition, int device, const char *what) {
  if (!condition)
    sample::fail("device %d: %s", device, what);
}

int main() {
  int devices = 0, driver = 0, runtime = 0;
  HIP_CHECK(hipGetDeviceCount(&devices));
  HIP_CHECK(hipDriverGetVersion(&driver));
  HIP_CHECK(hipRuntimeGetVersion(&runtime));
  std::printf("%d device(s), HIP runtime %d, driver %d\n", devices, runtime, driver);
  if (devices < 1)
    sample::fail("no device");

  for (int device = 0; device < devices; ++device) {
    HIP_CHECK(hipSetDevice(device));
    hipDeviceProp_t p;
    HIP_CHECK(hipGetDeviceProperties(&p, device));
    std::printf("device %d: %s, %s, PCI %02x:%02x, integrated %d\n", device, p.name, p.gcnArchName, p.pciBusID,
                p.pciDeviceID, p.integrated);
    std::printf(
        "  %d compute units at %d MHz, wave size %d, at most %d threads per workgroup and %d per compute unit\n",
        p.multiProcessorCount, p.clockRate / 1000, p.warpSize, p.maxThreadsPerBlock, p.maxThreadsPerMultiProcessor);
    std::printf("  %zu MiB memory, %zu KiB LDS per workgroup, %d registers per workgroup, %d KiB L2\n",
                p.totalGlobalMem >> 20, p.sharedMemPerBlock >> 10, p.regsPerBlock, p.l2CacheSize >> 10);
    std::printf("  cooperative launch %d, concurrent kernels %d, managed memory %d, large BAR %d\n",
                p.cooperativeLaunch, p.concurrentKernels, p.managedMemory, p.isLargeBar);

    expect(p.name[0] != '\0' || p.gcnArchName[0] != '\0', device, "it has no name");
    expect(std::strncmp(p.gcnArchName, "gfx", 3) == 0, device, "the architecture is no gfx name");
    expect(p.multiProcessorCount > 0, device, "no compute units");
    expect(p.clockRate > 0, device, "no clock");
    expect(p.warpSize == 64 || p.warpSize == 32, device, "the wave size is neither 32 nor 64");
    expect(p.maxThreadsPerBlock == 1024, device, "the largest workgroup is not 1024 threads");
    expect(p.maxThreadsPerMultiProcessor >= p.maxThreadsPerBlock, device, "the largest workgroup fits no compute unit");
    expect(p.sharedMemPerBlock == 64 << 10, device, "LDS is not 64 KiB");

    size_t freeBytes = 0, totalBytes = 0;
    HIP_CHECK(hipMemGetInfo(&freeBytes, &totalBytes));
    expect(totalBytes == p.totalGlobalMem, device, "hipMemGetInfo and the properties differ");
    expect(freeBytes > 0 && freeBytes <= totalBytes, device, "more memory is free than there is");

    sample::DeviceArray<int> waveSize(1);
    readWaveSize<<<1, 1>>>(waveSize.data());
    HIP_CHECK(hipGetLastError());
    expect(waveSize.toHost()[0] == p.warpSize, device, "kernels see another wave size");
  }
  return sample::pass();
}
