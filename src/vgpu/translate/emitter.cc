// Guest code to LLVM IR.
//
// An instruction becomes one of three things:
//
// - Its row's attempt (exec/row.h), called with its record as a constant and inlined: a step. It works on a Wave that
// is
//   a local variable of the translation; scalar replacement turns its registers into values.
// - A call of its handler in the engine, the one that the interpreter calls: what has no attempt, and memory
//   instructions whose attempt failed. The handler works on the wave's own record, so the registers that it touches are
//   copied there before and back behind it.
// - An exit: the interpreter goes on with it. This is what follows a failed attempt of other instructions.
//
// Branches are branches; their attempt says which way they go. Wherever the translation is left, registers that have
// changed are copied to the wave's record, those that will be read again at least.

#include "vgpu/translate/emitter.h"

#include "vgpu/exec/row.h"
#include "vgpu/translate/translator.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <cstddef>

namespace luthier::vgpu {
namespace {

using namespace llvm;
using llvm::Type;

/// Members of Row as the bitcode's initialisers have them.
enum RowMember : unsigned { kMnemonicMember = 0, kAttemptMember = 9 };

/// A row of the bitcode that has an attempt.
struct BitcodeRow {
  Constant *row;
  Function *attempt;
};

/// The rows of the bitcode, by mnemonic, and the tables that they are in.
StringMap<BitcodeRow> rowsOf(Module &module, std::vector<GlobalVariable *> &tables) {
  StringMap<BitcodeRow> rows;
  for (GlobalVariable &global : module.globals()) {
    auto *type = dyn_cast<ArrayType>(global.getValueType());
    auto *rowType = type ? dyn_cast<StructType>(type->getElementType()) : nullptr;
    if (!rowType || !rowType->hasName() || rowType->getName() != "struct.luthier::vgpu::Row" ||
        !global.hasInitializer())
      continue;
    tables.push_back(&global);
    for (unsigned n = 0; n < type->getNumElements(); ++n) {
      Constant *row = global.getInitializer()->getAggregateElement(n);
      auto *attempt = dyn_cast_or_null<Function>(row->getAggregateElement(kAttemptMember));
      if (!attempt)
        continue;
      Constant *name = row->getAggregateElement(kMnemonicMember);
      const uint64_t length = cast<ConstantInt>(name->getAggregateElement(0u))->getZExtValue();
      auto *characters = cast<GlobalVariable>(name->getAggregateElement(1u)->stripPointerCasts());
      rows[cast<ConstantDataArray>(characters->getInitializer())->getAsString().take_front(length)] = {row, attempt};
    }
  }
  return rows;
}

void optimise(Module &module, TargetMachine *machine, OptimizationLevel level) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder passes(machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(level).run(module, modules);
}

// Wave derives from its state, so that offsetof is not for it.
constexpr uint64_t kVectors = sizeof(WaveState);
static_assert(sizeof(WaveState) % alignof(Wave) == 0);

class Emitter {
public:
  Emitter(Module &module, TargetMachine &machine, const GuestCode &code, uint32_t given, std::string &why)
      : module_(module), machine_(machine), context_(module.getContext()), code_(code), given_(given), why_(why),
        builder_(context_), steps_(code.instructions.size()) {}

  bool emit(const std::string &name, std::vector<uint32_t> &called) {
    if (!emitSteps() || !emitWhole(name))
      return false;
    for (uint32_t n = 0; n < steps_.size(); ++n)
      if (!steps_[n] && !at(n).endsProgram && at(n).target == GuestInstruction::kNowhere)
        called.push_back(n);
    return true;
  }

private:
  const GuestInstruction &at(uint32_t n) const { return code_.instructions[n]; }

  Type *pointer() { return PointerType::getUnqual(context_); }
  Value *at(Value *base, uint64_t offset) {
    return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset);
  }
  Constant *constant(Constant *value, Align align) {
    auto *global = new GlobalVariable(module_, value->getType(), true, GlobalValue::PrivateLinkage, value);
    global->setAlignment(align);
    return global;
  }
  Value *hostPointer(const void *address) {
    return builder_.CreateIntToPtr(builder_.getInt64(reinterpret_cast<uint64_t>(address)), pointer());
  }

