// The general path of vector ALU instructions: everything that SDWA, DPP and the VOP3 modifiers can add to a lane loop.
//
// Order as in the manual: select (SDWA, DPP or op_sel), then abs, then neg, then the operation on all lanes, then omod,
// then clamp, then write what the destination selects, in lanes that EXEC (and DPP) leave enabled.

#include "vgpu/exec/valu.h"

#include "isa/format.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

using isa::field;

/// Which lane DPP makes lane n read; -1 when the pattern leads outside.
int dppSource(u32 control, unsigned n, unsigned lanes) {
  const unsigned amount = control & 0xf;
  const unsigned row = n & ~15u;
  const unsigned inRow = n & 15u;
  if (control <= 0xff) // quad_perm
    return static_cast<int>((n & ~3u) + (control >> (2 * (n & 3)) & 3));
  switch (control >> 4) {
  case 0x10: // row_shl
    return inRow + amount < 16 ? static_cast<int>(n + amount) : -1;
  case 0x11: // row_shr
    return inRow >= amount ? static_cast<int>(n - amount) : -1;
  case 0x12: // row_ror
    return static_cast<int>(row + ((inRow - amount) & 15));
  case 0x15: // row_newbcast
    return static_cast<int>(row + amount);
  }
  switch (control) {
  case 0x130: // wave_shl:1
    return n + 1 < lanes ? static_cast<int>(n + 1) : -1;
  case 0x134: // wave_rol:1
    return static_cast<int>((n + 1) % lanes);
  case 0x138: // wave_shr:1
    return static_cast<int>(n) - 1;
  case 0x13c: // wave_ror:1
    return static_cast<int>((n + lanes - 1) % lanes);
  case 0x140: // row_mirror
    return static_cast<int>(row + 15 - inRow);
  case 0x141: // row_half_mirror
    return static_cast<int>((n & ~7u) + 7 - (n & 7));
  case 0x142: // row_bcast:15
    return n > 15 ? static_cast<int>((n & 0x30) - 1) : -1;
  case 0x143: // row_bcast:31
    return n > 31 ? 31 : -1;
  }
  return -1;
}

/// Moves source lanes as DPP says; returns the lanes whose result may be written.
u64 applyDpp(Wave &w, u32 control, const u32 *from, u32 *to, bool wide) {
  const u32 pattern = field(control, 8, 9);
  const bool boundControl = field(control, 19, 1);
  const u32 bankMask = field(control, 24, 4);
  const u32 rowMask = field(control, 28, 4);
  const u64 exec = w.exec();
  u64 writable = 0;
  for (unsigned n = 0; n < N; ++n) {
    const int source = dppSource(pattern, n, w.lanes);
    const bool valid = source >= 0 && (exec >> source & 1);
    to[n] = valid ? from[source] : 0;
    if (wide)
      to[n + N] = valid ? from[source + N] : 0;
    const bool enabled = (rowMask >> (n / 16) & 1) && (bankMask >> (n / 4 % 4) & 1);
    if (enabled && (valid || boundControl))
      writable |= 1ull << n;
  }
  return writable;
}

/// SDWA selection of a source: a byte, a word or the whole dword, zero- or sign-extended.
void applySdwaSelect(u32 select, bool signExtend, const u32 *from, u32 *to) {
  for (unsigned n = 0; n < N; ++n) {
    u32 x = from[n];
    if (select < 4) {
      x = x >> (8 * select) & 0xff;
      x = signExtend ? static_cast<u32>(static_cast<i32>(static_cast<i8>(x))) : x;
    } else if (select < 6) {
      x = x >> (16 * (select - 4)) & 0xffff;
      x = signExtend ? static_cast<u32>(static_cast<i32>(static_cast<i16>(x))) : x;
    }
    to[n] = x;
  }
}

/// abs, then neg, on the sign bit of a floating-point source.
void applySign(Type type, u8 mods, u32 *x) {
  const unsigned high = type == Type::F64 ? N : 0;
  const u32 sign = type == Type::F16 ? 0x8000u : 0x80000000u;
  for (unsigned n = 0; n < N; ++n) {
    u32 y = x[high + n];
    if (mods & kAbs)
      y &= ~sign;
    if (mods & kNeg)
      y ^= sign;
    x[high + n] = y;
  }
}

/// Multiplies by 2, 4 or 1/2.
template <class T> void applyOmod(u8 omod, u32 *d) {
  const f32 factor = omod == 1 ? 2.0f : omod == 2 ? 4.0f : 0.5f;
  for (unsigned n = 0; n < N; ++n)
    Lane<T>::put(d, n, Lane<T>::get(d, n) * static_cast<T>(factor));
}

/// Clamps to [0, 1]; NaN becomes 0 under DX10_CLAMP.
template <class T> void applyClamp(bool dx10, u32 *d) {
  for (unsigned n = 0; n < N; ++n) {
    const T x = Lane<T>::get(d, n);
    T y = x < T(0) ? T(0) : x > T(1) ? T(1) : x;
    if (x != x && dx10)
      y = T(0);
    Lane<T>::put(d, n, y == T(0) ? T(0) : y);
  }
}

void applyOutput(const Wave &w, const Inst &i, Type type, u32 *d) {
  const bool dx10 = w.mode & mode::kDx10Clamp;
  switch (type) {
  case Type::F32:
    if (i.omod)
      applyOmod<f32>(i.omod, d);
    if (i.flags & kClamp)
      applyClamp<f32>(dx10, d);
    break;
  case Type::F64:
    if (i.omod)
      applyOmod<f64>(i.omod, d);
    if (i.flags & kClamp)
      applyClamp<f64>(dx10, d);
    break;
  case Type::F16:
    if (i.omod)
      applyOmod<f16>(i.omod, d);
    if (i.flags & kClamp)
      applyClamp<f16>(dx10, d);
    break;
  default:
    break;
  }
}

