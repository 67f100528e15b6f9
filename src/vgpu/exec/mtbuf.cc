// MTBUF, and the MUBUF instructions that convert formats (manual, 9.1.4): the memory's format comes from the
// instruction (TBUFFER_*) or from the resource (BUFFER_*_FORMAT_*).
//
// Compute kernels hardly use them, so lanes are converted one by one. What the manual leaves open stops the dispatch:
// packed formats (10_11_11 and the like, whose component order it does not give), components that a format lacks but
// the resource selects, and integers that do not fit the memory's format.

#include "vgpu/exec/buffer.h"
#include "vgpu/exec/tables.h"
#include "vgpu/exec/vmem_atomic.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

/// Where components sit in registers: a register each, or two to a register (D16).
enum class Packing : u8 { Full, D16, D16Hi };

enum NumFormat : u32 { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kReserved, kFloat };

struct Format {
  u32 bits; ///< of a component; 0 when the format is not supported
  u32 components;
  u32 number;

  u32 bytes() const { return bits / 8 * components; }
  bool integer() const { return number == kUint || number == kSint; }
};

/// gfx9: DFMT, which has sizes and components, and NFMT.
Format formatFrom(u32 dfmt, u32 nfmt) {
  static constexpr u8 kBits[] = {0, 8, 16, 8, 32, 16, 0, 0, 0, 0, 8, 32, 16, 32, 32, 0};
  static constexpr u8 kComponents[] = {0, 1, 1, 2, 1, 2, 0, 0, 0, 0, 4, 2, 4, 3, 4, 0};
  const bool number = nfmt != kReserved && !(nfmt == kFloat && kBits[dfmt] == 8);
  return {number ? kBits[dfmt] : 0u, kComponents[dfmt], nfmt};
}

/// Later ones number formats from 1 on: sizes and components one after the other, each with as many kinds of numbers as
/// it has.
struct FormatRange {
  u8 bits; ///< 0: packed, which is not supported
  u8 components;
  u8 count; ///< 7: all kinds, 6: all but floats, 3: integers and floats
};
constexpr FormatRange kFormatsGfx10[] = {{8, 1, 6},  {16, 1, 7}, {8, 2, 6},  {32, 1, 3}, {16, 2, 7},
                                         {0, 3, 7},  {0, 3, 7},  {0, 4, 6},  {0, 4, 6},  {8, 4, 6},
                                         {32, 2, 3}, {16, 4, 7}, {32, 3, 3}, {32, 4, 3}};
constexpr FormatRange kFormatsGfx11[] = {{8, 1, 6},  {16, 1, 7}, {8, 2, 6},  {32, 1, 3}, {16, 2, 7},
                                         {0, 3, 1},  {0, 3, 1},  {0, 4, 4},  {0, 4, 6},  {8, 4, 6},
                                         {32, 2, 3}, {16, 4, 7}, {32, 3, 3}, {32, 4, 3}};

Format numberedFormat(std::span<const FormatRange> ranges, u32 number) {
  static constexpr NumFormat kAll[] = {kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kFloat};
  static constexpr NumFormat kWhole[] = {kUint, kSint, kFloat};
  if (number == 0)
    return {};
  --number;
  for (const FormatRange &range : ranges) {
    if (number < range.count)
      return {range.bits, range.components, range.count == 3 ? kWhole[number] : kAll[number]};
    number -= range.count;
  }
  return {};
}

Format formatOf(Layout layout, u32 number) {
  if (layout < Layout::Gfx10)
    return formatFrom(number & 0xf, number >> 4);
  return numberedFormat(layout == Layout::Gfx10 ? std::span<const FormatRange>(kFormatsGfx10) : kFormatsGfx11, number);
}
Format resourceFormat(const Buffer &b) {
  if (b.layout < Layout::Gfx10)
    return formatFrom(b.word3 >> 15 & 0xf, b.word3 >> 12 & 7);
  return formatOf(b.layout, b.word3 >> 12 & (b.layout == Layout::Gfx10 ? 0x7f : 0x3f));
}

