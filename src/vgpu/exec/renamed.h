// Instructions that later targets have under another name. A row carries the name that gfx9 gives it; what only the
// spelling tells apart shares the row. Instructions that also do something else, such as 16-bit ones, which keep the
// other half of their result from gfx10 on, are rows of their own.
//
// LLVM's assembler knows most of these pairs too; tests/vgpu/wave/decoder_encodings_test.cc asks it.
#pragma once

#include <string_view>

namespace luthier::vgpu {

struct Renamed {
  std::string_view name;
  std::string_view row;
};

#define LUTHIER_LOADS(SPACE)                                                                                           \
  {SPACE "_load_b32", SPACE "_load_dword"}, {SPACE "_load_b64", SPACE "_load_dwordx2"},                                \
      {SPACE "_load_b96", SPACE "_load_dwordx3"}, {SPACE "_load_b128", SPACE "_load_dwordx4"},                         \
      {SPACE "_load_u8", SPACE "_load_ubyte"}, {SPACE "_load_i8", SPACE "_load_sbyte"},                                \
      {SPACE "_load_u16", SPACE "_load_ushort"}, {SPACE "_load_i16", SPACE "_load_sshort"},                            \
      {SPACE "_store_b8", SPACE "_store_byte"}, {SPACE "_store_b16", SPACE "_store_short"},                            \
      {SPACE "_store_b32", SPACE "_store_dword"}, {SPACE "_store_b64", SPACE "_store_dwordx2"},                        \
      {SPACE "_store_b96", SPACE "_store_dwordx3"}, {SPACE "_store_b128", SPACE "_store_dwordx4"}
#define LUTHIER_ATOMIC(NAME, TYPE, OLD) {NAME "_" TYPE "32", OLD}, {NAME "_" TYPE "64", OLD "_x2"}
#define LUTHIER_ATOMICS(SPACE)                                                                                         \
  LUTHIER_ATOMIC(SPACE "_atomic_swap", "b", SPACE "_atomic_swap"),                                                     \
      LUTHIER_ATOMIC(SPACE "_atomic_cmpswap", "b", SPACE "_atomic_cmpswap"),                                           \
      LUTHIER_ATOMIC(SPACE "_atomic_add", "u", SPACE "_atomic_add"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_sub", "u", SPACE "_atomic_sub"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_min", "i", SPACE "_atomic_smin"),                                                  \
      LUTHIER_ATOMIC(SPACE "_atomic_min", "u", SPACE "_atomic_umin"),                                                  \
      LUTHIER_ATOMIC(SPACE "_atomic_max", "i", SPACE "_atomic_smax"),                                                  \
      LUTHIER_ATOMIC(SPACE "_atomic_max", "u", SPACE "_atomic_umax"),                                                  \
      LUTHIER_ATOMIC(SPACE "_atomic_and", "b", SPACE "_atomic_and"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_or", "b", SPACE "_atomic_or"),                                                     \
      LUTHIER_ATOMIC(SPACE "_atomic_xor", "b", SPACE "_atomic_xor"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_inc", "u", SPACE "_atomic_inc"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_dec", "u", SPACE "_atomic_dec")
#define LUTHIER_SCALAR_LOADS(NAME)                                                                                     \
  {NAME "_b32", NAME "_dword"}, {NAME "_b64", NAME "_dwordx2"}, {NAME "_b128", NAME "_dwordx4"},                       \
      {NAME "_b256", NAME "_dwordx8"}, {NAME "_b512", NAME "_dwordx16"}

inline constexpr Renamed kRenamed[] = {
    // gfx10
    {"v_add_nc_u32", "v_add_u32"},
    {"v_sub_nc_u32", "v_sub_u32"},
    {"v_subrev_nc_u32", "v_subrev_u32"},
    {"v_add_co_ci_u32", "v_addc_co_u32"},
    {"v_sub_co_ci_u32", "v_subb_co_u32"},
    {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
    // gfx11
    LUTHIER_SCALAR_LOADS("s_load"),
    LUTHIER_SCALAR_LOADS("s_buffer_load"),
    LUTHIER_LOADS("global"),
    LUTHIER_LOADS("flat"),
    LUTHIER_LOADS("scratch"),
    LUTHIER_LOADS("buffer"),
    LUTHIER_ATOMICS("global"),
    LUTHIER_ATOMICS("flat"),
    LUTHIER_ATOMICS("buffer"),
    {"ds_load_b32", "ds_read_b32"},
    {"ds_load_b64", "ds_read_b64"},
    {"ds_load_b96", "ds_read_b96"},
    {"ds_load_b128", "ds_read_b128"},
    {"ds_load_u8", "ds_read_u8"},
    {"ds_load_i8", "ds_read_i8"},
    {"ds_load_u16", "ds_read_u16"},
    {"ds_load_i16", "ds_read_i16"},
    {"ds_load_2addr_b32", "ds_read2_b32"},
    {"ds_load_2addr_b64", "ds_read2_b64"},
    {"ds_load_2addr_stride64_b32", "ds_read2st64_b32"},
    {"ds_load_2addr_stride64_b64", "ds_read2st64_b64"},
    {"ds_store_b8", "ds_write_b8"},
    {"ds_store_b16", "ds_write_b16"},
    {"ds_store_b32", "ds_write_b32"},
    {"ds_store_b64", "ds_write_b64"},
    {"ds_store_b96", "ds_write_b96"},
    {"ds_store_b128", "ds_write_b128"},
    {"ds_store_2addr_b32", "ds_write2_b32"},
    {"ds_store_2addr_b64", "ds_write2_b64"},
    {"ds_store_2addr_stride64_b32", "ds_write2st64_b32"},
    {"ds_store_2addr_stride64_b64", "ds_write2st64_b64"},
    {"s_and_not1_b32", "s_andn2_b32"},
    {"s_and_not1_b64", "s_andn2_b64"},
    {"s_or_not1_b32", "s_orn2_b32"},
    {"s_or_not1_b64", "s_orn2_b64"},
};

#undef LUTHIER_LOADS
#undef LUTHIER_ATOMICS
#undef LUTHIER_ATOMIC
#undef LUTHIER_SCALAR_LOADS

} // namespace luthier::vgpu
