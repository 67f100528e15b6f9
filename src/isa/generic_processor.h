// Generic processors: names for what several have in common, "gfx10-3-generic" (LLVM's AMDGPUUsage, "Generic
// processor"). Code for one runs on all its members.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace luthier::isa {

/// The processors that code for a generic one runs on. None for any other processor.
std::span<const std::string_view> membersOf(std::string_view processor);

/// Which of its members generic code knew, by the e_flags of a code object of version 6. 0 in all other code.
constexpr unsigned genericVersion(uint32_t elfFlags) { return elfFlags >> 24; }

} // namespace luthier::isa
