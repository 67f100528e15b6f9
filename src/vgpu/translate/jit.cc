// The translator: guest code to LLVM IR to host code.
//
// It knows next to nothing of instructions. What each does is the row's attempt (exec/row.h), compiled to bitcode from
// the same sources as the interpreter, and embedded here. A translation calls one attempt after another on a Wave that
// is a local variable, each with its instruction record as a constant; inlining and scalar replacement then turn
// registers into values in host registers, and operand kinds and dead results into nothing.
//
// The optimiser must not compute with floating-point values that it happens to know, because its rounding is not the
// guest's; attempts hide them (`Loop::hideVectors`, exec/valu.h). And it takes for granted that denormals are not
// flushed, which nothing talks it out of: translated code is only for modes that keep them.
//
// A translation must work wherever the process maps it: next to the library or terabytes away. JITLink maps the code
// and data of one translation together, so a translation has all of its data to itself: every definition in its module
// is internal, and nothing is shared with earlier translations. What it may call outside is listed in kOutside and
// reached through 64-bit addresses; the process's symbols are not visible to it.
//
// LLVM would print its errors, or end the process. Its messages go into `why` instead (Messages), and what it cannot
// survive to the caller's OnFatal.

#include "vgpu/translate/translator.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <cstddef>
#include <cstring>
#include <optional>

extern "C" const char luthierBitcode[], luthierBitcodeEnd[]; // embedded.cc

namespace luthier::vgpu {
namespace {

using namespace llvm;
using llvm::Type;

/// Members of Row as the bitcode's initialisers have them.
enum RowMember : unsigned { kMnemonicMember = 0, kAttemptMember = 9 };

class Code final : public TranslatedCode {
public:
  explicit Code(orc::ResourceTrackerSP tracker) : tracker_(std::move(tracker)) {}
  ~Code() override { consumeError(tracker_->remove()); }

private:
  orc::ResourceTrackerSP tracker_;
};

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

/// Dwords of a Wave, a bit each.
using Dwords = BitVector;

/// Builds one translation in a module that has the bitcode.
class Emitter {
public:
  Emitter(Module &module, TargetMachine &machine, std::span<const Inst *const> code, uint32_t given, std::string &why)
      : module_(module), machine_(machine), context_(module.getContext()), code_(code), given_(given), why_(why),
        builder_(context_) {}

  /// Leaves nothing in the module but the function `name` and what it needs.
  bool emit(const std::string &name) { return emitSteps() && findWrites() && emitWhole(name); }

