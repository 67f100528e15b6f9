// Instructions with operands for every form that LLVM has of every instruction (isa/opcode_universe.h): tests of what
// instructions touch walk all of them instead of a list of examples.
//
// A form comes with bits that are an example, most operands of which are register 0. Each operand field of its format
// is filled with the first of some values that leave it the same form of the same instruction. Addresses get the
// registers that hold some (`addresses`), all else distinct registers, scalar ones, or a mixture with repetitions.
#pragma once

#include "isa/disassembler.h"
#include "isa/opcode_universe.h"
#include "vgpu/wave/decoder.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace luthier::vgpu::test {

/// Registers that instructions made here use as addresses; who runs them sets them up.
namespace addresses {
inline constexpr unsigned kVector = 10;       ///< v[10:11]: an address per lane
inline constexpr unsigned kLds = 12;          ///< v12: an LDS offset per lane
inline constexpr unsigned kOffset = 14;       ///< v14, v15: small offsets
inline constexpr unsigned kScalar = 40;       ///< s[40:41]: an address
inline constexpr unsigned kCode = 42;         ///< s[42:43]: an address in the code
inline constexpr unsigned kResource = 44;     ///< s[44:47]: a buffer resource
inline constexpr unsigned kScalarOffset = 50; ///< s50: a small offset
} // namespace addresses

/// Data and number format of a buffer that the instruction can access, as MTBUF encodes them (7 bits).
uint32_t bufferFormat(std::string_view mnemonic);

enum class Operandry : uint8_t {
  Apart,  ///< vector registers where possible, all different
  Scalar, ///< scalar sources where possible
  Mixed,  ///< anything, overlapping
};

struct MadeInstruction {
  std::string mnemonic;
  isa::Format format;
  std::vector<uint8_t> bytes;
};

class InstructionMaker {
public:
  static Result<std::unique_ptr<InstructionMaker>> create(const isa::Target &target);

  const isa::OpcodeUniverse &universe() const { return universe_; }
  /// Whether the virtual GPU executes it.
  bool implements(const isa::OpcodeForm &form);
  MadeInstruction make(const isa::OpcodeEntry &opcode, const isa::OpcodeForm &form, Operandry operands, uint32_t seed);
  std::string text(const MadeInstruction &instruction);

private:
  explicit InstructionMaker(const isa::Target &target) : decoder_(target) {}
  /// Puts the first of `values` that fits into the field.
  void fill(uint64_t &bits, unsigned low, unsigned width, std::initializer_list<uint32_t> values);
  void fillModifiers(uint64_t &bits, std::initializer_list<unsigned> positions);
  void fillMemory(uint64_t &bits, isa::Format format);
  bool fits(uint64_t bits);
  bool hasScalarResult(uint64_t bits);
  std::string textOf(uint64_t bits);
  unsigned wrongOperands(uint64_t bits);
  uint32_t source(unsigned n, bool wide);
  uint32_t any(std::initializer_list<uint32_t> values);

  isa::OpcodeUniverse universe_;
  std::unique_ptr<isa::Disassembler> disassembler_;
  Decoder decoder_;
  // Of the instruction being made.
  std::string mnemonic_;
  uint32_t form_ = 0;
  unsigned wrong_ = 0;
  Operandry operands_ = Operandry::Apart;
  std::minstd_rand random_;
};

} // namespace luthier::vgpu::test
