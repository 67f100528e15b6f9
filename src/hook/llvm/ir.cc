#include "hook/llvm/ir.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <algorithm>
#include <set>

namespace luthier::hook {

llvm::Value *fromDwords(llvm::IRBuilder<> &b, const std::vector<llvm::Value *> &dwords, llvm::Type *type) {
  if (type->isArrayTy()) {
    llvm::Value *words = llvm::PoisonValue::get(type);
    for (unsigned n = 0; n < dwords.size(); ++n)
      words = b.CreateInsertValue(words, dwords[n], n);
    return words;
  }
  const llvm::DataLayout &layout = b.GetInsertBlock()->getDataLayout();
  const auto bits = static_cast<unsigned>(layout.getTypeSizeInBits(type).getFixedValue());
  llvm::Value *whole = dwords[0];
  if (dwords.size() > 1) {
    llvm::Type *const wide = b.getIntNTy(static_cast<unsigned>(32 * dwords.size()));
    whole = b.CreateZExt(dwords[0], wide);
    for (unsigned n = 1; n < dwords.size(); ++n)
      whole = b.CreateOr(whole, b.CreateShl(b.CreateZExt(dwords[n], wide), 32 * n));
  }
  if (type->isPointerTy())
    return b.CreateIntToPtr(whole, type);
  return b.CreateBitCast(b.CreateTrunc(whole, b.getIntNTy(bits)), type);
}

std::vector<llvm::Value *> toDwords(llvm::IRBuilder<> &b, llvm::Value *value, unsigned count) {
  const llvm::DataLayout &layout = b.GetInsertBlock()->getDataLayout();
  llvm::Type *const type = value->getType();
  const auto bits = static_cast<unsigned>(layout.getTypeSizeInBits(type).getFixedValue());
  llvm::Value *whole =
      type->isPointerTy() ? b.CreatePtrToInt(value, b.getIntNTy(bits)) : b.CreateBitCast(value, b.getIntNTy(bits));
  whole = b.CreateZExt(whole, b.getIntNTy(32 * count));
  std::vector<llvm::Value *> dwords;
  for (unsigned n = 0; n < count; ++n)
    dwords.push_back(b.CreateTrunc(b.CreateLShr(whole, 32 * n), b.getInt32Ty()));
  return dwords;
}

void makeUniform(llvm::Instruction &instruction) {
  llvm::Type *const type = instruction.getType();
  if (!type->isSingleValueType())
    return;
  std::vector<llvm::Use *> uses;
  for (llvm::Use &use : instruction.uses())
    uses.push_back(&use);
  llvm::IRBuilder<> b(instruction.getNextNode());
  const auto bits = static_cast<unsigned>(instruction.getDataLayout().getTypeSizeInBits(type).getFixedValue());
  llvm::Value *const number = type->isPointerTy() ? b.CreatePtrToInt(&instruction, b.getIntNTy(bits))
                                                  : b.CreateBitCast(&instruction, b.getIntNTy(bits));
  const auto first = [&](llvm::Value *of) -> llvm::Value * {
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_readfirstlane, {of->getType()}, {of});
  };
  llvm::Value *uniform = nullptr;
  if (bits == 32 || bits == 64)
    uniform = first(number);
  else {
    std::vector<llvm::Value *> dwords = toDwords(b, number, (bits + 31) / 32);
    for (llvm::Value *&dword : dwords)
      dword = first(dword);
    uniform = fromDwords(b, dwords, number->getType());
  }
  llvm::Value *const value = type->isPointerTy() ? b.CreateIntToPtr(uniform, type) : b.CreateBitCast(uniform, type);
  for (llvm::Use *use : uses)
    use->set(value);
}

void makeReturnedConditionsUniform(llvm::Function &function) {
  std::vector<llvm::Value *> open;
  std::set<const llvm::Value *> seen;
  std::vector<llvm::Instruction *> conditions;
  for (llvm::BasicBlock &block : function)
    if (auto *end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()); end && end->getReturnValue())
      open.push_back(end->getReturnValue());
  while (!open.empty()) {
    auto *const instruction = llvm::dyn_cast<llvm::Instruction>(open.back());
    open.pop_back();
    if (!instruction || !seen.insert(instruction).second)
      continue;
    if (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(instruction) &&
        instruction->getOperand(0)->getType()->isIntegerTy(1)) {
      conditions.push_back(instruction);
      continue;
    }
    if (llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::SelectInst, llvm::PHINode, llvm::InsertValueInst>(
            instruction))
      for (llvm::Use &operand : instruction->operands())
        open.push_back(operand.get());
  }
  for (llvm::Instruction *condition : conditions)
    makeUniform(*condition);
}

void createStop(llvm::IRBuilder<> &b) {
  auto *const type = llvm::FunctionType::get(b.getVoidTy(), false);
  b.CreateCall(type, llvm::InlineAsm::get(type, "s_trap 2", "", /*hasSideEffects=*/true));
}

