// The native side of benchmarks: an OpenCL device (PoCL) that runs kernels on the same cores and the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace luthier::bench {

/// One argument of a kernel: plain bytes, or a buffer by the address that `share` was given.
struct OpenClArgument {
  const void *bytes = nullptr;
  size_t size = 0;
  void *buffer = nullptr;
};

/// Ends the process with a message when something fails: a benchmark has nothing else to do.
class OpenCl {
public:
  /// The first CPU device, with this many threads. At most one in a process: PoCL reads the number once.
  OpenCl(unsigned threads, const std::string &sourceFile);
  ~OpenCl();
  OpenCl(const OpenCl &) = delete;
  OpenCl &operator=(const OpenCl &) = delete;

  std::string device() const;
  /// Makes memory of this process a buffer; kernels work in place.
  void share(void *memory, size_t bytes);
  /// Runs a kernel over a one-dimensional grid and waits for it.
  void run(const char *kernel, size_t grid, size_t workgroup, std::span<const OpenClArgument> arguments);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace luthier::bench
