// SMEM: addresses, bounds, faults, clocks and atomics.

#include "harness.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

namespace luthier::vgpu::test {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i64 = int64_t;

std::vector<u32> numbers(u32 count, u32 first = 100) {
  std::vector<u32> data(count);
  std::iota(data.begin(), data.end(), first);
  return data;
}

TEST(Smem, LoadsOfAllSizes) {
  ExecTest t;
  t.setS64(0, t.buffer(numbers(64)));
  ASSERT_TRUE(t.run(R"(
    s_load_dword s4, s[0:1], 0x4
    s_load_dwordx2 s[6:7], s[0:1], 0x8
    s_load_dwordx4 s[8:11], s[0:1], 0x10
    s_load_dwordx8 s[12:19], s[0:1], 0x20
    s_load_dwordx16 s[20:35], s[0:1], 0x40)"));
  EXPECT_EQ(t.s(4), 101u);
  EXPECT_EQ(t.s(5), kPoison);
  for (u32 n = 2; n < 32; ++n)
    EXPECT_EQ(t.s(n + 4), 100 + n);
  EXPECT_EQ(t.s(36), kPoison);
}

TEST(Smem, Offsets) {
  ExecTest t;
  const u64 base = t.buffer(numbers(64));
  t.setS64(0, base + 64);
  t.s(2) = 8;
  t.m0(12);
  ASSERT_TRUE(t.run(R"(
    s_load_dword s4, s[0:1], -4
    s_load_dword s5, s[0:1], s2
    s_load_dword s6, s[0:1], m0
    s_load_dword s7, s[0:1], s2 offset:0x10
    s_load_dword s8, s[0:1], s2 offset:-0x10)"));
  EXPECT_EQ(t.s(4), 115u);
  EXPECT_EQ(t.s(5), 118u);
  EXPECT_EQ(t.s(6), 119u);
  EXPECT_EQ(t.s(7), 122u);
  EXPECT_EQ(t.s(8), 114u);
}

TEST(Smem, OffsetRegisterInTheSecondFieldAlone) {
  ExecTest t;
  t.setS64(2, t.buffer(numbers(8)));
  t.s(5) = 12;
  ASSERT_TRUE(t.run(".long 0xc0004101, 0x0a000000")); // s_load_dword s4, s[2:3], s5 with SOE=1, IMM=0
  EXPECT_EQ(t.s(4), 103u);
}

TEST(Smem, TheTwoLowBitsOfEachPartAreIgnored) {
  ExecTest t;
  t.setS64(0, t.buffer(numbers(8)) + 3);
  t.s(2) = 7;
  ASSERT_TRUE(t.run("s_load_dword s4, s[0:1], s2 offset:6"));
  EXPECT_EQ(t.s(4), 102u);
}

TEST(Smem, RegisteredHostMemory) {
  ExecTest t;
  const u64 base = t.buffer(numbers(4));
  t.setS64(0, t.alias(base));
  t.s(2) = 55;
  ASSERT_TRUE(t.run("s_load_dword s4, s[0:1], 0x4\ns_store_dword s2, s[0:1], 0x8"));
  EXPECT_EQ(t.s(4), 101u);
  EXPECT_EQ(t.load<u32>(base + 8), 55u);
}

TEST(Smem, LoadOverItsOwnBase) {
  ExecTest t;
  t.setS64(0, t.buffer(numbers(4)));
  ASSERT_TRUE(t.run("s_load_dwordx2 s[0:1], s[0:1], 0x0"));
  EXPECT_EQ(t.s(0), 100u);
  EXPECT_EQ(t.s(1), 101u);
}

TEST(Smem, FaultsAtTheEndOfMappedMemory) {
  ExecTest t;
  const u64 base = t.bufferBeforeGuard(64);
  t.setS64(0, base);
  ASSERT_TRUE(t.run("s_load_dwordx16 s[16:31], s[0:1], 0x0"));
  EXPECT_FALSE(t.run("s_load_dwordx16 s[16:31], s[0:1], 0x4"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
  EXPECT_FALSE(t.fault().write);
  EXPECT_FALSE(t.run("s_load_dword s4, s[0:1], 0x40"));
  EXPECT_EQ(t.fault().address, base + 64);
  EXPECT_FALSE(t.run("s_store_dwordx2 s[4:5], s[0:1], 0x3c"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
  EXPECT_TRUE(t.fault().write);
  t.setS64(0, 0);
  EXPECT_FALSE(t.run("s_load_dword s4, s[0:1], 0x0"));
  EXPECT_FALSE(t.run("s_load_dword s4, s[0:1], -4"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
  EXPECT_FALSE(t.run("s_load_dwordx16 s[16:31], s[0:1], -16"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
  t.setS64(0, ~3ull);
  EXPECT_FALSE(t.run("s_load_dwordx2 s[4:5], s[0:1], 0x0"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
}

TEST(Smem, Stores) {
  ExecTest t;
  const u64 base = t.buffer(64);
  t.setS64(0, base);
  for (u32 n = 4; n < 12; ++n)
    t.s(n) = n * 11;
  t.m0(0x20);
  ASSERT_TRUE(t.run(R"(
    s_store_dword s4, s[0:1], 0x4
    s_store_dwordx2 s[6:7], s[0:1], 0x8
    s_store_dwordx4 s[8:11], s[0:1], m0
    s_dcache_wb)"));
  const std::vector<u32> want = {0, 44, 66, 77, 0, 0, 0, 0, 88, 99, 110, 121, 0, 0, 0, 0};
  for (u32 n = 0; n < want.size(); ++n)
    EXPECT_EQ(t.load<u32>(base + 4 * n), want[n]) << n;
}

TEST(Smem, ScratchCountsItsRegisterIn64Bytes) {
  ExecTest t;
  const u64 base = t.buffer(numbers(256));
  t.setS64(0, base);
  t.s(2) = 3;
  t.m0(2);
  ASSERT_TRUE(t.run(R"(
    s_scratch_load_dword s4, s[0:1], 0x8
    s_scratch_load_dwordx2 s[6:7], s[0:1], s2
    s_scratch_load_dwordx4 s[8:11], s[0:1], s2 offset:0x10
    s_mov_b32 s5, 99
    s_scratch_store_dword s5, s[0:1], m0
    s_scratch_store_dwordx2 s[6:7], s[0:1], 0x10
    s_scratch_store_dwordx4 s[8:11], s[0:1], 0x20)"));
  EXPECT_EQ(t.s(4), 102u);
  EXPECT_EQ(t.s64(6), 148 | 149ull << 32);
  EXPECT_EQ(t.s(8), 152u);
  EXPECT_EQ(t.s(11), 155u);
  EXPECT_EQ(t.load<u32>(base + 128), 99u);
  EXPECT_EQ(t.load<u32>(base + 16), 148u);
  EXPECT_EQ(t.load<u32>(base + 0x2c), 155u);
}

/// A buffer resource in s[0:3].
void resource(ExecTest &t, u64 base, u32 stride, u32 records) {
  t.s(0) = u32(base);
  t.s(1) = u32(base >> 32 & 0xffff) | stride << 16;
  t.s(2) = records;
  t.s(3) = 0xffffffff;
}

TEST(Smem, BufferLoads) {
  ExecTest t;
  resource(t, t.buffer(numbers(64)), 0, 256);
  t.s(5) = 0x40;
  ASSERT_TRUE(t.run(R"(
    s_buffer_load_dword s6, s[0:3], 0x8
    s_buffer_load_dwordx2 s[8:9], s[0:3], s5
    s_buffer_load_dwordx4 s[12:15], s[0:3], 0xf0
    s_buffer_load_dwordx8 s[16:23], s[0:3], s5 offset:0x10
    s_buffer_load_dwordx16 s[24:39], s[0:3], 0xc0)"));
  EXPECT_EQ(t.s(6), 102u);
  EXPECT_EQ(t.s(9), 117u);
  EXPECT_EQ(t.s(15), 163u);
  EXPECT_EQ(t.s(16), 120u);
  EXPECT_EQ(t.s(23), 127u);
  EXPECT_EQ(t.s(24), 148u);
  EXPECT_EQ(t.s(39), 163u);
}

TEST(Smem, BufferBounds) {
  ExecTest t;
  const u64 base = t.buffer(numbers(64));
  resource(t, base, 0, 16);
  t.s(5) = 0xfffffffc;
  t.s(6) = 1;
  ASSERT_TRUE(t.run(R"(
    s_buffer_load_dwordx4 s[8:11], s[0:3], 0x8
    s_buffer_load_dword s12, s[0:3], 0x10
    s_buffer_load_dword s13, s[0:3], s5
    s_mov_b32 s20, 1
    s_mov_b32 s21, 2
    s_mov_b32 s22, 3
    s_mov_b32 s23, 4
    s_buffer_store_dwordx4 s[20:23], s[0:3], 0x8
    s_buffer_store_dword s6, s[0:3], 0x10)"));
  EXPECT_EQ(t.s(8), 102u);
  EXPECT_EQ(t.s(9), 103u);
  EXPECT_EQ(t.s(10), 0u);
  EXPECT_EQ(t.s(11), 0u);
  EXPECT_EQ(t.s(12), 0u);
  EXPECT_EQ(t.s(13), 0u);
  EXPECT_EQ(t.load<u32>(base + 12), 2u);
  EXPECT_EQ(t.load<u32>(base + 16), 104u);

  resource(t, base, 8, 3); // with a stride, records are counted: 24 bytes
  ASSERT_TRUE(t.run("s_buffer_load_dwordx2 s[8:9], s[0:3], 0x14"));
  EXPECT_EQ(t.s(8), 105u);
  EXPECT_EQ(t.s(9), 0u);

  resource(t, 0, 0, 0); // nothing is touched where nothing is inside
  ASSERT_TRUE(t.run("s_buffer_load_dword s8, s[0:3], 0x0\ns_buffer_store_dword s8, s[0:3], 0x0"));
  EXPECT_EQ(t.s(8), 0u);

  resource(t, 0x1000, 0, 64);
  EXPECT_FALSE(t.run("s_buffer_load_dword s8, s[0:3], 0x0"));
  EXPECT_EQ(t.fault().address, 0x1000u);
}

TEST(Smem, CacheControlDoesNothing) {
  ExecTest t;
  t.setS64(0, 0);
  ASSERT_TRUE(t.run(R"(
    s_dcache_inv
    s_dcache_inv_vol
    s_dcache_wb
    s_dcache_wb_vol
    s_dcache_discard s[0:1], 0x0
    s_dcache_discard_x2 s[0:1], 0x0
    s_atc_probe 0, s[0:1], 0x0
    s_atc_probe_buffer 0, s[0:3], 0x0)"));
}

TEST(Smem, Clocks) {
  ExecTest t;
  ASSERT_TRUE(t.run(R"(
    s_memtime s[0:1]
    s_memrealtime s[2:3]
    s_memtime s[4:5]
    s_memrealtime s[6:7])"));
  EXPECT_GE(t.s64(4), t.s64(0));
  EXPECT_GE(t.s64(6), t.s64(2));
  EXPECT_NE(t.s64(0), 0u);
  EXPECT_NEAR(double(t.s64(0)) / double(t.s64(2)), 17.0, 0.1) << "1.7 GHz against 100 MHz";
}

/// Every atomic in its four forms, with and without return.
template <class T>
void checkAtomic(const std::string &name, const std::function<T(T memory, T data, T comparand)> &expected) {
  const std::string suffix = sizeof(T) == 8 ? "_x2" : "";
  std::vector<T> values;
  for (const u32 edge : {0u, 1u, 5u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    values.push_back(T(edge));
    if constexpr (sizeof(T) == 8) {
      values.push_back(u64(edge) << 32);
      values.push_back(u64(edge) << 32 | 0xffffffff);
    }
  }
  const bool pair = name == "cmpswap";
  const unsigned words = sizeof(T) / 4 * (pair ? 2 : 1);
  const std::string data = words == 1 ? "s8" : "s[8:" + std::to_string(7 + words) + "]";
  for (const bool buffer : {false, true})
    for (const bool glc : {false, true})
      for (const T memory : values)
        for (const T operand : {values[0], values[1], values[2], values.back()}) {
          ExecTest t;
          const u64 base = t.buffer(64);
          const T comparand = operand == values[0] ? memory : T(memory + 1);
          *t.at<T>(base + 16) = memory;
          memcpy(&t.s(8), &operand, sizeof(T));
          if (pair)
            memcpy(&t.s(8 + sizeof(T) / 4), &comparand, sizeof(T));
          if (buffer)
            resource(t, base, 0, 64);
          else
            t.setS64(0, base);
          const std::string text = std::string(buffer ? "s_buffer_atomic_" : "s_atomic_") + name + suffix + " " + data +
                                   (buffer ? ", s[0:3], 0x10" : ", s[0:1], 0x10") + (glc ? " glc" : "");
          ASSERT_TRUE(t.run(text));
          const T want = expected(memory, operand, comparand);
          EXPECT_EQ(t.load<T>(base + 16), want) << text << std::hex << " memory " << memory << " data " << operand;
          EXPECT_EQ(t.load<T>(base + 16 + sizeof(T)), T(0)) << text;
          T result;
          memcpy(&result, &t.s(8), sizeof(T));
          EXPECT_EQ(result, glc ? memory : operand) << text;
        }
}

template <class T> void checkAtomics() {
  using S = std::make_signed_t<T>;
  checkAtomic<T>("swap", [](T, T data, T) { return data; });
  checkAtomic<T>("cmpswap", [](T memory, T data, T comparand) { return memory == comparand ? data : memory; });
  checkAtomic<T>("add", [](T memory, T data, T) { return T(memory + data); });
  checkAtomic<T>("sub", [](T memory, T data, T) { return T(memory - data); });
  checkAtomic<T>("smin", [](T memory, T data, T) { return T(std::min(S(memory), S(data))); });
  checkAtomic<T>("umin", [](T memory, T data, T) { return std::min(memory, data); });
  checkAtomic<T>("smax", [](T memory, T data, T) { return T(std::max(S(memory), S(data))); });
  checkAtomic<T>("umax", [](T memory, T data, T) { return std::max(memory, data); });
  checkAtomic<T>("and", [](T memory, T data, T) { return T(memory & data); });
  checkAtomic<T>("or", [](T memory, T data, T) { return T(memory | data); });
  checkAtomic<T>("xor", [](T memory, T data, T) { return T(memory ^ data); });
  checkAtomic<T>("inc", [](T memory, T data, T) { return memory >= data ? T(0) : T(memory + 1); });
  checkAtomic<T>("dec", [](T memory, T data, T) { return memory == 0 || memory > data ? data : T(memory - 1); });
}

TEST(Smem, Atomics32) { checkAtomics<u32>(); }
TEST(Smem, Atomics64) { checkAtomics<u64>(); }

TEST(Smem, AtomicsAreAlignedAndChecked) {
  ExecTest t;
  const u64 base = t.bufferBeforeGuard(16);
  *t.at<u64>(base + 8) = 5;
  t.setS64(0, base);
  t.setS64(8, 1);
  ASSERT_TRUE(t.run("s_atomic_add_x2 s[8:9], s[0:1], 0xc"));
  EXPECT_EQ(t.load<u64>(base + 8), 6u);
  EXPECT_FALSE(t.run("s_atomic_add s8, s[0:1], 0x10"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
  EXPECT_TRUE(t.fault().write);

  resource(t, base, 0, 8);
  t.s(8) = 3;
  ASSERT_TRUE(t.run("s_buffer_atomic_add s8, s[0:3], 0x8 glc"));
  EXPECT_EQ(t.s(8), 0u);
  EXPECT_EQ(t.load<u64>(base + 8), 6u) << "outside: not performed";
}

} // namespace
} // namespace luthier::vgpu::test
