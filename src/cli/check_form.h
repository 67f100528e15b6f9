// Who looks at what kernels do in a checked run: the virtual GPU, or hooks.
#pragma once

#include "check/checks.h"
#include "support/result.h"

namespace luthier::cli {

struct CheckForm {
  bool asked = false;   ///< the user wants hooks
  bool realGpu = false; ///< the application runs on a real GPU
};

/// Whether hooks check: asked for, or there is a real GPU only. An error names the checks that hooks cannot do.
Result<bool> checksByHooks(const check::Checks &checks, const CheckForm &form);

} // namespace luthier::cli
