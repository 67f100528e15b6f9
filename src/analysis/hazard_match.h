// What a rule of hazard_rules.h sees of instructions: their classes, and how two of them are connected.
#pragma once

#include "analysis/hazard_rules.h"
#include "luthier/instr.h"

#include <span>

namespace luthier::analysis::hazard {

/// What is known of an instruction without its operands.
struct FormTraits {
  Classes classes = 0;
  uint8_t passes = 0, passes940 = 0; ///< of matrix instructions, up to gfx90a and from gfx940 on
};
/// A look into a table.
const FormTraits &traitsOf(const Instr &instr);

struct Info {
  const Instr *instr = nullptr;
  Classes classes = 0;
};
Info infoOf(const Instr &instr);

bool connected(Share share, const Instr &earlier, const Instr &later);

/// Whether other matrix instructions have made theirs what a rule about an earlier one is about: they could not start
/// before that was done.
bool superseded(const Rule &rule, const Instr &earlier, const Instr &later, std::span<const Instr *const> between);

} // namespace luthier::analysis::hazard
