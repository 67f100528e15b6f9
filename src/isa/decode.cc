// Instr out of LLVM's MCInst. Everything that a form's name or description can tell is in its row (isa/form.h); what is
// left for here is to copy operands and to look at the few whose values decide what is read or written.

#include "isa/decode.h"

#include "isa/form.h"
#include "isa/llvm_mc.h"
#include "isa/source_field.h"
#include "isa/target.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace luthier::isa {

namespace {

constexpr uint32_t kCodeEnd = 0xbf9f0000;
constexpr size_t kSmallestChunk = 64,
                 kLargestChunk = 4096; ///< of operands and of ranges; more than any instruction has
constexpr unsigned kMaxUses = 48;      ///< no instruction has as many register operands

/// How much of `bytes` is left when padding is taken off its end.
size_t withoutPadding(std::span<const uint8_t> bytes) {
  size_t size = bytes.size() & ~size_t{3};
  for (; size; size -= 4)
    if (const uint32_t word = wordAt(bytes.data() + size - 4); word && word != kCodeEnd)
      break;
  return size;
}

/// A list of ranges without repetitions.
struct Uses {
  RegRange ranges[kMaxUses];
  unsigned count = 0;

  void add(RegRange range) {
    if (range.empty() || range.first == Reg::Null)
      return;
    for (unsigned n = 0; n < count; ++n)
      if (ranges[n] == range)
        return;
    ranges[count++] = range;
  }
};

bool isGeneral(Reg reg) { return reg < Reg::VccLo; }

/// What an indexed operand can be: anything from the register named to the end of its file.
RegRange fromOn(RegRange range) {
  if (isVector(range.first))
    range.count = static_cast<uint16_t>(number(Reg::A0) - number(range.first));
  else if (isAccumulator(range.first))
    range.count = static_cast<uint16_t>(number(Reg::End) - number(range.first));
  else if (isGeneral(range.first))
    range.count = static_cast<uint16_t>(number(Reg::VccLo) - number(range.first));
  return range;
}

} // namespace

struct Decoder::Impl {
  const Target &target;
  unsigned waveSize;
  std::unique_ptr<LlvmMc> mc;
  llvm::MCInst inst;
  bool maybeSkipped = false; ///< the code has s_setvskip
  Operand *operands = nullptr, *operandsEnd = nullptr;
  RegRange *regs = nullptr, *regsEnd = nullptr;
  size_t chunk = kLargestChunk;

  Operand *spaceForOperands(InstrSequence &sequence, size_t count);
  RegRange *spaceForRegs(InstrSequence &sequence, size_t count);
  void start() {
    operands = operandsEnd = nullptr;
    regs = regsEnd = nullptr;
  }
  /// Appends the instruction at the start of `rest` to the sequence.
  Result<const Form *> append(InstrSequence &sequence, std::span<const uint8_t> rest, uint64_t address, bool indexing);
  /// `indexedEverywhere` is set where indexing of VGPRs goes on beyond a block, and makes it so for all when set
  /// before.
  Result<InstrSequence> decode(std::span<const uint8_t> bytes, uint64_t address, bool &indexedEverywhere);
  void fill(InstrSequence &sequence, Instr &out, const Form &row, bool indexedVectors);
  Operand operandOf(const OperandForm &form, const Form &row, const Instr &out) const;
  void hardwareRegister(const Form &row, int64_t value, Uses &reads, Uses &writes) const;

  RegRange implicit(RegRange range, const Form &row) const {
    if (range.first == Reg::FlatScratchLo && target.scalarFlatScratch)
      range.first = Reg::FlatScrLo;
    if (waveSize == 32 && (range.first == Reg::VccLo || range.first == Reg::ExecLo) && !(row.flags & kScalar64))
      range.count = 1;
    return range;
  }
};

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decoder::~Decoder() = default;

Result<std::unique_ptr<Decoder>> Decoder::create(const Target &target, unsigned waveSize) {
  if (!waveSize)
    waveSize = target.waveSize;
  if (!(waveSize == 64 && target.wave64) && !(waveSize == 32 && target.wave32))
    return makeError("{} has no waves of {} lanes", target.name, waveSize);
  std::unique_ptr<LlvmMc> mc = LUTHIER_TRY(LlvmMc::create(target, waveSize));
  return std::unique_ptr<Decoder>(
      new Decoder(std::unique_ptr<Impl>(new Impl{target, waveSize, std::move(mc), {}, false})));
}

