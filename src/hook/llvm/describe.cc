#include "hook/llvm/describe.h"

#include "hook/llvm/device_library.h"
#include "hook/llvm/host_types.h"
#include "hook/llvm/recursion.h"
#include "hook/llvm/structures.h"
#include "hook/module_impl.h"
#include "isa/occupancy.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

namespace luthier::hook {

namespace {

constexpr unsigned kLocal = 3, kPrivate = 5, kRegion = 2;

/// The name as the source has it: without parameters, which only overloads need to be told apart by.
std::string sourceName(llvm::StringRef symbol) {
  std::string text = symbol.str();
  if (!isMangled(symbol))
    return text;
  llvm::ItaniumPartialDemangler demangler;
  if (demangler.partialDemangle(text.c_str()))
    return text;
  char *name =
      demangler.isFunction() ? demangler.getFunctionName(nullptr, nullptr) : demangler.finishDemangle(nullptr, nullptr);
  std::string result = name ? name : text;
  std::free(name);
  return result;
}

/// How many registers a value of this type takes. 0 when it can be neither passed nor returned.
HookParameter parameterOf(const llvm::Type *type, const llvm::DataLayout &layout) {
  const llvm::Type *element = type->getScalarType();
  HookParameter result{ValueType::Void, 0};
  if (type->isStructTy() || type->isArrayTy() || llvm::isa<llvm::ScalableVectorType>(type))
    return result;
  if (element->isPointerTy()) {
    const unsigned space = element->getPointerAddressSpace();
    if (space > kPrivate || space == kRegion || type->isVectorTy())
      return result;
    result.type = ValueType::Pointer;
  } else if (element->isIntegerTy()) {
    result.type = ValueType::Integer;
  } else if (element->isHalfTy() || element->isFloatTy() || element->isDoubleTy() || element->isBFloatTy()) {
    result.type = ValueType::Float;
  } else {
    return result;
  }
  const uint64_t bits = layout.getTypeSizeInBits(const_cast<llvm::Type *>(type)).getFixedValue();
  if (bits > 32 && bits % 32)
    return {ValueType::Void, 0};
  const uint64_t dwords = (bits + 31) / 32;
  if (dwords > kMaxParameterDwords)
    return {ValueType::Void, 0};
  result.dwords = static_cast<uint8_t>(dwords);
  return result;
}

/// Writes the bytes of `constant` to `to`; false when they are not known before addresses are.
bool flatten(const llvm::Constant *constant, const llvm::DataLayout &layout, std::byte *to) {
  if (llvm::isa<llvm::ConstantAggregateZero, llvm::UndefValue, llvm::ConstantPointerNull>(constant))
    return true;
  if (const auto *number = llvm::dyn_cast<llvm::ConstantInt>(constant)) {
    const llvm::APInt &value = number->getValue();
    for (unsigned n = 0; n < (value.getBitWidth() + 7) / 8; ++n)
      to[n] = static_cast<std::byte>(value.extractBitsAsZExtValue(std::min(8u, value.getBitWidth() - 8 * n), 8 * n));
    return true;
  }
  if (const auto *number = llvm::dyn_cast<llvm::ConstantFP>(constant)) {
    const llvm::APInt value = number->getValueAPF().bitcastToAPInt();
    for (unsigned n = 0; n < value.getBitWidth() / 8; ++n)
      to[n] = static_cast<std::byte>(value.extractBitsAsZExtValue(8, 8 * n));
    return true;
  }
  if (const auto *data = llvm::dyn_cast<llvm::ConstantDataSequential>(constant)) {
    const llvm::StringRef bytes = data->getRawDataValues();
    std::memcpy(to, bytes.data(), bytes.size());
    return true;
  }
  if (const auto *record = llvm::dyn_cast<llvm::ConstantStruct>(constant)) {
    const llvm::StructLayout *fields = layout.getStructLayout(record->getType());
    for (unsigned n = 0; n < record->getNumOperands(); ++n)
      if (!flatten(record->getOperand(n), layout, to + fields->getElementOffset(n).getFixedValue()))
        return false;
    return true;
  }
  if (const auto *expression = llvm::dyn_cast<llvm::ConstantExpr>(constant); // numbers of functions
      expression && (expression->getOpcode() == llvm::Instruction::IntToPtr ||
                     (expression->getOpcode() == llvm::Instruction::AddrSpaceCast &&
                      layout.getTypeSizeInBits(expression->getOperand(0)->getType()) == 64)))
    return flatten(expression->getOperand(0), layout, to);
  if (llvm::isa<llvm::ConstantArray, llvm::ConstantVector>(constant)) {
    const uint64_t size = layout.getTypeAllocSize(constant->getOperand(0)->getType());
    for (unsigned n = 0; n < constant->getNumOperands(); ++n)
      if (!flatten(llvm::cast<llvm::Constant>(constant->getOperand(n)), layout, to + n * size))
        return false;
    return true;
  }
  return false;
}

/// Everything that a hook can reach, with refusals of what no fragment can have.
class Reachable {
public:
  /// `marked`: variables that are the tool's by their mark.
  Reachable(const Hook &hook, const std::map<const llvm::GlobalVariable *, std::string> &marked,
            const std::vector<Cycle> &cycles)
      : hook_(hook), marked_(marked), cycles_(cycles) {}

