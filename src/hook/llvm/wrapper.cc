#include "hook/llvm/wrapper.h"

#include "hook/llvm/ir.h"
#include "hook/llvm/recursion.h"
#include "hook/module_impl.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <tuple>

namespace luthier::hook {

namespace {

/// What the shader convention passes and returns in registers at most.
constexpr unsigned kMaxScalars = 44, kMaxVectors = 136;
constexpr unsigned kConstantSpace = 4;

/// A port in the making.
struct Slot {
  Port port;
  bool scalar = true;
  unsigned dwords = 1;
  bool in = true, out = false;
  unsigned at = 0;                        ///< register number
  llvm::AllocaInst *variable = nullptr;   ///< what may be written
  std::vector<llvm::Value *> inputs = {}; ///< arguments of the wrapper
  std::vector<llvm::Value *> results = {};
};

unsigned alignmentOf(unsigned dwords) { return dwords >= 4 ? 4 : dwords >= 2 ? 2 : 1; }

/// Gives the slots of one register file their numbers: inputs first, tuples aligned. All inputs are returned, those too
/// that nobody asked to be: LLVM then leaves their registers alone, and who places the fragment can name the registers
/// of the kernel in their stead.
void number(std::vector<Slot> &slots, bool scalar, unsigned &inputs, unsigned &outputs) {
  std::vector<Slot *> order;
  for (Slot &slot : slots)
    if (slot.scalar == scalar)
      order.push_back(&slot);
  std::ranges::sort(order, {}, [](const Slot *s) {
    return std::tuple(!s->in, 4 - alignmentOf(s->dwords), s); // they lie in the order of their making
  });
  unsigned next = 0;
  inputs = 0;
  for (Slot *slot : order) {
    const unsigned alignment = alignmentOf(slot->dwords);
    slot->at = (next + alignment - 1) / alignment * alignment;
    next = slot->at + slot->dwords;
    if (slot->in)
      inputs = next;
  }
  outputs = next;
}

class Wrapper {
public:
  Wrapper(llvm::Module &module, const WrapRequest &request)
      : module_(module), request_(request), hook_(request.hook), wave_(request.hook.kind == HookKind::Wave),
        body_(*module.getFunction(hook_.symbol)) {}

  Result<Ports> run() {
    LUTHIER_TRY(collectParameters());
    LUTHIER_TRY(collectReserved());
    LUTHIER_TRY(collectVariables());
    if (hook_.result.dwords)
      slots_.push_back({.port = {.kind = Port::Kind::Result},
                        .scalar = wave_,
                        .dwords = hook_.result.dwords,
                        .in = false,
                        .out = true});
    if (request_.frame)
      slotOf({.kind = Port::Kind::Frame}, true, 1);
    LUTHIER_TRY(makeFunction());
    replaceReserved();
    LUTHIER_TRY(replaceVariables());
    if (wave_)
      makeUniform();
    std::string broken;
    llvm::raw_string_ostream stream(broken);
    if (llvm::verifyFunction(*wrapper_, &stream))
      return refuse(" was wrapped wrongly: {}", stream.str());
    return ports();
  }

private:
  template <class... Args> Error refuse(fmt::format_string<Args...> format, Args &&...args) const {
    return makeError("hook {}{}", hook_.name, fmt::vformat(format, fmt::make_format_args(args...)));
  }

