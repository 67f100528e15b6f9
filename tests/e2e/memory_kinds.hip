// Every way in which kernels reach memory that is not plain device memory of their own GPU and process, one by name:
// registered, managed, peer and free memory, and memory of other processes.
#include "sample.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int kCount = 100000;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void addOne(int *values, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count)
    values[at] += 1;
}

__global__ void copyTo(int *to, const int *from, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count)
    to[at] = from[at];
}

void runAddOne(int *values) {
  addOne<<<(kCount + 255) / 256, 256>>>(values, kCount);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
}

void expectAll(const int *values, int offset, const char *what) {
  for (int n = 0; n < kCount; ++n)
    if (values[n] != n + offset)
      sample::fail("%s: element %d is %d, not %d", what, n, values[n], n + offset);
}

void count(int *values) {
  for (int n = 0; n < kCount; ++n)
    values[n] = n;
}

int *counted(int offset = 0) {
  std::vector<int> values(kCount);
  for (int n = 0; n < kCount; ++n)
    values[n] = n + offset;
  int *device;
  HIP_CHECK(hipMalloc(&device, kBytes));
  HIP_CHECK(hipMemcpy(device, values.data(), kBytes, hipMemcpyHostToDevice));
  return device;
}

void expectDevice(const int *device, int offset, const char *what) {
  std::vector<int> values(kCount);
  HIP_CHECK(hipMemcpy(values.data(), device, kBytes, hipMemcpyDeviceToHost));
  expectAll(values.data(), offset, what);
}

// The application's own pages, by the GPU's address of them, which older thunks make another than the host's.
int registered() {
  std::vector<int> values(kCount + 1);
  int *const odd = values.data() + 1; // neither at the start of a page nor whole pages
  count(odd);
  HIP_CHECK(hipHostRegister(odd, kBytes, hipHostRegisterMapped));
  int *device = nullptr;
  HIP_CHECK(hipHostGetDevicePointer(reinterpret_cast<void **>(&device), odd, 0));
  runAddOne(device);
  expectAll(odd, 1, "registered memory");
  int *plain = counted(7); // copies from and to it
  HIP_CHECK(hipMemcpy(odd, plain, kBytes, hipMemcpyDeviceToHost));
  expectAll(odd, 7, "registered memory after a copy");
  copyTo<<<(kCount + 255) / 256, 256>>>(plain, device, kCount);
  HIP_CHECK(hipDeviceSynchronize());
  expectDevice(plain, 7, "a kernel's copy of registered memory");
  HIP_CHECK(hipHostUnregister(odd));
  for (int round = 0; round < 20; ++round) { // again and again, overlapping
    HIP_CHECK(hipHostRegister(odd + round * 8, 4096 * 8, hipHostRegisterDefault));
    HIP_CHECK(hipHostUnregister(odd + round * 8));
  }
  return sample::pass();
}

int managed() {
  int *values;
  HIP_CHECK(hipMallocManaged(&values, kBytes));
  count(values);
  for (int round = 1; round <= 3; ++round) {
    runAddOne(values);
    expectAll(values, round, "managed memory");
  }
  HIP_CHECK(hipMemPrefetchAsync(values, kBytes, 0, nullptr));
  HIP_CHECK(hipMemAdvise(values, kBytes, hipMemAdviseSetReadMostly, 0));
  HIP_CHECK(hipDeviceSynchronize());
  runAddOne(values);
  expectAll(values, 4, "managed memory after advice");
  HIP_CHECK(hipFree(values));
  return sample::pass();
}

// Copies between two devices, and kernels of the first on memory of the second.
void expectPeers(int first, int second) {
  int can = 0;
  HIP_CHECK(hipDeviceCanAccessPeer(&can, first, second));
  if (!can)
    sample::fail("device %d cannot access device %d", first, second);
  HIP_CHECK(hipSetDevice(second));
  int *there = counted(5);
  HIP_CHECK(hipSetDevice(first));
  int *here = counted();
  HIP_CHECK(hipMemcpyPeer(here, first, there, second, kBytes));
  expectDevice(here, 5, "a copy from a peer");
  HIP_CHECK(hipDeviceEnablePeerAccess(second, 0));
  runAddOne(there); // a kernel on `first`
  HIP_CHECK(hipSetDevice(second));
  expectDevice(there, 6, "a peer's memory");
  HIP_CHECK(hipSetDevice(first));
  copyTo<<<(kCount + 255) / 256, 256>>>(here, there, kCount);
  HIP_CHECK(hipDeviceSynchronize());
  expectDevice(here, 6, "what a kernel read from a peer");
  HIP_CHECK(hipDeviceDisablePeerAccess(second));
  HIP_CHECK(hipFree(here));
  HIP_CHECK(hipFree(there));
}

