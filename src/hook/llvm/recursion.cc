#include "hook/llvm/recursion.h"

#include "hook/llvm/ir.h"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace luthier::hook {

namespace {

std::string nameOf(const llvm::Function &function) { return llvm::demangle(function.getName().str()); }

const llvm::Function *calleeOf(const llvm::Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function *const callee = call ? call->getCalledFunction() : nullptr;
  return callee && !callee->isDeclaration() ? callee : nullptr;
}

/// A function of a cycle whose values all live in variables wherever its code is left: at the ends of blocks, and where
/// it calls a function of the cycle.
class Member {
public:
  static constexpr uint64_t kAlignment = 16;

  Member(llvm::Function &function, const std::set<const llvm::Function *> &cycle)
      : function_(function), cycle_(cycle), parameters_(function.arg_size()) {}

  Result<void> prepare() {
    llvm::stripDebugInfo(function_);
    LUTHIER_TRY(check());
    isolateCalls();
    keepParameters();
    repeatAddresses();
    keepValues();
    layOut();
    return {};
  }

  llvm::Function &function() const { return function_; }
  const std::vector<llvm::CallInst *> &calls() const { return calls_; }
  const std::map<llvm::AllocaInst *, uint64_t> &variables() const { return variables_; }
  std::optional<uint64_t> parameter(unsigned n) const {
    return parameters_[n] ? std::optional(variables_.at(parameters_[n])) : std::nullopt;
  }
  uint64_t bytes() const { return bytes_; }

private:
  Result<void> check() {
    std::vector<llvm::Instruction *> markers;
    for (llvm::Instruction &instruction : llvm::instructions(function_)) {
      if (const auto *local = llvm::dyn_cast<llvm::AllocaInst>(&instruction); local && !local->isStaticAlloca())
        return makeError("{}, which calls itself, allocates local memory whose size is not a constant",
                         nameOf(function_));
      if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction); call && call->isLifetimeStartOrEnd())
        markers.push_back(&instruction);
    }
    for (llvm::Instruction *marker : markers)
      marker->eraseFromParent();
    for (const llvm::Argument &argument : function_.args())
      if (argument.hasByValAttr() || argument.hasByRefAttr())
        return makeError("{}, which calls itself, takes a large structure by value: pass a pointer to it",
                         nameOf(function_));
    return {};
  }

  llvm::AllocaInst *newVariable(llvm::Type *type) {
    llvm::IRBuilder<> b(&*function_.getEntryBlock().begin());
    return b.CreateAlloca(type, kPrivateSpace);
  }

  /// Whoever calls stores them.
  void keepParameters() {
    for (llvm::Argument &argument : function_.args()) {
      if (argument.use_empty())
        continue;
      llvm::AllocaInst *const variable = parameters_[argument.getArgNo()] = newVariable(argument.getType());
      for (llvm::Use *use : usesOf(argument)) {
        auto *user = llvm::cast<llvm::Instruction>(use->getUser());
        if (const auto *phi = llvm::dyn_cast<llvm::PHINode>(user))
          user = phi->getIncomingBlock(*use)->getTerminator();
        use->set(llvm::IRBuilder<>(user).CreateLoad(argument.getType(), variable));
      }
    }
  }

  static std::vector<llvm::Use *> usesOf(llvm::Value &value) {
    std::vector<llvm::Use *> uses;
    for (llvm::Use &use : value.uses())
      uses.push_back(&use);
    return uses;
  }

  /// A call becomes the end of its block's work: what it is given and what it returns is read and kept around it.
  void isolateCalls() {
    for (llvm::Instruction &instruction : llvm::instructions(function_))
      if (const llvm::Function *callee = calleeOf(instruction); callee && cycle_.contains(callee))
        calls_.push_back(llvm::cast<llvm::CallInst>(&instruction));
    for (llvm::CallInst *call : calls_) {
      llvm::SplitBlock(call->getParent(), call);
      llvm::SplitBlock(call->getParent(), call->getNextNode());
    }
  }

  /// Addresses of variables are made anew where they are used: kept in a variable, nobody would know what they are.
  void repeatAddresses() {
    const auto isAddress = [](const llvm::Instruction &instruction) {
      const auto *element = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
      if (!llvm::isa<llvm::AddrSpaceCastInst>(instruction) && !(element && element->hasAllConstantIndices()))
        return false;
      const llvm::Value *of = instruction.getOperand(0);
      while (const auto *inner = llvm::dyn_cast<llvm::Instruction>(of)) {
        if (llvm::isa<llvm::AllocaInst>(inner))
          return true;
        if (!llvm::isa<llvm::AddrSpaceCastInst, llvm::GetElementPtrInst>(inner))
          return false;
        of = inner->getOperand(0);
      }
      return false;
    };
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<llvm::Instruction *> addresses;
      for (llvm::Instruction &instruction : llvm::instructions(function_))
        if (isAddress(instruction))
          addresses.push_back(&instruction);
      for (llvm::Instruction *address : addresses)
        for (llvm::Use *use : usesOf(*address)) {
          auto *const user = llvm::cast<llvm::Instruction>(use->getUser());
          if (user->getParent() == address->getParent() || llvm::isa<llvm::PHINode>(user))
            continue;
          llvm::Instruction *const copy = address->clone();
          copy->insertBefore(user->getIterator());
          use->set(copy);
          changed = true;
        }
    }
  }

  void keepValues() {
    llvm::BasicBlock &entry = function_.getEntryBlock();
    std::vector<llvm::Instruction *> kept;
    std::vector<llvm::PHINode *> merged;
    for (llvm::Instruction &instruction : llvm::instructions(function_)) {
      if (llvm::isa<llvm::AllocaInst>(instruction) && instruction.getParent() == &entry)
        continue;
      if (std::ranges::any_of(instruction.users(), [&](const llvm::User *user) {
            return llvm::cast<llvm::Instruction>(user)->getParent() != instruction.getParent() ||
                   llvm::isa<llvm::PHINode>(user);
          }))
        kept.push_back(&instruction);
    }
    for (llvm::Instruction *instruction : kept)
      llvm::DemoteRegToStack(*instruction, false, entry.begin());
    for (llvm::Instruction &instruction : llvm::instructions(function_))
      if (auto *phi = llvm::dyn_cast<llvm::PHINode>(&instruction))
        merged.push_back(phi);
    for (llvm::PHINode *phi : merged)
      llvm::DemotePHIToStack(phi, entry.begin());
  }

  /// An activation: where to go on behind it, and all variables.
  void layOut() {
    const llvm::DataLayout &layout = function_.getDataLayout();
    bytes_ = 4;
    for (llvm::Instruction &instruction : llvm::instructions(function_))
      if (auto *variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
        bytes_ = llvm::alignTo(bytes_, std::min(variable->getAlign(), llvm::Align(kAlignment)));
        variables_[variable] = bytes_;
        bytes_ += variable->getAllocationSize(layout)->getFixedValue();
      }
    bytes_ = llvm::alignTo(bytes_, kAlignment);
  }

  llvm::Function &function_;
  const std::set<const llvm::Function *> &cycle_;
  std::vector<llvm::AllocaInst *> parameters_;
  std::vector<llvm::CallInst *> calls_;
  std::map<llvm::AllocaInst *, uint64_t> variables_;
  uint64_t bytes_ = 0;
};