  Result<void> collectParameters() {
    if (request_.sources.size() != hook_.parameters.size())
      return refuse(" has {} parameters, but {} arguments are given", hook_.parameters.size(), request_.sources.size());
    for (size_t n = 0; n < hook_.parameters.size(); ++n) {
      const Source &source = request_.sources[n];
      const HookParameter &parameter = hook_.parameters[n];
      Port port{.kind = Port::Kind::Parameter, .index = static_cast<uint16_t>(n)};
      firstSlot_.push_back(slots_.size());
      if (!isAddress(source.kind)) {
        const bool scalar = source.kind == SourceKind::Scalar;
        if (wave_ && !scalar)
          return refuse(" runs once per wave: parameter {} cannot be a vector register", n);
        slots_.push_back({.port = port, .scalar = scalar, .dwords = parameter.dwords});
        continue;
      }
      if (source.kind != SourceKind::KernelArgument &&
          (parameter.type == ValueType::Float || parameter.type == ValueType::Structure ||
           parameter.dwords * 32u < addressBits(source.kind)))
        return refuse(": parameter {} cannot hold an address of {} bits", n, addressBits(source.kind));
      auto parts = addressParts(source, request_.target);
      if (!parts)
        return refuse(": parameter {}: {}", n, parts.error().message());
      if (wave_ && source.byLane)
        return refuse(" runs once per wave: parameter {} cannot be an address that differs by lane", n);
      for (const AddressPart &part : *parts) {
        if (wave_ && !part.scalar)
          return refuse(" runs once per wave: parameter {} cannot be an address that differs by lane", n);
        port.part = part.part;
        slots_.push_back({.port = port, .scalar = part.scalar, .dwords = part.dwords});
      }
    }
    return {};
  }

  Slot &slotOf(const Port &port, bool scalar, unsigned dwords) {
    const auto it = std::ranges::find_if(slots_, [&](const Slot &s) { return s.port == port; });
    if (it != slots_.end())
      return *it;
    return slots_.emplace_back(Slot{.port = port, .scalar = scalar, .dwords = dwords});
  }

  static Port registerPort(Reg reg, uint16_t count = 1) {
    return {.kind = Port::Kind::Register, .guest = {reg, count}};
  }
  Port execPort() const { return registerPort(Reg::ExecLo, request_.waveSize == 64 ? 2 : 1); }

  Result<void> collectReserved() {
    for (llvm::CallInst *call : reservedCalls(body_)) {
      const std::string_view name = view(call->getCalledFunction()->getName());
      const auto *constant = call->arg_size() ? llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0)) : nullptr;
      const uint64_t number = constant ? constant->getZExtValue() : 0;
      const bool reads = name == reserved::kReadReg, writes = name == reserved::kWriteReg;
      if ((reads || writes || name == reserved::kLaunch32 || name == reserved::kLaunch64) && !constant)
        return refuse(": the number of a register or of a launch value is not a constant");
      if (reads || writes) {
        LUTHIER_TRY(checkRegister(number, writes));
        const Reg reg = static_cast<Reg>(number);
        Slot &slot = slotOf(registerPort(reg), isScalar(reg), 1);
        slot.out |= writes;
      } else if (name == reserved::kLaunch32 || name == reserved::kLaunch64) {
        if (number >= kLaunchValues)
          return refuse(": there is no launch value {}", number);
        const bool vector = isWorkitemId(static_cast<LaunchValue>(number));
        if (wave_ && vector)
          return refuse(" runs once per wave and cannot ask for a work-item id");
        slotOf(launchPort(number), !vector, name == reserved::kLaunch64 ? 2 : 1);
      } else if ((name == reserved::kExec || name == reserved::kActiveLanes) && wave_) {
        slotOf(execPort(), true, execPort().guest.count);
      }
    }
    return {};
  }

  static Port launchPort(uint64_t number) {
    return {.kind = Port::Kind::Launch, .launch = static_cast<uint8_t>(number)};
  }

  Result<void> checkRegister(uint64_t number, bool writes) const {
    const Reg reg = static_cast<Reg>(number);
    const bool scalar = number <= luthier::number(Reg::Scc) && reg != Reg::Null;
    const bool vector = number >= luthier::number(Reg::V0) && number < luthier::number(Reg::End);
    if (!scalar && !vector)
      return refuse(": there is no register number {}", number);
    if (isAccumulator(reg) && request_.target.accVgprs == 0)
      return refuse(": {} has no AccVGPRs", request_.target.name);
    if (vector && wave_)
      return refuse(" runs once per wave and cannot {} {}", writes ? "write" : "read", toString(reg));
    if (scalar && writes && !wave_)
      return refuse(" runs per lane and cannot write {}; a wave hook can", toString(reg));
    if (writes && (reg == Reg::ExecLo || reg == Reg::ExecHi))
      return refuse(" writes EXEC, which controls the active lanes");
    return {};
  }

