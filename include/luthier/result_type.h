// What an instruction's result means, as far as its name says.
//
//   if (luthier::resultTypeOf(instr) == luthier::ResultType{luthier::ResultType::Float, 32})
//     at.after(instr).call(hooks::checkNan, luthier::arg::result());
#pragma once

#include "luthier/instr.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace luthier {

struct ResultType {
  enum Kind : uint8_t {
    None,      ///< there is no result: stores, branches, waits
    Bits,      ///< as they are: moves, loads, logic
    Unsigned,  ///< a number
    Signed,    ///< one with a sign, in two's complement
    Float,     ///< IEEE: of 16, 32 or 64 bits
    BFloat,    ///< 16 bits: the upper half of a float
    Mask,      ///< a bit for each lane: vector comparisons
    Condition, ///< SCC alone: scalar comparisons
  };
  Kind kind = None;
  uint8_t bits = 0; ///< of an element: a wide load, a packed or a matrix operation has several; 0 for the last two
  bool operator==(const ResultType &) const = default;
};

/// Of the first register that the instruction writes, arg::result(). Carries and other second results do not count.
inline ResultType resultTypeOf(const Instr &instr) {
  const std::string_view name = instr.mnemonic();
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (name.starts_with("v_cmp"))
    return {ResultType::Mask, 0};
  if (name.starts_with("s_cmp") || name.starts_with("s_bitcmp"))
    return {ResultType::Condition, 0};
  bool written = false;
  for (const Operand &operand : instr.operands())
    written |= operand.kind == OperandKind::Register && operand.written;
  if (!written || instr.is(Property::Branch) || instr.is(Property::Call))
    return {};
  // Sums of absolute differences are named after what they take.
  if (name.starts_with("v_sad_") || name.starts_with("v_msad_"))
    return {ResultType::Unsigned, 32};
  if (instr.is(Property::Atomic) && !has("_f16") && !has("_bf16") && !has("_f32") && !has("_f64")) {
    const uint8_t bits = name.ends_with("_x2") || has("64") ? 64 : 32;
    const bool isSigned = has("_smin") || has("_smax") || has("_i32") || has("_i64");
    return {isSigned ? ResultType::Signed : ResultType::Unsigned, bits};
  }
  using Named = std::pair<std::string_view, ResultType>;
  static constexpr std::array<Named, 7> kLoads = {{{"ubyte", {ResultType::Unsigned, 8}},
                                                   {"sbyte", {ResultType::Signed, 8}},
                                                   {"ushort", {ResultType::Unsigned, 16}},
                                                   {"sshort", {ResultType::Signed, 16}},
                                                   {"short", {ResultType::Bits, 16}},
                                                   {"dword", {ResultType::Bits, 32}},
                                                   {"format", {ResultType::Bits, 32}}}};
  const bool loads = instr.is(Property::Load) && !instr.is(Property::Atomic);
  // The first type that the name has is that of the result: v_cvt_i32_f32, v_mad_u64_u32, v_dot2_f32_f16.
  for (std::string_view rest = name; !rest.empty();) {
    const size_t end = rest.find('_');
    const std::string_view part = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    for (const auto &[word, type] : kLoads)
      if (loads && (part == word || (part.starts_with("dword") && word == "dword")))
        return type;
    const size_t letters = part.starts_with("bf") || part.starts_with("fp") ? 2 : 1;
    unsigned bits = 0;
    bool number = part.size() > letters && std::string_view("fiub").find(part[0]) != std::string_view::npos;
    for (const char c : part.substr(std::min(letters, part.size()))) {
      number &= c >= '0' && c <= '9';
      bits = bits * 10 + static_cast<unsigned>(c - '0');
    }
    if (!number || bits < 8)
      continue;
    const ResultType::Kind kind = letters == 2 && part[0] == 'b' ? ResultType::BFloat
                                  : letters == 2                 ? ResultType::Bits // of eight bits, in several formats
                                  : part[0] == 'f'               ? ResultType::Float
                                  : part[0] == 'i'               ? ResultType::Signed
                                  : part[0] == 'u'               ? ResultType::Unsigned
                                                                 : ResultType::Bits;
    // A load of 64 bits and more is one of several words.
    return {kind, static_cast<uint8_t>(loads && kind == ResultType::Bits && bits > 32 ? 32 : bits)};
  }
  return {ResultType::Bits, 32};
}

} // namespace luthier
