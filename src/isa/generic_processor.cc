#include "isa/generic_processor.h"

#include <algorithm>
#include <initializer_list>

namespace luthier::isa {

namespace {

struct GenericProcessor {
  std::string_view name;
  std::initializer_list<std::string_view> members;
};

// LLVM's AMDGPUUsage, "Generic processor". The ones with matrix instructions before gfx940, gfx908 and gfx90a, belong
// to none.
constexpr GenericProcessor kGenericProcessors[] = {
    {"gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
    {"gfx9-4-generic", {"gfx942", "gfx950", "gfx940", "gfx941"}},
    {"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
    {"gfx10-3-generic", {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
    {"gfx11-generic", {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
};

} // namespace

std::span<const std::string_view> membersOf(std::string_view processor) {
  const auto *found = std::ranges::find(kGenericProcessors, processor, &GenericProcessor::name);
  return found == std::end(kGenericProcessors) ? std::span<const std::string_view>() : std::span(found->members);
}

} // namespace luthier::isa