  /// Expressions of constants become instructions, so that an address can be followed and replaced.
  void spellOutConstants() {
    std::vector<llvm::Constant *> constants;
    for (llvm::GlobalVariable &global : module_.globals()) {
      global.removeDeadConstantUsers(); // what was in lists that are gone
      constants.push_back(&global);
    }
    llvm::convertUsersOfConstantsToInstructions(constants);
  }

  Result<void> collectVariables() {
    spellOutConstants();
    const auto &impl = request_.module.impl();
    for (llvm::GlobalVariable &global : module_.globals()) {
      const auto number = impl.variableOfSymbol.find(view(global.getName()));
      if (global.use_empty() || number == impl.variableOfSymbol.end())
        continue;
      const Variable &variable = impl.variables[number->second];
      variables_.push_back({&global, number->second});
      if (inRegisters(variable.storage)) {
        const bool perWave = variable.storage == Storage::PerWave;
        const VariableUse use = useOf(global);
        if (use.atomic)
          return refuse(" uses {} atomically, which is {}, in registers", variable.name, scopeOf(variable.storage));
        if (perWave && use.written && !wave_)
          return refuse(" runs per lane and cannot write {}, which is per wave", variable.name);
        if (!perWave && wave_)
          return refuse(" runs once per wave and cannot use {}, which is per lane; a lane hook can", variable.name);
        slotOf(variablePort(number->second), perWave, registersOf(variable)).out = use.written;
      } else if (inBlock(variable.storage)) {
        slotOf(blockPort(variable.storage), true, variable.storage == Storage::Lds ? 1 : 2);
      }
    }
    return {};
  }

  /// Of a block of variables.
  static Port blockPort(Storage storage) {
    return {.kind = storage == Storage::PerLaunch ? Port::Kind::LaunchBlock
                    : storage == Storage::Lds     ? Port::Kind::LdsBlock
                                                  : Port::Kind::GroupBlock};
  }

  /// Of a variable in registers.
  Port variablePort(uint32_t variable) const {
    const bool perWave = request_.module.variables()[variable].storage == Storage::PerWave;
    return {.kind = perWave ? Port::Kind::WaveVariable : Port::Kind::LaneVariable,
            .index = static_cast<uint16_t>(variable)};
  }

