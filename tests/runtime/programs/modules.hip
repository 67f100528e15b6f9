// Launches kernels of modules. Usage: modules same_name|gpus|reload FIRST SECOND, the latter code objects with a kernel
// `fill` (module_kernels.hip).
//   same_name: two launches of FIRST's, then three of SECOND's
//   gpus: two launches of FIRST's on GPU 0, then three on GPU 1
//   reload: FIRST is loaded, its kernel launched, and unloaded, six times
#include "sample.h"

#include <string_view>

namespace {

struct Module {
  explicit Module(const char *file) {
    HIP_CHECK(hipModuleLoad(&module, file));
    HIP_CHECK(hipModuleGetFunction(&fill, module, "fill"));
  }
  ~Module() { HIP_CHECK(hipModuleUnload(module)); }
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  void launch(int times) const {
    int *out = nullptr;
    HIP_CHECK(hipMalloc(&out, 64 * sizeof(int)));
    void *arguments[] = {&out};
    for (int n = 0; n < times; ++n)
      HIP_CHECK(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
    HIP_CHECK(hipDeviceSynchronize());
    HIP_CHECK(hipFree(out));
  }

  hipModule_t module = nullptr;
  hipFunction_t fill = nullptr;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 4)
    sample::fail("expected MODE FIRST SECOND");
  const std::string_view mode = argv[1];
  if (mode == "same_name") {
    const Module first(argv[2]), second(argv[3]);
    first.launch(2);
    second.launch(3);
  } else if (mode == "gpus") {
    for (const int gpu : {0, 1}) {
      HIP_CHECK(hipSetDevice(gpu));
      Module(argv[2]).launch(2 + gpu);
    }
  } else if (mode == "reload") {
    for (int n = 0; n < 6; ++n)
      Module(argv[2]).launch(1);
  }
  return sample::pass();
}