// All devices at once, each in a stream of its own: every one reads its neighbour's values, then writes to the
// neighbour behind it, with events between devices and no wait on the host.
void expectRing(int devices) {
  struct Member {
    hipStream_t stream;
    hipEvent_t read, written;
    int *own, *taken;
  };
  std::vector<Member> ring(devices);
  for (int n = 0; n < devices; ++n) {
    HIP_CHECK(hipSetDevice(n));
    HIP_CHECK(hipStreamCreate(&ring[n].stream));
    HIP_CHECK(hipEventCreateWithFlags(&ring[n].read, hipEventDisableTiming));
    HIP_CHECK(hipEventCreateWithFlags(&ring[n].written, hipEventDisableTiming));
    ring[n].own = counted(n);
    ring[n].taken = counted();
    for (int other = 0; other < devices; ++other)
      if (other != n)
        HIP_CHECK(hipDeviceEnablePeerAccess(other, 0));
  }
  constexpr int kGroups = (kCount + 255) / 256, kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    for (int n = 0; n < devices; ++n) {
      HIP_CHECK(hipSetDevice(n));
      const int next = (n + 1) % devices;
      if (round) // the neighbour's values were written by the next but one
        HIP_CHECK(hipStreamWaitEvent(ring[n].stream, ring[(n + 2) % devices].written, 0));
      copyTo<<<kGroups, 256, 0, ring[n].stream>>>(ring[n].taken, ring[next].own, kCount);
      HIP_CHECK(hipGetLastError());
      HIP_CHECK(hipEventRecord(ring[n].read, ring[n].stream));
    }
    for (int n = 0; n < devices; ++n) {
      HIP_CHECK(hipSetDevice(n));
      const int before = (n + devices - 1) % devices, beforeThat = (before + devices - 1) % devices;
      HIP_CHECK(hipStreamWaitEvent(ring[n].stream, ring[beforeThat].read, 0)); // who reads what is overwritten now
      HIP_CHECK(hipMemcpyAsync(ring[before].own, ring[n].taken, kBytes, hipMemcpyDeviceToDevice, ring[n].stream));
      addOne<<<kGroups, 256, 0, ring[n].stream>>>(ring[before].own, kCount);
      HIP_CHECK(hipGetLastError());
      HIP_CHECK(hipEventRecord(ring[n].written, ring[n].stream));
    }
  }
  // Member n takes from n + 1 and gives to n - 1: every round moves values on by two, and adds one.
  for (int n = 0; n < devices; ++n) {
    HIP_CHECK(hipSetDevice(n));
    HIP_CHECK(hipStreamSynchronize(ring[n].stream));
  }
  for (int n = 0; n < devices; ++n)
    expectDevice(ring[n].own, (n + 2 * kRounds) % devices + kRounds, "what went round");
}

int peer() {
  int devices = 0;
  HIP_CHECK(hipGetDeviceCount(&devices));
  if (devices < 2)
    sample::fail("%d devices", devices);
  for (int first = 0; first < devices; ++first)
    for (int second = 0; second < devices; ++second)
      if (first != second)
        expectPeers(first, second);
  expectRing(devices);
  printf("%d devices\n", devices);
  return sample::pass();
}

int freeMemory() {
  size_t before = 0, total = 0, during = 0, after = 0;
  HIP_CHECK(hipMemGetInfo(&before, &total));
  constexpr size_t kLarge = 256u << 20;
  void *large;
  HIP_CHECK(hipMalloc(&large, kLarge));
  HIP_CHECK(hipMemGetInfo(&during, &total));
  HIP_CHECK(hipFree(large));
  HIP_CHECK(hipMemGetInfo(&after, &total));
  if (before > total || before - during < kLarge || before - during > 2 * kLarge || after != before)
    sample::fail("of %zu bytes %zu are free, then %zu, then %zu", total, before, during, after);
  return sample::pass();
}

