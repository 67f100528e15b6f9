// Files as a whole: read at once, written so that nobody ever sees half of one.
#pragma once

#include "support/result.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace luthier {

Result<std::string> readFile(const std::filesystem::path &path);

/// Puts a new file in the place of what is there: written under another name in the same folder, then renamed. If
/// anything fails, what was there stays as it was.
Result<void> replaceFile(const std::filesystem::path &path, std::span<const std::byte> contents);

} // namespace luthier
