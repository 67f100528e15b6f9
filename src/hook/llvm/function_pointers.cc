#include "hook/llvm/function_pointers.h"

#include "hook/llvm/ir.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <map>
#include <set>

namespace luthier::hook {

namespace {

class Numbering {
public:
  explicit Numbering(llvm::Module &module) : module_(module) {
    for (const llvm::Function &function : module)
      if (!function.isDeclaration())
        numbers_.emplace(&function, numbers_.size() + 1); // 0 is the null pointer
  }

  void run() {
    for (llvm::GlobalVariable &variable : module_.globals()) {
      if (!variable.hasInitializer() || variable.getName().starts_with("llvm."))
        continue;
      inVtable_ = variable.getName().starts_with("_ZTV");
      if (llvm::Constant *const numbered = number(*variable.getInitializer()); numbered != variable.getInitializer())
        variable.setInitializer(numbered);
    }
    inVtable_ = false;
    for (llvm::Function &function : module_)
      for (llvm::Instruction &instruction : llvm::instructions(function))
        numberOperands(instruction);
    std::vector<llvm::CallInst *> calls;
    for (llvm::Function &function : module_)
      for (llvm::Instruction &instruction : llvm::instructions(function))
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            call && !call->isInlineAsm() && !llvm::isa<llvm::Function>(call->getCalledOperand()->stripPointerCasts()))
          calls.push_back(call);
    for (llvm::CallInst *call : calls)
      choose(*call);
  }

private:
  void numberOperands(llvm::Instruction &instruction) {
    for (llvm::Use &operand : instruction.operands()) {
      const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call && call->isCallee(&operand))
        continue;
      if (auto *constant = llvm::dyn_cast<llvm::Constant>(operand.get()))
        if (llvm::Constant *const numbered = number(*constant); numbered != constant)
          operand.set(numbered);
    }
  }

  /// The constant with numbers for the functions in it.
  llvm::Constant *number(llvm::Constant &constant) {
    if (auto *function = llvm::dyn_cast<llvm::Function>(&constant)) {
      const auto found = numbers_.find(function);
      if (found == numbers_.end())
        return inVtable_ ? llvm::ConstantPointerNull::get(function->getType()) : &constant;
      taken_.insert(function);
      auto *const value = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module_.getContext()), found->second);
      return llvm::ConstantExpr::getIntToPtr(value, function->getType());
    }
    // Type information and purely virtual functions, which nobody uses.
    if (inVtable_ && llvm::isa<llvm::GlobalValue>(constant))
      return llvm::ConstantPointerNull::get(llvm::cast<llvm::PointerType>(constant.getType()));
    if (llvm::isa<llvm::GlobalValue, llvm::ConstantData>(constant))
      return &constant;
    std::vector<llvm::Constant *> operands;
    bool changed = false;
    for (llvm::Use &operand : constant.operands()) {
      auto *const old = llvm::dyn_cast<llvm::Constant>(operand.get());
      if (!old)
        return &constant;
      operands.push_back(number(*old));
      changed |= operands.back() != old;
    }
    if (!changed)
      return &constant;
    if (auto *expression = llvm::dyn_cast<llvm::ConstantExpr>(&constant))
      return expression->getWithOperands(operands);
    if (auto *type = llvm::dyn_cast<llvm::StructType>(constant.getType()))
      return llvm::ConstantStruct::get(type, operands);
    if (auto *type = llvm::dyn_cast<llvm::ArrayType>(constant.getType()))
      return llvm::ConstantArray::get(type, operands);
    return llvm::isa<llvm::ConstantVector>(constant) ? llvm::ConstantVector::get(operands) : &constant;
  }

  void choose(llvm::CallInst &call) {
    std::vector<llvm::Function *> candidates; // in the module's order
    for (llvm::Function &function : module_)
      if (taken_.contains(&function) && function.getFunctionType() == call.getFunctionType())
        candidates.push_back(&function);
    if (candidates.empty())
      return;
    llvm::LLVMContext &context = module_.getContext();
    llvm::BasicBlock *const head = call.getParent();
    llvm::BasicBlock *const rest = llvm::SplitBlock(head, &call);
    llvm::Function *const caller = head->getParent();
    head->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> b(head);
    auto *const none = llvm::BasicBlock::Create(context, "none", caller, rest);
    auto *const choice = b.CreateSwitch(b.CreatePtrToInt(call.getCalledOperand(), b.getInt64Ty()), none);
    b.SetInsertPoint(none);
    createStop(b);
    b.CreateBr(rest);
    llvm::PHINode *result = nullptr;
    if (!call.getType()->isVoidTy()) {
      result = llvm::PHINode::Create(call.getType(), static_cast<unsigned>(candidates.size() + 1));
      result->insertBefore(rest->begin());
      result->addIncoming(llvm::Constant::getNullValue(call.getType()), none);
    }
    for (llvm::Function *function : candidates) {
      auto *const block = llvm::BasicBlock::Create(context, function->getName(), caller, rest);
      choice->addCase(b.getInt64(numbers_.at(function)), block);
      b.SetInsertPoint(block);
      auto *const direct = llvm::cast<llvm::CallInst>(call.clone());
      direct->setCalledFunction(function);
      b.Insert(direct);
      b.CreateBr(rest);
      if (result)
        result->addIncoming(direct, block);
    }
    if (result)
      call.replaceAllUsesWith(result);
    call.eraseFromParent();
  }

  llvm::Module &module_;
  std::map<const llvm::Function *, uint64_t> numbers_;
  std::set<const llvm::Function *> taken_;
  bool inVtable_ = false;
};

} // namespace

void numberFunctions(llvm::Module &module) { Numbering(module).run(); }

} // namespace luthier::hook
