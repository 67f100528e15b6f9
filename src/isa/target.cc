#include "isa/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace luthier::isa {

// From LLVM's AMDGPUUsage (machines, features, register granules) and the ISA manuals. gfx10 and later are described in
// WGP mode, which compilers choose: a workgroup has four SIMDs and two LDS blocks to itself and its neighbours.
static constexpr Target kTargets[] = {
    {.name = "gfx1030",
     .major = 10,
     .minor = 3,
     .step = 0,
     .elfMachine = 0x36,
     .encoding = EncodingFamily::Gfx10,
     .waveSize = 32,
     .wave32 = true,
     .sgprs = 106,
     .sgprFile = 0,
     .sgprGranule = 128,
     .vgprs = 256,
     .accVgprs = 0,
     .vgprFileLanes = 512,
     .vgprGranule = 8,
     .vgprDescriptorGranule = 4,
     .maxWavesPerSimd = 16,
     .simdsPerComputeUnit = 4,
     .maxWorkgroupWaves = 32,
     .ldsBytes = 131072,
     .ldsGranule = 512,
     .flatOffsetBits = 12,
     .unifiedVgprs = false,
     .packedWorkitemIds = false,
     .sramecc = false,
     .xnack = false,
     .virtualGpu = false},
    {.name = "gfx1100",
     .major = 11,
     .minor = 0,
     .step = 0,
     .elfMachine = 0x41,
     .encoding = EncodingFamily::Gfx11,
     .waveSize = 32,
     .wave32 = true,
     .sgprs = 106,
     .sgprFile = 0,
     .sgprGranule = 128,
     .vgprs = 256,
     .accVgprs = 0,
     .vgprFileLanes = 768,
     .vgprGranule = 12,
     .vgprDescriptorGranule = 4,
     .maxWavesPerSimd = 16,
     .simdsPerComputeUnit = 4,
     .maxWorkgroupWaves = 32,
     .ldsBytes = 131072,
     .ldsGranule = 512,
     .flatOffsetBits = 13,
     .unifiedVgprs = false,
     .packedWorkitemIds = true,
     .sramecc = false,
     .xnack = false,
     .virtualGpu = false},
    {.name = "gfx803",
     .major = 8,
     .minor = 0,
     .step = 3,
     .elfMachine = 0x2a,
     .encoding = EncodingFamily::Gfx8,
     .waveSize = 64,
     .wave32 = false,
     .sgprs = 102,
     .sgprFile = 800,
     .sgprGranule = 16,
     .vgprs = 256,
     .accVgprs = 0,
     .vgprFileLanes = 256,
     .vgprGranule = 4,
     .vgprDescriptorGranule = 4,
     .maxWavesPerSimd = 10,
     .simdsPerComputeUnit = 4,
     .maxWorkgroupWaves = 16,
     .ldsBytes = 65536,
     .ldsGranule = 512,
     .flatOffsetBits = 0,
     .unifiedVgprs = false,
     .packedWorkitemIds = false,
     .sramecc = false,
     .xnack = false,
     .virtualGpu = false},
    {.name = "gfx900",
     .major = 9,
     .minor = 0,
     .step = 0,
     .elfMachine = 0x2c,
     .encoding = EncodingFamily::Gfx9,
     .waveSize = 64,
     .wave32 = false,
     .sgprs = 102,
     .sgprFile = 800,
     .sgprGranule = 16,
     .vgprs = 256,
     .accVgprs = 0,
     .vgprFileLanes = 256,
     .vgprGranule = 4,
     .vgprDescriptorGranule = 4,
     .maxWavesPerSimd = 10,
     .simdsPerComputeUnit = 4,
     .maxWorkgroupWaves = 16,
     .ldsBytes = 65536,
     .ldsGranule = 512,
     .flatOffsetBits = 13,
     .unifiedVgprs = false,
     .packedWorkitemIds = false,
     .sramecc = false,
     .xnack = true,
     .virtualGpu = false},
    {.name = "gfx906",
     .major = 9,
     .minor = 0,
     .step = 6,
     .elfMachine = 0x2f,
     .encoding = EncodingFamily::Gfx9,
     .waveSize = 64,
     .wave32 = false,
     .sgprs = 102,
     .sgprFile = 800,
     .sgprGranule = 16,
     .vgprs = 256,
     .accVgprs = 0,
     .vgprFileLanes = 256,
     .vgprGranule = 4,
     .vgprDescriptorGranule = 4,
     .maxWavesPerSimd = 10,
     .simdsPerComputeUnit = 4,
     .maxWorkgroupWaves = 16,
     .ldsBytes = 65536,
     .ldsGranule = 512,
     .flatOffsetBits = 13,
     .unifiedVgprs = false,
     .packedWorkitemIds = false,
     .sramecc = true,
     .xnack = true,
     .virtualGpu = false},
    {.name = "gfx908",
     .major = 9,
     .minor = 0,
     .step = 8,
     .elfMachine = 0x30,
     .encoding = EncodingFamily::Gfx9,
     .waveSize = 64,
     .wave32 = false,
     .sgprs = 102,
     .sgprFile = 800,
     .sgprGranule = 16,
     .vgprs = 256,
     .accVgprs = 256,
     .vgprFileLanes = 256,
     .vgprGranule = 4,
     .vgprDescriptorGranule = 4,
     .maxWavesPerSimd = 10,
     .simdsPerComputeUnit = 4,
     .maxWorkgroupWaves = 16,
     .ldsBytes = 65536,
     .ldsGranule = 512,
     .flatOffsetBits = 13,
     .unifiedVgprs = false,
     .packedWorkitemIds = false,
     .sramecc = true,
     .xnack = true,
     .virtualGpu = false},
    {.name = "gfx90a",
     .major = 9,
     .minor = 0,
     .step = 10,
     .elfMachine = 0x3f,
     .encoding = EncodingFamily::Gfx9,
     .waveSize = 64,
     .wave32 = false,
     .sgprs = 102,
     .sgprFile = 800,
     .sgprGranule = 16,
     .vgprs = 256,
     .accVgprs = 256,
     .vgprFileLanes = 512,
     .vgprGranule = 8,
     .vgprDescriptorGranule = 8,
     .maxWavesPerSimd = 8,
     .simdsPerComputeUnit = 4,
     .maxWorkgroupWaves = 16,
     .ldsBytes = 65536,
     .ldsGranule = 512,
     .flatOffsetBits = 13,
     .unifiedVgprs = true,
     .packedWorkitemIds = true,
     .sramecc = true,
     .xnack = true,
     .virtualGpu = true},
    {.name = "gfx940",
     .major = 9,
     .minor = 4,
     .step = 0,
     .elfMachine = 0x40,
     .encoding = EncodingFamily::Gfx9,
     .waveSize = 64,
     .wave32 = false,
     .sgprs = 102,
     .sgprFile = 800,
     .sgprGranule = 16,
     .vgprs = 256,
     .accVgprs = 256,
     .vgprFileLanes = 512,
     .vgprGranule = 8,
     .vgprDescriptorGranule = 8,
     .maxWavesPerSimd = 8,
     .simdsPerComputeUnit = 4,
     .maxWorkgroupWaves = 16,
     .ldsBytes = 65536,
     .ldsGranule = 512,
     .flatOffsetBits = 13,
     .unifiedVgprs = true,
     .packedWorkitemIds = true,
     .sramecc = true,
     .xnack = true,
     .virtualGpu = false},
    {.name = "gfx942",
     .major = 9,
     .minor = 4,
     .step = 2,
     .elfMachine = 0x4c,
     .encoding = EncodingFamily::Gfx9,
     .waveSize = 64,
     .wave32 = false,
     .sgprs = 102,
     .sgprFile = 800,
     .sgprGranule = 16,
     .vgprs = 256,
     .accVgprs = 256,
     .vgprFileLanes = 512,
     .vgprGranule = 8,
     .vgprDescriptorGranule = 8,
     .maxWavesPerSimd = 8,
     .simdsPerComputeUnit = 4,
     .maxWorkgroupWaves = 16,
     .ldsBytes = 65536,
     .ldsGranule = 512,
     .flatOffsetBits = 13,
     .unifiedVgprs = true,
     .packedWorkitemIds = true,
     .sramecc = true,
     .xnack = true,
     .virtualGpu = false},
};

