#include "vgpu/coverage.h"

#include "isa/opcode_universe.h"
#include "vgpu/wave/decoder.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace luthier::vgpu {

namespace {

// Whole names and no patterns, so that an instruction which a target adds is missing until someone has decided about
// it.

constexpr std::string_view kImages[] = {
    "image_atomic_add",  "image_atomic_and",   "image_atomic_cmpswap",   "image_atomic_dec",    "image_atomic_inc",
    "image_atomic_or",   "image_atomic_smax",  "image_atomic_smin",      "image_atomic_sub",    "image_atomic_swap",
    "image_atomic_umax", "image_atomic_umin",  "image_atomic_xor",       "image_get_resinfo",   "image_load",
    "image_load_mip",    "image_load_mip_pck", "image_load_mip_pck_sgn", "image_load_pck",      "image_load_pck_sgn",
    "image_sample",      "image_store",        "image_store_mip",        "image_store_mip_pck", "image_store_pck",
};

constexpr std::string_view kPixelOrdering[] = {"s_endpgm_ordered_ps_done"};

constexpr GraphicsGroup kGroups[] = {
    {"images",
     "MIMG: tiled and filtered surfaces behind image and sampler resources; compute code uses pointers and buffers",
     kImages},
    {"ordered pixel shaders", "ends a pixel shader's critical section (POPS); compute waves have none", kPixelOrdering},
};

} // namespace

std::span<const GraphicsGroup> graphicsGroups() { return kGroups; }

Result<Coverage> coverage(const isa::Target &target) {
  const isa::OpcodeUniverse universe = LUTHIER_TRY(isa::opcodeUniverse(target));
  Coverage result;
  result.forms = universe.forms;
  result.probes = universe.probes;

  std::unordered_set<std::string_view> graphics;
  for (const GraphicsGroup &group : kGroups) {
    Coverage::Group found{std::string(group.name), std::string(group.reason), {}};
    for (const std::string_view mnemonic : group.mnemonics)
      if (universe.find(mnemonic)) {
        found.mnemonics.emplace_back(mnemonic);
        graphics.insert(mnemonic);
      }
    if (!found.mnemonics.empty())
      result.graphics.push_back(std::move(found));
  }
  Decoder decoder(target);
  for (const isa::OpcodeEntry &opcode : universe.opcodes) {
    if (graphics.contains(opcode.mnemonic))
      continue;
    const bool implemented = std::ranges::all_of(opcode.forms, [&](const isa::OpcodeForm &form) {
      uint8_t bytes[16] = {};
      memcpy(bytes, &form.bits, sizeof form.bits);
      Inst inst;
      decoder.decode(bytes, 0, inst);
      return Decoder::implements(inst);
    });
    (implemented ? result.implemented : result.missing).push_back(opcode.mnemonic);
  }
  return result;
}

} // namespace luthier::vgpu