/// One function that does what a function of a cycle does, without calls of the cycle.
class Loop {
public:
  Loop(const std::vector<std::unique_ptr<Member>> &members, llvm::Function &first, unsigned depth)
      : members_(members), first_(first), depth_(depth), context_(first.getContext()), b_(context_) {
    for (const auto &member : members)
      step_ = std::max(step_, member->bytes());
  }

  llvm::Function &build() {
    loop_ = llvm::Function::Create(first_.getFunctionType(), llvm::GlobalValue::InternalLinkage,
                                   first_.getName() + ".loop", first_.getParent());
    loop_->copyAttributesFrom(&first_);
    loop_->removeFnAttr(llvm::Attribute::NoInline);
    loop_->removeFnAttr(llvm::Attribute::Memory);
    loop_->addFnAttr(llvm::Attribute::AlwaysInline);
    auto *const entry = newBlock("entry");
    dispatch_ = newBlock("dispatch");
    leave_ = newBlock("leave");
    tooDeep_ = newBlock("too_deep");
    b_.SetInsertPoint(entry);
    stack_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), depth_ * step_), kPrivateSpace);
    stack_->setAlignment(llvm::Align(Member::kAlignment));
    top_ = b_.CreateAlloca(b_.getInt32Ty(), kPrivateSpace);
    state_ = b_.CreateAlloca(b_.getInt32Ty(), kPrivateSpace);
    for (const auto &member : members_)
      if (llvm::Type *const type = member->function().getReturnType(); !type->isVoidTy()) {
        results_[&member->function()] = b_.CreateAlloca(type, kPrivateSpace);
        b_.CreateStore(llvm::Constant::getNullValue(type), results_.at(&member->function()));
      }
    b_.CreateStore(b_.getInt32(0), top_);
    std::vector<llvm::Value *> arguments;
    for (llvm::Argument &argument : loop_->args())
      arguments.push_back(&argument);

    b_.SetInsertPoint(dispatch_);
    choice_ = b_.CreateSwitch(b_.CreateLoad(b_.getInt32Ty(), state_), leave_); // 0: the first one returns
    for (const auto &member : members_)
      copy(*member);
    for (llvm::CallInst *call : calls_)
      replaceCall(*call);
    b_.SetInsertPoint(entry);
    enter(first_, arguments, 0, 0);
    b_.SetInsertPoint(tooDeep_);
    createStop(b_);
    b_.CreateBr(leave_);
    b_.SetInsertPoint(leave_);
    if (results_.contains(&first_))
      b_.CreateRet(b_.CreateLoad(first_.getReturnType(), results_.at(&first_)));
    else
      b_.CreateRetVoid();
    return *loop_;
  }

