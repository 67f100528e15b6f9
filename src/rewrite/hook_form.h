// How a hook's code gets into a kernel.
#pragma once

#include <cstdint>

namespace luthier::rewrite {

/// In the order of their names (env::kHookForms).
enum class HookForm : uint8_t {
  Auto,   ///< inline, unless that makes the code grow too much (rewrite/shared_hook.h)
  Inline, ///< a copy at each place
  Shared, ///< one copy that the places call; a place that cannot call it gets a copy of its own
};

} // namespace luthier::rewrite
