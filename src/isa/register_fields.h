// Where an instruction's encoding has the numbers of its registers.
//
// To put a compiled piece of code elsewhere, its registers must be renamed, often and fast. All encodings have in
// common that each bit of a register's number sits at some place of the first 96 bits (the third dword has registers in
// gfx12's memory instructions, and in VOP3 with DPP), so that renaming is an exclusive or. The places are found out by
// asking LLVM's encoder, once per instruction, instead of being written down per encoding.
#pragma once

#include "luthier/instr.h"
#include "support/result.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace luthier::isa {

struct Target;

/// The first twelve bytes of an instruction, or some of their bits.
struct EncodingBits {
  uint64_t low = 0;
  uint32_t high = 0;
  static constexpr size_t kBytes = 12;

  constexpr EncodingBits &operator^=(const EncodingBits &other) {
    low ^= other.low;
    high ^= other.high;
    return *this;
  }
  constexpr EncodingBits &operator|=(const EncodingBits &other) {
    low |= other.low;
    high |= other.high;
    return *this;
  }
  friend constexpr EncodingBits operator^(EncodingBits a, const EncodingBits &b) { return a ^= b; }
  constexpr bool any() const { return low || high; }

  static EncodingBits of(const void *bytes, size_t size) {
    EncodingBits bits;
    memcpy(&bits.low, bytes, std::min(size, sizeof low));
    if (size > sizeof low)
      memcpy(&bits.high, static_cast<const uint8_t *>(bytes) + sizeof low, std::min(size - sizeof low, sizeof high));
    return bits;
  }
  void write(void *bytes, size_t size) const {
    memcpy(bytes, &low, std::min(size, sizeof low));
    if (size > sizeof low)
      memcpy(static_cast<uint8_t *>(bytes) + sizeof low, &high, std::min(size - sizeof low, sizeof high));
  }
};

/// A register operand (SGPRs, VGPRs, AccVGPRs) and how its number is encoded.
struct RegisterField {
  RegRange regs;                       ///< that the instruction has there
  std::array<EncodingBits, 8> masks{}; ///< the bits of the encoding that stand for each bit of the first one's number
  unsigned alignment = 1;              ///< what the number must be a multiple of
  unsigned limit = 256;      ///< and below: 16-bit instructions of gfx11 and later may reach half of the VGPRs
  bool m0BehindNull = false; ///< gfx11 and later have their numbers the other way round

  /// The encoding with another register of the same file in this field.
  EncodingBits renamed(EncodingBits word, Reg to) const {
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
