// FLAT, GLOBAL and SCRATCH of RDNA, in waves of both sizes.

#include "rdna_memory.h"

namespace luthier::vgpu::test {
namespace {

constexpr uint32_t kBytes = 4096;

enum class Form { Global, GlobalScalar, Flat };
constexpr Form kForms[] = {Form::Global, Form::GlobalScalar, Form::Flat};

const char *segmentOf(Form form) { return form == Form::Flat ? "flat" : "global"; }

/// An immediate at the edge of what the target has; FLAT's has a sign only on gfx12.
int immediateOf(const RdnaMachine &m, Form form) {
  return form != Form::Flat || m.generation == 12 ? -m.mostOffset - 1 : m.generation == 10 ? 2047 : 4095;
}

void setAddresses(ExecTest &t, Form form, uint64_t base, const std::vector<uint32_t> &offset, int immediate) {
  t.setS64(4, base - static_cast<uint64_t>(int64_t(immediate)) - 0x80000000u);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    if (form == Form::GlobalScalar)
      t.v(2, lane) = 0x80000000u + offset[lane];
    else
      t.setV64(2, lane, base + offset[lane] - static_cast<uint64_t>(int64_t(immediate)));
}

TEST(RdnaFlat, Loads) {
  const std::vector<uint8_t> data = randomBytes(kBytes, 1);
  for (const RdnaMachine &m : kRdnaMachines)
    for (const Form form : kForms)
      for (const LoadCase &c : kLoads)
        for (const Pattern pattern : kPatterns)
          for (const uint64_t exec : kSomeExecs) {
            const int immediate = immediateOf(m, form);
            ExecTest t(m.target, m.lanes);
            const uint64_t base = t.buffer(data);
            const std::vector<uint32_t> offset = spread(pattern, c.bytes, kBytes, 7);
            setAddresses(t, form, base, offset, immediate);
            t.exec(exec & m.all());
            const std::string text =
                fmt::format("{}_load_{} {}, {} offset:{}", segmentOf(form), c.name, vgprs(8, c.registers()),
                            form == Form::Global         ? "v[2:3], off"
                            : form == Form::GlobalScalar ? "v2, s[4:5]"
                                                         : "v[2:3]",
                            immediate);
            ASSERT_TRUE(t.run(text)) << nameOf(m) << " " << text;
            for (unsigned lane = 0; lane < m.lanes; ++lane)
              for (unsigned r = 0; r < c.registers() + 1; ++r) {
                const bool written = (exec >> lane & 1) && r < c.registers();
                ASSERT_EQ(t.v(8 + r, lane), written ? rdnaLoadedRegister(c, &data[offset[lane]], r, kPoison) : kPoison)
                    << nameOf(m) << " " << text << " lane " << lane << " register " << r << " exec " << exec;
              }
          }
}

TEST(RdnaFlat, Stores) {
  for (const RdnaMachine &m : kRdnaMachines)
    for (const Form form : kForms)
      for (const StoreCase &c : kStores)
        for (const Pattern pattern : {Pattern::Consecutive, Pattern::Random, Pattern::Unaligned, Pattern::Uniform})
          for (const uint64_t exec : kSomeExecs) {
            const int immediate = immediateOf(m, form);
            std::vector<uint8_t> expected = randomBytes(kBytes, 2);
            ExecTest t(m.target, m.lanes);
            const uint64_t base = t.buffer(expected);
            const std::vector<uint32_t> offset = spread(pattern, c.bytes, kBytes, 9);
            setAddresses(t, form, base, offset, immediate);
            for (unsigned lane = 0; lane < m.lanes; ++lane)
              for (unsigned r = 0; r < c.registers(); ++r) {
                const uint32_t value = t.v(8 + r, lane) = 0x01020304u * (lane + 1) + r * 0x11111111u;
                const uint32_t bits = value >> c.shift;
                if (exec >> lane & 1)
                  memcpy(&expected[offset[lane] + 4 * r], &bits, std::min(c.bytes, 4u));
              }
            t.exec(exec & m.all());
            const std::string data = vgprs(8, c.registers());
            const std::string text = fmt::format("{}_store_{} {} offset:{}", segmentOf(form), c.name,
                                                 form == Form::Global         ? "v[2:3], " + data + ", off"
                                                 : form == Form::GlobalScalar ? "v2, " + data + ", s[4:5]"
                                                                              : "v[2:3], " + data,
                                                 immediate);
            ASSERT_TRUE(t.run(text)) << nameOf(m) << " " << text;
            ASSERT_EQ(memcmp(ExecTest::at<void>(base), expected.data(), kBytes), 0)
                << nameOf(m) << " " << text << " exec " << exec;
          }
}

TEST(RdnaFlat, IntegerAtomics) {
  for (const RdnaMachine &m : kRdnaMachines)
    for (const char *segment : {"global", "flat"})
      for (const AtomicCase &c : kIntegerAtomics)
        for (const bool returns : {false, true}) {
          const uint64_t exec = 0x5555a5a5'11110f0full & m.all();
          ExecTest t(m.target, m.lanes);
          const uint64_t base = t.buffer(kMaxLanes * 16);
          const unsigned n = c.bytes / 4;
          std::vector<uint64_t> before, after;
          for (unsigned lane = 0; lane < m.lanes; ++lane) {
            const uint64_t address = base + 16 * (lane ^ 5);
            t.setV64(2, lane, address);
            const uint64_t memory = atomicOperand(c.bytes, lane * 3), data = atomicOperand(c.bytes, lane * 5 + 1);
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
          const std::string text =
              fmt::format("{}_atomic_{} {}v[2:3], {}{}{}", segment, c.name, returns ? vgprs(20, n) + ", " : "",
                          vgprs(8, n * c.operands), std::string_view(segment) == "global" ? ", off" : "",
                          returns ? m.returning() : "");
          ASSERT_TRUE(t.run(text)) << nameOf(m) << " " << text;
          for (unsigned lane = 0; lane < m.lanes; ++lane) {
            uint64_t memory = 0;
            memcpy(&memory, ExecTest::at<void>(base + 16 * (lane ^ 5)), c.bytes);
            ASSERT_EQ(memory, after[lane]) << nameOf(m) << " " << text << " lane " << lane;
            const bool written = returns && (exec >> lane & 1);
            for (unsigned r = 0; r < n; ++r)
              ASSERT_EQ(t.v(20 + r, lane), written ? static_cast<uint32_t>(before[lane] >> 32 * r) : kPoison) << text;
          }
        }
}

/// One lane's atomic on a dword, or a qword.
template <class T>
T atomic(const RdnaMachine &m, const std::string &name, T memory, T data, T data2 = 0, uint32_t mode = kDefaultMode) {
  constexpr unsigned n = sizeof(T) / 4;
  ExecTest t(m.target, m.lanes);
  const uint64_t base = t.buffer(std::vector<T>{memory});
  t.setVector64(2, base);
  for (unsigned r = 0; r < n; ++r) {
    t.setVector(8 + r, static_cast<uint32_t>(uint64_t{data} >> 32 * r));
    t.setVector(8 + n + r, static_cast<uint32_t>(uint64_t{data2} >> 32 * r));
  }
  t.mode(mode);
  t.exec(1);
  const bool two = name.find("cmpswap") != name.npos, flat = name.starts_with("flat");
  const std::string text =
      name + " " + vgprs(20, n) + ", v[2:3], " + vgprs(8, two ? 2 * n : n) + (flat ? "" : ", off") + m.returning();
  EXPECT_TRUE(t.run(text)) << nameOf(m) << " " << text;
  uint64_t old = 0;
  for (unsigned r = 0; r < n; ++r)
    old |= uint64_t{t.v(20 + r, 0)} << 32 * r;
  EXPECT_EQ(old, uint64_t{memory}) << text;
  return ExecTest::load<T>(base);
}

constexpr uint32_t kFlushAll = kDefaultMode & ~0xf0u;

TEST(RdnaFlat, FloatAtomicsOfGfx10AndGfx11) {
  constexpr uint32_t kQuiet = 0x7fc00000, kSignalling = 0x7f800001, kMinusZero = 0x80000000;
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation == 12)
      continue;
    for (const std::string segment : {"global", "flat"}) {
      const std::string fmin = segment + "_atomic_fmin", fmax = segment + "_atomic_fmax";
      EXPECT_EQ(atomic<uint32_t>(m, fmin, f32(1.0f), f32(-3.5f)), f32(-3.5f));
      EXPECT_EQ(atomic<uint32_t>(m, fmax, f32(1.0f), f32(-3.5f)), f32(1.0f));
      EXPECT_EQ(atomic<uint32_t>(m, fmin, 0, kMinusZero), kMinusZero);
      EXPECT_EQ(atomic<uint32_t>(m, fmax, kQuiet, f32(2.0f)), f32(2.0f)) << "a quiet NaN loses";
      EXPECT_EQ(atomic<uint32_t>(m, fmax, f32(2.0f), kSignalling), kSignalling | 0x400000) << "a signalling one wins";
      EXPECT_EQ(atomic<uint32_t>(m, fmax, 3, 5), 5u);
      // Flushed for the comparison only: -0 is less than +0, and the result is one of the sources as it was.
      EXPECT_EQ(atomic<uint32_t>(m, fmin, 3, kMinusZero | 1, 0, kFlushAll), kMinusZero | 1);
      EXPECT_EQ(atomic<uint32_t>(m, fmax, 3, 5, 0, kFlushAll), 3u) << "both are 0";
      const std::string swap = segment + "_atomic_fcmpswap";
      EXPECT_EQ(atomic<uint32_t>(m, swap, f32(2.0f), f32(9.0f), f32(2.0f)), f32(9.0f));
      EXPECT_EQ(atomic<uint32_t>(m, swap, f32(2.0f), f32(9.0f), f32(3.0f)), f32(2.0f));
      EXPECT_EQ(atomic<uint32_t>(m, swap, 0, f32(9.0f), kMinusZero), f32(9.0f)) << "-0 equals +0";
      EXPECT_EQ(atomic<uint32_t>(m, swap, kQuiet, f32(9.0f), kQuiet), kQuiet) << "NaN equals nothing";
      EXPECT_EQ(atomic<uint32_t>(m, swap, 5, f32(9.0f), 6, kFlushAll), f32(9.0f)) << "denormals are 0";
      if (m.generation == 10) {
        EXPECT_EQ(atomic<uint64_t>(m, fmin + "_x2", f64(1.0), f64(-3.5)), f64(-3.5));
        EXPECT_EQ(atomic<uint64_t>(m, fmax + "_x2", f64(1.0), f64(-3.5)), f64(1.0));
        EXPECT_EQ(atomic<uint64_t>(m, swap + "_x2", f64(1.0), f64(7.0), f64(1.0)), f64(7.0));
      }
    }
  }
}

TEST(RdnaFlat, FloatAdditions) {
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation == 10)
      continue;
    for (const std::string segment : {"global", "flat"}) {
      const std::string add = segment + "_atomic_add_f32";
      EXPECT_EQ(atomic<uint32_t>(m, add, f32(1.5f), f32(2.25f)), f32(3.75f));
      EXPECT_EQ(atomic<uint32_t>(m, add, f32(1.0f), f32(0x1p-25f), 0, kDefaultMode | 5), f32(1.0f))
          << "to nearest even";
      // RDNA3's memory flushes whatever MODE says, RDNA4's never does.
      for (const uint32_t mode : {kDefaultMode, kFlushAll})
        EXPECT_EQ(atomic<uint32_t>(m, add, 1, 2, 0, mode), m.generation == 11 ? 0u : 3u) << nameOf(m);
      if (m.generation == 12) {
        const uint32_t halves = pack16(f16(1.0f), 1), more = pack16(f16(2.5f), 2);
        EXPECT_EQ(atomic<uint32_t>(m, segment + "_atomic_pk_add_f16", halves, more), pack16(f16(3.5f), 3));
        EXPECT_EQ(atomic<uint32_t>(m, segment + "_atomic_pk_add_bf16", pack16(0x3f80, 0x4040), pack16(0x4000, 0x3c00)),
                  pack16(0x4040, 0x4040))
            << "1 + 2, and 3 + 2^-7, half way between 3 and its neighbour: to the even one";
        EXPECT_EQ(atomic<uint32_t>(m, segment + "_atomic_pk_add_bf16", 0x7f800001, 0xff800001), 0x7fc00002u)
            << "inf - inf is NaN; denormals are kept";
      }
    }
  }
}

