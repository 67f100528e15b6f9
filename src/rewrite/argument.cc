#include "rewrite/argument.h"

namespace luthier::rewrite {

namespace {

using hook::Part;
using hook::SourceKind;

std::vector<Word> words(RegRange regs) {
  std::vector<Word> result;
  for (unsigned n = 0; n < regs.count; ++n)
    result.push_back(Word::of(regs.first + n));
  return result;
}

std::vector<Word> words(uint64_t value, unsigned dwords) {
  std::vector<Word> result;
  for (unsigned n = 0; n < dwords; ++n)
    result.push_back(Word::of(n < 2 ? static_cast<uint32_t>(value >> (32 * n)) : 0));
  return result;
}

Result<void> checkSize(std::string_view what, unsigned has, unsigned takes) {
  if (has == takes)
    return {};
  return makeError("{} has {} bits, the parameter takes {}", what, 32 * has, 32 * takes);
}

Result<ResolvedArgument> registers(RegRange regs, const hook::HookParameter &parameter, hook::HookKind kind,
                                   const RegSet &allocated, const isa::Target &target) {
  LUTHIER_TRY(checkRegisters(regs, allocated, target));
  LUTHIER_TRY(checkSize(toString(regs), regs.count, parameter.dwords));
  const bool vector = isVector(regs.first) || isAccumulator(regs.first);
  if (vector && kind == hook::HookKind::Wave)
    return makeError("{} has a value per lane, and the hook runs once per wave", toString(regs));
  return ResolvedArgument{{.kind = vector ? SourceKind::Vector : SourceKind::Scalar}, {{Part::Value, words(regs)}}, {}};
}

Result<ResolvedArgument> address(const Instr &instr, unsigned access, const hook::HookParameter &parameter,
                                 hook::HookKind kind) {
  const std::optional<MemoryAccess> memory = instr.memory();
  if (!memory)
    return makeError("{} accesses no memory", instr.mnemonic());
  if (access > (memory->two ? 1u : 0u))
    return makeError("{} has no second access", instr.mnemonic());
  ResolvedArgument result;
  hook::Source &source = result.source;
  unsigned dwords = 2;
  int32_t offset = access ? memory->offset2 : memory->offset;
  switch (memory->space) {
  case MemorySpace::Flat:
  case MemorySpace::Global:
    source.kind = memory->saddr.empty() ? SourceKind::FlatAddress : SourceKind::GlobalAddress;
    break;
  case MemorySpace::Lds:
    source.kind = SourceKind::LdsAddress;
    source.vaddr = !memory->vaddr.empty();
    dwords = 1;
    break;
  case MemorySpace::Scratch:
    source.kind = SourceKind::ScratchAddress;
    source.vaddr = !memory->vaddr.empty();
    source.saddr = !memory->saddr.empty();
    dwords = 1;
    break;
  case MemorySpace::Buffer:
    source.kind = SourceKind::BufferAddress;
    source.vaddr = !memory->vaddr.empty();
    source.idxen = memory->idxen;
    source.offen = memory->offen;
    source.saddr = !memory->soffset.empty() || memory->soffsetValue;
    break;
  case MemorySpace::Scalar:
    source.kind = SourceKind::ScalarAddress;
    source.saddr = !memory->soffset.empty();
    break;
  default:
    return makeError("{} has no address that can be passed", instr.mnemonic());
  }
  // What the instruction's name decides.
  const std::string_view name = instr.mnemonic();
  source.typed = name.starts_with("tbuffer_");
  source.resource = name.starts_with("s_buffer_");
  source.unit64 = name.starts_with("s_scratch_");
  RegRange saddr = memory->saddr;
  if (name.ends_with("_addtid_b32")) {
    source.byLane = source.saddr = true;
    saddr = {Reg::M0, 1};
  }
  source.offset = offset != 0;
  if (kind == hook::HookKind::Wave && source.kind != SourceKind::ScalarAddress)
    return makeError("{} has an address per lane, and the hook runs once per wave", instr.mnemonic());
  LUTHIER_TRY(checkSize("the address", dwords, parameter.dwords));
  if (!memory->vaddr.empty())
    result.parts.push_back({Part::Vaddr, words(memory->vaddr)});
  if (!saddr.empty())
    result.parts.push_back({Part::Saddr, words(saddr)});
  if (!memory->soffset.empty())
    result.parts.push_back({Part::Soffset, words(memory->soffset)});
  else if (memory->soffsetValue)
    result.parts.push_back({Part::Soffset, words(static_cast<uint32_t>(memory->soffsetValue), 1)});
  if (source.offset)
    result.parts.push_back({Part::Offset, words(static_cast<uint32_t>(offset), 1)});
  return result;
}

} // namespace

Result<void> checkRegisters(RegRange regs, const RegSet &allocated, const isa::Target &target) {
  if (regs.empty())
    return makeError("no register");
  const unsigned end = number(regs.first) + regs.count;
  for (unsigned n = number(regs.first); n < end; ++n) {
    const auto reg = static_cast<Reg>(n);
    const bool special = reg == Reg::VccLo || reg == Reg::VccHi || reg == Reg::ExecLo || reg == Reg::ExecHi ||
                         reg == Reg::M0 || reg == Reg::Scc || reg == Reg::FlatScrLo || reg == Reg::FlatScrHi;
    const bool exists = special || (reg < Reg::FlatScrLo && n < target.sgprs) ||
                        (isVector(reg) && n - number(Reg::V0) < target.vgprs) ||
                        (isAccumulator(reg) && n - number(Reg::A0) < target.accVgprs);
    if (!exists)
      return makeError("{} has no register {}", target.name, toString(regs));
    if (!special && !allocated.contains(reg))
      return makeError("the kernel has no register {}", toString(reg));
  }
  return {};
}

Result<ResolvedArgument> resolve(const Argument &argument, const hook::HookParameter &parameter, hook::HookKind kind,
                                 const Instr &instr, const RegSet &allocated, const isa::Target &target) {
  const auto constant = [&](uint64_t value) {
    return ResolvedArgument{{}, {{Part::Value, words(value, parameter.dwords)}}, {}};
  };
  switch (argument.kind) {
  case Argument::Kind::Constant:
    if (parameter.dwords == 1 && argument.value > UINT32_MAX && argument.value < uint64_t(INT64_MIN >> 32))
      return makeError("{:#x} does not fit into 32 bits", argument.value);
    return constant(argument.value);
  case Argument::Kind::Register:
    return registers(argument.regs, parameter, kind, allocated, target);
  case Argument::Kind::Operand: {
    if (argument.value >= instr.operands().size())
      return makeError("{} has {} operands, there is no number {}", instr.mnemonic(), instr.operands().size(),
                       argument.value);
    const Operand &operand = instr.operands()[argument.value];
    if (operand.kind == OperandKind::Modifier)
      return makeError("operand {} of {} is a modifier", argument.value, instr.mnemonic());
    if (operand.kind == OperandKind::Register) {
      if (operand.regs.empty())
        return makeError("operand {} of {} is in no register", argument.value, instr.mnemonic());
      return registers(operand.regs, parameter, kind, allocated, target);
    }
    return constant(static_cast<uint64_t>(operand.value));
  }
  case Argument::Kind::Address:
    return address(instr, static_cast<unsigned>(argument.value), parameter, kind);
  case Argument::Kind::Width: {
    const std::optional<MemoryAccess> memory = instr.memory();
    if (!memory)
      return makeError("{} accesses no memory", instr.mnemonic());
    return constant(memory->bytes);
  }
  case Argument::Kind::Pc:
    LUTHIER_TRY(checkSize("a PC", 2, parameter.dwords));
    return constant(instr.address() | argument.value << 48);
  case Argument::Kind::Launch: {
    ResolvedArgument result;
    result.launch = argument.launch;
    const bool vector = isWorkitemId(argument.launch);
    if (vector && kind == hook::HookKind::Wave)
      return makeError("a work-item id is a value per lane, and the hook runs once per wave");
    const bool pointer = argument.launch >= hook::LaunchValue::DispatchPtr;
    LUTHIER_TRY(checkSize("the launch value", pointer ? 2 : 1, parameter.dwords));
    result.source.kind = vector ? SourceKind::Vector : SourceKind::Scalar;
    return result;
  }
  }
  return makeError("unknown kind of argument");
}

} // namespace luthier::rewrite