f16 toHalf(f32 x) { return static_cast<f16>(x); }
f32 fromHalf(u32 x) { return static_cast<f32>(bits<f16>(static_cast<u16>(x))); }
i32 signExtended(u32 x, u32 width) { return static_cast<i32>(x << (32 - width)) >> (32 - width); }

/// A component of memory as a 32-bit register. "Data in memory that is 32 or 64 bits does not undergo conversion".
u32 fromMemory(const Format &f, u32 raw) {
  if (f.bits == 32)
    return raw;
  const i32 number = signExtended(raw, f.bits);
  const auto most = static_cast<f32>((1u << f.bits) - 1), mostSigned = static_cast<f32>((1u << (f.bits - 1)) - 1);
  switch (f.number) {
  case kUnorm:
    return bits<u32>(static_cast<f32>(raw) / most);
  case kSnorm: {
    const f32 x = static_cast<f32>(number) / mostSigned;
    return bits<u32>(x < -1.0f ? -1.0f : x);
  }
  case kUscaled:
    return bits<u32>(static_cast<f32>(raw));
  case kSscaled:
    return bits<u32>(static_cast<f32>(number));
  case kSint:
    return static_cast<u32>(number);
  case kFloat:
    return bits<u32>(fromHalf(raw));
  default:
    return raw;
  }
}

/// The other way; false when the value cannot be stored in this format.
bool toMemory(const Format &f, u32 value, u32 &raw) {
  raw = value;
  if (f.bits == 32)
    return true;
  const u32 mask = (1u << f.bits) - 1;
  const f32 x = bits<f32>(value);
  auto normalised = [&](f32 low, f32 scale) {
    const f32 clamped = x > 1.0f ? 1.0f : x > low ? x : x <= low ? low : 0.0f; // NaN becomes 0
    return static_cast<u32>(static_cast<i32>(__builtin_rintf(clamped * scale))) & mask;
  };
  switch (f.number) {
  case kUnorm:
    raw = normalised(0.0f, static_cast<f32>(mask));
    return true;
  case kSnorm:
    raw = normalised(-1.0f, static_cast<f32>(mask >> 1));
    return true;
  case kUint:
    return value <= mask;
  case kSint:
    raw = value & mask;
    return signExtended(value, f.bits) == static_cast<i32>(value);
  case kFloat:
    raw = bits<u16>(toHalf(x));
    return true;
  default:
    return false;
  }
}

LUTHIER_GUEST_ACCESS u32 loadComponent(u64 address, u32 width) {
  return width == 8    ? *reinterpret_cast<const u8 *>(address)
         : width == 16 ? *reinterpret_cast<const Mem16 *>(address)
                       : *reinterpret_cast<const Mem32 *>(address);
}
LUTHIER_GUEST_ACCESS void storeComponent(u64 address, u32 width, u32 value) {
  if (width == 8)
    *reinterpret_cast<u8 *>(address) = static_cast<u8>(value);
  else if (width == 16)
    *reinterpret_cast<Mem16 *>(address) = static_cast<u16>(value);
  else
    *reinterpret_cast<Mem32 *>(address) = value;
}

/// One instruction's buffer, format and lanes.
struct Typed {
  Buffer buffer;
  Format format;
  BufferLanes lanes;
  u64 inside;
  const char *why; ///< it cannot be executed

  /// Address of component c of a lane. Components never cross a dword: their size divides it, offsets are aligned.
  u64 address(const Wave &w, unsigned lane, u32 c) const {
    const u32 at = c * format.bits / 8;
    return buffer.swizzle ? buffer.swizzled().at(lanes.index[lane], lanes.offset[lane] + at) : w.addresses[lane] + at;
  }
};

