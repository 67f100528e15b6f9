// Compiles a kernel template from a string at run time, finds one instantiation by name expression, and launches it
// through the module API with its arguments in a packed buffer.
#include "sample.h"

#include <hip/hiprtc.h>
#include <string>

const char *const Source = R"(
template <typename T, int Factor> __global__ void scale(const T *in, T *out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] * Factor + OFFSET;
}
)";

void checkRtc(hiprtcResult status, const char *call) {
  if (status != HIPRTC_SUCCESS)
    sample::fail("%s returned %s", call, hiprtcGetErrorString(status));
}
#define RTC_CHECK(call) checkRtc((call), #call)

int main(int argc, char **argv) {
  unsigned n = sample::sizeArgument(argc, argv, 100'000);
  hipDeviceProp_t properties;
  HIP_CHECK(hipGetDeviceProperties(&properties, 0));
  std::string target = std::string("--gpu-architecture=") + properties.gcnArchName;

  hiprtcProgram program;
  RTC_CHECK(hiprtcCreateProgram(&program, Source, "scale.hip", 0, nullptr, nullptr));
  const char *const nameExpression = "scale<float, 3>";
  RTC_CHECK(hiprtcAddNameExpression(program, nameExpression));
  const char *options[] = {target.c_str(), "-DOFFSET=7"};
  hiprtcResult compiled = hiprtcCompileProgram(program, 2, options);
  size_t logSize = 0;
  RTC_CHECK(hiprtcGetProgramLogSize(program, &logSize));
  if (logSize > 1) {
    std::string log(logSize, '\0');
    RTC_CHECK(hiprtcGetProgramLog(program, log.data()));
    std::printf("compiler: %s\n", log.c_str());
  }
  RTC_CHECK(compiled);
  const char *loweredName = nullptr;
  RTC_CHECK(hiprtcGetLoweredName(program, nameExpression, &loweredName));
  std::string kernelName = loweredName;
  size_t codeSize = 0;
  RTC_CHECK(hiprtcGetCodeSize(program, &codeSize));
  std::vector<char> code(codeSize);
  RTC_CHECK(hiprtcGetCode(program, code.data()));
  RTC_CHECK(hiprtcDestroyProgram(&program));

  hipModule_t module;
  hipFunction_t kernel;
  HIP_CHECK(hipModuleLoadData(&module, code.data()));
  HIP_CHECK(hipModuleGetFunction(&kernel, module, kernelName.c_str()));

  std::vector<float> in(n);
  for (unsigned i = 0; i < n; ++i)
    in[i] = i;
  sample::DeviceArray<float> deviceIn(in), deviceOut(n);
  struct {
    const float *in;
    float *out;
    unsigned n;
  } arguments = {deviceIn.data(), deviceOut.data(), n};
  size_t argumentBytes = sizeof arguments;
  void *config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &argumentBytes,
                    HIP_LAUNCH_PARAM_END};
  HIP_CHECK(hipModuleLaunchKernel(kernel, (n + 255) / 256, 1, 1, 256, 1, 1, 0, nullptr, nullptr, config));
  std::vector<float> out = deviceOut.toHost();
  HIP_CHECK(hipModuleUnload(module));

  for (unsigned i = 0; i < n; ++i)
    if (out[i] != in[i] * 3 + 7)
      sample::fail("out[%u] = %g, expected %g", i, out[i], in[i] * 3 + 7);
  std::printf("compiled %s (%zu bytes) and ran it on %u numbers\n", kernelName.c_str(), codeSize, n);
  return sample::pass();
}