Operand *Decoder::Impl::spaceForOperands(InstrSequence &sequence, size_t count) {
  if (static_cast<size_t>(operandsEnd - operands) < count) {
    sequence.operands_.push_back(std::make_unique<Operand[]>(chunk));
    operands = sequence.operands_.back().get();
    operandsEnd = operands + chunk;
  }
  return std::exchange(operands, operands + count);
}

RegRange *Decoder::Impl::spaceForRegs(InstrSequence &sequence, size_t count) {
  if (static_cast<size_t>(regsEnd - regs) < count) {
    sequence.regs_.push_back(std::make_unique<RegRange[]>(chunk));
    regs = sequence.regs_.back().get();
    regsEnd = regs + chunk;
  }
  return std::exchange(regs, regs + count);
}

Operand Decoder::Impl::operandOf(const OperandForm &form, const Form &row, const Instr &out) const {
  Operand operand;
  operand.written = form.written;
  operand.read = form.read;
  if (form.index >= inst.getNumOperands()) {
    operand.kind = OperandKind::Modifier;
    operand.read = operand.written = false;
    return operand;
  }
  const llvm::MCOperand &from = inst.getOperand(form.index);
  if (from.isReg()) {
    const RegisterRow &reg = kRegisterRows[from.getReg()];
    operand.kind = OperandKind::Register;
    operand.regs = registerOperand(reg, form.half).regs;
    operand.value = reg.code;
    return operand;
  }
  operand.read = operand.written = false;
  operand.value = from.isImm() ? from.getImm() : 0;
  switch (form.shape) {
  case OperandShape::Value:
    operand.kind = OperandKind::Immediate;
    if (out.size_ > 4 && isLiteral(row.literal, form.role, out.bytes_)) {
      operand.kind = OperandKind::Literal;
      operand.value = wordAt(out.bytes_ + out.size_ - 4);
    }
    break;
  case OperandShape::Constant:
    operand.kind = OperandKind::Literal;
    operand.value = row.literal == LiteralField::Dual ? wordAt(out.bytes_ + out.size_ - 4) : operand.value & 0xffffffff;
    break;
  case OperandShape::Number:
    operand.kind = OperandKind::Immediate;
    if (form.role == Role::BranchTarget)
      operand.value = signExtended(operand.value, 16);
    else if (form.role == Role::Offset && hasFlatOffset(row.space))
      operand.value = flatOffset(target, row.space, operand.value);
    break;
  case OperandShape::Modifier:
    operand.kind = OperandKind::Modifier;
    break;
  }
  return operand;
}

/// s_getreg and s_setreg: only some hardware registers are kept track of.
void Decoder::Impl::hardwareRegister(const Form &row, int64_t value, Uses &reads, Uses &writes) const {
  const HardwareRegister reg = (*target.hardwareRegisters)[value & 0x3f];
  const bool whole = (value >> 6 & 0x3ff) == 31 << 5;
  const auto use = [&](Reg part) {
    if ((row.flags & kReadsHardware) || !whole)
      reads.add({part, 1});
    if (row.flags & kWritesHardware)
      writes.add({part, 1});
  };
  switch (reg) {
  case HardwareRegister::Mode:
    use(Reg::Mode);
    break;
  case HardwareRegister::Status: // has VCCZ and EXECZ, and SCC where that has no other place
    use(Reg::Scc);
    reads.add({Reg::VccLo, static_cast<uint16_t>(waveSize / 32)});
    reads.add({Reg::ExecLo, static_cast<uint16_t>(waveSize / 32)});
    break;
  case HardwareRegister::StatePrivate:
    use(Reg::Scc);
    break;
  case HardwareRegister::FlatScratchLo:
    use(Reg::FlatScratchLo);
    break;
  case HardwareRegister::FlatScratchHi:
    use(Reg::FlatScratchHi);
    break;
  default:
    break;
  }
}