Typed typedAccess(Wave &w, const Inst *i, bool fromResource) {
  Typed t;
  t.why = nullptr;
  t.buffer = bufferOf<true>(w, i);
  t.format = fromResource ? resourceFormat(t.buffer) : formatOf(t.buffer.layout, i->buffer.format);
  t.lanes = bufferLanes(w, i, t.buffer);
  if (t.format.bits == 0 && t.buffer.bound)
    t.why = "converts a data format that is not implemented";
  if (!t.buffer.implemented())
    t.why = kNotABufferText;
  if (i->flags & kLds)
    t.why = "converts formats on the way to LDS, which is not implemented";
  const u32 bytes = t.format.bytes();
  // "Range-checked all or nothing".
  t.inside =
      t.format.bits ? bufferInRange(w, i, t.buffer, t.lanes, bytes < 4 ? bytes : 4, bytes > 4 ? bytes - 4 : 0) : 0;
  if (!t.buffer.swizzle)
    linearAddresses(w, t.buffer, t.lanes);
  else
    for (u64 m = t.inside; m; m &= m - 1)
      if (t.lanes.offset[__builtin_ctzll(m)] * 8 % t.format.bits)
        t.why = "accesses unaligned components of a swizzled buffer, which is not implemented";
  return t;
}

bool typedAllowed(Wave &w, const Inst *i, const Typed &t, bool write, u64 &bad) {
  if (t.buffer.swizzle)
    return piecesAllowed(w, t.buffer.swizzled(), t.lanes.index, t.lanes.offset, t.inside, t.format.bytes(), bad);
  return !t.inside || lanesAllowed(w, i, w.addresses, t.inside, t.format.bytes(), write, bad);
}

/// What the resource puts in result component c: 0, 1, or 4 + the memory's component.
u32 selected(const Typed &t, bool fromResource, u32 c) {
  if (fromResource)
    return t.buffer.word3 >> (3 * c) & 7;
  return c < t.format.components ? 4 + c : 0; // X000, XY00, XYZ0, XYZW
}

/// Puts component c in its register.
template <Packing P> void putComponent(Wave &w, const Inst *i, const Format &f, unsigned lane, u32 c, u32 value) {
  if constexpr (P == Packing::Full) {
    w.v[i->dst + c][lane] = value;
  } else {
    const u32 half = f.integer() ? value & 0xffff : bits<u16>(toHalf(bits<f32>(value)));
    u32 &d = w.v[i->dst + c / 2][lane];
    // With SRAM-ECC the register is written whole: the half that no component has is 0.
    const u32 rest = i->flags & kLoadKeepsHalf ? d : 0;
    if (P == Packing::D16Hi)
      d = half << 16 | (rest & 0xffff);
    else
      d = c % 2 ? (d & 0xffff) | half << 16 : half | (rest & 0xffff0000);
  }
}

template <u32 Components, Packing P, bool FromResource> const Inst *loadFormat(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  const Typed t = typedAccess(w, i, FromResource);
  if (t.why)
    return w.illegal(i, t.why);
  if (P != Packing::Full && t.format.bits == 32 && t.format.integer())
    return w.illegal(i, "converts 32-bit integers to 16 bits, which is not implemented");
  for (u32 c = 0; c < Components; ++c)
    if (const u32 select = selected(t, FromResource, c);
        t.buffer.bound && (select == 2 || select == 3 || (select >= 4 && select - 4 >= t.format.components)))
      return w.illegal(i, "selects a component that the data format does not have");
  u64 bad;
  if (!typedAllowed(w, i, t, false, bad))
    return w.memoryFault(i, bad, false);
  const AtomicFpMode<AtomicFp::Keep> fp(w, i);
  for (u64 m = exec; m; m &= m - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
    for (u32 c = 0; c < Components; ++c) {
      const u32 select = selected(t, FromResource, c);
      u32 value = 0;
      if (select == 1)
        value = t.format.integer() ? 1 : bits<u32>(1.0f);
      else if (select >= 4 && (t.inside >> lane & 1))
        value = fromMemory(t.format, loadComponent(t.address(w, lane, select - 4), t.format.bits));
      putComponent<P>(w, i, t.format, lane, c, value);
    }
  }
  return i->next();
}