  Result<void> visit(const llvm::Function &function) {
    if (done_.count(&function))
      return {};
    if (!active_.insert(&function).second)
      return checkRecursion(function);
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        LUTHIER_TRY(visitCall(*call));
      for (const llvm::Use &operand : instruction.operands()) {
        const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call && call->isCallee(&operand))
          continue;
        if (const auto *constant = llvm::dyn_cast<llvm::Constant>(operand.get()))
          LUTHIER_TRY(visitConstant(*constant));
      }
    }
    active_.erase(&function);
    done_.insert(&function);
    return {};
  }

  const std::set<const llvm::GlobalVariable *> &variables() const { return variables_; }

private:
  template <class... Args> Error refuse(fmt::format_string<Args...> format, Args &&...args) const {
    return makeError("hook {} {}", hook_.name, fmt::vformat(format, fmt::make_format_args(args...)));
  }
  static std::string name(const llvm::GlobalValue &value) { return sourceName(value.getName()); }

  Result<void> checkRecursion(const llvm::Function &function) const {
    for (const Cycle &cycle : cycles_) {
      if (std::ranges::find(cycle, &function) == cycle.end())
        continue;
      if (std::ranges::any_of(cycle, [&](const llvm::Function *f) { return f->getName() == hook_.symbol; }))
        return refuse("calls itself; put the recursion into a separate function");
      const auto bound = recursionBound(cycle);
      if (!bound)
        return refuse("calls itself through {}: {}", name(function), bound.error().message());
      if (*bound)
        return {};
    }
    return refuse("calls itself through {}, which does not say how deep: LUTHIER_RECURSION(depth)", name(function));
  }

  Result<void> visitCall(const llvm::CallBase &call) {
    if (call.isInlineAsm())
      return {};
    const auto *callee = llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCasts());
    if (!callee)
      return refuse("calls a function through a pointer, and its file has no function of that type whose address is "
                    "taken");
    if (callee->isIntrinsic()) {
      if (callee->getIntrinsicID() == llvm::Intrinsic::amdgcn_s_barrier)
        return refuse("waits at a barrier of the workgroup");
      return {};
    }
    if (callee->isDeclaration() || prints(view(callee->getName()))) {
      if (std::ranges::find(reserved::kAll, view(callee->getName())) != std::end(reserved::kAll))
        return {};
      return refuse("calls {}, which is not {}{}", name(*callee),
                    callee->isDeclaration() ? "defined in its file" : "supported in hooks",
                    advice(view(callee->getName())));
    }
    if (callee->isVarArg())
      return refuse("calls {}, which takes a variable number of arguments", name(*callee));
    return visit(*callee);
  }

  /// Clang makes printf of HIP's headers into these, which the device library has; they ask HIP's hostcall buffer.
  static bool prints(std::string_view symbol) {
    return symbol == "printf" || symbol.starts_with("__ockl_printf") || symbol.starts_with("__ockl_fprintf");
  }
  static std::string_view advice(std::string_view symbol) {
    const bool asserts = symbol == "__assert_fail" || symbol == "__assertfail";
    const bool library = symbol.starts_with("__ocml_") || symbol.starts_with("__ockl_");
    return library && !prints(symbol)
               ? "; it is in ROCm's device library (rocm-device-libs), which was not there when the "
                 "hooks were compiled"
           : prints(symbol) ? "; luthier::printf of luthier/hostcall.h is for hooks"
           : asserts        ? "; LUTHIER_ASSERT of luthier/hostcall.h is for hooks"
                            : "";
  }

  Result<void> visitConstant(const llvm::Constant &constant) {
    if (const auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(&constant)) {
      if ((variable->getAddressSpace() == kLocal && !marked_.contains(variable)) ||
          variable->getAddressSpace() == kRegion)
        return refuse("uses LDS ({}), which belongs to the kernel; LUTHIER_LDS is the hooks' own", name(*variable));
      if (variable->isThreadLocal())
        return refuse("uses the thread-local variable {}", name(*variable));
      if (isLibraryConstant(view(variable->getName())))
        return {};
      if (!variable->hasInitializer())
        return refuse("uses {}, which is not defined in its file", name(*variable));
      variables_.insert(variable);
      return {};
    }
    if (const auto *function = llvm::dyn_cast<llvm::Function>(&constant))
      return refuse("takes the address of function {}", name(*function));
    if (const auto *value = llvm::dyn_cast<llvm::GlobalValue>(&constant))
      return refuse("uses {}, which is neither a variable nor a function", name(*value));
    if (!llvm::isa<llvm::ConstantData>(constant) && seen_.insert(&constant).second)
      for (const llvm::Use &operand : constant.operands())
        if (const auto *inner = llvm::dyn_cast<llvm::Constant>(operand.get()))
          LUTHIER_TRY(visitConstant(*inner));
    return {};
  }

  const Hook &hook_;
  const std::map<const llvm::GlobalVariable *, std::string> &marked_;
  const std::vector<Cycle> &cycles_;
  std::set<const llvm::Function *> active_, done_;
  std::set<const llvm::Constant *> seen_;
  std::set<const llvm::GlobalVariable *> variables_;
};

