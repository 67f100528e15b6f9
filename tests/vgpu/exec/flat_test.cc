// FLAT, GLOBAL and SCRATCH.

#include "memory_cases.h"

namespace luthier::vgpu::test {
namespace {

constexpr uint32_t kBytes = 4096;

/// The ways to address global memory; all reach `base` + offset[lane].
struct Form {
  const char *segment;
  const char *address; ///< operands
};
constexpr Form kForms[] = {{"global", "v[2:3], off"}, {"global", "v2, s[4:5]"}, {"flat", "v[2:3]"}};

/// VGPR 2 (and 3) and s[4:5] for `form`, so that `immediate` completes the address.
void setAddresses(ExecTest &t, const Form &form, uint64_t base, const std::vector<uint32_t> &offset, int immediate) {
  const bool scalar = std::string_view(form.address).find("s[") != std::string_view::npos;
  t.setS64(4, base - static_cast<uint64_t>(int64_t(immediate)) - 0x80000000u);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    if (scalar)
      t.v(2, lane) = 0x80000000u + offset[lane];
    else
      t.setV64(2, lane, base + offset[lane] - static_cast<uint64_t>(int64_t(immediate)));
  }
}

std::string suffix(const Form &form, int immediate) {
  return std::string(form.address) + " offset:" + std::to_string(immediate);
}

TEST(Flat, Loads) {
  const std::vector<uint8_t> data = randomBytes(kBytes, 1);
  for (const Form &form : kForms)
    for (const LoadCase &c : kLoads)
      for (Pattern pattern : kPatterns)
        for (uint64_t exec : kExecs) {
          const int immediate = std::string_view(form.segment) == "flat" ? 4095 : -4096;
          ExecTest t;
          const uint64_t base = t.buffer(data);
          const std::vector<uint32_t> offset = spread(pattern, c.bytes, kBytes, 7);
          setAddresses(t, form, base, offset, immediate);
          t.exec(exec);
          const std::string text = std::string(form.segment) + "_load_" + c.name + " " + vgprs(8, c.registers()) +
                                   ", " + suffix(form, immediate);
          ASSERT_TRUE(t.run(text)) << text;
          for (unsigned lane = 0; lane < kMaxLanes; ++lane)
            for (unsigned r = 0; r < c.registers() + 1; ++r) {
              const bool written = (exec >> lane & 1) && r < c.registers();
              ASSERT_EQ(t.v(8 + r, lane), written ? loadedRegister(c, &data[offset[lane]], r) : kPoison)
                  << text << " lane " << lane << " register " << r << " pattern " << int(pattern) << " exec " << exec;
            }
        }
}

TEST(Flat, Stores) {
  for (const Form &form : kForms)
    for (const StoreCase &c : kStores)
      for (Pattern pattern : kPatterns)
        for (uint64_t exec : kExecs) {
          const int immediate = std::string_view(form.segment) == "flat" ? 8 : -8;
          std::vector<uint8_t> expected = randomBytes(kBytes, 2);
          ExecTest t;
          const uint64_t base = t.buffer(expected);
          const std::vector<uint32_t> offset = spread(pattern, c.bytes, kBytes, 9);
          setAddresses(t, form, base, offset, immediate);
          for (unsigned lane = 0; lane < kMaxLanes; ++lane)
            for (unsigned r = 0; r < c.registers(); ++r) {
              const uint32_t value = t.v(8 + r, lane) = 0x01020304u * (lane + 1) + r * 0x11111111u;
              const uint32_t bits = value >> c.shift;
              if (exec >> lane & 1)
                memcpy(&expected[offset[lane] + 4 * r], &bits, std::min(c.bytes, 4u));
            }
          t.exec(exec);
          const bool scalar = std::string_view(form.address).find("s[") != std::string_view::npos;
          const std::string data = vgprs(8, c.registers());
          const std::string text =
              std::string(form.segment) + "_store_" + c.name + " " +
              (scalar ? "v2, " + data + ", s[4:5]"
                      : "v[2:3], " + data + (std::string_view(form.segment) == "flat" ? "" : ", off")) +
              " offset:" + std::to_string(immediate);
          ASSERT_TRUE(t.run(text)) << text;
          ASSERT_EQ(memcmp(ExecTest::at<void>(base), expected.data(), kBytes), 0)
              << text << " pattern " << int(pattern) << " exec " << exec;
        }
}

TEST(Flat, AccumulationRegisters) {
  ExecTest t;
  const uint64_t base = t.buffer(std::vector<uint32_t>(64, 42));
  t.setVector64(2, base);
  ASSERT_TRUE(t.run("global_load_dword a5, v[2:3], off\ns_waitcnt 0\nglobal_store_dword v[2:3], a5, off offset:4"));
  EXPECT_EQ(t.acc(5, 63), 42u);
  EXPECT_EQ(t.v(5, 63), kPoison);
}

TEST(Flat, AliasesOfHostMemory) {
  ExecTest t;
  const uint64_t base = t.buffer(std::vector<uint32_t>{1, 2, 3});
  const uint64_t alias = t.alias(base);
  t.setVector64(2, alias + 4);
  t.setS64(4, alias);
  t.setVector(6, 8);
  ASSERT_TRUE(t.run("global_load_dword v8, v[2:3], off\nflat_load_dword v9, v[2:3]\nglobal_load_dword v10, v6, s[4:5]\n"
                    "global_atomic_add v11, v[2:3], v6, off glc"));
  EXPECT_EQ(t.v(8, 5), 2u);
  EXPECT_EQ(t.v(9, 5), 2u);
  EXPECT_EQ(t.v(10, 5), 3u);
  EXPECT_EQ(t.v(11, 1), 10u);
}

// Whoever faults has changed nothing, and says where.
TEST(Flat, Faults) {
  for (const char *segment : {"global", "flat"})
    for (const char *what : {"load_dword v8,", "load_dwordx4 v[8:11],", "load_ubyte v8,"}) {
      ExecTest t;
      const uint64_t base = t.bufferBeforeGuard(64 * 4 - 4);
      for (unsigned lane = 0; lane < kMaxLanes; ++lane)
        t.setV64(2, lane, base + 4 * lane);
      const std::string off = std::string_view(segment) == "global" ? ", off" : "";
      EXPECT_FALSE(t.run(std::string(segment) + "_" + what + " v[2:3]" + off));
      EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
      EXPECT_FALSE(t.fault().write);
      EXPECT_EQ(t.fault().address, base + 4 * 63);
      EXPECT_EQ(t.v(8, 0), kPoison);
    }
  ExecTest t;
  const uint64_t base = t.bufferBeforeGuard(64 * 4 - 4);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.setV64(2, lane, base + 4 * lane);
  EXPECT_FALSE(t.run("global_store_dword v[2:3], v8, off"));
  EXPECT_TRUE(t.fault().write);
  EXPECT_EQ(t.fault().address, base + 4 * 63);
  EXPECT_EQ(ExecTest::load<uint32_t>(base), 0u);
  EXPECT_FALSE(t.run("global_atomic_add v[2:3], v8, off"));
  EXPECT_EQ(t.fault().address, base + 4 * 63);
  EXPECT_EQ(ExecTest::load<uint32_t>(base), 0u);
  // The last lane alone is at fault: without it all is well.
  t.exec(~0ull >> 1);
  EXPECT_TRUE(t.run("global_store_dword v[2:3], v8, off"));
  EXPECT_EQ(ExecTest::load<uint32_t>(base + 4 * 62), kPoison);
}

TEST(Flat, WildAddressesFault) {
  for (uint64_t address : {0ull, 4ull, 0xfffffffffffffffcull, 0xffffffffffffffffull, 1ull << 63, (1ull << 52) - 4,
                           0x0000fffffffffff8ull}) {
    for (const char *text : {"global_load_dwordx2 v[8:9], v[2:3], off", "flat_load_dwordx2 v[8:9], v[2:3]",
                             "global_store_dwordx2 v[2:3], v[8:9], off", "global_atomic_add_x2 v[2:3], v[8:9], off"}) {
      ExecTest t;
      t.setVector64(2, address);
      EXPECT_FALSE(t.run(text)) << text << std::hex << address;
      EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
      t.exec(0x40);
      EXPECT_FALSE(t.run(text));
    }
  }
}

TEST(Flat, LanesFarApart) {
  ExecTest t;
  std::vector<uint64_t> address;
  for (uint32_t lane = 0; lane < 4; ++lane)
    address.push_back(t.buffer(std::vector<uint32_t>{lane + 100}));
  t.setVector64(2, address);
  t.exec(0xf);
  ASSERT_TRUE(t.run("global_load_dword v8, v[2:3], off"));
  for (uint32_t lane = 0; lane < 4; ++lane)
    EXPECT_EQ(t.v(8, lane), lane + 100);
  // Pages between them are not mapped: one lane there is a fault.
  t.setV64(2, 2, address[2] + 4096);
  EXPECT_FALSE(t.run("global_load_dword v8, v[2:3], off"));
  EXPECT_EQ(t.fault().address, address[2] + 4096);
}

TEST(Flat, ADestinationMayBeTheAddress) {
  ExecTest t;
  const std::vector<uint8_t> data = randomBytes(64 * 16, 3);
  const uint64_t base = t.buffer(data);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.setV64(2, lane, base + 16 * (63 - lane));
  ASSERT_TRUE(t.run("global_load_dwordx4 v[2:5], v[2:3], off"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    for (unsigned r = 0; r < 4; ++r)
      EXPECT_EQ(t.v(2 + r, lane), ExecTest::load<uint32_t>(base + 16 * (63 - lane) + 4 * r));
}

TEST(Flat, GlobalLoadsToLds) {
  ExecTest t;
  t.lds(1024);
  t.m0(0xabc00000 | 64);
  const std::vector<uint8_t> data = randomBytes(512, 5);
  const uint64_t base = t.buffer(data);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.setV64(2, lane, base + 4 * (lane ^ 1));
  t.exec(0xf0f0f0f0f0f0f0f0);
  ASSERT_TRUE(t.run("global_load_dword v[2:3], off offset:8 lds\n"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    EXPECT_EQ(t.ldsWord(64 + 8 + 4 * lane),
              t.exec() >> lane & 1 ? ExecTest::load<uint32_t>(base + 8 + 4 * (lane ^ 1)) : 0u);
  t.m0(0);
  ASSERT_TRUE(t.run("global_load_sbyte v[2:3], off lds"));
  EXPECT_EQ(t.ldsWord(4 * 4), signExtend(data[4 * 5], 8));
  // Lanes outside LDS are masked off.
  t.m0(1020);
  EXPECT_TRUE(t.run("global_load_dword v[2:3], off lds"));
}

/// gfx942 has instructions of their own for it.
TEST(Flat, LoadsToLdsOfGfx942) {
  ExecTest t("gfx942");
  t.lds(1024);
  t.scratch(64);
  t.m0(64 | 3); // the two lowest bits do not count
  const std::vector<uint8_t> data = randomBytes(512, 5);
  const uint64_t base = t.buffer(data);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.setV64(2, lane, base + 4 * (lane ^ 1));
  t.exec(0xf0f0f0f0f0f0f0f0);
  ASSERT_TRUE(t.run("global_load_lds_dword v[2:3], off offset:8\n"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    EXPECT_EQ(t.ldsWord(64 + 8 + 4 * lane),
              t.exec() >> lane & 1 ? ExecTest::load<uint32_t>(base + 8 + 4 * (lane ^ 1)) : 0u);
  t.m0(0);
  t.setS64(4, base);
  t.setVector(6, 20);
  ASSERT_TRUE(t.run("global_load_lds_sbyte v6, s[4:5]"));
  EXPECT_EQ(t.ldsWord(4 * 4), signExtend(data[20], 8));
  ASSERT_TRUE(t.run("global_load_lds_ushort v6, s[4:5] offset:256"));
  EXPECT_EQ(t.ldsWord(256 + 4 * 4), uint32_t(data[276] | data[277] << 8));
  // Lanes outside LDS are masked off, also those beyond 64 KiB.
  for (const uint32_t m0 : {1020u, 0x10000u}) {
    t.m0(m0);
    const std::vector<uint8_t> before(t.ldsBytes().begin(), t.ldsBytes().begin() + 1020);
    ASSERT_TRUE(t.run("global_load_lds_dword v[2:3], off"));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), t.ldsBytes().begin())) << m0;
  }

  t.m0(128);
  t.setVector(7, 12);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.v(8, lane) = 1000 + lane;
  ASSERT_TRUE(t.run("scratch_store_dword v7, v8, off\ns_waitcnt 0\nscratch_load_lds_dword v7, off"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    if (t.exec() >> lane & 1)
      EXPECT_EQ(t.ldsWord(128 + 4 * lane), 1000 + lane);
}

TEST(Flat, Atomics) {
  for (const char *segment : {"global", "flat"})
    for (const AtomicCase &c : kIntegerAtomics)
      for (bool glc : {false, true})
        for (uint64_t exec : {~0ull, 0x5555000011110f0full}) {
          ExecTest t;
          const uint64_t base = t.buffer(kMaxLanes * 16);
          const unsigned n = c.bytes / 4;
          std::vector<uint64_t> before, after;
          for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
            const uint64_t address = base + 16 * (lane ^ 5);
            t.setV64(2, lane, address);
            const uint64_t memory = atomicOperand(c.bytes, lane * 3);
            const uint64_t data = atomicOperand(c.bytes, lane * 5 + 1);
            const uint64_t data2 = lane % 2 ? memory : atomicOperand(c.bytes, lane);
            memcpy(ExecTest::at<void>(address), &memory, c.bytes);
            for (unsigned r = 0; r < n; ++r) {
              t.v(8 + r, lane) = static_cast<uint32_t>(data >> 32 * r);
              t.v(8 + n + r, lane) = static_cast<uint32_t>(data2 >> 32 * r);
            }
            before.push_back(memory);
            after.push_back(exec >> lane & 1 ? c.result(memory, data, data2) : memory);
          }
          t.exec(exec);
          const std::string text = std::string(segment) + "_atomic_" + c.name + " " + (glc ? vgprs(20, n) + ", " : "") +
                                   "v[2:3], " + vgprs(8, n * c.operands) +
                                   (std::string_view(segment) == "global" ? ", off" : "") + (glc ? " glc" : "");
          ASSERT_TRUE(t.run(text)) << text;
          for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
            uint64_t memory = 0;
            memcpy(&memory, ExecTest::at<void>(base + 16 * (lane ^ 5)), c.bytes);
            ASSERT_EQ(memory, after[lane]) << text << " lane " << lane;
            const bool written = glc && (exec >> lane & 1);
            for (unsigned r = 0; r < n; ++r)
              ASSERT_EQ(t.v(20 + r, lane), written ? static_cast<uint32_t>(before[lane] >> 32 * r) : kPoison) << text;
          }
        }
}

TEST(Flat, AtomicsOfManyLanesOnOneAddress) {
  ExecTest t;
  const uint64_t base = t.buffer(64);
  t.setVector64(2, base);
  t.setVector(8, 3);
  ASSERT_TRUE(t.run("global_atomic_add v9, v[2:3], v8, off glc"));
  EXPECT_EQ(ExecTest::load<uint32_t>(base), 3 * 64u);
  uint64_t seen = 0;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    seen |= 1ull << t.v(9, lane) / 3;
  EXPECT_EQ(seen, ~0ull) << "every lane sees another old value";
}

TEST(Flat, AtomicsMustBeAligned) {
  ExecTest t;
  const uint64_t base = t.buffer(64);
  t.setVector64(2, base + 2);
  EXPECT_FALSE(t.run("global_atomic_add v[2:3], v8, off"));
  EXPECT_EQ(t.fault().address, base + 2);
  t.setVector64(2, base + 4);
  EXPECT_FALSE(t.run("flat_atomic_add_x2 v[2:3], v[8:9]"));
}

uint32_t addF32(uint32_t memory, uint32_t data, uint32_t mode) {
  ExecTest t;
  const uint64_t base = t.buffer(std::vector<uint32_t>{memory});
  t.setVector64(2, base);
  t.setVector(8, data);
  t.mode(mode);
  t.exec(1);
  EXPECT_TRUE(t.run("global_atomic_add_f32 v[2:3], v8, off"));
  return ExecTest::load<uint32_t>(base);
}

TEST(Flat, FloatAtomics) {
  EXPECT_EQ(addF32(f32(1.5f), f32(2.25f), kDefaultMode), f32(3.75f));
  EXPECT_EQ(addF32(1, f32(0.0f), kDefaultMode), 0u) << "L2 flushes f32 denormals whatever MODE says";
  EXPECT_EQ(addF32(0x80000001, 0x80000000, kDefaultMode), 0x80000000u);
  EXPECT_EQ(addF32(f32(0.0f), f32(-0.0f), kDefaultMode), 0u);
  EXPECT_EQ(addF32(0x7f800000, 0xff800000, kDefaultMode), 0x7fc00000u) << "inf - inf is the positive NaN";
  EXPECT_EQ(addF32(0x7f800001, 0xffc12345, kDefaultMode), 0x7fc00001u) << "the first NaN, quiet";
  EXPECT_EQ(addF32(f32(1.0f), 0xffc12345, kDefaultMode), 0xffc12345u);
  // Round to nearest even although MODE says towards +infinity.
  EXPECT_EQ(addF32(f32(1.0f), f32(0x1p-25f), kDefaultMode | 5), f32(1.0f));

  ExecTest t;
  const uint64_t base = t.buffer(64 * 8);
  t.setVector64(2, base);
  t.exec(1);
  auto f64Atomic = [&](const char *name, uint64_t memory, uint64_t data) {
    memcpy(ExecTest::at<void>(base), &memory, 8);
    t.setVector64(8, data);
    EXPECT_TRUE(t.run(std::string("global_atomic_") + name + "_f64 v[12:13], v[2:3], v[8:9], off glc"));
    EXPECT_EQ(t.v64(12, 0), memory);
    return ExecTest::load<uint64_t>(base);
  };
  t.mode(kDefaultMode & ~0xf0u);
  EXPECT_EQ(f64Atomic("add", 1, 2), 3u) << "f64 denormals are never flushed";
  EXPECT_EQ(f64Atomic("add", f64(1.0), f64(-3.5)), f64(-2.5));
  EXPECT_EQ(f64Atomic("min", f64(1.0), f64(-3.5)), f64(-3.5));
  EXPECT_EQ(f64Atomic("max", f64(1.0), f64(-3.5)), f64(1.0));
  EXPECT_EQ(f64Atomic("min", f64(0.0), f64(-0.0)), f64(-0.0));
  EXPECT_EQ(f64Atomic("max", f64(-0.0), f64(0.0)), f64(0.0));
  EXPECT_EQ(f64Atomic("min", 0x7ff8000000000000, f64(2.0)), f64(2.0)) << "a quiet NaN loses";
  EXPECT_EQ(f64Atomic("max", f64(2.0), 0x7ff8000000000000), f64(2.0));
  EXPECT_EQ(f64Atomic("max", 0x7ff0000000000001, f64(2.0)), 0x7ff8000000000001u) << "a signalling one wins";
  EXPECT_EQ(f64Atomic("min", 5, 3), 3u);
  EXPECT_EQ(f64Atomic("max", 0x8000000000000005, 0x8000000000000003), 0x8000000000000003u);

  const uint32_t halves = pack16(f16(1.0f), 0x0001), more = pack16(f16(2.5f), 0x0002);
  memcpy(ExecTest::at<void>(base), &halves, 4);
  t.setVector(8, more);
  ASSERT_TRUE(t.run("global_atomic_pk_add_f16 v[2:3], v8, off"));
  EXPECT_EQ(ExecTest::load<uint32_t>(base), pack16(f16(3.5f), 0x0003));
}

// Private memory of lane l: dword o / 4 of all lanes lies together.
uint64_t privateAddress(const ExecTest &t, unsigned lane, uint32_t offset) {
  return t.scratchBase() + uint64_t(offset / 4) * 256 + lane * 4 + offset % 4;
}

TEST(Flat, ScratchStoresAndLoads) {
  for (const StoreCase &c : kStores)
    for (bool scalar : {false, true})
      for (uint32_t start : {0u, 4u, 8u, 1u, 3u})
        for (uint64_t exec : {~0ull, 0xff00ff00ff00ff01ull}) {
          ExecTest t;
          t.scratch(256);
          t.s(4) = 16 + start;
          for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
            t.v(2, lane) = 16 + start + 4 * (lane % 8);
            for (unsigned r = 0; r < c.registers(); ++r)
              t.v(8 + r, lane) = lane << 24 | r << 16 | 0xa5c3;
          }
          t.exec(exec);
          const std::string address =
              scalar ? "off, " + vgprs(8, c.registers()) + ", s4" : "v2, " + vgprs(8, c.registers()) + ", off";
          ASSERT_TRUE(t.run(std::string("scratch_store_") + c.name + " " + address + " offset:-16"));
          for (unsigned lane = 0; lane < kMaxLanes; ++lane)
            for (unsigned k = 0; k < c.bytes; ++k) {
              const uint32_t offset = start + (scalar ? 0 : 4 * (lane % 8)) + k;
              const uint32_t value = t.v(8 + k / 4, lane) >> c.shift;
              ASSERT_EQ(ExecTest::load<uint8_t>(privateAddress(t, lane, offset)),
                        exec >> lane & 1 ? static_cast<uint8_t>(value >> 8 * (k % 4)) : 0)
                  << c.name << " lane " << lane << " byte " << k << " start " << start;
            }
          // Back again, with the load of the same width.
          const char *load = c.bytes == 1 ? "ubyte" : c.bytes == 2 ? "ushort" : c.name;
          ASSERT_TRUE(t.run(std::string("scratch_load_") + load + " " + vgprs(20, c.registers()) + ", " +
                            (scalar ? "off, s4" : "v2, off") + " offset:-16"));
          const uint32_t mask = c.bytes == 1 ? 0xff : c.bytes == 2 ? 0xffff : ~0u;
          for (unsigned lane = 0; lane < kMaxLanes; ++lane)
            for (unsigned r = 0; r < c.registers(); ++r)
              ASSERT_EQ(t.v(20 + r, lane), exec >> lane & 1 ? t.v(8 + r, lane) >> c.shift & mask : kPoison) << c.name;
        }
}

/// gfx942 adds up an SGPR, a VGPR and an offset, any of which may be missing; FLAT_SCRATCH is not the program's.
TEST(Flat, ScratchAddressesOfGfx942) {
  const struct {
    const char *address;
    uint32_t offset;
  } forms[] = {{"off, {}, off offset:8", 8},
               {"off, {}, s4 offset:8", 24},
               {"v2, {}, off offset:8", 40},
               {"v2, {}, s4 offset:8", 56},
               {"v2, {}, s4 offset:-8", 40}};
  for (const auto &form : forms) {
    ExecTest t("gfx942");
    t.scratch(128);
    t.setS64(kFlatScratch, 0xdeadbeefdeadbeef);
    t.s(4) = 16;
    t.setVector(2, 32);
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      t.v(8, lane) = 77 * lane;
    std::string text = form.address;
    text.replace(text.find("{}"), 2, "v8");
    ASSERT_TRUE(t.run("scratch_store_dword " + text)) << text;
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      ASSERT_EQ(ExecTest::load<uint32_t>(privateAddress(t, lane, form.offset)), 77 * lane) << text;
    text = form.address;
    text.replace(text.find("{}, "), 4, "");
    ASSERT_TRUE(t.run("scratch_load_dword v9, " + text)) << text;
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      ASSERT_EQ(t.v(9, lane), 77 * lane) << text;
  }
}

TEST(Flat, ScratchOutOfRange) {
  ExecTest t;
  t.scratch(64);
  t.setVector(2, {60, 61, 64, 0xfffffffc, 0x80000000});
  t.setVector(8, 7);
  t.exec(0x1f);
  ASSERT_TRUE(t.run("scratch_store_dword v2, v8, off\ns_waitcnt 0\nscratch_load_dword v9, v2, off"));
  EXPECT_EQ(t.v(9, 0), 7u);
  for (unsigned lane = 1; lane < 5; ++lane)
    EXPECT_EQ(t.v(9, lane), 0u);
}

TEST(Flat, AperturesByLane) {
  ExecTest t;
  t.scratch(128);
  t.lds(256);
  const uint64_t base = t.buffer(64 * 8);
  auto address = [&](unsigned lane) {
    switch (lane % 3) {
    case 0:
      return base + 8 * lane;
    case 1:
      return t.sharedAperture() + 4 * lane;
    default:
      return t.privateAperture() + 8 * (lane % 16);
    }
  };
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    t.setV64(2, lane, address(lane) - 4);
    t.v(8, lane) = 1000 + lane;
    t.v(9, lane) = 2000 + lane;
  }
  ASSERT_TRUE(t.run("flat_store_dword v[2:3], v8 offset:4\ns_waitcnt 0\nflat_load_dword v10, v[2:3] offset:4"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    EXPECT_EQ(t.v(10, lane), 1000 + lane);
    if (lane % 3 == 0)
      EXPECT_EQ(ExecTest::load<uint32_t>(base + 8 * lane), 1000 + lane);
    else if (lane % 3 == 1)
      EXPECT_EQ(t.ldsWord(4 * lane), 1000 + lane);
    else
      EXPECT_EQ(ExecTest::load<uint32_t>(privateAddress(t, lane, 8 * (lane % 16))), 1000 + lane);
  }
  ASSERT_TRUE(t.run("flat_atomic_add v11, v[2:3], v9 offset:4 glc\ns_waitcnt 0\nflat_load_dword v10, v[2:3] offset:4"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    EXPECT_EQ(t.v(11, lane), 1000 + lane);
    EXPECT_EQ(t.v(10, lane), 3000 + 2 * lane);
  }
  // 64-bit atomics, where private memory is not in one piece.
  t.setVector64(14, 1);
  t.exec(0x4924924924924924);
  ASSERT_TRUE(t.run("flat_atomic_add_x2 v[12:13], v[2:3], v[14:15] offset:4 glc\ns_waitcnt 0\n"
                    "flat_load_dwordx2 v[16:17], v[2:3] offset:4"));
  for (unsigned lane = 2; lane < kMaxLanes; lane += 3) {
    EXPECT_EQ(t.v64(12, lane), 3000ull + 2 * lane);
    EXPECT_EQ(t.v64(16, lane), 3001ull + 2 * lane);
  }
}

TEST(Flat, AperturesOutOfRange) {
  ExecTest t;
  t.scratch(64);
  t.lds(64);
  t.setV64(2, 0, t.sharedAperture() + 60);
  t.setV64(2, 1, t.sharedAperture() + 64);
  t.setV64(2, 2, t.privateAperture() + 60);
  t.setV64(2, 3, t.privateAperture() + 64);
  t.setVector(8, 5);
  t.exec(0xf);
  ASSERT_TRUE(t.run(
      "flat_store_dword v[2:3], v8\ns_waitcnt 0\nflat_load_dword v9, v[2:3]\nflat_atomic_add v10, v[2:3], v8 glc"));
  EXPECT_EQ(t.v(9, 0), 5u);
  EXPECT_EQ(t.v(9, 1), 0u);
  EXPECT_EQ(t.v(9, 2), 5u);
  EXPECT_EQ(t.v(9, 3), 0u);
  EXPECT_EQ(t.v(10, 2), 5u);
  EXPECT_EQ(t.v(10, 3), 0u);
  EXPECT_EQ(t.ldsWord(60), 10u);
}

} // namespace
} // namespace luthier::vgpu::test