std::span<const Target> targets() { return kTargets; }

const Target *findTarget(std::string_view name) {
  name = name.substr(0, name.find(':'));
  const auto *found = std::ranges::find(kTargets, name, &Target::name);
  return found != std::end(kTargets) ? found : nullptr;
}

const Target *findTarget(uint8_t elfMachine) {
  const auto *found = std::ranges::find(kTargets, elfMachine, &Target::elfMachine);
  return found != std::end(kTargets) ? found : nullptr;
}

std::vector<std::string_view> virtualTargets() {
  std::vector<std::string_view> names;
  for (const Target &target : kTargets)
    if (target.virtualGpu)
      names.push_back(target.name);
  return names;
}

Result<const Target *> findVirtualTarget(std::string_view name) {
  const Target *target = findTarget(name);
  if (!target)
    return makeError("unknown GPU '{}'; known: {}", name, fmt::join(virtualTargets(), ", "));
  if (!target->virtualGpu)
    return makeError("the virtual GPU does not execute code of {}; known: {}", target->name,
                     fmt::join(virtualTargets(), ", "));
  return target;
}

Result<TargetId> parseTargetId(std::string_view text) {
  TargetId id;
  id.target = findTarget(text);
  const size_t colon = std::min(text.find(':'), text.size());
  if (!id.target)
    return makeError("unknown target '{}'", text.substr(0, colon));
  for (std::string_view rest = text.substr(colon); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view feature = rest.substr(0, rest.find(':'));
    rest.remove_prefix(feature.size());
    const std::string_view name = feature.substr(0, feature.size() - !feature.empty());
    const bool isSramecc = name == "sramecc";
    if ((!isSramecc && name != "xnack") || (!feature.ends_with('+') && !feature.ends_with('-')))
      return makeError("'{}': '{}' is no feature (sramecc+, sramecc-, xnack+, xnack-)", text, feature);
    if (isSramecc ? !id.target->sramecc : !id.target->xnack)
      return makeError("'{}': {} has no {}", text, id.target->name, name);
    Feature &setting = isSramecc ? id.sramecc : id.xnack;
    if (setting != Feature::Any)
      return makeError("'{}' names {} twice", text, name);
    setting = feature.ends_with('+') ? Feature::On : Feature::Off;
  }
  return id;
}

std::string toString(const TargetId &id) {
  std::string text(id.target ? id.target->name : "unknown");
  const auto add = [&](std::string_view name, Feature setting) {
    if (setting != Feature::Any)
      text += fmt::format(":{}{}", name, setting == Feature::On ? '+' : '-');
  };
  add("sramecc", id.sramecc);
  add("xnack", id.xnack);
  return text;
}

} // namespace luthier::isa
