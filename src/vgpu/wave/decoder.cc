#include "vgpu/wave/decoder.h"

#include "isa/encoded.h"
#include "isa/format.h"
#include "support/log.h"
#include "vgpu/exec/renamed.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace luthier::vgpu {

using isa::EncodedInstr;
using isa::EncodedOperand;
using isa::Role;
using isa::SourceKind;

namespace {

const Inst *notAnInstruction(Wave &w, const Inst *i) { return w.illegal(i, "is not an instruction of this GPU"); }
const Inst *notImplemented(Wave &w, const Inst *i) { return w.illegal(i, "is not implemented by the virtual GPU"); }

/// Behind the records of a VOPD.
const Inst *endOfParts(Wave &, const Inst *i) { return i; }

const Inst *graphicsSource(Wave &w, const Inst *i) {
  return w.illegal(i, "reads a source that only graphics has (LDS_DIRECT or POPS_EXITING_WAVE_ID)");
}

constexpr unsigned kTtmps = 16;

/// A scalar instruction that writes TTMPs, which only trap handlers can: it does all the rest.
template <bool KeepsScc> const Inst *withoutTtmps(Wave &w, const Inst *i) {
  uint32_t ttmps[kTtmps];
  memcpy(ttmps, &w.s[kTtmp], sizeof ttmps);
  const uint32_t scc = w.scc;
  const Inst *next = i->row->handler(w, i);
  memcpy(&w.s[kTtmp], ttmps, sizeof ttmps);
  if (KeepsScc)
    w.scc = scc;
  return next;
}

/// The nine floating-point inline constants: 0.5, 1, 2, 4 and their negatives, and 1/(2 pi) as the manual gives it.
uint64_t floatConstant(int64_t code, Type type) {
  static constexpr double kValues[] = {0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0};
  const auto index = static_cast<uint32_t>(code - isa::src::kFloatFirst);
  const bool inverseTwoPi = index == 8;
  switch (type) {
  case Type::F64:
  case Type::U64:
  case Type::I64:
    return inverseTwoPi ? 0x3fc45f306dc9c882 : std::bit_cast<uint64_t>(kValues[index]);
  case Type::F16:
  case Type::PkF16: // in the low half; the high half is 0
    return inverseTwoPi ? 0x3118 : std::bit_cast<uint16_t>(static_cast<_Float16>(kValues[index]));
  default: // 16-bit integers too: they see the f32 value (LLVM, getInlineEncodingV216)
    return inverseTwoPi ? 0x3e22f983 : std::bit_cast<uint32_t>(static_cast<float>(kValues[index]));
  }
}

/// A literal dword as an operand of `type` (manual, "Literal Expansion to 64 bits").
uint64_t literalConstant(int64_t value, Type type) {
  const auto literal = static_cast<uint32_t>(value);
  switch (type) {
  case Type::F64:
    return static_cast<uint64_t>(literal) << 32;
  case Type::I64:
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(literal)));
  default:
    return literal;
  }
}

bool isNull(const EncodedOperand &operand) { return operand.regs.first == Reg::Null; }
bool isTtmp(const EncodedOperand &operand) {
  return operand.regs.first >= Reg::Ttmp0 && operand.regs.first < Reg::Ttmp0 + kTtmps;
}
bool isVectorFile(const EncodedOperand &operand) {
  return isVector(operand.regs.first) || isAccumulator(operand.regs.first);
}

/// Index into Wave::v.
uint16_t vectorIndex(const EncodedOperand &operand) {
  const Reg reg = operand.regs.first;
  return static_cast<uint16_t>(isAccumulator(reg) ? kAccBase + number(reg) - number(Reg::A0)
                                                  : number(reg) - number(Reg::V0));
}
/// Index into Wave::s of a result. Scalar registers have their numbers there, which are gfx9's codes: the one place
/// that says so.
uint16_t scalarIndex(const EncodedOperand &operand) {
  return static_cast<uint16_t>(isNull(operand) ? kDiscarded : number(operand.regs.first));
}
/// The same of a register that an address is made of.
uint16_t scalarAddress(const EncodedOperand &operand) {
  return isNull(operand) ? kNoScalar : static_cast<uint16_t>(number(operand.regs.first));
}

