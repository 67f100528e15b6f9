// The claims that poison mode tests (wave/poison.h): dead registers by liveness analysis of the code that is loaded.
//
// The wave engine knows nothing of code objects and their analysis; this is where the two meet.
#pragma once

#include "luthier/vgpu.h"
#include "support/result.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace luthier::vgpu {

class LoadedCode;

/// Dead registers in the functions that one code object's kernels reach, kernel by kernel. Addresses are virtual
/// addresses of the ELF file. Thread-safe.
class CodeObjectLiveness {
public:
  static Result<std::unique_ptr<CodeObjectLiveness>> create(std::vector<std::byte> elf, std::string origin);
  ~CodeObjectLiveness();

  /// Of the instruction at `pc`, in a launch of the kernel whose code starts at `entry`. Nothing for code that no
  /// symbol names or that the kernel is not seen to reach.
  std::optional<DeadRegisters> at(uint64_t entry, uint64_t pc);

private:
  struct Impl;
  explicit CodeObjectLiveness(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The same for whatever ROCr has loaded, by addresses in memory. What cannot be analysed is logged. Thread-safe.
class LoadedLiveness {
public:
  explicit LoadedLiveness(LoadedCode &code) : code_(code) {}
  std::optional<DeadRegisters> at(uint64_t entry, uint64_t pc);
  /// Code was unloaded.
  void forget();

private:
  struct Object {
    uint64_t bias = 0;
    std::unique_ptr<CodeObjectLiveness> liveness; ///< null: none to be had
  };
  std::shared_ptr<Object> objectAt(uint64_t entry);

  LoadedCode &code_;
  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Object>> byEntry_;
  std::map<uint64_t, std::weak_ptr<Object>> byBias_;
};

} // namespace luthier::vgpu