void Decoder::Impl::fill(InstrSequence &sequence, Instr &out, const Form &row, bool indexedVectors) {
  out.form_ = inst.getOpcode();
  out.opcode_ = static_cast<Opcode>(row.opcode);
  out.properties_ = row.properties;
  out.space_ = row.space;
  out.operandCount_ = row.operandCount;
  Operand *list = spaceForOperands(sequence, row.operandCount);
  out.operands_ = list;

  Uses reads, writes;
  const RegRange *implicits = kImplicitRegisters.data() + row.implicits;
  for (unsigned n = 0; n < row.implicitReadCount; ++n)
    reads.add(implicit(implicits[n], row));
  for (unsigned n = 0; n < row.implicitWriteCount; ++n)
    writes.add(implicit(implicits[row.implicitReadCount + n], row));
  if ((row.flags & kLdsLimitInM0) && target.ldsLimitInM0)
    reads.add({Reg::M0, 1});

  // Which results leave something of their register as it was.
  const bool half = ((row.flags & kKeepsHalf) && target.keepsHalves) ||
                    ((row.flags & kKeepsHalf10) && target.keepsAllHalves) ||
                    ((row.flags & kSelectsHalf) && target.keepsHalves && (wordAt(out.bytes_) >> 14 & 1));
  bool keeps = half;
  bool dppWritesAll = true;
  const std::span<const OperandForm> forms = operandsOf(row);
  for (unsigned n = 0; n < row.operandCount; ++n) {
    list[n] = operandOf(forms[n], row, out);
    const int64_t value = list[n].value;
    switch (forms[n].role) {
    case Role::DestinationUnused:
      if (value == 2) {
        keeps = true;
        out.properties_ |= static_cast<uint32_t>(Property::PartialWrite);
      }
      break;
    case Role::RowMask:
    case Role::BankMask:
      dppWritesAll &= value == 0xf;
      break;
    case Role::BoundControl:
      dppWritesAll &= value != 0;
      break;
    case Role::Gds:
      if (value && out.space_ == MemorySpace::Lds)
        out.space_ = MemorySpace::Gds;
      break;
    case Role::Tfe:
      keeps |= value != 0;
      break;
    case Role::HardwareRegister:
      hardwareRegister(row, value, reads, writes);
      break;
    default:
      break;
    }
  }
  if (half)
    out.properties_ |= static_cast<uint32_t>(Property::PartialWrite);
  if (row.flags & kDpp)
    keeps |= !dppWritesAll || !(row.flags & kDppMasks);
  if (row.flags & kTfe)
    keeps = true;

  for (unsigned n = 0; n < row.operandCount; ++n) {
    Operand &operand = list[n];
    if (operand.kind != OperandKind::Register)
      continue;
    if (operand.regs.empty()) {
      // Computed from registers: vccz, execz, LDS_DIRECT.
      if (operand.value == 251)
        reads.add({Reg::VccLo, static_cast<uint16_t>(waveSize / 32)});
      else if (operand.value == 252)
        reads.add({Reg::ExecLo, static_cast<uint16_t>(waveSize / 32)});
      else if (operand.value == 254)
        reads.add({Reg::M0, 1});
      continue;
    }
    const bool vector = isVector(operand.regs.first) || isAccumulator(operand.regs.first);
    if (keeps && operand.written && vector)
      operand.read = true;
    // LLVM says the least.
    if (row.space == MemorySpace::Image && forms[n].role == Role::VectorAddress && target.imageAddressByResource)
      operand.regs.count = static_cast<uint16_t>(std::min(16u, number(Reg::A0) - number(operand.regs.first)));
    const bool indexed = indexedVectors && vector;
    const RegRange readRange = indexed || (row.flags & kIndexedRead) ? fromOn(operand.regs) : operand.regs;
    const RegRange writeRange = indexed || (row.flags & kIndexedWrite) ? fromOn(operand.regs) : operand.regs;
    if (operand.written) {
      writes.add(writeRange);
      if (writeRange != operand.regs)
        reads.add(writeRange); // any of them may be the one
      else if (operand.read)
        reads.add(operand.regs);
    } else if (operand.read) {
      reads.add(readRange);
    }
  }
  if (row.flags & kFork) {
    reads.add({Reg::S0, static_cast<uint16_t>(target.sgprs)});
    writes.add({Reg::S0, static_cast<uint16_t>(target.sgprs)});
  }
  if (maybeSkipped && !out.is(Property::Scalar))
    for (unsigned n = 0; n < writes.count; ++n)
      reads.add(writes.ranges[n]);
  if (indexedVectors) {
    out.properties_ |= static_cast<uint32_t>(Property::Indexed);
    reads.add({Reg::M0, 1}); // the index, and which operands it is for
  }
  for (unsigned n = 0; n < writes.count; ++n)
    if (writes.ranges[n].contains(Reg::ExecLo) || writes.ranges[n].contains(Reg::ExecHi))
      out.properties_ |= static_cast<uint32_t>(Property::WritesExec);

  out.readCount_ = static_cast<uint8_t>(reads.count);
  out.writeCount_ = static_cast<uint8_t>(writes.count);
  RegRange *ranges = spaceForRegs(sequence, reads.count + writes.count);
  std::copy_n(reads.ranges, reads.count, ranges);
  std::copy_n(writes.ranges, writes.count, ranges + reads.count);
  out.regs_ = ranges;
}