  /// The instruction record as a constant.
  Constant *record(const Inst &inst, Constant *row) {
    static_assert(offsetof(Inst, src) == 8 && offsetof(Inst, srcKind) == 32 && offsetof(Inst, row) == 56);
    Constant *sources[3];
    for (unsigned n = 0; n < 3; ++n)
      if (inst.srcKind[n] == SrcKind::Constant)
        sources[n] =
            constant(ConstantDataArray::get(context_, ArrayRef<uint32_t>(inst.src[n].lanes, 2 * kMaxLanes)), Align(64));
      else
        sources[n] = builder_.getInt64(inst.src[n].reg);
    const auto *bytes = reinterpret_cast<const uint8_t *>(&inst);
    Constant *fields = ConstantDataArray::get(context_, ArrayRef<uint8_t>(bytes + 32, 56 - 32));
    Constant *noHandler = ConstantPointerNull::get(cast<PointerType>(pointer()));
    return constant(
        ConstantStruct::getAnon({noHandler, sources[0], sources[1], sources[2], fields, constant(row, Align(8))}),
        Align(alignof(Inst)));
  }

  // Steps.

  /// A function for each instruction that has an attempt: for this record alone.
  bool emitSteps() {
    std::vector<GlobalVariable *> tables;
    const StringMap<BitcodeRow> rows = rowsOf(module_, tables);
    auto *type = FunctionType::get(builder_.getInt1Ty(), {pointer()}, false);
    std::vector<Function *> kept;
    for (uint32_t n = 0; n < steps_.size(); ++n) {
      const Inst &inst = at(n).record;
      const auto found = rows.find(inst.row->mnemonic);
      if (found == rows.end() || !at(n).usual)
        continue;
      Function *attempt = found->second.attempt;
      attempt->removeFnAttr(Attribute::NoInline);
      attempt->addFnAttr(Attribute::AlwaysInline);
      auto *step = Function::Create(type, GlobalValue::ExternalLinkage, "step", module_);
      for (const char *attribute : kTargetAttributes)
        if (attempt->hasFnAttribute(attribute))
          step->addFnAttr(attempt->getFnAttribute(attribute));
      step->addFnAttr(Attribute::NoUnwind);
      step->addParamAttr(0, Attribute::NoAlias);
      step->addParamAttr(0, Attribute::getWithAlignment(context_, Align(alignof(Wave))));
      // Not dereferenceable: scalar registers would be loaded by the vector, and with their neighbours stay in memory.
      builder_.SetInsertPoint(BasicBlock::Create(context_, "", step));
      builder_.CreateRet(builder_.CreateCall(attempt, {step->getArg(0), record(inst, found->second.row)}));
      steps_[n] = step;
      kept.push_back(step);
    }
    if (!keepOnly(kept, tables))
      return false;
    optimise(module_, &machine_, OptimizationLevel::O1);
    for (Function *&step : steps_) {
      if (!step)
        continue;
      step->setLinkage(GlobalValue::InternalLinkage);
      if (knowsRegisters(*step->getArg(0)) && isComplete(*step)) {
        step->removeFnAttr(Attribute::NoInline);
        step->addFnAttr(Attribute::AlwaysInline);
      } else {
        step->eraseFromParent();
        step = nullptr;
      }
    }
    return true;
  }

