// Launches kernels and ends in the way that it is told: tests hold results of tools against it. Usage: ends MODE.
#include "sample.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int kItems = 256, kLaunches = 20;

__global__ void twice(uint32_t *data) { data[threadIdx.x] = data[threadIdx.x] * 2 + 1; }
__global__ void thrice(uint32_t *data) { data[threadIdx.x] = data[threadIdx.x] * 3 + threadIdx.x; }
__global__ void forever(volatile int *flag) {
  while (*flag == 0) {
  }
}

uint32_t *data = nullptr;

void work(int launches) {
  for (int n = 0; n < launches; n += 2) {
    twice<<<1, kItems>>>(data);
    thrice<<<1, kItems>>>(data);
  }
  HIP_CHECK(hipDeviceSynchronize());
}

void printSum() {
  std::vector<uint32_t> values(kItems);
  HIP_CHECK(hipMemcpy(values.data(), data, kItems * 4, hipMemcpyDeviceToHost));
  uint32_t sum = 0;
  for (uint32_t value : values)
    sum = sum * 31 + value;
  std::printf("sum %08x\n", sum);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  const std::string mode = argc > 1 ? argv[1] : "return";
  if (mode == "print") // something that only a proper end writes: stdout is no terminal
    std::printf("not flushed\n");
  if (mode == "idle") { // uses the GPU, and launches nothing
    HIP_CHECK(hipMalloc(&data, kItems * 4));
    return 0;
  }
  HIP_CHECK(hipMalloc(&data, kItems * 4));
  HIP_CHECK(hipMemset(data, 0, kItems * 4));
  if (mode == "print") {
    work(kLaunches);
    return 6;
  }
  work(kLaunches);
  printSum();
  if (mode == "remove")
    std::filesystem::remove_all(argv[2]);
  if (mode == "exit")
    std::exit(4);
  if (mode == "_exit")
    _exit(5);
  if (mode == "abort")
    std::abort();
  if (mode == "kill") {
    sleep(4); // results are written from time to time
    raise(SIGKILL);
  }
  if (mode == "terminate") // while kernels are being launched
    for (int n = 0;; ++n) {
      if (n == 5) {
        std::printf("ready\n");
        std::fflush(stdout);
      }
      work(kLaunches);
    }
  if (mode == "hang") {
    int *flag;
    HIP_CHECK(hipHostMalloc(&flag, sizeof(int), hipHostMallocCoherent));
    *flag = 0;
    forever<<<1, 64>>>(flag);
    std::printf("ready\n");
    std::fflush(stdout);
    HIP_CHECK(hipDeviceSynchronize());
  }
  if (mode == "fork") {
    // What children do at their end is not the application's end.
    for (const bool cleanUp : {true, false}) {
      const pid_t child = fork();
      if (child == 0) {
        if (cleanUp)
          std::exit(1);
        _exit(2);
      }
      int status = 0;
      waitpid(child, &status, 0);
      std::printf("child %d\n", WEXITSTATUS(status));
    }
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(3);
    }
    kill(child, SIGTERM);
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child signal %d\n", WTERMSIG(status));
    work(kLaunches);
    printSum();
  }
  return mode == "return" ? 3 : 0;
}