/// Puts results where SDWA's DST_SEL says, treating the rest of the dword as DST_U says.
void applySdwaDestination(u32 control, const u32 *old, u32 *d) {
  const u32 select = field(control, 8, 3);
  const u32 unused = field(control, 11, 2);
  if (select == 6)
    return;
  const unsigned width = select < 4 ? 8 : 16;
  const unsigned shift = select < 4 ? 8 * select : 16 * (select - 4);
  const u32 low = (1u << width) - 1;
  const u32 mask = low << shift;
  for (unsigned n = 0; n < N; ++n) {
    const u32 x = d[n] & low;
    u32 y = x << shift;
    if (unused == 1 && (x >> (width - 1) & 1))
      y |= ~(low << shift) & ~(mask - 1) & (shift + width < 32 ? ~0u << (shift + width) : 0u);
    else if (unused == 2)
      y |= old[n] & ~mask;
    d[n] = y;
  }
}

const Inst *unsupportedClamp(Wave &w, const Inst *i) { return w.illegal(i, "integer clamp is not supported for it"); }

} // namespace

u64 specialSource(const Wave &w, u32 code) {
  switch (code) {
  case isa::src::kVccz:
    return w.vcc() == 0;
  case isa::src::kExecz:
    return w.exec() == 0;
  case isa::src::kScc:
    return w.scc;
  case isa::src::kSharedBase:
    return w.sharedAperture;
  case isa::src::kSharedLimit:
    return w.sharedAperture | 0xffffffff;
  case isa::src::kPrivateBase:
    return w.privateAperture;
  case isa::src::kPrivateLimit:
    return w.privateAperture | 0xffffffff;
  }
  return 0;
}

const Inst *general(Wave &w, const Inst *i) {
  const Row &row = *i->row;
  if ((i->flags & kClamp) && !isFloat(row.dst) && !(row.traits & kWritesMask))
    return unsupportedClamp(w, i);

  LaneArgs args{};
  u64 writable = w.exec();
  for (unsigned n = 0; n < 3 && row.src[n] != Type::None && row.src[n] != Type::Mask; ++n) {
    const Type type = row.src[n];
    const bool wide = is64(type);
    const u32 *lanes = wide ? sourceLanes<true>(w, *i, n) : sourceLanes<false>(w, *i, n);
    u32 *out = w.tmp[n];
    const u8 mods = i->srcMods[n];
    const bool sdwa = (i->flags & kSdwa) && n < 2;
    const bool dpp = (i->flags & kDpp) && n == 0;
    if (sdwa) {
      applySdwaSelect(field(i->control, n == 0 ? 16 : 24, 3), field(i->control, n == 0 ? 19 : 27, 1), lanes, out);
    } else if (dpp) {
      // DPP permutes: it needs a copy of the lanes even when they already are a temporary.
      u32 copy[2 * N];
      memcpy(copy, lanes, wide ? sizeof copy : sizeof copy / 2);
      writable &= applyDpp(w, i->control, copy, out, wide);
    } else if ((mods & kOpSel) && is16(type)) {
      for (unsigned k = 0; k < N; ++k)
        out[k] = lanes[k] >> 16;
    } else if (mods & (kAbs | kNeg)) {
      memmove(out, lanes, (wide ? 2 : 1) * N * sizeof(u32));
    } else {
      out = const_cast<u32 *>(lanes);
    }
    if ((mods & (kAbs | kNeg)) && isFloat(type))
      applySign(type, mods, out);
    args.s[n] = out;
  }
  if (row.traits & kReadsMask) {
    const unsigned n = row.src[0] == Type::Mask ? 0 : row.src[1] == Type::Mask ? 1 : 2;
    expandMask(scalarSource(w, *i, n), w.tmp[3]);
    args.in = w.tmp[3];
  } else if (row.traits & kReadsVcc) {
    expandMask(w.vcc(), w.tmp[3]);
    args.in = w.tmp[3];
  }
  args.out = w.tmp[4];
  args.d = w.tmp[5];
  row.loop(args);

  if (row.traits & kWritesMask) {
    const u64 mask = compressMask(args.out) & writable;
    w.setScalar64(i->sdst, mask);
    if (row.dst == Type::Mask) {
      if (row.traits & kWritesExec)
        w.setExec(mask);
      return i->next();
    }
  }
  applyOutput(w, *i, row.dst, args.d);
  u32 *d = w.v[i->dst];
  if (i->flags & kSdwa) {
    applySdwaDestination(i->control, d, args.d);
  } else if (is16(row.dst)) {
    if (i->flags & kOpSelDst)
      for (unsigned n = 0; n < N; ++n)
        args.d[n] = args.d[n] << 16 | (d[n] & 0xffff);
    else if (row.traits & kKeepsHigh)
      for (unsigned n = 0; n < N; ++n)
        args.d[n] = (args.d[n] & 0xffff) | (d[n] & 0xffff0000);
  }
  expandMask(writable, w.tmp[3]);
  for (unsigned r = 0; r < (is64(row.dst) ? 2u : 1u); ++r)
    for (unsigned n = 0; n < N; ++n)
      d[r * N + n] = (args.d[r * N + n] & w.tmp[3][n]) | (d[r * N + n] & ~w.tmp[3][n]);
  return i->next();
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
