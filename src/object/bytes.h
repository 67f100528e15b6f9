// Bytes of a file that nobody vouches for, read with checks.
//
// Every reader of this folder goes through here, so that a bad offset is one kind of error with one kind of text: what
// was to be read, where, and how much there is. Fields are little endian and copied out, since nothing about their
// alignment is promised either.
#pragma once

#include "support/result.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace luthier::object {

static_assert(std::endian::native == std::endian::little, "code objects are little endian and read by copying");

using ByteSpan = std::span<const std::byte>;

/// The value at the beginning of bytes that are known to be there.
template <class T>
  requires std::is_trivially_copyable_v<T>
T loadAs(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// `what` names the thing read in messages: "the section headers".
inline Result<ByteSpan> rangeOf(ByteSpan bytes, uint64_t offset, uint64_t size, std::string_view what) {
  if (offset > bytes.size() || bytes.size() - offset < size)
    return makeError("{} (offset {:#x}, {:#x} bytes) reach beyond the end at {:#x}", what, offset, size, bytes.size());
  return bytes.subspan(offset, size);
}

template <class T> Result<T> readAs(ByteSpan bytes, uint64_t offset, std::string_view what) {
  return loadAs<T>(LUTHIER_TRY(rangeOf(bytes, offset, sizeof(T), what)).data());
}

/// The text at `offset` up to its NUL, which must be there.
inline Result<std::string_view> textAt(ByteSpan strings, uint64_t offset, std::string_view what) {
  if (offset >= strings.size())
    return makeError("{} (offset {:#x}) lies beyond its string table of {:#x} bytes", what, offset, strings.size());
  const auto *begin = reinterpret_cast<const char *>(strings.data() + offset);
  const auto *end = static_cast<const char *>(std::memchr(begin, 0, strings.size() - offset));
  if (!end)
    return makeError("{} (offset {:#x}) does not end within its string table", what, offset);
  return std::string_view(begin, static_cast<size_t>(end - begin));
}

} // namespace luthier::object
