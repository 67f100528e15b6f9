#include "hostcall/printf.h"
#include "luthier/hostcall_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <limits>

namespace luthier::hostcall {
namespace {

using testing::HasSubstr;

/// A message as devices send it.
class Message {
public:
  explicit Message(const std::string &format) { text(format); }
  Message &operator<<(const char *string) { return text(string); }
  Message &operator<<(double value) { return word(std::bit_cast<uint64_t>(value)); }
  Message &operator<<(const void *value) { return word(reinterpret_cast<uintptr_t>(value)); }
  // Compilers extend 32-bit integers with zeros, whatever their type (LLVM's AMDGPUEmitPrintf).
  Message &operator<<(int value) { return word(static_cast<uint32_t>(value)); }
  Message &operator<<(unsigned value) { return word(value); }
  Message &operator<<(long value) { return word(static_cast<uint64_t>(value)); }
  Message &operator<<(unsigned long value) { return word(value); }

  Message &text(const std::string &string) {
    const size_t at = words_.size();
    words_.resize(at + string.size() / 8 + 1);
    memcpy(&words_[at], string.data(), string.size());
    return *this;
  }
  Message &word(uint64_t word) {
    words_.push_back(word);
    return *this;
  }
  std::string print() const {
    auto text = formatMessage(words_);
    return text ? *text : "error: " + text.error().message();
  }
  const std::vector<uint64_t> &words() const { return words_; }

private:
  std::vector<uint64_t> words_;
};

/// What the C library makes of the same.
template <class... Arguments> std::string expected(const char *format, Arguments... arguments) {
  char text[4096];
  snprintf(text, sizeof text, format, arguments...);
  return text;
}
template <class... Arguments> std::string printed(const char *format, Arguments... arguments) {
  Message message(format);
  (void)(message << ... << arguments);
  return message.print();
}
#pragma clang diagnostic ignored "-Wformat-security"
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#define EXPECT_LIKE_C(...) EXPECT_EQ(printed(__VA_ARGS__), expected(__VA_ARGS__))

TEST(Printf, IntegersWithAllFlags) {
  for (const char *flags : {"", "-", "+", " ", "#", "0", "-+", "+0", " 0", "#0", "- #", "-+ #0"})
    for (const char *field : {"", "1", "12", ".0", ".5", "12.5", "3.8"})
      for (char conversion : {'d', 'i', 'o', 'u', 'x', 'X'})
        for (int value : {0, 1, -1, 42, -12345, INT32_MAX, INT32_MIN}) {
          const std::string format = std::string("<%") + flags + field + conversion + ">";
          EXPECT_LIKE_C(format.c_str(), value) << format << " of " << value;
        }
}

TEST(Printf, LengthModifiersNarrowAndWiden) {
  const long value = -0x123456789abcdef;
  for (const char *length : {"l", "ll", "j", "z", "t"})
    for (char conversion : {'d', 'i', 'o', 'u', 'x', 'X'}) {
      const std::string format = std::string("%") + length + conversion;
      EXPECT_LIKE_C(format.c_str(), value) << format;
    }
  EXPECT_EQ(printed("%d", value), std::to_string(static_cast<int>(value)));
  EXPECT_EQ(printed("%hd", 0x18765), "-30875");
  EXPECT_EQ(printed("%hu", 0x18765), "34661");
  EXPECT_EQ(printed("%hhd", 0x1ff), "-1");
  EXPECT_EQ(printed("%hhu", 0x1ff), "255");
  EXPECT_EQ(printed("%#hhx", 0xabcd), "0xcd");
}

TEST(Printf, FloatingPoint) {
  for (const char *flags : {"", "-", "+", " ", "#", "0", "-#", "+0"})
    for (const char *field : {"", "12", ".0", ".3", "14.2", ".17"})
      for (char conversion : {'f', 'F', 'e', 'E', 'g', 'G', 'a', 'A'})
        for (double value : {0.0, -0.0, 1.0, -1.5, 3.14159265358979, 1e-10, 6.02e23, 1e300, 5e-324,
                             std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
          const std::string format = std::string("<%") + flags + field + conversion + ">";
          EXPECT_LIKE_C(format.c_str(), value) << format << " of " << value;
        }
  EXPECT_EQ(printed("%Lf", 2.5), "2.500000");
  EXPECT_EQ(printed("%lf", 2.5), "2.500000");
}

TEST(Printf, StringsDoNotShiftWhatFollows) {
  EXPECT_EQ(printed("%10s|%d", "abc", 7), "       abc|7");
  EXPECT_EQ(printed("%-10s|%d", "abc", 7), "abc       |7");
  EXPECT_EQ(printed("%.3s|%d", "abcdefghijklmnop", 7), "abc|7");
  EXPECT_EQ(printed("%10.2s|%d", "abcdefghijklmnop", 7), "        ab|7");
  EXPECT_EQ(printed("%.0s|%d", "abcdefghijklmnop", 7), "|7");
  EXPECT_EQ(printed("%s%s|%d", "", "", 7), "|7");
  // Lengths around the word size: the 0 at the end may need a word of its own.
  for (size_t length = 0; length < 40; ++length) {
    const std::string text(length, 'x');
    EXPECT_EQ(printed("%s|%d|%s", text.c_str(), 7, text.c_str()), text + "|7|" + text) << length;
    EXPECT_EQ(printed((text + "%d").c_str(), 7), text + "7") << length;
  }
}

TEST(Printf, Stars) {
  EXPECT_LIKE_C("%*d|", 8, 42);
  EXPECT_LIKE_C("%*d|", -8, 42);
  EXPECT_LIKE_C("%0*d|", 8, 42);
  EXPECT_LIKE_C("%.*d|", 5, 42);
  EXPECT_LIKE_C("%.*d|", -5, 42);
  EXPECT_LIKE_C("%*.*f|%d", 10, 3, 2.71828, 9);
  EXPECT_LIKE_C("%*.*s|%d", 10, 3, "abcdef", 9);
  EXPECT_LIKE_C("%-*.*s|%d", -10, -3, "abcdef", 9);
}

TEST(Printf, CharactersAndPointers) {
  EXPECT_LIKE_C("%c%c|%5c|%-5c|", 'a', 'b', 'c', 'd');
  EXPECT_EQ(printed("%c|", 0), std::string("\0|", 2));
  EXPECT_EQ(printed("%lc%lc%lc", 0x41, 0xe9, 0x20ac), "A\u00e9\u20ac");
  EXPECT_EQ(printed("%lc%lc", 0x1f600, 0xd800), "\U0001f600\ufffd");
  EXPECT_LIKE_C("%p|%20p|%-20p|", reinterpret_cast<const void *>(0x1234), reinterpret_cast<const void *>(0xabcdef),
                reinterpret_cast<const void *>(1));
  EXPECT_EQ(printed("%p", static_cast<const void *>(nullptr)), "(nil)");
}

TEST(Printf, PercentAndText) {
  EXPECT_EQ(printed(""), "");
  EXPECT_EQ(printed("100%%\n"), "100%\n");
  EXPECT_EQ(printed("%%%d%%", 5), "%5%");
  EXPECT_EQ(printed("plain text\n"), "plain text\n");
}

TEST(Printf, NWritesNothing) { EXPECT_EQ(printed("%d%n%d", 1, 0xdeadbeef, 2), "12"); }

TEST(Printf, WhatIsWrongStaysReadable) {
  EXPECT_EQ(printed("%d %d", 1), "1 %d");
  EXPECT_EQ(printed("%s end"), "%s end");
  EXPECT_EQ(printed("%*d", 3), "%*d");
  EXPECT_EQ(printed("%y %d", 1), "%y 1");
  EXPECT_EQ(printed("%"), "%");
  EXPECT_EQ(printed("%-"), "%-");
  EXPECT_EQ(printed("50% of", 1), "501f") << "a flag and a conversion";
  EXPECT_EQ(printed("%ls %d", "abc", 4), "(%ls is not supported) 4");
}

TEST(Printf, StringWithoutEndIsNone) {
  EXPECT_EQ(Message("%s|").word(UINT64_MAX).print(), "%s|");
  const uint64_t garbage[] = {UINT64_MAX, UINT64_MAX};
  EXPECT_THAT(formatMessage(garbage).error().message(), HasSubstr("no format"));
  EXPECT_FALSE(formatMessage({}));
}

TEST(Printf, HugeFieldsAreLimited) {
  EXPECT_EQ(printed("%99999999999999999999d", 1).size(), 65535u);
  EXPECT_EQ(printed("%*d", INT32_MIN, 1).size(), 65535u);
  EXPECT_EQ(printed("%.*d", INT32_MAX, 1).size(), 65535u);
  EXPECT_EQ(printed("%.300f", 1e300).size(), 301 + 1 + 300u);
  std::string format;
  Message message([&] {
    for (int n = 0; n < 300; ++n)
      format += "%65535d";
    return format;
  }());
  for (int n = 0; n < 300; ++n)
    message << 1;
  EXPECT_THAT(message.print(), HasSubstr("longer than"));
}

TEST(Printf, StreamComesFirst) {
  Message text("x%d");
  text << 3;
  std::vector<uint64_t> words = {1};
  words.insert(words.end(), text.words().begin(), text.words().end());
  auto message = formatPrintf(words);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->stream, 1u);
  EXPECT_EQ(message->text, "x3");
  words[0] = wire::kAssertion;
  EXPECT_TRUE(formatPrintf(words));
  words[0] = 3;
  EXPECT_THAT(formatPrintf(words).error().message(), HasSubstr("stream 3"));
  EXPECT_FALSE(formatPrintf({}));
}

} // namespace
} // namespace luthier::hostcall
