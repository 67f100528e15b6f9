// Tests of single instructions: assemble a snippet, run one wave on it, look at what it left behind.
//
//   ExecTest t;
//   t.setVector(1, {f32(1.0f), f32(-0.0f)});    // lanes 0 and 1 of v1; a single value fills all lanes
//   t.setVector(2, f32(2.5f));
//   t.exec(0x5);
//   ASSERT_TRUE(t.run("v_add_f32 v0, v1, v2"));
//   EXPECT_EQ(t.v(0, 0), f32(3.5f));
//   EXPECT_EQ(t.v(0, 1), kPoison);              // inactive: untouched
//
// The snippet may have many lines, labels and branches; s_endpgm is added at its end. `run` may be called repeatedly:
// registers, LDS and memory keep what the last run left.
//
// Before the first run all VGPRs, AccVGPRs and s0-s101 hold kPoison, VCC, M0, SCC and FLAT_SCRATCH are 0, EXEC has all
// lanes, and MODE is what compilers ask for (round to nearest, denormals kept, IEEE, DX10_CLAMP).
//
// The CPU level (base, avx2, avx512) is the process's own: CTest runs every test program once per level.
#pragma once

#include "isa/target.h"
#include "vgpu/state/wave.h"
#include "vgpu/wave/dispatch.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::vgpu::test {

inline constexpr uint32_t kPoison = 0xdeadbeef;
inline constexpr uint32_t kDefaultMode = 0x3f0;

