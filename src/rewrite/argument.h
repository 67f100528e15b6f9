// What an argument of an insertion is at its point: registers of the guest and constants, part by part.
#pragma once

#include "hook/fragment.h"
#include "rewrite/rewriter.h"

#include <vector>

namespace luthier::rewrite {

/// 32 bits: a constant or a register.
struct Word {
  bool constant = false;
  uint32_t value = 0;
  Reg reg{};

  static Word of(uint32_t value) { return {.constant = true, .value = value}; }
  static Word of(Reg reg) { return {.reg = reg}; }
};

struct ResolvedArgument {
  hook::Source source;
  struct Part {
    hook::Part part;
    std::vector<Word> words;
  };
  std::vector<Part> parts;
  std::optional<hook::LaunchValue> launch; ///< the words are known when the entry has been planned
};

/// What an argument is resolved in.
struct Surroundings {
  Position position;
  const object::KernelMetadata &metadata;
  const RegSet &allocated; ///< registers that the kernel has
  const isa::Target &target;
  unsigned waveSize;
};

/// `instr` is the instruction at the point.
Result<ResolvedArgument> resolve(const Argument &argument, const hook::HookParameter &parameter, hook::HookKind kind,
                                 const Instr &instr, const Surroundings &around);

/// EXEC or VCC of a wave of 32 lanes: the pair's upper half is not part of the mask.
bool isNarrowMask(RegRange regs, unsigned waveSize);

/// Whether code may name these as registers of a kernel with those allocated: error says why not.
Result<void> checkRegisters(RegRange regs, const RegSet &allocated, const isa::Target &target);

} // namespace luthier::rewrite
