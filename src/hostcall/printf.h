// printf for device code: the format and its arguments come as words, the text is made here.
//
// Each conversion is done by the C library's snprintf, one at a time, with its own length modifier: arguments come in
// 64 bits, whatever their type. All text of a call is written at once, so that the lines of several lanes do not mix.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <span>
#include <string>

namespace luthier::hostcall {

/// What printf would write. `words` are the format and the arguments, each in whole words, strings with their
/// terminating 0. Nothing is read beyond them, whatever the format says:
/// - a conversion without an argument, or one that does not exist, appears as it is written;
/// - %n writes nothing and skips its argument; %ls, which devices cannot send, appears as "(%ls is not supported)";
/// - widths and precisions are limited to 65535.
/// It fails when the format has no end, or the text would be longer than kMaxText.
Result<std::string> formatMessage(std::span<const uint64_t> words);

inline constexpr size_t kMaxText = 16 << 20;

/// A printf message: a stream (wire::Stream), then what formatMessage takes.
struct PrintfMessage {
  uint64_t stream = 0;
  std::string text;
};
Result<PrintfMessage> formatPrintf(std::span<const uint64_t> message);

} // namespace luthier::hostcall
