// SMEM of RDNA: offsets, and what gfx12 added. Waves' sizes make no difference to it.

#include "rdna_memory.h"

namespace luthier::vgpu::test {
namespace {

TEST(RdnaSmem, OffsetsAddUp) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    std::vector<uint32_t> data(1024);
    for (unsigned n = 0; n < data.size(); ++n)
      data[n] = 100 + n;
    const uint64_t base = t.buffer(data);
    t.setS64(4, base + 64);
    t.s(6) = 32 + 3; // the two low bits do not count
    t.m0(8);
    const std::string both = "s_load_dwordx2 s[10:11], s[4:5], s6 offset:0x10\n"; // gfx9 has it too, gfx8 not
    ASSERT_TRUE(t.run(both + "s_load_dword s12, s[4:5], -0x20\n"
                             "s_load_dword s13, s[4:5], m0\n"
                             "s_load_dword s14, s[4:5], null\n"
                             "s_load_dwordx4 s[16:19], s[4:5], 0x4\n"
                             "s_load_dwordx8 s[24:31], s[4:5], 0x8\n"
                             "s_load_dwordx16 s[32:47], s[4:5], 0xc"))
        << nameOf(m);
    EXPECT_EQ(t.s(10), 100u + 16 + 8 + 4);
    EXPECT_EQ(t.s(11), 100u + 16 + 8 + 5);
    EXPECT_EQ(t.s(12), 100u + 16 - 8);
    EXPECT_EQ(t.s(13), 100u + 16 + 2);
    EXPECT_EQ(t.s(14), 100u + 16);
    EXPECT_EQ(t.s(19), 100u + 16 + 1 + 3);
    EXPECT_EQ(t.s(31), 100u + 16 + 2 + 7);
    EXPECT_EQ(t.s(47), 100u + 16 + 3 + 15);
  }
}

TEST(RdnaSmem, ANullResultIsDropped) {
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation != 12)
      continue;
    ExecTest t(m.target, m.lanes);
    t.setS64(4, t.buffer(std::vector<uint32_t>(16, 7)));
    const uint64_t exec = t.exec();
    ASSERT_TRUE(t.run("s_load_b64 null, s[4:5], 0x0"));
    EXPECT_EQ(t.exec(), exec);
    EXPECT_EQ(t.m0(), 0u);
  }
}

TEST(RdnaSmem, Buffers) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    std::vector<uint32_t> data(64);
    for (unsigned n = 0; n < data.size(); ++n)
      data[n] = 100 + n;
    const uint64_t base = t.buffer(data);
    t.setS64(4, base);
    t.s(6) = 24; // bytes
    t.s(7) = 0;
    t.s(8) = 8;
    ASSERT_TRUE(t.run("s_buffer_load_dwordx4 s[12:15], s[4:7], 0x10\n"
                      "s_buffer_load_dword s16, s[4:7], s8 offset:0x4"));
    EXPECT_EQ(t.s(12), 104u);
    EXPECT_EQ(t.s(13), 105u);
    EXPECT_EQ(t.s(14), 0u) << "out of range";
    EXPECT_EQ(t.s(16), 103u);
    t.s(5) |= 8 << 16; // records of 8 bytes
    t.s(6) = 3;
    ASSERT_TRUE(t.run("s_buffer_load_dwordx4 s[12:15], s[4:7], 0x10"));
    EXPECT_EQ(t.s(13), 105u);
    EXPECT_EQ(t.s(14), 0u);
  }
}

TEST(RdnaSmem, BytesShortsAndThreeDwords) {
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation != 12)
      continue;
    ExecTest t(m.target, m.lanes);
    const std::vector<uint8_t> data = {0x01, 0x82, 0x03, 0x84, 0x05, 0x86, 0x07, 0x88,
                                       0x09, 0x8a, 0x0b, 0x8c, 13,   14,   15,   16};
    const uint64_t base = t.buffer(data);
    t.setS64(4, base);
    t.s(8) = 1;
    ASSERT_TRUE(t.run("s_load_u8 s10, s[4:5], 0x1\n"
                      "s_load_i8 s11, s[4:5], s8 offset:0x2\n"
                      "s_load_u16 s12, s[4:5], 0x3\n" // the lowest bit does not count
                      "s_load_i16 s13, s[4:5], 0x6\n"
                      "s_load_b96 s[16:18], s[4:5], 0x0"));
    EXPECT_EQ(t.s(10), 0x82u);
    EXPECT_EQ(t.s(11), 0xffffff84u);
    EXPECT_EQ(t.s(12), 0x8403u);
    EXPECT_EQ(t.s(13), 0xffff8807u);
    EXPECT_EQ(t.s(16), 0x84038201u);
    EXPECT_EQ(t.s(18), 0x8c0b8a09u);
    EXPECT_EQ(t.s(19), kPoison);
    t.s(6) = 4;
    t.s(7) = 0;
    ASSERT_TRUE(t.run("s_buffer_load_u8 s10, s[4:7], 0x3\n"
                      "s_buffer_load_i8 s11, s[4:7], 0x1\n"
                      "s_buffer_load_u16 s12, s[4:7], 0x2\n"
                      "s_buffer_load_i16 s13, s[4:7], 0x4\n"
                      "s_buffer_load_b96 s[16:18], s[4:7], 0x0"));
    EXPECT_EQ(t.s(10), 0x84u);
    EXPECT_EQ(t.s(11), 0xffffff82u);
    EXPECT_EQ(t.s(12), 0x8403u);
    EXPECT_EQ(t.s(13), 0u) << "out of range";
    EXPECT_EQ(t.s(16), 0x84038201u);
    EXPECT_EQ(t.s(17), 0u);
  }
}

TEST(RdnaSmem, CachesAndPrefetches) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    t.setS64(4, 0);
    ASSERT_TRUE(t.run(m.generation == 12
                          ? "s_dcache_inv\ns_prefetch_data s[4:5], 0x0, s8, 7\ns_prefetch_inst s[4:5], 0x0, null, 1\n"
                            "s_prefetch_inst_pc_rel 0x40, s8, 0\ns_prefetch_data_pc_rel 0x40, s8, 0\n"
                            "s_buffer_prefetch_data s[4:7], 0x10, s8, 1"
                          : "s_dcache_inv\ns_gl1_inv"))
        << nameOf(m);
  }
}

TEST(RdnaSmem, Faults) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    const uint64_t end = t.bufferBeforeGuard(8) + 8;
    t.setS64(4, end);
    EXPECT_TRUE(t.run("s_load_dwordx2 s[10:11], s[4:5], -0x8"));
    EXPECT_FALSE(t.run("s_load_dwordx2 s[10:11], s[4:5], -0x4"));
    EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
  }
}

} // namespace
} // namespace luthier::vgpu::test
