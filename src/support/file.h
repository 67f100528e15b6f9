// Files that are whole at every moment: readers, and a process that dies half-way, see the old one or the new one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "support/result.h"

namespace luthier {

/// Puts `contents` in the place of the file: written beside it, then renamed. A symbolic link stays one and its target
/// is replaced; what is no regular file (/dev/stdout, a pipe) is written to as it is. An existing file keeps its mode.
Result<void> replaceFile(const std::string &path, std::string_view contents);
inline Result<void> replaceFile(const std::string &path, std::span<const std::byte> contents) {
  return replaceFile(path, std::string_view(reinterpret_cast<const char *>(contents.data()), contents.size()));
}

/// All of a file. A folder is an error, though it could be opened.
Result<std::string> readFile(const std::string &path);

} // namespace luthier
