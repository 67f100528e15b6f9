#include "isa/pending_scalars.h"

namespace luthier::isa {

namespace {

RegSet vccSet() {
  RegSet set;
  set.insert(RegRange{Reg::VccLo, 2});
  return set;
}

bool isTracked(Reg reg) { return reg <= Reg::VccHi; }

bool isScalarAlu(const Instr &instr) { return instr.is(Property::Scalar) && instr.memorySpace() == MemorySpace::None; }

/// Fields of s_wait_alu: 0 waits for all.
struct AluWait {
  bool vectorToScalars, vectorToVcc, scalar;
  explicit AluWait(int64_t immediate)
      : vectorToScalars((immediate >> 9 & 7) == 0), vectorToVcc((immediate >> 1 & 1) == 0),
        scalar((immediate & 1) == 0) {}
};

bool isAluWait(const Instr &instr) {
  return instr.is(Property::Wait) && instr.mnemonic() == "s_wait_alu" && !instr.operands().empty();
}

} // namespace

RegSet PendingScalars::all() {
  RegSet set;
  set.insert(RegRange{Reg::S0, static_cast<uint16_t>(number(Reg::VccHi) + 1)});
  return set;
}

bool PendingScalars::holdUp(const Instr &instr) const {
  const bool vector = instr.is(Property::Vector);
  if (!vector && !isScalarAlu(instr))
    return false;
  for (const RegRange range : instr.reads())
    if (isTracked(range.first) && (byScalar_.containsAny(range) || (vector && byVector_.containsAny(range))))
      return true;
  return false;
}

void PendingScalars::execute(const Instr &instr) {
  if (isAluWait(instr)) {
    const AluWait wait(instr.operands()[0].value);
    if (wait.scalar)
      byScalar_ = {};
    if (wait.vectorToScalars)
      byVector_ &= vccSet();
    if (wait.vectorToVcc)
      byVector_ -= vccSet();
    return;
  }
  if (instr.memorySpace() == MemorySpace::Scalar || instr.memorySpace() == MemorySpace::Buffer) {
    wait();
    return;
  }
  const bool vector = instr.is(Property::Vector);
  if (!vector && !isScalarAlu(instr))
    return;
  for (const RegRange range : instr.writes())
    for (unsigned n = 0; n < range.count; ++n)
      if (const Reg reg = range.first + n; isTracked(reg) && read_.contains(reg))
        (vector ? byVector_ : byScalar_).insert(reg);
}

bool PendingScalars::merge(const PendingScalars &other) {
  const PendingScalars old = *this;
  byScalar_ |= other.byScalar_;
  byVector_ |= other.byVector_;
  return byScalar_ != old.byScalar_ || byVector_ != old.byVector_;
}

} // namespace luthier::isa
