// Instructions whose registers can be renamed, and code made of them.
#pragma once

#include "isa/register_fields.h"
#include "luthier/instr.h"

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace luthier::rewrite {

/// Which register takes another one's place.
class RegMap {
public:
  Reg operator()(Reg reg) const { return static_cast<Reg>(to_[number(reg)]); }
  RegRange operator()(RegRange range) const { return {(*this)(range.first), range.count}; }
  void set(Reg from, Reg to) { to_[number(from)] = static_cast<uint16_t>(number(to)); }
  void set(RegRange from, Reg to) {
    for (unsigned n = 0; n < from.count; ++n)
      set(from.first + n, to + n);
  }

private:
  using Table = std::array<uint16_t, number(Reg::End)>;
  static constexpr Table kIdentity = [] {
    Table table{};
    for (unsigned n = 0; n < table.size(); ++n)
      table[n] = static_cast<uint16_t>(n);
    return table;
  }();
  Table to_ = kIdentity;
};

/// An instruction and where its encoding has registers.
struct InstrTemplate {
  const Instr *instr = nullptr;
  isa::EncodingBits word; ///< its first bytes
  std::vector<isa::RegisterField> fields;

  static Result<InstrTemplate> make(const Instr &instr, isa::FieldFinder &finder);
};

/// Memory for renamed instructions and what they refer to: little at a time, given back all at once.
class InstrMemory {
public:
  template <class T> T *allocate(size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(std::max_align_t));
    return static_cast<T *>(bytes(count * sizeof(T)));
  }

private:
  void *bytes(size_t size);
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  size_t left_ = 0;
};

/// Instructions in a row, as bytes and as what analyses can look at.
class CodeSequence {
public:
  /// Appends the instruction with its registers renamed.
  void add(const InstrTemplate &like, const RegMap &map);
  /// ... with its last four bytes, a literal, set.
  void add(const InstrTemplate &like, const RegMap &map, uint32_t literal);
  void append(const CodeSequence &other);
  /// Puts the other one in, behind so many bytes, which are so many instructions.
  void insert(size_t bytes, size_t instrs, const CodeSequence &other);
  void clear();

  std::span<const uint8_t> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  std::span<const Instr *const> instrs() const { return instrs_; }
  /// Ors bits into the last instruction, which has `size` bytes.
  void orIntoLast(size_t size, isa::EncodingBits bits);
  /// Overwrites two bytes: a branch's distance.
  void setSimm16(size_t offset, int distanceInDwords);

private:
  std::vector<uint8_t> bytes_;
  std::vector<const Instr *> instrs_;
  std::vector<std::shared_ptr<InstrMemory>> memory_; ///< the first is where more go
};

} // namespace luthier::rewrite