bool hasDppControl(const isa::Target &target, unsigned pattern) {
  const bool waveShift = (pattern >= 0x130 && pattern <= 0x13c) || pattern == 0x142 || pattern == 0x143;
  return !(waveShift && !target.dppWaveShifts) && !(pattern >> 4 == 0x15 && !target.dppRowShare) &&
         !(pattern >> 4 == 0x16 && !target.dppRowXmask);
}

bool isFlat(MemorySpace space) {
  return space == MemorySpace::Flat || space == MemorySpace::Global || space == MemorySpace::Scratch;
}

} // namespace

struct alignas(64) Decoder::Lanes {
  uint32_t low[kMaxLanes];
  uint32_t high[kMaxLanes];
};

Decoder::Decoder(const isa::Target &target, unsigned waveSize)
    : target_(target), waveSize_(waveSize ? waveSize : target.waveSize), level_(execLevel(waveSize_)),
      indices_(kOpcodeCount, kMaxOpcodes) {
  for (std::span<const Row> table : level_.tables)
    for (const Row &row : table) {
      if (const auto opcode = opcodeFromName(row.mnemonic))
        indices_[static_cast<size_t>(*opcode)] = static_cast<uint16_t>(rows_.size());
      names_.push_back(row.mnemonic);
      rows_.push_back(&row);
    }
  for (const auto &[name, row] : kRenamed) {
    const auto opcode = opcodeFromName(name), same = opcodeFromName(row);
    if (!opcode || !same || indices_[static_cast<size_t>(*same)] == kMaxOpcodes)
      continue;
    indices_[static_cast<size_t>(*opcode)] = static_cast<uint16_t>(rows_.size());
    names_.push_back(name);
    rows_.push_back(rows_[indices_[static_cast<size_t>(*same)]]);
  }
  auto disassembler = isa::Disassembler::create(target, waveSize_);
  if (disassembler)
    disassembler_ = std::move(*disassembler);
  else
    log::error("{}", disassembler.error().message());
}

/// The records of a VOPD: the one to execute first, the other, maybe a move of the first one's result to its place, and
/// one that ends them.
struct Decoder::Parts {
  Inst insts[4];
};

Decoder::~Decoder() = default;

bool Decoder::implements(const Inst &inst) { return inst.fn != notAnInstruction && inst.fn != notImplemented; }

std::string Decoder::mnemonic(uint16_t opcode) const {
  std::lock_guard lock(mutex_);
  return std::string(names_[opcode]);
}

const Row *Decoder::row(uint16_t opcode) const {
  std::lock_guard lock(mutex_);
  return rows_[opcode];
}

std::string Decoder::text(std::span<const uint8_t> bytes, uint64_t pc) {
  std::lock_guard lock(mutex_);
  return disassembler_ ? disassembler_->text(bytes, pc) : "<no disassembler>";
}

Result<isa::InstrSequence> Decoder::instruction(std::span<const uint8_t> bytes, uint64_t pc) {
  std::lock_guard lock(mutex_);
  if (!instructions_)
    instructions_ = LUTHIER_TRY(isa::Decoder::create(target_, waveSize_));
  return instructions_->decodeOne(bytes, pc);
}

uint16_t Decoder::indexOf(Opcode opcode) {
  uint16_t &index = indices_[static_cast<size_t>(opcode)];
  if (index == kMaxOpcodes) {
    index = static_cast<uint16_t>(rows_.size());
    names_.push_back(luthier::mnemonic(opcode));
    rows_.push_back(nullptr);
  }
  return index;
}

const uint32_t *Decoder::constantLanes(uint64_t value) {
  auto &lanes = constants_[value];
  if (!lanes) {
    lanes = std::make_unique<Lanes>();
    for (unsigned n = 0; n < kMaxLanes; ++n) {
      lanes->low[n] = static_cast<uint32_t>(value);
      lanes->high[n] = static_cast<uint32_t>(value >> 32);
    }
  }
  return lanes->low;
}

void Decoder::setConstant(Inst &out, unsigned n, uint64_t value) {
  out.srcKind[n] = SrcKind::Constant;
  out.src[n].lanes = constantLanes(value);
}

