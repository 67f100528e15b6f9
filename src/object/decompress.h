// Compressed offload bundles ("CCOB"): a header, and a bundle packed with zlib or zstd (clang-offload-bundler
// -compress, versions 1 to 3 of the header).
#pragma once

#include "object/bytes.h"
#include "support/result.h"

#include <memory>

namespace luthier::object {

/// Memory for an unpacked bundle. Taken from the operating system directly: pages that are never written cost nothing.
class Buffer {
public:
  static Result<Buffer> make(uint64_t size);

  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  ~Buffer();

  std::byte *data() { return data_; }
  ByteSpan bytes() const { return {data_, size_}; }

private:
  Buffer() = default;

  std::byte *data_ = nullptr;
  size_t size_ = 0;
};

struct CompressedHeader {
  unsigned version = 0;
  enum class Method : uint8_t { Zlib, Zstd } method = Method::Zlib;
  uint64_t headerSize = 0;
  uint64_t totalSize = 0; ///< with the header; 0 in version 1, which does not say
  uint64_t unpackedSize = 0;
  uint64_t hash = 0; ///< the lower half of the unpacked bytes' MD5
};

/// What is believed of a header before anything is allocated.
struct UnpackLimits {
  uint64_t bytes = uint64_t{8} << 30;
  /// zlib cannot pack better than 1032 to 1, and no real code comes near.
  uint64_t ratio = 4096;
};

bool isCompressedBundle(ByteSpan bytes);

/// The header at the beginning of `bytes`, checked against them and the limits.
Result<CompressedHeader> readCompressedHeader(ByteSpan bytes, const UnpackLimits &limits = {});

struct Unpacked {
  Buffer bundle;
  uint64_t consumed = 0; ///< bytes of the input, with the header
};

/// Unpacks, and checks size and hash.
Result<Unpacked> unpack(ByteSpan bytes, const CompressedHeader &header);

} // namespace luthier::object
