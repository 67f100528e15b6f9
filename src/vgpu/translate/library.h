// Loads the translator when it is first needed.
#pragma once

#include "vgpu/translate/translator.h"

namespace luthier::vgpu {

/// The translator for this CPU, which lives as long as the process. Null when there is none: the CPU's level has none,
/// or the library is not where it should be, which is said once. Thread-safe.
Translator *translator();

} // namespace luthier::vgpu
