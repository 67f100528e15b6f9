#include "memcheck/hooks/process_memory.h"

#include "hsa/table_layout.h"
#include "memcheck/hsa_allocations.h"
#include "support/env.h"
#include "support/variables.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

namespace luthier::memcheck {

namespace {

/// The table of ranges is made anew for the next launch once anything has changed.
struct Changes : PageGuards {
  void guard(uint64_t, uint64_t) override { seen = true; }
  void unguard(uint64_t, uint64_t) override { seen = true; }
  std::atomic<bool> seen = true;
};

Changes changes;
std::atomic<ApplicationMemory *> application = nullptr; ///< null: nothing is checked
decltype(::hsa_amd_pointer_info) *pointerInfo = nullptr;
decltype(::hsa_agent_get_info) *agentInfo = nullptr;
decltype(::hsa_system_get_info) *systemInfo = nullptr;

std::optional<hsa_amd_pointer_info_t> infoOf(uint64_t address) {
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof info;
  if (!pointerInfo ||
      pointerInfo(reinterpret_cast<void *>(address), &info, nullptr, nullptr, nullptr) != HSA_STATUS_SUCCESS ||
      info.type == HSA_EXT_POINTER_TYPE_UNKNOWN)
    return std::nullopt;
  return info;
}

bool isOnGpu(uint64_t address) {
  const auto info = infoOf(address);
  hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
  return info && agentInfo && agentInfo(info->agentOwner, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS &&
         type == HSA_DEVICE_TYPE_GPU;
}

} // namespace

ApplicationMemory *applicationMemory() { return application; }

void noteChange() { changes.seen = true; }

bool takeChange() { return changes.seen.exchange(false); }

std::optional<AddressRange> runtimeAllocationAt(uint64_t address) {
  const auto info = infoOf(address);
  if (!info)
    return std::nullopt;
  const auto begin = reinterpret_cast<uint64_t>(info->agentBaseAddress);
  if (address - begin >= info->sizeInBytes)
    return std::nullopt;
  return AddressRange{begin, begin + info->sizeInBytes};
}

bool allIsAccessible() {
  bool accessible = false;
  const auto what = static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT);
  return systemInfo && systemInfo(what, &accessible) == HSA_STATUS_SUCCESS && accessible;
}

std::optional<AddressRange> hostMappingAt(uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char access[5] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &begin, &end, access, &path) < 3 ||
        address < begin || address >= end)
      continue;
    const std::string_view name =
        std::string_view(line).substr(std::min<size_t>(static_cast<size_t>(path), line.size()));
    if (access[0] != 'r' || name.starts_with("/dev/") || name.starts_with("/memfd:"))
      return std::nullopt;
    return AddressRange{begin, end};
  }
  return std::nullopt;
}

} // namespace luthier::memcheck

extern "C" {

// ROCr loads this library as one of its tools, besides Luthier doing so as one of its own.
[[gnu::visibility("default")]] bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  using namespace luthier;
  using namespace luthier::memcheck;
  if (!env::text(env::kCheckRecords) || !table->core_ || !table->amd_ext_)
    return true;
  if (!application) {
    auto *memory = new ApplicationMemory(changes); // threads may be on their way through it until the process ends
    memory->isDevice = isOnGpu;
    application = memory;
  }
  const auto find = [&](hsa::ApiId id, hsa::ApiTable which, const ApiTableVersion &version, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(hsa::entryOf(which, version, id));
  };
  find(hsa::ApiId::hsa_amd_pointer_info, hsa::ApiTable::amd, table->amd_ext_->version, pointerInfo);
  find(hsa::ApiId::hsa_agent_get_info, hsa::ApiTable::core, table->core_->version, agentInfo);
  find(hsa::ApiId::hsa_system_get_info, hsa::ApiTable::core, table->core_->version, systemInfo);
  watchHsaAllocations(table, [] { return application.load(); });
  return true;
}

[[gnu::visibility("default")]] void OnUnload() {}

// For libluthier-check.so (vgpu/preload/hip_calls.c): the application has asked HIP for this memory, or has freed it.
[[gnu::visibility("default")]] void luthierCheckClaim(void *address) {
  if (auto *memory = luthier::memcheck::application.load()) {
    memory->claimed(reinterpret_cast<uint64_t>(address));
    luthier::memcheck::noteChange();
  }
}

[[gnu::visibility("default")]] void luthierCheckFreed(void *address) {
  if (auto *memory = luthier::memcheck::application.load())
    memory->freedByHip(reinterpret_cast<uint64_t>(address));
}
}