void Decoder::setSource(Inst &out, unsigned n, const EncodedOperand &operand, Type type, bool selectsHalves) {
  const bool fillsHalves = type == Type::PkF16 && !selectsHalves && target_.constantsFillHalves;
  const auto twice = [&](uint64_t value) { return type == Type::PkF32 ? (value & 0xffffffff) | value << 32 : value; };
  // A bf16 is the upper half of an f32.
  const auto inlined = [&](uint64_t value) {
    if (fillsHalves)
      return (value & 0xffff) * 0x10001;
    return type == Type::PkBf16 ? (value & 0xffff0000) | (value >> 16 & 0xffff) : twice(value);
  };
  switch (operand.kind) {
  case SourceKind::Register:
    if (isVectorFile(operand)) {
      out.srcKind[n] = SrcKind::Vgpr;
      out.src[n].reg = vectorIndex(operand);
    } else if (operand.regs.first == Reg::Scc) {
      out.srcKind[n] = SrcKind::Special;
      out.src[n].reg = isa::src::kScc;
    } else if (isNull(operand) || (isTtmp(operand) && !target_.readableTtmps)) {
      setConstant(out, n, 0);
    } else {
      out.srcKind[n] = SrcKind::Scalar;
      out.src[n].reg = number(operand.regs.first);
    }
    break;
  case SourceKind::Computed:
    out.srcKind[n] = SrcKind::Special;
    out.src[n].reg = static_cast<uint32_t>(operand.value);
    break;
  case SourceKind::Integer:
    setConstant(out, n,
                is64(type) && type != Type::PkF32 ? static_cast<uint64_t>(operand.value)
                                                  : inlined(static_cast<uint32_t>(operand.value)));
    break;
  case SourceKind::Float:
    setConstant(out, n, inlined(floatConstant(operand.value, type)));
    break;
  case SourceKind::Literal:
    setConstant(out, n, twice(literalConstant(operand.value, type)));
    break;
  case SourceKind::Number:
    break;
  }
}

void Decoder::decode(std::span<const uint8_t> bytes, uint64_t pc, Inst &out) {
  std::lock_guard lock(mutex_);
  out = {};
  out.words = 1;
  out.fn = notAnInstruction;
  if (!disassembler_)
    return;
  EncodedInstr in;
  if (!disassembler_->encoded(bytes, pc, in))
    return;
  out.words = static_cast<uint8_t>(in.size / 4);
  out.opcode = indexOf(in.opcode);
  out.row = rows_[out.opcode];
  out.fn = notImplemented;
  if (!out.row)
    return;
  out.fn = out.row->handler;
  if (in.is(Property::Dual)) {
    std::array<uint32_t, 3> words{};
    memcpy(words.data(), bytes.data(), in.size);
    auto &parts = duals_[words];
    if (!parts) {
      parts = std::make_unique<Parts>();
      out.src[0].parts = parts->insts;
      fillDual(out, in);
    }
    out.src[0].parts = parts->insts;
    if (!implements(parts->insts[0]) || !implements(parts->insts[1]))
      out.fn = notImplemented;
    thread(out, *out.row);
    return;
  }
  fill(out, *out.row, in);
}

void Decoder::fill(Inst &out, const Row &row, const EncodedInstr &in) {
  if (in.space == MemorySpace::None)
    fillAlu(out, row, in);
  else
    fillMemory(out, in);
  choose(out, row, in);
}

