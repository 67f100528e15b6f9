#include "hook/compiler.h"

#include "hook/cache.h"
#include "hook/compiler_process.h"
#include "hook/encoding.h"
#include "hook/inspect.h"
#include "hook/module_impl.h"

#include <future>
#include <map>
#include <mutex>

namespace luthier::hook {

namespace {

using Compiled = Result<std::shared_ptr<const Fragment>>;

/// Everything that decides what a fragment looks like.
std::string keyOf(const HookModule &module, const Hook &hook, const FragmentRequest &request, const isa::Target &target,
                  unsigned waveSize) {
  std::string text =
      fmt::format("{} fragment {} {} {} {}", kHookVersion, module.impl().digest, hook.symbol, target.name, waveSize);
  if (!request.predicate.empty())
    fmt::format_to(std::back_inserter(text), " if {}", module.findHook(request.predicate)->symbol);
  for (const Source &s : request.sources)
    fmt::format_to(std::back_inserter(text), " {}:{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}{:d}:{}",
                   static_cast<unsigned>(s.kind), s.vaddr, s.saddr, s.idxen, s.offen, s.offset, s.typed, s.resource,
                   s.unit64, s.narrow, s.byLane, s.bytes);
  return digestOf(text);
}

} // namespace

struct FragmentCompiler::Impl {
  Cache disk;
  mutable std::mutex mutex; ///< of what follows
  std::map<std::string, std::shared_future<Compiled>> known;
  Statistics statistics;

  Compiled make(const std::string &key, const HookModule &module, const Hook &hook, const FragmentRequest &request,
                const isa::Target &target, unsigned waveSize) {
    auto fragment = std::make_shared<Fragment>();
    Hook whole = hook;
    const Hook *predicate = request.predicate.empty() ? nullptr : module.findHook(request.predicate);
    if (predicate)
      whole = LUTHIER_TRY(conditional(*predicate, hook));
    const auto use = [&](std::string_view text) -> Result<void> {
      *fragment = LUTHIER_TRY(decodeFragment(text, module, whole, target));
      return inspect(*fragment, target, waveSize);
    };
    if (disk.load(key, use)) {
      std::lock_guard lock(mutex);
      ++statistics.fromDisk;
      return std::shared_ptr<const Fragment>(std::move(fragment));
    }
    auto reply = askCompiler({.origin = module.origin(),
                              .bitcode = module.impl().bitcode,
                              .hook = hook.symbol,
                              .predicate = predicate ? predicate->symbol : std::string(),
                              .sources = request.sources,
                              .target = std::string(target.name),
                              .waveSize = waveSize},
                             fmt::format("{}: hook {} cannot be compiled", module.origin(), hook.name));
    {
      std::lock_guard lock(mutex);
      ++statistics.compiled;
      statistics.compileSeconds += reply ? reply->seconds : 0;
    }
    if (!reply)
      return std::move(reply).error();
    if (auto good = use(reply->text); !good)
      return good.error().withContext(module.origin());
    disk.store(key, reply->text);
    return std::shared_ptr<const Fragment>(std::move(fragment));
  }
};

FragmentCompiler::FragmentCompiler(Options options)
    : impl_(new Impl{.disk = Cache(std::move(options.cache)), .mutex = {}, .known = {}, .statistics = {}}) {}
FragmentCompiler::~FragmentCompiler() = default;

Result<std::shared_ptr<const Fragment>> FragmentCompiler::compile(const std::shared_ptr<const HookModule> &module,
                                                                  const FragmentRequest &request,
                                                                  const isa::Target &target, unsigned waveSize) {
  const Hook *hook = module->findHook(request.hook);
  if (!hook)
    return makeError("{}: there is no hook {}", module->origin(), request.hook);
  if (!request.predicate.empty() && !module->findHook(request.predicate))
    return makeError("{}: there is no hook {}", module->origin(), request.predicate);
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
