// Addresses that code forms in scalar registers: what calls, jumps and function pointers are made of.
//
// Calls and far jumps go through registers. Compilers form the address right there or far above it (out of a loop), as
// s_getpc_b64 plus a constant, or load it from the GOT, whose contents the relocations know:
//
//   s_getpc_b64 s[4:5]                       s_getpc_b64 s[4:5]
//   s_add_u32   s4, s4, f@rel32@lo+4         s_add_u32   s4, s4, f@gotpcrel32@lo+4
//   s_addc_u32  s5, s5, f@rel32@hi+12        s_addc_u32  s5, s5, f@gotpcrel32@hi+12
//   s_swappc_b64 s[30:31], s[4:5]            s_load_dwordx2 s[4:5], s[4:5], 0x0
//                                            s_swappc_b64 s[30:31], s[4:5]
//
// Tensile, which writes the kernels of rocBLAS, adds the distance up in a register of its own:
//
//   s_getpc_b64 s[4:5]
//   s_add_i32   s6, label-(.+4), 4
//   s_add_u32   s4, s4, s6
//   s_addc_u32  s5, s5, 0
//   s_setpc_b64 s[4:5]
//
// This is a forward analysis over a Cfg of which scalar registers hold a known value, or the return address that the
// function was called with (s[30:31] in LLVM's convention; saved to a VGPR's lanes and restored from there too).
// Addresses are those of the ELF image. A call leaves alone what LLVM's convention preserves, s34 and up, and whatever
// else the callee and its callees do not write: compilers know that too and rely on it.
#pragma once

#include "analysis/cfg.h"
#include "luthier/reg.h"

#include <functional>
#include <optional>
#include <vector>

namespace luthier::analysis {

class ScalarValues {
public:
  enum class Kind : uint8_t { Unknown, Address, ReturnAddress };
  struct Target {
    uint32_t instr = 0; ///< index of an s_setpc_b64 or s_swappc_b64
    Kind kind = Kind::Unknown;
    uint64_t address = 0;
    bool operator==(const Target &) const = default;
  };

  struct Context {
    bool kernel = true;
    unsigned returnPair = 30; ///< of a function: s[30:31] has the return address at its entry, by convention
    /// The address that the loader puts into the eight bytes at `slot`, if it is known.
    std::function<std::optional<uint64_t>(uint64_t slot)> loaded = {};
    /// What a call of the function at an address may write; null where unknown.
    std::function<const RegSet *(uint64_t function)> clobbers = {};
  };

  /// Whether the instructions contain anything to find out.
  static bool needed(std::span<const Instr> instrs);
  static ScalarValues compute(const Cfg &cfg, const Context &context);

  /// Where an s_setpc_b64 or s_swappc_b64 goes.
  Target target(uint32_t instr) const;
  std::span<const Target> targets() const { return targets_; } ///< by instruction
  /// Addresses that are formed and used for anything but a resolved call or jump, ascending, each once.
  std::span<const uint64_t> taken() const { return taken_; }
  /// Slots that are loaded from through known addresses, ascending, each once.
  std::span<const uint64_t> slots() const { return slots_; }

  /// Adds what an earlier look, with fewer edges, found: addresses that were once seen stay suspicious.
  void addSeen(const ScalarValues &earlier);

private:
  friend class ScalarInterpreter;
  std::vector<Target> targets_;
  std::vector<uint64_t> taken_, slots_;
};

} // namespace luthier::analysis
