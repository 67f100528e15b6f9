#include "vgpu/wave/init_check.h"

#include "vgpu/exec/modes.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/fp_mode.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>
#include <cstring>

namespace luthier::vgpu {

namespace {

template <size_t Count> bool startsWithAny(std::string_view name, const std::string_view (&starts)[Count]) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return name.starts_with(start); });
}

/// Instructions each bit of whose results comes from certain bits of their operands, or depends on them: what differs
/// is what is undefined. Of all others a result is undefined as a whole: that a bit of a sum is the same for two other
/// addends says nothing.
bool movesBits(std::string_view name) {
  static constexpr std::string_view kStarts[] = {
      "v_mov",       "v_and_",     "v_or_",      "v_xor_",     "v_not_",      "v_xnor_",     "v_or3_",
      "v_xor3_",     "v_bfi_",     "v_bfe_",     "v_lshl",     "v_lshr",      "v_ashr",      "v_align",
      "v_perm",      "v_cndmask_", "v_pack_",    "v_readlane", "v_readfirst", "v_writelane", "v_swap",
      "v_accvgpr",   "v_pk_lsh",   "v_pk_ash",   "v_pk_mov",   "v_pack",      "v_dual_mov",  "v_dual_cndmask",
      "ds_bpermute", "ds_permute", "ds_swizzle", "s_mov",      "s_and",       "s_or",        "s_xor",
      "s_xnor",      "s_nand",     "s_nor",      "s_not",      "s_lshl_",     "s_lshr_",     "s_ashr_",
      "s_bfe_",      "s_cselect",  "s_cmov",     "s_pack_",    "s_brev_",     "s_wqm_",      "s_bitset",
      "s_sext_",     "s_quadmask", "s_bitreplic"};
  static constexpr std::string_view kNot[] = {"v_lshl_add", "v_pk_mul", "s_lshl1", "s_lshl2", "s_lshl3", "s_lshl4"};
  return startsWithAny(name, kStarts) && !startsWithAny(name, kNot);
}

/// Instructions that do nothing but compute results: that can be executed again.
bool isRepeatable(std::string_view name) {
  static constexpr std::string_view kScalars[] = {
      "s_mov_",   "s_cmov",   "s_not_",  "s_and",     "s_or",    "s_xor",   "s_xnor",    "s_nand",
      "s_nor",    "s_add",    "s_sub_",  "s_subb_",   "s_min",   "s_max",   "s_cselect", "s_lsh",
      "s_ashr_",  "s_bf",     "s_mul",   "s_absdiff", "s_pack_", "s_abs_",  "s_bcnt",    "s_ff",
      "s_flbit_", "s_cls_",   "s_clz_",  "s_ctz_",    "s_sext_", "s_brev_", "s_wqm_",    "s_quadmask",
      "s_bitset", "s_bitcmp", "s_cmp",   "s_bitrepl", "s_cvt_",  "s_fmac",  "s_fmamk",   "s_fmaak",
      "s_ceil",   "s_floor",  "s_trunc", "s_rndne",   "s_sub_f", "s_pack"};
  static constexpr std::string_view kCrossLane[] = {"ds_bpermute", "ds_permute", "ds_swizzle"};
  // s_subvector_loop, s_addk and s_subb alike begin as names above do; the first is none of them.
  return name.starts_with("v_") || startsWithAny(name, kCrossLane) || startsWithAny(name, kScalars);
}

bool isVectorCompare(const Inst *inst) {
  return inst->row && inst->row->dst == Type::Mask && inst->row->mnemonic.starts_with("v_cmp");
}

/// A scalar comparison whose outcome, unlike that of one with 0, is the same for nearly all values.
bool isScalarCompare(const Inst *inst, std::string_view name) {
  if (!name.starts_with("s_cmp"))
    return false;
  const auto isZero = [&](unsigned n) { return inst->srcKind[n] == SrcKind::Constant && inst->src[n].lanes[0] == 0; };
  const bool equality = name.starts_with("s_cmp_eq_u") || name.starts_with("s_cmp_lg_u") ||
                        name.starts_with("s_cmp_eq_i") || name.starts_with("s_cmp_lg_i");
  return !(equality && (isZero(0) || isZero(1)));
}