template <Packing P> u32 getComponent(const Wave &w, const Inst *i, const Format &f, unsigned lane, u32 c) {
  const unsigned reg = i->src[1].reg;
  if constexpr (P == Packing::Full)
    return w.v[reg + c][lane];
  const u32 half = (P == Packing::D16Hi || c % 2 ? w.v[reg + c / 2][lane] >> 16 : w.v[reg + c / 2][lane]) & 0xffff;
  return f.number == kUint   ? half
         : f.number == kSint ? static_cast<u32>(signExtended(half, 16))
                             : bits<u32>(fromHalf(half));
}

template <u32 Components, Packing P, bool FromResource> const Inst *storeFormat(Wave &w, const Inst *i) {
  const Typed t = typedAccess(w, i, FromResource);
  if (t.why)
    return w.illegal(i, t.why);
  if (t.buffer.bound && Components < t.format.components)
    return w.illegal(i, "stores fewer components than the data format has");
  for (u32 c = 0; c < t.format.components; ++c)
    if (t.buffer.bound && selected(t, FromResource, c) != 4 + c)
      return w.illegal(i, "stores through a resource that reorders components, which is not implemented");
  u64 bad;
  if (!typedAllowed(w, i, t, true, bad))
    return w.memoryFault(i, bad, true);
  const AtomicFpMode<AtomicFp::Keep> fp(w, i);
  u32 raw;
  for (u64 m = t.inside; m; m &= m - 1)
    for (u32 c = 0; c < t.format.components; ++c) {
      const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
      if (!toMemory(t.format, getComponent<P>(w, i, t.format, lane, c), raw))
        return w.illegal(i, "stores a value that its data format cannot hold");
    }
  for (u64 m = t.inside; m; m &= m - 1)
    for (u32 c = 0; c < t.format.components; ++c) {
      const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
      toMemory(t.format, getComponent<P>(w, i, t.format, lane, c), raw);
      storeComponent(t.address(w, lane, c), t.format.bits, raw);
    }
  return i->next();
}

constexpr Row converting(std::string_view mnemonic, Handler handler) {
  return memory(mnemonic, handler)
      .chosen(
          "the manual does not say how normalised numbers are rounded; as MODE says here. Formats that it leaves open "
          "stop the dispatch");
}

#define FORMAT(NAME, COMPONENTS, PACKING)                                                                              \
  converting("tbuffer_load_format_" NAME, loadFormat<COMPONENTS, PACKING, false>),                                     \
      converting("tbuffer_store_format_" NAME, storeFormat<COMPONENTS, PACKING, false>),                               \
      converting("buffer_load_format_" NAME, loadFormat<COMPONENTS, PACKING, true>),                                   \
      converting("buffer_store_format_" NAME, storeFormat<COMPONENTS, PACKING, true>)

constexpr Row kRows[] = {
    FORMAT("x", 1, Packing::Full),
    FORMAT("xy", 2, Packing::Full),
    FORMAT("xyz", 3, Packing::Full),
    FORMAT("xyzw", 4, Packing::Full),
    FORMAT("d16_x", 1, Packing::D16),
    FORMAT("d16_xy", 2, Packing::D16),
    FORMAT("d16_xyz", 3, Packing::D16),
    FORMAT("d16_xyzw", 4, Packing::D16),
    converting("buffer_load_format_d16_hi_x", loadFormat<1, Packing::D16Hi, true>),
    converting("buffer_store_format_d16_hi_x", storeFormat<1, Packing::D16Hi, true>),
};

} // namespace

std::span<const Row> mtbufRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
