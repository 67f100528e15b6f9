// A kernel that has been launched, with its rewritten form if there is one; and a launch of it.
#pragma once

#include "hsa/executable.h"
#include "runtime/kernel_identity.h"
#include "runtime/kernel_view.h"
#include "runtime/run_account.h"
#include "runtime/site_values.h"
#include "runtime/tool_memory.h"

#include <atomic>
#include <map>

namespace luthier::runtime {

/// The rewritten kernel on its agent.
struct LoadedVariant {
  std::vector<std::byte> file; ///< what ROCr reads; outlives the executable
  hsa::OwnedCodeObjectReader reader;
  hsa::OwnedExecutable executable;
  uint64_t kernelObject = 0;
  uint32_t moreScratch = 0;       ///< bytes per work-item beyond the original's
  uint32_t moreLds = 0;           ///< bytes per workgroup
  uint32_t largestWorkgroup = 0;  ///< work-items
  isa::ResourceUse before, after; ///< registers of the original's waves, and of this one's
  uint64_t computeUnits = 0;      ///< of the agent
  const isa::Target *target = nullptr;
  rewrite::LaunchSegment segment;
  std::vector<std::shared_ptr<const hook::HookModule>> blocks;      ///< modules with per-launch variables
  std::vector<std::shared_ptr<const hook::HookModule>> groupBlocks; ///< modules with per-workgroup variables
  bool callsHost = false;                                           ///< its hooks do

  ~LoadedVariant();
};

struct InstrumentedKernel {
  std::unique_ptr<Kernel::Impl> kernel; ///< null when nobody wanted it
  std::unique_ptr<LoadedVariant> variant;
  std::shared_ptr<KernelAccount> account;
  std::shared_ptr<KernelIdentity> identity; ///< never null
  hsa_executable_t executable = {};
  hsa_agent_t agent = {};
  /// A number per tool, for what they have chosen; none: 0 for all.
  using Choice = std::vector<unsigned>;
  Choice choice;
  std::map<Choice, std::shared_ptr<InstrumentedKernel>> others; ///< the same kernel in other variants, under the lock
  /// Whether tools are asked about its launches.
  bool isWatched() const { return variant || (kernel && kernel->observed); }
  std::atomic<bool> tooLarge = false;    ///< a launch had a workgroup that does not fit with the hooks: said once
  std::atomic<bool> tooMuchLds = false;  ///< a launch left too little LDS to the hooks: said once
  std::atomic<bool> fewerGroups = false; ///< LDS of the hooks lets a compute unit hold fewer workgroups: said once
  std::atomic<bool> notResident = false; ///< a launch had as many workgroups as fit without the hooks: said once

  /// Before a tool is called about it: the tool sees the variant that it has chosen.
  void selectVariantFor(size_t tool) { kernel->variant = tool < choice.size() ? choice[tool] : 0; }

  /// Rewrites and loads it as the tools have asked for.
  Result<void> build(ToolMemory &memory, SiteValues &siteValues);
};

} // namespace luthier::runtime

namespace luthier {

struct Launch::Impl {
  std::shared_ptr<runtime::InstrumentedKernel> kernel;
  std::optional<Kernel> view;
  uint64_t number = 0, numberOfKernel = 0, queue = 0;
  Dim3 grid, workgroup;
  uint64_t begin = 0, end = 0;
  bool instrumented = false;
  const void *arguments = nullptr; ///< of the application, while tools are asked about the launch
  struct Block {
    hook::Storage storage; ///< PerLaunch, or PerWorkgroup: one block of the module behind the other
    std::shared_ptr<const hook::HookModule> module;
    std::vector<std::byte> contents; ///< what it starts with, and at the end what is there
    hsa::PoolMemory memory;
  };
  std::vector<Block> blocks;
  hsa::PoolMemory kernarg;

  Dim3 groups() const; ///< workgroups in each direction
  uint64_t workgroups() const { return uint64_t{groups().x} * groups().y * groups().z; }
  /// The contents of a per-launch variable, or of the first workgroup's; null when there is no such variable. `stride`:
  /// from one workgroup's to the next.
  std::byte *find(const HookFile &file, const char *name, size_t bytes, hook::Storage storage,
                  uint64_t *stride = nullptr);
};

} // namespace luthier
