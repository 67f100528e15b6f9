// Decodes whole functions into Instr.
#pragma once

#include "luthier/instr.h"
#include "support/result.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace luthier::isa {

struct Target;

/// Decoded instructions and what they refer to. The bytes decoded are not copied: they must stay where they are.
class InstrSequence {
public:
  std::span<const Instr> instrs() const { return instrs_; }
  const Instr *at(uint64_t address) const; ///< the instruction that starts there, or null

private:
  friend class Decoder;
  std::vector<Instr> instrs_;
  std::vector<std::unique_ptr<Operand[]>> operands_; ///< chunks that never move
  std::vector<std::unique_ptr<RegRange[]>> regs_;
};

/// Not thread-safe: one per thread.
class Decoder {
public:
  /// `waveSize` 0 is what the target has unless a kernel says otherwise.
  static Result<std::unique_ptr<Decoder>> create(const Target &target, unsigned waveSize = 0);
  ~Decoder();

  /// All instructions of `bytes`. Bytes that are no instruction are an error that names the address, except for padding
  /// behind the last instruction (`s_code_end`, zeros), which is left out.
  Result<InstrSequence> decode(std::span<const uint8_t> bytes, uint64_t address);
  /// The instruction that `bytes` start with, alone, whatever it is.
  Result<InstrSequence> decodeOne(std::span<const uint8_t> bytes, uint64_t address);
  /// As assembly text.
  std::string text(const Instr &instr);

private:
  struct Impl;
  explicit Decoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace luthier::isa
