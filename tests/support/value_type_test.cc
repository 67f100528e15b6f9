#include "support/value_type.h"

#include "support/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier {
namespace {

using Kind = ValueType::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

std::string errorOf(const ValueType &type, const char *value) {
  const auto checked = type.check("--x", value);
  return checked ? "" : checked.error().message();
}

TEST(ValueType, ChecksEachKind) {
  EXPECT_EQ(errorOf({}, "any text"), "");
  EXPECT_EQ(errorOf({.kind = Kind::Flag}, "on"), "");
  EXPECT_EQ(errorOf({.kind = Kind::Flag}, "maybe"),
            "--x is 'maybe'; expected 1 or 0 (or true, false, yes, no, on, off)");
  EXPECT_EQ(errorOf({.kind = Kind::Flag}, ""), "--x is ''; expected 1 or 0 (or true, false, yes, no, on, off)");
  const ValueType number{.kind = Kind::Number, .least = 2, .most = 9};
  EXPECT_EQ(errorOf(number, "0x9"), "");
  for (const char *bad : {"1", "10", "-3", "", "2.5", "two"})
    EXPECT_EQ(errorOf(number, bad), std::string("--x is '") + bad + "'; expected a number from 2 to 9");
  const ValueType choice{.kind = Kind::Choice, .choices = {"a", "b"}};
  EXPECT_EQ(errorOf(choice, "b"), "");
  for (const char *bad : {"c", "", "a,b", " a"})
    EXPECT_EQ(errorOf(choice, bad), std::string("--x is '") + bad + "'; expected one of: a, b");
  EXPECT_EQ(errorOf({.kind = Kind::Addresses}, ""), "");
  EXPECT_EQ(errorOf({.kind = Kind::Addresses}, "1a40,0x2"), "");
  for (const char *bad : {"1,", ",1", "xyz", "1 2", "0x", "11111111111111111"})
    EXPECT_EQ(errorOf({.kind = Kind::Addresses}, bad),
              std::string("--x is '") + bad + "'; expected hexadecimal addresses, separated by commas");
  EXPECT_EQ(errorOf({.kind = Kind::OutputFile}, "/r/%pid%"), "");
  EXPECT_EQ(errorOf({.kind = Kind::OutputFile}, ""), "--x is ''; expected the name of a file");
  EXPECT_EQ(errorOf({.kind = Kind::OutputFile}, "%no%"),
            "--x: %no% is not a key for names of files; known: %pid%, %hostname%, %rank%, %env{NAME}%");
}

TEST(ValueType, ThereAndBack) {
  for (const ValueType &type :
       {ValueType{}, ValueType{.kind = Kind::Flag}, ValueType{.kind = Kind::Number, .least = 3, .most = 1ull << 63},
        ValueType{.kind = Kind::Choice, .choices = {"a", "b"}}, ValueType{.kind = Kind::Addresses},
        ValueType{.kind = Kind::OutputFile}}) {
    const auto back = ValueType::fromText(type.toText());
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->kind, type.kind);
    EXPECT_EQ(back->least, type.least);
    EXPECT_EQ(back->most, type.most);
    EXPECT_EQ(back->choices, type.choices);
  }
  for (const char *bad : {"", "words", "flag 1", "number", "number 1", "number 1 x", "choice", "choice ,"})
    EXPECT_FALSE(ValueType::fromText(bad)) << bad;
}

TEST(Addresses, AreHexadecimal) {
  EXPECT_THAT(*parseAddresses("--x", "10, 0xff"), ElementsAre(16u, 255u));
  EXPECT_THAT(*parseAddresses("--x", ""), IsEmpty());
}

TEST(Suggestion, SlipsOfTheKeyboard) {
  const std::vector<std::string> names = {"per", "limit", "space"};
  EXPECT_EQ(closestName("pre", names), "per");
  EXPECT_EQ(closestName("limits", names), "limit");
  EXPECT_EQ(closestName("sapce", names), "space");
  EXPECT_EQ(closestName("other", names), "");
  EXPECT_EQ(closestName("", names), "");
  EXPECT_EQ(suggestion("pre", names), "; did you mean 'per'?");
  EXPECT_EQ(suggestion("else", names), "");
}

} // namespace
} // namespace luthier