void Decoder::choose(Inst &out, const Row &row, const EncodedInstr &in) {
  for (const Type type : {row.dst, row.src[0], row.src[1], row.src[2]})
    if (row.dst != Type::F32 && (type == Type::F64 || type == Type::F16 || type == Type::PkF16))
      out.flags |= kF64Mode;
  // Modifiers go through the general path where the row has a lane loop; other handlers look at them themselves.
  bool modified =
      out.flags & (kClamp | kOpSelDst | kSdwa | kDpp) || out.omod || out.srcMods[0] || out.srcMods[1] || out.srcMods[2];
  if (in.space == MemorySpace::None && row.loop) {
    if (is16(row.dst) && ((row.traits & kKeepsHigh) || target_.keepsAllHalves)) {
      out.flags |= kKeepsOther;
      modified |= level_.lanes == 64; // loops for 32 lanes keep it by themselves
    }
    if (target_.omodInAnyMode)
      out.flags |= kAlwaysOmod;
  }
  if (modified && row.loop && out.fn == row.handler && !(in.flags & isa::kPacked) && !(row.traits & kRelative))
    out.fn = level_.general;
  for (unsigned n = 0; n < 3; ++n)
    if (out.srcKind[n] == SrcKind::Special &&
        (out.src[n].reg == isa::src::kLdsDirect || out.src[n].reg == isa::src::kPopsExitingWaveId))
      out.fn = graphicsSource;
  if ((out.flags & (kDpp | kDpp8)) == kDpp && in.space == MemorySpace::None && !hasDppControl(target_, out.dpp.pattern))
    out.fn = notAnInstruction;
  // Handlers that do everything themselves see the lanes as they are.
  if ((out.flags & kDpp) && in.space == MemorySpace::None && !row.loop && !(row.traits & kTakesDpp))
    out.fn = notImplemented;
  // LLVM disassembles these with any source; their handlers take it for a vector register.
  if ((row.mnemonic == "v_swap_b32" || row.mnemonic == "v_accvgpr_mov_b32") && out.srcKind[0] != SrcKind::Vgpr)
    out.fn = notAnInstruction;
  dropTtmps(out, row, in);
  thread(out, row);
}

/// Writes of TTMPs are dropped. Vector instructions do not read their scalar results, so that theirs may go elsewhere.
void Decoder::dropTtmps(Inst &out, const Row &row, const EncodedInstr &in) const {
  const auto isDropped = [](const EncodedOperand &o) {
    return o.written && o.kind == SourceKind::Register && isTtmp(o);
  };
  if (std::ranges::none_of(in.operands(), isDropped))
    return;
  if (in.is(Property::Vector))
    (row.traits & kWritesMask ? out.sdst : out.dst) = kDiscarded;
  else if (out.fn == row.handler)
    out.fn = target_.droppedWritesKeepScc ? withoutTtmps<true> : withoutTtmps<false>;
}

/// Gives the record a threaded handler where there is one for it.
void Decoder::thread(Inst &out, const Row &row) {
  if (out.fn != row.handler || !row.threaded)
    return;
  unsigned uniform = 0;
  for (unsigned n = 0; n < 3; ++n) {
    if (out.srcKind[n] == SrcKind::Special || (row.src[n] == Type::Mask && out.srcKind[n] != SrcKind::Scalar))
      return;
    if (row.loop && row.src[n] != Type::Mask &&
        (out.srcKind[n] == SrcKind::Scalar || out.srcKind[n] == SrcKind::Constant))
      uniform |= 1u << n;
  }
  if (const Handler handler = row.threaded[uniform]) {
    out.fn = handler;
    out.threaded = true;
  }
}

void Decoder::fuse(Inst &first, const Inst &second) {
  if (!first.threaded || !second.threaded || !first.row->fusion || second.row->mnemonic != first.row->fusion->second)
    return;
  const bool chained = second.src[2].reg == first.sdst && second.sdst == first.sdst; // the mask is source 2
  const auto isUniform = [](const Inst &inst) { return inst.srcKind[0] != SrcKind::Vgpr; };
  // The second must not see the mask as a number either: it is never written.
  const bool reads = second.srcKind[0] == SrcKind::Scalar && second.src[0].reg - first.sdst < 2;
  if (!chained || reads || first.srcKind[1] != SrcKind::Vgpr || second.srcKind[1] != SrcKind::Vgpr)
    return;
  first.fn = first.row->fusion->handlers[isUniform(first) | isUniform(second) << 1];
}

