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

/// `instr` is the instruction at the point; `allocated` are the registers that the kernel has.
Result<ResolvedArgument> resolve(const Argument &argument, const hook::HookParameter &parameter, hook::HookKind kind,
                                 const Instr &instr, const RegSet &allocated, const isa::Target &target);

/// Whether code may name these as registers of a kernel with those allocated: error says why not.
Result<void> checkRegisters(RegRange regs, const RegSet &allocated, const isa::Target &target);

} // namespace luthier::rewrite
