// Where ROCr says that a code object came from, "file:///a/b.hsaco#offset=4096&size=100" or
// "memory://1234#offset=0x7f00&size=100" (hsa_ven_amd_loader.h), and the bytes that are there.
//
// Such bytes may be gone: files are replaced, memory is unmapped. Memory is therefore read with process_vm_readv, which
// fails where a load would crash.
#pragma once

#include "support/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace luthier {

/// Copies memory of this process; false when some of it cannot be read.
bool readOwnMemory(uint64_t address, void *into, size_t size);

struct CodeObjectUri {
  bool inMemory = false;
  std::string path; ///< of the file
  uint64_t offset = 0;
  std::optional<uint64_t> size; ///< none: up to the end of the file

  static Result<CodeObjectUri> parse(std::string_view text);

  /// What is there now.
  Result<std::vector<std::byte>> read() const;
};

} // namespace luthier
