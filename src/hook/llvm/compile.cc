#include "hook/llvm/compile.h"

#include "hook/llvm/codegen.h"
#include "hook/llvm/describe.h"
#include "hook/llvm/wrapper.h"

namespace luthier::hook {

namespace {

Result<Fragment> compileHook(llvm::Module &bitcode, const WrapRequest &request) {
  Fragment fragment;
  fragment.hook = request.hook.name;
  fragment.kind = request.hook.kind;
  const auto machine = LUTHIER_TRY(createTargetMachine(request.target, request.waveSize));
  LUTHIER_TRY(isolateHook(bitcode, request));
  simplify(bitcode, *machine);
  Ports ports = LUTHIER_TRY(wrapHook(bitcode, request));
  fragment.inputs = std::move(ports.inputs);
  fragment.outputs = std::move(ports.outputs);
  const auto object = LUTHIER_TRY(generateObject(bitcode, *machine, request.hook));
  LUTHIER_TRY(readObject(object, request.hook, fragment));
  return fragment;
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
  auto fragment = compileHook(*bitcode, {*module, *hook, request.sources, *target, request.waveSize});
  if (!fragment)
    return fragment.error().withContext(request.origin);
  return encode(*fragment);
}

} // namespace luthier::hook
