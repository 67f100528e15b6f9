// What the wave engine and the translator know of each other.
//
// The translator turns kernels into host code. It contains LLVM's optimiser and code generator, which most
// runs never need, so it is a library of its own that is loaded when the first kernel has become hot; this header is
// all that both sides share, and has no LLVM in it.
#pragma once

#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"
#include "vgpu/translate/guest_code.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace luthier::vgpu {

/// Host code of a kernel.
class TranslatedCode {
public:
  virtual ~TranslatedCode() = default;

  // What `entry` returns, if not the number of the instruction that the interpreter has to go on with.
  static constexpr uint32_t kEnded = ~0u;       ///< the wave has ended; nothing of it has been kept
  static constexpr uint32_t kStopped = ~0u - 1; ///< a handler has stopped the wave: `stop` and `ip` say how
  static constexpr uint32_t kLeft = ~0u - 2;    ///< the interpreter has to go on at the wave's `ip`
  static constexpr uint32_t kRefused = ~0u - 3; ///< nothing has been done: EXEC is not full
  static constexpr uint32_t kYield = 1u << 31;  ///< the budget is used up; with the number of where to come in again
  static constexpr bool yields(uint32_t returned) { return returned >= kYield && returned < kRefused; }

  /// Runs a wave from instruction number `at`, which is an entry of the code. From the first on, vector registers are
  /// taken from `given`, as many as it was translated for, and are 0 beyond; EXEC must be full. At the other entries
  /// they are the wave's. `budget`: how many branches backwards to take.
  ///
  /// All registers that have changed and will be read again are in the wave's record when the interpreter goes on.
  using Entry = uint32_t (*)(Wave *wave, const uint32_t *given, uint32_t at, uint32_t budget);
  Entry entry = nullptr;

  std::vector<uint32_t> called; ///< numbers of the instructions whose handlers are called each time
};

class Translator {
public:
  virtual ~Translator() = default;

  /// How `why` begins when LLVM failed, rather than something being left to the interpreter.
  static constexpr const char *kLlvmFailed = "LLVM: ";

  /// Translates `code`, which has been analysed. `given`: how many vector registers have values at the start. Null when
  /// something in it cannot be translated; `why` then says what. One call at a time.
  virtual std::unique_ptr<TranslatedCode> translate(const GuestCode &code, uint32_t given, std::string &why) = 0;
};

/// Called on a translating thread when LLVM cannot go on, with its message; LLVM would end the process. Must not
/// return: LLVM's locks may be held.
using OnFatal = void (*)(const char *message);

/// The library's only function: a translator for a CPU level (exec/level.h), or null when it has none for it.
inline constexpr const char *kMakeTranslator = "luthierVgpuMakeTranslator";
using MakeTranslator = Translator *(*)(const char *level, OnFatal onFatal);

} // namespace luthier::vgpu