bool isExec(Reg reg) { return reg == Reg::ExecLo || reg == Reg::ExecHi; }
bool isAnyVector(Reg reg) { return isVector(reg) || isAccumulator(reg); }
/// Registers that are followed.
bool isFollowed(Reg reg) {
  return isAnyVector(reg) || (number(reg) < number(Reg::Mode) && reg != Reg::Null && !isExec(reg));
}

/// The lowest of the bits, and all above.
uint32_t fromLowest(uint32_t bits) { return 0u - (bits & (0u - bits)); }

/// Something else for `value` in the bits of `undefined`.
uint32_t otherBits(uint32_t value, uint32_t undefined, uint32_t pattern, uint32_t place) {
  uint32_t other = 0;
  switch (pattern) {
  case 0:
    other = ~value;
    break;
  case 1:
    other = (place + 1) * 0x9e3779b9u;
    other = (other ^ other >> 15) * 0x85ebca6bu;
    other ^= other >> 13;
    break;
  case 2:
    other = 0;
    break;
  default:
    other = ~0u;
    break;
  }
  return (value & ~undefined) | (other & undefined);
}

} // namespace

Origins::Number Origins::ofLoad(Origin origin) {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      loads_, [&](const Origin &known) { return known.pc == origin.pc && known.kind == origin.kind; });
  const auto index = static_cast<Number>(found - loads_.begin());
  if (found == loads_.end())
    loads_.push_back(std::move(origin));
  return kFirstLoad + index;
}

Origin Origins::at(Number number) const {
  if (number < kFirstLoad) {
    Origin origin;
    origin.reg = static_cast<Reg>(number ? number - 1 : 0);
    return origin;
  }
  std::lock_guard lock(mutex_);
  return loads_[number - kFirstLoad];
}

// Registers.

void WaveInit::start(const Wave &w) {
  const Dispatch &dispatch = w.group->dispatch();
  const WaveStart &given = dispatch.start();
  const isa::Target &target = w.device->target();
  undefined_ = {};
  const auto begin = [&](Reg first, uint32_t from, uint32_t count) {
    for (uint32_t n = from; n < count; ++n) {
      undefined_.insert(first + n);
      v_[vectorIndex(first + n)] = {{~0ull, ~0ull, ~0ull, ~0ull}};
      vectorOrigin_[vectorIndex(first + n)] = Origins::ofRegister(first + n);
    }
  };
  begin(Reg::V0, given.itemIdRegisters(), std::min<uint32_t>(w.vgprCount, target.vgprs));
  begin(Reg::A0, 0, std::min<uint32_t>(w.vgprCount, target.accVgprs));
  const auto beginScalar = [&](Reg reg) {
    undefined_.insert(reg);
    s_[number(reg)] = ~0u;
    scalarOrigin_[number(reg)] = Origins::ofRegister(reg);
  };
  for (unsigned n = 0; n < w.sgprs; ++n)
    if (!given.givesSgpr(n))
      beginScalar(sgpr(n));
  beginScalar(Reg::VccLo);
  beginScalar(Reg::VccHi);
  beginScalar(Reg::M0);
  setScc(true, Origins::ofRegister(Reg::Scc));
  scratchPerLane_ = dispatch.launch().privateSegmentSize;
  scratch_.reset(uint64_t{scratchPerLane_} * w.lanes);
}

uint64_t WaveInit::lanesOf(RegRange regs) const {
  uint64_t lanes = 0;
  for (unsigned n = 0; n < regs.count; ++n)
    if (undefined_.contains(regs.first + n))
      lanes |= v_[vectorIndex(regs.first + n)].any();
  return lanes;
}

uint32_t WaveInit::bitsOf(const Wave &w, Reg reg) const {
  return isFollowed(reg) && undefined_.contains(reg) ? s_[scalarIndex(w, reg)] : 0;
}

