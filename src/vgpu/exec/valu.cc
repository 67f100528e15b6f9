// The general path of vector ALU instructions: everything that SDWA, DPP and the VOP3 modifiers can add to a lane loop.
//
// Order as in the manual: select (SDWA, DPP or op_sel), then abs, then neg, then the operation on all lanes, then omod,
// then clamp, then write what the destination selects, in lanes that EXEC (and DPP) leave enabled.

#include "vgpu/exec/valu.h"

#include "isa/format.h"
#include "vgpu/exec/float_math.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

/// The bits of MODE's denormal field for f64 and f16.
constexpr u32 kKeepInputs = mode::kDenormF64 & mode::kDenormF64 >> 1;
constexpr u32 kKeepOutputs = mode::kDenormF64 & ~kKeepInputs;

/// Which lane DPP makes each lane read, -1 where the pattern leads outside. False for a pattern that does not exist.
bool dppSources(u32 control, i32 lanes, i32 *source) {
  const i32 amount = control & 0xf;
  auto fill = [&](auto pattern) {
    for (i32 n = 0; n < i32(N); ++n)
      source[n] = pattern(n, n & 15);
    return true;
  };
  if (control <= 0xff) // quad_perm
    return fill([&](i32 n, i32) { return (n & ~3) + i32(control >> (2 * (n & 3)) & 3); });
  if (control > 0x100 && control <= 0x10f) // row_shl
    return fill([&](i32 n, i32 inRow) { return inRow + amount < 16 ? n + amount : -1; });
  if (control > 0x110 && control <= 0x11f) // row_shr
    return fill([&](i32 n, i32 inRow) { return inRow >= amount ? n - amount : -1; });
  if (control > 0x120 && control <= 0x12f) // row_ror
    return fill([&](i32 n, i32 inRow) { return n - inRow + ((inRow - amount) & 15); });
  if (control >= 0x150 && control <= 0x15f) // row_newbcast of gfx90a, row_share of gfx10
    return fill([&](i32 n, i32 inRow) { return n - inRow + amount; });
  if (control >= 0x160 && control <= 0x16f) // row_xmask
    return fill([&](i32 n, i32) { return n ^ amount; });
  switch (control) {
  case 0x130: // wave_shl:1
    return fill([&](i32 n, i32) { return n + 1 < lanes ? n + 1 : -1; });
  case 0x134: // wave_rol:1
    return fill([&](i32 n, i32) { return (n + 1) & (lanes - 1); });
  case 0x138: // wave_shr:1
    return fill([&](i32 n, i32) { return n - 1; });
  case 0x13c: // wave_ror:1
    return fill([&](i32 n, i32) { return (n - 1) & (lanes - 1); });
  case 0x140: // row_mirror
    return fill([&](i32 n, i32 inRow) { return n - inRow + 15 - inRow; });
  case 0x141: // row_half_mirror
    return fill([&](i32 n, i32) { return (n & ~7) + 7 - (n & 7); });
  case 0x142: // row_bcast:15
    return fill([&](i32 n, i32) { return (n & 0x30) - 1; });
  case 0x143: // row_bcast:31
    return fill([&](i32 n, i32) { return (n & 0x20) - 1; });
  }
  return false;
}

/// DPP8: which lane each of eight reads.
void dpp8Sources(u32 lanes, i32 *source) {
  for (i32 n = 0; n < i32(N); ++n)
    source[n] = (n & ~7) + i32(lanes >> (3 * (n & 7)) & 7);
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

/// f16 denormals as zeros; the host's mode cannot do it, they are normal numbers where it computes.
void flushF16(Type type, u32 *x) {
  for (unsigned n = 0; n < N; ++n) {
    const u32 low = (x[n] & 0x7c00) == 0 ? 0x8000 : 0xffff;
    const u32 high = type == Type::PkF16 && (x[n] & 0x7c000000) != 0 ? 0xffff0000 : 0x80000000;
    x[n] &= type == Type::PkF16 ? low | high : low | 0xffff0000;
  }
}

/// omod: times 2, 4 or 1/2. Only with output denormals and IEEE mode off; denormals and -0 then become +0.
template <class T> void applyOmod(u8 omod, u32 *d) {
  const T factor = static_cast<T>(omod == 1 ? 2.0f : omod == 2 ? 4.0f : 0.5f);
  for (unsigned n = 0; n < N; ++n) {
    const T x = Lane<T>::get(d, n) * factor;
    Lane<T>::put(d, n, magnitude(x) < kMinNormal<T> ? T(0) : x);
  }
}

template <class T> void applyOutput(const Wave &w, const Inst &i, u32 denormField, u32 *d) {
  const bool keepsDenormals = w.mode & denormField & denormField << 1; // the upper bit of two: outputs
  if (i.omod && ((i.flags & kAlwaysOmod) || (!keepsDenormals && !(w.mode & mode::kIeee))))
    applyOmod<T>(i.omod, d);
  if (i.flags & kClamp)
    applyClamp<T>(w.mode & mode::kDx10Clamp, d);
}

void applyOutput(const Wave &w, const Inst &i, Type type, u32 *d) {
  if (type == Type::F32)
    applyOutput<f32>(w, i, mode::kDenormF32, d);
  else if (type == Type::F64)
    applyOutput<f64>(w, i, mode::kDenormF64, d);
  else if (type == Type::F16)
    applyOutput<f16>(w, i, mode::kDenormF64, d);
}

/// Puts results where SDWA's DST_SEL says, treating the rest of the dword as DST_U says.
void applySdwaDestination(const SdwaControl &control, const u32 *old, u32 *d) {
  const u32 select = control.dstSelect;
  const u32 unused = control.dstUnused;
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
      y |= shift + width < 32 ? ~0u << (shift + width) : 0u;
    else if (unused == 2)
      y |= old[n] & ~mask;
    d[n] = y;
  }
}

} // namespace

