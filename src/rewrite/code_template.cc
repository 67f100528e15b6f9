#include "rewrite/code_template.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace luthier::rewrite {

namespace {

constexpr size_t kChunk = 4096;

const Instr *rename(const Instr &from, const RegMap &map, InstrMemory &memory) {
  Operand *operands = std::uninitialized_copy_n(from.operands().data(), from.operands().size(),
                                                memory.allocate<Operand>(from.operands().size())) -
                      from.operands().size();
  for (size_t n = 0; n < from.operands().size(); ++n)
    if (operands[n].kind == OperandKind::Register)
      operands[n].regs = map(operands[n].regs);
  RegRange *regs = memory.allocate<RegRange>(from.reads().size() + from.writes().size());
  size_t count = 0;
  for (RegRange range : from.reads())
    new (regs + count++) RegRange(map(range));
  for (RegRange range : from.writes())
    new (regs + count++) RegRange(map(range));
  Instr *copy = new (memory.allocate<Instr>(1)) Instr(from);
  copy->operands_ = operands;
  copy->regs_ = regs;
  return copy;
}

} // namespace

void *InstrMemory::bytes(size_t size) {
  size = (size + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
  if (chunks_.empty() || size > left_) {
    left_ = std::max(kChunk, size);
    chunks_.push_back(std::unique_ptr<std::byte[]>(new std::byte[left_]));
  }
  // From the end: what is left says where.
  left_ -= size;
  return chunks_.back().get() + left_;
}

Result<InstrTemplate> InstrTemplate::make(const Instr &instr, isa::FieldFinder &finder) {
  InstrTemplate result;
  result.instr = &instr;
  result.word = isa::EncodingBits::of(instr.bytes().data(), instr.size());
  result.fields = LUTHIER_TRY(finder.fields(instr));
  return result;
}

void CodeSequence::add(const InstrTemplate &like, const RegMap &map) {
  isa::EncodingBits word = like.word;
  for (const isa::RegisterField &field : like.fields)
    word = field.renamed(word, map(field.regs.first));
  const size_t at = bytes_.size(), size = like.instr->size();
  bytes_.resize(at + size);
  word.write(bytes_.data() + at, size);
  if (constexpr size_t kBytes = isa::EncodingBits::kBytes; size > kBytes) // no register is behind these
    memcpy(bytes_.data() + at + kBytes, like.instr->bytes().data() + kBytes, size - kBytes);
  if (memory_.empty())
    memory_.push_back(std::make_shared<InstrMemory>());
  instrs_.push_back(rename(*like.instr, map, *memory_.front()));
}

void CodeSequence::add(const InstrTemplate &like, const RegMap &map, uint32_t literal) {
  add(like, map);
  memcpy(bytes_.data() + bytes_.size() - sizeof literal, &literal, sizeof literal);
}

void CodeSequence::append(const CodeSequence &other) {
  bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
  instrs_.insert(instrs_.end(), other.instrs_.begin(), other.instrs_.end());
  memory_.insert(memory_.end(), other.memory_.begin(), other.memory_.end());
}

void CodeSequence::insert(size_t bytes, size_t instrs, const CodeSequence &other) {
  bytes_.insert(bytes_.begin() + static_cast<ptrdiff_t>(bytes), other.bytes_.begin(), other.bytes_.end());
  instrs_.insert(instrs_.begin() + static_cast<ptrdiff_t>(instrs), other.instrs_.begin(), other.instrs_.end());
  memory_.insert(memory_.end(), other.memory_.begin(), other.memory_.end());
}

void CodeSequence::clear() {
  bytes_.clear();
  instrs_.clear();
  memory_.clear();
}

void CodeSequence::orIntoLast(size_t size, isa::EncodingBits bits) {
  uint8_t *at = bytes_.data() + bytes_.size() - size;
  isa::EncodingBits word = isa::EncodingBits::of(at, size);
  word |= bits;
  word.write(at, size);
}

void CodeSequence::setSimm16(size_t offset, int distanceInDwords) {
  const auto value = static_cast<int16_t>(distanceInDwords);
  memcpy(bytes_.data() + offset, &value, sizeof value);
}

} // namespace luthier::rewrite
