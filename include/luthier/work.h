// What an instruction does, in numbers: its class, floating-point operations and bytes.
#pragma once

#include "luthier/tool.h"

#include <string>
#include <string_view>

namespace luthier {

struct Work {
  std::string kind;     ///< "vector", "scalar", "matrix", "global", "lds", "branch", ...
  std::string flopType; ///< "f16", "f32", "f64", "bf16": of what goes in; empty when there are no FLOPs
  std::string byteType; ///< "global load", "lds store", ...; empty when it moves no memory
  uint64_t flopsPerLane = 0, flopsPerWave = 0;
  uint64_t bytesPerLane = 0, bytesPerWave = 0;
};

/// A multiplication or addition is one operation, so is a reciprocal, root, sine or the like; a fused one is two,
/// packed ones count each part, matrix instructions all of the products and sums that are made. Comparisons, minima,
/// conversions and moves are none. `text` is needed for dual instructions alone, whose second half only the text has.
LUTHIER_API Work workOf(const Instr &instr, std::string_view text = {});
inline Work workOf(const Function &function, const Instr &instr) {
  return workOf(instr, instr.is(Property::Dual) ? function.text(instr) : std::string());
}

} // namespace luthier