  /// Reads what `functions` call from the bitcode, and removes everything else.
  bool keepOnly(std::vector<Function *> functions, std::span<GlobalVariable *const> tables) {
    const DenseSet<Function *> steps(functions.begin(), functions.end());
    DenseSet<Function *> kept = steps;
    while (!functions.empty()) {
      Function *function = functions.back();
      functions.pop_back();
      if (Error error = function->materialize()) {
        why_ = toString(std::move(error));
        return false;
      }
      for (const Instruction &instruction : instructions(*function))
        if (const auto *call = dyn_cast<CallBase>(&instruction))
          if (Function *callee = call->getCalledFunction(); callee && kept.insert(callee).second)
            functions.push_back(callee);
    }
    for (GlobalVariable *table : tables) {
      table->replaceAllUsesWith(PoisonValue::get(table->getType()));
      table->eraseFromParent();
    }
    for (GlobalVariable &global : module_.globals())
      if (!global.isDeclaration() && !global.hasLocalLinkage()) {
        // A weak definition would be that of whichever translation came first, which may be out of reach.
        global.setComdat(nullptr);
        global.setLinkage(GlobalValue::InternalLinkage);
      }
    for (Function &function : make_early_inc_range(module_)) {
      if (kept.contains(&function)) {
        if (!function.isDeclaration() && !steps.contains(&function))
          function.setLinkage(GlobalValue::InternalLinkage);
        function.setComdat(nullptr);
        continue;
      }
      function.replaceAllUsesWith(PoisonValue::get(function.getType())); // in rows
      function.eraseFromParent();
    }
    if (Error error = module_.materializeAll()) {
      why_ = toString(std::move(error));
      return false;
    }
    return true;
  }

  /// Whether all accesses through `address` are at constant places: then registers can become values.
  static bool knowsRegisters(const Value &address) {
    for (const User *user : address.users()) {
      if (llvm::isa<LoadInst>(user))
        continue;
      if (const auto *store = dyn_cast<StoreInst>(user)) {
        if (store->getPointerOperand() != &address || store->getValueOperand() == &address)
          return false;
      } else if (const auto *gep = dyn_cast<GetElementPtrInst>(user)) {
        if (!gep->hasAllConstantIndices() || !knowsRegisters(*gep))
          return false;
      } else if (const auto *copy = dyn_cast<MemIntrinsic>(user)) {
        if (!llvm::isa<ConstantInt>(copy->getLength()))
          return false;
      } else {
        return false;
      }
    }
    return true;
  }

  /// Whether a step needs nothing that is outside of the bitcode.
  static bool isComplete(const Function &step) {
    for (const Instruction &instruction : instructions(step))
      for (const Value *operand : instruction.operands())
        if (const auto *global = dyn_cast<GlobalValue>(operand->stripPointerCasts());
            global && global->isDeclaration() && !global->getName().starts_with("llvm."))
          return false;
    return true;
  }

  // The whole.

  /// Copies registers between the local wave and the wave's own record.
  void copyRegisters(Value *to, Value *from, const RegSet &registers) {
    constexpr unsigned kLane = sizeof(Wave::v[0]);
    uint64_t begin = 0, end = 0;
    const auto flush = [&] {
      if (end > begin)
        builder_.CreateMemCpy(at(to, begin), Align(begin < kVectors ? 4 : 64), at(from, begin),
                              Align(begin < kVectors ? 4 : 64), end - begin);
    };
    const auto add = [&](uint64_t offset, uint64_t size) {
      if (offset != end) {
        flush();
        begin = offset;
      }
      end = offset + size;
    };
    for (Reg reg = registers.firstFrom(Reg::S0); reg != Reg::End; reg = registers.firstFrom(reg + 1)) {
      const unsigned n = number(reg);
      if (reg >= Reg::V0)
        add(kVectors + uint64_t{n - number(Reg::V0)} * kLane, kLane);
      else if (n <= kExec + 1)
        add(offsetof(WaveState, s) + n * 4, 4);
      else if (reg == Reg::Scc)
        add(offsetof(WaveState, scc), 4);
      else if (reg == Reg::FlatScratchLo || reg == Reg::FlatScratchHi)
        add(offsetof(WaveState, s) + (code_.flatScratch + (reg == Reg::FlatScratchHi)) * 4, 4);
    }
    flush();
  }
  static_assert(kAccBase == number(Reg::A0) - number(Reg::V0));

  RegSet usedVectors() const {
    RegSet used;
    for (const GuestInstruction &instruction : code_.instructions)
      used |= instruction.reads | instruction.writes;
    for (unsigned n = 0; n < number(Reg::V0); ++n)
      used.erase(static_cast<Reg>(n));
    return used;
  }

  BasicBlock *newBlock(const char *name = "") { return BasicBlock::Create(context_, name, function_); }
  void ret(uint32_t value) { builder_.CreateRet(builder_.getInt32(value)); }

