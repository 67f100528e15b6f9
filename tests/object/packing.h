// Makes compressed bundles of any version and method; clang-offload-bundler writes one of them only.
#pragma once

#include "object/decompress.h"

#include <gtest/gtest.h>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/MD5.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <vector>

namespace luthier::object {

/// The data after the header.
inline std::vector<std::byte> deflated(ByteSpan bytes, CompressedHeader::Method method) {
  if (method == CompressedHeader::Method::Zstd) {
    std::vector<std::byte> packed(ZSTD_compressBound(bytes.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
    return packed;
  }
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> packed(size);
  EXPECT_EQ(compress(reinterpret_cast<Bytef *>(packed.data()), &size, reinterpret_cast<const Bytef *>(bytes.data()),
                     bytes.size()),
            Z_OK);
  packed.resize(size);
  return packed;
}

inline std::vector<std::byte> pack(ByteSpan bytes, unsigned version, CompressedHeader::Method method) {
  const std::vector<std::byte> data = deflated(bytes, method);
  std::vector<std::byte> packed;
  auto put = [&](uint64_t value, size_t size) {
    for (size_t n = 0; n < size; ++n)
      packed.push_back(static_cast<std::byte>(value >> (8 * n)));
  };
  for (char c : {'C', 'C', 'O', 'B'})
    packed.push_back(static_cast<std::byte>(c));
  put(version, 2);
  put(static_cast<unsigned>(method), 2);
  const size_t field = version == 3 ? 8 : 4;
  if (version > 1)
    put((version == 3 ? 32 : 24) + data.size(), field);
  put(bytes.size(), field);
  put(llvm::MD5::hash({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}).low(), 8);
  packed.insert(packed.end(), data.begin(), data.end());
  return packed;
}

} // namespace luthier::object
