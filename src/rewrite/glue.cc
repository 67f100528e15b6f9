#include "rewrite/glue.h"

#include "isa/assembler.h"

#include <algorithm>
#include <cstring>

namespace luthier::rewrite {

namespace {

using isa::Target;

bool always(const Target &) { return true; }
bool withAccumulators(const Target &target) { return target.accVgprs != 0; }
bool withScratch(const Target &target) { return target.scratchInstructions; }
bool withDirectScratch(const Target &target) { return target.scratchWithoutAddress; }
bool withCalls(const Target &target) { return target.callInstruction; }
bool withIndexing(const Target &target) { return target.gprIndexing; }
bool withFlatScratchPair(const Target &target) { return target.scratchInstructions && target.scalarFlatScratch; }
/// Scalar stores relative to FLAT_SCRATCH: where it is a pair of SGPRs, there are such.
bool withScalarStores(const Target &target) {
  return target.scratchInstructions && target.flatScratch == isa::FlatScratch::Sgprs;
}

bool withHardwareFlatScratch(const Target &target) {
  return target.scratchInstructions && target.flatScratch == isa::FlatScratch::HardwareRegisters;
}
bool withGroupTtmps(const Target &target) { return target.workgroupIdsInTtmps; }
bool withSplitCounters(const Target &target) { return target.splitCounters; }
bool withJointCounters(const Target &target) { return !target.splitCounters; }
bool withStoreCounter(const Target &target) { return target.storeCounter && !target.splitCounters; }
bool withSeamHazards(const Target &target) { return target.seamHazards != 0; }
bool withOneBarrier(const Target &target) { return !target.splitBarriers; }
bool withSplitBarriers(const Target &target) { return target.splitBarriers; }
bool withFreeLds(const Target &target) { return !target.ldsLimitInM0; }
bool withTrapStatus(const Target &target) {
  return (*target.hardwareRegisters)[3] == isa::HardwareRegister::TrapStatus;
}
bool withUserExceptions(const Target &target) {
  return (*target.hardwareRegisters)[18] == isa::HardwareRegister::ExceptionsUser;
}

/// An operation may have several rows: the one that exists on the target counts.
struct Row {
  GlueOp op;
  const char *text;                        ///< registers: the first one is named 2, the second one 4
  const char *wave32 = nullptr;            ///< where it differs
  bool (*exists)(const Target &) = always; ///< on a target
};

constexpr Row kRows[] = {
    {GlueOp::MoveScalar, "s_mov_b32 s2, s4"},
    {GlueOp::MoveScalarInline, "s_mov_b32 s2, 0"},
    {GlueOp::MoveScalarLiteral, "s_mov_b32 s2, 0x12345678"},
    {GlueOp::MoveScalarPair, "s_mov_b64 s[2:3], s[4:5]"},
    {GlueOp::ClearScalarPair, "s_mov_b64 s[2:3], 0"},
    {GlueOp::MoveVector, "v_mov_b32_e32 v2, v4"},
    {GlueOp::MoveVectorScalar, "v_mov_b32_e32 v2, s4"},
    {GlueOp::MoveVectorInline, "v_mov_b32_e32 v2, 0"},
    {GlueOp::MoveVectorLiteral, "v_mov_b32_e32 v2, 0x12345678"},
    {GlueOp::AccumulatorRead, "v_accvgpr_read_b32 v2, a4", nullptr, withAccumulators},
    {GlueOp::AccumulatorWrite, "v_accvgpr_write_b32 a2, v4", nullptr, withAccumulators},
    {GlueOp::ClearAccumulator, "v_accvgpr_write_b32 a2, 0", nullptr, withAccumulators},
    {GlueOp::SaveExec, "s_mov_b64 s[2:3], exec", "s_mov_b32 s2, exec_lo"},
    {GlueOp::RestoreExec, "s_mov_b64 exec, s[2:3]", "s_mov_b32 exec_lo, s2"},
    {GlueOp::ExecOne, "s_mov_b64 exec, 1", "s_mov_b32 exec_lo, 1"},
    {GlueOp::ExecAll, "s_mov_b64 exec, -1", "s_mov_b32 exec_lo, -1"},
    {GlueOp::SaveVcc, "s_mov_b64 s[2:3], vcc", "s_mov_b32 s2, vcc_lo"},
    {GlueOp::RestoreVcc, "s_mov_b64 vcc, s[2:3]", "s_mov_b32 vcc_lo, s2"},
    {GlueOp::SaveM0, "s_mov_b32 s2, m0"},
    {GlueOp::RestoreM0, "s_mov_b32 m0, s2"},
    {GlueOp::SaveScc, "s_cselect_b32 s2, 1, 0"},
    {GlueOp::RestoreScc, "s_cmp_lg_u32 s2, 0"},
    {GlueOp::WriteLane, "v_writelane_b32 v2, s4, 0"},
    {GlueOp::ReadLane, "v_readlane_b32 s2, v4, 0"},
    {GlueOp::ScratchStore, "scratch_store_dword off, v2, s4", nullptr, withScratch},
    {GlueOp::ScratchLoad, "scratch_load_dword v2, off, s4", nullptr, withScratch},
    {GlueOp::ScratchStoreDirect, "scratch_store_dword off, v2, off", nullptr, withDirectScratch},
    {GlueOp::ScratchLoadDirect, "scratch_load_dword v2, off, off", nullptr, withDirectScratch},
    {GlueOp::Nop, "s_nop 0"},
    {GlueOp::Wait, "s_waitcnt 0", nullptr, withJointCounters},
    {GlueOp::WaitLoads, "s_wait_loadcnt 0", nullptr, withSplitCounters},
    {GlueOp::WaitScalar, "s_wait_kmcnt 0", nullptr, withSplitCounters},
    {GlueOp::WaitExports, "s_wait_expcnt 0", nullptr, withSplitCounters},
    {GlueOp::WaitLds, "s_wait_dscnt 0", nullptr, withSplitCounters},
    {GlueOp::WaitSamples, "s_wait_samplecnt 0", nullptr, withSplitCounters},
    {GlueOp::WaitBvh, "s_wait_bvhcnt 0", nullptr, withSplitCounters},
    {GlueOp::WaitStores, "s_wait_storecnt 0", nullptr, withSplitCounters},
    {GlueOp::WaitStores, "s_waitcnt_vscnt null, 0", nullptr, withStoreCounter},
    {GlueOp::Branch, "s_branch 0"},
    {GlueOp::BranchExecZero, "s_cbranch_execz 0"},
    {GlueOp::BranchScc0, "s_cbranch_scc0 0"},
    {GlueOp::CompareEqual, "s_cmp_eq_u32 s2, 0x12345678"},
    {GlueOp::CountDown, "s_sub_u32 s2, s2, 1"},
    {GlueOp::Call, "s_call_b64 s[2:3], 0", nullptr, withCalls},
    {GlueOp::Return, "s_setpc_b64 s[2:3]"},
    {GlueOp::IndexOff, "s_set_gpr_idx_off", nullptr, withIndexing},
    {GlueOp::IndexOn, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 1", nullptr, withIndexing},
    {GlueOp::SaveMode, "s_getreg_b32 s2, hwreg(HW_REG_MODE, 0, 24)"},
    {GlueOp::RestoreMode, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 24), s2"},
    {GlueOp::SetMode, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 1), 0"},
    {GlueOp::SaveFlags, "s_getreg_b32 s2, hwreg(HW_REG_TRAPSTS, 0, 9)", nullptr, withTrapStatus},
    {GlueOp::RestoreFlags, "s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 9), s2", nullptr, withTrapStatus},
    {GlueOp::SaveFlags, "s_getreg_b32 s2, hwreg(HW_REG_EXCP_FLAG_USER, 0, 7)", nullptr, withUserExceptions},
    {GlueOp::RestoreFlags, "s_setreg_b32 hwreg(HW_REG_EXCP_FLAG_USER, 0, 7), s2", nullptr, withUserExceptions},
    {GlueOp::LoadPair, "s_load_dwordx2 s[2:3], s[4:5], 0x0"},
    {GlueOp::LoadDword, "s_load_dword s2, s[4:5], 0x0"},
    {GlueOp::ScalarStore, "s_store_dword s2, flat_scratch, 0x0", nullptr, withScalarStores},
    {GlueOp::ScalarLoad, "s_load_dword s2, flat_scratch, 0x0", nullptr, withScalarStores},
    {GlueOp::ScalarWriteBack, "s_dcache_wb", nullptr, withScalarStores},
    {GlueOp::FlatScratchLow, "s_add_u32 flat_scratch_lo, s2, s4", nullptr, withFlatScratchPair},
    {GlueOp::FlatScratchHigh, "s_addc_u32 flat_scratch_hi, s2, 0", nullptr, withFlatScratchPair},
    {GlueOp::SetFlatScratchLow, "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s2", nullptr, withHardwareFlatScratch},
    {GlueOp::SetFlatScratchHigh, "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s2", nullptr, withHardwareFlatScratch},
    {GlueOp::AddScalar, "s_add_u32 s2, s2, s4"},
    {GlueOp::AddCarry, "s_addc_u32 s2, s2, 0"},
    {GlueOp::AddScalarLiteral, "s_add_u32 s2, s4, 0x12345678"},
    {GlueOp::AndScalarLiteral, "s_and_b32 s2, s4, 0x12345678"},
    {GlueOp::Multiply, "s_mul_i32 s2, s2, s4"},
    {GlueOp::LaneIdLow, "v_mbcnt_lo_u32_b32 v2, -1, 0"},
    {GlueOp::LaneIdHigh, "v_mbcnt_hi_u32_b32 v2, -1, v2"},
    {GlueOp::LaneAddress, "v_lshl_add_u32 v2, v2, 2, s4", nullptr, withFreeLds},
    {GlueOp::StoreLds, "ds_write_b32 v2, v4", nullptr, withFreeLds},
    {GlueOp::WorkgroupIdX, "s_mov_b32 s2, ttmp9", nullptr, withGroupTtmps},
    {GlueOp::WorkgroupIdY, "s_and_b32 s2, ttmp7, 0xffff", nullptr, withGroupTtmps},
    {GlueOp::WorkgroupIdZ, "s_lshr_b32 s2, ttmp7, 16", nullptr, withGroupTtmps},
    {GlueOp::AndLiteral, "v_and_b32_e32 v2, 0x12345678, v4"},
    {GlueOp::ExtractY, "v_bfe_u32 v2, v4, 10, 10"},
    {GlueOp::ExtractZ, "v_bfe_u32 v2, v4, 20, 10"},
    {GlueOp::EndProgram, "s_endpgm"},
    {GlueOp::Trap, "s_trap 2"},
    {GlueOp::Drain, "s_waitcnt_depctr 0", nullptr, withSeamHazards},
    {GlueOp::NullMove, "s_mov_b32 null, 0", nullptr, withSeamHazards},
    {GlueOp::LdsNop, "ds_nop", nullptr, withSeamHazards},
    {GlueOp::Barrier, "s_barrier", nullptr, withOneBarrier},
    {GlueOp::Barrier, "s_barrier_signal -1", nullptr, withSplitBarriers},
    {GlueOp::BarrierWait, "s_barrier_wait -1", nullptr, withSplitBarriers},
};
static_assert([] {
  for (unsigned op = 0; op < static_cast<unsigned>(GlueOp::Count); ++op)
    if (std::ranges::none_of(kRows, [&](const Row &row) { return static_cast<unsigned>(row.op) == op; }))
      return false;
  return true;
}());

/// Registers of a row, in its files: what `to` and `from` replace.
constexpr unsigned kTo = 2, kFrom = 4;

void replace(RegMap &map, const InstrTemplate &like, unsigned slot, Reg by) {
  for (const isa::RegisterField &field : like.fields) {
    const unsigned index = number(field.regs.first) & 255;
    if (index == slot)
      map.set(field.regs, by);
  }
}

} // namespace

Result<std::unique_ptr<Glue>> Glue::create(const isa::Target &target, unsigned waveSize, isa::Decoder &decoder,
                                           isa::FieldFinder &finder) {
  std::unique_ptr<Glue> glue(new Glue(target, waveSize));
  std::string text;
  std::vector<GlueOp> ops;
  for (const Row &row : kRows) {
    if (!row.exists(target))
      continue;
    text += waveSize == 32 && row.wave32 ? row.wave32 : row.text;
    text += '\n';
    ops.push_back(row.op);
  }
  glue->bytes_ = LUTHIER_TRY(isa::assemble(target, text, waveSize));
  glue->sequence_ = LUTHIER_TRY(decoder.decode(glue->bytes_, 0));
  if (glue->sequence_.instrs().size() != ops.size())
    return makeError("{}: {} instructions of the rewriter's own assembled to {}", target.name, ops.size(),
                     glue->sequence_.instrs().size());
  for (size_t n = 0; n < ops.size(); ++n)
    glue->templates_[static_cast<unsigned>(ops[n])] =
        LUTHIER_TRY(InstrTemplate::make(glue->sequence_.instrs()[n], finder));
  return glue;
}

void Glue::add(CodeSequence &code, GlueOp op, Reg to, Reg from) const {
  RegMap map;
  replace(map, of(op), kTo, to);
  replace(map, of(op), kFrom, from);
  code.add(of(op), map);
}

void Glue::addLiteral(CodeSequence &code, GlueOp op, Reg to, uint32_t literal, Reg from) const {
  RegMap map;
  replace(map, of(op), kTo, to);
  replace(map, of(op), kFrom, from);
  code.add(of(op), map, literal);
}

Result<void> Glue::move(CodeSequence &code, Reg to, Reg from) const {
  if (to == from)
    return {};
  if (isAccumulator(to)) {
    if (!isVector(from) || !has(GlueOp::AccumulatorWrite))
      return makeError("{} cannot be moved to {}", toString(from), toString(to));
    add(code, GlueOp::AccumulatorWrite, to, from);
  } else if (isVector(to)) {
    if (from == Reg::Scc)
      return makeError("SCC cannot be moved to {}", toString(to));
    add(code,
        isAccumulator(from) ? GlueOp::AccumulatorRead
        : isVector(from)    ? GlueOp::MoveVector
                            : GlueOp::MoveVectorScalar,
        to, from);
  } else {
    if (isVector(from) || isAccumulator(from) || to == Reg::Scc)
      return makeError("{} cannot be moved to {}", toString(from), toString(to));
    add(code, from == Reg::Scc ? GlueOp::SaveScc : GlueOp::MoveScalar, to, from);
  }
  return {};
}

void Glue::movePair(CodeSequence &code, Reg to, Reg from) const {
  if (number(to) % 2 == 0 && number(from) % 2 == 0)
    return add(code, GlueOp::MoveScalarPair, to, from);
  for (unsigned half = 0; half < 2; ++half)
    add(code, GlueOp::MoveScalar, to + half, from + half);
}

void Glue::constant(CodeSequence &code, Reg to, uint32_t value) const {
  // A source of 128 is 0, up to 192 for 64; 193 is -1, up to 208 for -16.
  const auto number = static_cast<int32_t>(value);
  if (number < -16 || number > 64)
    return literal(code, to, value);
  const GlueOp op = isVector(to) ? GlueOp::MoveVectorInline : GlueOp::MoveScalarInline;
  add(code, op, to);
  code.orIntoLast(of(op).instr->size(), {static_cast<uint64_t>(number < 0 ? 64 - number : number)});
}

void Glue::literal(CodeSequence &code, Reg to, uint32_t value) const {
  addLiteral(code, isVector(to) ? GlueOp::MoveVectorLiteral : GlueOp::MoveScalarLiteral, to, value);
}

void Glue::writeLane(CodeSequence &code, Reg vector, unsigned lane, Reg scalar) const {
  add(code, GlueOp::WriteLane, vector, scalar);
  code.orIntoLast(of(GlueOp::WriteLane).instr->size(),
                  {uint64_t{lane} << 41}); // SRC1: inline constants count up from 0
}

void Glue::readLane(CodeSequence &code, Reg scalar, Reg vector, unsigned lane) const {
  add(code, GlueOp::ReadLane, scalar, vector);
  code.orIntoLast(of(GlueOp::ReadLane).instr->size(), {uint64_t{lane} << 41});
}

void Glue::scratch(CodeSequence &code, GlueOp op, Reg vector, Reg base, unsigned offset) const {
  add(code, op, vector, base);
  // Instructions of three dwords have it in the upper three bytes of the last one.
  const size_t size = of(op).instr->size();
  code.orIntoLast(size, size > 8 ? isa::EncodingBits{0, offset << 8} : isa::EncodingBits{offset});
}

void Glue::storeLds(CodeSequence &code, Reg address, Reg data, unsigned offset) const {
  add(code, GlueOp::StoreLds, address, data);
  code.orIntoLast(of(GlueOp::StoreLds).instr->size(), {offset});
}

void Glue::loadPair(CodeSequence &code, Reg to, Reg base, uint32_t offset) const {
  add(code, GlueOp::LoadPair, to, base);
  code.orIntoLast(of(GlueOp::LoadPair).instr->size(), {uint64_t{offset} << 32});
}

void Glue::loadDword(CodeSequence &code, Reg to, Reg base, uint32_t offset) const {
  add(code, GlueOp::LoadDword, to, base);
  code.orIntoLast(of(GlueOp::LoadDword).instr->size(), {uint64_t{offset} << 32});
}

void Glue::scalarMemory(CodeSequence &code, GlueOp op, Reg scalar, uint32_t offset) const {
  add(code, op, scalar);
  code.orIntoLast(of(op).instr->size(), {uint64_t{offset} << 32});
}

void Glue::setMode(CodeSequence &code, unsigned firstBit, unsigned bits, uint32_t value) const {
  addLiteral(code, GlueOp::SetMode, Reg::S0, value);
  code.orIntoLast(of(GlueOp::SetMode).instr->size(), {uint64_t{firstBit} << 6 | uint64_t{bits - 1} << 11});
}

void Glue::nops(CodeSequence &code, unsigned waitStates) const {
  constexpr unsigned kMost = 8; // what s_nop can say on every target
  for (; waitStates; waitStates -= std::min(waitStates, kMost)) {
    add(code, GlueOp::Nop);
    code.orIntoLast(of(GlueOp::Nop).instr->size(), {std::min(waitStates, kMost) - 1});
  }
}

void Glue::cure(CodeSequence &code, analysis::Cures cures, Reg moved) const {
  using analysis::Cure;
  if (analysis::has(cures, Cure::Drain))
    add(code, GlueOp::Drain);
  if (analysis::has(cures, Cure::ScalarMove))
    add(code, GlueOp::NullMove);
  if (analysis::has(cures, Cure::WaitStores))
    add(code, GlueOp::WaitStores);
  for (unsigned n = 0; analysis::has(cures, Cure::ForgetReads) && n < waveSize_ / 8; ++n)
    add(code, GlueOp::LdsNop);
  if (analysis::has(cures, Cure::VectorMove))
    add(code, GlueOp::MoveVector, moved, moved);
}

void Glue::wait(CodeSequence &code, analysis::CounterSet counters) const {
  using analysis::Counter;
  using analysis::setOf;
  if (target_.splitCounters) {
    static constexpr std::pair<Counter, GlueOp> kWaits[] = {
        {Counter::Vm, GlueOp::WaitLoads},  {Counter::Lgkm, GlueOp::WaitScalar}, {Counter::Exp, GlueOp::WaitExports},
        {Counter::Vs, GlueOp::WaitStores}, {Counter::Ds, GlueOp::WaitLds},      {Counter::Sample, GlueOp::WaitSamples},
        {Counter::Bvh, GlueOp::WaitBvh}};
    for (const auto &[counter, op] : kWaits)
      if (counters & setOf(counter))
        add(code, op);
    return;
  }
  const auto field = [&](const isa::WaitField &where, analysis::CounterSet set) {
    return counters & set ? 0 : where.put(where.most());
  };
  const isa::WaitFields &fields = *target_.waitFields;
  if (counters & ~setOf(Counter::Vs)) {
    add(code, GlueOp::Wait);
    code.orIntoLast(of(GlueOp::Wait).instr->size(),
                    {field(fields.vm, setOf(Counter::Vm) | setOf(Counter::Sample) | setOf(Counter::Bvh)) |
                     field(fields.exp, setOf(Counter::Exp)) |
                     field(fields.lgkm, setOf(Counter::Lgkm) | setOf(Counter::Ds))});
  }
  if ((counters & setOf(Counter::Vs)) && has(GlueOp::WaitStores))
    add(code, GlueOp::WaitStores);
}

} // namespace luthier::rewrite
