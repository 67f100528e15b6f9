#include "rewrite/argument.h"

#include <algorithm>

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
                                   const Surroundings &around) {
  LUTHIER_TRY(checkRegisters(regs, around.allocated, around.target));
  if (isNarrowMask(regs, around.waveSize)) {
    // As a mask of any wave: 64 bits, or as many as it has.
    std::vector<Word> mask = {Word::of(regs.first)};
    if (parameter.dwords == 2)
      mask.push_back(Word::of(0u));
    LUTHIER_TRY(checkSize(toString(regs), static_cast<unsigned>(mask.size()), parameter.dwords));
    return ResolvedArgument{{.kind = SourceKind::Scalar}, {{Part::Value, std::move(mask)}}, {}};
  }
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
  source.narrow = source.kind == SourceKind::ScalarAddress && memory->bytes < 4;
  RegRange saddr = memory->saddr;
  if (name.ends_with("_addtid_b32")) {
    source.byLane = source.saddr = true;
    saddr = {Reg::M0, 1};
  }
  source.offset = offset != 0;
  if (kind == hook::HookKind::Wave && source.kind != SourceKind::ScalarAddress)
    return makeError("{} has an address per lane, and the hook runs once per wave", instr.mnemonic());
  if (dwords > parameter.dwords || parameter.dwords > 2) // an offset is extended
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

/// A mask of a compare is as wide as the wave; a parameter may take that of any wave.
Result<ResolvedArgument> maskOf(RegRange regs, const hook::HookParameter &parameter, hook::HookKind kind,
                                const Surroundings &around) {
  ResolvedArgument result = LUTHIER_TRY(registers(regs, {parameter.type, 1}, kind, around));
  result.parts[0].words.push_back(Word::of(0u));
  return result;
}

/// What the instruction has written: its first operand of that kind, or else what its encoding implies.
Result<ResolvedArgument> resultOf(const Instr &instr, const hook::HookParameter &parameter, hook::HookKind kind,
                                  const Surroundings &around) {
  if (around.position != Position::After)
    return makeError("the result of {} is there after it only", instr.mnemonic());
  RegRange regs;
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Register && operand.written && regs.empty())
      regs = operand.regs;
  for (RegRange range : instr.writes())
    if (regs.empty() && (range.first == Reg::VccLo || range.first == Reg::Scc || range.first == Reg::ExecLo))
      regs = range;
  if (regs.empty())
    return makeError("{} has no result", instr.mnemonic());
  const bool mask = instr.is(Property::Vector) && isScalar(regs.first) && around.waveSize == 32;
  if (mask && regs.count == 1 && parameter.dwords == 2)
    return maskOf(regs, parameter, kind, around);
  return registers(regs, parameter, kind, around);
}

Result<ResolvedArgument> valueOf(const Operand &operand, std::string_view what, const Instr &instr,
                                 const hook::HookParameter &parameter, hook::HookKind kind,
                                 const Surroundings &around) {
  if (operand.kind == OperandKind::Modifier)
    return makeError("{} of {} is a modifier", what, instr.mnemonic());
  if (operand.kind != OperandKind::Register)
    return ResolvedArgument{{}, {{Part::Value, words(static_cast<uint64_t>(operand.value), parameter.dwords)}}, {}};
  if (operand.regs.empty())
    return makeError("{} of {} is in no register", what, instr.mnemonic());
  return registers(operand.regs, parameter, kind, around);
}

Result<ResolvedArgument> sourceOf(const Instr &instr, uint64_t index, const hook::HookParameter &parameter,
                                  hook::HookKind kind, const Surroundings &around) {
  uint64_t count = 0;
  for (const Operand &operand : instr.operands())
    if (operand.kind != OperandKind::Modifier && !operand.written && count++ == index)
      return valueOf(operand, fmt::format("source {}", index), instr, parameter, kind, around);
  return makeError("{} has {} sources, there is no number {}", instr.mnemonic(), count, index);
}

Result<ResolvedArgument> calleeOf(const Instr &instr, const hook::HookParameter &parameter, hook::HookKind kind,
                                  const Surroundings &around) {
  if (!instr.is(Property::Call) && !instr.is(Property::IndirectBranch))
    return makeError("{} calls nothing", instr.mnemonic());
  if (around.position != Position::Before)
    return makeError("the callee of {} is there before it only", instr.mnemonic());
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Register && operand.read)
      return registers(operand.regs, parameter, kind, around);
  return makeError("{} calls a function that is known, whose address is in no register", instr.mnemonic());
}

