#include "vgpu/wave/decoder.h"

#include "isa/encoded.h"
#include "isa/format.h"
#include "support/log.h"
#include "vgpu/exec/renamed.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"

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

const Inst *graphicsSource(Wave &w, const Inst *i) {
  return w.illegal(i, "reads a source that only graphics has (LDS_DIRECT or POPS_EXITING_WAVE_ID)");
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

bool isFlat(MemorySpace space) {
  return space == MemorySpace::Flat || space == MemorySpace::Global || space == MemorySpace::Scratch;
}

} // namespace

struct alignas(64) Decoder::Lanes {
  uint32_t low[kMaxLanes];
  uint32_t high[kMaxLanes];
};

Decoder::Decoder(const isa::Target &target, unsigned waveSize)
    : target_(target), level_(execLevel(waveSize ? waveSize : target.waveSize)), indices_(kOpcodeCount, kMaxOpcodes) {
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
  auto disassembler = isa::Disassembler::create(target, waveSize);
  if (disassembler)
    disassembler_ = std::move(*disassembler);
  else
    log::error("{}", disassembler.error().message());
}

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
    instructions_ = LUTHIER_TRY(isa::Decoder::create(target_));
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

void Decoder::setSource(Inst &out, unsigned n, const EncodedOperand &operand, Type type) {
  const auto twice = [&](uint64_t value) { return type == Type::PkF32 ? (value & 0xffffffff) | value << 32 : value; };
  switch (operand.kind) {
  case SourceKind::Register:
    if (isVectorFile(operand)) {
      out.srcKind[n] = SrcKind::Vgpr;
      out.src[n].reg = vectorIndex(operand);
    } else if (operand.regs.first == Reg::Scc) {
      out.srcKind[n] = SrcKind::Special;
      out.src[n].reg = isa::src::kScc;
    } else if (isNull(operand)) {
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
                                                  : twice(static_cast<uint32_t>(operand.value)));
    break;
  case SourceKind::Float:
    setConstant(out, n, twice(floatConstant(operand.value, type)));
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
  fill(out, *out.row, in);
}

void Decoder::fill(Inst &out, const Row &row, const EncodedInstr &in) {
  if (in.space == MemorySpace::None)
    fillAlu(out, row, in);
  else
    fillMemory(out, in);
  for (const Type type : {row.dst, row.src[0], row.src[1], row.src[2]})
    if (row.dst != Type::F32 && (type == Type::F64 || type == Type::F16 || type == Type::PkF16))
      out.flags |= kF64Mode;
  // Modifiers go through the general path where the row has a lane loop; other handlers look at them themselves.
  const bool modified = out.flags & (kClamp | kOpSelDst | kSdwa | kDpp) || out.omod ||
                        ((row.traits & kKeepsHigh) && is16(row.dst)) || out.srcMods[0] || out.srcMods[1] ||
                        out.srcMods[2];
  if (modified && row.loop && out.fn == row.handler && !(in.flags & isa::kPacked))
    out.fn = level_.general;
  for (unsigned n = 0; n < 3; ++n)
    if (out.srcKind[n] == SrcKind::Special &&
        (out.src[n].reg == isa::src::kLdsDirect || out.src[n].reg == isa::src::kPopsExitingWaveId))
      out.fn = graphicsSource;
  // What gfx10 added to DPP has no handler yet.
  if ((out.flags & kDpp8) || ((out.flags & kDpp) && out.dpp.fetchInactive))
    out.fn = notImplemented;
  // LLVM disassembles these with any source; their handlers take it for a vector register.
  if ((row.mnemonic == "v_swap_b32" || row.mnemonic == "v_accvgpr_mov_b32") && out.srcKind[0] != SrcKind::Vgpr)
    out.fn = notAnInstruction;
  thread(out, row);
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
    if (sources < 3) {
      const bool half = mix && (out.srcMods[sources] & kOpSelHi);
      setSource(out, sources, operand, half ? Type::F16 : row.src[sources]);
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
  bool mask = false; // the result that is a lane mask has an operand
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
  if (row.matrix != isa::MatrixFormat::None) {
    const auto rule = target_.matrixUnit ? target_.matrixUnit->of(row.matrix) : isa::MatrixArithmetic{};
    if (rule.sum == isa::MatrixSum::Unknown)
      out.fn = notImplemented;
    out.imm = rule.packed();
  }
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
      out.flags |= operand.value & 1 ? kGlc : 0;
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
  if (buffer) {
    out.buffer.offen = (in.flags & isa::kOffen) != 0;
    out.buffer.idxen = (in.flags & isa::kIdxen) != 0;
  }
}

} // namespace luthier::vgpu
