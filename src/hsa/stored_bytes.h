// A copy of bytes that outlives where they came from, made without copying where possible.
//
// ROCr keeps no code object after it has loaded it; the memory or file that it was in belongs to the application, which
// may free it right away. Most code objects lie in the mapped file of a library: then the file is mapped a second
// time, which costs nothing until it is read. All others are copied.
#pragma once

#include "support/result.h"

#include <cstddef>
#include <memory>
#include <span>

namespace luthier::hsa {

class StoredBytes {
public:
  static Result<StoredBytes> ofMemory(std::span<const std::byte> bytes);
  /// Some bytes of an open file.
  static Result<StoredBytes> ofFile(int file, size_t offset, size_t size);

  std::span<const std::byte> bytes() const { return bytes_; }
  bool copied() const { return copied_; }

private:
  StoredBytes(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, bool copied)
      : owner_(std::move(owner)), bytes_(bytes), copied_(copied) {}
  static Result<StoredBytes> map(int file, size_t offset, size_t size);
  static StoredBytes copy(std::span<const std::byte> bytes);

  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  bool copied_ = false;
};

} // namespace luthier::hsa