bool WaveInit::isUndefined(const Wave &w, const RegisterUse &use, uint64_t lanes) const {
  if (isAnyVector(use.regs.first))
    return (lanesOf(use.regs) & lanes) != 0;
  if (use.regs.first == Reg::Scc)
    return scc_;
  for (unsigned n = 0; n < use.regs.count; ++n)
    if (bitsOf(w, use.regs.first + n))
      return true;
  return false;
}

void WaveInit::defineVector(Reg reg, uint64_t lanes) {
  if (!undefined_.contains(reg))
    return;
  Lanes &mine = v_[vectorIndex(reg)];
  for (uint64_t &byte : mine.bytes)
    byte &= ~lanes;
  if (!mine.any())
    undefined_.erase(reg);
}

void WaveInit::defineScalar(const Wave &, Reg reg) {
  undefined_.erase(reg);
  if (reg == Reg::Scc)
    scc_ = false;
}

void WaveInit::define(const Wave &w, RegRange regs, uint64_t lanes) {
  for (unsigned n = 0; n < regs.count; ++n)
    if (isAnyVector(regs.first))
      defineVector(regs.first + n, lanes);
    else
      defineScalar(w, regs.first + n);
}

void WaveInit::setVector(Reg reg, uint64_t lanes, const Lanes &undefined, Origins::Number origin) {
  Lanes &mine = v_[vectorIndex(reg)];
  if (!undefined_.contains(reg))
    mine = {};
  for (unsigned n = 0; n < 4; ++n)
    mine.bytes[n] = (mine.bytes[n] & ~lanes) | (undefined.bytes[n] & lanes);
  if (!mine.any())
    return undefined_.erase(reg);
  undefined_.insert(reg);
  if (undefined.any() & lanes)
    vectorOrigin_[vectorIndex(reg)] = origin;
}

void WaveInit::setScalar(const Wave &w, Reg reg, uint32_t bits, Origins::Number origin) {
  if (!isFollowed(reg))
    return;
  if (!bits)
    return undefined_.erase(reg);
  undefined_.insert(reg);
  s_[scalarIndex(w, reg)] = bits;
  scalarOrigin_[scalarIndex(w, reg)] = origin;
}

void WaveInit::setScc(bool undefined, Origins::Number origin) {
  scc_ = undefined;
  sccOrigin_ = origin;
  if (undefined)
    undefined_.insert(Reg::Scc);
  else
    undefined_.erase(Reg::Scc);
}

Origins::Number WaveInit::originOf(const Wave &w, RegRange regs, uint64_t lanes) const {
  if (regs.first == Reg::Scc)
    return sccOrigin_;
  for (unsigned n = 0; n < regs.count; ++n) {
    const Reg reg = regs.first + n;
    if (!undefined_.contains(reg))
      continue;
    if (!isAnyVector(reg))
      return scalarOrigin_[scalarIndex(w, reg)];
    if (v_[vectorIndex(reg)].any() & lanes)
      return vectorOrigin_[vectorIndex(reg)];
  }
  return 0;
}

// Instructions.

void WaveInit::before(Wave &w, const Inst *inst, const OperandCache::Known &known) {
  tried_ = false;
  if (known.memory)
    return memory(w, inst, known);
  const bool moved = w.mode & kModal;
  if (!moved && known.isPlain && !known.names(undefined_))
    return;
  const auto uses = placed(w, inst, known, placed_);
  const uint64_t lanes = known.crossLane ? w.allLanes() : w.exec();
  bool reads = false;
  for (const RegisterUse &use : uses)
    if (use.read && isUndefined(w, use, lanes)) {
      reads = true;
      origin_ = originOf(w, use.regs, lanes);
      break;
    }
  const auto defineResults = [&] {
    for (const RegisterUse &use : uses)
      if (use.write)
        define(w, use.regs, lanes);
  };
  if (!reads)
    return defineResults();
  const std::string_view name = known.mnemonic;
  if (name.starts_with("s_cbranch") || name == "s_setpc_b64" || name == "s_swappc_b64") {
    branch(w, inst, known);
    return defineResults();
  }
  uses_.assign(uses.begin(), uses.end());
  if (isVectorCompare(inst) && !(inst->flags & kDpp))
    return compare(w, inst, known);
  if (isScalarCompare(inst, name))
    return setScc(true, origin_);
  if (!isRepeatable(name))
    return defineResults();
  tryAlternatives(w, inst);
}

