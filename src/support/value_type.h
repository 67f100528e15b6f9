// Values that users write, as options of tools or in environment variables: which kinds there are, and one message for
// those that do not fit. It names what the value is for, the value, and what is expected instead.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace luthier {

struct ValueType {
  enum class Kind : uint8_t {
    Text,
    Flag,
    Number,
    Choice,
    Addresses,  ///< hexadecimal numbers, separated by commas
    OutputFile, ///< a name, in which the keys of expandKeys are replaced
  };
  Kind kind = Kind::Text;
  uint64_t least = 0, most = std::numeric_limits<uint64_t>::max(); ///< of a Number
  std::vector<std::string> choices = {};                           ///< of a Choice: at least one

  /// "a number from 1 to 64", "one of: a, b".
  std::string expected() const;
  Result<void> check(std::string_view what, std::string_view value) const;

  /// "flag", "number 1 64", "choice a,b": how a type crosses from one binary to another.
  std::string toText() const;
  static Result<ValueType> fromText(std::string_view text);
};

/// Decimal, or hexadecimal after 0x; must lie in [least, most].
Result<uint64_t> parseNumber(std::string_view what, std::string_view value, uint64_t least = 0,
                             uint64_t most = std::numeric_limits<uint64_t>::max());
/// 1, true, yes, on; 0, false, no, off.
Result<bool> parseFlag(std::string_view what, std::string_view value);
/// "1a40,0x2000000001644"; empty: none.
Result<std::vector<uint64_t>> parseAddresses(std::string_view what, std::string_view value);
/// The index of one of the given names.
Result<size_t> parseChoice(std::string_view what, std::string_view value, const std::vector<std::string_view> &choices);

} // namespace luthier
