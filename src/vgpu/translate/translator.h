// What the wave engine and the translator know of each other.
//
// The translator turns straight guest code into host code. It contains LLVM's optimiser and code generator, which most
// runs never need, so it is a library of its own that is loaded when the first kernel has become hot; this header is
// all that both sides share, and has no LLVM in it.
#pragma once

#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace luthier::vgpu {

/// Whether a record has no modifiers, and only registers and constants as operands: what attempts (exec/row.h) are for.
inline bool isPlain(const Inst &inst) {
  if (!inst.row || single(inst) != inst.row->handler)
    return false;
  for (unsigned n = 0; n < 3; ++n)
    if (inst.srcKind[n] == SrcKind::Special || (inst.row->src[n] == Type::Mask && inst.srcKind[n] != SrcKind::Scalar))
      return false;
  return true;
}

/// Host code for straight guest code.
class TranslatedCode {
public:
  virtual ~TranslatedCode() = default;

  /// Runs a wave whose EXEC is full from the first instruction on. Vector registers are taken from `given`, as many as
  /// it was translated for, and to be 0 beyond; what is in the wave's does not matter. Returns which instruction the
  /// interpreter has to go on with, having written all registers that those before it have changed; at the last
  /// one, if that is s_endpgm, none.
  using Entry = uint32_t (*)(Wave *wave, const uint32_t *given);
  Entry entry = nullptr;

  /// Vector registers (indices into Wave::v) that have been written when the interpreter goes on with an instruction,
  /// sorted, by instruction.
  std::vector<std::vector<uint16_t>> written;
};

class Translator {
public:
  virtual ~Translator() = default;

  /// How `why` begins when LLVM failed, rather than something being left to the interpreter.
  static constexpr const char *kLlvmFailed = "LLVM: ";

  /// Translates `code`, records one behind the other of which all but the last are to be executed. `given`: how many
  /// vector registers have values at the start. Null when something in it cannot be translated; `why` then says what.
  /// One call at a time.
  virtual std::unique_ptr<TranslatedCode> translate(std::span<const Inst *const> code, uint32_t given,
                                                    std::string &why) = 0;
};

/// Called on a translating thread when LLVM cannot go on, with its message; LLVM would end the process. Must not
/// return: LLVM's locks may be held.
using OnFatal = void (*)(const char *message);

/// The library's only function: a translator for a CPU level (exec/level.h), or null when it has none for it.
inline constexpr const char *kMakeTranslator = "luthierVgpuMakeTranslator";
using MakeTranslator = Translator *(*)(const char *level, OnFatal onFatal);

} // namespace luthier::vgpu
