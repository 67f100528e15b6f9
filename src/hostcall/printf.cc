#include "hostcall/printf.h"

#include "luthier/hostcall_layout.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

namespace luthier::hostcall {

namespace {

constexpr int kMaxField = 65535; // C99 asks for 4095 characters per conversion

/// The words of a message, taken from its start.
class Words {
public:
  explicit Words(std::span<const uint64_t> words) : words_(words) {}

  std::optional<uint64_t> word() {
    if (words_.empty())
      return std::nullopt;
    const uint64_t word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }

  /// A string and the padding behind it. One without an end is no string.
  std::optional<std::string_view> text() {
    const char *begin = reinterpret_cast<const char *>(words_.data());
    const void *end = words_.empty() ? nullptr : memchr(begin, 0, words_.size_bytes());
    if (!end)
      return std::nullopt;
    const std::string_view text(begin, static_cast<const char *>(end));
    words_ = words_.subspan(text.size() / sizeof(uint64_t) + 1);
    return text;
  }

private:
  std::span<const uint64_t> words_;
};

/// One conversion specification: %[flags][width][.precision][length]conversion.
struct Spec {
  std::string_view source;
  std::string flags;
  int width = -1, precision = -1; ///< -1: none
  bool starWidth = false, starPrecision = false;
  std::string_view length;
  char conversion = 0;
};

/// Reads digits; the value is limited, and so are the digits that matter.
int readNumber(std::string_view &text) {
  int value = 0;
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1))
    value = std::min(value * 10 + (text[0] - '0'), kMaxField);
  return value;
}

bool isOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

bool take(std::string_view &text, std::string_view what) {
  if (!text.starts_with(what))
    return false;
  text.remove_prefix(what.size());
  return true;
}

/// The specification at the start of `text`, which begins with '%'; nothing when it is none.
std::optional<Spec> readSpec(std::string_view text) {
  const std::string_view all = text;
  Spec spec;
  text.remove_prefix(1);
  for (; !text.empty() && isOneOf(text[0], "-+ #0"); text.remove_prefix(1))
    if (spec.flags.find(text[0]) == std::string::npos)
      spec.flags += text[0];
  if (take(text, "*"))
    spec.starWidth = true;
  else if (!text.empty() && text[0] >= '1' && text[0] <= '9')
    spec.width = readNumber(text);
  if (take(text, ".")) {
    if (take(text, "*"))
      spec.starPrecision = true;
    else
      spec.precision = readNumber(text);
  }
  for (std::string_view length : {"hh", "h", "ll", "l", "j", "z", "t", "L"})
    if (take(text, length)) {
      spec.length = length;
      break;
    }
  if (text.empty() || !isOneOf(text[0], "diouxXfFeEgGaAcspn"))
    return std::nullopt;
  spec.conversion = text[0];
  spec.source = all.substr(0, all.size() - text.size() + 1);
  return spec;
}

/// snprintf at the end of a string.
template <class T> void print(std::string &out, const Spec &spec, std::string_view length, T value) {
  std::string format = "%" + spec.flags;
  if (spec.width >= 0)
    format += std::to_string(spec.width);
  if (spec.precision >= 0)
    format += "." + std::to_string(spec.precision);
  format += length;
  format += spec.conversion;
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral" // made above from parts that are known
  char small[128];
  const int count = snprintf(small, sizeof small, format.c_str(), value);
  if (count < 0)
    return;
  if (static_cast<size_t>(count) < sizeof small) {
    out.append(small, static_cast<size_t>(count));
    return;
  }
  const size_t before = out.size();
  out.resize(before + static_cast<size_t>(count) + 1);
  snprintf(out.data() + before, static_cast<size_t>(count) + 1, format.c_str(), value);
  out.pop_back();
#pragma clang diagnostic pop
}

long long narrowSigned(uint64_t value, std::string_view length) {
  if (length == "hh")
    return static_cast<signed char>(value);
  if (length == "h")
    return static_cast<short>(value);
  return length.empty() ? static_cast<int>(value) : static_cast<long long>(value);
}

unsigned long long narrowUnsigned(uint64_t value, std::string_view length) {
  if (length == "hh")
    return static_cast<unsigned char>(value);
  if (length == "h")
    return static_cast<unsigned short>(value);
  return length.empty() ? static_cast<unsigned>(value) : value;
}