  /// What an exit to the interpreter in front of instruction n leaves behind.
  RegSet leftAt(uint32_t n) const { return at(n).left(); }

  /// Returns `result` in front of instruction n.
  BasicBlock *exitBlock(uint32_t n, uint32_t result) {
    const IRBuilder<>::InsertPointGuard guard(builder_);
    BasicBlock *block = newBlock("exit");
    builder_.SetInsertPoint(block);
    copyRegisters(wave_, state_, leftAt(n));
    ret(result);
    return block;
  }

  /// Returns behind instruction n when EXEC is not what was expected there: nothing is known about what is live.
  BasicBlock *unexpectedExec(uint32_t n) {
    const IRBuilder<>::InsertPointGuard guard(builder_);
    BasicBlock *block = newBlock("unexpected");
    builder_.SetInsertPoint(block);
    copyRegisters(wave_, state_, at(n).written | at(n).writes | usedVectors_);
    leave(hostPointer(at(n).original->next()));
    return block;
  }

  /// Lets the interpreter go on at `next`.
  void leave(Value *next) {
    builder_.CreateAlignedStore(next, at(wave_, offsetof(WaveState, ip)), Align(8));
    ret(TranslatedCode::kLeft);
  }

  /// Goes on only if `condition`; else to `otherwise`.
  void unless(Value *condition, BasicBlock *otherwise) {
    BasicBlock *next = newBlock();
    builder_.CreateCondBr(condition, next, otherwise, MDBuilder(context_).createLikelyBranchWeights());
    builder_.SetInsertPoint(next);
  }

  /// Where a jump from instruction `from` to `to` has to go: by way of a look at the budget if that is backwards.
  BasicBlock *wayTo(uint32_t from, uint32_t to) {
    if (to > from)
      return blocks_[to];
    const IRBuilder<>::InsertPointGuard guard(builder_);
    BasicBlock *block = newBlock("back");
    builder_.SetInsertPoint(block);
    Value *left = builder_.CreateSub(builder_.CreateLoad(builder_.getInt32Ty(), budget_), builder_.getInt32(1));
    builder_.CreateStore(left, budget_);
    unless(builder_.CreateICmpNE(left, builder_.getInt32(0)), exitBlock(to, TranslatedCode::kYield | to));
    builder_.CreateBr(blocks_[to]);
    return block;
  }

  /// Calls the handler of instruction n. The builder is then where it has gone on to the next instruction.
  void callHandler(uint32_t n) {
    const GuestInstruction &instruction = at(n);
    RegSet operands = instruction.reads;
    for (Reg reg = instruction.writes.firstFrom(Reg::V0); reg != Reg::End; reg = instruction.writes.firstFrom(reg + 1))
      operands.insert(reg); // of which some lanes may stay
    // Handlers look at these more often than instructions say.
    for (const RegRange always :
         {RegRange{Reg::VccLo, 2}, RegRange{Reg::M0, 1}, RegRange{Reg::ExecLo, 2}, RegRange{Reg::Scc, 1}})
      operands.insert(always);
    copyRegisters(wave_, state_, operands);
    // Says that the record is no longer as it was when the wave started (wave/translated_groups.cc).
    builder_.CreateAlignedStore(ConstantPointerNull::get(cast<PointerType>(pointer())),
                                at(wave_, offsetof(WaveState, ip)), Align(8));
    auto *type = FunctionType::get(pointer(), {pointer(), pointer()}, false);
    const Inst *inst = instruction.original;
    Value *next = builder_.CreateCall(type, hostPointer(reinterpret_cast<const void *>(single(*inst))),
                                      {wave_, hostPointer(inst)});
    copyRegisters(state_, wave_, instruction.writes);
    RegSet left = instruction.written | instruction.writes | usedVectors_;
    const bool resumes = (instruction.record.row->traits & kStops) && instruction.next != GuestInstruction::kNowhere;
    if (resumes)
      left = leftAt(instruction.next);
    if (instruction.next == GuestInstruction::kNowhere || resumes) {
      copyRegisters(wave_, state_, left);
      finishCall(next);
      return;
    }
    BasicBlock *gone = newBlock("gone");
    unless(builder_.CreateICmpEQ(next, hostPointer(inst->next())), gone);
    const IRBuilder<>::InsertPointGuard guard(builder_);
    builder_.SetInsertPoint(gone);
    copyRegisters(wave_, state_, left);
    finishCall(next);
  }

