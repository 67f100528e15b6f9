// What may be the case before each instruction of a fragment: forwards along all ways through its code.
#pragma once

#include "isa/decode.h"

#include <cstddef>
#include <vector>

namespace luthier::hook {

/// States before each instruction, and at the end. `start` stands for "nothing happened". `step(n, instr, state)` turns
/// the state before instruction n into the one behind it; `State::merge` says whether it changed, and only ever adds.
template <class State, class Step>
std::vector<State> statesBefore(const isa::InstrSequence &sequence, const State &start, Step &&step) {
  const auto code = sequence.instrs();
  std::vector<State> before(code.size() + 1, start);
  const auto indexOf = [&](uint64_t address) {
    const Instr *at = sequence.at(address);
    return at ? static_cast<size_t>(at - code.data()) : code.size();
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t n = 0; n < code.size(); ++n) {
      const Instr &instr = code[n];
      State after = before[n];
      step(n, instr, after);
      if (const auto to = instr.target())
        changed |= before[indexOf(*to)].merge(after);
      if (!instr.is(Property::Branch) || instr.is(Property::Conditional))
        changed |= before[n + 1].merge(after);
    }
  }
  return before;
}

} // namespace luthier::hook