private:
  llvm::BasicBlock *newBlock(const llvm::Twine &name) { return llvm::BasicBlock::Create(context_, name, loop_); }

  /// A place in the activation on top, or in the next one.
  llvm::Value *address(uint64_t offset) {
    llvm::Value *const top = b_.CreateLoad(b_.getInt32Ty(), top_);
    return b_.CreatePtrAdd(stack_, b_.CreateAdd(top, b_.getInt32(static_cast<uint32_t>(offset))));
  }
  void moveTop(uint64_t by) {
    llvm::Value *const top = b_.CreateLoad(b_.getInt32Ty(), top_);
    b_.CreateStore(b_.CreateAdd(top, b_.getInt32(static_cast<uint32_t>(by))), top_);
  }
  uint32_t newState(llvm::BasicBlock *block) {
    choice_->addCase(b_.getInt32(++states_), block);
    return states_;
  }

  /// Goes to a function whose activation is `above` bytes above the one on top, and which returns to `back`.
  void enter(llvm::Function &function, const std::vector<llvm::Value *> &arguments, uint64_t above, uint32_t back) {
    const Member &member = memberOf(function);
    for (unsigned n = 0; n < arguments.size(); ++n)
      if (const auto offset = member.parameter(n))
        b_.CreateStore(arguments[n], address(above + *offset));
    b_.CreateStore(b_.getInt32(back), address(above));
    if (above)
      moveTop(above);
    b_.CreateStore(b_.getInt32(entries_.at(&function)), state_);
    b_.CreateBr(dispatch_);
  }

  const Member &memberOf(const llvm::Function &function) const {
    return **std::ranges::find_if(members_, [&](const auto &member) { return &member->function() == &function; });
  }

  void copy(const Member &member) {
    llvm::ValueToValueMapTy map;
    std::vector<llvm::BasicBlock *> blocks;
    for (llvm::BasicBlock &block : member.function()) {
      blocks.push_back(llvm::CloneBasicBlock(&block, map, "", loop_));
      map[&block] = blocks.back();
    }
    for (llvm::BasicBlock *block : blocks)
      for (llvm::Instruction &instruction : *block)
        llvm::RemapInstruction(&instruction, map, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
    for (const auto &[variable, offset] : member.variables()) {
      auto *const copied = llvm::cast<llvm::AllocaInst>(static_cast<llvm::Value *>(map[variable]));
      for (llvm::User *user : std::vector<llvm::User *>(copied->user_begin(), copied->user_end())) {
        b_.SetInsertPoint(llvm::cast<llvm::Instruction>(user));
        user->replaceUsesOfWith(copied, address(offset));
      }
      copied->eraseFromParent();
    }
    entries_[&member.function()] = newState(blocks.front());
    for (llvm::CallInst *call : member.calls())
      calls_.push_back(llvm::cast<llvm::CallInst>(static_cast<llvm::Value *>(map[call])));
    for (llvm::BasicBlock *block : blocks)
      if (auto *back = llvm::dyn_cast<llvm::ReturnInst>(block->getTerminator()))
        leave(member, *back);
  }

  void leave(const Member &member, llvm::ReturnInst &back) {
    b_.SetInsertPoint(&back);
    if (back.getReturnValue())
      b_.CreateStore(back.getReturnValue(), results_.at(&member.function()));
    b_.CreateStore(b_.CreateLoad(b_.getInt32Ty(), address(0)), state_);
    moveTop(-step_);
    b_.CreateBr(dispatch_);
    back.eraseFromParent();
  }

  void replaceCall(llvm::CallInst &call) {
    llvm::Function &callee = *call.getCalledFunction();
    llvm::BasicBlock *const before = call.getParent();
    llvm::BasicBlock *const behind = llvm::SplitBlock(before, &call);
    before->getTerminator()->eraseFromParent();
    auto *const deeper = newBlock("call");
    b_.SetInsertPoint(before);
    llvm::Value *const top = b_.CreateLoad(b_.getInt32Ty(), top_);
    b_.CreateCondBr(b_.CreateICmpUGE(top, b_.getInt32(static_cast<uint32_t>((depth_ - 1) * step_))), tooDeep_, deeper);
    b_.SetInsertPoint(deeper);
    enter(callee, std::vector<llvm::Value *>(call.arg_begin(), call.arg_end()), step_, newState(behind));
    b_.SetInsertPoint(&call);
    if (!call.getType()->isVoidTy())
      call.replaceAllUsesWith(b_.CreateLoad(call.getType(), results_.at(&callee)));
    call.eraseFromParent();
  }

  const std::vector<std::unique_ptr<Member>> &members_;
  llvm::Function &first_;
  const unsigned depth_;
  llvm::LLVMContext &context_;
  llvm::IRBuilder<> b_;
  uint64_t step_ = 0; ///< bytes of an activation
  uint32_t states_ = 0;
  llvm::Function *loop_ = nullptr;
  llvm::BasicBlock *dispatch_ = nullptr, *leave_ = nullptr, *tooDeep_ = nullptr;
  llvm::AllocaInst *stack_ = nullptr, *top_ = nullptr, *state_ = nullptr;
  llvm::SwitchInst *choice_ = nullptr;
  std::map<const llvm::Function *, llvm::AllocaInst *> results_;
  std::map<const llvm::Function *, uint32_t> entries_; ///< states
  std::vector<llvm::CallInst *> calls_;
};

} // namespace

