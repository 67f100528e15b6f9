#include "isa/format.h"

#include <algorithm>
#include <array>
#include <span>

namespace luthier::isa {

namespace {
struct Pattern {
  uint32_t mask;
  uint32_t value;
  Format format;
};

/// The formats of a generation, the most specific first.
struct Patterns {
  std::array<Pattern, 24> list = {};
  size_t count = 0;

  constexpr void add(const Pattern &pattern) { list[count++] = pattern; }
  constexpr std::span<const Pattern> all() const { return {list.data(), count}; }
};

constexpr Patterns patterns(std::initializer_list<Pattern> rows) {
  Patterns result;
  for (const Pattern &row : rows)
    result.add(row);
  return result;
}

/// Those of an older generation, but for formats that are new or have other places.
constexpr Patterns withPatterns(const Patterns &older, std::initializer_list<Pattern> changed) {
  Patterns result;
  for (const Pattern &pattern : older.all())
    if (std::ranges::find(changed, pattern.format, &Pattern::format) == changed.end())
      result.add(pattern);
  for (const Pattern &pattern : changed)
    result.add(pattern);
  return result;
}

constexpr Patterns kPatternsGfx9 = patterns({
    {0xff800000, 0xbe800000, Format::Sop1},
    {0xff800000, 0xbf000000, Format::Sopc},
    {0xff800000, 0xbf800000, Format::Sopp},
    {0xf0000000, 0xb0000000, Format::Sopk},
    {0xc0000000, 0x80000000, Format::Sop2},
    {0xfe000000, 0x7e000000, Format::Vop1},
    {0xfe000000, 0x7c000000, Format::Vopc},
    {0x80000000, 0x00000000, Format::Vop2},
    {0xff800000, 0xd3800000, Format::Vop3p},
    {0xfc000000, 0xd0000000, Format::Vop3},
    {0xfc000000, 0xd4000000, Format::Vinterp},
    {0xfc000000, 0xc0000000, Format::Smem},
    {0xfc000000, 0xd8000000, Format::Ds},
    {0xfc000000, 0xdc000000, Format::Flat},
    {0xfc000000, 0xe0000000, Format::Mubuf},
    {0xfc000000, 0xe8000000, Format::Mtbuf},
    {0xfc000000, 0xf0000000, Format::Mimg},
    {0xfc000000, 0xc4000000, Format::Export},
});

constexpr Patterns kPatternsGfx10 = withPatterns(kPatternsGfx9, {
                                                                    {0xff000000, 0xcc000000, Format::Vop3p},
                                                                    {0xfc000000, 0xd4000000, Format::Vop3},
                                                                    {0xfc000000, 0xc8000000, Format::Vinterp},
                                                                    {0xfc000000, 0xf4000000, Format::Smem},
                                                                    {0xfc000000, 0xf8000000, Format::Export},
                                                                });

constexpr Patterns kPatternsGfx11 = withPatterns(kPatternsGfx10, {
                                                                     {0xff000000, 0xcd000000, Format::Vinterp},
                                                                     {0xff000000, 0xce000000, Format::LdsDirect},
                                                                     {0xfc000000, 0xc8000000, Format::Vopd},
                                                                 });

// Memory instructions have three dwords, but for LDS.
constexpr Patterns kPatternsGfx12 = withPatterns(kPatternsGfx11, {
                                                                     {0xfc000000, 0xec000000, Format::Flat},
                                                                     {0xfc200000, 0xc4000000, Format::Mubuf},
                                                                     {0xfc200000, 0xc4200000, Format::Mtbuf},
                                                                     {0xfc000000, 0xd0000000, Format::Mimg},
                                                                     {0xfc000000, 0xe4000000, Format::Mimg},
                                                                 });

std::span<const Pattern> patternsOf(EncodingFamily family) {
  switch (family) {
  case EncodingFamily::Gfx8: // gfx9 added formats
  case EncodingFamily::Gfx9:
    return kPatternsGfx9.all();
  case EncodingFamily::Gfx10:
    return kPatternsGfx10.all();
  case EncodingFamily::Gfx11:
    return kPatternsGfx11.all();
  case EncodingFamily::Gfx12:
    return kPatternsGfx12.all();
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
