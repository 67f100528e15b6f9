// Files that are whole at every moment: readers, and a process that dies half-way, see the old one or the new one.
#pragma once

#include <string>
#include <string_view>

#include "support/result.h"

namespace luthier {

/// Puts `contents` in the place of the file: written beside it, then renamed. A symbolic link stays one and its target
/// is replaced; what is no regular file (/dev/stdout, a pipe) is written to as it is. An existing file keeps its mode.
Result<void> replaceFile(const std::string &path, std::string_view contents);

} // namespace luthier
