#include "hsa/isa.h"

namespace luthier::hsa {

namespace {
constexpr ApiId kIsaInfo = ApiId::hsa_isa_get_info_alt;
} // namespace

Result<std::string> Isa::name() const { return infoText<kIsaInfo>(HSA_ISA_INFO_NAME_LENGTH, HSA_ISA_INFO_NAME); }

Result<std::string> Isa::targetId() const {
  const std::string full = LUTHIER_TRY(name());
  // Architecture, vendor, system and environment (which is empty) come before the processor.
  size_t begin = 0;
  for (int part = 0; part < 4; ++part) {
    const size_t dash = full.find('-', begin);
    if (dash == full.npos)
      return makeError("ISA '{}' is not named as AMD's are", full);
    begin = dash + 1;
  }
  return full.substr(begin);
}

Result<const luthier::isa::Target *> Isa::target() const {
  const std::string id = LUTHIER_TRY(targetId());
  const luthier::isa::Target *target = luthier::isa::findTarget(id);
  if (!target)
    return makeError("target '{}' is unknown to Luthier", id);
  return target;
}

Result<uint32_t> Isa::maxWorkgroupSize() const { return info<kIsaInfo, uint32_t>(HSA_ISA_INFO_WORKGROUP_MAX_SIZE); }

Result<std::array<uint16_t, 3>> Isa::maxWorkgroup() const {
  return info<kIsaInfo, std::array<uint16_t, 3>>(HSA_ISA_INFO_WORKGROUP_MAX_DIM);
}

Result<hsa_dim3_t> Isa::maxGrid() const { return info<kIsaInfo, hsa_dim3_t>(HSA_ISA_INFO_GRID_MAX_DIM); }

} // namespace luthier::hsa
