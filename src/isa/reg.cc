#include "luthier/reg.h"

#include <fmt/format.h>

namespace luthier {

namespace {

std::string numbered(std::string_view prefix, unsigned first, unsigned count) {
  return count == 1 ? fmt::format("{}{}", prefix, first) : fmt::format("{}[{}:{}]", prefix, first, first + count - 1);
}

/// Pairs that have a name, by their low half.
std::string_view pairName(Reg low) {
  switch (low) {
  case Reg::FlatScrLo:
  case Reg::FlatScratchLo:
    return "flat_scratch";
  case Reg::XnackMaskLo:
    return "xnack_mask";
  case Reg::VccLo:
    return "vcc";
  case Reg::ExecLo:
    return "exec";
  default:
    return {};
  }
}

std::string_view singleName(Reg reg) {
  switch (reg) {
  case Reg::M0:
    return "m0";
  case Reg::Null:
    return "null";
  case Reg::Scc:
    return "scc";
  case Reg::Mode:
    return "mode";
  default:
    return {};
  }
}

} // namespace

std::string toString(RegRange range) {
  const unsigned first = number(range.first);
  if (range.empty())
    return "none";
  if (isAccumulator(range.first))
    return numbered("a", first - number(Reg::A0), range.count);
  if (isVector(range.first))
    return numbered("v", first - number(Reg::V0), range.count);
  if (range.count == 1) {
    if (const std::string_view name = singleName(range.first); !name.empty())
      return std::string(name);
    if (const std::string_view name = pairName(range.first); !name.empty())
      return fmt::format("{}_lo", name);
    if (const std::string_view name = first ? pairName(static_cast<Reg>(first - 1)) : std::string_view(); !name.empty())
      return fmt::format("{}_hi", name);
  }
  if (range.count == 2)
    if (const std::string_view name = pairName(range.first); !name.empty())
      return std::string(name);
  if (first >= number(Reg::Ttmp0) && first < number(Reg::M0))
    return numbered("ttmp", first - number(Reg::Ttmp0), range.count);
  return numbered("s", first, range.count);
}

} // namespace luthier
