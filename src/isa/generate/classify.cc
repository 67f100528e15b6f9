#include "isa/generate/classify.h"

#include "isa/generate/llvm_tables.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace luthier::isa::generate {

namespace {

class Text {
public:
  explicit Text(std::string_view text) : text_(text) {}
  bool starts(std::string_view prefix) const { return text_.starts_with(prefix); }
  bool ends(std::string_view suffix) const { return text_.ends_with(suffix); }
  bool has(std::string_view part) const { return text_.find(part) != text_.npos; }
  bool startsAny(std::initializer_list<std::string_view> prefixes) const {
    return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return starts(prefix); });
  }
  bool hasAny(std::initializer_list<std::string_view> parts) const {
    return std::ranges::any_of(parts, [&](std::string_view part) { return has(part); });
  }
  bool is(std::initializer_list<std::string_view> names) const {
    return std::ranges::find(names, text_) != names.end();
  }

private:
  std::string_view text_;
};

MemorySpace spaceOf(const Text &name) {
  static constexpr std::pair<std::string_view, MemorySpace> kPrefixes[] = {{"global_", MemorySpace::Global},
                                                                           {"flat_", MemorySpace::Flat},
                                                                           {"scratch_", MemorySpace::Scratch},
                                                                           {"buffer_", MemorySpace::Buffer},
                                                                           {"tbuffer_", MemorySpace::Buffer},
                                                                           {"image_", MemorySpace::Image},
                                                                           {"ds_gws_", MemorySpace::Gds},
                                                                           {"ds_ordered_", MemorySpace::Gds},
                                                                           {"ds_add_gs_reg", MemorySpace::Gds},
                                                                           {"ds_sub_gs_reg", MemorySpace::Gds},
                                                                           {"ds_", MemorySpace::Lds},
                                                                           {"lds_", MemorySpace::Lds},
                                                                           {"s_load_", MemorySpace::Scalar},
                                                                           {"s_buffer_", MemorySpace::Scalar},
                                                                           {"s_store_", MemorySpace::Scalar},
                                                                           {"s_scratch_", MemorySpace::Scalar},
                                                                           {"s_atomic_", MemorySpace::Scalar},
                                                                           {"s_memtime", MemorySpace::Scalar},
                                                                           {"s_memrealtime", MemorySpace::Scalar},
                                                                           {"s_dcache_", MemorySpace::Scalar},
                                                                           {"s_atc_", MemorySpace::Scalar},
                                                                           {"s_gl1_inv", MemorySpace::Scalar},
                                                                           {"s_prefetch_", MemorySpace::Scalar},
                                                                           {"s_get_waveid_", MemorySpace::Scalar}};
  for (const auto &[prefix, space] : kPrefixes)
    if (name.starts(prefix))
      return space;
  return MemorySpace::None;
}

/// Bytes of one access, as the name says. Typed accesses (format_x) have no fixed size in memory: as many as registers.
uint8_t bytesOf(const Text &name) {
  static constexpr std::pair<std::string_view, uint8_t> kScalar[] = {
      {"x16", 64},  {"x8", 32},  {"x4", 16}, {"x3", 12}, {"x2", 8},  {"b512", 64}, {"b256", 32},
      {"b128", 16}, {"b96", 12}, {"b64", 8}, {"_u8", 1}, {"_i8", 1}, {"_u16", 2},  {"_i16", 2}};
  static constexpr std::pair<std::string_view, uint8_t> kVector[] = {{"_block", 128}, // at most: M0 may leave some out
                                                                     {"d16_format_xyzw", 8},
                                                                     {"d16_format_xyz", 6},
                                                                     {"d16_format_xy", 4},
                                                                     {"d16_format_x", 2},
                                                                     {"d16_hi_format_x", 2},
                                                                     {"format_d16_xyzw", 8},
                                                                     {"format_d16_xyz", 6},
                                                                     {"format_d16_xy", 4},
                                                                     {"format_d16_hi_x", 2},
                                                                     {"format_d16_x", 2},
                                                                     {"format_xyzw", 16},
                                                                     {"format_xyz", 12},
                                                                     {"format_xy", 8},
                                                                     {"format_x", 4},
                                                                     {"dwordx4", 16},
                                                                     {"dwordx3", 12},
                                                                     {"dwordx2", 8},
                                                                     {"dword", 4},
                                                                     {"byte", 1},
                                                                     {"short", 2},
                                                                     {"b128", 16},
                                                                     {"b96", 12},
                                                                     {"b64", 8},
                                                                     {"b16", 2},
                                                                     {"b8", 1},
                                                                     {"_u8", 1},
                                                                     {"_i8", 1},
                                                                     {"_u16", 2},
                                                                     {"_i16", 2}};
  if (name.has("atomic") || name.startsAny({"ds_add",       "ds_sub",      "ds_rsub",   "ds_inc",      "ds_dec",
                                            "ds_min",       "ds_max",      "ds_and",    "ds_or_",      "ds_xor",
                                            "ds_mskor",     "ds_wrxchg",   "ds_cmpst",  "ds_wrap",     "ds_condxchg",
                                            "ds_storexchg", "ds_cmpstore", "ds_pk_add", "ds_cond_sub", "ds_sub_clamp"}))
    return name.has("_x2") || name.ends("64") ? 8 : 4;
  if (name.starts("s_")) {
    for (const auto &[part, bytes] : kScalar)
      if (name.ends(part))
        return bytes;
    return 4;
  }
  for (const auto &[part, bytes] : kVector)
    if (name.has(part))
      return bytes;
  return 4;
}

