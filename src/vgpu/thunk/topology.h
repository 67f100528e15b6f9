// What hsaKmt reports about the machine: one CPU node (the host) and one node per virtual GPU.
//
// The numbers of a GPU node come from its DeviceConfig and isa::Target; what those do not say is as on an MI250X, half
// of which a gfx90a device is. Fields that ROCr 5.2.3 divides by or asserts on are marked in the source.
#pragma once

#include "vgpu/device.h"

#include <hsakmttypes.h>

#include <cstdint>
#include <string>
#include <vector>

namespace luthier::vgpu {

struct HostInfo {
  struct Cache {
    uint32_t level;
    uint32_t kibibytes;
    uint32_t lineBytes;
    bool instruction;
    bool data;
  };
  uint32_t cores = 1;
  uint64_t memoryBytes = 0;
  uint32_t clockMhz = 0;
  std::string name;
  std::vector<Cache> caches;

  /// Of the machine we run on.
  static HostInfo read();
};

class Topology {
public:
  Topology(HostInfo host, std::vector<DeviceConfig> gpus);

  uint32_t nodes() const { return static_cast<uint32_t>(gpus_.size() + 1); }
  uint32_t gpus() const { return static_cast<uint32_t>(gpus_.size()); }
  bool isGpu(uint32_t node) const { return node >= 1 && node < nodes(); }
  const HostInfo &host() const { return host_; }
  const DeviceConfig &gpu(uint32_t node) const { return gpus_[node - 1]; }

  void system(HsaSystemProperties &properties) const;
  void node(uint32_t node, HsaNodeProperties &properties) const;
  /// `mmioRemap` is the page behind the HDP flush registers of the node.
  std::vector<HsaMemoryProperties> memory(uint32_t node, uint64_t mmioRemap) const;
  std::vector<HsaCacheProperties> caches(uint32_t node) const;
  std::vector<HsaIoLinkProperties> links(uint32_t node) const;

private:
  void cpuNode(HsaNodeProperties &properties) const;
  void gpuNode(uint32_t node, HsaNodeProperties &properties) const;

  HostInfo host_;
  std::vector<DeviceConfig> gpus_;
};

} // namespace luthier::vgpu