/// A source lane that EXEC disables counts as out of bounds, unless inactive ones may be fetched. DPP8 has no masks,
/// and reads 0 there.
bool applyDpp(Wave &w, const Inst &i, const u32 *from, u32 *to, bool wide, u64 &writable) {
  const bool eight = i.flags & kDpp8;
  const bool fetchInactive = eight ? i.dpp8.fetchInactive : i.dpp.fetchInactive;
  i32 source[N];
  if (eight)
    dpp8Sources(i.dpp8.lanes, source);
  else if (!dppSources(i.dpp.pattern, static_cast<i32>(w.lanes), source))
    return false;
  const u32 *exec = execLanes(w);
  u32 valid[N];
  for (unsigned n = 0; n < N; ++n) {
    const u32 lane = static_cast<u32>(source[n]) & (N - 1);
    valid[n] = source[n] < 0 ? 0 : fetchInactive ? ~0u : exec[lane];
    to[n] = from[lane] & valid[n];
  }
  if (wide)
    for (unsigned n = 0; n < N; ++n)
      to[n + kRow] = from[(static_cast<u32>(source[n]) & (N - 1)) + kRow] & valid[n];
  if (eight)
    return true;
  u64 enabled = 0;
  for (unsigned row = 0; row < N / 16; ++row)
    for (unsigned bank = 0; bank < 4; ++bank)
      if ((i.dpp.rowMask >> row & 1) && (i.dpp.bankMask >> bank & 1))
        enabled |= 0xfull << (16 * row + 4 * bank);
  writable &= i.dpp.boundControl ? enabled : enabled & compressMask(valid);
  return true;
}