  Result<void> makeFunction() {
    unsigned scalarsIn = 0, scalarsOut = 0, vectorsIn = 0, vectorsOut = 0;
    number(slots_, true, scalarsIn, scalarsOut);
    number(slots_, false, vectorsIn, vectorsOut);
    if (std::max(scalarsIn, scalarsOut) > kMaxScalars || std::max(vectorsIn, vectorsOut) > kMaxVectors)
      return refuse(" needs {} scalar and {} vector registers for inputs and outputs; {} and {} are possible",
                    std::max(scalarsIn, scalarsOut), std::max(vectorsIn, vectorsOut), kMaxScalars, kMaxVectors);

    llvm::LLVMContext &context = module_.getContext();
    llvm::IRBuilder<> b(context);
    std::vector<llvm::Type *> results(scalarsOut, b.getInt32Ty());
    results.insert(results.end(), vectorsOut, b.getFloatTy());
    if (results.empty()) // a function that returns nothing would end the wave
      results.push_back(b.getInt32Ty());
    auto *const resultType = llvm::StructType::get(context, results);
    auto *const type =
        llvm::FunctionType::get(resultType, std::vector<llvm::Type *>(scalarsIn + vectorsIn, b.getInt32Ty()), false);
    wrapper_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, ref(kWrapperName), module_);
    wrapper_->setCallingConv(llvm::CallingConv::AMDGPU_CS);
    wrapper_->addFnAttr(llvm::Attribute::NoUnwind);
    wrapper_->addFnAttr("warn-stack-size", "0"); // the stack's size is asked for (codegen.cc)
    wrapper_->addFnAttr("amdgpu-ieee", "true");  // as compilers set the mode of kernels, though not of shaders
    for (unsigned n = 0; n < scalarsIn; ++n)
      wrapper_->addParamAttr(n, llvm::Attribute::InReg);

    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", wrapper_));
    for (Slot &slot : slots_) {
      for (unsigned n = 0; slot.in && n < slot.dwords; ++n)
        slot.inputs.push_back(wrapper_->getArg((slot.scalar ? 0 : scalarsIn) + slot.at + n));
      if (slot.port.kind == Port::Kind::Register || slot.port.kind == Port::Kind::WaveVariable ||
          slot.port.kind == Port::Kind::LaneVariable) {
        slot.variable =
            b.CreateAlloca(llvm::ArrayType::get(b.getInt32Ty(), slot.dwords), kPrivateSpace, nullptr, kPortVariable);
        slot.variable->setAlignment(llvm::Align(16)); // no less than the variable's own
      }
    }
    // Two at a time, as vectors: LLVM takes 64 bits that it sees being put together from halves for a sum of these, and
    // adds a constant to the lower one first, which takes an instruction more.
    for (const Slot &slot : slots_)
      for (unsigned n = 0; slot.variable && n < slot.dwords; ++n) {
        llvm::Value *value = slot.inputs[n];
        llvm::Value *const where = b.CreateConstGEP1_32(b.getInt32Ty(), slot.variable, n);
        if (n % 2 == 0 && n + 1 < slot.dwords) {
          llvm::Value *const none = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt32Ty(), 2));
          value = b.CreateInsertElement(none, value, uint64_t{0});
          value = b.CreateInsertElement(value, slot.inputs[++n], uint64_t{1});
        }
        b.CreateStore(value, where);
      }
    std::vector<llvm::Value *> arguments;
    for (unsigned n = 0; n < hook_.parameters.size(); ++n)
      arguments.push_back(argument(b, n));
    llvm::CallInst *const call = b.CreateCall(&body_, arguments);

    llvm::Value *result = llvm::PoisonValue::get(resultType);
    for (Slot &slot : slots_) {
      if (!slot.out)
        slot.results = slot.inputs;
      else if (slot.port.kind == Port::Kind::Result)
        slot.results = resultOf(b, *call, slot.dwords);
      else
        for (unsigned n = 0; n < slot.dwords; ++n)
          slot.results.push_back(b.CreateLoad(b.getInt32Ty(), b.CreateConstGEP1_32(b.getInt32Ty(), slot.variable, n)));
      for (unsigned n = 0; n < slot.dwords; ++n)
        result = slot.scalar ? b.CreateInsertValue(result, slot.results[n], slot.at + n)
                             : b.CreateInsertValue(result, b.CreateBitCast(slot.results[n], b.getFloatTy()),
                                                   scalarsOut + slot.at + n);
    }
    b.CreateRet(result);

    llvm::InlineFunctionInfo info;
    if (const auto inlined = llvm::InlineFunction(*call, info); !inlined.isSuccess())
      return refuse(" cannot be inlined: {}", inlined.getFailureReason());
    if (body_.use_empty())
      body_.eraseFromParent();
    return {};
  }

  /// What the hook returns. Vector registers have what a wave hook computes with floating-point numbers, where there
  /// are no scalar instructions for it.
  std::vector<llvm::Value *> resultOf(llvm::IRBuilder<> &b, llvm::CallInst &call, unsigned count) const {
    std::vector<llvm::Value *> dwords = toDwords(b, &call, count);
    if (wave_ && call.getType()->isFPOrFPVectorTy())
      for (llvm::Value *&dword : dwords)
        dword = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_readfirstlane, {dword->getType()}, {dword});
    return dwords;
  }

  /// The value of a parameter, made from its inputs.
  llvm::Value *argument(llvm::IRBuilder<> &b, unsigned n) {
    const Source &source = request_.sources[n];
    llvm::Type *const type = body_.getArg(n)->getType();
    const size_t first = firstSlot_[n];
    if (!isAddress(source.kind))
      return fromDwords(b, slots_[first].inputs, type);
    std::vector<std::vector<llvm::Value *>> parts;
    for (size_t at = first;
         at < slots_.size() && slots_[at].port.kind == Port::Kind::Parameter && slots_[at].port.index == n; ++at)
      parts.push_back(slots_[at].inputs);
    llvm::Value *address = buildAddress(b, source, request_.target, parts);
    if (source.kind == SourceKind::KernelArgument)
      address = loadArgument(b, address, source.bytes);
    return fromDwords(b, toDwords(b, address, hook_.parameters[n].dwords), type);
  }

  /// A kernel's argument: nobody writes it while the kernel runs.
  llvm::Value *loadArgument(llvm::IRBuilder<> &b, llvm::Value *address, unsigned bytes) {
    const llvm::Align alignment(std::min<uint64_t>(4, bytes & -bytes));
    llvm::LoadInst *const load =
        b.CreateAlignedLoad(b.getIntNTy(8 * bytes), b.CreateIntToPtr(address, b.getPtrTy(kConstantSpace)), alignment);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module_.getContext(), {}));
    return load;
  }

  llvm::Value *read(llvm::IRBuilder<> &b, const Port &port) {
    const Slot &slot = *std::ranges::find_if(slots_, [&](const Slot &s) { return s.port == port; });
    if (!slot.variable)
      return fromDwords(b, slot.inputs, b.getIntNTy(32 * slot.dwords));
    std::vector<llvm::Value *> dwords;
    for (unsigned n = 0; n < slot.dwords; ++n)
      dwords.push_back(b.CreateLoad(b.getInt32Ty(), b.CreateConstGEP1_32(b.getInt32Ty(), slot.variable, n)));
    return fromDwords(b, dwords, b.getIntNTy(32 * slot.dwords));
  }

  static llvm::Value *activeLanes(llvm::IRBuilder<> &b) {
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_ballot, {b.getInt64Ty()}, {b.getTrue()});
  }

  void replaceReserved() {
    llvm::Value *lanesAtEntry = nullptr; // where all active lanes still are
    for (llvm::CallInst *call : reservedCalls(*wrapper_)) {
      llvm::IRBuilder<> b(call);
      const std::string_view name = view(call->getCalledFunction()->getName());
      const auto number = [&] { return llvm::cast<llvm::ConstantInt>(call->getArgOperand(0))->getZExtValue(); };
      llvm::Value *value = nullptr;
      if (name == reserved::kReadReg)
        value = read(b, registerPort(static_cast<Reg>(number())));
      else if (name == reserved::kLaunch32 || name == reserved::kLaunch64)
        value = read(b, launchPort(number()));
      else if (name == reserved::kWaveSize)
        value = b.getInt32(request_.waveSize);
      else if (name == reserved::kPermuteLanes)
        value = b.getInt32(request_.target.permuteLanes);
      else if ((name == reserved::kExec || name == reserved::kActiveLanes) && wave_)
        value = read(b, execPort());
      else if (name == reserved::kExec)
        value = activeLanes(b);
      else if (name == reserved::kActiveLanes) {
        if (!lanesAtEntry) {
          llvm::IRBuilder<> entry(&*wrapper_->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
          lanesAtEntry = activeLanes(entry);
        }
        value = lanesAtEntry;
      } else if (name == reserved::kHardwareId)
        value = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_getreg, {}, {b.getInt32(hardwareId())});
      if (value)
        call->replaceAllUsesWith(b.CreateZExtOrTrunc(value, call->getType()));
      else if (name == reserved::kWriteReg)
        b.CreateStore(call->getArgOperand(1), std::ranges::find_if(slots_, [&](const Slot &s) {
                                                return s.port == registerPort(static_cast<Reg>(number()));
                                              })->variable);
      call->eraseFromParent();
    }
  }

  /// All 32 bits of the register that says where the wave runs.
  uint32_t hardwareId() const {
    constexpr uint32_t kAllBits = 31u << 11;
    return kAllBits | request_.target.hardwareIdRegister;
  }

  Result<void> replaceVariables() {
    spellOutConstants(); // inlining has made some again
    const auto &impl = request_.module.impl();
    for (const auto &[global, number] : variables_) {
      const Variable &variable = impl.variables[number];
      llvm::IRBuilder<> b(&*wrapper_->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      if (variable.hasAddress()) {
        global->setInitializer(nullptr);
        global->setExternallyInitialized(false);
        global->setLinkage(llvm::GlobalValue::ExternalLinkage);
        global->setVisibility(llvm::GlobalValue::DefaultVisibility);
        global->setComdat(nullptr);
        global->setName(ref(kVariablePrefix) + std::to_string(number));
        continue;
      }
      if (inRegisters(variable.storage)) {
        const Port port = variablePort(number);
        const Slot &slot = *std::ranges::find_if(slots_, [&](const Slot &s) { return s.port == port; });
        if (!moveToLocal(*global, *slot.variable))
          return refuse(" stores or computes with the address of {}, which is {}, in registers", variable.name,
                        scopeOf(variable.storage));
        continue;
      }
      llvm::Value *const block = b.CreateIntToPtr(read(b, blockPort(variable.storage)), global->getType());
      llvm::Value *const address = b.CreatePtrAdd(block, b.getInt64(variable.offset));
      global->replaceAllUsesWith(address);
      if (variable.storage == Storage::Lds && !keepInLds(*address))
        return refuse(" stores or computes with the address of {}, which is in LDS", variable.name);
    }
    return {};
  }

  /// A wave hook runs by one lane: what LLVM thinks may differ by lane is that lane's value.
  void makeUniform() {
    std::vector<llvm::Instruction *> divergent;
    for (llvm::Instruction &instruction : llvm::instructions(*wrapper_)) {
      if (llvm::isa<llvm::AtomicRMWInst>(instruction) && !instruction.use_empty())
        divergent.push_back(&instruction);
      // All but constants are loaded to vector registers (codegen.cc).
      if (const auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
          load && !isLocal(load->getPointerOperand()) &&
          (load->getPointerAddressSpace() != kConstantSpace || dependsOnLane(*load->getPointerOperand())))
        divergent.push_back(&instruction);
      if (const auto *part = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction);
          part && llvm::isa<llvm::AtomicCmpXchgInst>(part->getAggregateOperand()))
        divergent.push_back(&instruction);
    }
    for (llvm::Instruction *instruction : divergent)
      hook::makeUniform(*instruction);
  }

  /// Whether a value is made of a lane's number, or of what assembly leaves in a vector register.
  static bool dependsOnLane(const llvm::Value &value) {
    llvm::SmallPtrSet<const llvm::Value *, 16> seen;
    std::vector<const llvm::Value *> left = {&value};
    while (!left.empty()) {
      const auto *instruction = llvm::dyn_cast<llvm::Instruction>(left.back());
      left.pop_back();
      if (!instruction || !seen.insert(instruction).second)
        continue;
      if (const auto *call = llvm::dyn_cast<llvm::CallInst>(instruction)) {
        const llvm::Intrinsic::ID id = call->getIntrinsicID();
        if (call->isInlineAsm() || id == llvm::Intrinsic::amdgcn_mbcnt_lo || id == llvm::Intrinsic::amdgcn_mbcnt_hi)
          return true;
        if (id == llvm::Intrinsic::amdgcn_readfirstlane)
          continue;
      }
      for (const llvm::Value *operand : instruction->operands())
        left.push_back(operand);
    }
    return false;
  }

  /// Whether a pointer is to a local variable, which will be none, or be in the frame (frame.cc).
  static bool isLocal(const llvm::Value *pointer) {
    return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer));
  }

  Ports ports() const {
    Ports result;
    for (const Slot &slot : slots_) {
      const auto at = [&](unsigned n) {
        Port port = slot.port;
        port.regs = {slot.scalar ? sgpr(n) : vgpr(n), static_cast<uint16_t>(slot.dwords)};
        return port;
      };
      if (slot.in)
        result.inputs.push_back(at(slot.at));
      if (slot.out)
        result.outputs.push_back(at(slot.at));
    }
    return result;
  }

  llvm::Module &module_;
  const WrapRequest &request_;
  const Hook &hook_;
  const bool wave_;
  llvm::Function &body_;
  llvm::Function *wrapper_ = nullptr;
  std::vector<Slot> slots_;
  std::vector<size_t> firstSlot_; ///< of each parameter
  std::vector<std::pair<llvm::GlobalVariable *, uint32_t>> variables_;
};

} // namespace

