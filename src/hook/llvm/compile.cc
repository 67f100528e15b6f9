#include "hook/llvm/compile.h"

#include "hook/inspect.h"
#include "hook/llvm/codegen.h"
#include "hook/llvm/describe.h"
#include "hook/llvm/device_library.h"
#include "hook/llvm/frame.h"
#include "hook/llvm/ir.h"
#include "hook/llvm/wrapper.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

namespace luthier::hook {

namespace {

/// Whether something is left that may not fit into registers: a local variable, or a vector that is indexed by one.
bool hasLocals(const llvm::Function &wrapper) {
  return std::ranges::any_of(llvm::instructions(wrapper), [](const llvm::Instruction &instruction) {
    return llvm::isa<llvm::AllocaInst>(instruction) || indexesVector(instruction);
  });
}

struct Compiled {
  Fragment fragment;
  bool needsFrame = false; ///< and has none: the fragment is of no use
};

Result<Compiled> compileOnce(llvm::Module &bitcode, const WrapRequest &request) {
  Compiled result;
  Fragment &fragment = result.fragment;
  fragment.hook = request.hook.name;
  fragment.kind = request.hook.kind;
  const auto machine = LUTHIER_TRY(createTargetMachine(request.target, request.waveSize, request.frame));
  LUTHIER_TRY(addConditional(bitcode, request));
  LUTHIER_TRY(isolateHook(bitcode, request));
  defineLibraryConstants(bitcode, request.target, request.waveSize);
  if (auto simple = simplify(bitcode, *machine); !simple)
    return simple.error().withContext(fmt::format("hook {}", request.hook.name));
  Ports ports = LUTHIER_TRY(wrapHook(bitcode, request));
  fragment.inputs = std::move(ports.inputs);
  fragment.outputs = std::move(ports.outputs);
  optimize(bitcode, *machine);
  llvm::Function &wrapper = *bitcode.getFunction(ref(kWrapperName));
  if (request.hook.kind == HookKind::Wave)
    makeReturnedConditionsUniform(wrapper);
  const bool locals = hasLocals(wrapper);
  if (request.frame) {
    const auto port = std::ranges::find(fragment.inputs, Port::Kind::Frame, &Port::kind);
    fragment.frameBytes = LUTHIER_TRY(lowerLocals(wrapper, *wrapper.getArg(number(port->regs.first)), request.hook));
  }
  const auto object = generateObject(bitcode, *machine, request.hook);
  result.needsFrame = locals && !request.frame && (!object || object->stackBytes);
  if (result.needsFrame)
    return result;
  if (!object)
    return object.error();
  if (object->stackBytes)
    return makeError("hook {} has more values at a time than there are registers: {} bytes do not fit",
                     request.hook.name, object->stackBytes);
  LUTHIER_TRY(readObject(object->elf, request.hook, fragment));
  if (locals && !request.frame)
    result.needsFrame = LUTHIER_TRY(indexesRegisters(fragment, request.target, request.waveSize));
  return result;
}

/// Most hooks need no memory of their own: only what turns out to is compiled for it, from its bitcode again.
Result<Fragment> compileHook(llvm::Module &bitcode, const CompilerRequest &request, WrapRequest wrap) {
  Compiled compiled = LUTHIER_TRY(compileOnce(bitcode, wrap));
  if (compiled.needsFrame) {
    llvm::LLVMContext context;
    const auto again = LUTHIER_TRY(readBitcode(request.bitcode, context, request.origin));
    wrap.frame = true;
    compiled = LUTHIER_TRY(compileOnce(*again, wrap));
  }
  return std::move(compiled.fragment);
}

} // namespace

Result<std::string> answer(const CompilerRequest &request) {
  llvm::LLVMContext context;
  const auto bitcode = LUTHIER_TRY(readBitcode(request.bitcode, context, request.origin));
  auto impl = std::make_unique<HookModule::Impl>();
  impl->origin = request.origin;
  if (auto done = describe(*bitcode, *impl); !done)
    return done.error().withContext(request.origin);
  if (request.hook.empty())
    return encode(*impl);

  const auto module = HookModule::make(std::move(impl));
  const Hook *hook = module->findHook(request.hook);
  const isa::Target *target = isa::findTarget(request.target);
  if (!hook || !target)
    return makeError("{}: there is no {} '{}'", request.origin, hook ? "target" : "hook",
                     hook ? request.target : request.hook);
  Hook whole = *hook;
  const Hook *predicate = request.predicate.empty() ? nullptr : module->findHook(request.predicate);
  if (!predicate && !request.predicate.empty())
    return makeError("{}: there is no hook '{}'", request.origin, request.predicate);
  if (predicate)
    whole = LUTHIER_TRY(conditional(*predicate, *hook));
  auto fragment = compileHook(
      *bitcode, request,
      {*module, whole, request.sources, *target, request.waveSize, false, predicate, predicate ? hook : nullptr});
  if (!fragment)
    return fragment.error().withContext(request.origin);
  return encode(*fragment);
}

} // namespace luthier::hook
