// Microcode formats: which encoding an instruction has, and where its fields are.
//
// The layouts are those of the manuals' chapter "Microcode Formats"; a family of targets that shares them is one
// EncodingFamily. Only bits are taken apart here; what they mean is decided by whoever asks.
#pragma once

#include "isa/target.h"

#include <cstdint>

namespace luthier::isa {

enum class Format : uint8_t {
  Sop1,
  Sop2,
  Sopk,
  Sopc,
  Sopp,
  Smem,
  Vop1,
  Vop2,
  Vopc,
  Vop3,
  Vop3p,
  Vinterp,
  Ds,
  Flat,
  Mubuf, ///< gfx12's VBUFFER
  Mtbuf, ///< VBUFFER too
  Mimg,  ///< gfx12's VIMAGE and VSAMPLE
  Export,
  Vopd,      ///< gfx11 and later
  LdsDirect, ///< gfx11 and later
  Unknown,
};

/// The format of an instruction whose first dword is `word`.
Format formatOf(EncodingFamily family, uint32_t word);
inline Format formatOf(const Target &target, uint32_t word) { return formatOf(target.encoding, word); }

/// Where registers are in the formats: as the manuals of Vega and CDNA have it, or those of RDNA.
enum class FieldLayout : uint8_t { None, Gfx9, Gfx10, Gfx11, Gfx12 };
constexpr FieldLayout fieldLayoutOf(const Target &target) {
  switch (target.encoding) {
  case EncodingFamily::Gfx8:
    return FieldLayout::None;
  case EncodingFamily::Gfx9:
    return FieldLayout::Gfx9;
  case EncodingFamily::Gfx10:
    return FieldLayout::Gfx10;
  case EncodingFamily::Gfx11:
    return FieldLayout::Gfx11;
  case EncodingFamily::Gfx12:
    return FieldLayout::Gfx12;
  }
  return FieldLayout::None;
}

/// A field of `Width` bits at bit `Low` of a 64-bit instruction (first dword in the low half).
constexpr uint32_t field(uint64_t bits, unsigned low, unsigned width) {
  return static_cast<uint32_t>((bits >> low) & ((1ull << width) - 1));
}

/// The same, sign-extended.
constexpr int32_t signedField(uint64_t bits, unsigned low, unsigned width) {
  return static_cast<int32_t>(field(bits, low, width) << (32 - width)) >> (32 - width);
}

/// Codes of scalar sources, common to SSRC and the low half of 9-bit SRC fields.
namespace src {
inline constexpr uint32_t kVccLo = 106;
inline constexpr uint32_t kM0 = 124;
inline constexpr uint32_t kExecLo = 126;
inline constexpr uint32_t kIntZero = 128; ///< 128..192 are 0..64, 193..208 are -1..-16
inline constexpr uint32_t kIntLast = 208;
inline constexpr uint32_t kDpp8 = 233;
inline constexpr uint32_t kDpp8Inactive = 234; ///< reads inactive lanes too
inline constexpr uint32_t kSharedBase = 235;
inline constexpr uint32_t kSharedLimit = 236;
inline constexpr uint32_t kPrivateBase = 237;
inline constexpr uint32_t kPrivateLimit = 238;
inline constexpr uint32_t kPopsExitingWaveId = 239;
inline constexpr uint32_t kFloatFirst = 240; ///< 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi)
inline constexpr uint32_t kFloatLast = 248;
inline constexpr uint32_t kSdwa = 249;
inline constexpr uint32_t kDpp = 250;
inline constexpr uint32_t kVccz = 251;
inline constexpr uint32_t kExecz = 252;
inline constexpr uint32_t kScc = 253;
inline constexpr uint32_t kLdsDirect = 254;
inline constexpr uint32_t kLiteral = 255;
inline constexpr uint32_t kVgpr0 = 256;
} // namespace src

} // namespace luthier::isa
