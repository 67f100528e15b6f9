// Names of kernels, for messages and statistics, found in the code objects that ROCr has loaded.
//
// ROCr keeps a list of them for debuggers (an r_debug like that of the dynamic linker), as a symbol of its library, and
// hands it to the driver where that supports debugging. Each entry has a load bias and a URI of the ELF file, which may
// be in a file or in memory. The list changes under us when other threads load and unload code, so nothing in it is
// dereferenced: it is read with process_vm_readv, which fails where a load would crash.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct r_debug; // NOLINT(readability-identifier-naming): the C library's

namespace luthier::object {
class CodeObject;
}

namespace luthier::vgpu {

/// Addresses and names of the kernels (`NAME.kd`) in an AMD GPU ELF file; empty when the file is not one.
std::vector<std::pair<uint64_t, std::string>> kernelSymbols(std::span<const std::byte> elf);

/// A code object where it is loaded: its virtual addresses are `bias` less than those in memory.
struct LoadedObject {
  uint64_t bias = 0;
  std::vector<std::byte> elf;
};

class LoadedCode {
public:
  /// Null: look for the symbol.
  void setList(const r_debug *list);

  /// The kernel whose descriptor is at this address, or a name made of the address.
  std::string kernelName(uint64_t kernelObject);

  /// The code object that the address is in. Reads the file anew at each call.
  std::optional<LoadedObject> objectAt(uint64_t address);

  /// The ELF file of the only loaded code object that `is` says yes to; nothing when there are several.
  std::optional<std::vector<std::byte>> findObject(const std::function<bool(const object::CodeObject &)> &is);

  /// Whether the code object of the kernel whose descriptor is at this address does not say xnack-. False for code that
  /// is in no code object: ROCr's own kernels.
  bool madeForXnack(uint64_t kernelObject);

  /// The buffer through which a launch of that kernel calls the host (device-side printf), if it can: one of the hidden
  /// arguments at `kernarg`.
  std::optional<uint64_t> hostcallBuffer(uint64_t kernelObject, uint64_t kernarg);

  /// Code was unloaded: addresses may come back with other names.
  void forget();

private:
  std::string look(uint64_t kernelObject);
  /// All code objects that are loaded at or below the address, oldest first, until `visit` has seen enough.
  void walk(uint64_t address, const std::function<bool(uint64_t bias, std::vector<std::byte> elf)> &visit) const;

  std::mutex mutex_;
  const r_debug *list_ = nullptr;
  std::unordered_map<uint64_t, std::string> known_;
  std::unordered_map<uint64_t, bool> xnack_;
  std::unordered_map<uint64_t, std::optional<uint32_t>> hostcallArguments_; ///< offsets
};

} // namespace luthier::vgpu
