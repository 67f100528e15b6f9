// Stands for src/hook until that is there: one module with known variables.
#include "hook/module.h"

namespace luthier::hook {
struct HookModule::Impl {
  std::string origin;
  std::vector<Variable> variables;
};
HookModule::HookModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HookModule::~HookModule() = default;
Result<std::shared_ptr<const HookModule>> HookModule::load(std::span<const std::byte> bitcode, std::string origin) {
  auto impl = std::make_unique<Impl>();
  impl->origin = std::move(origin);
  std::vector<std::byte> eleven(8);
  eleven[0] = std::byte{11};
  impl->variables = {
      {.name = "counter", .symbol = "counter", .storage = Storage::Device, .size = 8, .alignment = 8, .contents = {}},
      {.name = "start", .symbol = "start", .storage = Storage::Device, .size = 8, .alignment = 8, .contents = eleven},
      {.name = "launchA",
       .symbol = "launchA",
       .storage = Storage::PerLaunch,
       .size = 4,
       .alignment = 4,
       .offset = 0,
       .contents = {}},
      {.name = "launchB",
       .symbol = "launchB",
       .storage = Storage::PerLaunch,
       .size = 8,
       .alignment = 8,
       .offset = 8,
       .contents = {}},
      {.name = "wave", .symbol = "wave", .storage = Storage::PerWave, .size = 4, .alignment = 4, .contents = {}},
  };
  return std::shared_ptr<const HookModule>(new HookModule(std::move(impl)));
}
const std::string &HookModule::origin() const { return impl_->origin; }
std::span<const Variable> HookModule::variables() const { return impl_->variables; }
const Variable *HookModule::findVariable(std::string_view name) const {
  for (const Variable &variable : variables())
    if (variable.name == name)
      return &variable;
  return nullptr;
}
uint64_t HookModule::perLaunchBytes() const { return 16; }
uint64_t HookModule::perLaunchAlignment() const { return 8; }
} // namespace luthier::hook
