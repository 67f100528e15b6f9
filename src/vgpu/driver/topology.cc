#include "vgpu/driver/topology.h"

#include "vgpu/driver/device_files.h"

#include <cassert>

namespace luthier::vgpu {

namespace {

constexpr uint32_t kFirstGpuId = 0x4c01;
constexpr uint32_t kFirstGpuProcessor = 0x80000000;
constexpr uint64_t kHive = 0x4c75746869657201; // of all GPUs that are connected to each other
constexpr uint32_t kAmd = 0x1002;              // PCI vendor
constexpr uint32_t kScratchSlotsPerComputeUnit = 32;
constexpr uint32_t kGlobalWaveSyncs = 64; // cooperative launches ask for one

// `capability`: HSA_CAP_* of the kernel's topology.
constexpr uint32_t kDoorbellOfPacketIndex = 2 << 12; // 64 bits wide
constexpr uint32_t kMemoryEcc = 1 << 20;
constexpr uint32_t kAsicRevisionShift = 22;
constexpr uint32_t kSramEcc = 1 << 26; // "sramecc+"
constexpr uint32_t kSvmApi = 1 << 27;  // managed memory through the SVM ioctl

// `heap_type` of a memory bank
constexpr uint32_t kSystemHeap = 0, kPublicFrameBuffer = 1;

// `type` of a cache
constexpr uint32_t kDataCache = 1, kInstructionCache = 2, kCpuCache = 4, kComputeUnitCache = 8;

// `type` and `weight` of a link
constexpr uint32_t kPcie = 2, kXgmi = 11;
constexpr uint32_t kPcieWeight = 20, kXgmiWeight = 15;
constexpr uint32_t kPcieMegabytes = 32000, kXgmiMegabytes = 50000; // per second
constexpr uint32_t kLinkEnabled = 1;

Properties link(uint32_t type, uint32_t from, uint32_t to, uint32_t weight) {
  const uint32_t bandwidth = type == kXgmi ? kXgmiMegabytes : kPcieMegabytes;
  return {{"type", type},
          {"version_major", 0},
          {"version_minor", 0},
          {"node_from", from},
          {"node_to", to},
          {"weight", weight},
          {"min_latency", 0},
          {"max_latency", 0},
          {"min_bandwidth", bandwidth},
          {"max_bandwidth", bandwidth},
          {"recommended_transfer_size", 0},
          {"recommended_sdma_engine_id_mask", 0},
          {"flags", kLinkEnabled}};
}

Properties cache(uint32_t firstProcessor, uint32_t level, uint32_t kibibytes, uint32_t line, uint32_t type) {
  return {{"processor_id_low", firstProcessor}, {"level", level},   {"size", kibibytes}, {"cache_line_size", line},
          {"cache_lines_per_tag", 1},           {"association", 0}, {"latency", 0},      {"type", type}};
}

Properties memoryBank(uint32_t heap, uint64_t bytes, uint32_t width, uint32_t clock) {
  return {{"heap_type", heap}, {"size_in_bytes", bytes}, {"flags", 0}, {"width", width}, {"mem_clk_max", clock}};
}

uint32_t firstProcessor(uint32_t node) { return kFirstGpuProcessor + (node - 1) * 0x1000; }

} // namespace

Topology::Topology(HostInfo host, std::vector<DeviceConfig> gpus) : host_(std::move(host)), gpus_(std::move(gpus)) {
  for (const DeviceConfig &config : gpus_) {
    models_.push_back(findGpuModel(config.target->name));
    assert(models_.back());
  }
}

uint32_t Topology::gpuId(uint32_t node) const { return isGpu(node) ? kFirstGpuId + node - 1 : 0; }

std::optional<uint32_t> Topology::nodeOf(uint32_t gpuId) const {
  const uint32_t node = gpuId - kFirstGpuId + 1;
  return gpuId >= kFirstGpuId && isGpu(node) ? std::optional(node) : std::nullopt;
}

uint64_t Topology::uniqueId(uint32_t node) const {
  const isa::Target &target = *gpu(node).target;
  return 0x6c75746800000000 + (uint64_t{target.gfxVersion()} << 12) + node;
}

uint32_t Topology::locationId(uint32_t node) const { return node << 8; }

Properties Topology::node(uint32_t node) const {
  Properties properties{{"cpu_cores_count", isGpu(node) ? 0 : host_.cores},
                        {"simd_count", isGpu(node) ? gpu(node).computeUnits * gpu(node).simdsPerComputeUnit : 0},
                        {"mem_banks_count", memoryBanks(node).size()},
                        {"caches_count", caches(node).size()},
                        {"io_links_count", ioLinks(node).size()},
                        {"p2p_links_count", peerLinks(node).size()}};
  if (isGpu(node))
    addGpu(node, properties);
  else
    addCpu(properties);
  return properties;
}

void Topology::addCpu(Properties &properties) const {
  properties.insert(properties.end(), {{"cpu_core_id_base", 0}, {"max_engine_clk_ccompute", host_.clockMhz}});
}

void Topology::addGpu(uint32_t node, Properties &properties) const {
  const DeviceConfig &config = gpu(node);
  const GpuModel &row = model(node);
  const isa::Target &target = *config.target;
  const uint32_t ecc = row.ecc ? kSramEcc | kMemoryEcc : 0;
  properties.insert(
      properties.end(),
      {
          {"cpu_core_id_base", 0},
          {"simd_id_base", firstProcessor(node)},
          {"max_waves_per_simd", config.wavesPerSimd}, // needed once a kernel uses scratch, as are slots and arrays
          {"lds_size_in_kb", config.ldsBytesPerComputeUnit / 1024},
          {"gds_size_in_kb", 0},
          {"num_gws", kGlobalWaveSyncs},
          {"wave_front_size", target.waveSize}, // divided by
          {"array_count", row.arrays},
          {"simd_arrays_per_engine", row.arraysPerEngine},
          {"cu_per_simd_array", row.computeUnitsPerArray},
          {"simd_per_cu", config.simdsPerComputeUnit}, // divided by
          {"max_slots_scratch_cu", kScratchSlotsPerComputeUnit},
          {"gfx_target_version", target.gfxVersion()}, // asserted
          {"vendor_id", kAmd},
          {"device_id", row.deviceId},
          {"location_id", locationId(node)},
          {"domain", 0},
          {"drm_render_minor", renderMinor(node - 1)},
          {"hive_id", row.xgmi ? kHive : 0},
          {"num_sdma_engines", row.sdmaEngines},
          {"num_sdma_xgmi_engines", row.xgmiSdmaEngines},
          {"num_sdma_queues_per_engine", row.queuesPerSdmaEngine},
          {"num_cp_queues", row.computeQueues},
          {"max_engine_clk_fcompute", row.engineMhz},
          {"local_mem_size", config.localMemoryBytes},
          {"fw_version", row.firmware},
          {"capability", kDoorbellOfPacketIndex | ecc | kSvmApi | uint32_t{row.asicRevision} << kAsicRevisionShift},
          {"capability2", 0},
          {"debug_prop", 0},
          {"sdma_fw_version", row.sdmaFirmware},
          {"unique_id", uniqueId(node)},
          {"family_id", row.drmFamily},
          {"num_xcc", row.xccs},
          {"max_engine_clk_ccompute", host_.clockMhz},
      });
}

std::vector<Properties> Topology::memoryBanks(uint32_t node) const {
  if (!isGpu(node))
    return {memoryBank(kSystemHeap, host_.memoryBytes, 64, 3200)};
  // Public: the host can reach all of it (a "large BAR").
  return {memoryBank(kPublicFrameBuffer, gpu(node).localMemoryBytes, model(node).memoryBusBits, model(node).memoryMhz)};
}

std::vector<Properties> Topology::caches(uint32_t node) const {
  std::vector<Properties> result;
  if (!isGpu(node)) {
    for (const HostInfo::Cache &each : host_.caches)
      // ROCr drops caches that hold instructions; unified ones must not look like that.
      result.push_back(cache(0, each.level, each.kibibytes, each.lineBytes,
                             kCpuCache | (each.data ? kDataCache : kInstructionCache)));
    return result;
  }
  const GpuModel &row = model(node);
  const uint32_t processor = firstProcessor(node);
  const auto add = [&](uint32_t level, uint32_t kibibytes, uint32_t line, uint32_t type) {
    if (kibibytes != 0)
      result.push_back(cache(processor, level, kibibytes, line, kComputeUnitCache | type));
  };
  add(1, row.l1Kib, row.l1LineBytes, kDataCache); // at least one data cache: asserted
  add(1, 32, row.l1LineBytes, kInstructionCache);
  add(2, row.l2Kib, row.lineBytes, kDataCache);
  add(3, row.l3Kib, row.lineBytes, kDataCache);
  return result;
}

std::vector<Properties> Topology::ioLinks(uint32_t node) const {
  std::vector<Properties> result;
  if (!isGpu(node)) {
    for (uint32_t to = 1; to < nodes(); ++to)
      result.push_back(link(kPcie, node, to, kPcieWeight));
    return result;
  }
  result.push_back(link(kPcie, node, 0, kPcieWeight));
  for (uint32_t to = 1; to < nodes(); ++to)
    if (to != node && xgmi(node, to))
      result.push_back(link(kXgmi, node, to, kXgmiWeight));
  return result;
}

std::vector<Properties> Topology::peerLinks(uint32_t node) const {
  std::vector<Properties> result;
  for (uint32_t to = 1; isGpu(node) && to < nodes(); ++to)
    if (to != node && !xgmi(node, to))
      result.push_back(link(kPcie, node, to, 2 * kPcieWeight)); // by way of the CPU
  return result;
}

} // namespace luthier::vgpu