Result<void> addConditional(llvm::Module &module, const WrapRequest &request) {
  if (!request.predicate)
    return {};
  llvm::Function *const predicate = module.getFunction(request.predicate->symbol), *const guarded = module.getFunction(
                                                                                       request.guarded->symbol);
  if (!predicate || !guarded)
    return makeError("hook {} is not in its bitcode any more", request.hook.name);
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> b(context);
  std::vector<llvm::Type *> types = predicate->getFunctionType()->params();
  const llvm::ArrayRef<llvm::Type *> more = guarded->getFunctionType()->params();
  types.insert(types.end(), more.begin(), more.end());
  llvm::Function *const whole = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                                       llvm::GlobalValue::ExternalLinkage, request.hook.symbol, module);
  whole->addFnAttr(llvm::Attribute::NoUnwind);
  whole->addFnAttr(llvm::Attribute::Convergent);
  const auto call = [&](llvm::Function &function, unsigned first) {
    std::vector<llvm::Value *> arguments;
    for (unsigned n = 0; n < function.arg_size(); ++n)
      arguments.push_back(whole->getArg(first + n));
    llvm::CallInst *const made = b.CreateCall(&function, arguments);
    made->setAttributes(function.getAttributes());
    return made;
  };
  llvm::BasicBlock *const entry = llvm::BasicBlock::Create(context, "entry", whole),
                          *const then = llvm::BasicBlock::Create(context, "then", whole),
                          *const end = llvm::BasicBlock::Create(context, "end", whole);
  b.SetInsertPoint(entry);
  b.CreateCondBr(b.CreateIsNotNull(call(*predicate, 0)), then, end);
  b.SetInsertPoint(then);
  call(*guarded, static_cast<unsigned>(predicate->arg_size()));
  b.CreateBr(end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
  return {};
}