/// Scalar and vector ALU, and control flow. Sources are numbered as assembly has them, wherever the encoding puts them:
/// the literal of v_madmk_f32 is source 1.
void Decoder::fillAlu(Inst &out, const Row &row, const EncodedInstr &in) {
  const bool packed = in.flags & isa::kPacked;
  // A source of v_fma_mix is an f16 where op_sel_hi says so; constants follow.
  const bool mix = row.mnemonic.starts_with("v_fma_mix") || row.mnemonic.starts_with("v_mad_mix");
  unsigned sources = 0;
  const auto addSource = [&](const EncodedOperand &operand) {
    if (operand.kind == SourceKind::Number) { // a message, a barrier
      out.imm = static_cast<int32_t>(operand.value);
    } else if (sources < 3) {
      const bool half = mix && (out.srcMods[sources] & kOpSelHi);
      setSource(out, sources, operand, half ? Type::F16 : row.src[sources], packed);
      ++sources;
    }
  };
  const auto setModifiers = [&](unsigned n, int64_t value) {
    out.srcMods[n] |= value & isa::kNegate ? kNeg : 0;
    if (packed)
      out.srcMods[n] |=
          static_cast<uint8_t>((value & isa::kNegateHigh ? kNegHi : 0) | (value & isa::kHighToLow ? kOpSel : 0) |
                               (value & isa::kHighToHigh ? kOpSelHi : 0));
    else
      out.srcMods[n] |= value & isa::kAbsolute ? kAbs : 0;
  };
  if (in.flags & isa::kSdwa)
    out.sdwa.dstSelect = 6; // where the form has no selection: the dword
  bool mask = false;        // the result that is a lane mask has an operand
  for (const EncodedOperand &operand : in.operands()) {
    const auto value = static_cast<uint32_t>(operand.value);
    switch (operand.role) {
    case Role::Destination:
      // LLVM disassembles lane masks that go to what is no register.
      if (operand.kind != SourceKind::Register)
        out.fn = notAnInstruction;
      if (isVectorFile(operand)) {
        out.dst = vectorIndex(operand);
      } else if (row.traits & kWritesMask) {
        out.sdst = scalarIndex(operand);
        mask = true;
      } else {
        out.dst = scalarIndex(operand);
      }
      break;
    case Role::Destination1:
    case Role::Source0:
    case Role::Source1:
    case Role::Source2:
    case Role::Constant:
      addSource(operand);
      break;
    case Role::Source0Modifiers:
      out.sdwa.signExtend0 = (value & isa::kSignExtend) != 0;
      setModifiers(0, value);
      break;
    case Role::Source1Modifiers:
      out.sdwa.signExtend1 = (value & isa::kSignExtend) != 0;
      setModifiers(1, value);
      break;
    case Role::Source2Modifiers:
      setModifiers(2, value);
      break;
    case Role::Clamp:
      out.flags |= value ? kClamp : 0;
      break;
    case Role::OutputModifier:
      out.omod = static_cast<uint8_t>(value);
      break;
    case Role::Immediate:
    case Role::BranchTarget:
    case Role::HardwareRegister:
    case Role::IndexModes:
      out.imm = static_cast<int32_t>(operand.value);
      break;
    case Role::DestinationSelect:
      out.sdwa.dstSelect = value & 7;
      break;
    case Role::DestinationUnused:
      out.sdwa.dstUnused = value & 3;
      break;
    case Role::Source0Select:
      out.sdwa.select0 = value & 7;
      break;
    case Role::Source1Select:
      out.sdwa.select1 = value & 7;
      break;
    case Role::DppControl:
      out.dpp.pattern = value & 0x1ff;
      break;
    case Role::Dpp8:
      out.dpp8.lanes = value & 0xffffff;
      out.flags |= kDpp8;
      break;
    case Role::RowMask:
      out.dpp.rowMask = value & 0xf;
      break;
    case Role::BankMask:
      out.dpp.bankMask = value & 0xf;
      break;
    case Role::BoundControl:
      out.dpp.boundControl = value != 0;
      break;
    case Role::FetchInactive:
      (out.flags &kDpp8 ? out.dpp8.fetchInactive = value != 0 : out.dpp.fetchInactive = value != 0);
      break;
    case Role::Cbsz:
      out.control |= value & 7;
      break;
    case Role::Abid:
      out.control |= (value & 0xf) << 4;
      break;
    case Role::Blgp:
      out.control |= (value & 7) << 8;
      break;
    default:
      break;
    }
  }
  out.flags |= static_cast<uint8_t>((in.flags & isa::kSdwa ? kSdwa : 0) | (in.flags & isa::kDpp ? kDpp : 0));
  for (unsigned n = 0; n < 3; ++n)
    out.srcMods[n] |= (in.opSel >> n & 1) && row.src[n] != Type::None ? kOpSel : 0;
  out.flags |= in.opSel >> 3 && !(row.traits & kWritesMask) ? kOpSelDst : 0;
  if (packed)
    for (unsigned n = 0; n < sources; ++n) {
      if ((out.srcMods[n] & (kOpSel | kOpSelHi)) != kOpSelHi)
        out.imm |= kPackedSelects;
      if ((out.srcMods[n] & (kNeg | kNegHi)) || (out.flags & kClamp))
        out.imm |= kPackedModifies;
    }
  // Masks that the short encodings do not name. From gfx10 on, v_cmpx has no result but EXEC.
  if ((row.traits & kWritesMask) && !mask)
    out.sdst = in.writesImplicitly(Reg::VccLo) ? kVcc : kExec;
  if ((row.traits & kReadsMask) && sources < 3 && row.src[sources] == Type::Mask) {
    out.srcKind[sources] = SrcKind::Scalar;
    out.src[sources].reg = kVcc;
  }
  if (row.traits & kAccumulates) {
    out.srcKind[2] = SrcKind::Vgpr;
    out.src[2].reg = out.dst;
  }
  setRule(out, row, in.opSel);
}

