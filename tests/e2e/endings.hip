// Launches a kernel, waits for it, and ends in the way that its argument names.
#include <hip/hip_runtime.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

__global__ void fill(int *out) { out[threadIdx.x] = static_cast<int>(threadIdx.x); }

static int *out = nullptr;

int main(int argc, char **argv) {
  const std::string_view how = argc > 1 ? argv[1] : "return";
  if (hipMalloc(&out, 64 * sizeof(int)) != hipSuccess)
    return 1;
  fill<<<1, 64>>>(out);
  if (hipDeviceSynchronize() != hipSuccess)
    return 1;
  if (how == "exit")
    exit(3);
  if (how == "launch at exit") {
    atexit([] {
      fill<<<1, 64>>>(out);
      fill<<<1, 64>>>(out);
      if (hipDeviceSynchronize() != hipSuccess)
        puts("FAIL");
    });
    return 0;
  }
  if (how == "_exit")
    _exit(3);
  if (how == "_Exit")
    _Exit(3);
  if (how == "quick_exit")
    quick_exit(3);
  if (how == "abort")
    abort();
  if (how == "terminate")
    raise(SIGTERM);
  if (how == "interrupt")
    raise(SIGINT);
  if (how == "kill")
    raise(SIGKILL);
  if (how == "handler") {
    signal(SIGTERM, [](int) { _exit(3); });
    raise(SIGTERM);
  }
  if (how == "handler in malloc") {
    // The C library's allocator is most likely locked when the signal comes.
    signal(SIGALRM, [](int) { _exit(3); });
    ualarm(1000, 0);
    for (;;) {
      void *volatile memory = malloc(5000);
      void *volatile more = malloc(70000);
      free(memory);
      free(more);
    }
  }
  return 3;
}
