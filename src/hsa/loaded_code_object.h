// A code object that ROCr has loaded: where its ELF came from, and where it is in an agent's memory.
#pragma once

#include "hsa/agent.h"

#include <cstddef>

namespace luthier::hsa {

class Executable;

class LoadedCodeObject : public Handle<LoadedCodeObject, hsa_loaded_code_object_t> {
public:
  static constexpr std::string_view kWhat = "loaded code object";
  using Handle::Handle;

  /// The one that has this address of an agent's memory.
  static Result<LoadedCodeObject> containing(uint64_t address);

  Result<Executable> executable() const;
  Result<hsa_ven_amd_loader_loaded_code_object_kind_t> kind() const;
  Result<Agent> agent() const; ///< of an agent code object

  Result<uint64_t> loadBase() const;
  Result<uint64_t> loadSize() const;
  /// Copies loaded memory, from an offset to loadBase() on.
  Result<std::vector<std::byte>> readLoaded(uint64_t offset, size_t size) const;

  /// "file:///a/b.hsaco" or "memory://1234#offset=0x7f00&size=100" (support/code_object_uri.h).
  Result<std::string> uri() const;
  Result<hsa_ven_amd_loader_code_object_storage_type_t> storageType() const;
  /// The ELF where it was loaded from. ROCr keeps no copy: it is there only as long as its provider keeps it.
  Result<std::span<const std::byte>> storageMemory() const;
  /// A copy of the ELF, from memory or, where that has gone, from the file that the URI names. An error when neither is
  /// an ELF file any more.
  Result<std::vector<std::byte>> storageElf() const;
};

} // namespace luthier::hsa
