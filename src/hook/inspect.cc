#include "hook/inspect.h"

#include "hook/forward_flow.h"
#include "hook/scalar_waits.h"
#include "isa/waitcnt.h"

#include <algorithm>
#include <cstring>

namespace luthier::hook {

namespace {

/// Operations in flight, by counter: what writes registers when it arrives, and what does not.
struct InFlight {
  bool vectorLoads = false, vectorStores = false;
  bool scalarLoads = false, scalarStores = false;
  bool ldsLoads = false, ldsStores = false; ///< FLAT's other half too

  void issue(const Instr &instr) {
    const MemorySpace space = instr.memorySpace();
    const bool message = instr.is(Property::Message);
    if (space == MemorySpace::None && !message)
      return;
    const bool returns = std::ranges::any_of(instr.writes(), [](RegRange range) { return range.first != Reg::Scc; });
    const bool lds = space == MemorySpace::Lds || space == MemorySpace::Gds;
    const bool scalar = space == MemorySpace::Scalar || message;
    // FLAT counts as vector memory and as LDS. Where its data may come from LDS, LLVM waits for both; where it knows
    // better, for one.
    const bool flat = space == MemorySpace::Flat;
    (returns ? scalarLoads : scalarStores) |= scalar;
    (returns && !flat ? ldsLoads : ldsStores) |= lds || flat;
    (returns ? vectorLoads : vectorStores) |= !scalar && !lds;
  }
  /// Either may be the case; says whether this changed.
  bool merge(const InFlight &other) {
    const InFlight old = *this;
    vectorLoads |= other.vectorLoads;
    vectorStores |= other.vectorStores;
    scalarLoads |= other.scalarLoads;
    scalarStores |= other.scalarStores;
    ldsLoads |= other.ldsLoads;
    ldsStores |= other.ldsStores;
    return *this != old;
  }
  bool loads() const { return vectorLoads || scalarLoads || ldsLoads; }
  bool operator==(const InFlight &) const = default;
};

/// What an instruction waits for completely.
struct WaitsFor {
  bool vector = false, stores = false, scalar = false, lds = false;
};

/// s_wait_* of gfx12: names are of the counters, one or two, the second one in the immediate's low bits.
WaitsFor splitWait(std::string_view name, uint32_t value) {
  const auto isZero = [&](std::string_view counter) {
    const size_t at = name.find(counter);
    if (at == name.npos)
      return false;
    const bool pair = name.ends_with("_dscnt") && name != "s_wait_dscnt";
    return (pair ? (counter == "dscnt" ? value & 0x3f : value >> 8 & 0x3f) : value) == 0;
  };
  return {.vector = isZero("loadcnt"), .stores = isZero("storecnt"), .scalar = isZero("kmcnt"), .lds = isZero("dscnt")};
}

/// Whether an instruction waits for memory; others wait for the ALUs.
bool waitsForMemory(const Instr &instr) {
  return instr.is(Property::Wait) && instr.mnemonic() != "s_waitcnt_depctr" && instr.mnemonic() != "s_wait_alu";
}

WaitsFor waitsFor(const Instr &instr, const isa::Target &target) {
  if (!waitsForMemory(instr))
    return {};
  if (instr.mnemonic() == "s_wait_idle")
    return {true, true, true, true};
  WaitsFor result;
  uint32_t value = 0xffff;
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Immediate || operand.kind == OperandKind::Modifier)
      value = static_cast<uint32_t>(operand.value) & 0xffff;
  if (target.splitCounters)
    return splitWait(instr.mnemonic(), value);
  if (const isa::WaitFields *fields = target.waitFields; instr.opcode() == Opcode::S_WAITCNT && fields) {
    result.vector = fields->vm.get(value) == 0;
    result.stores = result.vector && !target.storeCounter;
    result.scalar = result.lds = fields->lgkm.get(value) == 0;
  } else if (instr.mnemonic() == "s_waitcnt_vscnt") {
    result.stores = value == 0;
  }
  return result;
}

/// What may be in flight before each instruction, and at the end.
std::vector<InFlight> inFlight(const isa::InstrSequence &sequence, const isa::Target &target) {
  return statesBefore(sequence, InFlight(), [&](size_t, const Instr &instr, InFlight &state) {
    if (!instr.is(Property::Wait))
      return state.issue(instr);
    const WaitsFor waits = waitsFor(instr, target);
    state.vectorLoads &= !waits.vector;
    state.vectorStores &= !waits.stores;
    state.scalarLoads &= !waits.scalar;
    state.scalarStores &= !waits.scalar;
    state.ldsLoads &= !waits.lds;
    state.ldsStores &= !waits.lds;
  });
}

/// LDS answers in order, so that LLVM waits for some of a hook's accesses and not for others. But it counts on nothing
/// else being in flight; the guest's scalar loads and FLAT accesses have the same counter and answer when they like. So
/// all is waited for. Whether something changed.
bool waitForAllOfLds(Fragment &fragment, const isa::Target &target) {
  const isa::WaitFields *const fields = target.splitCounters ? nullptr : target.waitFields;
  bool changed = false;
  for (const Instr &instr : fragment.code.instrs()) {
    if (!fields || instr.opcode() != Opcode::S_WAITCNT)
      continue;
    uint16_t value = 0; // SOPP: the lower half
    uint8_t *const at = fragment.bytes.data() + instr.address();
    std::memcpy(&value, at, sizeof value);
    const uint32_t count = fields->lgkm.get(value);
    if (count == 0 || count == fields->lgkm.most())
      continue;
    value = static_cast<uint16_t>(value & ~fields->lgkm.put(fields->lgkm.most()));
    std::memcpy(at, &value, sizeof value);
    changed = true;
  }
  return changed;
}

/// Drops the last instruction; branches to the end go to the new one.
void dropLast(Fragment &fragment) {
  const Instr &last = fragment.code.instrs().back();
  const auto dwords = static_cast<uint16_t>(last.size() / 4);
  for (const Instr &instr : fragment.code.instrs())
    if (instr.target() == last.end()) {
      uint16_t distance = 0;
      uint8_t *const field = fragment.bytes.data() + instr.address(); // SOPP: the lower half
      std::memcpy(&distance, field, sizeof distance);
      distance = static_cast<uint16_t>(distance - dwords);
      std::memcpy(field, &distance, sizeof distance);
    }
  fragment.bytes.resize(last.address());
}

/// Whether the last instruction does nothing. LLVM waits for everything before it leaves, but stores and atomics
/// without result need no wait: nothing of the guest depends on them. And it may branch to its end from there.
bool isLastIdle(const Fragment &fragment, const isa::Target &target) {
  const auto code = fragment.code.instrs();
  if (code.empty())
    return false;
  const Instr &last = code.back();
  // Nothing may become a branch that the target cannot do.
  constexpr uint64_t kForbidden = 0x3f;
  if (target.seamHazards & isa::setOf({isa::SeamHazard::Offset3f}))
    for (const Instr &instr : code)
      if (instr.target() == last.end() && (last.address() - instr.end()) / 4 == kForbidden)
        return false;
  if (last.opcode() == Opcode::S_BRANCH)
    return last.target() == last.end();
  return waitsForMemory(last) && !inFlight(fragment.code, target)[code.size() - 1].loads();
}

/// AMDGPUUsage, "Trap Handler ABI": llvm.trap, which stops the kernel with an error, as asserts do.
constexpr int64_t kTrapOfAsserts = 2;

int64_t trapNumber(const Instr &instr) {
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Immediate || operand.kind == OperandKind::Modifier)
      return operand.value & 0xff;
  return -1;
}