void WaveInit::decided(const Wave &w, const Inst *inst, std::string what, uint64_t lanes,
                       Origins::Number origin) const {
  UndefinedUse use;
  use.kind = UndefinedUse::Kind::Branch;
  use.what = std::move(what);
  use.lanes = lanes;
  use.origin = check_.origins.at(origin);
  check_.onFinding(w, inst, use);
}

void WaveInit::branch(Wave &w, const Inst *inst, const OperandCache::Known &known) {
  const std::string_view name = known.mnemonic;
  if (name == "s_cbranch_scc0" || name == "s_cbranch_scc1") {
    decided(w, inst, "scc", 0, sccOrigin_);
    return defineScalar(w, Reg::Scc);
  }
  if (name == "s_cbranch_vccz" || name == "s_cbranch_vccnz") {
    const uint64_t bits = (bitsOf(w, Reg::VccLo) | uint64_t{bitsOf(w, Reg::VccHi)} << 32) & w.allLanes();
    if (!bits || (w.vcc() & ~bits)) // a bit that is surely set decides alone
      return;
    decided(w, inst, "vcc", bits, originOf(w, {Reg::VccLo, 2}));
    return define(w, {Reg::VccLo, 2}, 0);
  }
  for (const RegisterUse &use : known.registers)
    if (use.read && !use.implicit && isUndefined(w, use, 0)) {
      decided(w, inst, toString(use.regs), 0, originOf(w, use.regs));
      define(w, use.regs, 0);
    }
}

/// Lanes in which a source of a comparison is undefined, as far as it looks at it.
uint64_t WaveInit::comparedLanes(const Wave &w, const Inst *inst, unsigned source) const {
  const Type type = inst->row->src[source];
  if (type == Type::None)
    return 0;
  const unsigned count = is64(type) && type != Type::Mask ? 2 : 1;
  if (inst->srcKind[source] == SrcKind::Scalar) {
    for (unsigned n = 0; n < count; ++n) {
      const unsigned reg = inst->src[source].reg + n;
      if (reg < number(Reg::Mode) && bitsOf(w, static_cast<Reg>(reg)))
        return ~0ull;
    }
    return 0;
  }
  if (inst->srcKind[source] != SrcKind::Vgpr)
    return 0;
  const unsigned first = inst->src[source].reg;
  const Reg reg = first >= kAccBase ? agpr(first - kAccBase) : vgpr(first);
  if (!undefined_.contains(reg) && (count == 1 || !undefined_.contains(reg + 1)))
    return 0;
  if (count == 2)
    return lanesOf({reg, 2});
  const Lanes &mine = v_[first];
  if ((inst->flags & kSdwa) && source < 2) {
    const unsigned select = source ? inst->sdwa.select1 : inst->sdwa.select0;
    return select < 4    ? mine.bytes[select]
           : select == 4 ? mine.bytes[0] | mine.bytes[1]
           : select == 5 ? mine.bytes[2] | mine.bytes[3]
                         : mine.any();
  }
  if (is16(type))
    return inst->srcMods[source] & kOpSel ? mine.bytes[2] | mine.bytes[3] : mine.bytes[0] | mine.bytes[1];
  return mine.any();
}

