// The registers that a kernel's waves really have, and where the special ones of them are (--strict-resources).
//
// A kernel descriptor allocates SGPRs, VGPRs and AccVGPRs in granules, and a wave has those and no others. What
// hardware does with numbers beyond is in the manual (CDNA2, 3.6.1: sources read s0 or v0, results are dropped), but no
// compiler means it: here, whoever uses such a register is stopped.
//
// Before gfx10, VCC, XNACK_MASK and FLAT_SCRATCH are no registers of their own but the last ones of the n SGPRs that
// are allocated. What is known:
//
//   - VCC is the highest two (manual, 3.6.2 and 3.9: "physically resides in the highest two user SGPRs", and hardware
//     does not prevent a shader from using all it has allocated).
//   - FLAT_SCRATCH is s[n-6:n-5] (AMDGPUUsage, initial SGPRs: "SGPRn-6 and SGPRn-5"), and XNACK_MASK is between the two
//     (LLVM reserves FLAT_SCRATCH, XNACK_MASK, VCC "in that order", six, four or two of them by the first that is
//     used).
//   - The descriptor's count includes those that a kernel uses. One that uses VCC alone may keep values in what would
//   be
//     XNACK_MASK and FLAT_SCRATCH; whoever writes these changes its values.
//   - Numbers end at s101. With 112 allocated the special ones are behind that, and nothing shares them.
//
// What was chosen: an instruction that writes a register by both of its names leaves what it wrote by the special one.
#pragma once

#include "isa/target.h"
#include "luthier/reg.h"

#include <cstdint>
#include <optional>
#include <string>

namespace luthier::object {
struct KernelDescriptor;
}

namespace luthier::vgpu {

struct Operands;

struct PhysicalRegisters {
  /// Codes of the special SGPRs that stand at the end: FLAT_SCRATCH, XNACK_MASK, VCC.
  static constexpr unsigned kFirstSpecial = number(Reg::FlatScrLo), kSpecials = 6;

  uint32_t lanes = 0;            ///< of a wave
  uint32_t sgprs = 0;            ///< allocated, the special ones among them
  uint32_t vgprs = 0;            ///< architectural
  uint32_t accVgprs = 0;         ///< at ACCUM_OFFSET where both share a file
  uint32_t numberedSgprs = 0;    ///< of the allocated ones, those that can be addressed by number
  std::optional<unsigned> alias; ///< number of the SGPR that FLAT_SCRATCH's low half is; the others follow
  bool partialVccWritesUpdateVccz = true;
  bool xnackMask = false; ///< there is XNACK_MASK

  PhysicalRegisters() = default;
  PhysicalRegisters(const object::KernelDescriptor &descriptor, const isa::Target &target);

  /// The first register of `regs` that is not there.
  std::optional<Reg> missing(RegRange regs) const;
  /// "32 SGPRs, 24 VGPRs, 8 AccVGPRs".
  std::string text() const;
};

/// How much of VCC an instruction writes, by whichever name.
enum class VccWrite : uint8_t { None, Partial, Whole };

/// What an instruction has to do with caches (strict_caches.h).
enum class CacheUse : uint8_t { None, Scalar, Vector, InvalidateScalar, InvalidateVector };

/// What an instruction means for the physical machine: worked out once per dispatch.
struct ResourcePlan {
  std::optional<Reg> missing; ///< that it names
  bool missingWritten = false;
  bool trapRegisterWritten = false; ///< a TTMP, which only trap handlers may
  VccWrite vcc = VccWrite::None;
  CacheUse cache = CacheUse::None;
  bool branchesOnVccz = false;
  bool relative = false;     ///< s_movrel: registers depend on M0
  bool sendsMessage = false; ///< s_sendmsg
  std::optional<Reg> vector; ///< a vector register that it names
  bool scratch = false;      ///< it accesses scratch memory

  static ResourcePlan of(const Operands &operands, const PhysicalRegisters &registers);
};

} // namespace luthier::vgpu
