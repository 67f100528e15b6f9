// How the ioctls of a device file are served, /dev/kfd and render nodes alike: a row for each request, and one function
// that checks the caller's structure against the row.
//
// Callers are of other versions than this driver, so their structures may be shorter or longer than ours. A handler
// sees one of our size, with 0 where the caller has nothing; what a caller has behind ours must be 0.
#pragma once

#include "support/log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace luthier::vgpu {

/// A request of a device file that `Owner` serves.
template <typename Owner> struct RequestRow {
  unsigned number;
  const char *name;
  uint64_t leastBytes, mostBytes; ///< of the structure, in all versions
  uint64_t knownBytes;            ///< of our structure
  int (*run)(Owner &, void *argument);
};

namespace detail {
template <typename F> struct HandlerTypes;
template <typename O, typename T> struct HandlerTypes<int (*)(O &, T &)> {
  using Owner = O;
  using Argument = T;
};
} // namespace detail

/// The row of a request that the function `Run` serves: int Run(Owner &, Argument &), which returns an errno.
template <auto Run, typename Types = detail::HandlerTypes<decltype(Run)>>
constexpr RequestRow<typename Types::Owner> requestRow(unsigned number, const char *name,
                                                       uint64_t leastBytes = sizeof(typename Types::Argument),
                                                       uint64_t mostBytes = sizeof(typename Types::Argument)) {
  return {number,
          name,
          leastBytes,
          mostBytes,
          sizeof(typename Types::Argument),
          [](typename Types::Owner &owner, void *argument) {
            return Run(owner, *static_cast<typename Types::Argument *>(argument));
          }};
}

/// Calls the row's handler with a structure of our size that holds what `argument` does, and copies the answer back.
/// \returns an errno.
template <size_t MostKnownBytes, typename Owner>
int serveRequest(const RequestRow<Owner> &row, Owner &owner, uint64_t size, void *argument) {
  if (!argument)
    return EFAULT;
  if (size < row.leastBytes || size > row.mostBytes) {
    log::error("vgpu: {} with {} bytes; expected {} to {}", row.name, size, row.leastBytes, row.mostBytes);
    return EINVAL;
  }
  alignas(8) std::array<std::byte, MostKnownBytes> known{};
  const auto *bytes = static_cast<const std::byte *>(argument);
  const size_t common = std::min(size, row.knownBytes);
  if (std::any_of(bytes + common, bytes + size, [](std::byte byte) { return byte != std::byte{}; })) {
    log::error("vgpu: {} with {} bytes, of which those behind the first {} are not known and not 0", row.name, size,
               common);
    return EINVAL;
  }
  std::memcpy(known.data(), argument, common);
  const int error = row.run(owner, known.data());
  std::memcpy(argument, known.data(), common);
  return error;
}

} // namespace luthier::vgpu
