// Kernels that have been launched, by the kernel object in their packets.
//
// Knows neither how a kernel is instrumented nor what it looks like then.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

namespace luthier::runtime {

struct InstrumentedKernel;

/// Thread-safe. Launches only read.
class KernelRegistry {
public:
  using Kernel = std::shared_ptr<InstrumentedKernel>;

  /// Null when it was never added.
  Kernel find(uint64_t kernelObject) const;
  /// `executable`: the handle of what it was loaded with; 0 when its code is not known.
  void add(uint64_t kernelObject, uint64_t executable, Kernel kernel);
  /// Forgets the kernels of an executable; other code may be loaded at the same address next. 0: those whose code was
  /// not known.
  void forget(uint64_t executable);

private:
  struct Entry {
    Kernel kernel;
    uint64_t executable;
  };
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, Entry> kernels_;
};

} // namespace luthier::runtime
