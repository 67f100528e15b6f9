// The user's LUTHIER_... variables, checked before an application starts: inside it, all that is left to do about a
// wrong one is a message.
#pragma once

#include "cli/launch.h"
#include "support/result.h"

namespace luthier::cli {

/// The first of Luthier's variables with a value that is not one of those it can have. Names that are a slip of the
/// keyboard away from one of Luthier's get a warning.
Result<void> checkVariables(const Environment &current);

} // namespace luthier::cli
