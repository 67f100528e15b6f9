// What the decoder says of accesses to memory.
#include "decoded_code.h"
#include "luthier/memory_space_name.h"

#include <fmt/format.h>

namespace luthier::isa {
namespace {

struct MemoryRow {
  const char *text, *expected;
};

std::string describe(const MemoryAccess &m) {
  std::string text = fmt::format("{} {}", nameOf(m.space), m.bytes);
  const auto flag = [&](bool set, const char *name) { text += set ? fmt::format(" {}", name) : ""; };
  const auto regs = [&](RegRange range, const char *name) {
    text += range.empty() ? "" : fmt::format(" {}={}", name, toString(range));
  };
  const auto value = [&](int32_t number, const char *name) {
    text += number ? fmt::format(" {}={}", name, number) : "";
  };
  flag(m.load, "load");
  flag(m.store, "store");
  flag(m.atomic, "atomic");
  regs(m.vaddr, "vaddr");
  regs(m.saddr, "saddr");
  regs(m.soffset, "soffset");
  value(m.soffsetValue, "soffset");
  value(m.offset, "offset");
  value(m.offset2, "offset2");
  flag(m.two, "two");
  flag(m.idxen, "idxen");
  flag(m.offen, "offen");
  flag(m.toLds, "lds");
  regs(m.data, "data");
  regs(m.data2, "data2");
  regs(m.result, "result");
  return text;
}

constexpr MemoryRow kMemory[] = {
    {"s_load_dwordx2 s[0:1], s[40:41], 0x4", "scalar 8 load saddr=s[40:41] offset=4 result=s[0:1]"},
    {"s_load_dword s0, s[2:3], -4", "scalar 4 load saddr=s[2:3] offset=-4 result=s0"},
    {"s_load_dword s0, s[2:3], s4", "scalar 4 load saddr=s[2:3] soffset=s4 result=s0"},
    {"s_load_dword s0, s[2:3], s4 offset:0x10", "scalar 4 load saddr=s[2:3] soffset=s4 offset=16 result=s0"},
    {"s_load_dwordx16 s[16:31], s[2:3], 0", "scalar 64 load saddr=s[2:3] result=s[16:31]"},
    {"s_buffer_load_dword s0, s[4:7], 0", "scalar 4 load saddr=s[4:7] result=s0"},
    {"s_store_dwordx2 s[0:1], s[2:3], 8", "scalar 8 store saddr=s[2:3] offset=8 data=s[0:1]"},
    {"s_atomic_add_x2 s[4:5], s[2:3], 0", "scalar 8 store atomic saddr=s[2:3] data=s[4:5]"},
    {"s_atomic_add s5, s[2:3], 0 glc", "scalar 4 load store atomic saddr=s[2:3] data=s5 result=s5"},
    {"flat_load_ubyte v0, v[2:3] offset:5", "flat 1 load vaddr=v[2:3] offset=5 result=v0"},
    {"flat_store_short v[2:3], v4", "flat 2 store vaddr=v[2:3] data=v4"},
    {"global_load_dwordx3 v[4:6], v[2:3], off offset:-4096", "global 12 load vaddr=v[2:3] offset=-4096 result=v[4:6]"},
    {"global_load_dword v0, v1, s[2:3] offset:4095", "global 4 load vaddr=v1 saddr=s[2:3] offset=4095 result=v0"},
    {"global_store_dwordx4 v1, v[4:7], s[2:3]", "global 16 store vaddr=v1 saddr=s[2:3] data=v[4:7]"},
    {"global_load_short_d16 v0, v[2:3], off", "global 2 load vaddr=v[2:3] result=v0"},
    {"global_load_sbyte_d16_hi v0, v[2:3], off", "global 1 load vaddr=v[2:3] result=v0"},
    {"global_atomic_add_x2 v0, v[4:5], s[2:3]", "global 8 store atomic vaddr=v0 saddr=s[2:3] data=v[4:5]"},
    {"global_atomic_cmpswap v1, v[2:3], v[4:5], off glc",
     "global 4 load store atomic vaddr=v[2:3] data=v[4:5] result=v1"},
    {"global_atomic_add_f64 v[2:3], v[4:5], off", "global 8 store atomic vaddr=v[2:3] data=v[4:5]"},
    {"global_load_dword v[2:3], off lds", "global 4 load vaddr=v[2:3] lds"},
    {"scratch_load_dword v0, v1, off offset:4", "scratch 4 load vaddr=v1 offset=4 result=v0"},
    {"scratch_store_dwordx2 off, v[2:3], s4", "scratch 8 store saddr=s4 data=v[2:3]"},
    {"ds_read_b128 v[0:3], v4 offset:65520", "lds 16 load vaddr=v4 offset=65520 result=v[0:3]"},
    {"ds_read_u16 v0, v1", "lds 2 load vaddr=v1 result=v0"},
    {"ds_read_i8 v0, v1", "lds 1 load vaddr=v1 result=v0"},
    {"ds_write_b8 v0, v1", "lds 1 store vaddr=v0 data=v1"},
    {"ds_write_b96 v0, v[2:4]", "lds 12 store vaddr=v0 data=v[2:4]"},
    {"ds_read2_b32 v[0:1], v2 offset0:1 offset1:2", "lds 4 load vaddr=v2 offset=4 offset2=8 two result=v[0:1]"},
    {"ds_read2st64_b64 v[0:3], v4 offset0:1 offset1:2",
     "lds 8 load vaddr=v4 offset=512 offset2=1024 two result=v[0:3]"},
    {"ds_write2st64_b32 v0, v1, v2 offset1:1", "lds 4 store vaddr=v0 offset2=256 two data=v1 data2=v2"},
    {"ds_wrxchg2_rtn_b64 v[0:3], v4, v[6:7], v[8:9] offset1:1",
     "lds 8 load store atomic vaddr=v4 offset2=8 two data=v[6:7] data2=v[8:9] result=v[0:3]"},
    {"ds_add_u32 v0, v1 offset:4", "lds 4 store atomic vaddr=v0 offset=4 data=v1"},
    {"ds_cmpst_rtn_b64 v[0:1], v2, v[4:5], v[6:7]",
     "lds 8 load store atomic vaddr=v2 data=v[4:5] data2=v[6:7] result=v[0:1]"},
    {"ds_append v0 offset:8", "lds 4 load store atomic offset=8 result=v0"},
    {"buffer_load_dword v0, off, s[4:7], 0 offset:4", "buffer 4 load saddr=s[4:7] offset=4 result=v0"},
    {"buffer_load_dword v0, off, s[4:7], 5", "buffer 4 load saddr=s[4:7] soffset=5 result=v0"},
    {"buffer_load_dwordx2 v[0:1], v2, s[4:7], s1 offen",
     "buffer 8 load vaddr=v2 saddr=s[4:7] soffset=s1 offen result=v[0:1]"},
    {"buffer_load_dword v0, v2, s[4:7], 0 idxen", "buffer 4 load vaddr=v2 saddr=s[4:7] idxen result=v0"},
    {"buffer_load_dword v0, v[2:3], s[4:7], 0 idxen offen",
     "buffer 4 load vaddr=v[2:3] saddr=s[4:7] idxen offen result=v0"},
    {"buffer_load_ubyte_d16_hi v0, off, s[4:7], 0", "buffer 1 load saddr=s[4:7] result=v0"},
    {"buffer_store_format_xyz v[0:2], off, s[4:7], 0", "buffer 12 store saddr=s[4:7] data=v[0:2]"},
    {"buffer_store_format_d16_xy v0, off, s[4:7], 0", "buffer 4 store saddr=s[4:7] data=v0"},
    {"buffer_atomic_add v0, off, s[4:7], 0", "buffer 4 store atomic saddr=s[4:7] data=v0"},
    {"buffer_atomic_swap_x2 v[0:1], off, s[4:7], 0 glc",
     "buffer 8 load store atomic saddr=s[4:7] data=v[0:1] result=v[0:1]"},
    {"buffer_load_dword off, s[4:7], 0 lds", "buffer 4 load saddr=s[4:7] lds"},
    {"tbuffer_load_format_xy v[0:1], off, s[4:7], dfmt:14, nfmt:7, 0", "buffer 8 load saddr=s[4:7] result=v[0:1]"},
    {"image_load v[0:1], v[4:5], s[8:15] dmask:0x3", "image 8 load vaddr=v[4:19] saddr=s[8:15] result=v[0:1]"},
};

TEST(Decode, MemoryAccesses) {
  for (const MemoryRow &row : kMemory) {
    SCOPED_TRACE(row.text);
    const auto access = Code("gfx90a", row.text)[0].memory();
    ASSERT_TRUE(access);
    EXPECT_EQ(describe(*access), row.expected);
  }
  EXPECT_EQ(describe(*Code("gfx900", "ds_add_u32 v0, v1 offset:4 gds")[0].memory()),
            "gds 4 store atomic vaddr=v0 offset=4 data=v1");
  EXPECT_EQ(describe(*Code("gfx1030", "global_load_dword v0, v[2:3], off offset:-2048")[0].memory()),
            "global 4 load vaddr=v[2:3] offset=-2048 result=v0");
  EXPECT_EQ(describe(*Code("gfx942", "scratch_load_dword v0, v1, s2 offset:-4")[0].memory()),
            "scratch 4 load vaddr=v1 saddr=s2 offset=-4 result=v0");
  EXPECT_EQ(describe(*Code("gfx1100", "ds_load_2addr_stride64_b64 v[0:3], v4 offset0:1 offset1:2")[0].memory()),
            "lds 8 load vaddr=v4 offset=512 offset2=1024 two result=v[0:3]");
}

TEST(Decode, WhatOnlyPassesThroughAUnitAccessesNoMemory) {
  const std::pair<const char *, MemorySpace> cases[] = {
      {"ds_bpermute_b32 v0, v1, v2", MemorySpace::Lds},
      {"ds_swizzle_b32 v0, v1", MemorySpace::Lds},
      {"ds_nop", MemorySpace::Lds},
      {"ds_gws_barrier v0 gds", MemorySpace::Gds},
      {"s_memtime s[0:1]", MemorySpace::Scalar},
      {"s_dcache_wb", MemorySpace::Scalar},
      {"buffer_wbl2", MemorySpace::Buffer},
      {"buffer_wbinvl1_vol", MemorySpace::Buffer},
      {"v_mov_b32 v0, v1", MemorySpace::None},
      {"s_endpgm", MemorySpace::None},
  };
  for (const auto &[text, space] : cases) {
    SCOPED_TRACE(text);
    const Code code("gfx90a", text);
    EXPECT_FALSE(code[0].memory());
    EXPECT_EQ(code[0].memorySpace(), space);
  }
}

} // namespace
} // namespace luthier::isa
