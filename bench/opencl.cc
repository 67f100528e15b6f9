#define CL_TARGET_OPENCL_VERSION 120
#include "opencl.h"

#include <CL/cl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

namespace luthier::bench {

namespace {

void check(cl_int status, const char *what) {
  if (status == CL_SUCCESS)
    return;
  fmt::print(stderr, "vgpu_bench: {} failed with OpenCL error {}\n", what, status);
  exit(1);
}

} // namespace

struct OpenCl::State {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  std::map<std::string, cl_kernel> kernels;
  std::map<void *, cl_mem> buffers;
};

OpenCl::OpenCl(unsigned threads, const std::string &sourceFile) : state_(new State) {
  setenv("POCL_MAX_PTHREAD_COUNT", std::to_string(threads).c_str(), 1);
  cl_platform_id platform;
  check(clGetPlatformIDs(1, &platform, nullptr), "finding an OpenCL platform (Debian: pocl-opencl-icd)");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &state_->device, nullptr), "finding a CPU device");
  cl_uint units = 0;
  check(clGetDeviceInfo(state_->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr), "asking a device");
  if (units != threads) {
    fmt::print(stderr, "vgpu_bench: the OpenCL device has {} threads and not {}\n", units, threads);
    exit(1);
  }
  cl_int status;
  state_->context = clCreateContext(nullptr, 1, &state_->device, nullptr, nullptr, &status);
  check(status, "making a context");
  state_->queue = clCreateCommandQueue(state_->context, state_->device, 0, &status);
  check(status, "making a queue");
  std::ifstream file(sourceFile);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  const char *text = source.c_str();
  state_->program = clCreateProgramWithSource(state_->context, 1, &text, nullptr, &status);
  check(status, "loading the kernels");
  check(clBuildProgram(state_->program, 1, &state_->device, "", nullptr, nullptr), "compiling the kernels");
}

OpenCl::~OpenCl() {
  for (auto &[name, kernel] : state_->kernels)
    clReleaseKernel(kernel);
  for (auto &[memory, buffer] : state_->buffers)
    clReleaseMemObject(buffer);
  clReleaseProgram(state_->program);
  clReleaseCommandQueue(state_->queue);
  clReleaseContext(state_->context);
}

std::string OpenCl::device() const {
  char name[256] = {};
  check(clGetDeviceInfo(state_->device, CL_DEVICE_NAME, sizeof name - 1, name, nullptr), "asking a device");
  return name;
}

void OpenCl::share(void *memory, size_t bytes) {
  cl_int status;
  state_->buffers[memory] =
      clCreateBuffer(state_->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, memory, &status);
  check(status, "making a buffer");
}

void OpenCl::run(const char *name, size_t grid, size_t workgroup, std::span<const OpenClArgument> arguments) {
  cl_kernel &kernel = state_->kernels[name];
  if (!kernel) {
    cl_int status;
    kernel = clCreateKernel(state_->program, name, &status);
    check(status, name);
  }
  for (cl_uint n = 0; n < arguments.size(); ++n) {
    const OpenClArgument &a = arguments[n];
    if (a.buffer)
      check(clSetKernelArg(kernel, n, sizeof(cl_mem), &state_->buffers.at(a.buffer)), "passing a buffer");
    else
      check(clSetKernelArg(kernel, n, a.size, a.bytes), "passing an argument");
  }
  check(clEnqueueNDRangeKernel(state_->queue, kernel, 1, nullptr, &grid, &workgroup, 0, nullptr, nullptr), name);
  check(clFinish(state_->queue), name);
}

} // namespace luthier::bench