bool isIndexed(const Instr &instr) { return instr.is(Property::Indexed) || instr.is(Property::IndexMode); }

} // namespace

const char *refusal(const Fragment &fragment, const Instr &instr) {
  if (instr.is(Property::EndProgram) || (instr.opcode() == Opcode::S_TRAP && trapNumber(instr) != kTrapOfAsserts))
    return "would end the wave";
  if (instr.is(Property::Call) || instr.is(Property::IndirectBranch))
    return "calls a function that cannot be inlined";
  if (instr.is(Property::Barrier) && !fragment.asWritten)
    return "waits at a barrier of the workgroup";
  if (instr.opcode() == Opcode::S_GETPC_B64)
    return "needs to know where its code is";
  if (instr.memorySpace() == MemorySpace::Scratch && !fragment.frameBytes)
    return "accesses private memory that is not its own";
  if (instr.is(Property::Export))
    return "exports";
  if (isIndexed(instr))
    return "indexes a vector by a variable"; // registers are renamed one by one
  if (instr.is(Property::SkipMode))
    return "changes what instructions do";
  if (instr.is(Property::Dual) && !fragment.asWritten)
    return "has two operations in one instruction, whose registers cannot be renamed one by one";
  return nullptr;
}

namespace {

Result<void> readCode(Fragment &fragment, const isa::Target &target) {
  const std::string name = fragment.asWritten ? "the assembly" : "hook " + fragment.hook;
  const auto code = fragment.code.instrs();
  RegSet scalarResults;
  for (const Port &port : fragment.outputs)
    if (isScalar(port.regs.first))
      scalarResults.insert(port.regs);
  bool sideEffects = !scalarResults.empty();
  for (const Instr &instr : code) {
    if (const char *reason = refusal(fragment, instr))
      return makeError("{} {}", name, reason);
    for (const RegRange range : instr.reads()) {
      fragment.reads.insert(range);
      fragment.vector |= range.contains(Reg::ExecLo);
    }
    for (const RegRange range : instr.writes())
      fragment.writes.insert(range);
    fragment.vector |= !instr.is(Property::Scalar);
    fragment.crossLane |= instr.is(Property::CrossLane) || instr.is(Property::IgnoresExec);
    if (const auto to = instr.target()) {
      fragment.loops |= *to <= instr.address();
      if (*to > fragment.bytes.size() || (*to < fragment.bytes.size() && !fragment.code.at(*to)))
        return makeError("{} branches out of its code", name);
    }
    // With no lane active, vector instructions do nothing; what scalar ones do with values that no lane has must not
    // reach memory, and what ignores EXEC must not reach results.
    if (instr.memorySpace() == MemorySpace::Scalar && (instr.is(Property::Load) || instr.is(Property::Store)))
      sideEffects = true;
    if (instr.is(Property::Message) || instr.opcode() == Opcode::S_TRAP)
      sideEffects = true;
    if (instr.is(Property::IgnoresExec))
      sideEffects |= std::ranges::any_of(
          instr.writes(), [](RegRange range) { return isVector(range.first) || isAccumulator(range.first); });
  }
  if (fragment.writes.contains(Reg::Mode))
    return makeError("{} changes the wave's floating-point mode", name);
  for (unsigned n = 0; n < number(Reg::End) - number(Reg::A0) && !fragment.asWritten; ++n)
    if (fragment.reads.contains(agpr(n)) || fragment.writes.contains(agpr(n)))
      return makeError("{} needs more vector registers than there are", name);
  fragment.safeWhenEmpty = fragment.asWritten || (fragment.kind == HookKind::Lane && !fragment.loops && !sideEffects);

  RegSet used = fragment.reads | fragment.writes;
  for (const auto *ports : {&fragment.inputs, &fragment.outputs})
    for (const Port &port : *ports)
      used.insert(port.regs);
  for (unsigned n = 0; n < target.sgprs; ++n)
    if (used.contains(sgpr(n)))
      fragment.sgprs = n + 1;
  for (unsigned n = 0; n < 256; ++n)
    if (used.contains(vgpr(n)))
      fragment.vgprs = n + 1;

  const InFlight left = inFlight(fragment.code, target).back();
  if (left.loads())
    return makeError("{} leaves a load in flight", name);
  fragment.pendingVector = left.vectorStores;
  fragment.pendingScalar = left.scalarStores || left.ldsStores;
  return {};
}

/// Ports that go in and out must be the same registers: the placement gives them one place.
Result<void> checkPorts(const Fragment &fragment) {
  for (const Port &out : fragment.outputs)
    for (const Port &in : fragment.inputs) {
      Port same = in;
      same.regs = out.regs;
      if (same == out && in.regs != out.regs)
        return makeError("hook {}: a value goes in as {} and comes out as {}", fragment.hook, toString(in.regs),
                         toString(out.regs));
    }
  return {};
}

/// Relocations are in the code; what was dropped has none.
Result<void> checkRelocations(const Fragment &fragment) {
  for (const FragmentRelocation &relocation : fragment.relocations)
    if (uint64_t(relocation.offset) + 4 > fragment.bytes.size())
      return makeError("hook {}: a relocation is at byte {} of {} bytes of code", fragment.hook, relocation.offset,
                       fragment.bytes.size());
  return {};
}

Result<void> decodeInto(Fragment &fragment, isa::Decoder &decoder) {
  auto code = decoder.decode(fragment.bytes, 0);
  if (!code)
    return makeError("hook {}: its code cannot be decoded: {}", fragment.hook, code.error().message());
  fragment.code = std::move(*code);
  return {};
}

} // namespace

