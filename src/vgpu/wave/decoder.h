// Turns guest code into instruction records.
#pragma once

#include "isa/decode.h"
#include "isa/disassembler.h"
#include "isa/target.h"
#include "vgpu/exec/level.h"
#include "vgpu/state/inst.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace luthier::isa {
struct EncodedInstr;
struct EncodedOperand;
} // namespace luthier::isa

namespace luthier::vgpu {

class Decoder {
public:
  /// More mnemonics than any target has; records number them from 0.
  static constexpr size_t kMaxOpcodes = 4096;

  /// `waveSize` 0 is what the target has unless a kernel says otherwise.
  explicit Decoder(const isa::Target &target, unsigned waveSize = 0);
  ~Decoder();

  /// Fills `out` from the instruction at the start of `bytes`. What is no instruction, or one that the virtual GPU
  /// does not have, becomes a record that stops the dispatch when it is executed. Thread-safe, as all of the class.
  void decode(std::span<const uint8_t> bytes, uint64_t pc, Inst &out);

  /// Lets `first` execute `second`, the record behind it, as well where there is a handler for both.
  static void fuse(Inst &first, const Inst &second);

  /// Whether a record that `decode` has filled is an instruction which the virtual GPU has.
  static bool implements(const Inst &inst);

  /// Mnemonic of a record's `opcode`.
  std::string mnemonic(uint16_t opcode) const;
  /// Its row; null for names that have none.
  const Row *row(uint16_t opcode) const;

  /// The instruction at the start of `bytes` as assembly text.
  std::string text(std::span<const uint8_t> bytes, uint64_t pc);

  /// The same taken apart: registers, memory, properties. For observers; handlers need none of it.
  Result<isa::InstrSequence> instruction(std::span<const uint8_t> bytes, uint64_t pc);

private:
  struct Lanes;
  uint16_t indexOf(Opcode opcode);
  const uint32_t *constantLanes(uint64_t value);
  void setConstant(Inst &out, unsigned n, uint64_t value);
  /// `selectsHalves`: the encoding says which half of a packed source goes where (VOP3P).
  void setSource(Inst &out, unsigned n, const isa::EncodedOperand &operand, Type type, bool selectsHalves = false);
  void fill(Inst &out, const Row &row, const isa::EncodedInstr &in);
  void fillAlu(Inst &out, const Row &row, const isa::EncodedInstr &in);
  void fillMemory(Inst &out, const isa::EncodedInstr &in);
  void setRule(Inst &out, const Row &row, unsigned opSel) const;
  void fillDual(Inst &out, const isa::EncodedInstr &in);
  /// Completes a record whose operands have been filled: chooses the handler.
  void choose(Inst &out, const Row &row, const isa::EncodedInstr &in);
  void dropTtmps(Inst &out, const Row &row, const isa::EncodedInstr &in) const;
  static void thread(Inst &out, const Row &row);

  const isa::Target &target_;
  const unsigned waveSize_;
  const ExecLevel &level_;
  mutable std::mutex mutex_;
  std::unique_ptr<isa::Disassembler> disassembler_;
  std::unique_ptr<isa::Decoder> instructions_; ///< made when first asked for
  std::vector<uint16_t> indices_;              ///< of records' opcodes, by Opcode; kMaxOpcodes: none yet
  std::vector<const Row *> rows_;              ///< by record's opcode; null for instructions that have no row
  std::vector<std::string_view> names_;
  std::unordered_map<uint64_t, std::unique_ptr<Lanes>> constants_;
  struct Parts;
  std::map<std::array<uint32_t, 3>, std::unique_ptr<Parts>> duals_; ///< what VOPD instructions consist of, by encoding
};

} // namespace luthier::vgpu
