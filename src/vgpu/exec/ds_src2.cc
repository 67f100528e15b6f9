// DS instructions whose data are in LDS too: ds_add_src2_u32 and its kin (Vega manual, 10.3.1 and 12.13), of targets
// before gfx90a and of gfx1010.
//
// The address A is that of the destination and first operand, B that of the data. B lies a signed number of dwords from
// A: the instruction's offset, or, if that has its highest bit set, the upper 15 bits of the lane's address.

#include "vgpu/exec/packed.h"
#include "vgpu/exec/tables.h"
#include "vgpu/exec/vmem_atomic.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

/// LDS addresses of a lane.
struct Src2Address {
  u32 a, b;
  Src2Address(u32 address, u32 offset) {
    const bool inAddress = offset >> 15 & 1;
    const i32 dwords = inAddress ? static_cast<i32>(address) >> 17 : static_cast<i32>(offset << 17) >> 17;
    a = inAddress ? address & 0x1ffff : address;
    b = a + static_cast<u32>(dwords) * 4;
  }
};

/// MEM[A] = F(MEM[A], MEM[B]), lane by lane. Lanes whose A is out of range do nothing; data out of range are 0.
template <auto F> const Inst *dsSrc2(Wave &w, const Inst *i) {
  using T = typename atomic::Shape<decltype(F)>::Value;
  typedef T Memory __attribute__((may_alias, aligned(1)));
  if (i->flags & kLds)
    return w.illegal(i, "uses GDS memory, which the virtual GPU does not have");
  const u32 *v = w.v[i->src[0].reg];
  const auto inside = [&](u32 address) { return static_cast<u64>(address) + sizeof(T) <= w.ldsSize; };
  for (u64 m = activeLanes(w); m; m &= m - 1) {
    const Src2Address at(v[__builtin_ctzll(m)], static_cast<u32>(i->imm));
    if ((at.a | at.b) % sizeof(T))
      return w.memoryFault(i, w.sharedAperture + (at.a % sizeof(T) ? at.a : at.b), true);
  }
  for (u64 m = activeLanes(w); m; m &= m - 1) {
    const Src2Address at(v[__builtin_ctzll(m)], static_cast<u32>(i->imm));
    if (w.check && (!inside(at.a) || !inside(at.b))) [[unlikely]] {
      w.addresses[__builtin_ctzll(m)] = reinterpret_cast<u64>(w.lds) + (inside(at.a) ? at.b : at.a);
      w.outsideLds(i, w.addresses, m & -m, sizeof(T), !inside(at.a));
    }
    if (!inside(at.a))
      continue;
    const T data = inside(at.b) ? *reinterpret_cast<const Memory *>(w.lds + at.b) : 0;
    auto *place = reinterpret_cast<Memory *>(w.lds + at.a);
    *place = F(*place, data);
  }
  return i->next();
}

const Inst *addF32(Wave &w, const Inst *i) {
  constexpr u32 kFlushOutputs = 0x8000, kDenormalsAreZero = 0x0040;
  const HostMode mode(HostMode::kNearest | (w.mode >> 4 & 1 ? 0 : kDenormalsAreZero) |
                      (w.mode >> 5 & 1 ? 0 : kFlushOutputs));
  return dsSrc2<atomic::fadd<f32>>(w, i);
}

template <class F, bool Max> const Inst *minMax(Wave &w, const Inst *i) {
  using T = typename atomic::FloatBits<F>::Bits;
  const bool flushes = !((sizeof(F) == 4 ? w.mode >> 4 : w.mode >> 6) & 1);
  return flushes ? dsSrc2<atomic::fselect<F, Max, true, T>>(w, i) : dsSrc2<atomic::fselect<F, Max, false, T>>(w, i);
}

constexpr Row src2(std::string_view mnemonic, Handler handler) {
  return memory(mnemonic, handler).chosen("the manual does not say what data are that lie outside of LDS; 0 here");
}

constexpr Row kRows[] = {
    src2("ds_add_src2_u32", dsSrc2<atomic::add<u32>>),
    src2("ds_add_src2_u64", dsSrc2<atomic::add<u64>>),
    src2("ds_sub_src2_u32", dsSrc2<atomic::sub<u32>>),
    src2("ds_sub_src2_u64", dsSrc2<atomic::sub<u64>>),
    src2("ds_rsub_src2_u32", dsSrc2<atomic::rsub<u32>>),
    src2("ds_rsub_src2_u64", dsSrc2<atomic::rsub<u64>>),
    src2("ds_inc_src2_u32", dsSrc2<atomic::inc<u32>>),
    src2("ds_inc_src2_u64", dsSrc2<atomic::inc<u64>>),
    src2("ds_dec_src2_u32", dsSrc2<atomic::dec<u32>>),
    src2("ds_dec_src2_u64", dsSrc2<atomic::dec<u64>>),
    src2("ds_min_src2_i32", dsSrc2<atomic::smin<u32>>),
    src2("ds_min_src2_i64", dsSrc2<atomic::smin<u64>>),
    src2("ds_max_src2_i32", dsSrc2<atomic::smax<u32>>),
    src2("ds_max_src2_i64", dsSrc2<atomic::smax<u64>>),
    src2("ds_min_src2_u32", dsSrc2<atomic::umin<u32>>),
    src2("ds_min_src2_u64", dsSrc2<atomic::umin<u64>>),
    src2("ds_max_src2_u32", dsSrc2<atomic::umax<u32>>),
    src2("ds_max_src2_u64", dsSrc2<atomic::umax<u64>>),
    src2("ds_and_src2_b32", dsSrc2<atomic::and_<u32>>),
    src2("ds_and_src2_b64", dsSrc2<atomic::and_<u64>>),
    src2("ds_or_src2_b32", dsSrc2<atomic::or_<u32>>),
    src2("ds_or_src2_b64", dsSrc2<atomic::or_<u64>>),
    src2("ds_xor_src2_b32", dsSrc2<atomic::xor_<u32>>),
    src2("ds_xor_src2_b64", dsSrc2<atomic::xor_<u64>>),
    src2("ds_write_src2_b32", dsSrc2<atomic::swap<u32>>),
    src2("ds_write_src2_b64", dsSrc2<atomic::swap<u64>>),
    src2("ds_min_src2_f32", minMax<f32, false>),
    src2("ds_min_src2_f64", minMax<f64, false>),
    src2("ds_max_src2_f32", minMax<f32, true>),
    src2("ds_max_src2_f64", minMax<f64, true>),
    src2("ds_add_src2_f32", addF32),
};

} // namespace

std::span<const Row> dsSrc2Rows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