TEST(RdnaFlat, AtomicsThatLaterTargetsAdded) {
  for (const RdnaMachine &m : kRdnaMachines) {
    const std::string csub = m.generation == 12 ? "global_atomic_sub_clamp_u32" : "global_atomic_csub";
    EXPECT_EQ(atomic<uint32_t>(m, csub, 10, 3), 7u);
    EXPECT_EQ(atomic<uint32_t>(m, csub, 3, 10), 0u);
    if (m.generation != 12)
      continue;
    EXPECT_EQ(atomic<uint32_t>(m, "flat_atomic_sub_clamp_u32", 3, 10), 0u);
    for (const std::string segment : {"global", "flat"}) {
      EXPECT_EQ(atomic<uint32_t>(m, segment + "_atomic_cond_sub_u32", 10, 3), 7u);
      EXPECT_EQ(atomic<uint32_t>(m, segment + "_atomic_cond_sub_u32", 3, 10), 3u);
      const std::string least = segment + "_atomic_min_num_f32", most = segment + "_atomic_max_num_f32";
      EXPECT_EQ(atomic<uint32_t>(m, least, f32(1.0f), f32(-2.0f)), f32(-2.0f));
      EXPECT_EQ(atomic<uint32_t>(m, most, f32(1.0f), f32(-2.0f)), f32(1.0f));
      EXPECT_EQ(atomic<uint32_t>(m, most, 0x7f800001, f32(-2.0f)), f32(-2.0f)) << "a number wins over any NaN";
      EXPECT_EQ(atomic<uint32_t>(m, least, 0x7f800001, 0xffc00005), 0xffc00005u) << "of two NaNs, the data's";
      EXPECT_EQ(atomic<uint32_t>(m, least, 0, 0x80000000), 0x80000000u);
      EXPECT_EQ(atomic<uint32_t>(m, most, 3, 5, 0, kFlushAll), 5u) << "memory does not flush";
    }
    const uint64_t pair = uint64_t{100} << 32 | 7;
    EXPECT_EQ(atomic<uint64_t>(m, "global_atomic_ordered_add_b64", pair, uint64_t{5} << 32 | 7),
              uint64_t{105} << 32 | 8);
    EXPECT_EQ(atomic<uint64_t>(m, "global_atomic_ordered_add_b64", pair, uint64_t{5} << 32 | 6), pair);
  }
}