Result<void> isolateHook(llvm::Module &module, const WrapRequest &request) {
  if (!module.getFunction(request.hook.symbol))
    return makeError("hook {} is not in its bitcode any more", request.hook.name);
  for (const char *list : {"llvm.global.annotations", "llvm.compiler.used", "llvm.used"})
    if (llvm::GlobalVariable *variable = module.getNamedGlobal(list))
      variable->eraseFromParent();
  llvm::SmallPtrSet<const llvm::Function *, 4> recursive; // for unwindRecursion
  for (const Cycle &cycle : cyclesOf(module))
    recursive.insert(cycle.begin(), cycle.end());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    const bool isHook = function.getName() == request.hook.symbol;
    function.setComdat(nullptr);
    function.setLinkage(isHook ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage);
    function.setVisibility(llvm::GlobalValue::DefaultVisibility);
    if (!isHook)
      function.addFnAttr(recursive.contains(&function) ? llvm::Attribute::NoInline : llvm::Attribute::AlwaysInline);
  }
  // Variables that nobody uses then must not be kept by their linkage.
  for (llvm::GlobalVariable &variable : module.globals())
    if (variable.hasInitializer() && !variable.hasAppendingLinkage()) {
      variable.setVisibility(llvm::GlobalValue::DefaultVisibility);
      variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    }
  return {};
}

Result<Ports> wrapHook(llvm::Module &module, const WrapRequest &request) { return Wrapper(module, request).run(); }

} // namespace luthier::hook
