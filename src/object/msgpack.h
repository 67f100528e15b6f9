// MessagePack, as far as code objects need it: a reader that pulls one token at a time, and a writer.
//
// The reader never recurses and never allocates, so that neither nesting nor a claimed length can exhaust anything: a
// string is a view of the input, a container is only announced with its count, which cannot exceed the bytes that are
// left. The format: msgpack.org's specification.
#pragma once

#include "object/bytes.h"
#include "support/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace luthier::object::msgpack {

enum class Type : uint8_t { Nil, Boolean, Unsigned, Signed, Float, String, Binary, Array, Map, Extension };

std::string_view nameOf(Type type);

struct Token {
  Type type = Type::Nil;
  size_t offset = 0;      ///< of its first byte
  uint64_t integer = 0;   ///< Unsigned: the value; Signed (only below 0): its two's complement; Boolean: 0 or 1
  double real = 0;        ///< Float
  uint32_t count = 0;     ///< Array: elements that follow; Map: pairs that follow
  std::string_view bytes; ///< String, Binary, Extension
};

class Reader {
public:
  explicit Reader(ByteSpan input) : input_(input) {}

  Result<Token> next();
  /// A token of that type; `what` names it in the error.
  Result<Token> expect(Type type, std::string_view what);
  /// Passes over one whole value and returns its bytes.
  Result<std::string_view> skip();

  size_t offset() const { return at_; }
  size_t left() const { return input_.size() - at_; }

private:
  Result<uint64_t> number(unsigned bytes);
  Result<void> take(Token &token, uint64_t size);
  Result<void> open(Token &token, Type type, uint64_t count);

  ByteSpan input_;
  size_t at_ = 0;
};

/// Writes the shortest form of everything, as LLVM does.
class Writer {
public:
  void boolean(bool value);
  void number(uint64_t value);
  void text(std::string_view value);
  void array(uint32_t count);
  void map(uint32_t count);
  /// A value that is MessagePack already.
  void raw(std::string_view value) { out_ += value; }

  const std::string &bytes() const { return out_; }
  std::string take() { return std::move(out_); }

private:
  void put(uint8_t head, uint64_t value, unsigned bytes);

  std::string out_;
};

} // namespace luthier::object::msgpack