Result<Hook> describeHook(const llvm::Function &function, std::string_view kind) {
  const llvm::DataLayout &layout = function.getDataLayout();
  Hook hook;
  hook.symbol = function.getName().str();
  hook.name = sourceName(function.getName());
  if (kind == "lane")
    hook.kind = HookKind::Lane;
  else if (kind == "wave")
    hook.kind = HookKind::Wave;
  else
    return makeError("hook {} is of kind '{}'; there are 'lane' and 'wave'", hook.name, kind);
  if (function.isDeclaration())
    return makeError("hook {} is declared but not defined", hook.name);
  if (function.isVarArg())
    return makeError("hook {} takes a variable number of arguments", hook.name);
  if (function.getCallingConv() != llvm::CallingConv::C)
    return makeError("hook {} is a kernel, not a device function", hook.name);
  for (const llvm::Argument &argument : function.args()) {
    if (argument.hasByValAttr() || argument.hasByRefAttr() || argument.hasStructRetAttr())
      return makeError("hook {}: parameter {} is passed or returned by reference to a stack that hooks do not have",
                       hook.name, argument.getArgNo());
    if (function.getAttributes().hasParamAttr(argument.getArgNo(), kBytesAttribute)) {
      const uint64_t dwords = argument.getType()->getArrayNumElements();
      if (dwords > kMaxStructureDwords)
        return makeError("hook {}: parameter {} is a structure of more than {} bytes", hook.name, argument.getArgNo(),
                         4 * kMaxStructureDwords);
      hook.parameters.push_back({ValueType::Structure, static_cast<uint8_t>(dwords)});
      continue;
    }
    hook.parameters.push_back(parameterOf(argument.getType(), layout));
    if (hook.parameters.back().dwords == 0)
      return makeError("hook {}: parameter {} is neither a number nor a pointer", hook.name, argument.getArgNo());
  }
  hook.hostTypes = hostTypesOfParameters(function);
  hook.result = {ValueType::Void, 0};
  if (!function.getReturnType()->isVoidTy()) {
    hook.result = parameterOf(function.getReturnType(), layout);
    if (hook.result.dwords == 0)
      return makeError("hook {} returns neither a number nor a pointer", hook.name);
  }
  return hook;
}

