// How surely an instruction does what the hardware does, and why not: what rows say of themselves (Row::documented and
// its kin), and the reasons that more than one gives.
#pragma once

#include <cstdint>
#include <string_view>

namespace luthier::vgpu {

/// How surely an instruction does what the hardware does (docs/virtual-gpu.md).
enum class Fidelity : uint8_t {
  Exact,      ///< the manual or IEEE 754 defines every bit, and tests say that it is so; payloads of NaNs excepted
  Documented, ///< follows a rule or a tolerance that is written down somewhere; the hardware may differ in details
  Chosen,     ///< the manual is silent or contradicts itself, and this is our choice
  Refused,    ///< stops the dispatch
};

constexpr std::string_view nameOf(Fidelity fidelity) {
  switch (fidelity) {
  case Fidelity::Exact:
    return "exact";
  case Fidelity::Documented:
    return "documented";
  case Fidelity::Chosen:
    return "chosen";
  case Fidelity::Refused:
    return "refused";
  }
  return "?";
}

/// Not `inline`: what all CPU levels would share must not be made by one of them (exec/level.h).
namespace why {

constexpr std::string_view kOneUlp =
    "the hardware is within 1 ulp and decides the last bits; rounded from a value within "
    "0.51 ulp here";
constexpr std::string_view kHalfPrecision =
    "the hardware decides the last bits (the manual allows 0.51 ulp); computed in "
    "f32 and rounded here";
constexpr std::string_view kRoughF64 =
    "the hardware is within 2^29 ulp and decides the bits; correctly rounded, or nearly "
    "so, here";
constexpr std::string_view kDivision = "the manual's pseudo-code cannot divide as it stands; corrected so that the "
                                       "compilers' sequence gives the correctly rounded quotient (division.h)";
constexpr std::string_view kMad =
    "the manual does not say that denormals are flushed whatever MODE says; they are, as LLVM "
    "assumes";
constexpr std::string_view kDot = "the manual does not say how the sum is rounded; the products are exact, and added "
                                  "as isa/matrix.h says for the target";
constexpr std::string_view kHalfDot =
    "the manual does not say how the sum is rounded; as with an f32 result, which is rounded to 16 bits once";
constexpr std::string_view kRandom =
    "the manual's pseudo-code drops the carry and rounds to nearest, its text adds the "
    "random bits and truncates; as the text has it";
constexpr std::string_view kWmma = "no manual says how sums are rounded; as isa/matrix.h says for the target, 16-bit "
                                   "results once";
constexpr std::string_view kOtherHalf =
    "the manual does not say whether the other half of the register is kept; it is, as "
    "by v_mad_f16";
constexpr std::string_view kNormalised =
    "the manual does not say how normalised integers are rounded; to nearest even here";
constexpr std::string_view kLessThanOne =
    "the manual gives x - floor(x), which may round to 1; the largest number below 1 "
    "then, as OpenCL and LLVM expect";
constexpr std::string_view kMatrix = "the manual does not say how sums are rounded; as measured by others, bit for bit "
                                     "(isa/matrix.h), NaN payloads excepted";
constexpr std::string_view kSparseMatrix =
    "nobody has published how sparse matrix instructions round; as the dense ones, over the products that there are";
constexpr std::string_view kMisprint =
    "the manual's pseudo-code has a misprint; as its text and the other forms have it";
constexpr std::string_view kSumOrder =
    "sums depend on the order of lanes and waves, which the hardware does not fix; lanes "
    "in ascending order here";
constexpr std::string_view kBufferRange =
    "the manual gives range checks for raw, structured and private buffers; other "
    "resources are checked like raw ones";
constexpr std::string_view kScalarBufferRange = "this manual's range check has lost a factor; that of the RDNA3 manual";
constexpr std::string_view kNoCache =
    "there are no caches to write back, to invalidate or to fill; memory is always current";
constexpr std::string_view kNoDebugger = "no debugger and no trap handler runs; what would need one stops the dispatch";
constexpr std::string_view kNoCounters = "there are no performance counters and no thread trace; does nothing";
constexpr std::string_view kGws =
    "which resource it uses is as in LLVM's AMDGPUUsage; the manual names a base that it does "
    "not define";
constexpr std::string_view kAtomicDenormals =
    "the RDNA1 and RDNA2 manuals do not say which denormals are flushed; as MODE says for inputs, like RDNA3's";
constexpr std::string_view kTransposed = "the manual has figures of waves of 32 lanes; blocks of 8 by 8 elements "
                                         "change places, as compilers expect, and the "
                                         "second half of a wave of 64 has elements 4 to 7";
constexpr std::string_view kOneDataOperand = "the manual has two data operands, LLVM's assembler one; it is both";

} // namespace why

} // namespace luthier::vgpu
