// Names of files that several processes share: each process has a file of its own if the name has a key such as %pid%.
#pragma once

#include <string>
#include <string_view>

#include "support/result.h"

namespace luthier {

/// Replaces %pid%, %hostname%, %rank% (0 outside of MPI) and %env{NAME}% (nothing, if it is not set) in the name of a
/// file. Other names between percent signs are an error.
Result<std::string> expandKeys(std::string_view text);

} // namespace luthier
