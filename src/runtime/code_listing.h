// A kernel's code for reports: assembly text, blocks and source lines.
#pragma once

#include "luthier/tool.h"
#include "report/details.h"

namespace luthier::runtime {

report::KernelCode listCode(const Kernel &kernel);

/// "FUNCTION +OFFSET: INSTRUCTION", as tools name a place; empty if there is no instruction at that address.
std::string placeName(const Kernel &kernel, uint64_t address);

} // namespace luthier::runtime