TEST(RdnaFlat, TheThreadsNumberAsAddress) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    const std::vector<uint8_t> data = randomBytes(1024, 4);
    const uint64_t base = t.buffer(data);
    t.setS64(4, base);
    t.exec(0xf0f0f0f0'0f0f0f0full & m.all());
    ASSERT_TRUE(
        t.run("global_load_dword_addtid v8, s[4:5] offset:16\nglobal_store_dword_addtid v2, s[4:5] offset:512"));
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      const bool active = t.exec() >> lane & 1;
      uint32_t word;
      memcpy(&word, &data[16 + 4 * lane], 4);
      EXPECT_EQ(t.v(8, lane), active ? word : kPoison);
      memcpy(&word, &data[512 + 4 * lane], 4);
      EXPECT_EQ(ExecTest::load<uint32_t>(base + 512 + 4 * lane), active ? kPoison : word);
    }
  }
}

/// Private memory of a lane: dword o / 4 of all lanes lies together, 32 or 64 of them.
uint64_t privateAddress(const ExecTest &t, const RdnaMachine &m, unsigned lane, uint32_t offset) {
  return t.scratchBase() + uint64_t(offset / 4) * 4 * m.lanes + lane * 4 + offset % 4;
}

TEST(RdnaFlat, ScratchInItsForms) {
  struct Address {
    const char *text;
    bool vector, scalar;
    int since; ///< the first generation that has it
  };
  constexpr Address kAddresses[] = {{"v2, {}, off", true, false, 10},
                                    {"off, {}, s4", false, true, 10},
                                    {"off, {}, off", false, false, 10},
                                    {"v2, {}, s4", true, true, 11}};
  for (const RdnaMachine &m : kRdnaMachines)
    for (const Address &address : kAddresses)
      for (const StoreCase &c : kStores)
        for (const uint32_t start : {0u, 4u, 1u}) {
          if (m.generation < address.since)
            continue;
          const uint64_t exec = 0xff00ff81'ff00ff01ull & m.all();
          ExecTest t(m.target, m.lanes);
          t.scratch(256);
          const uint32_t immediate = 16 + start;
          t.s(4) = 32;
          for (unsigned lane = 0; lane < m.lanes; ++lane) {
            t.v(2, lane) = 4 * (lane % 8);
            for (unsigned r = 0; r < c.registers(); ++r)
              t.v(8 + r, lane) = lane << 24 | r << 16 | 0xa5c3;
          }
          t.exec(exec);
          const std::string data = vgprs(8, c.registers()), back = vgprs(20, c.registers());
          const std::string store = std::string("scratch_store_") + c.name + " " +
                                    fmt::format(fmt::runtime(address.text), data) +
                                    fmt::format(" offset:{}", immediate);
          ASSERT_TRUE(t.run(store)) << nameOf(m) << " " << store;
          for (unsigned lane = 0; lane < m.lanes; ++lane)
            for (unsigned k = 0; k < c.bytes; ++k) {
              const uint32_t offset = immediate + (address.vector ? 4 * (lane % 8) : 0) + (address.scalar ? 32 : 0) + k;
              const uint32_t value = t.v(8 + k / 4, lane) >> c.shift;
              ASSERT_EQ(ExecTest::load<uint8_t>(privateAddress(t, m, lane, offset)),
                        exec >> lane & 1 ? static_cast<uint8_t>(value >> 8 * (k % 4)) : 0)
                  << nameOf(m) << " " << store << " lane " << lane << " byte " << k;
            }
          std::string operands(address.text);
          const char *load = c.bytes == 1 ? "ubyte" : c.bytes == 2 ? "ushort" : c.name;
          operands = operands.substr(0, operands.find(", ")) + operands.substr(operands.rfind(", "));
          const std::string text = fmt::format("scratch_load_{} {}, {} offset:{}", load, back, operands, immediate);
          ASSERT_TRUE(t.run(text)) << nameOf(m) << " " << text;
          const uint32_t mask = c.bytes == 1 ? 0xff : c.bytes == 2 ? 0xffff : ~0u;
          for (unsigned lane = 0; lane < m.lanes; ++lane)
            for (unsigned r = 0; r < c.registers(); ++r)
              ASSERT_EQ(t.v(20 + r, lane), exec >> lane & 1 ? t.v(8 + r, lane) >> c.shift & mask : kPoison) << text;
        }
}