void useMemoryOfAnother(const hipIpcMemHandle_t &handle) {
  int *shared;
  HIP_CHECK(hipIpcOpenMemHandle(reinterpret_cast<void **>(&shared), handle, hipIpcMemLazyEnablePeerAccess));
  expectDevice(shared, 3, "another process's memory");
  runAddOne(shared);
  HIP_CHECK(hipIpcCloseMemHandle(shared));
}

void expectSuccess(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0)
    sample::fail("the child ended with status %#x", status);
}

// The child is made before HIP is used, and gets the handle through a pipe.
int ipc() {
  int pipes[2];
  if (pipe(pipes) != 0)
    sample::fail("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    hipIpcMemHandle_t handle;
    if (read(pipes[0], &handle, sizeof handle) != sizeof handle)
      sample::fail("no handle");
    useMemoryOfAnother(handle);
    return sample::pass();
  }
  int *device = counted(3);
  hipIpcMemHandle_t handle;
  HIP_CHECK(hipIpcGetMemHandle(&handle, device));
  if (write(pipes[1], &handle, sizeof handle) != sizeof handle)
    sample::fail("no pipe");
  expectSuccess(child);
  expectDevice(device, 4, "what the child wrote");
  HIP_CHECK(hipFree(device));
  return sample::pass();
}

// A child that knows nothing of HIP's state in its parent: another program's beginning.
int execed(const char *self) {
  int *device = counted(3);
  hipIpcMemHandle_t handle;
  HIP_CHECK(hipIpcGetMemHandle(&handle, device));
  std::string text;
  for (const char byte : handle.reserved) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  const pid_t child = fork();
  if (child == 0) {
    execl(self, self, "opened", text.c_str(), nullptr);
    _exit(127);
  }
  expectSuccess(child);
  expectDevice(device, 4, "what the child wrote");
  runAddOne(device);
  expectDevice(device, 5, "the parent's own kernel");
  return sample::pass();
}

int opened(const char *text) {
  hipIpcMemHandle_t handle;
  for (size_t n = 0; n < sizeof handle.reserved; ++n)
    handle.reserved[n] = static_cast<char>(strtoul(std::string(text + 2 * n, 2).c_str(), nullptr, 16));
  useMemoryOfAnother(handle);
  return sample::pass();
}

// Both sides use HIP for the first time after fork, at the same time.
int forkedFirst() {
  const pid_t child = fork();
  int *device = counted();
  for (int round = 0; round < 10; ++round)
    runAddOne(device);
  expectDevice(device, 10, child ? "the parent's memory" : "the child's memory");
  if (child)
    expectSuccess(child);
  return sample::pass();
}

// Children that leave HIP alone, while the parent's GPU is busy; the child's memory is its own.
int forkedLater() {
  int *device = counted(), *registered = static_cast<int *>(malloc(kBytes));
  count(registered);
  HIP_CHECK(hipHostRegister(registered, kBytes, hipHostRegisterMapped));
  for (int round = 1; round <= 10; ++round) {
    addOne<<<(kCount + 255) / 256, 256>>>(device, kCount);
    const pid_t child = fork();
    if (child == 0) {
      memset(registered, 0, kBytes);
      _exit(0);
    }
    HIP_CHECK(hipDeviceSynchronize());
    expectSuccess(child);
    expectDevice(device, round, "the parent's memory");
  }
  expectAll(registered, 0, "registered memory that a child overwrote");
  return sample::pass();
}

} // namespace

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "registered")
    return registered();
  if (what == "managed")
    return managed();
  if (what == "peer")
    return peer();
  if (what == "free")
    return freeMemory();
  if (what == "ipc")
    return ipc();
  if (what == "exec")
    return execed(argv[0]);
  if (what == "opened" && argc > 2)
    return opened(argv[2]);
  if (what == "fork_first")
    return forkedFirst();
  if (what == "fork_later")
    return forkedLater();
  sample::fail("what?");
}
