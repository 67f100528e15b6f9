// What a launch's first NaN or infinity leaves behind. Included by both sides.
#pragma once

namespace nan_origin {
enum Form { NotFloat, F16, TwoF16, F32, F64 }; // of a register's value, or, but for F64, of each of two registers
constexpr unsigned kInputs = 3;
enum Word {
  Taken,
  Site,
  Group,
  Thread = Group + 3,
  Result = Thread + 3,
  Inputs = Result + 2,
  kWords = Inputs + 2 * kInputs
};
} // namespace nan_origin
