#include "hook/llvm/frame.h"

#include "hook/llvm/ir.h"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace luthier::hook {

namespace {

std::vector<llvm::AllocaInst *> localsOf(llvm::Function &function) {
  std::vector<llvm::AllocaInst *> locals;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *local = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      locals.push_back(local);
  return locals;
}

/// Whether an address goes to where it may be found later. From LLVM 21 on, being stored always counts.
bool escapes(const llvm::AllocaInst &local) {
#if LLVM_VERSION_MAJOR >= 21
  return llvm::PointerMayBeCaptured(&local, /*ReturnCaptures=*/true);
#else
  return llvm::PointerMayBeCaptured(&local, /*ReturnCaptures=*/true, /*StoreCaptures=*/true);
#endif
}

/// Each variable has a place of its own: when it is in use does not matter.
void dropLifetimes(llvm::Function &function) {
  std::vector<llvm::Instruction *> markers;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction); call && call->isLifetimeStartOrEnd())
      markers.push_back(&instruction);
  for (llvm::Instruction *marker : markers)
    marker->eraseFromParent();
}

/// A wave hook runs by one lane, which LLVM does not know of what comes from private memory.
void makeLoadsUniform(llvm::Function &wrapper) {
  std::vector<llvm::Instruction *> loads;
  for (llvm::Instruction &instruction : llvm::instructions(wrapper))
    if (const auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        load && (load->getPointerAddressSpace() == kPrivateSpace ||
                 llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(load->getPointerOperand()))))
      loads.push_back(&instruction);
  for (llvm::Instruction *load : loads)
    makeUniform(*load);
}

/// Elements of vectors that are chosen by a variable: registers cannot be indexed, memory can.
void indexInMemory(llvm::Function &wrapper) {
  std::vector<llvm::Instruction *> indexed;
  for (llvm::Instruction &instruction : llvm::instructions(wrapper))
    if (indexesVector(instruction))
      indexed.push_back(&instruction);
  for (llvm::Instruction *instruction : indexed) {
    llvm::Value *const vector = instruction->getOperand(0);
    const auto *insert = llvm::dyn_cast<llvm::InsertElementInst>(instruction);
    llvm::IRBuilder<> entry(&*wrapper.getEntryBlock().begin());
    llvm::AllocaInst *const local = entry.CreateAlloca(vector->getType(), kPrivateSpace);
    llvm::IRBuilder<> b(instruction);
    b.CreateStore(vector, local);
    llvm::Value *const index = b.CreateZExtOrTrunc(instruction->getOperand(insert ? 2 : 1), b.getInt32Ty());
    // An index beyond the vector has no meaning, and must not leave the frame.
    const unsigned elements = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
    llvm::Value *const within = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, b.getInt32(elements - 1));
    llvm::Value *const element = b.CreateGEP(vector->getType(), local, {b.getInt32(0), within});
    if (insert)
      b.CreateStore(insert->getOperand(1), element);
    instruction->replaceAllUsesWith(b.CreateLoad(instruction->getType(), insert ? local : element));
    instruction->eraseFromParent();
  }
}

} // namespace

bool indexesVector(const llvm::Instruction &instruction) {
  const auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction);
  const auto *insert = llvm::dyn_cast<llvm::InsertElementInst>(&instruction);
  return (extract && !llvm::isa<llvm::Constant>(extract->getIndexOperand())) ||
         (insert && !llvm::isa<llvm::Constant>(insert->getOperand(2)));
}

Result<uint32_t> lowerLocals(llvm::Function &wrapper, llvm::Argument &frame, const Hook &hook) {
  dropLifetimes(wrapper);
  indexInMemory(wrapper);
  if (hook.kind == HookKind::Wave)
    makeLoadsUniform(wrapper);
  const llvm::DataLayout &layout = wrapper.getDataLayout();
  // So that LLVM may add distances in instructions that have room for them.
  frame.addAttr(llvm::Attribute::get(wrapper.getContext(), llvm::Attribute::Range,
                                     llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, 1u << 28))));
  uint64_t bytes = 0;
  for (llvm::AllocaInst *local : localsOf(wrapper)) {
    const auto size = local->getAllocationSize(layout);
    if (!size || !local->isStaticAlloca())
      return makeError("hook {} allocates local memory whose size is not a constant", hook.name);
    if (local->getAlign().value() > kFrameAlignment)
      return makeError("hook {} has a local variable that is aligned to {} bytes; {} are possible", hook.name,
                       local->getAlign().value(), kFrameAlignment);
    if (local->getName().starts_with(kPortVariable) && escapes(*local))
      return makeError("hook {} stores or computes with the address of a register or of a variable per wave",
                       hook.name);
    bytes = llvm::alignTo(bytes, local->getAlign());
    llvm::IRBuilder<> b(&*wrapper.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    llvm::Value *const address = b.CreateAdd(&frame, b.getInt32(static_cast<uint32_t>(bytes)), "", true, true);
    local->replaceAllUsesWith(b.CreateIntToPtr(address, local->getType()));
    local->eraseFromParent();
    bytes += size->getFixedValue();
    if (bytes > kMaxFrameBytes)
      return makeError("hook {} has more than {} bytes of local variables, which is the maximum", hook.name,
                       kMaxFrameBytes);
  }
  // The port is there in any case.
  return static_cast<uint32_t>(llvm::alignTo(std::max<uint64_t>(bytes, 1), 16));
}

} // namespace luthier::hook