Result<void> inspectAssembly(Fragment &fragment, const isa::Target &target, unsigned waveSize) {
  const auto decoder = LUTHIER_TRY(isa::Decoder::create(target, waveSize));
  LUTHIER_TRY(decodeInto(fragment, *decoder));
  if (waitForAllOfLds(fragment, target))
    LUTHIER_TRY(decodeInto(fragment, *decoder));
  if (addScalarWaits(fragment, target))
    LUTHIER_TRY(decodeInto(fragment, *decoder));
  return readCode(fragment, target);
}

Result<void> inspect(Fragment &fragment, const isa::Target &target, unsigned waveSize) {
  const auto decoder = LUTHIER_TRY(isa::Decoder::create(target, waveSize));
  const auto decode = [&] { return decodeInto(fragment, *decoder); };
  LUTHIER_TRY(decode());
  if (waitForAllOfLds(fragment, target))
    LUTHIER_TRY(decode());
  while (isLastIdle(fragment, target)) {
    dropLast(fragment);
    LUTHIER_TRY(decode());
  }
  LUTHIER_TRY(checkRelocations(fragment));
  if (addScalarWaits(fragment, target))
    LUTHIER_TRY(decode());
  LUTHIER_TRY(readCode(fragment, target));
  return checkPorts(fragment);
}

Result<bool> indexesRegisters(const Fragment &fragment, const isa::Target &target, unsigned waveSize) {
  const auto decoder = LUTHIER_TRY(isa::Decoder::create(target, waveSize));
  const auto code = LUTHIER_TRY(decoder->decode(fragment.bytes, 0));
  return std::ranges::any_of(code.instrs(), isIndexed);
}

} // namespace luthier::hook
