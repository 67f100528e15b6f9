#include "hook/compiler.h"

#include "hook/cache.h"
#include "hook/codegen.h"
#include "hook/inspect.h"
#include "hook/module_impl.h"
#include "hook/wrapper.h"
#include "support/env.h"
#include "support/thread.h"

#include <llvm/Config/llvm-config.h>

#include <future>
#include <map>
#include <mutex>

namespace luthier::hook {

namespace {

using Compiled = Result<std::shared_ptr<const Fragment>>;

/// Everything that decides what a fragment looks like. The version of this code is among it: LUTHIER_HOOK_VERSION is a
/// digest of the sources of this layer.
std::string keyOf(const HookModule &module, const Hook &hook, const FragmentRequest &request, const isa::Target &target,
                  unsigned waveSize) {
  std::string text = fmt::format("{} {} {} {} {} {}", LUTHIER_HOOK_VERSION, LLVM_VERSION_STRING, module.impl().digest,
                                 hook.symbol, target.name, waveSize);
  for (const Source &s : request.sources)
    fmt::format_to(std::back_inserter(text), " {}:{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}", static_cast<unsigned>(s.kind),
                   s.vaddr, s.saddr, s.idxen, s.offen, s.offset, s.typed, s.resource, s.unit64, s.byLane);
  return digestOf(text);
}

Result<Fragment> compileHook(const HookModule &module, const Hook &hook, const FragmentRequest &request,
                             const isa::Target &target, unsigned waveSize) {
  Fragment fragment;
  fragment.hook = hook.name;
  fragment.kind = hook.kind;
  const WrapRequest wrap{module, hook, request.sources, target, waveSize};
  auto done = guarded([&]() -> Result<void> {
    llvm::LLVMContext context;
    const auto bitcode = LUTHIER_TRY(readBitcode(module.impl().bitcode, context, module.origin(), Input::Own));
    const auto machine = LUTHIER_TRY(createTargetMachine(target, waveSize));
    LUTHIER_TRY(isolateHook(*bitcode, wrap));
    simplify(*bitcode, *machine);
    Ports ports = LUTHIER_TRY(wrapHook(*bitcode, wrap));
    fragment.inputs = std::move(ports.inputs);
    fragment.outputs = std::move(ports.outputs);
    const auto object = LUTHIER_TRY(generateObject(*bitcode, *machine, hook));
    return readObject(object, hook, fragment);
  });
  if (!done && done.error().code() == kGaveUp)
    return done.error().withContext(fmt::format("hook {} cannot be compiled", hook.name));
  if (!done)
    return std::move(done).error();
  return fragment;
}

} // namespace

struct FragmentCompiler::Impl {
  FragmentCache disk;
  mutable std::mutex mutex; ///< of what follows
  std::map<std::string, std::shared_future<Compiled>> known;
  Statistics statistics;

  Compiled make(const std::string &key, const HookModule &module, const Hook &hook, const FragmentRequest &request,
                const isa::Target &target, unsigned waveSize) {
    if (auto kept = disk.load(key)) {
      kept->hook = hook.name;
      auto fragment = std::make_shared<Fragment>(std::move(*kept));
      if (fragment->kind == hook.kind && inspect(*fragment, target, waveSize)) {
        std::lock_guard lock(mutex);
        ++statistics.fromDisk;
        return std::shared_ptr<const Fragment>(std::move(fragment));
      }
    }
    const auto start = threadSeconds();
    auto compiled = compileHook(module, hook, request, target, waveSize);
    {
      std::lock_guard lock(mutex);
      ++statistics.compiled;
      statistics.compileSeconds += threadSeconds() - start;
    }
    if (!compiled)
      return compiled.error().withContext(module.origin());
    auto fragment = std::make_shared<Fragment>(std::move(*compiled));
    if (auto good = inspect(*fragment, target, waveSize); !good)
      return good.error().withContext(module.origin());
    disk.store(key, *fragment);
    return std::shared_ptr<const Fragment>(std::move(fragment));
  }
};

FragmentCompiler::Options FragmentCompiler::defaultOptions() {
  if (const auto folder = env::text("LUTHIER_CACHE"))
    return {*folder == "off" ? std::filesystem::path() : std::filesystem::path(*folder)};
  if (const auto cache = env::text("XDG_CACHE_HOME"))
    return {std::filesystem::path(*cache) / "luthier"};
  if (const auto home = env::text("HOME"))
    return {std::filesystem::path(*home) / ".cache" / "luthier"};
  return {};
}

FragmentCompiler::FragmentCompiler(Options options)
    : impl_(new Impl{.disk = FragmentCache(options.cache), .mutex = {}, .known = {}, .statistics = {}}) {}
FragmentCompiler::~FragmentCompiler() = default;

Result<std::shared_ptr<const Fragment>> FragmentCompiler::compile(const std::shared_ptr<const HookModule> &module,
                                                                  const FragmentRequest &request,
                                                                  const isa::Target &target, unsigned waveSize) {
  const Hook *hook = module->findHook(request.hook);
  if (!hook)
    return makeError("{}: there is no hook {}", module->origin(), request.hook);
  const std::string key = keyOf(*module, *hook, request, target, waveSize);
  std::promise<Compiled> promise;
  {
    std::unique_lock lock(impl_->mutex);
    const auto [it, isNew] = impl_->known.try_emplace(key, promise.get_future());
    if (!isNew) {
      ++impl_->statistics.fromMemory;
      const auto known = it->second;
      lock.unlock();
      return known.get(); // whoever was first may still be compiling it
    }
  }
  Compiled made = impl_->make(key, *module, *hook, request, target, waveSize);
  promise.set_value(made);
  return made;
}

FragmentCompiler::Statistics FragmentCompiler::statistics() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->statistics;
}

} // namespace luthier::hook
