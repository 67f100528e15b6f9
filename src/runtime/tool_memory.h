// Memory for tools on the GPUs: their variables, blocks of per-launch variables, copies of kernel arguments.
//
// Blocks are given back when a launch has completed and used again; what a process has in flight bounds what is kept.
#pragma once

#include "hook/module.h"
#include "hsa/agent.h"
#include "hsa/memory_pool.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace luthier::runtime {

/// Thread-safe.
class ToolMemory {
public:
  using Module = std::shared_ptr<const hook::HookModule>;

  /// Where a variable of Storage::Device is on an agent. All of a module's are made at the first question.
  Result<uint64_t> variable(hsa_agent_t agent, const Module &module, uint32_t variable);
  Result<void> read(hsa_agent_t agent, const Module &module, const hook::Variable &variable, void *to, size_t bytes);
  Result<void> write(hsa_agent_t agent, const Module &module, const hook::Variable &variable, const void *from,
                     size_t bytes);
  /// Agents that have variables, in the order of first use.
  std::vector<hsa_agent_t> agents() const;

  /// Memory of an agent, or of the kernel arguments' kind, of at least so many bytes.
  enum class Kind : uint8_t { Device, Kernarg };
  Result<hsa::PoolMemory> take(hsa_agent_t agent, Kind kind, size_t bytes);
  void giveBack(hsa_agent_t agent, Kind kind, hsa::PoolMemory memory);
  /// Between the host's memory and memory of Kind::Device, directly where the host can reach it.
  Result<void> toDevice(const hsa::PoolMemory &memory, std::span<const std::byte> from);
  Result<void> fromDevice(std::span<std::byte> to, const hsa::PoolMemory &memory);

  /// For host and all GPUs at the same time; never freed.
  Result<void *> shared(size_t bytes);

private:
  struct Variables {
    hsa::PoolMemory memory;
    std::vector<uint64_t> addresses; ///< by number; 0 for other storage
  };
  Result<Variables *> variablesOf(hsa_agent_t agent, const Module &module);
  Result<hsa::PoolMemory> allocate(hsa_agent_t agent, Kind kind, size_t bytes);

  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, const hook::HookModule *>, Variables> variables_;
  std::vector<Module> modules_; ///< keeps them
  std::vector<hsa_agent_t> agents_;
  std::atomic<bool> hostReaches_ = true; ///< all memory of agents that was allocated so far
  std::map<std::pair<uint64_t, Kind>, std::multimap<size_t, hsa::PoolMemory>> free_;
};

} // namespace luthier::runtime