  /// Returns behind a handler that has not gone on to the next instruction.
  void finishCall(Value *next) {
    BasicBlock *jumped = newBlock(), *stopped = newBlock();
    builder_.CreateCondBr(builder_.CreateIsNull(next), stopped, jumped);
    builder_.SetInsertPoint(stopped);
    ret(TranslatedCode::kStopped);
    builder_.SetInsertPoint(jumped);
    leave(next);
  }

  void fence() {
    // Others may look at memory while the wave runs: accesses stay in order, as the interpreter makes them.
    builder_.CreateFence(AtomicOrdering::SequentiallyConsistent, SyncScope::SingleThread);
  }

  /// Leaves the builder where control goes on to the next instruction, or in a block that has ended.
  void emitInstruction(uint32_t n) {
    const GuestInstruction &instruction = at(n);
    if (instruction.endsProgram && code_.keepsAll)
      return (void)builder_.CreateBr(exitBlock(n, n));
    if (instruction.endsProgram) // nobody will see the registers of a wave that has ended
      return ret(TranslatedCode::kEnded);
    if (instruction.target != GuestInstruction::kNowhere) {
      BasicBlock *taken = wayTo(n, instruction.target);
      if (instruction.next == GuestInstruction::kNowhere)
        builder_.CreateBr(taken);
      else
        builder_.CreateCondBr(builder_.CreateCall(steps_[n], {state_}), wayTo(n, instruction.next), taken);
      return;
    }
    if (steps_[n] && instruction.memory) {
      Value *done = builder_.CreateCall(steps_[n], {state_});
      fence();
      BasicBlock *otherwise = newBlock("handler"), *next = newBlock();
      builder_.CreateCondBr(done, next, otherwise, MDBuilder(context_).createLikelyBranchWeights());
      builder_.SetInsertPoint(otherwise);
      callHandler(n);
      builder_.CreateBr(next);
      builder_.SetInsertPoint(next);
    } else if (steps_[n]) {
      unless(builder_.CreateCall(steps_[n], {state_}), exitBlock(n, n));
    } else {
      callHandler(n);
      if (builder_.GetInsertBlock()->getTerminator())
        return;
    }
    if (instruction.fullAfter && instruction.writes.contains(Reg::ExecLo)) {
      unless(isFull(state_), unexpectedExec(n));
      setFull();
    }
    if (at(instruction.next).startsBlock || instruction.next != n + 1)
      builder_.CreateBr(wayTo(n, instruction.next));
  }

  Value *execOf(Value *wave) { return at(wave, offsetof(WaveState, s) + kExec * 4); }
  Value *isFull(Value *wave) {
    return builder_.CreateICmpEQ(builder_.CreateAlignedLoad(builder_.getInt64Ty(), execOf(wave), Align(8)),
                                 builder_.getInt64(~0ull));
  }
  void setFull() { builder_.CreateAlignedStore(builder_.getInt64(~0ull), execOf(state_), Align(8)); }

  /// Where waves come in at instruction n: fetches the registers.
  BasicBlock *entryBlock(uint32_t n) {
    BasicBlock *block = newBlock("entry");
    builder_.SetInsertPoint(block);
    builder_.CreateMemCpy(state_, Align(64), wave_, Align(64), sizeof(WaveState));
    if (at(n).full) {
      BasicBlock *refused = newBlock();
      unless(isFull(wave_), refused);
      const IRBuilder<>::InsertPointGuard guard(builder_);
      builder_.SetInsertPoint(refused);
      ret(TranslatedCode::kRefused);
    }
    if (at(n).full)
      setFull();
    if (n != code_.entry) {
      copyRegisters(state_, wave_, usedVectors_);
    } else {
      for (Reg reg = usedVectors_.firstFrom(Reg::V0); reg != Reg::End; reg = usedVectors_.firstFrom(reg + 1)) {
        const uint64_t row = number(reg) - number(Reg::V0), size = sizeof(Wave::v[0]), offset = kVectors + row * size;
        if (row < given_)
          builder_.CreateMemCpy(at(state_, offset), Align(64), at(function_->getArg(1), row * size), Align(64), size);
        else
          builder_.CreateMemSet(at(state_, offset), builder_.getInt8(0), size, Align(64));
      }
    }
    builder_.CreateBr(blocks_[n]);
    return block;
  }