/// A wide character as UTF-8, whatever the locale: what is none becomes U+FFFD.
std::string utf8(uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
    c = 0xfffd;
  if (c < 0x80)
    return {static_cast<char>(c)};
  std::string text;
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xff00 >> (more + 1) & 0xff) | c >> (6 * more));
  for (int n = more - 1; n >= 0; --n)
    text += static_cast<char>(0x80 | (c >> (6 * n) & 0x3f));
  return text;
}

/// Text in a field: what %s does, for text that may contain 0 (%c).
void printText(std::string &out, const Spec &spec, std::string_view text) {
  const size_t padding = spec.width > static_cast<int>(text.size()) ? static_cast<size_t>(spec.width) - text.size() : 0;
  const bool left = spec.flags.find('-') != std::string::npos;
  if (!left)
    out.append(padding, ' ');
  out += text;
  if (left)
    out.append(padding, ' ');
}

/// Converts one argument. False when there is none.
bool convert(std::string &out, const Spec &spec, Words &arguments) {
  if (spec.conversion == 's') {
    const auto text = arguments.text();
    if (!text)
      return false;
    if (spec.length == "l")
      out += "(%ls is not supported)";
    else
      printText(out, spec, spec.precision < 0 ? *text : text->substr(0, static_cast<size_t>(spec.precision)));
    return true;
  }
  const auto argument = arguments.word();
  if (!argument)
    return false;
  switch (spec.conversion) {
  case 'd':
  case 'i':
    print(out, spec, "ll", narrowSigned(*argument, spec.length));
    break;
  case 'o':
  case 'u':
  case 'x':
  case 'X':
    print(out, spec, "ll", narrowUnsigned(*argument, spec.length));
    break;
  case 'c':
    printText(out, spec,
              spec.length == "l" ? utf8(static_cast<uint32_t>(*argument))
                                 : std::string(1, static_cast<char>(*argument)));
    break;
  case 'p':
    print(out, spec, "", reinterpret_cast<void *>(*argument));
    break;
  case 'n':
    break;
  default: // a device's long double is a double
    print(out, spec, "", std::bit_cast<double>(*argument));
  }
  return true;
}

/// Gives a '*' its value; a negative width is the flag '-' and a width, a negative precision is none (C99 7.19.6.1).
bool resolveStars(Spec &spec, Words &arguments) {
  if (spec.starWidth) {
    const auto word = arguments.word();
    if (!word)
      return false;
    const int64_t width = static_cast<int>(*word);
    if (width < 0)
      spec.flags += '-';
    spec.width = static_cast<int>(std::min<int64_t>(std::abs(width), kMaxField));
  }
  if (spec.starPrecision) {
    const auto word = arguments.word();
    if (!word)
      return false;
    const int precision = static_cast<int>(*word);
    spec.precision = precision < 0 ? -1 : std::min(precision, kMaxField);
  }
  return true;
}

} // namespace

Result<std::string> formatMessage(std::span<const uint64_t> words) {
  Words arguments(words);
  const auto format = arguments.text();
  if (!format)
    return makeError("a printf message of {} words has no format", words.size());
  std::string out;
  for (std::string_view rest = *format; !rest.empty();) {
    const size_t literal = std::min(rest.find('%'), rest.size());
    out += rest.substr(0, literal);
    rest.remove_prefix(literal);
    if (out.size() > kMaxText)
      return makeError("a printf's text is longer than {} bytes", kMaxText);
    if (rest.empty())
      break;
    if (take(rest, "%%")) {
      out += '%';
      continue;
    }
    auto spec = readSpec(rest);
    if (!spec) {
      out += '%';
      rest.remove_prefix(1);
      continue;
    }
    if (!resolveStars(*spec, arguments) || !convert(out, *spec, arguments))
      out += spec->source;
    rest.remove_prefix(spec->source.size());
  }
  return out;
}

Result<PrintfMessage> formatPrintf(std::span<const uint64_t> message) {
  if (message.empty())
    return makeError("an empty printf message");
  if (message[0] > wire::kAssertion)
    return makeError("a printf message for stream {}, which does not exist", message[0]);
  return PrintfMessage{message[0], LUTHIER_TRY(formatMessage(message.subspan(1)))};
}

} // namespace luthier::hostcall