TEST(RdnaFlat, AFlatAddressMayBeAnywhere) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    t.lds(1024);
    t.scratch(64);
    const uint64_t base = t.buffer(std::vector<uint32_t>(kMaxLanes, 7));
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      t.setLdsWord(4 * lane, 1000 + lane);
      const uint32_t own = 2000 + lane;
      memcpy(ExecTest::at<void>(privateAddress(t, m, lane, 12)), &own, 4);
      t.setV64(2, lane,
               lane % 3 == 0   ? t.sharedAperture() + 4 * lane
               : lane % 3 == 1 ? t.privateAperture() + 12
                               : base + 4 * lane);
      t.v(10, lane) = 3000 + lane;
    }
    ASSERT_TRUE(t.run("flat_load_dword v8, v[2:3]\nflat_store_dword v[2:3], v10\nflat_load_dword v9, v[2:3]"));
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      EXPECT_EQ(t.v(8, lane), lane % 3 == 0 ? 1000 + lane : lane % 3 == 1 ? 2000 + lane : 7u) << nameOf(m) << lane;
      EXPECT_EQ(t.v(9, lane), 3000 + lane);
      EXPECT_EQ(t.ldsWord(4 * lane), lane % 3 == 0 ? 3000 + lane : 1000 + lane);
    }
  }
}

