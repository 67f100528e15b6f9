#include "runtime/tool_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace luthier::runtime {

namespace {

constexpr size_t kSmallest = 256;

} // namespace

Result<hsa::PoolMemory> ToolMemory::allocate(hsa_agent_t agent, Kind kind, size_t bytes) {
  if (kind == Kind::Device) {
    const hsa::MemoryPool pool =
        LUTHIER_TRY(hsa::Agent(agent).globalPool(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED));
    hsa::PoolMemory memory = LUTHIER_TRY(pool.allocate(bytes));
    // A host that reaches all of a GPU's memory saves the copies.
    std::vector<hsa::Agent> both = {hsa::Agent(agent)};
    for (hsa::Agent cpu : LUTHIER_TRY(hsa::Agent::cpus()))
      if (const auto access = cpu.access(pool); access && *access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED)
        both.push_back(cpu);
    if (both.size() < 2 || !memory.allowAccess(both))
      hostReaches_ = false;
    return memory;
  }
  for (hsa::Agent cpu : LUTHIER_TRY(hsa::Agent::cpus())) {
    const auto pool = cpu.globalPool(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
    if (!pool)
      continue;
    hsa::PoolMemory memory = LUTHIER_TRY(pool->allocate(bytes));
    const std::vector<hsa::Agent> gpus = LUTHIER_TRY(hsa::Agent::gpus());
    LUTHIER_TRY(memory.allowAccess(gpus));
    return memory;
  }
  return makeError("there is no memory for kernel arguments");
}

Result<hsa::PoolMemory> ToolMemory::take(hsa_agent_t agent, Kind kind, size_t bytes) {
  bytes = std::bit_ceil(std::max(bytes, kSmallest));
  {
    std::lock_guard lock(mutex_);
    auto &free = free_[{kind == Kind::Device ? agent.handle : 0, kind}];
    if (const auto found = free.find(bytes); found != free.end()) {
      hsa::PoolMemory memory = std::move(found->second);
      free.erase(found);
      return memory;
    }
  }
  return allocate(agent, kind, bytes);
}

void ToolMemory::giveBack(hsa_agent_t agent, Kind kind, hsa::PoolMemory memory) {
  if (!memory)
    return;
  std::lock_guard lock(mutex_);
  const size_t bytes = memory.size();
  free_[{kind == Kind::Device ? agent.handle : 0, kind}].emplace(bytes, std::move(memory));
}

Result<void> ToolMemory::toDevice(const hsa::PoolMemory &memory, std::span<const std::byte> from) {
  if (!hostReaches_)
    return hsa::copyMemory(memory.data(), from.data(), from.size());
  memcpy(memory.data(), from.data(), from.size());
  return {};
}

Result<void> ToolMemory::fromDevice(std::span<std::byte> to, const hsa::PoolMemory &memory) {
  if (!hostReaches_)
    return hsa::copyMemory(to.data(), memory.data(), to.size());
  memcpy(to.data(), memory.data(), to.size());
  return {};
}

Result<ToolMemory::Variables *> ToolMemory::variablesOf(hsa_agent_t agent, const Module &module) {
  Variables &variables = variables_[{agent.handle, module.get()}];
  if (!variables.addresses.empty() || module->variables().empty())
    return &variables;
  std::vector<uint64_t> offsets;
  uint64_t size = 0;
  for (const hook::Variable &variable : module->variables()) {
    if (variable.storage != hook::Storage::Device) {
      offsets.push_back(0);
      continue;
    }
    size = (size + variable.alignment - 1) / variable.alignment * variable.alignment;
    offsets.push_back(size);
    size += variable.size;
  }
  size = (std::max<uint64_t>(size, 8) + 3) & ~3ull;
  auto memory = allocate(agent, Kind::Device, size);
  if (!memory)
    return memory.error().withContext(fmt::format("{} bytes for the variables of {}", size, module->origin()));
  // A copy of it all on the host might have no room there.
  LUTHIER_TRY(hsa::call<hsa::ApiId::hsa_amd_memory_fill>(memory->data(), 0u, size / 4));
  for (size_t n = 0; n < offsets.size(); ++n)
    if (const hook::Variable &variable = module->variables()[n];
        variable.storage == hook::Storage::Device && !variable.contents.empty())
      LUTHIER_TRY(
          hsa::copyMemory(memory->as<std::byte>() + offsets[n], variable.contents.data(), variable.contents.size()));
  for (size_t n = 0; n < offsets.size(); ++n)
    variables.addresses.push_back(
        module->variables()[n].storage == hook::Storage::Device ? memory->address() + offsets[n] : 0);
  variables.memory = *std::move(memory);
  modules_.push_back(module);
  if (std::ranges::none_of(agents_, [&](hsa_agent_t a) { return a.handle == agent.handle; }))
    agents_.push_back(agent);
  return &variables;
}

Result<uint64_t> ToolMemory::variable(hsa_agent_t agent, const Module &module, uint32_t variable) {
  std::lock_guard lock(mutex_);
  return LUTHIER_TRY(variablesOf(agent, module))->addresses[variable];
}

Result<void> ToolMemory::read(hsa_agent_t agent, const Module &module, const hook::Variable &variable, void *to,
                              size_t bytes) {
  const auto number = static_cast<uint32_t>(&variable - module->variables().data());
  const uint64_t address = LUTHIER_TRY(this->variable(agent, module, number));
  return hsa::copyMemory(to, reinterpret_cast<const void *>(address), std::min<size_t>(bytes, variable.size));
}

Result<void> ToolMemory::write(hsa_agent_t agent, const Module &module, const hook::Variable &variable,
                               const void *from, size_t bytes) {
  const auto number = static_cast<uint32_t>(&variable - module->variables().data());
  const uint64_t address = LUTHIER_TRY(this->variable(agent, module, number));
  return hsa::copyMemory(reinterpret_cast<void *>(address), from, std::min<size_t>(bytes, variable.size));
}

std::vector<hsa_agent_t> ToolMemory::agents() const {
  std::lock_guard lock(mutex_);
  return agents_;
}

Result<void *> ToolMemory::shared(size_t bytes) {
  hsa::PoolMemory memory = LUTHIER_TRY(allocate({}, Kind::Kernarg, bytes));
  memset(memory.data(), 0, bytes);
  return memory.release();
}

} // namespace luthier::runtime
