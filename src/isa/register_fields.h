// Where an instruction's encoding has the numbers of its registers.
//
// To put a compiled piece of code elsewhere, its registers must be renamed, often and fast. All encodings have in
// common that each bit of a register's number sits at some place of the first 64 bits, so that renaming is an exclusive
// or. The places are found out by asking LLVM's encoder, once per instruction, instead of being written down per
// encoding.
#pragma once

#include "luthier/instr.h"
#include "support/result.h"

#include <array>
#include <memory>
#include <vector>

namespace luthier::isa {

struct Target;

/// A register operand (SGPRs, VGPRs, AccVGPRs) and how its number is encoded.
struct RegisterField {
  RegRange regs;                   ///< that the instruction has there
  std::array<uint64_t, 8> masks{}; ///< the bits of the encoding that stand for each bit of the first one's number
  unsigned alignment = 1;          ///< what the number must be a multiple of
  bool m0BehindNull = false;       ///< gfx11 and later have their numbers the other way round

  /// The encoding with another register of the same file in this field.
  uint64_t renamed(uint64_t word, Reg to) const {
    // Files start at multiples of 256, so the low bits are the number.
    unsigned change = number(regs.first) ^ number(to);
    if (m0BehindNull && (to == Reg::M0 || to == Reg::Null))
      change ^= number(Reg::M0) ^ number(Reg::Null);
    for (unsigned bit = 0; bit < masks.size(); ++bit)
      if (change >> bit & 1)
        word ^= masks[bit];
    return word;
  }
};

/// Not thread-safe.
class FieldFinder {
public:
  static Result<std::unique_ptr<FieldFinder>> create(const Target &target, unsigned waveSize);
  ~FieldFinder();

  /// All fields of the instruction. Registers with a place of their own in the encoding are left out (VCC, EXEC, M0).
  Result<std::vector<RegisterField>> fields(const Instr &instr);

private:
  struct Impl;
  explicit FieldFinder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace luthier::isa
