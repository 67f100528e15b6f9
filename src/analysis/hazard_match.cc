#include "analysis/hazard_match.h"

#include "isa/form.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace luthier::analysis::hazard {

namespace {

using isa::Role;

/// The rows and columns of a matrix instruction's result, and how much is summed up: v_mfma_f32_16x16x4_4b_f16 is
/// 16, 4.
struct Shape {
  unsigned size = 0, depth = 0;
};

Shape shapeOf(std::string_view mnemonic) {
  static constexpr std::pair<std::string_view, unsigned> kSizes[] = {{"_4x4x", 4}, {"_16x16x", 16}, {"_32x32x", 32}};
  for (const auto &[text, size] : kSizes) {
    const size_t at = mnemonic.find(text);
    if (at == mnemonic.npos)
      continue;
    Shape shape{size};
    for (size_t n = at + text.size(); n < mnemonic.size() && mnemonic[n] >= '0' && mnemonic[n] <= '9'; ++n)
      shape.depth = shape.depth * 10 + static_cast<unsigned>(mnemonic[n] - '0');
    return shape;
  }
  return {};
}

void addMatrix(std::string_view name, FormTraits &out) {
  const Shape shape = shapeOf(name);
  out.classes |= kMfma;
  if (name.starts_with("v_mfma_f64")) {
    out.classes |= shape.size == 4 ? kDgemm4 : kDgemm16;
    out.passes = out.passes940 = shape.size == 4 ? 4 : 8;
    return;
  }
  out.passes = static_cast<uint8_t>(shape.size == 4 ? 2 : shape.size / 2);
  if (name.starts_with("v_smfmac")) {
    out.passes940 = static_cast<uint8_t>(shape.size / 4);
    return;
  }
  // gfx940 takes half the time where more is summed up at once, or with the shorter format of single precision.
  const bool shorter = name.ends_with("xf32");
  const bool deep = shorter || shape.depth >= (shape.size == 16 ? 16u : 8u);
  out.passes940 = shape.size == 4 || !deep ? out.passes : out.passes / 2;
  if (name.ends_with("f32") && !shorter)
    out.classes |= kF32Mfma;
}

FormTraits traitsOf(const isa::Form &form) {
  FormTraits out;
  const auto is = [&](Property property) { return (form.properties & static_cast<uint32_t>(property)) != 0; };
  const std::string_view name = mnemonic(static_cast<Opcode>(form.opcode));
  const auto starts = [&](std::string_view prefix) { return name.starts_with(prefix); };
  switch (form.space) {
  case MemorySpace::None:
  case MemorySpace::Scalar:
    break;
  case MemorySpace::Lds:
  case MemorySpace::Gds:
    out.classes |= kLds;
    break;
  default:
    out.classes |= kVmem;
  }
  if (is(Property::Export))
    out.classes |= kExport;
  if (is(Property::Wait))
    out.classes |= kWait;
  // A load to LDS is a VALU instruction besides.
  if (is(Property::Vector) || ((form.flags & isa::kToLds) && is(Property::Load)))
    out.classes |= kValu;
  if (is(Property::Scalar) && form.space == MemorySpace::None)
    out.classes |= kSalu;
  if (starts("v_mfma_") || starts("v_smfmac_"))
    addMatrix(name, out);
  if (starts("v_dot"))
    out.classes |= kDot;
  if (form.flags & isa::kDpp)
    out.classes |= kDpp;
  if (starts("v_div_fmas_"))
    out.classes |= kDivFmas;
  if (form.flags & isa::kWritesHardware)
    out.classes |= kSetReg;
  if (form.flags & isa::kReadsHardware)
    out.classes |= kGetReg;
  if (starts("s_rfe_"))
    out.classes |= kRfe;
  if (is(Property::Message) || starts("s_ttracedata") || form.space == MemorySpace::Gds)
    out.classes |= kMessage;
  if (starts("s_movrel") || starts("v_interp_") || ((form.flags & isa::kToLds) && form.space != MemorySpace::Lds) ||
      (form.space == MemorySpace::Lds && name.find("addtid") != name.npos))
    out.classes |= kM0Index;
  if (is(Property::Atomic) && (out.classes & kVmem) &&
      (name.find("atomic_f") != name.npos || name.ends_with("_f32") || name.ends_with("_f64") ||
       name.ends_with("f16") || name.ends_with("_flt")))
    out.classes |= kFpAtomic;
  for (const std::string_view root : {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    if (starts(root))
      out.classes |= kTrans;
  switch (static_cast<Opcode>(form.opcode)) {
  case Opcode::V_ACCVGPR_READ_B32:
    out.classes |= kAccRead;
    break;
  case Opcode::V_ACCVGPR_WRITE_B32:
    out.classes |= kAccWrite;
    break;
  case Opcode::V_READLANE_B32:
    out.classes |= kLaneSelect | kReadsLane;
    break;
  case Opcode::V_WRITELANE_B32:
    out.classes |= kLaneSelect;
    break;
  case Opcode::V_READFIRSTLANE_B32:
    out.classes |= kReadsLane;
    break;
  case Opcode::V_FMA_F64:
  case Opcode::V_FMAC_F64:
    out.classes |= kFma64;
    break;
  case Opcode::S_SETVSKIP:
    out.classes |= kSetVskip;
    break;
  case Opcode::S_DENORM_MODE:
    out.classes |= kDenormMode;
    break;
  default:
    break;
  }
  return out;
}

uint32_t wordAt(const Instr &instr, unsigned n) {
  uint32_t word = 0;
  memcpy(&word, instr.bytes().data() + 4 * n, sizeof word);
  return word;
}

/// The operand with this role; null where there is none.
const Operand *operandOf(const Instr &instr, Role role) {
  const auto roles = isa::operandsOf(isa::formOf(instr.form_));
  for (size_t n = 0; n < instr.operands().size(); ++n)
    if (roles[n].role == role)
      return &instr.operands()[n];
  return nullptr;
}

bool isVectorFile(RegRange range) { return range.first >= Reg::V0; }

/// A VALU instruction that leaves a part of its result's register alone, or shifts the result in it.
bool writesHalf(const Instr &instr, uint32_t flags) {
  if (flags & isa::kSdwa)
    return (wordAt(instr, 1) >> 8 & 7) != 6; // dst_sel: 6 is the whole
  return (flags & isa::kSelectsHalf) && (wordAt(instr, 0) >> 14 & 1);
}

/// The most that a store, or an atomic, takes from vector registers at once. Buffer instructions with an offset in an
/// SGPR take long enough anyway.
RegRange wideData(const Instr &instr) {
  if (!instr.is(Property::Store) || instr.memorySpace() == MemorySpace::Image)
    return {};
  const auto access = instr.memory();
  if (!access || access->data.count <= 2 || (instr.memorySpace() == MemorySpace::Buffer && !access->soffset.empty()))
    return {};
  return access->data;
}

constexpr bool overlap(RegRange a, RegRange b) {
  return !a.empty() && !b.empty() && number(a.first) < number(b.first) + b.count &&
         number(b.first) < number(a.first) + a.count;
}

bool writesAny(const Instr &instr, RegRange range) {
  return std::ranges::any_of(instr.writes(), [&](RegRange written) { return overlap(written, range); });
}

/// Whether `later` reads, in a range that `wanted` says yes to, something that `earlier` writes.
template <class Wanted> bool feeds(const Instr &earlier, const Instr &later, Wanted wanted) {
  return std::ranges::any_of(later.reads(), [&](RegRange range) { return wanted(range) && writesAny(earlier, range); });
}

/// What a matrix or dot instruction adds to.
RegRange accumulatorOf(const Instr &instr) {
  const Operand *operand = nullptr;
  for (const Operand &candidate : instr.operands())
    if (candidate.written && candidate.read && candidate.kind == OperandKind::Register)
      operand = &candidate; // v_smfmac and v_dot2c add to their destination
  if (!operand)
    operand = operandOf(instr, Role::Source2);
  return operand && operand->kind == OperandKind::Register ? operand->regs : RegRange{};
}

/// Vector sources without the accumulator.
bool readsBesidesAccumulator(const Instr &earlier, const Instr &later) {
  const RegRange accumulator = accumulatorOf(later);
  bool skipped = false;
  for (const Operand &operand : later.operands()) {
    if (operand.kind != OperandKind::Register || !operand.read)
      continue;
    const bool isAccumulator = operand.written || &operand == operandOf(later, Role::Source2);
    if (!skipped && isAccumulator && operand.regs == accumulator) {
      skipped = true;
      continue;
    }
    if (isVectorFile(operand.regs) && writesAny(earlier, operand.regs))
      return true;
  }
  return false;
}

struct HardwareField {
  unsigned id, first, bits;
};

HardwareField hardwareField(const Instr &instr) {
  const Operand *operand = operandOf(instr, Role::HardwareRegister);
  const auto value = static_cast<uint64_t>(operand ? operand->value : 0);
  return {static_cast<unsigned>(value & 0x3f), static_cast<unsigned>(value >> 6 & 0x1f),
          static_cast<unsigned>(value >> 11 & 0x1f) + 1};
}

RegSet vectorsOf(std::span<const RegRange> ranges) {
  RegSet set;
  for (const RegRange &range : ranges)
    if (isVectorFile(range))
      set.insert(range);
  return set;
}

} // namespace

const FormTraits &traitsOf(const Instr &instr) {
  [[clang::no_destroy]] static const std::vector<FormTraits> table = [] {
    std::vector<FormTraits> rows;
    rows.reserve(isa::kForms.size());
    for (const isa::Form &form : isa::kForms)
      rows.push_back(traitsOf(form));
    return rows;
  }();
  return table[isa::kFormOfInstruction[instr.form_]];
}

Info infoOf(const Instr &instr) {
  Classes classes = traitsOf(instr).classes;
  for (const RegRange &range : instr.writes()) {
    if (isVectorFile(range))
      classes |= kWritesVector;
    else if (classes & kValu)
      classes |= kWritesScalar;
    else if ((classes & kSalu) && range.contains(Reg::M0))
      classes |= kWritesM0;
  }
  if (instr.memorySpace() == MemorySpace::Gds)
    classes |= kMessage;
  if (instr.is(Property::Store) && (classes & kVmem) && !wideData(instr).empty())
    classes |= kWideStore;
  if (classes & kValu) {
    if (writesHalf(instr, isa::formOf(instr.form_).flags))
      classes |= kWritesHalf;
    for (const Operand &operand : instr.operands())
      if (operand.kind == OperandKind::Register && operand.regs.empty()) {
        if (operand.value == 251 || operand.value == 252)
          classes |= kReadsZeroFlag;
        else if (operand.value == 254)
          classes |= kM0Index; // LDS_DIRECT
      }
  }
  return {&instr, classes};
}

bool connected(Share share, const Instr &earlier, const Instr &later) {
  constexpr unsigned kMode = 1, kTrapsts = 3, kVskipBit = 28;
  const auto scalar = [](RegRange range) { return !isVectorFile(range); };
  const auto vector = [](RegRange range) { return isVectorFile(range); };
  const auto destination = [](const Instr &instr) {
    for (const RegRange &range : instr.writes())
      if (isVectorFile(range))
        return range;
    return RegRange{};
  };
  switch (share) {
  case Share::Nothing:
    return true;
  case Share::ScalarRead:
    return feeds(earlier, later, scalar);
  case Share::ScalarSource:
    if (writesAny(earlier, {Reg::VccLo, 2}) &&
        std::ranges::any_of(later.reads(), [](RegRange range) { return overlap(range, {Reg::VccLo, 2}); }))
      return true;
    return std::ranges::any_of(later.operands(), [&](const Operand &operand) {
      return operand.kind == OperandKind::Register && operand.read && scalar(operand.regs) &&
             writesAny(earlier, operand.regs);
    });
  case Share::LaneSelect: {
    const Operand *lane = operandOf(later, Role::Source1);
    return lane && lane->kind == OperandKind::Register && scalar(lane->regs) && writesAny(earlier, lane->regs);
  }
  case Share::Vcc:
    return writesAny(earlier, {Reg::VccLo, 2});
  case Share::Exec:
    return writesAny(earlier, {Reg::ExecLo, 2});
  case Share::ZeroFlag:
    return writesAny(earlier, {Reg::VccLo, 2}) || writesAny(earlier, {Reg::ExecLo, 2});
  case Share::VectorRead:
    return feeds(earlier, later, vector);
  case Share::VgprRead: {
    const auto vgpr = [](RegRange range) { return isVector(range.first); };
    // DPP has lanes that keep what was there, unless it says otherwise; compilers do not go by that.
    return feeds(earlier, later, vgpr) ||
           ((traitsOf(later).classes & kDpp) && vgpr(destination(later)) && writesAny(earlier, destination(later)));
  }
  case Share::Source0: {
    const Operand *source = operandOf(later, Role::Source0);
    return source && source->kind == OperandKind::Register && writesAny(earlier, source->regs);
  }
  case Share::Write:
    return std::ranges::any_of(later.writes(),
                               [&](RegRange range) { return vector(range) && writesAny(earlier, range); });
  case Share::Data:
    return writesAny(later, wideData(earlier));
  case Share::MatrixAb:
    return readsBesidesAccumulator(earlier, later);
  case Share::MatrixC:
    return accumulatorOf(later) != destination(earlier) && writesAny(earlier, accumulatorOf(later));
  case Share::MatrixCSame:
    return accumulatorOf(later) == destination(earlier);
  case Share::OverwriteC:
    return writesAny(later, accumulatorOf(earlier));
  case Share::DotRead:
    return earlier.form_ == later.form_ ? readsBesidesAccumulator(earlier, later) : feeds(earlier, later, vector);
  case Share::DotWrite:
    return earlier.form_ != later.form_ && connected(Share::Write, earlier, later);
  case Share::HardwareRegister:
    return hardwareField(earlier).id == hardwareField(later).id;
  case Share::Trapsts:
    return hardwareField(earlier).id == kTrapsts;
  case Share::Mode:
    return hardwareField(later).id == kMode;
  case Share::Vskip: {
    const HardwareField field = hardwareField(earlier);
    return field.id == kMode && field.first <= kVskipBit && kVskipBit < field.first + field.bits;
  }
  }
  return false;
}

bool superseded(const Rule &rule, const Instr &earlier, const Instr &later, std::span<const Instr *const> between) {
  if (between.empty() || rule.share == Share::Nothing)
    return false;
  const bool asC = rule.share == Share::OverwriteC;
  const auto touched = [asC](const Instr &instr) {
    return asC ? vectorsOf(std::array{accumulatorOf(instr)}) : vectorsOf(instr.writes());
  };
  RegSet left = touched(earlier) & vectorsOf(asC || rule.share == Share::Write ? later.writes() : later.reads());
  for (const Instr *instr : between)
    left -= touched(*instr);
  return left.empty();
}

} // namespace luthier::analysis::hazard