/// Instructions of a memory unit that access no memory.
bool onlyPasses(const Text &name) {
  return name.hasAny({"permute",     "swizzle",     "ds_nop",    "_gws_",           "memtime",
                      "memrealtime", "dcache",      "atc_probe", "prefetch",        "wbinvl",
                      "_inv",        "buffer_wbl2", "_wb",       "get_waveid",      "get_lod",
                      "get_resinfo", "gl0_inv",     "gl1_inv",   "lds_direct_load", "ds_direct_load",
                      "param_load",  "bvh_stack",   "gs_reg"});
}

void addMemory(const Text &name, const LlvmInstruction &instruction, Class &out) {
  const Text form(instruction.name);
  auto add = [&](Property property) { out.properties |= static_cast<uint32_t>(property); };
  out.space = spaceOf(name);
  if (out.space == MemorySpace::None)
    return;
  if (name.starts("buffer_") || name.starts("tbuffer_")) {
    if (form.has("_BOTHEN") || form.has("_IDXEN"))
      out.flags |= kIdxen;
    if (form.has("_BOTHEN") || form.has("_OFFEN"))
      out.flags |= kOffen;
  }
  if (onlyPasses(name))
    return;
  out.bytes = bytesOf(name);
  const bool lds = out.space == MemorySpace::Lds || out.space == MemorySpace::Gds;
  const bool load = lds ? name.startsAny({"ds_read", "ds_load"})
                        : name.hasAny({"_load", "image_sample", "image_gather", "image_bvh", "image_msaa_load"});
  const bool store = lds ? name.startsAny({"ds_write", "ds_store_"}) : name.has("_store");
  if (load) {
    add(Property::Load);
  } else if (store) {
    add(Property::Store);
  } else {
    add(Property::Atomic);
    add(Property::Store);
    if (instruction.defs)
      add(Property::Load);
  }
  if (name.has("_load_block"))
    out.flags |= kTfe; // M0 says which registers it leaves alone
  if (name.starts("buffer_store_lds"))
    out.flags |= kToLds; // from LDS, rather
  if (load && form.has("_LDS_") && !lds)
    out.flags |= kToLds;
  if (lds && name.hasAny({"read2", "write2", "wrxchg2", "load_2addr", "store_2addr", "storexchg_2addr"}))
    out.flags |= kTwoOffsets;
  if ((out.flags & kTwoOffsets) && name.hasAny({"st64", "stride64"}))
    out.flags |= kStride64;
}

