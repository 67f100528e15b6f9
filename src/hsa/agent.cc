#include "hsa/agent.h"

namespace luthier::hsa {

namespace {

constexpr ApiId kAgentInfo = ApiId::hsa_agent_get_info;
constexpr size_t kNameSize = 64; // of every name that ROCr fills in

constexpr hsa_agent_info_t amd(hsa_amd_agent_info_t attribute) { return static_cast<hsa_agent_info_t>(attribute); }

Result<std::vector<Agent>> agentsOfType(hsa_device_type_t type) {
  std::vector<Agent> wanted;
  for (const Agent agent : LUTHIER_TRY(Agent::all()))
    if (LUTHIER_TRY(agent.deviceType()) == type)
      wanted.push_back(agent);
  return wanted;
}

} // namespace

Result<std::vector<Agent>> Agent::all() { return collect<Agent, ApiId::hsa_iterate_agents>(); }
Result<std::vector<Agent>> Agent::gpus() { return agentsOfType(HSA_DEVICE_TYPE_GPU); }
Result<std::vector<Agent>> Agent::cpus() { return agentsOfType(HSA_DEVICE_TYPE_CPU); }

Result<std::string> Agent::name() const { return infoText<kAgentInfo, kNameSize>(HSA_AGENT_INFO_NAME); }
Result<std::string> Agent::vendor() const { return infoText<kAgentInfo, kNameSize>(HSA_AGENT_INFO_VENDOR_NAME); }
Result<hsa_device_type_t> Agent::deviceType() const {
  return info<kAgentInfo, hsa_device_type_t>(HSA_AGENT_INFO_DEVICE);
}
Result<bool> Agent::isGpu() const { return LUTHIER_TRY(deviceType()) == HSA_DEVICE_TYPE_GPU; }
Result<hsa_profile_t> Agent::profile() const { return info<kAgentInfo, hsa_profile_t>(HSA_AGENT_INFO_PROFILE); }
Result<uint32_t> Agent::node() const { return info<kAgentInfo, uint32_t>(HSA_AGENT_INFO_NODE); }
Result<uint32_t> Agent::waveSize() const { return info<kAgentInfo, uint32_t>(HSA_AGENT_INFO_WAVEFRONT_SIZE); }
Result<uint32_t> Agent::computeUnits() const {
  return info<kAgentInfo, uint32_t>(amd(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT));
}
Result<uint32_t> Agent::simdsPerComputeUnit() const {
  return info<kAgentInfo, uint32_t>(amd(HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU));
}
Result<uint32_t> Agent::maxWavesPerComputeUnit() const {
  return info<kAgentInfo, uint32_t>(amd(HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU));
}
Result<uint32_t> Agent::maxWorkgroupSize() const {
  return info<kAgentInfo, uint32_t>(HSA_AGENT_INFO_WORKGROUP_MAX_SIZE);
}
Result<std::array<uint16_t, 3>> Agent::maxWorkgroup() const {
  return info<kAgentInfo, std::array<uint16_t, 3>>(HSA_AGENT_INFO_WORKGROUP_MAX_DIM);
}
Result<hsa_dim3_t> Agent::maxGrid() const { return info<kAgentInfo, hsa_dim3_t>(HSA_AGENT_INFO_GRID_MAX_DIM); }

Result<std::vector<Isa>> Agent::isas() const { return each<Isa, ApiId::hsa_agent_iterate_isas>(); }

Result<Isa> Agent::isa() const {
  const std::vector<Isa> known = LUTHIER_TRY(isas());
  if (known.empty())
    return makeError("agent {} has no ISA", LUTHIER_TRY(name()));
  return known.front();
}

Result<const luthier::isa::Target *> Agent::target() const { return LUTHIER_TRY(isa()).target(); }

Result<std::vector<MemoryPool>> Agent::memoryPools() const {
  return each<MemoryPool, ApiId::hsa_amd_agent_iterate_memory_pools>();
}

Result<MemoryPool> Agent::globalPool(uint32_t flags, uint32_t without) const {
  for (const MemoryPool pool : LUTHIER_TRY(memoryPools())) {
    if (LUTHIER_TRY(pool.segment()) != HSA_AMD_SEGMENT_GLOBAL || !LUTHIER_TRY(pool.allocatable()))
      continue;
    const uint32_t has = LUTHIER_TRY(pool.globalFlags());
    if ((has & flags) == flags && !(has & without))
      return pool;
  }
  return makeError("agent {} has no memory pool with the flags {:#x}", LUTHIER_TRY(name()), flags);
}

Result<hsa_amd_memory_pool_access_t> Agent::access(MemoryPool pool) const {
  hsa_amd_memory_pool_access_t access{};
  LUTHIER_TRY(invoke<ApiId::hsa_amd_agent_memory_pool_get_info>(pool.raw(), HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS,
                                                                static_cast<void *>(&access)));
  return access;
}

} // namespace luthier::hsa