  /// By instruction: vector registers written before it.
  std::vector<std::vector<uint16_t>> written() const {
    std::vector<std::vector<uint16_t>> result(code_.size());
    Dwords sofar(sizeof(Wave) / 4);
    for (size_t n = 0; n < code_.size(); ++n) {
      for (uint16_t reg = 0; reg < std::extent_v<decltype(Wave::v)>; ++reg) {
        const unsigned first = (kVectors + reg * sizeof(Wave::v[0])) / 4;
        if (sofar.find_first_in(first, first + kMaxLanes) >= 0)
          result[n].push_back(reg);
      }
      if (n < writes_.size())
        sofar |= writes_[n];
    }
    return result;
  }

private:
  Type *pointer() { return PointerType::getUnqual(context_); }
  Value *at(Value *base, uint64_t offset) {
    return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset);
  }
  Constant *constant(Constant *value, Align align) {
    auto *global = new GlobalVariable(module_, value->getType(), true, GlobalValue::PrivateLinkage, value);
    global->setAlignment(align);
    return global;
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

  /// A function for each instruction: its attempt, for this record alone.
  bool emitSteps() {
    std::vector<GlobalVariable *> tables;
    const StringMap<BitcodeRow> rows = rowsOf(module_, tables);
    auto *type = FunctionType::get(builder_.getInt1Ty(), {pointer()}, false);
    for (const Inst *inst : code_.first(code_.size() - 1)) {
      const auto found = rows.find(inst->row->mnemonic);
      if (found == rows.end() || !isPlain(*inst)) {
        why_ = std::string(inst->row->mnemonic);
        return false;
      }
      Function *attempt = found->second.attempt;
      attempt->removeFnAttr(Attribute::NoInline);
      attempt->addFnAttr(Attribute::AlwaysInline);
      auto *step = Function::Create(type, GlobalValue::ExternalLinkage, "step", module_);
      for (const char *attribute : {"target-cpu", "target-features", "tune-cpu", "prefer-vector-width",
                                    "min-legal-vector-width", "no-trapping-math"})
        if (attempt->hasFnAttribute(attribute))
          step->addFnAttr(attempt->getFnAttribute(attribute));
      step->addFnAttr(Attribute::NoUnwind);
      step->addParamAttr(0, Attribute::NoAlias);
      step->addParamAttr(0, Attribute::getWithAlignment(context_, Align(alignof(Wave))));
      // Not dereferenceable: scalar registers would be loaded by the vector, and with their neighbours stay in memory.
      builder_.SetInsertPoint(BasicBlock::Create(context_, "", step));
      builder_.CreateRet(builder_.CreateCall(attempt, {step->getArg(0), record(*inst, found->second.row)}));
      steps_.push_back(step);
    }
    if (!keepOnly(steps_, tables))
      return false;
    optimise(module_, &machine_, OptimizationLevel::O1);
    for (const GlobalObject &object : module_.global_objects()) {
      const auto *function = dyn_cast<Function>(&object);
      if (object.isDeclaration() && !(function && function->isIntrinsic())) {
        why_ = (function ? "a call of " : "a reference to ") + object.getName().str();
        return false;
      }
    }
    return true;
  }

  /// Reads what `functions` call from the bitcode, and removes everything else.
  bool keepOnly(std::vector<Function *> functions, std::span<GlobalVariable *const> tables) {
    DenseSet<Function *> kept(functions.begin(), functions.end());
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
        if (!function.isDeclaration() && !is_contained(steps_, &function))
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

  /// What each step may write.
  bool findWrites() {
    for (size_t n = 0; n < steps_.size(); ++n) {
      writes_.emplace_back(sizeof(Wave) / 4);
      if (!collectWrites(*steps_[n]->getArg(0), 0, writes_.back())) {
        why_ = std::string(code_[n]->row->mnemonic) + ", which does not say what it writes";
        return false;
      }
    }
    return true;
  }

  bool collectWrites(Value &address, uint64_t offset, Dwords &writes) {
    const DataLayout &layout = module_.getDataLayout();
    const auto add = [&](uint64_t size) {
      if (offset + size > sizeof(Wave) || size == 0)
        return false;
      writes.set(static_cast<unsigned>(offset / 4), static_cast<unsigned>((offset + size + 3) / 4));
      return true;
    };
    for (User *user : address.users()) {
      if (llvm::isa<LoadInst>(user))
        continue;
      if (auto *store = dyn_cast<StoreInst>(user)) {
        if (store->getPointerOperand() != &address ||
            !add(layout.getTypeStoreSize(store->getValueOperand()->getType())))
          return false;
      } else if (auto *gep = dyn_cast<GetElementPtrInst>(user)) {
        APInt further(64, 0);
        if (!gep->accumulateConstantOffset(layout, further) ||
            !collectWrites(*gep, offset + further.getZExtValue(), writes))
          return false;
      } else if (auto *copy = dyn_cast<MemIntrinsic>(user)) {
        const auto *size = dyn_cast<ConstantInt>(copy->getLength());
        if (copy->getDest() == &address && (!size || !add(size->getZExtValue())))
          return false;
      } else {
        return false;
      }
    }
    return true;
  }

  bool emitWhole(const std::string &name) {
    auto *function = Function::Create(FunctionType::get(builder_.getInt32Ty(), {pointer(), pointer()}, false),
                                      GlobalValue::ExternalLinkage, name, module_);
    if (!steps_.empty())
      for (const Attribute &attribute : steps_[0]->getAttributes().getFnAttrs())
        if (attribute.isStringAttribute())
          function->addFnAttr(attribute);
    function->addFnAttr(Attribute::NoUnwind);
    Argument *wave = function->getArg(0), *registers = function->getArg(1);
    for (Argument *argument : {wave, registers}) {
      argument->addAttr(Attribute::NoAlias);
#if LLVM_VERSION_MAJOR >= 21
      argument->addAttr(Attribute::getWithCaptureInfo(context_, CaptureInfo::none()));
#else
      argument->addAttr(Attribute::NoCapture);
#endif
      argument->addAttr(Attribute::getWithAlignment(context_, Align(64)));
    }

    builder_.SetInsertPoint(BasicBlock::Create(context_, "", function));
    AllocaInst *state = builder_.CreateAlloca(ArrayType::get(builder_.getInt8Ty(), sizeof(Wave)));
    state->setAlignment(Align(alignof(Wave)));
    builder_.CreateMemCpy(state, Align(64), wave, Align(64), sizeof(WaveState));
    builder_.CreateMemSet(at(state, kVectors), builder_.getInt8(0), sizeof(Wave::v), Align(64));
    builder_.CreateMemCpy(at(state, kVectors), Align(64), registers, Align(64), given_ * sizeof(Wave::v[0]));
    Value *exec = at(state, offsetof(WaveState, s) + kExec * 4);
    builder_.CreateAlignedStore(builder_.getInt64(~0ull), exec, Align(8));

    MDNode *likely = MDBuilder(context_).createLikelyBranchWeights();
    std::vector<BasicBlock *> exits(code_.size());
    for (BasicBlock *&exit : exits)
      exit = BasicBlock::Create(context_, "exit", function);
    const auto unless = [&](Value *condition, size_t exit) {
      BasicBlock *next = BasicBlock::Create(context_, "", function);
      builder_.CreateCondBr(condition, next, exits[exit], likely);
      builder_.SetInsertPoint(next);
    };
    for (size_t n = 0; n < steps_.size(); ++n) {
      steps_[n]->setLinkage(GlobalValue::InternalLinkage);
      steps_[n]->removeFnAttr(Attribute::NoInline);
      steps_[n]->addFnAttr(Attribute::AlwaysInline);
      unless(builder_.CreateCall(steps_[n], {state}), n);
      // Others may look at memory while the wave runs: accesses stay in order, as the interpreter makes them.
      builder_.CreateFence(AtomicOrdering::SequentiallyConsistent, SyncScope::SingleThread);
      // What follows is for all lanes.
      Value *now = builder_.CreateAlignedLoad(builder_.getInt64Ty(), exec, Align(8));
      unless(builder_.CreateICmpEQ(now, builder_.getInt64(~0ull)), n + 1);
    }
    // Nobody will see the registers of a wave that has ended.
    if (code_.back()->row->mnemonic == "s_endpgm")
      builder_.CreateRet(builder_.getInt32(static_cast<uint32_t>(steps_.size())));
    else
      builder_.CreateBr(exits.back());

    Dwords written(sizeof(Wave) / 4);
    for (size_t n = 0; n < exits.size(); ++n) {
      builder_.SetInsertPoint(exits[n]);
      for (int first = written.find_first(); first >= 0;) {
        int end = written.find_next_unset(static_cast<unsigned>(first));
        end = end < 0 ? static_cast<int>(written.size()) : end;
        const uint64_t offset = static_cast<uint64_t>(first) * 4;
        builder_.CreateMemCpy(at(wave, offset), Align(4), at(state, offset), Align(4),
                              static_cast<uint64_t>(end - first) * 4);
        first = written.find_next(static_cast<unsigned>(end) - 1);
      }
      builder_.CreateRet(builder_.getInt32(static_cast<uint32_t>(n)));
      if (n < writes_.size())
        written |= writes_[n];
    }
    optimise(module_, &machine_, OptimizationLevel::O2);
    return true;
  }

  Module &module_;
  TargetMachine &machine_;
  LLVMContext &context_;
  std::span<const Inst *const> code_;
  uint32_t given_;
  std::string &why_;
  IRBuilder<> builder_;
  std::vector<Function *> steps_;
  std::vector<Dwords> writes_;
};

/// What LLVM would print while it translates.
class Messages {
public:
  void clear() {
    text_.clear();
    failed_ = false;
  }
  void add(StringRef message) {
    if (!text_.empty())
      text_ += "; ";
    text_ += message;
  }
  /// For LLVMContext, whose own handler ends the process at the first error.
  static void diagnose(const DiagnosticInfo *info, void *messages) {
    std::string text;
    raw_string_ostream stream(text);
    DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    auto &self = *static_cast<Messages *>(messages);
    self.add(stream.str());
    self.failed_ |= info->getSeverity() == DS_Error;
  }
  bool failed() const { return failed_; }
  /// `error` with what was said before it.
  std::string with(Error error) {
    add(toString(std::move(error)));
    return text();
  }
  std::string text() const { return Translator::kLlvmFailed + text_; }

private:
  std::string text_;
  bool failed_ = false;
};

/// All that translations may call outside of themselves: what the code generator makes of copying and filling.
struct OutsideFunction {
  const char *name;
  void *address;
};
const OutsideFunction kOutside[] = {
    {"memcpy", reinterpret_cast<void *>(&memcpy)},
    {"memmove", reinterpret_cast<void *>(&memmove)},
    {"memset", reinterpret_cast<void *>(&memset)},
};

class JitTranslator final : public Translator {
public:
  JitTranslator(std::unique_ptr<orc::LLJIT> jit, std::unique_ptr<TargetMachine> machine, MemoryBufferRef bitcode)
      : jit_(std::move(jit)), machine_(std::move(machine)), bitcode_(bitcode) {
    jit_->getExecutionSession().setErrorReporter([this](Error error) { messages_.add(toString(std::move(error))); });
  }

  std::unique_ptr<TranslatedCode> translate(std::span<const Inst *const> guest, uint32_t given,
                                            std::string &why) override {
    messages_.clear();
    auto context = std::make_unique<LLVMContext>();
    context->setDiagnosticHandlerCallBack(&Messages::diagnose, &messages_);
    auto module = getLazyBitcodeModule(bitcode_, *context);
    if (!module) {
      why = messages_.with(module.takeError());
      return nullptr;
    }
    const std::string name = "kernel" + std::to_string(count_++);
    Emitter emitter(**module, *machine_, guest, given, why);
    if (!emitter.emit(name))
      return nullptr;
    auto written = emitter.written();
    auto tracker = jit_->getMainJITDylib().createResourceTracker();
    auto code = std::make_unique<Code>(tracker);
    if (Error error = jit_->addIRModule(tracker, orc::ThreadSafeModule(std::move(*module), std::move(context)))) {
      why = messages_.with(std::move(error));
      return nullptr;
    }
    auto address = jit_->lookup(name);
    if (!address) {
      why = messages_.with(address.takeError());
      return nullptr;
    }
    if (messages_.failed()) {
      why = messages_.text();
      return nullptr;
    }
    code->entry = address->toPtr<TranslatedCode::Entry>();
    code->written = std::move(written);
    return code;
  }

private:
  std::unique_ptr<orc::LLJIT> jit_;
  std::unique_ptr<TargetMachine> machine_;
  MemoryBufferRef bitcode_;
  Messages messages_;
  uint64_t count_ = 0;
};

std::unique_ptr<Translator> make(StringRef level, OnFatal onFatal) {
  if (level != "avx512")
    return nullptr;
  const auto fatal = [](void *handler, const char *reason, bool) { reinterpret_cast<OnFatal>(handler)(reason); };
  install_fatal_error_handler(fatal, reinterpret_cast<void *>(onFatal));
  install_bad_alloc_error_handler(fatal, reinterpret_cast<void *>(onFatal));
  const MemoryBufferRef bitcode(StringRef(luthierBitcode, static_cast<size_t>(luthierBitcodeEnd - luthierBitcode)),
                                "handlers");
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto builder = orc::JITTargetMachineBuilder::detectHost();
  if (!builder) {
    consumeError(builder.takeError());
    return nullptr;
  }
  auto machine = builder->createTargetMachine();
  if (!machine) {
    consumeError(machine.takeError());
    return nullptr;
  }
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(*builder)
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .create();
  if (!jit) {
    consumeError(jit.takeError());
    return nullptr;
  }
  orc::SymbolMap outside;
  for (const OutsideFunction &function : kOutside)
    outside[(*jit)->mangleAndIntern(function.name)] = {orc::ExecutorAddr::fromPtr(function.address),
                                                       JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  if (Error error = (*jit)->getMainJITDylib().define(orc::absoluteSymbols(std::move(outside)))) {
    consumeError(std::move(error));
    return nullptr;
  }
  return std::make_unique<JitTranslator>(std::move(*jit), std::move(*machine), bitcode);
}

} // namespace
} // namespace luthier::vgpu

extern "C" __attribute__((visibility("default"))) luthier::vgpu::Translator *
luthierVgpuMakeTranslator(const char *level, luthier::vgpu::OnFatal onFatal) {
  return luthier::vgpu::make(level, onFatal).release();
}
