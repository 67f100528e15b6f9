#include "analysis/seam_hazards.h"

#include <algorithm>

namespace luthier::analysis {

namespace {

using isa::SeamHazard;

constexpr Cures of(Cure cure) { return static_cast<Cures>(cure); }

bool isNumbered(Reg reg) { return reg <= Reg::VccHi; }
bool isMemory(const Instr &instr) {
  return instr.memorySpace() != MemorySpace::None && instr.memorySpace() != MemorySpace::Scalar;
}
bool isPermlane(const Instr &instr) { return instr.mnemonic().starts_with("v_permlane"); }

void insertPairs(RegSet &set, RegRange range) {
  for (unsigned n = 0; n < range.count; ++n)
    if (isNumbered(range.first + n))
      set.insert({static_cast<Reg>(number(range.first + n) & ~1u), 2});
}

/// What the inserted code is made of.
struct Contents {
  bool vector = false;             ///< VALU instructions
  bool memory = false;             ///< vector memory or LDS
  bool scalarMemory = false;       ///< scalar loads
  bool scalarsByScalar = false;    ///< SGPRs are written by SALU or scalar memory
  bool scalarsByVector = false;    ///< ... by VALU
  bool vectorReadsScalars = false; ///< VALU reads SGPRs
  bool permlane = false, cmpx = false;
  RegSet written; ///< SGPRs, by pairs

  explicit Contents(std::span<const Instr *const> code) {
    for (const Instr *instr : code) {
      const bool isVector = instr->is(Property::Vector);
      vector |= isVector;
      memory |= isMemory(*instr);
      scalarMemory |= instr->memorySpace() == MemorySpace::Scalar;
      permlane |= isPermlane(*instr);
      cmpx |= isVector && instr->is(Property::WritesExec);
      for (const RegRange range : instr->writes())
        if (isNumbered(range.first)) {
          (isVector ? scalarsByVector : scalarsByScalar) = true;
          insertPairs(written, range);
        }
      for (const RegRange range : instr->reads())
        vectorReadsScalars |= isVector && isNumbered(range.first);
    }
  }
};

/// The register of a v_permlane that comes before any other VALU instruction.
std::optional<Reg> permlaneNext(std::span<const Instr> next) {
  for (const Instr &instr : next) {
    if (!instr.is(Property::Vector))
      continue;
    if (isPermlane(instr))
      for (const RegRange range : instr.reads())
        if (isVector(range.first))
          return range.first;
    return {};
  }
  return {};
}

} // namespace

RegSet scalarsReadByVectors(std::span<const Instr> code) {
  RegSet set;
  for (const Instr &instr : code)
    if (instr.is(Property::Vector))
      for (const RegRange range : instr.reads())
        insertPairs(set, range);
  return set;
}

SeamCures seamCures(const isa::Target &target, unsigned waveSize, std::span<const Instr *const> inserted,
                    const RegSet &readByVectors, std::span<const Instr> next) {
  SeamCures cures;
  if (!target.seamHazards)
    return cures;
  const auto is = [&](SeamHazard hazard) { return (target.seamHazards & static_cast<uint16_t>(hazard)) != 0; };
  const Contents code(inserted);
  const bool wave64 = waveSize == 64;
  // Memory instructions read SGPRs late; scalar instructions overwrite them.
  if (is(SeamHazard::VmemToScalarWrite)) {
    if (code.scalarsByScalar)
      cures.before |= of(Cure::Drain);
    if (code.memory)
      cures.behind |= of(Cure::Drain);
  }
  if (is(SeamHazard::SmemToVectorWrite)) {
    if (code.scalarsByVector)
      cures.before |= of(Cure::ScalarMove);
    if (code.scalarMemory)
      cures.behind |= of(Cure::ScalarMove);
  }
  // Anything that is not a VALU instruction reads EXEC; a VALU instruction writes it.
  if (is(SeamHazard::VcmpxExecWar)) {
    if (code.cmpx)
      cures.before |= of(Cure::Drain);
    cures.behind |= of(Cure::Drain); // s_mov_b64 of EXEC, s_cbranch_execz
  }
  if (is(SeamHazard::LdsBranchVmem) && code.memory) {
    cures.before |= of(Cure::WaitStores);
    cures.behind |= of(Cure::WaitStores);
  }
  if ((is(SeamHazard::ValuPartialForwarding) && wave64) || is(SeamHazard::ValuTransUse))
    if (code.vector) {
      cures.before |= of(Cure::Drain);
      cures.behind |= of(Cure::Drain);
    }
  if (is(SeamHazard::ValuMaskWrite) && wave64) {
    if (code.scalarsByScalar || code.scalarsByVector)
      cures.before |= of(Cure::Drain);
    if (code.vectorReadsScalars)
      cures.behind |= of(Cure::Drain);
  }
  if (is(SeamHazard::ValuReadSgpr)) {
    if (!(code.written & readByVectors).empty())
      cures.before |= of(Cure::ForgetReads);
    if (!code.written.empty())
      cures.behind |= of(Cure::Drain);
    if (code.vectorReadsScalars)
      cures.behind |= of(Cure::ForgetReads);
  }
  if (is(SeamHazard::VcmpxPermlane) && code.cmpx)
    if (const auto reg = permlaneNext(next)) {
      cures.behind |= of(Cure::VectorMove);
      cures.moved = *reg;
    }
  return cures;
}

} // namespace luthier::analysis
