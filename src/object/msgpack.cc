#include "object/msgpack.h"

#include <bit>

namespace luthier::object::msgpack {

std::string_view nameOf(Type type) {
  static constexpr std::string_view kNames[] = {"nil",     "a boolean",   "a number", "a negative number",
                                                "a float", "a string",    "binary",   "an array",
                                                "a map",   "an extension"};
  return kNames[static_cast<unsigned>(type)];
}

Result<uint64_t> Reader::number(unsigned bytes) {
  if (left() < bytes)
    return makeError("MessagePack ends in the middle of a value at offset {:#x}", at_);
  uint64_t value = 0; // big endian
  for (unsigned n = 0; n < bytes; ++n)
    value = value << 8 | static_cast<uint8_t>(input_[at_ + n]);
  at_ += bytes;
  return value;
}

Result<void> Reader::take(Token &token, uint64_t size) {
  if (left() < size)
    return makeError("MessagePack at offset {:#x}: {} of {} bytes, but {} are left", token.offset, nameOf(token.type),
                     size, left());
  token.bytes = {reinterpret_cast<const char *>(input_.data() + at_), size};
  at_ += size;
  return {};
}

Result<void> Reader::open(Token &token, Type type, uint64_t count) {
  token.type = type;
  const uint64_t values = type == Type::Map ? count * 2 : count;
  if (values > left()) // each takes a byte at least
    return makeError("MessagePack at offset {:#x}: {} of {} entries, but {} bytes are left", token.offset, nameOf(type),
                     count, left());
  token.count = static_cast<uint32_t>(count);
  return {};
}

Result<Token> Reader::next() {
  Token token;
  token.offset = at_;
  const auto head = static_cast<uint8_t>(LUTHIER_TRY(number(1)));
  auto sized = [&](Type type, unsigned bytes) -> Result<Token> {
    token.type = type;
    const uint64_t size = LUTHIER_TRY(number(bytes));
    // An extension has a byte for its own type.
    if (auto ok = take(token, size + (type == Type::Extension ? 1 : 0)); !ok)
      return ok.error();
    return token;
  };
  auto fixed = [&](Type type, uint64_t size) -> Result<Token> {
    token.type = type;
    if (auto ok = take(token, size); !ok)
      return ok.error();
    return token;
  };
  auto container = [&](Type type, uint64_t count) -> Result<Token> {
    if (auto ok = open(token, type, count); !ok)
      return ok.error();
    return token;
  };
  auto integer = [&](unsigned bytes, bool isSigned) -> Result<Token> {
    token.integer = LUTHIER_TRY(number(bytes));
    const unsigned shift = 64 - 8 * bytes;
    if (isSigned)
      token.integer = static_cast<uint64_t>(static_cast<int64_t>(token.integer << shift) >> shift);
    token.type = isSigned && static_cast<int64_t>(token.integer) < 0 ? Type::Signed : Type::Unsigned;
    return token;
  };

  if (head < 0x80) {
    token.type = Type::Unsigned;
    token.integer = head;
    return token;
  }
  if (head < 0x90)
    return container(Type::Map, head & 0xf);
  if (head < 0xa0)
    return container(Type::Array, head & 0xf);
  if (head < 0xc0)
    return fixed(Type::String, head & 0x1f);
  if (head >= 0xe0) {
    token.type = Type::Signed;
    token.integer = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(head)));
    return token;
  }
  switch (head) {
  case 0xc0:
    return token;
  case 0xc2:
  case 0xc3:
    token.type = Type::Boolean;
    token.integer = head & 1;
    return token;
  case 0xc4:
  case 0xc5:
  case 0xc6:
    return sized(Type::Binary, 1u << (head - 0xc4));
  case 0xc7:
  case 0xc8:
  case 0xc9:
    return sized(Type::Extension, 1u << (head - 0xc7));
  case 0xca:
    token.type = Type::Float;
    token.real = std::bit_cast<float>(static_cast<uint32_t>(LUTHIER_TRY(number(4))));
    return token;
  case 0xcb:
    token.type = Type::Float;
    token.real = std::bit_cast<double>(LUTHIER_TRY(number(8)));
    return token;
  case 0xcc:
  case 0xcd:
  case 0xce:
  case 0xcf:
    return integer(1u << (head - 0xcc), false);
  case 0xd0:
  case 0xd1:
  case 0xd2:
  case 0xd3:
    return integer(1u << (head - 0xd0), true);
  case 0xd4:
  case 0xd5:
  case 0xd6:
  case 0xd7:
  case 0xd8:
    return fixed(Type::Extension, 1 + (1u << (head - 0xd4)));
  case 0xd9:
  case 0xda:
  case 0xdb:
    return sized(Type::String, 1u << (head - 0xd9));
  case 0xdc:
  case 0xdd:
    return container(Type::Array, LUTHIER_TRY(number(2u << (head - 0xdc))));
  case 0xde:
  case 0xdf:
    return container(Type::Map, LUTHIER_TRY(number(2u << (head - 0xde))));
  default:
    return makeError("MessagePack has no value that begins with {:#x}, at offset {:#x}", head, token.offset);
  }
}

Result<Token> Reader::expect(Type type, std::string_view what) {
  const Token token = LUTHIER_TRY(next());
  if (token.type != type)
    return makeError("{} is {} instead of {}, at offset {:#x}", what, nameOf(token.type), nameOf(type), token.offset);
  return token;
}

Result<std::string_view> Reader::skip() {
  const size_t begin = at_;
  // Values still to come instead of a stack: order is all that nesting has left when nothing is looked at.
  for (uint64_t values = 1; values != 0; --values) {
    const Token token = LUTHIER_TRY(next());
    values += token.type == Type::Map ? uint64_t{token.count} * 2 : token.count;
  }
  return std::string_view(reinterpret_cast<const char *>(input_.data() + begin), at_ - begin);
}

void Writer::put(uint8_t head, uint64_t value, unsigned bytes) {
  out_ += static_cast<char>(head);
  for (unsigned n = bytes; n-- > 0;)
    out_ += static_cast<char>(value >> (8 * n));
}

void Writer::boolean(bool value) { put(value ? 0xc3 : 0xc2, 0, 0); }

void Writer::number(uint64_t value) {
  if (value < 0x80)
    put(static_cast<uint8_t>(value), 0, 0);
  else if (value <= UINT8_MAX)
    put(0xcc, value, 1);
  else if (value <= UINT16_MAX)
    put(0xcd, value, 2);
  else if (value <= UINT32_MAX)
    put(0xce, value, 4);
  else
    put(0xcf, value, 8);
}

void Writer::text(std::string_view value) {
  if (value.size() < 32)
    put(static_cast<uint8_t>(0xa0 | value.size()), 0, 0);
  else if (value.size() <= UINT8_MAX)
    put(0xd9, value.size(), 1);
  else if (value.size() <= UINT16_MAX)
    put(0xda, value.size(), 2);
  else
    put(0xdb, value.size(), 4);
  out_ += value;
}

void Writer::array(uint32_t count) {
  if (count < 16)
    put(static_cast<uint8_t>(0x90 | count), 0, 0);
  else if (count <= UINT16_MAX)
    put(0xdc, count, 2);
  else
    put(0xdd, count, 4);
}

void Writer::map(uint32_t count) {
  if (count < 16)
    put(static_cast<uint8_t>(0x80 | count), 0, 0);
  else if (count <= UINT16_MAX)
    put(0xde, count, 2);
  else
    put(0xdf, count, 4);
}

} // namespace luthier::object::msgpack