std::vector<llvm::CallInst *> reservedCalls(llvm::Function &function) {
  std::vector<llvm::CallInst *> calls;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      if (const llvm::Function *callee = call->getCalledFunction();
          callee && callee->getName().starts_with(ref(reserved::kPrefix)))
        calls.push_back(call);
  return calls;
}

VariableUse useOf(const llvm::GlobalVariable &global) {
  VariableUse result;
  std::vector<const llvm::Value *> work = {&global};
  std::set<const llvm::Value *> seen;
  while (!work.empty()) {
    const llvm::Value *value = work.back();
    work.pop_back();
    if (!seen.insert(value).second)
      continue;
    for (const llvm::User *user : value->users()) {
      result.atomic |=
          llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(user) ||
          (llvm::isa<llvm::LoadInst, llvm::StoreInst>(user) && llvm::cast<llvm::Instruction>(user)->isAtomic());
      if (llvm::isa<llvm::LoadInst>(user))
        continue;
      if (llvm::isa<llvm::GetElementPtrInst, llvm::AddrSpaceCastInst, llvm::PHINode, llvm::SelectInst>(user))
        work.push_back(user);
      else
        result.written = true;
    }
  }
  return result;
}

/// Makes users of `from`, which points to a variable in memory, use `to`, which points to a local one. A cast of `to`
/// to the address space of `from` would not do: memory and local variables are known to be apart. False when the
/// address is used in a way that cannot be followed.
bool moveToLocal(llvm::Value &from, llvm::Value &to) {
  for (llvm::User *user : std::vector<llvm::User *>(from.user_begin(), from.user_end())) {
    auto *const instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (!instruction)
      return false;
    llvm::IRBuilder<> b(instruction);
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      load->setOperand(llvm::LoadInst::getPointerOperandIndex(), &to);
    } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
      if (store->getValueOperand() == &from)
        return false;
      store->setOperand(llvm::StoreInst::getPointerOperandIndex(), &to);
    } else if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(instruction)) {
      if (update->getValOperand() == &from)
        return false;
      update->setOperand(llvm::AtomicRMWInst::getPointerOperandIndex(), &to);
    } else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(instruction)) {
      if (exchange->getCompareOperand() == &from || exchange->getNewValOperand() == &from)
        return false;
      exchange->setOperand(llvm::AtomicCmpXchgInst::getPointerOperandIndex(), &to);
    } else if (auto *element = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) {
      const std::vector<llvm::Value *> indices(element->idx_begin(), element->idx_end());
      if (!moveToLocal(*element, *b.CreateGEP(element->getSourceElementType(), &to, indices)))
        return false;
      element->eraseFromParent();
    } else if (auto *cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(instruction)) {
      if (cast->getDestAddressSpace() != 0)
        return false;
      cast->replaceAllUsesWith(b.CreateAddrSpaceCast(&to, cast->getType()));
      cast->eraseFromParent();
    } else if (auto *copy = llvm::dyn_cast<llvm::MemTransferInst>(instruction)) {
      llvm::Value *const target = copy->getRawDest() == &from ? &to : copy->getRawDest();
      llvm::Value *const source = copy->getRawSource() == &from ? &to : copy->getRawSource();
      b.CreateMemMove(target, copy->getDestAlign(), source, copy->getSourceAlign(), copy->getLength());
      copy->eraseFromParent();
    } else if (auto *fill = llvm::dyn_cast<llvm::MemSetInst>(instruction)) {
      b.CreateMemSet(&to, fill->getValue(), fill->getLength(), fill->getDestAlign());
      fill->eraseFromParent();
    } else {
      return false;
    }
  }
  return true;
}

bool keepInLds(llvm::Value &pointer) {
  constexpr unsigned kGlobalSpace = 1, kLdsSpace = 3;
  std::vector<llvm::Value *> work = {&pointer};
  std::set<const llvm::Value *> seen;
  std::vector<std::pair<llvm::AddrSpaceCastInst *, llvm::Value *>> casts; // and what is cast, as a pointer to LDS
  while (!work.empty()) {
    llvm::Value *const value = work.back();
    work.pop_back();
    if (!seen.insert(value).second)
      continue;
    const auto *const generic = llvm::dyn_cast<llvm::AddrSpaceCastInst>(value);
    llvm::Value *const inLds = value->getType()->getPointerAddressSpace() == kLdsSpace ? value
                               : generic && generic->getSrcAddressSpace() == kLdsSpace ? generic->getOperand(0)
                                                                                       : nullptr;
    for (llvm::User *user : value->users()) {
      auto *const cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(user);
      if (cast && cast->getDestAddressSpace() == kGlobalSpace) {
        if (!inLds)
          return false; // it may be either
        casts.emplace_back(cast, inLds);
      } else if (cast || llvm::isa<llvm::GetElementPtrInst, llvm::PHINode, llvm::SelectInst>(user)) {
        work.push_back(user);
      }
    }
  }
  return std::ranges::all_of(casts, [](const auto &one) {
    if (!moveToLocal(*one.first, *one.second))
      return false;
    one.first->eraseFromParent();
    return true;
  });
}

} // namespace luthier::hook
