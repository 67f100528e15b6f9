// SOPK: scalar instructions with a 16-bit constant, and access to hardware registers (manual, sections 12.2 and 5.8).

#include "isa/hardware_register.h"
#include "vgpu/exec/modes.h"
#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

#include <algorithm>
#include <optional>

namespace luthier::vgpu {

namespace {

const Inst *s_movk_i32(Wave &w, const Inst *i) {
  w.s[i->dst] = static_cast<u32>(i->imm);
  return i->next();
}

const Inst *s_cmovk_i32(Wave &w, const Inst *i) {
  if (w.scc)
    w.s[i->dst] = static_cast<u32>(i->imm);
  return i->next();
}

const Inst *s_addk_i32(Wave &w, const Inst *i) {
  i32 d;
  w.scc = __builtin_add_overflow(static_cast<i32>(w.s[i->dst]), i->imm, &d);
  w.s[i->dst] = static_cast<u32>(d);
  return i->next();
}

const Inst *s_mulk_i32(Wave &w, const Inst *i) {
  w.s[i->dst] *= static_cast<u32>(i->imm);
  return i->next();
}

/// Compares SDST, which is a source here, with the constant: sign-extended for i32, zero-extended for u32.
template <class T, auto F> const Inst *compareConstant(Wave &w, const Inst *i) {
  const T constant = std::is_signed_v<T> ? static_cast<T>(i->imm) : static_cast<T>(i->imm & 0xffff);
  w.scc = F(static_cast<T>(w.s[i->dst]), constant);
  return i->next();
}
template <class T, auto F> constexpr Row compare(std::string_view mnemonic) {
  return straight<compareConstant<T, F>>(mnemonic);
}

const Inst *s_cbranch_i_fork(Wave &w, const Inst *i) {
  return forkBranch(w, i, w.scalar64(i->dst), nextPc(w, i) + static_cast<u64>(static_cast<i64>(i->imm) * 4));
}

const Inst *s_call_b64(Wave &w, const Inst *i) {
  w.setScalar64(i->dst, nextPc(w, i));
  return branch(w, i);
}

/// A loop over the halves of a wave of 64 lanes: D keeps the part of EXEC whose turn it is not.
const Inst *s_subvector_loop_begin(Wave &w, const Inst *i) {
  u32 &low = w.s[kExec], &high = w.s[kExec + 1];
  if (low == 0 && high == 0)
    return branch(w, i);
  w.s[i->dst] = low == 0 ? low : high;
  if (low != 0)
    high = 0;
  return i->next();
}
const Inst *s_subvector_loop_end(Wave &w, const Inst *i) {
  u32 &low = w.s[kExec], &high = w.s[kExec + 1], &other = w.s[i->dst];
  if (high != 0) {
    low = other;
    return i->next();
  }
  if (other == 0)
    return i->next();
  high = other;
  other = low;
  low = 0;
  return branch(w, i);
}

const Inst *nothing(Wave &, const Inst *i) { return i + 1; }

using isa::HardwareRegister;

/// Which register, and which of its bits, an instruction names: {size - 1 [15:11], offset [10:6], id [5:0]}.
struct HwRegField {
  u32 id, offset, mask;
  explicit HwRegField(const Inst *i) {
    const auto bits = static_cast<u32>(i->imm);
    id = bits & 0x3f;
    offset = bits >> 6 & 0x1f;
    mask = ~0u >> (31 - (bits >> 11 & 0x1f));
  }
};

/// SCC's bit is 0: the manual's "1" collides with the field beside it. Priorities are not kept and read as 0. Where
/// there is STATE_PRIV, SCC is there.
constexpr u32 kStatePrivate = 4; ///< its number
u32 status(const Wave &w) {
  constexpr u32 kTrapEn = 1 << 6, kValid = 1 << 16, kWave64 = 1 << 29;
  const bool split = w.hardwareRegister(kStatePrivate) == HardwareRegister::StatePrivate;
  return (w.scc && !split ? 1u : 0) | (split && w.lanes == 64 ? kWave64 : 0) | kTrapEn | (w.exec() == 0 ? 1u << 9 : 0) |
         ((w.vcc() == 0) != w.staleVccz ? 1u << 10 : 0) | (w.hasCompany() ? 1u << 11 : 0) | kValid;
}

std::optional<u32> readHwReg(const Wave &w, u32 id) {
  constexpr u32 kCycles = 0xfffff; // 20 bits
  switch (w.hardwareRegister(id)) {
  case HardwareRegister::Mode:
    return w.mode & ~w.fixedModes();
  case HardwareRegister::Status:
    return status(w);
  case HardwareRegister::StatePrivate:
    return w.scc ? 1u << 9 : 0;
  case HardwareRegister::TrapStatus: // exceptions are not recorded
  case HardwareRegister::ExceptionsPrivate:
  case HardwareRegister::ExceptionsUser:
  case HardwareRegister::TrapControl: // and do not trap
  case HardwareRegister::IbStatus:    // nothing is ever outstanding
  case HardwareRegister::XnackMask:   // no access is repeated
    return 0;
  case HardwareRegister::HardwareId:
  case HardwareRegister::HardwareId1:
    return w.hardwareId();
  case HardwareRegister::HardwareId2: // pipe, queue and virtual machine
    return 0;
  case HardwareRegister::XccId:
    return w.xccId();
  case HardwareRegister::GprAllocation:
    return w.gprAllocation();
  case HardwareRegister::LdsAllocation: // in units of 64 dwords
    return (w.ldsSize + 255) / 256 << 12;
  case HardwareRegister::MemoryBases:
    return static_cast<u32>(w.privateAperture >> 48) | static_cast<u32>(w.sharedAperture >> 48) << 16;
  case HardwareRegister::FlatScratchLo:
    return w.s[kHardwareFlatScratch];
  case HardwareRegister::FlatScratchHi:
    return w.s[kHardwareFlatScratch + 1];
  case HardwareRegister::ShaderCycles:
    return static_cast<u32>(Wave::clock()) & kCycles;
  case HardwareRegister::ShaderCyclesLo:
    return static_cast<u32>(Wave::clock());
  case HardwareRegister::ShaderCyclesHi:
    return static_cast<u32>(Wave::clock() >> 32);
  case HardwareRegister::None:
    break;
  }
  return std::nullopt;
}

const Inst *s_getreg_b32(Wave &w, const Inst *i) {
  const HwRegField field(i);
  const auto value = readHwReg(w, field.id);
  if (!value)
    return w.illegal(i, "reads a hardware register that the virtual GPU does not have");
  w.s[i->dst] = *value >> field.offset & field.mask;
  return i->next();
}

const Inst *writeHwReg(Wave &w, const Inst *i, u32 bits) {
  const HwRegField field(i);
  const u32 mask = field.mask << field.offset;
  const u32 value = bits << field.offset & mask;
  switch (w.hardwareRegister(field.id)) {
  case HardwareRegister::Mode: {
    // DEBUG and EXCP_EN: single-stepping and floating-point traps.
    constexpr u32 kUnsupported = 1u << 11 | 0x1ffu << 12;
    if (value & kUnsupported)
      return w.illegal(i, "enables a mode that the virtual GPU does not have (DEBUG or EXCP_EN)");
    return w.setMode((w.mode & ~mask) | value | w.fixedModes(), i->next());
  }
  case HardwareRegister::TrapStatus:
  case HardwareRegister::ExceptionsPrivate:
  case HardwareRegister::ExceptionsUser:
    if (value)
      return w.illegal(i, "sets bits of TRAPSTS, which the virtual GPU does not record");
    return i->next();
  case HardwareRegister::TrapControl:
    if (value)
      return w.illegal(i, "enables traps, which the virtual GPU does not have");
    return i->next();
  case HardwareRegister::FlatScratchLo:
  case HardwareRegister::FlatScratchHi: {
    if (w.hasFixedFlatScratch())
      return w.illegal(i, "writes a read-only hardware register");
    u32 &half = w.s[kHardwareFlatScratch + (w.hardwareRegister(field.id) == HardwareRegister::FlatScratchHi)];
    half = (half & ~mask) | value;
    return i->next();
  }
  case HardwareRegister::None:
    return w.illegal(i, "writes a hardware register that the virtual GPU does not have");
  default:
    return w.illegal(i, "writes a read-only hardware register");
  }
}

const Inst *s_setreg_b32(Wave &w, const Inst *i) { return writeHwReg(w, i, w.s[i->dst]); }
const Inst *s_setreg_imm32_b32(Wave &w, const Inst *i) { return writeHwReg(w, i, plainOperand<u32>(w, *i, 0)); }

constexpr Row kRows[] = {
    straight<s_movk_i32>("s_movk_i32"),
    straight<s_cmovk_i32>("s_cmovk_i32"),
    compare<i32, [](i32 a, i32 b) { return a == b; }>("s_cmpk_eq_i32"),
    compare<i32, [](i32 a, i32 b) { return a != b; }>("s_cmpk_lg_i32"),
    compare<i32, [](i32 a, i32 b) { return a > b; }>("s_cmpk_gt_i32"),
    compare<i32, [](i32 a, i32 b) { return a >= b; }>("s_cmpk_ge_i32"),
    compare<i32, [](i32 a, i32 b) { return a < b; }>("s_cmpk_lt_i32"),
    compare<i32, [](i32 a, i32 b) { return a <= b; }>("s_cmpk_le_i32"),
    compare<u32, [](u32 a, u32 b) { return a == b; }>("s_cmpk_eq_u32"),
    compare<u32, [](u32 a, u32 b) { return a != b; }>("s_cmpk_lg_u32"),
    compare<u32, [](u32 a, u32 b) { return a > b; }>("s_cmpk_gt_u32"),
    compare<u32, [](u32 a, u32 b) { return a >= b; }>("s_cmpk_ge_u32"),
    compare<u32, [](u32 a, u32 b) { return a < b; }>("s_cmpk_lt_u32"),
    compare<u32, [](u32 a, u32 b) { return a <= b; }>("s_cmpk_le_u32"),
    straight<s_addk_i32>("s_addk_i32"),
    straight<s_mulk_i32>("s_mulk_i32"),
    plain("s_cbranch_i_fork", s_cbranch_i_fork),
    plain("s_getreg_b32", s_getreg_b32)
        .chosen("HW_ID is a place that is made up, TRAPSTS and IB_STS read as 0, GPR_ALLOC has no bases, cycles are "
                "those of the constant clock"),
    plain("s_setreg_b32", s_setreg_b32),
    plain("s_setreg_imm32_b32", s_setreg_imm32_b32),
    plain("s_call_b64", s_call_b64),
    // gfx10 and later
    plain("s_subvector_loop_begin", s_subvector_loop_begin),
    plain("s_subvector_loop_end", s_subvector_loop_end),
    straight<nothing>("s_version"),
    straight<nothing>("s_waitcnt_vscnt"),
    straight<nothing>("s_waitcnt_vmcnt"),
    straight<nothing>("s_waitcnt_expcnt"),
    straight<nothing>("s_waitcnt_lgkmcnt"),
};

} // namespace

std::span<const Row> sopkRows() { return kRows; }

} // namespace luthier::vgpu