  bool emitWhole(const std::string &name) {
    Type *word = builder_.getInt32Ty();
    function_ = Function::Create(FunctionType::get(word, {pointer(), pointer(), word, word}, false),
                                 GlobalValue::ExternalLinkage, name, module_);
    for (const Function *step : steps_)
      if (step) {
        for (const char *attribute : kTargetAttributes)
          if (step->hasFnAttribute(attribute))
            function_->addFnAttr(step->getFnAttribute(attribute));
        break;
      }
    function_->addFnAttr(Attribute::NoUnwind);
    wave_ = function_->getArg(0);
    for (const unsigned n : {0u, 1u}) {
      Argument *argument = function_->getArg(n);
      argument->addAttr(Attribute::getWithAlignment(context_, Align(64)));
    }

    builder_.SetInsertPoint(newBlock());
    AllocaInst *state = builder_.CreateAlloca(ArrayType::get(builder_.getInt8Ty(), sizeof(Wave)));
    state->setAlignment(Align(alignof(Wave)));
    state_ = state;
    AllocaInst *budget = builder_.CreateAlloca(word);
    budget_ = budget;
    builder_.CreateStore(function_->getArg(3), budget_);
    BasicBlock *unknown = newBlock();
    SwitchInst *dispatch = builder_.CreateSwitch(function_->getArg(2), unknown);
    builder_.SetInsertPoint(unknown);
    builder_.CreateUnreachable();

    usedVectors_ = usedVectors();
    blocks_.resize(steps_.size());
    for (uint32_t n = 0; n < steps_.size(); ++n)
      if (at(n).startsBlock)
        blocks_[n] = newBlock("at" + std::to_string(n));
    for (uint32_t n = 0; n < steps_.size(); ++n)
      if (at(n).target != GuestInstruction::kNowhere && at(n).next != GuestInstruction::kNowhere && !steps_[n]) {
        why_ = std::string(at(n).record.row->mnemonic) + ", whose condition cannot be translated";
        return false;
      }
    for (uint32_t n = 0; n < steps_.size(); ++n)
      if (at(n).entry)
        dispatch->addCase(builder_.getInt32(n), entryBlock(n));
    for (uint32_t n = 0; n < steps_.size(); ++n) {
      if (at(n).startsBlock)
        builder_.SetInsertPoint(blocks_[n]);
      emitInstruction(n);
    }
    optimise(module_, &machine_, OptimizationLevel::O2);
    return true;
  }
  BasicBlock *newBlock(const std::string &name) { return newBlock(name.c_str()); }

  static constexpr const char *kTargetAttributes[] = {
      "target-cpu", "target-features", "tune-cpu", "prefer-vector-width", "min-legal-vector-width", "no-trapping-math"};

  Module &module_;
  TargetMachine &machine_;
  LLVMContext &context_;
  const GuestCode &code_;
  uint32_t given_;
  std::string &why_;
  IRBuilder<> builder_;
  std::vector<Function *> steps_; ///< by instruction; null: none
  RegSet usedVectors_;
  Function *function_ = nullptr;
  Value *wave_ = nullptr, *state_ = nullptr, *budget_ = nullptr;
  std::vector<BasicBlock *> blocks_; ///< by instruction; null: in the middle of one
};

} // namespace

bool emitTranslation(Module &module, TargetMachine &machine, const GuestCode &code, uint32_t given,
                     const std::string &name, std::vector<uint32_t> &called, std::string &why) {
  return Emitter(module, machine, code, given, why).emit(name, called);
}

} // namespace luthier::vgpu