void WaveInit::compare(Wave &w, const Inst *inst, const OperandCache::Known &) {
  uint64_t lanes = 0;
  for (unsigned n = 0; n < 3; ++n)
    lanes |= comparedLanes(w, inst, n);
  lanes &= w.exec();
  const bool narrows = inst->row->traits & kWritesExec;
  if (narrows && lanes)
    decided(w, inst, "exec", lanes, origin_);
  for (const RegisterUse &use : uses_)
    if (use.write && !isExec(use.regs.first) && !isAnyVector(use.regs.first))
      for (unsigned n = 0; n < use.regs.count; ++n)
        setScalar(w, use.regs.first + n, narrows ? 0 : static_cast<uint32_t>(lanes >> (32 * n)), origin_);
}

/// Executes it with something else in the place of what is undefined, and puts everything back.
void WaveInit::execute(Wave &w, const Inst *inst, uint32_t pattern, Alternative &to) {
  const WaveState before = w;
  saved_.clear();
  const auto keep = [&](RegRange regs) {
    for (unsigned n = 0; n < regs.count; ++n) {
      const uint32_t *row = w.v[vectorIndex(regs.first + n)];
      saved_.insert(saved_.end(), row, row + kMaxLanes);
    }
  };
  for (const RegisterUse &use : uses_)
    if (isAnyVector(use.regs.first))
      keep(use.regs);
  for (const RegisterUse &use : uses_) {
    if (!use.read)
      continue;
    if (use.regs.first == Reg::Scc && scc_)
      w.scc = pattern == 2 ? 0 : pattern == 3 ? 1 : !w.scc;
    for (unsigned n = 0; n < use.regs.count; ++n) {
      const Reg reg = use.regs.first + n;
      if (!isFollowed(reg) || reg == Reg::Scc || !undefined_.contains(reg))
        continue;
      if (!isAnyVector(reg)) {
        const unsigned index = scalarIndex(w, reg);
        w.s[index] = otherBits(w.s[index], s_[index], pattern, index);
        continue;
      }
      const Lanes &mine = v_[vectorIndex(reg)];
      uint32_t *row = w.v[vectorIndex(reg)];
      for (uint64_t m = mine.any() & w.allLanes(); m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
        uint32_t undefined = 0;
        for (unsigned byte = 0; byte < 4; ++byte)
          undefined |= mine.bytes[byte] >> lane & 1 ? 0xffu << (8 * byte) : 0;
        row[lane] = otherBits(row[lane], undefined, pattern, number(reg) * kMaxLanes + lane);
      }
    }
  }
  _mm_setcsr(inst->flags & kF64Mode ? mxcsrForF64(w.mode) : mxcsrForF32(w.mode));
  if (w.mode & kModal)
    executeModal(w, inst);
  else
    single (*inst)(w, inst);
  to.vectors.clear();
  for (const RegRange regs : results_)
    for (unsigned n = 0; n < regs.count; ++n) {
      const uint32_t *row = w.v[vectorIndex(regs.first + n)];
      to.vectors.insert(to.vectors.end(), row, row + kMaxLanes);
    }
  std::copy(std::begin(w.s), std::end(w.s), to.s.begin());
  to.scc = w.scc;
  const bool stopped = w.stop == Stop::Fault;
  static_cast<WaveState &>(w) = before;
  if (stopped)
    w.stop = Stop::None;
  const uint32_t *from = saved_.data();
  for (const RegisterUse &use : uses_)
    if (isAnyVector(use.regs.first))
      for (unsigned n = 0; n < use.regs.count; ++n, from += kMaxLanes)
        memcpy(w.v[vectorIndex(use.regs.first + n)], from, kMaxLanes * sizeof *from);
}

void WaveInit::tryAlternatives(Wave &w, const Inst *inst) {
  results_.clear();
  for (const RegisterUse &use : uses_)
    if (use.write && isAnyVector(use.regs.first))
      results_.push_back(use.regs);
  // Scalars decide more, and zeros and ones say exactly whether a mask may be empty.
  const bool scalar = results_.empty();
  tries_ = scalar ? 4 : 2;
  for (unsigned n = 0; n < tries_; ++n)
    execute(w, inst, n, alternatives_[n]);
  tried_ = true;
}

