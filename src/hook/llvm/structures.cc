#include "hook/llvm/structures.h"

#include "hook/llvm/ir.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

namespace luthier::hook {

namespace {

/// Where a function's parameter belongs.
struct Field {
  const llvm::Value *structure = nullptr; ///< the local variable, or the parameter itself if it is a reference
  llvm::Type *type = nullptr;             ///< of the structure
  uint64_t offset = 0;
};

/// A local variable that is there only to be copied into a structure: that structure.
const llvm::AllocaInst *copiedTo(const llvm::AllocaInst &local) {
  for (const llvm::Value *user : local.users()) {
    const llvm::Value *pointer = &local;
    if (llvm::isa<llvm::AddrSpaceCastInst>(user))
      pointer = user;
    for (const llvm::Value *use : pointer->users())
      if (const auto *copy = llvm::dyn_cast<llvm::MemCpyInst>(use); copy && copy->getRawSource() == pointer)
        return llvm::dyn_cast<llvm::AllocaInst>(copy->getRawDest()->stripPointerCasts());
  }
  return nullptr;
}

/// A parameter that is stored into a local structure; nothing for others.
std::optional<Field> memberOf(const llvm::Argument &argument, const llvm::DataLayout &layout) {
  if (argument.hasByRefAttr() || argument.hasByValAttr())
    return Field{&argument, argument.hasByRefAttr() ? argument.getParamByRefType() : argument.getParamByValType()};
  const llvm::Value *value = &argument;
  // Of a structure of three bytes, say, a part of the number is stored.
  if (value->hasOneUse() && llvm::isa<llvm::TruncInst>(*value->user_begin()))
    value = *value->user_begin();
  const auto *store = value->hasOneUse() ? llvm::dyn_cast<llvm::StoreInst>(*value->user_begin()) : nullptr;
  if (!store || store->getValueOperand() != value)
    return {};
  llvm::APInt offset(layout.getIndexTypeSizeInBits(store->getPointerOperandType()), 0);
  const llvm::Value *base = store->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
  const auto *local = llvm::dyn_cast<llvm::AllocaInst>(base);
  if (local && !local->getAllocatedType()->isStructTy()) // numbers that are larger than the structure
    local = copiedTo(*local);
  if (!local || !local->getAllocatedType()->isStructTy() || local->isArrayAllocation())
    return {};
  return Field{local, local->getAllocatedType(), offset.getZExtValue()};
}

void join(llvm::Function &function) {
  const llvm::DataLayout &layout = function.getDataLayout();
  std::vector<std::optional<Field>> members;
  bool any = false;
  for (const llvm::Argument &argument : function.args()) {
    members.push_back(memberOf(argument, layout));
    any |= members.back().has_value();
  }
  if (!any || function.isVarArg() || function.hasStructRetAttr())
    return;

  llvm::IRBuilder<> b(function.getContext());
  const auto continues = [&](size_t n) {
    return n && n < members.size() && members[n] && members[n - 1] &&
           members[n]->structure == members[n - 1]->structure;
  };
  std::vector<llvm::Type *> types;
  std::vector<uint64_t> bytes; // of structures; 0: it is none
  for (size_t n = 0; n < members.size(); ++n) {
    if (continues(n))
      continue;
    bytes.push_back(members[n] ? layout.getTypeAllocSize(members[n]->type).getFixedValue() : 0);
    types.push_back(members[n] ? llvm::ArrayType::get(b.getInt32Ty(), (bytes.back() + 3) / 4)
                               : function.getArg(static_cast<unsigned>(n))->getType());
  }
  llvm::Function *const joined =
      llvm::Function::Create(llvm::FunctionType::get(function.getReturnType(), types, false), function.getLinkage(),
                             function.getAddressSpace(), "", function.getParent());
  function.getParent()->getFunctionList().remove(joined);
  function.getParent()->getFunctionList().insert(function.getIterator(), joined); // the order of the source
  joined->setCallingConv(function.getCallingConv());
  joined->setVisibility(function.getVisibility());
  joined->setAttributes(llvm::AttributeList::get(function.getContext(), function.getAttributes().getFnAttrs(),
                                                 function.getAttributes().getRetAttrs(), {}));
  joined->setComdat(function.getComdat());
  const std::string name = function.getName().str();
  function.setName(name + ".members");
  joined->setName(name);
  // Marks and lists mean the joined one; calls, which pass members, do not.
  function.replaceUsesWithIf(joined, [](const llvm::Use &use) {
    const auto *call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    return !call || !call->isCallee(&use);
  });
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setVisibility(llvm::GlobalValue::DefaultVisibility);
  function.setComdat(nullptr);
  function.addFnAttr(llvm::Attribute::AlwaysInline);

  b.SetInsertPoint(llvm::BasicBlock::Create(function.getContext(), "entry", joined));
  std::vector<llvm::Value *> locals;
  for (size_t n = 0; n < types.size(); ++n) {
    llvm::AllocaInst *local = nullptr;
    if (bytes[n]) {
      local = b.CreateAlloca(types[n], kPrivateSpace);
      local->setAlignment(llvm::Align(16));
      joined->addParamAttr(static_cast<unsigned>(n),
                           llvm::Attribute::get(function.getContext(), kBytesAttribute, std::to_string(bytes[n])));
    }
    locals.push_back(local);
  }
  std::vector<llvm::Value *> arguments;
  for (size_t n = 0, at = 0; n < members.size(); ++n, at += !continues(n)) {
    llvm::Argument *const given = joined->getArg(static_cast<unsigned>(at));
    if (!members[n]) {
      arguments.push_back(given);
      continue;
    }
    if (!continues(n))
      for (unsigned word = 0; word < types[at]->getArrayNumElements(); ++word)
        b.CreateStore(b.CreateExtractValue(given, word), b.CreateConstGEP1_32(b.getInt32Ty(), locals[at], word));
    if (members[n]->structure == function.getArg(static_cast<unsigned>(n)))
      arguments.push_back(locals[at]);
    else
      arguments.push_back(b.CreateAlignedLoad(function.getArg(static_cast<unsigned>(n))->getType(),
                                              b.CreateConstGEP1_64(b.getInt8Ty(), locals[at], members[n]->offset),
                                              llvm::Align(1)));
  }
  llvm::CallInst *const call = b.CreateCall(&function, arguments);
  call->setAttributes(function.getAttributes());
  if (function.getReturnType()->isVoidTy())
    b.CreateRetVoid();
  else
    b.CreateRet(call);
}

} // namespace

void joinStructures(llvm::Module &module) {
  constexpr std::string_view kHook = "hook:";
  for (const auto &[value, mark] : marksOf(module))
    if (auto *function = llvm::dyn_cast<llvm::Function>(value);
        function && mark.starts_with(kHook) && !function->isDeclaration())
      join(*function);
}

} // namespace luthier::hook
