// The table of operations, types and atomics. Every row is defined for all operands (prelude.h says how), on both
// sides, to the bit; rows whose text is a call are functions of prelude.h.

#include "program.h"

namespace luthier::vgpu::differential {

std::string_view typeName(Type type) {
  switch (type) {
  case Bool:
    return "bool";
  case U8:
    return "u8";
  case U16:
    return "u16";
  case U32:
    return "u32";
  case I32:
    return "i32";
  case U64:
    return "u64";
  case I64:
    return "i64";
  case F16:
    return "f16";
  case F32:
    return "f32";
  case F64:
    return "f64";
  case U16x2:
    return "u16x2";
  case I16x2:
    return "i16x2";
  case F16x2:
    return "f16x2";
  case F32x2:
    return "f32x2";
  }
  return "?";
}

uint32_t typeBytes(Type type) {
  switch (type) {
  case Bool:
  case U8:
    return 1;
  case U16:
  case F16:
    return 2;
  case U64:
  case I64:
  case F64:
  case F32x2:
    return 8;
  default:
    return 4;
  }
}

std::span<const Operation> operations() {
  // clang-format off
  static constexpr Operation kTable[] = {
      // 32 bits
      {"u:uu", "($0 + $1)"}, {"u:uu", "($0 - $1)"}, {"u:uu", "($0 * $1)"}, {"u:uu", "($0 & $1)"}, {"u:uu", "($0 | $1)"},
      {"u:uu", "($0 ^ $1)"}, {"u:uu", "~($0 ^ $1)"}, {"u:uu", "($0 & ~$1)"}, {"u:u", "~$0"}, {"u:u", "-$0"},
      {"u:uu", "($0 << ($1 & 31))"}, {"u:uu", "($0 >> ($1 & 31))"}, {"i:iu", "($0 >> ($1 & 31))"},
      {"u:uuu", "(($0 << ($1 & 31)) + $2)"}, {"u:uuu", "(($0 + $1) << ($2 & 31))"}, {"u:uuu", "(($0 << ($1 & 31)) | $2)"},
      {"u:uuu", "($0 + $1 + $2)"}, {"u:uuu", "(($0 & $1) | $2)"}, {"u:uuu", "($0 | $1 | $2)"}, {"u:uuu", "(($0 ^ $1) + $2)"},
      {"u:uuu", "(($0 & $1) | (~$0 & $2))"}, {"u:uuu", "($0 ^ $1 ^ $2)"}, {"u:uu", "(($0 & 0xffffff) * ($1 & 0xffffff))"},
      {"u:uuu", "(($0 & 0xffffff) * ($1 & 0xffffff) + $2)"}, {"i:iii", "(i32)((u32)(($0 << 8 >> 8) * ($1 << 20 >> 20)) + (u32)$2)"},
      {"u:uu", "mulhi($0, $1)"}, {"i:ii", "mulhi($0, $1)"}, {"u:uuu", "med3($0, $1, $2)"}, {"u:uu", "udiv($0, $1)"},
      {"u:uu", "urem($0, $1)"}, {"i:ii", "sdiv($0, $1)"}, {"i:ii", "srem($0, $1)"}, {"u:u", "POPC($0)"}, {"u:u", "clz32($0)"},
      {"u:u", "ctz32($0)"}, {"u:u", "__builtin_bitreverse32($0)"}, {"u:u", "__builtin_bswap32($0)"},
      {"u:uu", "__builtin_rotateleft32($0, $1)"}, {"u:uuu", "alignbit($0, $1, $2)"}, {"u:uuu", "alignbyte($0, $1, $2)"},
      {"u:uuu", "ubfe($0, $1, $2)"}, {"i:iuu", "sbfe($0, $1, $2)"}, {"u:uuu", "perm($0, $1, $2)"}, {"u:uu", "perm($0, $1, 0x0c010d06u)"},
      {"u:uuu", "lerp($0, $1, $2)"}, {"u:uuu", "sadU8($0, $1, $2)"}, {"u:uuu", "sadHiU8($0, $1, $2)"}, {"u:uuu", "sadU16($0, $1, $2)"},
      {"u:uuu", "msadU8($0, $1, $2)"}, {"u:uuu", "udot4($0, $1, $2)"}, {"u:uuu", "udot8($0, $1, $2)"}, {"i:uuu", "sdot4($0, $1, $2)"},
      {"u:lu", "mbcnt($0, $1)"}, {"u:buu", "($0 ? $1 : $2)"}, {"i:bii", "($0 ? $1 : $2)"},
      {"u:uu", "__builtin_elementwise_min($0, $1)"}, {"u:uu", "__builtin_elementwise_max($0, $1)"},
      {"i:ii", "__builtin_elementwise_min($0, $1)"}, {"i:ii", "__builtin_elementwise_max($0, $1)"},
      {"u:uuu", "__builtin_elementwise_max(__builtin_elementwise_max($0, $1), $2)"},
      {"u:uu", "__builtin_elementwise_add_sat($0, $1)"}, {"u:uu", "__builtin_elementwise_sub_sat($0, $1)"},
      {"i:ii", "__builtin_elementwise_add_sat($0, $1)"}, {"i:ii", "__builtin_elementwise_sub_sat($0, $1)"},
      {"u:uuu", "(($0 > $1 ? $0 - $1 : $1 - $0) + $2)"},
      {"u:i", "(u32)$0"}, {"i:u", "(i32)$0"}, {"u:c", "(u32)$0"}, {"u:s", "(u32)$0"}, {"i:s", "(i32)(i16)$0"}, {"i:c", "(i32)(signed char)$0"},
      {"u:l", "(u32)$0"}, {"u:l", "(u32)($0 >> 32)"}, {"u:b", "(u32)$0"}, {"u:S", "bits<u32>($0)"}, {"u:I", "bits<u32>($0)"},
      {"u:E", "bits<u32>(canon($0))"}, {"u:f", "bits<u32>(canon($0))"},
      // memory
      {"u:u", "IN(u32, 4096, $0)"}, {"u:u", "(u32)IN(u8, 0, $0)"}, {"i:u", "(i32)IN(signed char, 0, $0)"}, {"u:u", "(u32)IN(u16, 2048, $0)"},
      {"i:u", "(i32)IN(i16, 2048, $0)"}, {"l:u", "IN(u64, 8192, $0)"}, {"e:u", "IN(f16, 12288, $0)"}, {"f:u", "IN(f32, 14336, $0)"},
      {"d:u", "IN(f64, 16384, $0)"}, {"u:u", "fold(IN(u32x4, 4096, ($0) & 63))"}, {"F:u", "IN(f32x2, 24576, $0)"},
      {"u:u", "P32($0)"}, {"l:u", "P64($0)"}, {"u:u", "(u32)OWN($0)"},
      {"u:uu", "OWN_ATOMIC(add, u32, $0, $1)"}, {"u:uu", "OWN_ATOMIC(xor, u32, $0, $1)"}, {"u:uu", "OWN_ATOMIC(max, u32, $0, $1)"},
      {"i:ui", "OWN_ATOMIC(min, i32, $0, $1)"}, {"u:uu", "OWN_SWAP(u32, $0, $1)"}, {"u:uuu", "compareSwap(OWN_AS(u32, $0), $1, $2)"},
      {"l:ul", "OWN_ATOMIC(add, u64, $0, $1)"}, {"l:ul", "OWN_ATOMIC(or, u64, $0, $1)"}, {"j:uj", "OWN_ATOMIC(max, i64, $0, $1)"},
      {"l:ul", "OWN_SWAP(u64, $0, $1)"}, {"l:ull", "compareSwap(OWN_AS(u64, $0), $1, $2)"},
      // 8 and 16 bits
      {"c:cc", "(u8)($0 + $1)"}, {"c:cc", "(u8)($0 * $1)"}, {"c:u", "(u8)$0"}, {"c:cu", "(u8)($0 >> ($1 & 7))"}, {"c:cc", "(u8)($0 ^ $1)"},
      {"c:cc", "__builtin_elementwise_add_sat($0, $1)"}, {"s:ss", "(u16)($0 + $1)"}, {"s:ss", "(u16)($0 - $1)"},
      {"s:ss", "(u16)((u32)$0 * $1)"}, {"s:sss", "(u16)((u32)$0 * $1 + $2)"}, {"s:su", "(u16)($0 << ($1 & 15))"}, {"s:su", "(u16)($0 >> ($1 & 15))"},
      {"s:su", "(u16)((i16)$0 >> ($1 & 15))"}, {"s:ss", "__builtin_elementwise_min($0, $1)"}, {"s:ss", "__builtin_elementwise_max($0, $1)"},
      {"s:ss", "(u16)__builtin_elementwise_max((i16)$0, (i16)$1)"}, {"s:ss", "__builtin_elementwise_sub_sat($0, $1)"}, {"s:u", "(u16)$0"},
      {"s:u", "(u16)($0 >> 16)"}, {"s:c", "(u16)$0"}, {"s:e", "bits<u16>(canon($0))"}, {"s:S", "$0.x"}, {"s:S", "$0.y"}, {"s:ss", "(u16)($0 / ($1 | 1))"},
      // packed 16 bits
      {"S:SS", "($0 + $1)"}, {"S:SS", "($0 - $1)"}, {"S:SS", "($0 * $1)"}, {"S:SSS", "($0 * $1 + $2)"}, {"S:SS", "($0 << ($1 & (u16x2)15))"},
      {"S:SS", "($0 >> ($1 & (u16x2)15))"}, {"S:SS", "__builtin_elementwise_min($0, $1)"}, {"S:SS", "__builtin_elementwise_max($0, $1)"},
      {"S:SS", "__builtin_elementwise_add_sat($0, $1)"}, {"S:SS", "__builtin_elementwise_sub_sat($0, $1)"}, {"S:S", "$0.yx"},
      {"S:ss", "(u16x2){$0, $1}"}, {"S:u", "bits<u16x2>($0)"}, {"S:SS", "($0 ^ $1)"}, {"S:SS", "(u16x2){$0.y, $1.x}"},
      {"I:IS", "($0 >> bits<i16x2>($1 & (u16x2)15))"}, {"I:II", "__builtin_elementwise_min($0, $1)"}, {"I:II", "__builtin_elementwise_max($0, $1)"},
      {"I:II", "__builtin_elementwise_add_sat($0, $1)"}, {"I:S", "bits<i16x2>($0)"}, {"S:I", "bits<u16x2>($0)"}, {"I:II", "$0.yx"},
      // 64 bits
      {"l:ll", "($0 + $1)"}, {"l:ll", "($0 - $1)"}, {"l:ll", "($0 * $1)"}, {"l:ll", "($0 & $1)"}, {"l:ll", "($0 | $1)"}, {"l:ll", "($0 ^ $1)"},
      {"l:lu", "($0 << ($1 & 63))"}, {"l:lu", "($0 >> ($1 & 63))"}, {"j:ju", "($0 >> ($1 & 63))"}, {"l:uul", "((u64)$0 * $1 + $2)"},
      {"j:iij", "(i64)((u64)((i64)$0 * $1) + (u64)$2)"}, {"l:ll", "mulhi($0, $1)"}, {"l:ll", "udiv64($0, $1)"}, {"j:jj", "srem64($0, $1)"},
      {"u:l", "(u32)__builtin_popcountll($0)"}, {"u:l", "clz64($0)"}, {"u:l", "ctz64($0)"}, {"l:l", "__builtin_bitreverse64($0)"}, {"l:l", "__builtin_bswap64($0)"},
      {"l:uu", "((u64)$0 << 32 | $1)"}, {"l:u", "(u64)$0"}, {"j:i", "(i64)$0"}, {"l:j", "(u64)$0"}, {"j:l", "(i64)$0"}, {"l:bll", "($0 ? $1 : $2)"},
      {"l:ll", "__builtin_elementwise_min($0, $1)"}, {"j:jj", "__builtin_elementwise_max($0, $1)"}, {"l:lu", "__builtin_rotateleft64($0, $1)"},
      {"l:d", "bits<u64>(canon($0))"}, {"l:ll", "__builtin_elementwise_add_sat($0, $1)"}, {"l:F", "bits<u64>(canon($0))"},
      // float
      {"f:ff", "($0 + $1)"}, {"f:ff", "minus($0, $1)"}, {"f:ff", "($0 * $1)"}, {"f:fff", "__builtin_fmaf($0, $1, $2)"}, {"f:fff", "__builtin_fmaf(-$0, $1, $2)"},
      {"f:fff", "($0 * $1 + $2)"}, {"f:ff", "($0 / $1)"}, {"f:f", "__builtin_sqrtf($0)"}, {"f:f", "-$0"}, {"f:f", "__builtin_fabsf($0)"},
      {"f:ff", "($0 - __builtin_fabsf($1))"}, {"f:ff", "__builtin_copysignf($0, canon($1))"}, {"f:ff", "fmin0($0, $1)"}, {"f:ff", "fmax0($0, $1)"},
      {"f:fff", "fmin0(__builtin_fminf($0, $1), $2)"}, {"f:fff", "fmax0(fmin0($0, $1), $2)"}, {"f:f", "saturate($0)"}, {"f:f", "__builtin_floorf($0)"},
      {"f:f", "__builtin_ceilf($0)"}, {"f:f", "__builtin_truncf($0)"}, {"f:f", "__builtin_rintf($0)"}, {"f:fi", "ldexp32($0, small($1, 300))"},
      {"f:f", "fract32($0)"}, {"f:f", "mant32($0)"}, {"i:f", "exp32($0)"}, {"f:bff", "($0 ? $1 : $2)"}, {"f:i", "(f32)$0"}, {"f:u", "(f32)$0"},
      {"f:l", "(f32)$0"}, {"f:j", "(f32)$0"}, {"f:c", "(f32)$0"}, {"f:u", "(f32)($0 >> 16 & 255)"}, {"f:e", "(f32)$0"}, {"f:d", "(f32)$0"},
      {"f:u", "canon(bits<f32>($0))"}, {"i:f", "toI32($0)"}, {"u:f", "toU32($0)"}, {"j:f", "toI64($0)"}, {"f:eef", "__builtin_fmaf((f32)$0, (f32)$1, $2)"},
      {"f:F", "$0.x"}, {"f:F", "$0.y"},
      // packed float
      {"F:FF", "($0 + $1)"}, {"F:FF", "($0 * $1)"}, {"F:FF", "($0 - $1)"}, {"F:FFF", "__builtin_elementwise_fma($0, $1, $2)"}, {"F:F", "$0.yx"}, {"F:F", "-$0"},
      {"F:ff", "(f32x2){$0, $1}"}, {"F:FF", "(f32x2){$0.y, $1.x}"}, {"F:FFF", "__builtin_elementwise_fma($0.yx, $1, -$2)"},
      // double
      {"d:dd", "($0 + $1)"}, {"d:dd", "minus($0, $1)"}, {"d:dd", "($0 * $1)"}, {"d:ddd", "__builtin_fma($0, $1, $2)"}, {"d:dd", "($0 / $1)"}, {"d:d", "__builtin_sqrt($0)"},
      {"d:d", "-$0"}, {"d:d", "__builtin_fabs($0)"}, {"d:dd", "__builtin_copysign($0, canon($1))"}, {"d:dd", "fmin0($0, $1)"}, {"d:dd", "fmax0($0, $1)"},
      {"d:d", "saturate($0)"}, {"d:d", "__builtin_floor($0)"}, {"d:d", "__builtin_ceil($0)"}, {"d:d", "__builtin_trunc($0)"}, {"d:d", "__builtin_rint($0)"},
      {"d:di", "ldexp64($0, small($1, 2200))"}, {"d:d", "fract64($0)"}, {"d:d", "mant64($0)"}, {"i:d", "exp64($0)"}, {"d:bdd", "($0 ? $1 : $2)"},
      {"d:i", "(f64)$0"}, {"d:u", "(f64)$0"}, {"d:l", "(f64)$0"}, {"d:j", "(f64)$0"}, {"d:f", "(f64)$0"}, {"d:e", "(f64)$0"}, {"d:l", "canon(bits<f64>($0))"},
      {"i:d", "toI32($0)"}, {"u:d", "toU32($0)"}, {"j:d", "toI64($0)"}, {"l:d", "toU64($0)"},
      // half
      {"e:ee", "(f16)($0 + $1)"}, {"e:ee", "minus($0, $1)"}, {"e:ee", "(f16)($0 * $1)"}, {"e:ee", "div16($0, $1)"}, {"e:eee", "fma16($0, $1, $2)"}, {"e:e", "sqrt16($0)"}, {"e:e", "(f16)-$0"},
      {"e:ee", "fmin0($0, $1)"}, {"e:ee", "fmax0($0, $1)"}, {"e:e", "floor16($0)"}, {"e:e", "rint16($0)"}, {"e:bee", "($0 ? $1 : $2)"}, {"e:f", "(f16)$0"},
      {"e:d", "(f16)$0"}, {"e:i", "(f16)(i32)(i16)$0"}, {"e:s", "(f16)$0"}, {"e:s", "canon(bits<f16>($0))"}, {"i:e", "toI16($0)"}, {"s:e", "toU16($0)"},
      {"e:E", "$0.x"}, {"e:E", "$0.y"}, {"E:EE", "($0 + $1)"}, {"E:EE", "($0 - $1)"}, {"E:EE", "($0 * $1)"}, {"E:EEE", "fma16x2($0, $1, $2)"},
      {"E:EEE", "fma16x2($0.yx, -$1, $2)"}, {"E:ee", "pair16($0, $1)"}, {"E:E", "$0.yx"}, {"E:E", "-$0"}, {"E:EE", "pair16($0.y, $1.x)"},
      // conditions
      {"b:uu", "($0 < $1)"}, {"b:uu", "($0 == $1)"}, {"b:ii", "($0 <= $1)"}, {"b:ss", "($0 > $1)"}, {"b:ss", "((i16)$0 < (i16)$1)"}, {"b:ll", "($0 < $1)"},
      {"b:ll", "($0 != $1)"}, {"b:jj", "($0 > $1)"}, {"b:cc", "($0 >= $1)"}, {"b:ff", "($0 < $1)"}, {"b:ff", "!($0 < $1)"}, {"b:ff", "($0 == $1)"},
      {"b:ff", "($0 >= $1)"}, {"b:ff", "__builtin_isunordered($0, $1)"}, {"b:ff", "__builtin_islessgreater($0, $1)"}, {"b:ff", "!($0 >= __builtin_fabsf($1))"},
      {"b:dd", "($0 < $1)"}, {"b:dd", "!($0 <= $1)"}, {"b:dd", "($0 != $1)"}, {"b:dd", "__builtin_isunordered($0, $1)"}, {"b:ee", "($0 < $1)"},
      {"b:ee", "!($0 > $1)"}, {"b:ee", "($0 == $1)"}, {"b:f", "__builtin_isfpclass($0, 0x207)"}, {"b:f", "__builtin_isfpclass($0, 0x90)"},
      {"b:f", "__builtin_isfpclass($0, 0x168)"}, {"b:d", "__builtin_isfpclass($0, 0x264)"}, {"b:d", "__builtin_isfpclass($0, 0x0f0)"},
      {"b:e", "__builtin_isfpclass($0, 0x090)"}, {"b:bb", "($0 && $1)"}, {"b:bb", "($0 || $1)"}, {"b:bb", "($0 != $1)"}, {"b:b", "!$0"}, {"b:uu", "(($0 >> ($1 & 31)) & 1)"},
  };
  // clang-format on
  return kTable;
}

std::span<const AtomicKind> globalAtomics() {
  // Sums of floats are of small integers: exact in any order.
  static constexpr AtomicKind kTable[] = {
      {"add", "u32", "$"},
      {"and", "u32", "$"},
      {"or", "u32", "$"},
      {"xor", "u32", "$"},
      {"min", "u32", "$"},
      {"max", "u32", "$"},
      {"min", "i32", "$"},
      {"max", "i32", "$"},
      {"add", "u64", "(u64)$ * 0x123456789ull"},
      {"xor", "u64", "(u64)$ << 7"},
      {"min", "u64", "(u64)$ << 13"},
      {"max", "i64", "(i64)(i32)$ * 0x1234567"},
      {"and", "u64", "((u64)$ << 32 | ~$)"},
      {"add", "f32", "(i32)($ & 511) - 256"},
      {"add", "f64", "(i32)($ & 0xfffff)"},
      {"min", "f64", "(i32)$ * 0.5"},
      {"max", "f64", "(i32)$ * 0.25"},
  };
  return kTable;
}

} // namespace luthier::vgpu::differential