u64 specialSource(const Wave &w, u32 code) {
  switch (code) {
  case isa::src::kVccz:
    return ((w.vcc() & w.allLanes()) == 0) != w.staleVccz;
  case isa::src::kExecz:
    return (w.exec() & w.allLanes()) == 0;
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

void updateExecLanes(Wave &w) {
  w.execLanesFor = activeLanes(w);
  expandMask(w.execLanesFor, w.execLanes);
  for (unsigned n = N; n < kRow; ++n) // the next wave of this record may have more lanes
    w.execLanes[n] = 0;
}

/// Where a source's lanes are cached. The two scalar registers that an instruction may read from gfx10 on must not
/// share a place: the second one would overwrite the first.
[[gnu::always_inline]] inline unsigned broadcastSlot(const Inst &i, unsigned n) {
  const u32 reg = i.src[n].reg;
  for (unsigned m = 0; m < n; ++m)
    if ((i.srcKind[m] == SrcKind::Scalar || i.srcKind[m] == SrcKind::Special) && i.src[m].reg != reg &&
        (i.src[m].reg - reg) % Wave::kBroadcasts == 0)
      return (reg + n) % Wave::kBroadcasts;
  return reg % Wave::kBroadcasts;
}

const u32 *broadcastSource(Wave &w, const Inst &i, unsigned n, bool wide) {
  const u64 value = scalarSource(w, i, n);
  const unsigned slot = broadcastSlot(i, n);
  if (!wide) {
    u32 *out = w.broadcast32[slot].lanes;
    const u32 low = static_cast<u32>(value);
    if (w.broadcast32For[slot] == low)
      return out;
    w.broadcast32For[slot] = low;
    for (unsigned k = 0; k < kRow; ++k) // all of it, as in updateExecLanes
      out[k] = low;
    return out;
  }
  u32 *out = w.broadcast64[slot].lanes;
  if (w.broadcast64For[slot] == value && (w.broadcast64Valid >> slot & 1))
    return out;
  w.broadcast64For[slot] = value;
  w.broadcast64Valid |= 1u << slot;
  for (unsigned k = 0; k < kRow; ++k) {
    out[k] = static_cast<u32>(value);
    out[k + kRow] = static_cast<u32>(value >> 32);
  }
  return out;
}

const Inst *general(Wave &w, const Inst *i) {
  const Row &row = *i->row;
  LaneLoop loop = row.loop;
  // Of a compare, clamp only asks for exceptions to be signalled.
  if ((i->flags & kClamp) && !isFloat(row.dst) && row.dst != Type::Mask) {
    if (!row.clamped)
      return w.illegal(i, "has the clamp bit set, which the virtual GPU does not support for it");
    loop = row.clamped;
  }
  const u32 f16Denormals = w.mode & mode::kDenormF64;
  if ((row.dst == Type::F16 || row.dst == Type::PkF16) && (w.mode & mode::kFp16Overflow))
    return w.illegal(i, "runs with MODE.FP16_OVFL, which the virtual GPU does not support");

  LaneArgs args{};
  args.mode = w.mode;
  args.imm = i->imm;
  u64 writable = activeLanes(w);
  for (unsigned n = 0; n < 3 && row.src[n] != Type::None && row.src[n] != Type::Mask; ++n) {
    const Type type = row.src[n];
    const bool wide = is64(type);
    const u32 *lanes = wide ? sourceLanes<true>(w, *i, n) : sourceLanes<false>(w, *i, n);
    u32 *out = w.tmp[n];
    const u8 mods = i->srcMods[n];
    const bool flush =
        (type == Type::F16 || type == Type::PkF16) && !(f16Denormals & kKeepInputs) && !(row.traits & kMovesBits);
    if (type == Type::PkF16 && (mods & (kAbs | kNeg)))
      return w.illegal(i, "has modifiers on a packed source, which the virtual GPU does not support");
    if ((i->flags & kSdwa) && n < 2) {
      applySdwaSelect(n == 0 ? i->sdwa.select0 : i->sdwa.select1, n == 0 ? i->sdwa.signExtend0 : i->sdwa.signExtend1,
                      lanes, out);
    } else {
      if ((i->flags & kDpp) && n == 0) {
        if (!applyDpp(w, *i, lanes, out, wide, writable))
          return w.illegal(i, "has a DPP control that does not exist");
        lanes = out;
      }
      if ((mods & kOpSel) && is16(type))
        for (unsigned k = 0; k < N; ++k)
          out[k] = lanes[k] >> 16;
      else if ((mods & (kAbs | kNeg)) || flush)
        memmove(out, lanes, (wide ? kRow + N : N) * sizeof(u32));
      else
        out = const_cast<u32 *>(lanes);
    }
    if ((mods & (kAbs | kNeg)) && isFloat(type))
      applySign(type, mods, out);
    if (flush)
      flushF16(type, out);
    args.s[n] = out;
  }
  if (row.traits & kReadsMask) {
    const unsigned n = row.src[0] == Type::Mask ? 0 : row.src[1] == Type::Mask ? 1 : 2;
    expandMask(scalarSource(w, *i, n), w.tmp[3]);
    args.in = w.tmp[3];
  } else if (row.traits & kReadsVcc) {
    expandMask(maskAt(w, kVcc), w.tmp[3]);
    args.in = w.tmp[3];
  }
  args.out = w.tmp[4];
  args.d = w.tmp[5];
  if (N == 32 && is16(row.dst)) // of which the loop keeps the other half
    memset(args.d, 0, N * sizeof(u32));
  loop(args);

  if (row.traits & kWritesMask) {
    const u64 mask = compressMask(args.out) & writable;
    setMask(w, i->sdst, mask);
    if (row.dst == Type::Mask) {
      if (row.traits & kWritesExec)
        setMask(w, kExec, mask);
      return i->next();
    }
  }
  applyOutput(w, *i, row.dst, args.d);
  if ((row.dst == Type::F16 || row.dst == Type::PkF16) && !(f16Denormals & kKeepOutputs) && !(row.traits & kMovesBits))
    flushF16(row.dst, args.d);
  u32 *d = w.v[i->dst];
  if (i->flags & kSdwa) {
    applySdwaDestination(i->sdwa, d, args.d);
  } else if (is16(row.dst)) {
    if (i->flags & kOpSelDst)
      for (unsigned n = 0; n < N; ++n)
        args.d[n] = args.d[n] << 16 | (d[n] & 0xffff);
    else if (i->flags & kKeepsOther)
      for (unsigned n = 0; n < N; ++n)
        args.d[n] = (args.d[n] & 0xffff) | (d[n] & 0xffff0000);
  }
  expandMask(writable, w.tmp[3]);
  for (unsigned r = 0; r < (is64(row.dst) ? 2u : 1u); ++r)
    for (unsigned n = 0; n < N; ++n)
      d[r * kRow + n] = (args.d[r * kRow + n] & w.tmp[3][n]) | (d[r * kRow + n] & ~w.tmp[3][n]);
  return i->next();
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