/// How the target adds up, for rows that depend on it.
void Decoder::setRule(Inst &out, const Row &row, unsigned opSel) const {
  if (row.matrix == isa::MatrixFormat::None)
    return;
  const auto rule = target_.matrixUnit ? target_.matrixUnit->of(row.matrix) : isa::MatrixArithmetic{};
  if (rule.sum == isa::MatrixSum::Unknown)
    out.fn = notImplemented;
  out.imm = rule.packed() | static_cast<int32_t>(opSel << kOpSelShift);
}

/// VOPD: two instructions that read their sources before either writes its result. They become two records, the first
/// of them one whose result the other does not read; where each reads what the other writes, the first result waits in
/// a register that no target with VOPD has.
void Decoder::fillDual(Inst &out, const EncodedInstr &in) {
  constexpr uint16_t kWaiting = kAccBase;
  Inst halves[2] = {};
  const Row *rows[2];
  for (unsigned half = 0; half < 2; ++half) {
    halves[half].words = 1;
    halves[half].opcode = indexOf(half ? in.second : in.first);
    halves[half].row = rows[half] = rows_[halves[half].opcode];
    halves[half].fn = rows[half] ? rows[half]->handler : notImplemented;
  }
  Inst *parts = const_cast<Inst *>(out.src[0].parts);
  if (rows[0] && rows[1]) {
    unsigned half = 0, sources[2] = {};
    for (const EncodedOperand &operand : in.operands()) {
      switch (operand.role) {
      case Role::Destination:
        halves[0].dst = vectorIndex(operand);
        break;
      case Role::DestinationY:
        halves[1].dst = vectorIndex(operand);
        break;
      case Role::Source0Y:
        half = 1;
        [[fallthrough]];
      case Role::Source0:
      case Role::Source1:
      case Role::Source1Y:
      case Role::Constant:
        if (const unsigned n = sources[half]++; n < 3)
          setSource(halves[half], n, operand, rows[half]->src[n]);
        break;
      default: // accumulators, which the results say
        break;
      }
    }
    for (half = 0; half < 2; ++half) {
      Inst &inst = halves[half];
      if (const unsigned n = sources[half]; (rows[half]->traits & kReadsMask) && n < 3) {
        inst.srcKind[n] = SrcKind::Scalar;
        inst.src[n].reg = kVcc;
      }
      if (rows[half]->traits & kAccumulates) {
        inst.srcKind[2] = SrcKind::Vgpr;
        inst.src[2].reg = inst.dst;
      }
      setRule(inst, *rows[half], 0);
    }
  }
  const auto reads = [](const Inst &inst, uint16_t reg) {
    for (unsigned n = 0; n < 3; ++n)
      if (inst.srcKind[n] == SrcKind::Vgpr && inst.src[n].reg == reg)
        return true;
    return false;
  };
  const bool yReadsX = reads(halves[1], halves[0].dst), xReadsY = reads(halves[0], halves[1].dst);
  const unsigned first = yReadsX && !xReadsY ? 1 : 0;
  unsigned count = 0;
  parts[count++] = halves[first];
  parts[count++] = halves[1 - first];
  const Row *move = rows_[indexOf(Opcode::V_MOV_B32)];
  if (yReadsX && xReadsY) {
    parts[0].dst = kWaiting;
    Inst &last = parts[count++];
    last.words = 1;
    last.row = move;
    last.fn = move->handler;
    last.srcKind[0] = SrcKind::Vgpr;
    last.src[0].reg = kWaiting;
    last.dst = halves[0].dst;
  }
  for (unsigned n = 0; n < count; ++n)
    if (parts[n].row)
      thread(parts[n], *parts[n].row);
  parts[count].fn = endOfParts;
  parts[count].words = 0;
}