void addControl(const Text &name, Class &out) {
  auto add = [&](std::initializer_list<Property> properties) {
    for (const Property property : properties)
      out.properties |= static_cast<uint32_t>(property);
  };
  if (name.is({"s_branch"}))
    add({Property::Branch, Property::Terminator});
  else if (name.is({"s_cbranch_i_fork"}) || name.starts("s_subvector_loop") ||
           (name.starts("s_cbranch_") && !name.is({"s_cbranch_g_fork", "s_cbranch_join"})))
    add({Property::Branch, Property::Conditional, Property::Terminator});
  else if (name.is({"s_cbranch_g_fork", "s_cbranch_join"}))
    add({Property::IndirectBranch, Property::Conditional, Property::Terminator});
  else if (name.is({"s_setpc_b64", "s_rfe_b64", "s_rfe_restore_b64"}))
    add({Property::IndirectBranch, Property::Terminator});
  else if (name.is({"s_swappc_b64", "s_call_b64"}))
    add({Property::Call});
  else if (name.starts("s_endpgm"))
    add({Property::EndProgram, Property::Terminator});
  else if (name.starts("s_barrier"))
    add({Property::Barrier});
  else if (name.starts("s_wait"))
    add({Property::Wait});
  else if (name.starts("s_sendmsg"))
    add({Property::Message});
  else if (name.is({"exp"}) || name.starts("export"))
    add({Property::Export});
  if (name.is({"s_cbranch_i_fork", "s_cbranch_g_fork", "s_cbranch_join"}))
    out.flags |= kFork;
  if (name.starts("s_set_gpr_idx"))
    add({Property::IndexMode});
  if (name.is({"s_set_gpr_idx_on", "s_set_gpr_idx_mode", "s_set_gpr_idx_idx"}))
    out.flags |= kIndexOn;
  if (name.is({"s_set_gpr_idx_off"}))
    out.flags |= kIndexOff;
  if (name.is({"s_setvskip"}))
    add({Property::SkipMode});
  if (name.starts("s_setreg"))
    out.flags |= kWritesHardware;
  if (name.starts("s_getreg"))
    out.flags |= kReadsHardware;
}

void addIndexing(const Text &name, Class &out) {
  const bool both = name.startsAny({"v_movrelsd", "v_swaprel"});
  if (both || name.startsAny({"s_movrels", "v_movrels"}))
    out.flags |= kIndexedRead;
  if (both || name.startsAny({"s_movreld", "v_movreld"}) || name.starts("s_movrelsd"))
    out.flags |= kIndexedWrite;
  if (out.flags & (kIndexedRead | kIndexedWrite))
    out.properties |= static_cast<uint32_t>(Property::Indexed);
}

} // namespace

bool hasHalfResult(std::string_view mnemonic) {
  const Text name(mnemonic);
  if (name.starts("v_sat_pk"))
    return true;
  if (!name.starts("v_") ||
      name.hasAny({"_pk_", "_cvt_pk", "v_cmp", "mfma", "wmma", "swmmac", "v_sad_", "interp_p1", "v_dual"}))
    return false;
  // The first type in the name is the result's: v_cvt_f32_f16 has 32 bits.
  for (size_t at = 2; at < mnemonic.size();) {
    const size_t end = std::min(mnemonic.find('_', at), mnemonic.size());
    const std::string_view part = mnemonic.substr(at, end - at);
    if (part == "f16" || part == "u16" || part == "i16" || part == "b16" || part == "bf16")
      return true;
    if (part.size() >= 2 && part.size() <= 4 && std::string_view("fuib").find(part[0]) != std::string_view::npos &&
        part[1] >= '0' && part[1] <= '9')
      return false;
    at = end + 1;
  }
  return false;
}

Class classify(const LlvmInstruction &instruction) {
  const Text name(instruction.mnemonic);
  Class out;
  auto add = [&](Property property) { out.properties |= static_cast<uint32_t>(property); };
  if (name.starts("s_"))
    add(Property::Scalar);
  if (name.starts("v_"))
    add(Property::Vector);
  const bool matrix = name.startsAny({"v_mfma", "v_smfmac", "v_wmma", "v_swmmac"});
  if (matrix || name.starts("v_accvgpr"))
    add(Property::Matrix);
  if (matrix ||
      name.startsAny({"v_readlane", "v_readfirstlane", "v_permlane", "ds_permute", "ds_bpermute", "ds_swizzle"}))
    add(Property::CrossLane);
  if (matrix || name.startsAny({"v_readlane", "v_writelane", "v_s_"}))
    add(Property::IgnoresExec);
  if (name.starts("v_dual"))
    add(Property::Dual);
  addMemory(name, instruction, out);
  addControl(name, out);
  addIndexing(name, out);
  return out;
}

} // namespace luthier::isa::generate