void WaveInit::settleVectors(Wave &w, const Inst *inst, const OperandCache::Known &known) {
  const bool exact = movesBits(known.mnemonic);
  const Row *row = inst->row;
  const bool halves = row && (is16(row->dst) || row->dst == Type::PkU16 || row->dst == Type::PkI16 ||
                              row->dst == Type::PkF16 || row->dst == Type::PkBf16 || (inst->flags & kSdwa));
  // Carries go up: what is below the first difference of an integer does not depend on what is undefined.
  const bool integer = row && !isFloat(row->dst), wide = row && row->dst == Type::F64;
  const uint64_t lanes = known.crossLane ? w.allLanes() : w.exec();
  size_t at = 0;
  for (const RegRange regs : results_) {
    uint64_t wideLanes = 0;
    for (unsigned n = 0; n < regs.count; ++n, at += kMaxLanes) {
      const uint32_t *result = w.v[vectorIndex(regs.first + n)];
      Lanes undefined{};
      for (unsigned lane = 0; lane < w.lanes; ++lane) {
        uint32_t differs = 0;
        for (unsigned t = 0; t < tries_; ++t)
          differs |= result[lane] ^ alternatives_[t].vectors[at + lane];
        if (!differs)
          continue;
        if (!exact && halves)
          differs = (differs & 0xffff ? 0xffff : 0) | (differs & 0xffff0000 ? 0xffff0000 : 0);
        else if (!exact)
          differs = integer ? fromLowest(differs) : ~0u;
        for (unsigned byte = 0; byte < 4; ++byte)
          undefined.bytes[byte] |= uint64_t{(differs >> (8 * byte) & 0xff) != 0} << lane;
      }
      if (wide && !exact) {
        wideLanes |= undefined.any();
        undefined = {{wideLanes, wideLanes, wideLanes, wideLanes}};
        if (n == 1)
          setVector(regs.first, lanes, undefined, origin_);
      }
      setVector(regs.first + n, lanes, undefined, origin_);
    }
  }
}

void WaveInit::settleScalars(Wave &w, const Inst *inst) {
  const std::string_view name = inst->row ? inst->row->mnemonic : std::string_view();
  const bool exact = movesBits(name) || name.starts_with("v_"), integer = !(inst->row && isFloat(inst->row->dst));
  for (const RegisterUse &use : uses_) {
    if (!use.write || isAnyVector(use.regs.first))
      continue;
    if (use.regs.first == Reg::Scc) {
      bool differs = false;
      for (unsigned t = 0; t < tries_; ++t)
        differs |= alternatives_[t].scc != w.scc;
      setScc(differs, origin_);
      continue;
    }
    std::array<uint32_t, 16> bits{};
    for (unsigned n = 0; n < std::min<unsigned>(use.regs.count, bits.size()); ++n) {
      const unsigned index = isExec(use.regs.first) ? kExec + number(use.regs.first + n) - number(Reg::ExecLo)
                                                    : scalarIndex(w, use.regs.first + n);
      for (unsigned t = 0; t < tries_; ++t)
        bits[n] |= alternatives_[t].s[index] ^ w.s[index];
    }
    if (isExec(use.regs.first)) {
      const uint64_t lanes =
          use.regs.first == Reg::ExecHi ? uint64_t{bits[0]} << 32 : bits[0] | uint64_t{bits[1]} << 32;
      if (lanes & w.allLanes())
        decided(w, inst, "exec", lanes & w.allLanes(), origin_);
      continue;
    }
    bool carried = false; // from the word below
    for (unsigned n = 0; n < std::min<unsigned>(use.regs.count, bits.size()); ++n) {
      const uint32_t differs = bits[n];
      if (!exact)
        bits[n] = carried || (differs && !integer) ? ~0u : fromLowest(differs);
      carried |= differs != 0;
      setScalar(w, use.regs.first + n, bits[n], origin_);
    }
  }
}

void WaveInit::after(Wave &w, const Inst *inst, const OperandCache::Known &known) {
  if (!tried_)
    return;
  tried_ = false;
  settleVectors(w, inst, known);
  settleScalars(w, inst);
}

} // namespace luthier::vgpu
