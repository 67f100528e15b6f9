// MessagePack, token by token, and what a hostile document tries.

#include "object/msgpack.h"

#include "files.h"

#include <gmock/gmock.h>

namespace luthier::object::msgpack {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

Result<Token> first(const std::string &text) {
  const std::vector<std::byte> bytes = bytesOf(text);
  auto token = Reader(bytes).next();
  if (token)
    token->bytes = {}; // views bytes that are gone
  return token;
}

TEST(MsgPack, EveryHead) {
  struct Case {
    std::string bytes;
    Type type;
    uint64_t value = 0;
  };
  const Case cases[] = {
      {"\x00"s, Type::Unsigned, 0},
      {"\x7f", Type::Unsigned, 127},
      {"\xe0", Type::Signed, static_cast<uint64_t>(-32)},
      {"\xff", Type::Signed, static_cast<uint64_t>(-1)},
      {"\xc0", Type::Nil},
      {"\xc2", Type::Boolean, 0},
      {"\xc3", Type::Boolean, 1},
      {"\xcc\xff", Type::Unsigned, 255},
      {"\xcd\x12\x34", Type::Unsigned, 0x1234},
      {"\xce\x12\x34\x56\x78", Type::Unsigned, 0x12345678},
      {"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", Type::Unsigned, UINT64_MAX},
      {"\xd0\x80", Type::Signed, static_cast<uint64_t>(-128)},
      {"\xd1\xff\xfe", Type::Signed, static_cast<uint64_t>(-2)},
      {"\xd2\x00\x00\x00\x05"s, Type::Unsigned, 5},
      {"\xd3\xff\xff\xff\xff\xff\xff\xff\xff", Type::Signed, UINT64_MAX},
      {"\xca\x3f\x80\x00\x00"s, Type::Float},
      {"\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"s, Type::Float},
      {"\xa3"
       "abc",
       Type::String},
      {"\xd9\x03"
       "abc",
       Type::String},
      {"\xda\x00\x03"
       "abc"s,
       Type::String},
      {"\xdb\x00\x00\x00\x03"
       "abc"s,
       Type::String},
      {"\xc4\x01x", Type::Binary},
      {"\xc5\x00\x01x"s, Type::Binary},
      {"\xc6\x00\x00\x00\x01x"s, Type::Binary},
      {"\xd4\x01x", Type::Extension},
      {"\xd8\x01" + std::string(16, 'x'), Type::Extension},
      {"\xc7\x02\x01xx", Type::Extension},
      {"\x91\x01", Type::Array, 0},
      {"\xdc\x00\x01\x01"s, Type::Array, 0},
      {"\xdd\x00\x00\x00\x01\x01"s, Type::Array, 0},
      {"\x81\x01\x02", Type::Map, 0},
      {"\xde\x00\x01\x01\x02"s, Type::Map, 0},
      {"\xdf\x00\x00\x00\x01\x01\x02"s, Type::Map, 0},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(testing::PrintToString(c.bytes));
    auto token = first(c.bytes);
    ASSERT_TRUE(token) << token.error().message();
    EXPECT_EQ(token->type, c.type);
    EXPECT_EQ(token->integer, c.value);
    if (c.type == Type::Float)
      EXPECT_EQ(token->real, 1.0);
    // Whole values, and cut ones.
    const std::vector<std::byte> bytes = bytesOf(c.bytes);
    EXPECT_TRUE(Reader(bytes).skip());
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(Reader(ByteSpan(bytes).first(size)).skip()) << size;
  }
  EXPECT_FALSE(first("\xc1"));
}

TEST(MsgPack, CountsBeyondTheInputAreErrors) {
  EXPECT_THAT(first("\xdd\xff\xff\xff\xff").error().message(),
              HasSubstr("an array of 4294967295 entries, but 0 bytes"));
  EXPECT_FALSE(first("\xdf\xff\xff\xff\xff\x01"));
  EXPECT_FALSE(first("\xdb\xff\xff\xff\xff"
                     "abc"));
  EXPECT_FALSE(first("\xc9\xff\xff\xff\xff\x01"));
}

TEST(MsgPack, DepthCostsNothing) {
  // A million arrays in each other, the last one empty.
  std::string text(1'000'000, '\x91');
  text += '\x90';
  const std::vector<std::byte> bytes = bytesOf(text);
  Reader reader(bytes);
  auto all = reader.skip();
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->size(), bytes.size());
}

TEST(MsgPack, WhatIsWrittenIsRead) {
  for (uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{255}, uint64_t{256}, uint64_t{65535},
                         uint64_t{65536}, uint64_t{UINT32_MAX}, uint64_t{UINT32_MAX} + 1, UINT64_MAX}) {
    Writer writer;
    writer.number(value);
    EXPECT_EQ(first(writer.bytes())->integer, value);
  }
  for (size_t size : {0u, 31u, 32u, 255u, 256u, 65535u, 65536u}) {
    Writer writer;
    writer.text(std::string(size, 'x'));
    const std::vector<std::byte> bytes = bytesOf(writer.bytes());
    EXPECT_EQ(Reader(bytes).next()->bytes, std::string(size, 'x'));
  }
  for (uint32_t count : {0u, 15u, 16u, 65535u, 65536u}) {
    Writer array, map;
    array.array(count);
    map.map(count);
    const std::string values(count * 2, '\0');
    EXPECT_EQ(first(array.bytes() + values)->count, count);
    EXPECT_EQ(first(map.bytes() + values)->count, count);
  }
}

} // namespace
} // namespace luthier::object::msgpack