TEST(RdnaFlat, WideAtomicsOnPrivateMemory) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    t.scratch(64);
    t.setVector64(2, t.privateAperture() + 8);
    t.setVector64(8, (uint64_t{1} << 32) | 5);
    EXPECT_TRUE(t.run("flat_atomic_add v[2:3], v8"));
    EXPECT_EQ(ExecTest::load<uint32_t>(privateAddress(t, m, 3, 8)), 5u);
    // A violation from RDNA3 on.
    EXPECT_EQ(bool(t.run("flat_atomic_add_x2 v[2:3], v[8:9]")), m.generation == 10) << nameOf(m);
  }
}

TEST(RdnaFlat, Faults) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    const uint64_t base = t.bufferBeforeGuard(4 * (m.lanes - 1));
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      t.setV64(2, lane, base + 4 * lane);
    EXPECT_FALSE(t.run("global_load_dword v8, v[2:3], off"));
    EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
    EXPECT_EQ(t.fault().address, base + 4 * (m.lanes - 1));
    t.exec(m.all() >> 1);
    EXPECT_TRUE(t.run("global_load_dword v8, v[2:3], off")) << "the last lane alone was at fault";
  }
}

TEST(RdnaFlat, BlocksOfRegisters) {
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation != 12)
      continue;
    ExecTest t(m.target, m.lanes);
    const std::vector<uint8_t> data = randomBytes(128 * kMaxLanes, 6);
    const uint64_t base = t.buffer(data), to = t.buffer(128 * kMaxLanes);
    t.scratch(256);
    t.setS64(4, to);
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      t.setV64(2, lane, base + 128 * lane);
      t.v(4, lane) = 128 * lane;
    }
    t.m0(0x80000005);
    t.exec(m.all() & ~4ull);
    t.s(6) = 16;
    ASSERT_TRUE(t.run("global_load_block v[32:63], v[2:3], off\n"
                      "global_store_block v4, v[32:63], s[4:5]\n"
                      "scratch_store_block off, v[32:63], s6 offset:4\n"
                      "scratch_load_block v[96:127], off, s6 offset:4"))
        << nameOf(m);
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      for (unsigned r = 0; r < 32; ++r) {
        const bool moved = lane != 2 && (r == 0 || r == 2 || r == 31);
        uint32_t word;
        memcpy(&word, &data[128 * lane + 4 * r], 4);
        ASSERT_EQ(t.v(32 + r, lane), moved ? word : kPoison) << r;
        ASSERT_EQ(ExecTest::load<uint32_t>(to + 128 * lane + 4 * r), moved ? word : 0) << r;
        ASSERT_EQ(ExecTest::load<uint32_t>(privateAddress(t, m, lane, 20 + 4 * r)), moved ? word : 0) << r;
        ASSERT_EQ(t.v(96 + r, lane), moved ? word : kPoison) << r;
      }
  }
}