Result<Variable> describeVariable(const llvm::GlobalVariable &global, std::string_view storage) {
  const llvm::DataLayout &layout = global.getDataLayout();
  Variable variable;
  variable.symbol = global.getName().str();
  variable.name = sourceName(global.getName());
  if (storage == "device")
    variable.storage = Storage::Device;
  else if (storage == "per_launch")
    variable.storage = Storage::PerLaunch;
  else if (storage == "per_wave")
    variable.storage = Storage::PerWave;
  else if (storage == "per_lane")
    variable.storage = Storage::PerLane;
  else if (storage == "lds")
    variable.storage = Storage::Lds;
  else if (storage == "per_workgroup")
    variable.storage = Storage::PerWorkgroup;
  else if (storage == "per_site")
    variable.storage = Storage::PerSite;
  else
    return makeError("variable {} has the unknown storage '{}'", variable.name, storage);
  if (!global.hasInitializer())
    return makeError("variable {} is declared but not defined", variable.name);
  variable.hostType = hostTypeOfVariable(*global.getValueType(), layout);
  variable.size = layout.getTypeAllocSize(global.getValueType());
  variable.alignment =
      std::max<uint64_t>(global.getAlign().valueOrOne().value(), layout.getABITypeAlign(global.getValueType()).value());
  if (variable.size > kMaxVariableBytes)
    return makeError("variable {} has {} bytes; {} are possible", variable.name, variable.size, kMaxVariableBytes);
  if (!global.getInitializer()->isNullValue() && !llvm::isa<llvm::UndefValue>(global.getInitializer())) {
    variable.contents.resize(variable.size);
    if (!flatten(global.getInitializer(), layout, variable.contents.data()))
      return makeError("the initializer of variable {} contains an address", variable.name);
  }
  const bool zero = inRegisters(variable.storage) || variable.storage == Storage::PerWorkgroup;
  if (zero && !variable.contents.empty())
    return makeError("variable {} is {} and starts as zero: it cannot have an initializer", variable.name,
                     scopeOf(variable.storage));
  if (inRegisters(variable.storage) && variable.size > kMaxBytesInRegisters)
    return makeError("variable {} is {}, in registers: it has {} bytes, {} are possible", variable.name,
                     scopeOf(variable.storage), variable.size, kMaxBytesInRegisters);
  if (variable.storage == Storage::Lds && variable.size > isa::kMaxWorkgroupLds)
    return makeError("variable {} is in LDS: it has {} bytes, a workgroup has {}", variable.name, variable.size,
                     isa::kMaxWorkgroupLds);
  if ((variable.storage == Storage::Lds) != (global.getAddressSpace() == kLocal))
    return makeError("variable {} is marked as {}, but {} in LDS", variable.name, scopeOf(variable.storage),
                     global.getAddressSpace() == kLocal ? "is" : "is not");
  return variable;
}

/// Overloads are named with their parameters.
void tellOverloadsApart(std::vector<Hook> &hooks) {
  std::map<std::string, unsigned> uses;
  for (const Hook &hook : hooks)
    ++uses[hook.name];
  for (Hook &hook : hooks)
    if (uses[hook.name] > 1 && isMangled(hook.symbol))
      hook.name = llvm::demangle(hook.symbol);
}

} // namespace

Result<void> describe(llvm::Module &module, HookModule::Impl &impl) {
  std::map<const llvm::GlobalVariable *, std::string> storage;
  std::vector<std::pair<const llvm::Function *, std::string>> functions;
  for (const auto &[value, mark] : marksOf(module)) {
    constexpr std::string_view kHook = "hook:", kVariable = "variable:", kRecursion = "recursion:";
    const auto *function = llvm::dyn_cast<llvm::Function>(value);
    const auto *global = llvm::dyn_cast<llvm::GlobalVariable>(value);
    if (function && mark.starts_with(kHook))
      functions.emplace_back(function, mark.substr(kHook.size()));
    else if (function && mark.starts_with(kRecursion))
      continue; // an attribute by now (readBitcode)
    else if (global && mark.starts_with(kVariable))
      storage[global] = mark.substr(kVariable.size());
    else
      return makeError("{} has the unknown marker 'luthier:{}'", sourceName(value->getName()), mark);
  }
  // In the order of the source.
  std::map<const llvm::Function *, size_t> order;
  for (const llvm::Function &function : module)
    order[&function] = order.size();
  std::ranges::sort(functions, {}, [&](const auto &f) { return order[f.first]; });

  std::set<const llvm::GlobalVariable *> used;
  const std::vector<Cycle> cycles = cyclesOf(module);
  for (const auto &[function, kind] : functions) {
    Hook hook = LUTHIER_TRY(describeHook(*function, kind));
    Reachable reachable(hook, storage, cycles);
    LUTHIER_TRY(reachable.visit(*function));
    used.insert(reachable.variables().begin(), reachable.variables().end());
    impl.hooks.push_back(std::move(hook));
  }
  tellOverloadsApart(impl.hooks);

  for (const llvm::GlobalVariable &global : module.globals()) {
    const auto marked = storage.find(&global);
    const bool deviceVariable =
        global.isExternallyInitialized() && !global.getName().starts_with("__hip_") && global.hasInitializer();
    if (marked == storage.end() && !used.contains(&global) && !deviceVariable)
      continue;
    if (impl.variables.size() == kMaxVariables)
      return makeError("there are more than {} variables in it", kMaxVariables);
    impl.variables.push_back(
        LUTHIER_TRY(describeVariable(global, marked == storage.end() ? "device" : marked->second)));
  }
  if (impl.hooks.empty())
    return makeError("there is no hook in it: none of its functions is marked LUTHIER_HOOK");
  return {};
}

} // namespace luthier::hook
