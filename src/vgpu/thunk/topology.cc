#include "vgpu/thunk/topology.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>

namespace luthier::vgpu {

namespace {

constexpr uint32_t kFirstGpuProcessor = 0x80000000;
constexpr uint64_t kHive = 0x4c75746869657201; // all virtual GPUs are connected to each other
constexpr uint32_t kShaderEngines = 8;
constexpr uint32_t kScratchSlotsPerComputeUnit = 32;
constexpr uint32_t kPcieWeight = 20;
constexpr uint32_t kXgmiWeight = 15;

void setMarketingName(HsaNodeProperties &properties, std::string_view name) {
  const size_t length = std::min<size_t>(name.size(), HSA_PUBLIC_NAME_SIZE - 1);
  for (size_t i = 0; i < length; ++i)
    properties.MarketingName[i] = static_cast<unsigned char>(name[i]);
}

HsaIoLinkProperties link(HSA_IOLINKTYPE type, uint32_t from, uint32_t to, uint32_t weight, uint32_t bandwidth) {
  HsaIoLinkProperties properties{};
  properties.IoLinkType = type;
  properties.NodeFrom = from;
  properties.NodeTo = to;
  properties.Weight = weight;
  properties.MinimumBandwidth = bandwidth;
  properties.MaximumBandwidth = bandwidth;
  return properties;
}

} // namespace

Topology::Topology(HostInfo host, std::vector<DeviceConfig> gpus) : host_(std::move(host)), gpus_(std::move(gpus)) {}

void Topology::system(HsaSystemProperties &properties) const {
  properties = {};
  properties.NumNodes = nodes();
}

void Topology::node(uint32_t node, HsaNodeProperties &properties) const {
  properties = {};
  if (isGpu(node))
    gpuNode(node, properties);
  else
    cpuNode(properties);
  properties.NumMemoryBanks = static_cast<HSAuint32>(memory(node, 0).size());
  properties.NumCaches = static_cast<HSAuint32>(caches(node).size());
  properties.NumIOLinks = static_cast<HSAuint32>(links(node).size());
}

void Topology::cpuNode(HsaNodeProperties &properties) const {
  properties.NumCPUCores = host_.cores;
  properties.MaxEngineClockMhzCCompute = host_.clockMhz;
  properties.DrmRenderMinor = -1;
  setMarketingName(properties, host_.name);
  std::strncpy(reinterpret_cast<char *>(properties.AMDName), "cpu", sizeof(properties.AMDName) - 1);
}

void Topology::gpuNode(uint32_t node, HsaNodeProperties &properties) const {
  const DeviceConfig &config = gpu(node);
  const isa::Target &target = *config.target;
  const uint32_t index = node - 1;

  properties.NumFComputeCores = config.computeUnits * config.simdsPerComputeUnit;
  properties.NumSIMDPerCU = config.simdsPerComputeUnit; // divided by
  properties.MaxWavesPerSIMD = config.wavesPerSimd;     // needed once a kernel uses scratch, as are the next two
  properties.MaxSlotsScratchCU = kScratchSlotsPerComputeUnit;
  properties.NumShaderBanks = config.computeUnits % kShaderEngines == 0 ? kShaderEngines : 1;
  properties.WaveFrontSize = target.waveSize; // divided by
  properties.NumArrays = 1;
  properties.NumCUPerArray = config.computeUnits / properties.NumShaderBanks;
  properties.LDSSizeInKB = config.ldsBytesPerComputeUnit / 1024;
  properties.FComputeIdLo = kFirstGpuProcessor + index * properties.NumFComputeCores;
  properties.VGPRSizePerCU = target.vgprFileLanes * uint32_t{target.waveSize} * 4 * config.simdsPerComputeUnit;
  properties.SGPRSizePerCU = 800 * 4 * config.simdsPerComputeUnit;

  properties.EngineId.ui32.uCode = 68;
  properties.EngineId.ui32.Major = target.major;
  properties.EngineId.ui32.Minor = target.minor;
  properties.EngineId.ui32.Stepping = target.step;
  properties.uCodeEngineVersions.uCodeSDMA = 8;
  properties.Capability.ui32.DoorbellType = 2; // a 64-bit doorbell that holds a packet index
  properties.Capability.ui32.ASICRevision = 1;
  properties.Capability.ui32.SRAM_EDCSupport = 1; // "sramecc+"
  properties.Capability.ui32.Mem_EDCSupport = 1;

  properties.VendorId = 0x1002;
  properties.DeviceId = 0x7408;
  properties.LocationId = (index + 1) << 8; // bus, device, function
  properties.DrmRenderMinor = static_cast<HSAint32>(128 + index);
  properties.LocalMemSize = config.localMemoryBytes;
  properties.MaxEngineClockMhzFCompute = 1700;
  properties.MaxEngineClockMhzCCompute = host_.clockMhz;
  properties.HiveID = kHive;
  properties.UniqueID = 0x6c75746800000000 + (uint64_t{target.major} << 24) + (uint64_t{target.minor} << 20) +
                        (uint64_t{target.step} << 12) + node;
  properties.NumSdmaEngines = 2;
  properties.NumSdmaXgmiEngines = 3;
  properties.NumSdmaQueuesPerEngine = 8;
  properties.NumCpQueues = 24;
  properties.NumGws = 64; // cooperative launches ask for one
  setMarketingName(properties, fmt::format("Luthier virtual {}", target.name));
  std::memcpy(properties.AMDName, target.name.data(), std::min(target.name.size(), sizeof(properties.AMDName) - 1));
}

std::vector<HsaMemoryProperties> Topology::memory(uint32_t node, uint64_t mmioRemap) const {
  std::vector<HsaMemoryProperties> banks;
  auto add = [&](HSA_HEAPTYPE type, uint64_t size, uint64_t base) -> HsaMemoryProperties & {
    HsaMemoryProperties bank{};
    bank.HeapType = type;
    bank.SizeInBytes = size;
    bank.VirtualBaseAddress = base;
    return banks.emplace_back(bank);
  };
  if (!isGpu(node)) {
    HsaMemoryProperties &bank = add(HSA_HEAPTYPE_SYSTEM, host_.memoryBytes, 0);
    bank.Width = 64;
    bank.MemoryClockMax = 3200;
    return banks;
  }
  const DeviceConfig &config = gpu(node);
  // Public: the host can reach all of it (a "large BAR").
  HsaMemoryProperties &local = add(HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC, config.localMemoryBytes, 0);
  local.Width = 4096;
  local.MemoryClockMax = 1600;
  add(HSA_HEAPTYPE_GPU_LDS, config.ldsBytesPerComputeUnit, config.sharedApertureBase);
  add(HSA_HEAPTYPE_GPU_SCRATCH, 4ull << 30, config.privateApertureBase);
  add(HSA_HEAPTYPE_MMIO_REMAP, AddressSpace::kPageSize, mmioRemap);
  return banks;
}

std::vector<HsaCacheProperties> Topology::caches(uint32_t node) const {
  std::vector<HsaCacheProperties> result;
  auto add = [&](uint32_t level, uint32_t kibibytes, uint32_t line) -> HsaCacheProperties & {
    HsaCacheProperties cache{};
    cache.CacheLevel = level;
    cache.CacheSize = kibibytes;
    cache.CacheLineSize = line;
    return result.emplace_back(cache);
  };
  if (!isGpu(node)) {
    for (const HostInfo::Cache &cache : host_.caches) {
      HsaCacheProperties &properties = add(cache.level, cache.kibibytes, cache.lineBytes);
      properties.CacheType.ui32.CPU = 1;
      properties.CacheType.ui32.Data = cache.data;
      // ROCr drops caches that hold instructions; unified ones must not look like that.
      properties.CacheType.ui32.Instruction = cache.instruction && !cache.data;
    }
    return result;
  }
  const uint32_t firstProcessor = kFirstGpuProcessor;
  for (auto [level, kibibytes, instruction] : {std::tuple{1u, 16u, false}, {1u, 32u, true}, {2u, 8192u, false}}) {
    HsaCacheProperties &properties = add(level, kibibytes, level == 1 ? 64 : 128);
    properties.ProcessorIdLow = firstProcessor;
    properties.CacheType.ui32.HSACU = 1; // at least one data cache: asserted
    properties.CacheType.ui32.Data = !instruction;
    properties.CacheType.ui32.Instruction = instruction;
  }
  return result;
}

std::vector<HsaIoLinkProperties> Topology::links(uint32_t node) const {
  std::vector<HsaIoLinkProperties> result;
  if (!isGpu(node)) {
    for (uint32_t to = 1; to < nodes(); ++to)
      result.push_back(link(HSA_IOLINKTYPE_PCIEXPRESS, node, to, kPcieWeight, 32000));
    return result;
  }
  result.push_back(link(HSA_IOLINKTYPE_PCIEXPRESS, node, 0, kPcieWeight, 32000));
  for (uint32_t to = 1; to < nodes(); ++to)
    if (to != node)
      result.push_back(link(HSA_IOLINK_TYPE_XGMI, node, to, kXgmiWeight, 50000));
  return result;
}

} // namespace luthier::vgpu
