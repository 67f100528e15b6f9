// Files that are whole at every moment: readers, and a process that dies half-way, see the old one or the new one.
//
// What is written on the way has a name that nobody can guess, and is never what somebody else has put there (O_EXCL,
// which also follows no link): outputs may be in folders that others can write to.
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

/// The same for a file `name` in an opened folder; whatever has that name, a link too, is replaced. The new file has
/// `mode` less the process's mask.
Result<void> replaceFileAt(int folder, const std::string &name, std::string_view contents, unsigned mode);

/// What is left to read of an opened file.
Result<std::string> readAll(int file);

/// All of a file. A folder is an error, though it could be opened.
Result<std::string> readFile(const std::string &path);

} // namespace luthier
