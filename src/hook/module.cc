#include "hook/module.h"

#include "hook/cache.h"
#include "hook/compiler_process.h"
#include "hook/encoding.h"
#include "hook/module_impl.h"

#include <algorithm>

namespace luthier::hook {

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
    if (variable.storage == Storage::PerLaunch) {
      impl->perLaunchAlignment = std::max(impl->perLaunchAlignment, variable.alignment);
      variable.offset = (impl->perLaunchBytes + variable.alignment - 1) / variable.alignment * variable.alignment;
      impl->perLaunchBytes = variable.offset + variable.size;
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
uint64_t HookModule::perLaunchBytes() const { return impl_->perLaunchBytes; }
uint64_t HookModule::perLaunchAlignment() const { return impl_->perLaunchAlignment; }

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
