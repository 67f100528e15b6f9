#include "support/result.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace luthier {
namespace {

struct Base {
  virtual ~Base() = default;
  virtual int id() const { return 1; }
};
struct Derived : Base {
  int id() const override { return 2; }
};

Result<int> parseDigit(char c) {
  if (c < '0' || c > '9')
    return makeError("'{}' is not a digit", c);
  return c - '0';
}

Result<int> sumOfDigits(const std::string &text) {
  int sum = 0;
  for (char c : text)
    sum += LUTHIER_TRY(parseDigit(c));
  return sum;
}

Result<void> checkDigits(const std::string &text) {
  LUTHIER_TRY(sumOfDigits(text));
  return {};
}

Result<std::string> describe(const std::string &text) {
  LUTHIER_TRY(checkDigits(text));
  return fmt::format("sum {}", LUTHIER_TRY(sumOfDigits(text)));
}

TEST(Result, HoldsValue) {
  Result<int> result = 42;
  ASSERT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(*result, 42);
  *result = 7;
  EXPECT_EQ(result.value(), 7);
  EXPECT_EQ(result.value_or(1), 7);
}

TEST(Result, HoldsError) {
  Result<int> result = makeError("no {} in {:#x}", "symbol", 255);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "no symbol in 0xff");
  EXPECT_EQ(result.error().code(), 0);
  EXPECT_EQ(result.value_or(1), 1);
}

TEST(Result, ErrorKeepsItsCodeUnderContext) {
  Error error = makeErrorCode(2, "no such file").withContext("opening a.out");
  EXPECT_EQ(error.message(), "opening a.out: no such file");
  EXPECT_EQ(error.code(), 2);
}

TEST(Result, BracesInDataAreNotFormatted) {
  EXPECT_EQ(makeError("{}", "{} {0}").message(), "{} {0}");
  EXPECT_EQ(Error("plain {}").message(), "plain {}");
}

TEST(Result, MoveOnlyValues) {
  auto make = [](bool good) -> Result<std::unique_ptr<Base>> {
    if (!good)
      return makeError("bad");
    return std::make_unique<Derived>();
  };
  Result<std::unique_ptr<Base>> result = make(true);
  ASSERT_TRUE(result);
  EXPECT_EQ((*result)->id(), 2);
  std::unique_ptr<Base> taken = *std::move(result);
  EXPECT_EQ(taken->id(), 2);
  EXPECT_FALSE(make(false));
}

TEST(Result, ArrowReachesMembers) {
  Result<std::vector<int>> result = std::vector<int>{1, 2, 3};
  EXPECT_EQ(result->size(), 3u);
  const auto &constant = result;
  EXPECT_EQ(constant->back(), 3);
}

TEST(Result, OfBool) {
  Result<bool> no = false;
  ASSERT_TRUE(no);
  EXPECT_FALSE(*no);
}

TEST(Result, OfVoid) {
  Result<void> good;
  EXPECT_TRUE(good);
  Result<void> bad = makeError("out of room");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message(), "out of room");
}

TEST(Result, TryGivesTheValueOrReturnsTheError) {
  EXPECT_EQ(*sumOfDigits("1234"), 10);
  EXPECT_EQ(sumOfDigits("12x4").error().message(), "'x' is not a digit");
  EXPECT_TRUE(checkDigits("12"));
  EXPECT_FALSE(checkDigits("?"));
  EXPECT_EQ(*describe("99"), "sum 18");
  EXPECT_EQ(describe("9y").error().message(), "'y' is not a digit");
}

TEST(Result, TryKeepsTheCode) {
  auto outer = []() -> Result<void> {
    LUTHIER_TRY([]() -> Result<int> { return makeErrorCode(13, "denied"); }());
    return {};
  };
  EXPECT_EQ(outer().error().code(), 13);
}

} // namespace
} // namespace luthier
