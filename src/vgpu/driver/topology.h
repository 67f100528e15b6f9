// What the driver says about the machine: one CPU node (the host) and one node per virtual GPU, as the properties files
// of the kernel's topology have it. tree.h writes the files.
//
// The numbers of a GPU node come from its DeviceConfig, its isa::Target and its row of gpu_models.h. Properties that
// ROCr divides by or asserts on are marked in the source.
#pragma once

#include "vgpu/driver/gpu_models.h"
#include "vgpu/wave/device.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// The lines of a properties file: names and numbers.
using Properties = std::vector<std::pair<std::string_view, uint64_t>>;

class Topology {
public:
  /// Every GPU's target has a model (findGpuModel).
  Topology(HostInfo host, std::vector<DeviceConfig> gpus);

  uint32_t nodes() const { return static_cast<uint32_t>(gpus_.size() + 1); }
  uint32_t gpus() const { return static_cast<uint32_t>(gpus_.size()); }
  bool isGpu(uint32_t node) const { return node >= 1 && node < nodes(); }
  const HostInfo &host() const { return host_; }

  const DeviceConfig &gpu(uint32_t node) const { return gpus_[node - 1]; }
  const GpuModel &model(uint32_t node) const { return *models_[node - 1]; }
  /// How ioctls name a GPU: a number of 16 bits; 0 for the CPU.
  uint32_t gpuId(uint32_t node) const;
  std::optional<uint32_t> nodeOf(uint32_t gpuId) const;
  uint64_t uniqueId(uint32_t node) const;
  /// Bus, device and function on PCI.
  uint32_t locationId(uint32_t node) const;

  /// Of the folder `nodes/N`, with counts of what is below it.
  Properties node(uint32_t node) const;
  std::vector<Properties> memoryBanks(uint32_t node) const;
  std::vector<Properties> caches(uint32_t node) const;
  /// To the CPU and, where the chips have that, to each other.
  std::vector<Properties> ioLinks(uint32_t node) const;
  /// Between GPUs that reach each other by PCIe.
  std::vector<Properties> peerLinks(uint32_t node) const;

private:
  void addCpu(Properties &properties) const;
  void addGpu(uint32_t node, Properties &properties) const;
  bool xgmi(uint32_t from, uint32_t to) const { return model(from).xgmi && model(to).xgmi; }

  HostInfo host_;
  std::vector<DeviceConfig> gpus_;
  std::vector<const GpuModel *> models_;
};

} // namespace luthier::vgpu
