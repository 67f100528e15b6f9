// Assembly for rows of the instruction table, for tests that walk all of them.
#pragma once

#include "harness.h"
#include "valu_cases.h"

#include "vgpu/exec/row.h"

#include <fmt/format.h>

#include <string>

namespace luthier::vgpu::test {

inline constexpr unsigned kSources = 3;

inline std::string reg(char file, unsigned number, bool wide) {
  return wide ? fmt::format("{}[{}:{}]", file, number, number + 1) : fmt::format("{}{}", file, number);
}

/// The row's instruction in its long encoding, with source n an SGPR or a constant where `uniform` has bit n: the first
/// such source is s[4:5], since an instruction reads only one SGPR, and others are constants. Results go to v[to:to+1]
/// and s[maskTo:maskTo+1].
inline std::string instructionText(const Row &row, unsigned uniform, unsigned to = 10, unsigned maskTo = 20) {
  std::string text = fmt::format("{}_e64 ", row.mnemonic);
  const bool compares = row.dst == Type::Mask;
  text += compares ? reg('s', maskTo, true) : reg('v', to, is64(row.dst));
  if ((row.traits & kWritesMask) && !compares)
    text += ", " + reg('s', maskTo, true);
  bool scalarUsed = false;
  for (unsigned n = 0; n < kSources && row.src[n] != Type::None; ++n) {
    if (n == 2 && (row.traits & kAccumulates))
      break;
    if (row.src[n] == Type::Mask) {
      text += ", s[4:5]";
    } else if (!(uniform >> n & 1)) {
      text += ", " + reg('v', 2 + 2 * n, is64(row.src[n]));
    } else if (!scalarUsed) {
      text += ", " + reg('s', 4, is64(row.src[n]));
      scalarUsed = true;
    } else {
      text += ", 3";
    }
  }
  return text;
}

/// Edge cases in v2 to v11, other ones in every lane and register.
inline void fillRegisters(ExecTest &t) {
  const Values values = test::values(kEdgesF32, 40, 0xffffffff);
  for (unsigned r = 2; r < 12; ++r)
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      t.v(r, lane) = static_cast<uint32_t>(values[(lane * (2 * r + 1) + r) % values.size()]);
}

} // namespace luthier::vgpu::test
