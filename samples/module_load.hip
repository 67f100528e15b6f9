// Loads and unloads a code object a hundred times, from its file and from memory in turn. Each time it writes and reads
// the code object's global variables from the host and launches a kernel that uses them. The code object is built
// beside the sample from module_load_kernels.hip; another may be named as the first argument.
#include "sample.h"

#include <fstream>
#include <iterator>

constexpr int Rounds = 100;
constexpr int Elements = 256;

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : SAMPLE_CODE_OBJECT;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> image((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (image.empty())
    sample::fail("cannot read %s", path);

  sample::DeviceArray<int> out(Elements);
  for (int round = 0; round < Rounds; ++round) {
    hipModule_t module;
    if (round % 2 == 0)
      HIP_CHECK(hipModuleLoad(&module, path));
    else
      HIP_CHECK(hipModuleLoadData(&module, image.data()));

    hipDeviceptr_t offset, launches;
    size_t offsetBytes = 0, launchesBytes = 0;
    HIP_CHECK(hipModuleGetGlobal(&offset, &offsetBytes, module, "offset"));
    HIP_CHECK(hipModuleGetGlobal(&launches, &launchesBytes, module, "launches"));
    if (offsetBytes != sizeof(int) || launchesBytes != sizeof(int))
      sample::fail("the globals have %zu and %zu bytes", offsetBytes, launchesBytes);
    HIP_CHECK(hipMemcpyHtoD(offset, &round, sizeof round));

    hipFunction_t kernel;
    HIP_CHECK(hipModuleGetFunction(&kernel, module, "fill"));
    int *outPointer = out.data();
    int n = Elements;
    void *arguments[] = {&outPointer, &n};
    HIP_CHECK(hipModuleLaunchKernel(kernel, Elements / 64, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));

    std::vector<int> result = out.toHost();
    for (int i = 0; i < Elements; ++i)
      if (result[i] != 3 * i + round)
        sample::fail("round %d: out[%d] = %d, expected %d", round, i, result[i], 3 * i + round);
    // A fresh load starts from the initial value again.
    int counted = 0;
    HIP_CHECK(hipMemcpyDtoH(&counted, launches, sizeof counted));
    if (counted != 1000 + Elements / 64)
      sample::fail("round %d: the counter is %d, expected %d", round, counted, 1000 + Elements / 64);
    HIP_CHECK(hipModuleUnload(module));
  }
  std::printf("loaded, ran and unloaded %zu bytes of code object %d times\n", image.size(), Rounds);
  return sample::pass();
}