TEST(RdnaFlat, TransposedMatrices) {
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation != 12)
      continue;
    for (const unsigned bytes : {2u, 1u}) { // of an element
      ExecTest t(m.target, m.lanes);
      std::vector<uint8_t> data(32 * 8 * bytes);
      // Element e of what lane l addresses is e << 5 | l.
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned e = 0; e < 8; ++e)
          data[(lane * 8 + e) * bytes] = static_cast<uint8_t>(e << 5 | lane);
      const uint64_t base = t.buffer(data);
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        t.setV64(2, lane, lane < 32 ? base + lane * 8 * bytes : 0); // those of the second half do not count
      const unsigned registers = 8 * bytes / 4 * 32 / m.lanes;
      ASSERT_TRUE(t.run(fmt::format("global_load_tr_b{} {}, v[2:3], off", 64 * bytes, vgprs(8, registers))));
      const unsigned perLane = 8 * 32 / m.lanes;
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        for (unsigned n = 0; n < perLane; ++n) {
          const unsigned e = lane / 32 * perLane + n, from = (lane % 32 & ~7u) + e;
          const unsigned at = n * bytes;
          ASSERT_EQ(t.v(8 + at / 4, lane) >> 8 * (at % 4) & 0xff, (lane % 8) << 5 | from)
              << nameOf(m) << " bytes " << bytes << " lane " << lane << " element " << n;
        }
      t.exec(m.all() - 1);
      EXPECT_FALSE(t.run(fmt::format("global_load_tr_b{} {}, v[2:3], off", 64 * bytes, vgprs(8, registers))));
    }
  }
}

TEST(RdnaFlat, CacheControlDoesNothing) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    ASSERT_TRUE(t.run(m.generation == 12 ? "global_inv scope:SCOPE_SYS\nglobal_wb scope:SCOPE_DEV\nglobal_wbinv"
                                         : "buffer_gl0_inv\nbuffer_gl1_inv"));
  }
}

} // namespace
} // namespace luthier::vgpu::test
