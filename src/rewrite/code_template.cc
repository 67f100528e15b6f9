#include "rewrite/code_template.h"

#include <cstring>

namespace luthier::rewrite {

namespace {

/// A renamed copy of an instruction, with what it refers to behind it.
struct RenamedInstr {
  Instr instr;
  std::vector<Operand> operands;
  std::vector<RegRange> regs;
};

std::shared_ptr<const RenamedInstr> rename(const Instr &from, const RegMap &map) {
  auto copy = std::make_shared<RenamedInstr>();
  copy->instr = from;
  copy->operands.assign(from.operands().begin(), from.operands().end());
  for (Operand &operand : copy->operands)
    if (operand.kind == OperandKind::Register)
      operand.regs = map(operand.regs);
  copy->regs.reserve(from.reads().size() + from.writes().size());
  for (RegRange range : from.reads())
    copy->regs.push_back(map(range));
  for (RegRange range : from.writes())
    copy->regs.push_back(map(range));
  copy->instr.operands_ = copy->operands.data();
  copy->instr.regs_ = copy->regs.data();
  return copy;
}

} // namespace

Result<InstrTemplate> InstrTemplate::make(const Instr &instr, isa::FieldFinder &finder) {
  InstrTemplate result;
  result.instr = &instr;
  memcpy(&result.word, instr.bytes().data(), std::min<size_t>(instr.size(), sizeof result.word));
  result.fields = LUTHIER_TRY(finder.fields(instr));
  return result;
}

void CodeSequence::add(const InstrTemplate &like, const RegMap &map) {
  uint64_t word = like.word;
  for (const isa::RegisterField &field : like.fields)
    word = field.renamed(word, map(field.regs.first));
  const size_t at = bytes_.size(), size = like.instr->size();
  bytes_.resize(at + size);
  memcpy(bytes_.data() + at, &word, std::min(size, sizeof word));
  if (size > sizeof word) // a literal behind 64 bits
    memcpy(bytes_.data() + at + sizeof word, like.instr->bytes().data() + sizeof word, size - sizeof word);
  auto copy = rename(*like.instr, map);
  instrs_.push_back(&copy->instr);
  keep_.push_back(std::move(copy));
}

void CodeSequence::add(const InstrTemplate &like, const RegMap &map, uint32_t literal) {
  add(like, map);
  memcpy(bytes_.data() + bytes_.size() - sizeof literal, &literal, sizeof literal);
}

void CodeSequence::append(const CodeSequence &other) {
  bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
  instrs_.insert(instrs_.end(), other.instrs_.begin(), other.instrs_.end());
  keep_.insert(keep_.end(), other.keep_.begin(), other.keep_.end());
}

void CodeSequence::clear() {
  bytes_.clear();
  instrs_.clear();
  keep_.clear();
}

void CodeSequence::orIntoLast(size_t size, uint64_t bits) {
  uint64_t word = 0;
  uint8_t *at = bytes_.data() + bytes_.size() - size;
  size = std::min(size, sizeof word);
  memcpy(&word, at, size);
  word |= bits;
  memcpy(at, &word, size);
}

void CodeSequence::setSimm16(size_t offset, int distanceInDwords) {
  const auto value = static_cast<int16_t>(distanceInDwords);
  memcpy(bytes_.data() + offset, &value, sizeof value);
}

} // namespace luthier::rewrite