std::vector<Cycle> cyclesOf(llvm::Module &module) {
  std::vector<Cycle> cycles;
  llvm::CallGraph graph(module);
  for (auto group = llvm::scc_begin(&graph); !group.isAtEnd(); ++group)
    if (group.hasCycle()) {
      Cycle &cycle = cycles.emplace_back();
      for (const llvm::CallGraphNode *node : *group)
        if (node->getFunction())
          cycle.push_back(node->getFunction());
    }
  return cycles;
}

Result<unsigned> recursionBound(const Cycle &cycle) {
  unsigned bound = 0;
  for (const llvm::Function *function : cycle) {
    const llvm::Attribute attribute = function->getFnAttribute(kRecursionAttribute);
    if (!attribute.isValid())
      continue;
    unsigned stated = 0;
    if (attribute.getValueAsString().getAsInteger(10, stated) || stated == 0 || stated > kMaxRecursion)
      return makeError("{} is marked LUTHIER_RECURSION({}); numbers from 1 to {} are possible", nameOf(*function),
                       view(attribute.getValueAsString()), kMaxRecursion);
    bound = std::max(bound, stated);
  }
  return bound;
}

Result<bool> unwindRecursion(llvm::Module &module) {
  const std::vector<Cycle> cycles = cyclesOf(module);
  for (const auto &cycle : cycles) {
    const std::set<const llvm::Function *> functions(cycle.begin(), cycle.end());
    const unsigned depth = LUTHIER_TRY(recursionBound(cycle));
    std::vector<std::unique_ptr<Member>> members;
    for (llvm::Function *function : cycle) {
      members.push_back(std::make_unique<Member>(*function, functions));
      LUTHIER_TRY(members.back()->prepare());
    }
    for (const auto &member : members) {
      std::vector<llvm::CallInst *> outside;
      for (llvm::User *user : member->function().users())
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(user); call && !functions.contains(call->getFunction()))
          outside.push_back(call);
      if (outside.empty())
        continue;
      llvm::Function &loop = Loop(members, member->function(), depth).build();
      for (llvm::CallInst *call : outside)
        call->setCalledFunction(&loop);
    }
  }
  return !cycles.empty();
}

} // namespace luthier::hook
