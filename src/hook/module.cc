#include "hook/module.h"

#include "hook/cache.h"
#include "hook/compiler_process.h"
#include "hook/encoding.h"
#include "hook/module_impl.h"

#include <algorithm>

namespace luthier::hook {

std::string_view scopeOf(Storage storage) {
  switch (storage) {
  case Storage::Device:
    return "in device memory";
  case Storage::PerLaunch:
    return "per launch";
  case Storage::PerWave:
    return "per wave";
  case Storage::PerLane:
    return "per lane";
  case Storage::Lds:
    return "in LDS";
  case Storage::PerWorkgroup:
    return "per workgroup";
  case Storage::PerSite:
    return "per site";
  }
  return {};
}

Result<Hook> conditional(const Hook &predicate, const Hook &hook) {
  const auto runs = [](const Hook &which) { return which.kind == HookKind::Wave ? "once per wave" : "per lane"; };
  if (predicate.kind != hook.kind)
    return makeError("hook {} runs {}, and {}, which decides about it, {}", hook.name, runs(hook), predicate.name,
                     runs(predicate));
  if (predicate.result.type != ValueType::Integer || predicate.result.dwords > 2)
    return makeError("{} decides about hook {}, and must return a bool", predicate.name, hook.name);
  Hook whole = hook;
  whole.symbol = kConditionalSymbol;
  whole.parameters.insert(whole.parameters.begin(), predicate.parameters.begin(), predicate.parameters.end());
  whole.result = {ValueType::Void, 0};
  whole.hostTypes.clear();
  return whole;
}

Result<std::shared_ptr<const HookModule>> HookModule::load(std::span<const std::byte> bitcode, std::string origin,
                                                           const std::filesystem::path &cache) {
  auto impl = std::make_unique<Impl>();
  impl->origin = std::move(origin);
  impl->bitcode.assign(bitcode.begin(), bitcode.end());
  impl->digest = digestOf(bitcode);
  const Cache disk(cache);
  const std::string key = digestOf(fmt::format("{} contents {}", kHookVersion, impl->digest));
  if (!disk.load(key, [&](std::string_view text) { return decodeContents(text, *impl); })) {
    const CompilerReply reply = LUTHIER_TRY(askCompiler(
        {.origin = impl->origin, .bitcode = impl->bitcode, .hook = {}, .sources = {}, .target = {}}, impl->origin));
    if (auto done = decodeContents(reply.text, *impl); !done)
      return makeError("{}: the hook compiler's answer is damaged: {}", impl->origin, done.error().message());
    disk.store(key, reply.text);
  }
  return make(std::move(impl));
}

std::shared_ptr<const HookModule> HookModule::make(std::unique_ptr<Impl> impl) {
  for (Variable &variable : impl->variables) {
    if (inBlock(variable.storage)) {
      Block &block = impl->blocks[static_cast<size_t>(variable.storage)];
      block.alignment = std::max(block.alignment, variable.alignment);
      variable.offset = (block.bytes + variable.alignment - 1) / variable.alignment * variable.alignment;
      block.bytes = variable.offset + variable.size;
    }
    impl->variableOfSymbol[variable.symbol] = static_cast<uint32_t>(&variable - impl->variables.data());
  }
  return std::shared_ptr<const HookModule>(new HookModule(std::move(impl)));
}

HookModule::HookModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HookModule::~HookModule() = default;

const std::string &HookModule::origin() const { return impl_->origin; }
std::span<const Hook> HookModule::hooks() const { return impl_->hooks; }
std::span<const Variable> HookModule::variables() const { return impl_->variables; }
const HookModule::Block &HookModule::block(Storage storage) const {
  return impl_->blocks[static_cast<size_t>(storage)];
}

const Hook *HookModule::findHook(std::string_view name) const {
  const auto it = std::ranges::find_if(impl_->hooks, [&](const Hook &h) { return h.name == name || h.symbol == name; });
  return it == impl_->hooks.end() ? nullptr : &*it;
}

const Variable *HookModule::findVariable(std::string_view name) const {
  const auto it =
      std::ranges::find_if(impl_->variables, [&](const Variable &v) { return v.name == name || v.symbol == name; });
  return it == impl_->variables.end() ? nullptr : &*it;
}

} // namespace luthier::hook
