// Ways to end after a bad access: `check_endings HOW`. Each must leave the finding behind.
#include "sample.h"

#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace {

__global__ void store(int *to) { to[threadIdx.x] = 1; }

/// Needs all registers that 1024 work-items leave each other, so that hooks do not fit.
__global__ __launch_bounds__(1024) void full(int *to, int rounds) {
  constexpr int kValues = 128;
  int values[kValues];
#pragma unroll
  for (int i = 0; i < kValues; ++i)
    values[i] = to[threadIdx.x ^ i];
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < kValues; ++i)
      values[i] = values[i] * values[(i + 1) % kValues] + values[(i + 37) % kValues];
  int sum = 0;
#pragma unroll
  for (int i = 0; i < kValues; ++i)
    sum += values[i] * i;
  to[threadIdx.x] = sum;
}

/// One allocation of each kind, to be freed or not.
void allocate(bool freed) {
  void *device = nullptr, *host = nullptr, *managed = nullptr;
  HIP_CHECK(hipMalloc(&device, 1000));
  HIP_CHECK(hipHostMalloc(&host, 2000, 0));
  HIP_CHECK(hipMallocManaged(&managed, 3000, hipMemAttachGlobal));
  store<<<1, 64>>>(static_cast<int *>(managed));
  HIP_CHECK(hipDeviceSynchronize());
  if (!freed)
    return;
  HIP_CHECK(hipFree(device));
  HIP_CHECK(hipHostFree(host));
  HIP_CHECK(hipFree(managed));
}

void access(int items) {
  int *memory = nullptr;
  HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&memory), 64 * sizeof(int)));
  store<<<1, items>>>(memory);
  HIP_CHECK(hipDeviceSynchronize());
}

} // namespace

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  const auto is = [&](const char *name) { return std::strcmp(how, name) == 0; };
  if (is("child")) {
    // Before any use of HIP, which does not survive a fork.
    const pid_t child = fork();
    if (child == 0) {
      access(65);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    return sample::pass();
  }
  if (is("freed") || is("leaks")) {
    allocate(is("freed"));
    return sample::pass();
  }
  if (is("nothing"))
    return sample::pass();
  if (is("full")) {
    int *memory = nullptr;
    HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&memory), 1024 * sizeof(int)));
    HIP_CHECK(hipMemset(memory, 0, 1024 * sizeof(int)));
    full<<<1, 1024>>>(memory, 2);
    HIP_CHECK(hipDeviceSynchronize());
    return sample::pass();
  }
  access(is("clean") || is("status") ? 64 : 65);
  if (is("abort"))
    abort();
  if (is("kill"))
    raise(SIGKILL);
  if (is("_exit"))
    _exit(0);
  if (is("status") || is("both"))
    return 7;
  return sample::pass();
}
