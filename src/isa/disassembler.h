// Names the instruction at an address, through LLVM's MC layer.
//
// LLVM is the authority on which bytes are a valid instruction, how long it is and what it is called. Field positions
// are the manual's business and live in isa/format.h.
#pragma once

#include "isa/mnemonic.h"
#include "support/result.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::isa {

struct EncodedInstr;
struct Target;

struct Disassembled {
  std::string mnemonic; ///< the vendor's name without encoding suffix: "v_add_f32", never "v_add_f32_e64"
  uint32_t size = 0;    ///< bytes
  uint32_t form = 0;    ///< LLVM's number of this form of it: VOP2, VOP3, SDWA... are different ones
};

/// Not thread-safe: one per thread, or behind a lock.
class Disassembler {
public:
  /// `waveSize` 0 is what the target has unless a kernel says otherwise.
  static Result<std::unique_ptr<Disassembler>> create(const Target &target, unsigned waveSize = 0);
  ~Disassembler();

  /// Fails when the bytes do not start with an instruction of the target.
  Result<Disassembled> disassemble(std::span<const uint8_t> bytes, uint64_t address);

  /// The same with operands, by their roles (isa/encoded.h). False when there is none.
  bool encoded(std::span<const uint8_t> bytes, uint64_t address, EncodedInstr &out);

  /// The instruction as assembly text, "<invalid>" when there is none.
  std::string text(std::span<const uint8_t> bytes, uint64_t address);

  /// Every mnemonic that LLVM can print for any AMD GPU, without encoding suffix, sorted; some are not real.
  std::vector<std::string> mnemonicsOfAllTargets() const;

private:
  struct Impl;
  explicit Disassembler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace luthier::isa
