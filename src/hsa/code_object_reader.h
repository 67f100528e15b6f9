// Readers: where ROCr's loader takes a code object from.
#pragma once

#include "hsa/handle.h"

#include <cstddef>

namespace luthier::hsa {

class CodeObjectReader;
using OwnedCodeObjectReader = Owned<CodeObjectReader>;

/// What it reads must stay until all executables are destroyed that loaded from it: memory by the caller's care, files
/// by keeping the reader.
class CodeObjectReader : public Handle<CodeObjectReader, hsa_code_object_reader_t> {
public:
  static constexpr std::string_view kWhat = "code object reader";
  using Handle::Handle;

  static Result<OwnedCodeObjectReader> fromMemory(std::span<const std::byte> elf);
  /// The file may be closed afterwards.
  static Result<OwnedCodeObjectReader> fromFile(hsa_file_t file);
  /// Part of a file. What is not in it is an error here; ROCr would end the process when it reads it.
  static Result<OwnedCodeObjectReader> fromFile(hsa_file_t file, size_t offset, size_t size);
  static Result<OwnedCodeObjectReader> fromFile(const std::string &path);
  static Result<OwnedCodeObjectReader> fromFile(const std::string &path, size_t offset, size_t size);

  Result<void> destroy() const;
};

} // namespace luthier::hsa