Result<ResolvedArgument> kernarg(const Argument &argument, const hook::HookParameter &parameter,
                                 const Surroundings &around) {
  uint64_t offset = argument.value & UINT32_MAX, bytes = argument.value >> 32;
  const auto &all = around.metadata.arguments;
  std::string what = fmt::format("argument '{}'", argument.name);
  if (!argument.name.empty()) {
    const auto found = std::ranges::find(all, argument.name, &object::KernelArgument::name);
    std::string names;
    for (const object::KernelArgument &each : all)
      if (!each.name.empty() && !each.hidden())
        names += (names.empty() ? "" : ", ") + each.name;
    if (found == all.end())
      return makeError("the kernel has no argument '{}'; {}", argument.name,
                       names.empty() ? "its code object has no names of arguments: pass a number" : "it has " + names);
    offset = found->offset;
    bytes = found->size;
  } else if (bytes == 0) {
    const auto given = std::ranges::find_if(all, &object::KernelArgument::hidden) - all.begin();
    if (argument.value >= static_cast<uint64_t>(given))
      return makeError("the kernel has {} arguments, there is no number {}", given, argument.value);
    what = fmt::format("argument {}", argument.value);
    offset = all[argument.value].offset;
    bytes = all[argument.value].size;
  } else {
    what = fmt::format("the {} bytes at {} of the arguments", bytes, offset);
  }
  if (bytes == 0 || offset + bytes > around.metadata.kernargSegmentSize)
    return makeError("{}: the kernel has {} bytes of arguments", what, around.metadata.kernargSegmentSize);
  if ((bytes + 3) / 4 != parameter.dwords || (bytes > 4 && bytes % 4))
    return makeError("{} has {} bytes, the parameter takes {}", what, bytes, 4 * parameter.dwords);
  ResolvedArgument result;
  result.launch = hook::LaunchValue::KernargPtr;
  result.source = {.kind = SourceKind::KernelArgument, .offset = offset != 0, .bytes = static_cast<uint8_t>(bytes)};
  if (offset)
    result.parts.push_back({Part::Offset, words(offset, 1)});
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
                         reg == Reg::M0 || reg == Reg::Scc ||
                         (target.scalarFlatScratch && (reg == Reg::FlatScrLo || reg == Reg::FlatScrHi));
    const bool exists = special || n < target.sgprs || (isVector(reg) && n - number(Reg::V0) < target.vgprs) ||
                        (isAccumulator(reg) && n - number(Reg::A0) < target.accVgprs);
    if (!exists)
      return makeError("{} has no register {}", target.name, toString(regs));
    if (!special && !allocated.contains(reg))
      return makeError("the kernel has no register {}", toString(reg));
  }
  return {};
}

bool isNarrowMask(RegRange regs, unsigned waveSize) {
  return waveSize == 32 && regs.count == 2 && (regs.first == Reg::ExecLo || regs.first == Reg::VccLo);
}

Result<ResolvedArgument> resolve(const Argument &argument, const hook::HookParameter &parameter, hook::HookKind kind,
                                 const Instr &instr, const Surroundings &around) {
  const auto constant = [&](uint64_t value) {
    return ResolvedArgument{{}, {{Part::Value, words(value, parameter.dwords)}}, {}};
  };
  if (parameter.type == hook::ValueType::Structure) {
    const bool bytes = argument.kind == Argument::Kind::Constant
                           ? !argument.words.empty()
                           : argument.kind != Argument::Kind::Address && argument.kind != Argument::Kind::Width &&
                                 argument.kind != Argument::Kind::Pc && argument.kind != Argument::Kind::Launch;
    if (!bytes)
      return makeError("the parameter is a structure of {} bytes, and the argument a number", 4 * parameter.dwords);
  }
  switch (argument.kind) {
  case Argument::Kind::Constant:
    if (!argument.words.empty()) {
      LUTHIER_TRY(checkSize("the constant", static_cast<unsigned>(argument.words.size()), parameter.dwords));
      ResolvedArgument result = constant(0);
      for (unsigned n = 0; n < parameter.dwords; ++n)
        result.parts[0].words[n] = Word::of(argument.words[n]);
      return result;
    }
    if (parameter.dwords == 1 && argument.value > UINT32_MAX && argument.value < uint64_t(INT64_MIN >> 32))
      return makeError("{:#x} does not fit into 32 bits", argument.value);
    return constant(argument.value);
  case Argument::Kind::Register:
    return registers(argument.regs, parameter, kind, around);
  case Argument::Kind::Operand: {
    if (argument.value >= instr.operands().size())
      return makeError("{} has {} operands, there is no number {}", instr.mnemonic(), instr.operands().size(),
                       argument.value);
    return valueOf(instr.operands()[argument.value], fmt::format("operand {}", argument.value), instr, parameter, kind,
                   around);
  }
  case Argument::Kind::Source:
    return sourceOf(instr, argument.value, parameter, kind, around);
  case Argument::Kind::Result:
    return resultOf(instr, parameter, kind, around);
  case Argument::Kind::Kernarg:
    return kernarg(argument, parameter, around);
  case Argument::Kind::Callee:
    return calleeOf(instr, parameter, kind, around);
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
