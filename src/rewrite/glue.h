// The instructions that the rewriter itself puts into a kernel: moves, saves and restores around hooks, waits,
// branches.
//
// They are written as assembly text, one row each, and assembled once per target and wave size; what varies (registers,
// literals, offsets) is filled in per use.
#pragma once

#include "analysis/seam_hazards.h"
#include "analysis/waits.h"
#include "isa/decode.h"
#include "isa/target.h"
#include "rewrite/code_template.h"

namespace luthier::rewrite {

enum class GlueOp : uint8_t {
  MoveScalar,
  MoveScalarInline,
  MoveScalarLiteral,
  MoveScalarPair,
  ClearScalarPair,
  MoveVector,
  MoveVectorScalar,
  MoveVectorInline,
  MoveVectorLiteral,
  AccumulatorRead,
  AccumulatorWrite,
  ClearAccumulator,
  SaveExec,
  RestoreExec,
  ExecOne,
  ExecAll,
  SaveVcc,
  RestoreVcc,
  SaveM0,
  RestoreM0,
  SaveScc,
  RestoreScc,
  WriteLane,
  ReadLane,
  ScratchStore,
  ScratchLoad,
  ScratchStoreDirect, ///< without a register that has the address
  ScratchLoadDirect,
  Nop,
  Wait,      ///< s_waitcnt
  WaitLoads, ///< one counter each, where they are split
  WaitScalar,
  WaitExports,
  WaitLds,
  WaitSamples,
  WaitBvh,
  WaitStores,
  Branch,
  BranchExecZero,
  BranchScc0,
  CompareEqual,
  CountDown, ///< SCC: it was 0
  Call,
  Return,
  IndexOff,
  IndexOn,
  SaveMode,
  RestoreMode,
  SetMode,
  SaveFlags,
  RestoreFlags,
  LoadPair,
  LoadDword,
  ScalarStore,
  ScalarLoad,
  ScalarWriteBack,
  FlatScratchLow,
  FlatScratchHigh,
  SetFlatScratchLow, ///< where they are hardware registers
  SetFlatScratchHigh,
  AddScalar,
  AddCarry,
  AddScalarLiteral,
  AndScalarLiteral,
  Multiply,
  LaneIdLow, ///< of the lanes up to 32
  LaneIdHigh,
  LaneAddress, ///< base and a dword per lane
  StoreLds,
  WorkgroupIdX, ///< from TTMPs
  WorkgroupIdY,
  WorkgroupIdZ,
  AndLiteral,
  ExtractY,
  ExtractZ,
  EndProgram,
  Trap,
  Drain, ///< of ALUs and what memory instructions read
  NullMove,
  LdsNop,
  Barrier,     ///< of the workgroup
  BarrierWait, ///< behind it, where it is split
  Count,
};

class Glue {
public:
  static Result<std::unique_ptr<Glue>> create(const isa::Target &target, unsigned waveSize, isa::Decoder &decoder,
                                              isa::FieldFinder &finder);

  const isa::Target &target() const { return target_; }
  unsigned waveSize() const { return waveSize_; }
  bool has(GlueOp op) const { return templates_[static_cast<unsigned>(op)].instr != nullptr; }

  // Each appends one instruction; `to` and `from` take the places of the row's first and second register.
  void add(CodeSequence &code, GlueOp op, Reg to = Reg::S0, Reg from = Reg::S0) const;
  void addLiteral(CodeSequence &code, GlueOp op, Reg to, uint32_t literal, Reg from = Reg::S0) const;
  /// Moves 32 bits between any two registers that can be source and destination: scalar and special registers,
  /// vector and accumulation registers. SCC as source gives 0 or 1.
  Result<void> move(CodeSequence &code, Reg to, Reg from) const;
  void movePair(CodeSequence &code, Reg to, Reg from) const;       ///< two SGPRs each
  void constant(CodeSequence &code, Reg to, uint32_t value) const; ///< into an SGPR, VGPR or M0
  /// The same, with the value in the last four bytes whatever it is, to be changed there.
  void literal(CodeSequence &code, Reg to, uint32_t value) const;
  void writeLane(CodeSequence &code, Reg vector, unsigned lane, Reg scalar) const;
  void readLane(CodeSequence &code, Reg scalar, Reg vector, unsigned lane) const;
  void scratch(CodeSequence &code, GlueOp op, Reg vector, Reg base, unsigned offset) const;
  /// The offsets that scratch instructions can have, as far as they are not negative: below that.
  unsigned scratchReach() const { return target_.flatOffsetBits ? 1u << (target_.flatOffsetBits - 1) : 0; }
  void storeLds(CodeSequence &code, Reg address, Reg data, unsigned offset) const;
  void loadPair(CodeSequence &code, Reg to, Reg base, uint32_t offset) const;
  void loadDword(CodeSequence &code, Reg to, Reg base, uint32_t offset) const;
  /// Between a scalar register and the wave's scratch, at an offset in bytes.
  void scalarMemory(CodeSequence &code, GlueOp op, Reg scalar, uint32_t offset) const;
  void setMode(CodeSequence &code, unsigned firstBit, unsigned bits, uint32_t value) const;
  void nops(CodeSequence &code, unsigned waitStates) const;
  /// What cures hazards at a seam; `moved` is the vector register of Cure::VectorMove.
  void cure(CodeSequence &code, analysis::Cures cures, Reg moved) const;
  /// Until nothing is in flight on any of these.
  void wait(CodeSequence &code, analysis::CounterSet counters) const;

private:
  Glue(const isa::Target &target, unsigned waveSize) : target_(target), waveSize_(waveSize) {}
  const InstrTemplate &of(GlueOp op) const { return templates_[static_cast<unsigned>(op)]; }

  const isa::Target &target_;
  unsigned waveSize_;
  std::vector<uint8_t> bytes_;
  isa::InstrSequence sequence_;
  std::array<InstrTemplate, static_cast<unsigned>(GlueOp::Count)> templates_;
};

} // namespace luthier::rewrite
