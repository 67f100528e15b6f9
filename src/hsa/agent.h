// An agent: a CPU or a GPU that HSA knows.
#pragma once

#include "hsa/isa.h"
#include "hsa/memory_pool.h"

namespace luthier::hsa {

class Agent : public Handle<Agent, hsa_agent_t> {
public:
  static constexpr std::string_view kWhat = "agent";
  using Handle::Handle;

  static Result<std::vector<Agent>> all();
  static Result<std::vector<Agent>> gpus();
  static Result<std::vector<Agent>> cpus();

  Result<std::string> name() const; ///< "gfx90a"; of a CPU, its product name
  Result<std::string> vendor() const;
  Result<hsa_device_type_t> deviceType() const;
  Result<bool> isGpu() const;
  Result<hsa_profile_t> profile() const;
  Result<uint32_t> node() const;

  Result<uint32_t> waveSize() const; ///< 0 for CPUs
  Result<uint32_t> computeUnits() const;
  Result<uint32_t> simdsPerComputeUnit() const;
  Result<uint32_t> maxWavesPerComputeUnit() const;
  Result<uint32_t> maxWorkgroupSize() const;
  Result<std::array<uint16_t, 3>> maxWorkgroup() const;
  Result<hsa_dim3_t> maxGrid() const;

  Result<std::vector<Isa>> isas() const; ///< none for CPUs
  Result<Isa> isa() const;               ///< the first
  /// Luthier's row for a GPU.
  Result<const luthier::isa::Target *> target() const;

  Result<std::vector<MemoryPool>> memoryPools() const;
  /// The first pool of the global segment that has these flags (hsa_amd_memory_pool_global_flag_t), none of `without`,
  /// and allows allocations.
  Result<MemoryPool> globalPool(uint32_t flags, uint32_t without = 0) const;
  /// How this agent reaches a pool: never, or by default, or when allowed.
  Result<hsa_amd_memory_pool_access_t> access(MemoryPool pool) const;
};

} // namespace luthier::hsa