/// Memory instructions: src[0] is the address, src[1] and src[2] are data. `sdst` is the scalar offset of SMEM, the
/// scalar address of FLAT, the resource of buffers; src[2] of buffers is the scalar offset.
void Decoder::fillMemory(Inst &out, const EncodedInstr &in) {
  const bool scalar = in.space == MemorySpace::Scalar, buffer = in.space == MemorySpace::Buffer;
  const auto setVector = [&](unsigned n, const EncodedOperand &operand) {
    out.srcKind[n] = SrcKind::Vgpr;
    out.src[n].reg = vectorIndex(operand);
  };
  if (scalar || isFlat(in.space))
    out.sdst = kNoScalar;
  for (const EncodedOperand &operand : in.operands()) {
    switch (operand.role) {
    case Role::Destination:
      out.dst = scalar ? scalarIndex(operand) : vectorIndex(operand);
      break;
    case Role::Data:
      if (scalar) {
        out.dst = operand.kind == SourceKind::Register ? scalarIndex(operand) : 0; // s_atc_probe has a number
      } else {
        setVector(1, operand);
        if (buffer)
          out.dst = vectorIndex(operand);
      }
      break;
    case Role::Data1:
      setVector(2, operand);
      break;
    case Role::VectorAddress:
      setVector(0, operand);
      break;
    case Role::ScalarBase:
      if (scalar) {
        out.srcKind[0] = SrcKind::Scalar;
        out.src[0].reg = number(operand.regs.first);
      } else {
        out.sdst = scalarAddress(operand);
      }
      break;
    case Role::ScalarOffset:
      if (buffer)
        setSource(out, 2, operand, Type::U32);
      else if (operand.kind == SourceKind::Register)
        out.sdst = scalarAddress(operand);
      break;
    case Role::Offset:
    case Role::Offset0:
      out.imm |= static_cast<int32_t>(operand.value);
      break;
    case Role::Offset1:
      out.imm |= static_cast<int32_t>(operand.value) << 8;
      break;
    case Role::Gds:
      out.flags |= operand.value ? kLds : 0;
      break;
    case Role::CachePolicy:
      out.flags |= operand.value & (scalar ? target_.scalarMissPolicy : target_.vectorMissPolicy) ? kGlc : 0;
      break;
    case Role::Format:
      out.buffer.format = static_cast<uint32_t>(operand.value) & 0x7f;
      break;
    default:
      break;
    }
  }
  out.flags |= in.flags & isa::kToLds ? kLds : 0;
  out.flags |= in.is(Property::Atomic) && in.is(Property::Load) ? kReturnsOld : 0;
  if (scalar)
    return;
  out.flags |= target_.loadsKeepHalves ? kLoadKeepsHalf : 0;
  out.flags |= target_.memoryAddsFlush ? kFlushes : 0;
  out.flags |= in.space == MemorySpace::Flat && !target_.wideScratchAtomics ? kNarrowScratch : 0;
  if (buffer) {
    out.buffer.offen = (in.flags & isa::kOffen) != 0;
    out.buffer.idxen = (in.flags & isa::kIdxen) != 0;
    out.buffer.layout = static_cast<uint32_t>(target_.bufferResource);
  } else if (in.space == MemorySpace::Lds || in.space == MemorySpace::Gds) {
    out.ds.permuteLanes = target_.permuteLanes;
    out.ds.dwordsApart = target_.ldsDwordsApart;
  }
}

} // namespace luthier::vgpu
