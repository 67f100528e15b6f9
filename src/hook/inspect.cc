#include "hook/inspect.h"

#include "isa/waitcnt.h"

#include <algorithm>
#include <cstring>

namespace luthier::hook {

namespace {

/// Operations in flight, by counter: what writes registers when it arrives, and what does not.
struct InFlight {
  bool vectorLoads = false, vectorStores = false;
  bool scalarLoads = false, scalarStores = false; ///< LDS and FLAT too

  void issue(const Instr &instr) {
    const MemorySpace space = instr.memorySpace();
    if (space == MemorySpace::None && !instr.is(Property::Message))
      return;
    const bool returns = std::ranges::any_of(instr.writes(), [](RegRange range) { return range.first != Reg::Scc; });
    const bool scalar = space == MemorySpace::Scalar || space == MemorySpace::Lds || space == MemorySpace::Gds ||
                        space == MemorySpace::Flat || instr.is(Property::Message);
    const bool vector = space != MemorySpace::Scalar && space != MemorySpace::Lds && space != MemorySpace::Gds &&
                        !instr.is(Property::Message);
    // FLAT counts as both. Where its data may come from LDS, LLVM waits for both; where it knows better, for one.
    (returns && space != MemorySpace::Flat ? scalarLoads : scalarStores) |= scalar;
    (returns ? vectorLoads : vectorStores) |= vector;
  }
  /// Either may be the case; says whether this changed.
  bool merge(const InFlight &other) {
    const InFlight old = *this;
    vectorLoads |= other.vectorLoads;
    vectorStores |= other.vectorStores;
    scalarLoads |= other.scalarLoads;
    scalarStores |= other.scalarStores;
    return *this != old;
  }
  bool operator==(const InFlight &) const = default;
};

/// What an instruction waits for completely.
struct WaitsFor {
  bool vector = false, stores = false, scalar = false;
};

WaitsFor waitsFor(const Instr &instr, const isa::Target &target) {
  WaitsFor result;
  const isa::WaitFields *fields = target.waitFields;
  uint32_t value = 0xffff;
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Immediate || operand.kind == OperandKind::Modifier)
      value = static_cast<uint32_t>(operand.value) & 0xffff;
  if (instr.opcode() == Opcode::S_WAITCNT && fields) {
    result.vector = fields->vm.get(value) == 0;
    result.stores = result.vector && !target.storeCounter;
    result.scalar = fields->lgkm.get(value) == 0;
  } else if (instr.mnemonic() == "s_waitcnt_vscnt") {
    result.stores = value == 0;
  }
  return result;
}

/// What may be in flight before each instruction, and at the end: forwards along all ways through the code.
std::vector<InFlight> inFlight(const isa::InstrSequence &sequence, const isa::Target &target) {
  const auto code = sequence.instrs();
  std::vector<InFlight> before(code.size() + 1);
  const auto indexOf = [&](uint64_t address) {
    const Instr *at = sequence.at(address);
    return at ? static_cast<size_t>(at - code.data()) : code.size();
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t n = 0; n < code.size(); ++n) {
      const Instr &instr = code[n];
      InFlight after = before[n];
      if (instr.is(Property::Wait)) {
        const WaitsFor waits = waitsFor(instr, target);
        after.vectorLoads &= !waits.vector;
        after.vectorStores &= !waits.stores;
        after.scalarLoads &= !waits.scalar;
        after.scalarStores &= !waits.scalar;
      } else {
        after.issue(instr);
      }
      if (const auto to = instr.target())
        changed |= before[indexOf(*to)].merge(after);
      if (!instr.is(Property::Branch) || instr.is(Property::Conditional))
        changed |= before[n + 1].merge(after);
    }
  }
  return before;
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
  if (last.opcode() == Opcode::S_BRANCH)
    return last.target() == last.end();
  if (last.opcode() != Opcode::S_WAITCNT)
    return false;
  const InFlight before = inFlight(fragment.code, target)[code.size() - 1];
  return !before.vectorLoads && !before.scalarLoads;
}

/// AMDGPUUsage, "Trap Handler ABI": llvm.trap, which stops the kernel with an error, as asserts do.
constexpr int64_t kTrapOfAsserts = 2;

int64_t trapNumber(const Instr &instr) {
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Immediate || operand.kind == OperandKind::Modifier)
      return operand.value & 0xff;
  return -1;
}

/// Why a fragment cannot have this instruction; null when it can.
const char *refusal(const Instr &instr) {
  if (instr.is(Property::EndProgram) || (instr.opcode() == Opcode::S_TRAP && trapNumber(instr) != kTrapOfAsserts))
    return "would end the wave";
  if (instr.is(Property::Call) || instr.is(Property::IndirectBranch))
    return "calls a function that cannot be inlined";
  if (instr.is(Property::Barrier))
    return "waits at a barrier of the workgroup";
  if (instr.opcode() == Opcode::S_GETPC_B64)
    return "needs to know where its code is";
  if (instr.memorySpace() == MemorySpace::Scratch)
    return "needs a stack, which hooks do not have";
  if (instr.is(Property::Export))
    return "exports";
  if (instr.is(Property::Indexed) || instr.is(Property::IndexMode))
    return "indexes an array in registers by a variable"; // registers are renamed one by one
  if (instr.is(Property::SkipMode))
    return "changes what instructions do";
  return nullptr;
}

Result<void> readCode(Fragment &fragment, const isa::Target &target) {
  const auto code = fragment.code.instrs();
  RegSet scalarResults;
  for (const Port &port : fragment.outputs)
    if (isScalar(port.regs.first))
      scalarResults.insert(port.regs);
  bool sideEffects = !scalarResults.empty();
  for (const Instr &instr : code) {
    if (const char *reason = refusal(instr))
      return makeError("hook {} {}", fragment.hook, reason);
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
        return makeError("hook {} branches out of its code", fragment.hook);
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
    return makeError("hook {} changes the wave's floating-point mode", fragment.hook);
  for (unsigned n = 0; n < number(Reg::End) - number(Reg::A0); ++n)
    if (fragment.reads.contains(agpr(n)) || fragment.writes.contains(agpr(n)))
      return makeError("hook {} needs more vector registers than there are", fragment.hook);
  fragment.safeWhenEmpty = fragment.kind == HookKind::Lane && !fragment.loops && !sideEffects;

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
  if (left.vectorLoads || left.scalarLoads)
    return makeError("hook {} leaves a load in flight", fragment.hook);
  fragment.pendingVector = left.vectorStores;
  fragment.pendingScalar = left.scalarStores;
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

} // namespace

Result<void> inspect(Fragment &fragment, const isa::Target &target, unsigned waveSize) {
  const auto decoder = LUTHIER_TRY(isa::Decoder::create(target, waveSize));
  const auto decode = [&]() -> Result<void> {
    auto code = decoder->decode(fragment.bytes, 0);
    if (!code)
      return makeError("hook {}: its code cannot be decoded: {}", fragment.hook, code.error().message());
    fragment.code = std::move(*code);
    return {};
  };
  LUTHIER_TRY(decode());
  while (isLastIdle(fragment, target)) {
    dropLast(fragment);
    LUTHIER_TRY(decode());
  }
  LUTHIER_TRY(checkRelocations(fragment));
  LUTHIER_TRY(readCode(fragment, target));
  return checkPorts(fragment);
}

} // namespace luthier::hook
