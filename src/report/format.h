// The formats that a report can have: their names on the command line, and what their files are called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace luthier::report {

enum class Format : uint8_t { Text, Csv, Json, Html, Db, Pftrace };

struct FormatInfo {
  std::string_view name, extension;
  bool forTerminals; ///< may go to stderr: text that people or scripts read
  bool hasAccount;   ///< says what was instrumented and what was not
  bool hasDetails;   ///< has launches, or code, which need not be collected otherwise
};

/// As in Format.
inline constexpr std::array<FormatInfo, 6> kFormats = {{
    {"text", ".txt", true, true, false},
    {"csv", ".csv", true, false, false},
    {"json", ".json", true, true, false},
    {"html", ".html", false, true, true},
    {"db", ".db", false, true, true},
    {"pftrace", ".pftrace", false, false, true},
}};

constexpr const FormatInfo &infoOf(Format format) { return kFormats[static_cast<size_t>(format)]; }

} // namespace luthier::report
