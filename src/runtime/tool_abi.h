// Whether a shared library is a tool, and one that was built for this Luthier. For the runtime and for the command.
#pragma once

#include "support/result.h"

#include <string_view>

namespace luthier::runtime {

/// `library` is what dlopen gave for `path`. Nothing in it is called.
Result<void> checkTool(void *library, std::string_view path);

/// Whether the library is linked with HIP or ROCr, so that its functions may call them.
bool usesGpuRuntime(void *library);

} // namespace luthier::runtime