Result<InstrSequence> Decoder::decode(std::span<const uint8_t> bytes, uint64_t address) {
  // Between s_set_gpr_idx_on and s_set_gpr_idx_off, VGPR operands are indexed. Compilers keep the two in one block; if
  // they are not, any vector instruction may be affected. The same goes for s_setvskip, which compilers do not use.
  bool indexedEverywhere = false;
  impl_->maybeSkipped = false;
  InstrSequence sequence = LUTHIER_TRY(impl_->decode(bytes, address, indexedEverywhere));
  if (indexedEverywhere || impl_->maybeSkipped)
    return impl_->decode(bytes, address, indexedEverywhere);
  return sequence;
}

Result<const Form *> Decoder::Impl::append(InstrSequence &sequence, std::span<const uint8_t> rest, uint64_t address,
                                           bool indexing) {
  uint64_t size = 0;
  inst.clear();
  const bool valid = mc->decode(rest, address, inst, size);
  if (!valid || !formOf(inst.getOpcode()).size)
    return makeError("{:#x}: {} is no instruction of {}", address,
                     rest.size() < 4 ? "what is left" : fmt::format("{:08x}", wordAt(rest.data())), target.name);
  const Form &row = formOf(inst.getOpcode());
  Instr &instr = sequence.instrs_.emplace_back();
  instr.address_ = address;
  instr.bytes_ = rest.data();
  instr.size_ = static_cast<uint8_t>(size);
  fill(sequence, instr, row, indexing && (row.properties & static_cast<uint32_t>(Property::Vector)));
  return &row;
}

Result<InstrSequence> Decoder::Impl::decode(std::span<const uint8_t> bytes, uint64_t address, bool &indexedEverywhere) {
  InstrSequence sequence;
  start();
  const size_t end = withoutPadding(bytes);
  chunk = std::clamp(end, kSmallestChunk, kLargestChunk); // a file may have many functions of a few bytes
  sequence.instrs_.reserve(end / 6 + 1);
  bool indexing = indexedEverywhere;
  for (size_t at = 0; at < end;) {
    const Form *row = LUTHIER_TRY(append(sequence, bytes.subspan(at), address + at, indexing));
    const Instr &instr = sequence.instrs_.back();
    at += instr.size_;
    maybeSkipped |= instr.is(Property::SkipMode);
    if (row->flags & (kIndexOn | kIndexOff))
      indexing = indexedEverywhere || (row->flags & kIndexOn);
    else if (indexing && (instr.is(Property::Terminator) || instr.is(Property::Call)))
      indexedEverywhere = true;
  }
  return sequence;
}

Result<InstrSequence> Decoder::decodeOne(std::span<const uint8_t> bytes, uint64_t address) {
  InstrSequence sequence;
  impl_->start();
  impl_->maybeSkipped = false;
  LUTHIER_TRY(impl_->append(sequence, bytes, address, false));
  return sequence;
}

std::string Decoder::text(const Instr &instr) { return impl_->mc->text(instr.bytes(), instr.address()); }

const Instr *InstrSequence::at(uint64_t address) const {
  const auto found = std::ranges::lower_bound(instrs_, address, {}, &Instr::address_);
  return found != instrs_.end() && found->address_ == address ? &*found : nullptr;
}

} // namespace luthier::isa
