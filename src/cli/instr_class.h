// Ways to mean several instructions at once: classes by name ("stores"), and patterns of mnemonics ("global_store_*").
#pragma once

#include "luthier/instr.h"

#include <string_view>
#include <vector>

namespace luthier::cli {

std::vector<std::string_view> instrClassNames();
bool isInstrClass(std::string_view name);
/// The class must exist.
bool isOfClass(const Instr &instr, std::string_view name);

/// With `*` and `?`.
bool matchesPattern(std::string_view text, std::string_view pattern);

} // namespace luthier::cli
