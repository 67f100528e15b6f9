// What every sample shares: checked HIP calls, the PASS/FAIL/SKIP line, repeatable random data, and a device array.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace sample {

// Ends the program with `FAIL: reason`.
[[noreturn]] __attribute__((format(printf, 1, 2))) inline void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::printf("FAIL: ");
  std::vprintf(format, arguments);
  std::printf("\n");
  va_end(arguments);
  std::exit(1);
}

// The last statement of main.
inline int pass() {
  std::printf("PASS\n");
  return 0;
}

// Ends the program because the GPU lacks something. On virtual GPUs none does, so that tests fail then.
[[noreturn]] inline void skip(const char *reason) {
  std::printf("SKIP: %s\n", reason);
  std::exit(77);
}

inline void checkHip(hipError_t status, const char *call, const char *file, int line) {
  if (status != hipSuccess)
    fail("%s:%d: %s returned %s", file, line, call, hipGetErrorName(status));
}
#define HIP_CHECK(call) ::sample::checkHip((call), #call, __FILE__, __LINE__)

// argv[1] as a size, or the default.
inline int sizeArgument(int argc, char **argv, int otherwise) {
  int size = argc > 1 ? std::atoi(argv[1]) : otherwise;
  if (size <= 0)
    fail("the size must be a positive number");
  return size;
}

// The same numbers on every run and machine (SplitMix64).
class Random {
public:
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint32_t below(uint32_t bound) { return uint32_t(bits() >> 32) % bound; }
  double uniform(double low, double high) { return low + (high - low) * double(bits() >> 11) * 0x1p-53; }

private:
  uint64_t state_ = 42;
};

// Device memory of `size` elements, freed with the object.
template <typename T> class DeviceArray {
public:
  explicit DeviceArray(size_t size) : size_(size) { HIP_CHECK(hipMalloc(&data_, size * sizeof(T))); }
  explicit DeviceArray(const std::vector<T> &host) : DeviceArray(host.size()) {
    HIP_CHECK(hipMemcpy(data_, host.data(), size_ * sizeof(T), hipMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  ~DeviceArray() { HIP_CHECK(hipFree(data_)); }

  T *data() const { return data_; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }
  void zero() { HIP_CHECK(hipMemset(data_, 0, bytes())); }
  // Waits for earlier work of the default stream.
  std::vector<T> toHost() const {
    std::vector<T> host(size_);
    HIP_CHECK(hipMemcpy(host.data(), data_, bytes(), hipMemcpyDeviceToHost));
    return host;
  }

private:
  T *data_ = nullptr;
  size_t size_ = 0;
};

} // namespace sample
