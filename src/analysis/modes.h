// What the MODE register holds before every instruction, as far as it is known: rounding, denormals, exceptions.
//
// A wave starts with what the kernel's descriptor says; s_setreg changes it, to something known or not. Hooks are
// compiled for one mode (kHookMode). Who places one must set it where the guest may have another, and nowhere else.
//
// Functions keep MODE as they found it, says LLVM's convention; of functions that are known it is not taken on trust.
//
// gfx12 has no DX10_CLAMP and IEEE, which are as if they were set, and enables exceptions in TRAP_CTRL. Here, MODE is
// the same for all: what is elsewhere is at its old place.
#pragma once

#include "analysis/cfg.h"
#include "object/kernel_descriptor.h"

#include <cstdint>
#include <vector>

namespace luthier::analysis {

/// Exceptions of floating-point instructions, and of integer division, that are enabled.
inline constexpr uint32_t kExceptionBits = 0x7f << 12;
/// Bits of MODE that matter to what instructions compute or to whether they trap: rounding and denormals, DX10_CLAMP,
/// IEEE, the exceptions of floating-point instructions, FP16_OVFL.
inline constexpr uint32_t kModeBits = 0x3ff | kExceptionBits | 1 << 23;
/// As compilers set it for kernels: to nearest, with denormals, DX10_CLAMP and IEEE; no exceptions.
inline constexpr uint32_t kHookMode = 0x3f0;

struct ModeState {
  uint32_t known = 0; ///< of kModeBits
  uint32_t value = 0; ///< of those that are known

  static ModeState of(uint32_t mode) { return {kModeBits, mode & kModeBits}; }
  static ModeState atStart(const object::KernelDescriptor &descriptor, const isa::Target &target);
  bool merge(const ModeState &other); ///< either may be the case; says whether this changed
  void step(const Instr &instr, const isa::Target &target);
  /// Whether an exception of a floating-point instruction may lead to the trap handler.
  bool mayTrap() const { return (~known | value) & kExceptionBits; }
  bool is(uint32_t mode) const { return known == kModeBits && value == (mode & kModeBits); }
  bool operator==(const ModeState &) const = default;
};

/// The bits of kModeBits that an instruction may change.
uint32_t modeBitsWritten(const Instr &instr, const isa::Target &target);
/// Whether it reads the sticky flags of exceptions.
bool readsExceptionFlags(const Instr &instr, const isa::Target &target);
/// Bits of kModeBits that s_setreg of MODE can set on this target.
uint32_t settableModeBits(const isa::Target &target);

class Modes {
public:
  /// `entry`: what it holds when the function starts. `elsewhere`: where nobody knows how control gets there; with
  /// `behindCalls`, also when a called function returns, and otherwise it is what it was.
  static Modes compute(const Cfg &cfg, const isa::Target &target, const ModeState &entry, const ModeState &elsewhere,
                       bool behindCalls);

  ModeState before(const Instr &instr) const;
  ModeState atStart(uint32_t block) const { return start_[block]; }
  ModeState atEnd(uint32_t block) const;

private:
  ModeState behind(uint32_t block, ModeState state) const; ///< that begins with this state
  const Cfg *cfg_ = nullptr;
  const isa::Target *target_ = nullptr;
  std::vector<ModeState> start_;
  bool changes_ = false; ///< any instruction does
  bool behindCalls_ = false;
  ModeState elsewhere_;
};

} // namespace luthier::analysis
