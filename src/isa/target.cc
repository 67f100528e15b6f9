#include "isa/target.h"

namespace luthier::isa {

static constexpr Target kTargets[] = {
    {.name = "gfx90a",
     .major = 9,
     .minor = 0,
     .step = 10,
     .elfMachine = 0x3f,
     .encoding = EncodingFamily::Gfx9,
     .waveSize = 64,
     .sgprs = 102,
     .vgprs = 256,
     .accVgprs = 256,
     .vgprFileLanes = 512,
     .vgprGranule = 8,
     .sgprGranule = 16,
     .maxWorkgroupWaves = 16,
     .ldsGranule = 512,
     .flatOffsetBits = 13,
     .unifiedVgprs = true,
     .packedWorkitemIds = true},
};

std::span<const Target> targets() { return kTargets; }

const Target *findTarget(std::string_view name) {
  name = name.substr(0, name.find(':'));
  for (const Target &target : kTargets)
    if (target.name == name)
      return &target;
  return nullptr;
}

} // namespace luthier::isa
