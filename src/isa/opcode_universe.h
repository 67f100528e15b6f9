// Every instruction of a target, as LLVM knows it: what an instruction table is measured against.
#pragma once

#include "isa/format.h"
#include "support/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace luthier::isa {

struct Target;

/// One way to encode an instruction, out of those that LLVM tells apart: VOP2, VOP3, SDWA, DPP, with and without an
/// address register...
struct OpcodeForm {
  Format format;
  uint64_t bits; ///< an example, first dword in the low half; what follows may be zeros
};

struct OpcodeEntry {
  std::string mnemonic; ///< without encoding suffix, as Disassembled::mnemonic
  std::vector<OpcodeForm> forms;
};

struct OpcodeUniverse {
  std::vector<OpcodeEntry> opcodes; ///< sorted by mnemonic
  size_t forms = 0;                 ///< of all of them
  uint64_t probes = 0;              ///< bit patterns that LLVM was asked about
  uint64_t valid = 0;               ///< those that it called instructions

  const OpcodeEntry *find(std::string_view mnemonic) const;
};

/// Walks the target's instruction space. Takes some tenths of a second.
Result<OpcodeUniverse> opcodeUniverse(const Target &target);

} // namespace luthier::isa
