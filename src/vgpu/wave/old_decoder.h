// The decoder that knew the bits of gfx9 itself, kept to compare the new one with.
#pragma once

#include "isa/decode.h"
#include "isa/disassembler.h"
#include "isa/format.h"
#include "isa/target.h"
#include "vgpu/exec/level.h"
#include "vgpu/wave/inst.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace luthier::vgpu {

class OldDecoder {
public:
  /// More mnemonics than any target has; records number them from 0.
  static constexpr size_t kMaxOpcodes = 4096;

  explicit OldDecoder(const isa::Target &target);
  ~OldDecoder();

  /// Fills `out` from the instruction at the start of `bytes`. What is no instruction, or one that the virtual GPU
  /// does not have, becomes a record that stops the dispatch when it is executed. Thread-safe, as all of the class.
  void decode(std::span<const uint8_t> bytes, uint64_t pc, Inst &out);

  /// Lets `first` execute `second`, the record behind it, as well where there is a handler for both.
  static void fuse(Inst &first, const Inst &second);

  /// Whether a record that `decode` has filled is an instruction which the virtual GPU has.
  static bool implements(const Inst &inst);

  /// Mnemonic of a record's `opcode`.
  std::string mnemonic(uint16_t opcode) const;

  /// The instruction at the start of `bytes` as assembly text.
  std::string text(std::span<const uint8_t> bytes, uint64_t pc);

  /// The same taken apart: registers, memory, properties. For observers; handlers need none of it.
  Result<isa::InstrSequence> instruction(std::span<const uint8_t> bytes, uint64_t pc);

private:
  struct Lanes;
  uint16_t opcodeOf(const std::string &mnemonic);
  const uint32_t *constantLanes(uint64_t value);
  void setSource(Inst &out, unsigned n, uint32_t code, Type type, uint32_t literal);
  void setVgprSource(Inst &out, unsigned n, uint32_t vgpr);
  void fill(Inst &out, const Row &row, isa::Format format, uint64_t bits);
  void fillVop12c(Inst &out, const Row &row, isa::Format format, uint64_t bits);
  void fillVop3(Inst &out, const Row &row, uint64_t bits);
  void fillVop3p(Inst &out, const Row &row, uint64_t bits);
  void fillMai(Inst &out, const Row &row, uint64_t bits);
  void fillMemory(Inst &out, isa::Format format, uint64_t bits);
  static void thread(Inst &out, const Row &row);

  const isa::Target &target_;
  const ExecLevel &level_;
  mutable std::mutex mutex_;
  std::unique_ptr<isa::Disassembler> disassembler_;
  std::unique_ptr<isa::Decoder> instructions_; ///< made when first asked for
  std::unordered_map<std::string_view, uint16_t> index_;
  std::vector<const Row *> rows_; ///< by opcode; null for names that have no row
  std::deque<std::string> names_;
  std::unordered_map<uint64_t, std::unique_ptr<Lanes>> constants_;
};

} // namespace luthier::vgpu
