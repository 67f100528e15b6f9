#include "luthier/instr.h"

#include "isa/form.h"

namespace luthier {

using isa::Role;

std::optional<uint64_t> Instr::target() const {
  if (!is(Property::Branch) && !is(Property::Call))
    return std::nullopt;
  const auto roles = isa::operandsOf(isa::formOf(form_));
  for (size_t n = 0; n < operandCount_; ++n)
    if (roles[n].role == Role::BranchTarget)
      return end() + static_cast<uint64_t>(operands_[n].value * 4);
  return std::nullopt;
}

namespace {

/// The null register is no part of an address and holds no result.
RegRange withoutNull(RegRange regs) { return regs.first == Reg::Null ? RegRange{} : regs; }

} // namespace

std::optional<MemoryAccess> Instr::memory() const {
  if (!is(Property::Load) && !is(Property::Store))
    return std::nullopt;
  const isa::Form &form = isa::formOf(form_);
  MemoryAccess access;
  access.space = space_;
  access.load = is(Property::Load);
  access.store = is(Property::Store);
  access.atomic = is(Property::Atomic);
  access.bytes = form.bytes;
  access.two = form.flags & isa::kTwoOffsets;
  access.idxen = form.flags & isa::kIdxen;
  access.offen = form.flags & isa::kOffen;
  access.toLds = access.load && (form.flags & isa::kToLds);
  const auto unit = static_cast<int32_t>(form.bytes * (form.flags & isa::kStride64 ? 64 : 1));
  const auto roles = isa::operandsOf(form);
  for (size_t n = 0; n < operandCount_; ++n) {
    const Operand &operand = operands_[n];
    const auto number = static_cast<int32_t>(operand.value);
    switch (roles[n].role) {
    case Role::Destination:
      access.result = withoutNull(operand.regs);
      if (access.atomic && operand.read)
        access.data = operand.regs;
      break;
    case Role::Data:
      if (operand.written)
        access.result = withoutNull(operand.regs);
      if (!operand.written || access.atomic)
        access.data = operand.regs;
      break;
    case Role::Data1:
      access.data2 = operand.regs;
      break;
    case Role::VectorAddress:
      access.vaddr = operand.regs;
      break;
    case Role::ScalarBase:
      access.saddr = withoutNull(operand.regs);
      break;
    case Role::ScalarOffset:
      access.soffset = withoutNull(operand.regs);
      if (operand.kind != OperandKind::Register)
        access.soffsetValue = number;
      break;
    case Role::Offset:
      access.offset = number;
      break;
    case Role::Offset0:
      access.offset = number * unit;
      break;
    case Role::Offset1:
      access.offset2 = number * unit;
      break;
    default:
      break;
    }
  }
  if (space_ == MemorySpace::Image && !access.atomic)
    access.bytes = static_cast<uint16_t>(4 * (access.load ? access.result : access.data).count);
  return access;
}

} // namespace luthier