// Values as register bits, and back. NaNs keep their payload.
constexpr uint32_t f32(float x) { return std::bit_cast<uint32_t>(x); }
constexpr uint64_t f64(double x) { return std::bit_cast<uint64_t>(x); }
inline uint32_t f16(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
constexpr uint32_t pack16(uint32_t low, uint32_t high) { return (low & 0xffff) | high << 16; }
constexpr float asF32(uint32_t bits) { return std::bit_cast<float>(bits); }
constexpr double asF64(uint64_t bits) { return std::bit_cast<double>(bits); }
inline float asF16(uint32_t bits) { return std::bit_cast<_Float16>(static_cast<uint16_t>(bits)); }

/// Edge values that every arithmetic test should see.
inline constexpr uint32_t kEdgesF32[] = {
    0x00000000, 0x80000000, // zeros
    0x00000001, 0x80000001, // smallest denormals
    0x007fffff, 0x807fffff, // largest denormals
    0x00800000, 0x80800000, // smallest normals
    0x3f800000, 0xbf800000, // one
    0x3f800001, 0x40490fdb, // just above one, pi
    0x4b800000, 0xcb800001, // 2^24, beyond
    0x4f000000, 0xcf000000, // 2^31
    0x4f800000, 0x5f000000, // 2^32, 2^63
    0x7f7fffff, 0xff7fffff, // largest
    0x7f800000, 0xff800000, // infinities
    0x7fc00000, 0xffc12345, // quiet NaNs
    0x7f800001, 0xffa00001, // signalling NaNs
};
inline constexpr uint64_t kEdgesF64[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000fffffffffffff,
    0x800fffffffffffff, 0x0010000000000000, 0x8010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x3ff0000000000001, 0x400921fb54442d18, 0x41e0000000000000, 0xc1e0000000000000, 0x41f0000000000000,
    0x43e0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000, 0xfff8000012345678, 0x7ff0000000000001, 0xfff4000000000001,
};
inline constexpr uint16_t kEdgesF16[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x3c01,
    0x4248, 0x6800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe12, 0x7c01, 0xfd01,
};
inline constexpr uint32_t kEdgesU32[] = {
    0,          1,          2,          31,         32,         33,         63,         64,
    0x7f,       0x80,       0xff,       0x7fff,     0x8000,     0xffff,     0x10000,    0x7fffffff,
    0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x12345678, 0xdeadbeef, 0xaaaaaaaa, 0x55555555,
};

class ExecTest {
public:
  /// `lanes` 0: waves as the target has them unless a kernel says otherwise.
  explicit ExecTest(std::string_view target = "gfx90a", unsigned lanes = 0);
  /// A target that there is no GPU of; it must live as long as the process.
  explicit ExecTest(const isa::Target &target, unsigned lanes = 0);
  ~ExecTest();
  ExecTest(const ExecTest &) = delete;
  ExecTest &operator=(const ExecTest &) = delete;

  const isa::Target &target() const { return target_; }
  unsigned lanes() const { return lanes_; }

  // Registers, before and after a run.
  uint32_t &s(unsigned reg) { return s_[reg]; }
  uint64_t s64(unsigned reg) const { return s_[reg] | static_cast<uint64_t>(s_[reg + 1]) << 32; }
  void setS64(unsigned reg, uint64_t value);
  uint32_t &v(unsigned reg, unsigned lane) { return file_->v[reg][lane]; }
  uint64_t v64(unsigned reg, unsigned lane) const {
    return file_->v[reg][lane] | static_cast<uint64_t>(file_->v[reg + 1][lane]) << 32;
  }
  void setV64(unsigned reg, unsigned lane, uint64_t value);
  uint32_t &acc(unsigned reg, unsigned lane) { return file_->v[kAccBase + reg][lane]; }
  std::span<uint32_t, kMaxLanes> lanes(unsigned reg) { return std::span<uint32_t, kMaxLanes>(file_->v[reg]); }

  /// One value for all lanes.
  void setVector(unsigned reg, uint32_t value);
  /// Values for the first lanes; the other lanes keep theirs.
  void setVector(unsigned reg, std::initializer_list<uint32_t> values);
  void setVector(unsigned reg, std::span<const uint32_t> values);
  void setVector64(unsigned reg, uint64_t value);
  void setVector64(unsigned reg, std::span<const uint64_t> values);

  uint64_t exec() const { return s64(kExec); }
  void exec(uint64_t mask) { setS64(kExec, mask); }
  uint64_t vcc() const { return s64(kVcc); }
  void vcc(uint64_t mask) { setS64(kVcc, mask); }
  uint32_t m0() const { return s_[kM0]; }
  void m0(uint32_t value) { s_[kM0] = value; }
  bool scc() const { return scc_; }
  void scc(bool value) { scc_ = value; }
  uint32_t mode() const { return mode_; }
  void mode(uint32_t value) { mode_ = value; }

  /// Gives the workgroup `bytes` of LDS, all 0; keeps the first bytes of what was there.
  void lds(uint32_t bytes) { lds_.resize(bytes); }
  std::span<uint8_t> ldsBytes() { return lds_; }
  uint32_t ldsWord(uint32_t byteOffset) const;
  void setLdsWord(uint32_t byteOffset, uint32_t value);

  /// Memory that the GPU may access, at the start of a page; the pages around it are not mapped. Lives as long as
  /// the test, and can be read and written through its address.
  uint64_t buffer(uint64_t bytes);
  template <class T> uint64_t buffer(const std::vector<T> &data) {
    const uint64_t address = buffer(data.size() * sizeof(T));
    memcpy(reinterpret_cast<void *>(address), data.data(), data.size() * sizeof(T));
    return address;
  }
  /// The same, ending at the end of a page: the first byte behind it faults.
  uint64_t bufferBeforeGuard(uint64_t bytes);
  /// Another address by which the GPU may access the page that begins at `buffer`, as registered host memory has one.
  uint64_t alias(uint64_t buffer);
  template <class T> static T *at(uint64_t address) { return reinterpret_cast<T *>(address); }
  template <class T> static T load(uint64_t address) {
    T value;
    memcpy(&value, reinterpret_cast<const void *>(address), sizeof value);
    return value;
  }

  /// Gives the wave scratch of `bytesPerLane`, and sets FLAT_SCRATCH to it as a kernel's prologue does.
  void scratch(uint32_t bytesPerLane);
  uint64_t scratchBase() const { return scratchBase_; }
  /// The V# of the scratch memory, as ROCr makes it for gfx9: swizzled by 64 lanes of 4 bytes.
  std::array<uint32_t, 4> scratchResource() const;
  uint64_t sharedAperture() const;
  uint64_t privateAperture() const;

  /// Where the snippet is placed.
  uint64_t codeAddress() const;

  /// Assembles and runs. False, with the reason, when it does not assemble, faults, or does not end.
  testing::AssertionResult run(std::string_view assembly);
  /// Runs machine code, which must end the wave. `onStart` sees the wave once its registers are set.
  using OnStart = std::function<void(Wave &, const Inst *)>;
  testing::AssertionResult runCode(std::span<const uint8_t> code, const OnStart &onStart = {});

  /// Checks waits in all further runs (vgpu/wave/waits.h).
  void strictWaits(bool on) { strictWaits_ = on; }
  /// Reports missing waits in all further runs, where they are not strict.
  void waitCheck(std::shared_ptr<const WaitCheck> check) { waitCheck_ = std::move(check); }
  /// Overwrites dead registers in all further runs (vgpu/wave/poison.h).
  void poison(std::shared_ptr<const Poison> poison) { poison_ = std::move(poison); }
  /// Traces all further runs into it.
  void trace(std::shared_ptr<Trace> trace) { trace_ = std::move(trace); }

  /// Why the last run ended early; Kind::None when it reached s_endpgm.
  const Fault &fault() const { return fault_; }

  /// Instructions that the last run executed, s_endpgm included.
  uint64_t executed() const { return executed_; }

private:
  struct Buffer {
    uint64_t address, bytes;
  };
  struct VectorFile {
    uint32_t v[512][kMaxLanes];
  };
  struct Snapshot;
  /// Runs one wave from the state of the test and leaves its last one there. What went wrong with that, faults apart.
  std::optional<std::string> execute(const Launch &launch, const OnStart &onStart, std::vector<OpcodeCount> *counts);
  /// `twice`: in threaded handlers first, which must leave the same behind.
  testing::AssertionResult runCode(std::span<const uint8_t> code, const OnStart &onStart, bool twice);

  const isa::Target &target_;
  const unsigned lanes_;
  std::unique_ptr<VectorFile> file_;
  uint32_t s_[128] = {};
  bool scc_ = false;
  uint32_t mode_ = kDefaultMode;
  std::vector<uint8_t> lds_;
  std::vector<Buffer> buffers_;
  uint32_t scratchPerLane_ = 0;
  uint64_t scratchBase_ = 0;
  std::shared_ptr<ScratchRing> ring_;
  bool strictWaits_ = false;
  std::shared_ptr<const WaitCheck> waitCheck_;
  std::shared_ptr<const Poison> poison_;
  std::shared_ptr<Trace> trace_;
  Fault fault_;
  uint64_t executed_ = 0;
};

} // namespace luthier::vgpu::test
