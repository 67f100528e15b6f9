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

// Those of gfx9 before gfx90a beyond the former.
constexpr std::string_view kImageSamples[] = {
    "image_gather4",          "image_gather4_b",        "image_gather4_b_cl",  "image_gather4_b_cl_o",
    "image_gather4_b_o",      "image_gather4_c",        "image_gather4_c_b",   "image_gather4_c_b_cl",
    "image_gather4_c_b_cl_o", "image_gather4_c_b_o",    "image_gather4_c_cl",  "image_gather4_c_cl_o",
    "image_gather4_c_l",      "image_gather4_c_l_o",    "image_gather4_c_lz",  "image_gather4_c_lz_o",
    "image_gather4_c_o",      "image_gather4_cl",       "image_gather4_cl_o",  "image_gather4_l",
    "image_gather4_l_o",      "image_gather4_lz",       "image_gather4_lz_o",  "image_gather4_o",
    "image_gather4h",         "image_get_lod",          "image_sample_b",      "image_sample_b_cl",
    "image_sample_b_cl_o",    "image_sample_b_o",       "image_sample_c",      "image_sample_c_b",
    "image_sample_c_b_cl",    "image_sample_c_b_cl_o",  "image_sample_c_b_o",  "image_sample_c_cd",
    "image_sample_c_cd_cl",   "image_sample_c_cd_cl_o", "image_sample_c_cd_o", "image_sample_c_cl",
    "image_sample_c_cl_o",    "image_sample_c_d",       "image_sample_c_d_cl", "image_sample_c_d_cl_o",
    "image_sample_c_d_o",     "image_sample_c_l",       "image_sample_c_l_o",  "image_sample_c_lz",
    "image_sample_c_lz_o",    "image_sample_c_o",       "image_sample_cd",     "image_sample_cd_cl",
    "image_sample_cd_cl_o",   "image_sample_cd_o",      "image_sample_cl",     "image_sample_cl_o",
    "image_sample_d",         "image_sample_d_cl",      "image_sample_d_cl_o", "image_sample_d_o",
    "image_sample_l",         "image_sample_l_o",       "image_sample_lz",     "image_sample_lz_o",
    "image_sample_o",
};

// Those of RDNA beyond both.
constexpr std::string_view kRdnaImages[] = {
    "image_atomic_add_flt",    "image_atomic_add_uint",    "image_atomic_dec_uint",      "image_atomic_fcmpswap",
    "image_atomic_fmax",       "image_atomic_fmin",        "image_atomic_inc_uint",      "image_atomic_max_flt",
    "image_atomic_max_int",    "image_atomic_max_uint",    "image_atomic_min_flt",       "image_atomic_min_int",
    "image_atomic_min_uint",   "image_atomic_pk_add_bf16", "image_atomic_pk_add_f16",    "image_atomic_sub_uint",
    "image_msaa_load",         "image_sample_c_cd_cl_g16", "image_sample_c_cd_cl_o_g16", "image_sample_c_cd_g16",
    "image_sample_c_cd_o_g16", "image_sample_c_d_cl_g16",  "image_sample_c_d_cl_o_g16",  "image_sample_c_d_g16",
    "image_sample_c_d_o_g16",  "image_sample_cd_cl_g16",   "image_sample_cd_cl_o_g16",   "image_sample_cd_g16",
    "image_sample_cd_o_g16",   "image_sample_d_cl_g16",    "image_sample_d_cl_o_g16",    "image_sample_d_g16",
    "image_sample_d_o_g16",
};

constexpr std::string_view kRayTracing[] = {"ds_bvh_stack_rtn_b32", "image_bvh64_intersect_ray",
                                            "image_bvh_intersect_ray"};

constexpr std::string_view kStreamOut[] = {"ds_add_gs_reg_rtn", "ds_sub_gs_reg_rtn"};

constexpr std::string_view kParameterLoads[] = {"ds_param_load", "lds_param_load"};

constexpr std::string_view kInterpolation[] = {
    "v_interp_mov_f32", "v_interp_p1_f32",          "v_interp_p1ll_f16",      "v_interp_p1lv_f16",
    "v_interp_p2_f16",  "v_interp_p2_f32",          "v_interp_p2_legacy_f16", "v_interp_p10_f16_f32",
    "v_interp_p10_f32", "v_interp_p10_rtz_f16_f32", "v_interp_p2_f16_f32",    "v_interp_p2_rtz_f16_f32",
};

constexpr std::string_view kExports[] = {"exp", "export"};

constexpr std::string_view kOrderedCounts[] = {"ds_ordered_count"};

constexpr std::string_view kPixelOrdering[] = {"s_endpgm_ordered_ps_done"};

constexpr GraphicsGroup kGroups[] = {
    {"images",
     "MIMG: tiled and filtered surfaces behind image and sampler resources; compute code uses pointers and buffers",
     kImages},
    {"image samples", "MIMG: the same, filtered and with levels of detail; of targets with textures", kImageSamples},
    {"images of RDNA", "MIMG, VIMAGE and VSAMPLE: the same with atomics on floats and gradients of 16 bits",
     kRdnaImages},
    {"ray tracing", "intersections of rays with trees of boxes, and the stacks of those who walk them", kRayTracing},
    {"stream out", "counters of the geometry engine", kStreamOut},
    {"parameter loads", "fetch a triangle's parameters that fixed functions left in LDS", kParameterLoads},
    {"interpolation", "VINTRP: parameters of a pixel between those of a triangle's corners", kInterpolation},
    {"exports", "hand pixels, positions and parameters to fixed functions, which compute has none of", kExports},
    {"ordered counts", "counters of GDS that waves add to in the order of the primitives they draw", kOrderedCounts},
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
