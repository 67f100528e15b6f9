#include "isa/format.h"

#include <span>

namespace luthier::isa {

namespace {
struct Pattern {
  uint32_t mask;
  uint32_t value;
  Format format;
};

// Most specific first.
constexpr Pattern kGfx9[] = {
    {0xff800000, 0xbe800000, Format::Sop1},    {0xff800000, 0xbf000000, Format::Sopc},
    {0xff800000, 0xbf800000, Format::Sopp},    {0xf0000000, 0xb0000000, Format::Sopk},
    {0xc0000000, 0x80000000, Format::Sop2},    {0xfe000000, 0x7e000000, Format::Vop1},
    {0xfe000000, 0x7c000000, Format::Vopc},    {0x80000000, 0x00000000, Format::Vop2},
    {0xff800000, 0xd3800000, Format::Vop3p},   {0xfc000000, 0xd0000000, Format::Vop3},
    {0xfc000000, 0xd4000000, Format::Vinterp}, {0xfc000000, 0xc0000000, Format::Smem},
    {0xfc000000, 0xd8000000, Format::Ds},      {0xfc000000, 0xdc000000, Format::Flat},
    {0xfc000000, 0xe0000000, Format::Mubuf},   {0xfc000000, 0xe8000000, Format::Mtbuf},
    {0xfc000000, 0xf0000000, Format::Mimg},    {0xfc000000, 0xc4000000, Format::Export},
};

// From gfx10 on, VOP3, SMEM, MIMG and EXP have other places.
constexpr Pattern kGfx10[] = {
    {0xff800000, 0xbe800000, Format::Sop1},    {0xff800000, 0xbf000000, Format::Sopc},
    {0xff800000, 0xbf800000, Format::Sopp},    {0xf0000000, 0xb0000000, Format::Sopk},
    {0xc0000000, 0x80000000, Format::Sop2},    {0xfe000000, 0x7e000000, Format::Vop1},
    {0xfe000000, 0x7c000000, Format::Vopc},    {0x80000000, 0x00000000, Format::Vop2},
    {0xff000000, 0xcc000000, Format::Vop3p},   {0xfc000000, 0xd4000000, Format::Vop3},
    {0xfc000000, 0xc8000000, Format::Vinterp}, {0xfc000000, 0xf4000000, Format::Smem},
    {0xfc000000, 0xd8000000, Format::Ds},      {0xfc000000, 0xdc000000, Format::Flat},
    {0xfc000000, 0xe0000000, Format::Mubuf},   {0xfc000000, 0xe8000000, Format::Mtbuf},
    {0xfc000000, 0xf0000000, Format::Mimg},    {0xfc000000, 0xf8000000, Format::Export},
};

constexpr Pattern kGfx11[] = {
    {0xff800000, 0xbe800000, Format::Sop1},      {0xff800000, 0xbf000000, Format::Sopc},
    {0xff800000, 0xbf800000, Format::Sopp},      {0xf0000000, 0xb0000000, Format::Sopk},
    {0xc0000000, 0x80000000, Format::Sop2},      {0xfe000000, 0x7e000000, Format::Vop1},
    {0xfe000000, 0x7c000000, Format::Vopc},      {0x80000000, 0x00000000, Format::Vop2},
    {0xff000000, 0xcc000000, Format::Vop3p},     {0xff000000, 0xcd000000, Format::Vinterp},
    {0xff000000, 0xce000000, Format::LdsDirect}, {0xfc000000, 0xc8000000, Format::Vopd},
    {0xfc000000, 0xd4000000, Format::Vop3},      {0xfc000000, 0xf4000000, Format::Smem},
    {0xfc000000, 0xd8000000, Format::Ds},        {0xfc000000, 0xdc000000, Format::Flat},
    {0xfc000000, 0xe0000000, Format::Mubuf},     {0xfc000000, 0xe8000000, Format::Mtbuf},
    {0xfc000000, 0xf0000000, Format::Mimg},      {0xfc000000, 0xf8000000, Format::Export},
};

std::span<const Pattern> patternsOf(EncodingFamily family) {
  switch (family) {
  case EncodingFamily::Gfx8: // gfx9 added formats
  case EncodingFamily::Gfx9:
    return kGfx9;
  case EncodingFamily::Gfx10:
    return kGfx10;
  case EncodingFamily::Gfx11:
    return kGfx11;
  }
  return {};
}
} // namespace

Format formatOf(EncodingFamily family, uint32_t word) {
  for (const Pattern &pattern : patternsOf(family))
    if ((word & pattern.mask) == pattern.value)
      return pattern.format;
  return Format::Unknown;
}

} // namespace luthier::isa
