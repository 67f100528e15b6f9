// What device code of a tool is written with: hooks, the tool's variables, and what a hook can ask.
//
//   #include <luthier/hook.h>
//
//   LUTHIER_DEVICE uint64_t executed;               // one in device memory
//   LUTHIER_PER_WAVE uint64_t seen;                 // one per wave, in registers, 0 when the wave starts
//
//   LUTHIER_HOOK(wave) void count(uint32_t n) { seen += n; }
//   LUTHIER_HOOK(wave) void flush() { luthier::atomicAdd(executed, seen); }
//   LUTHIER_HOOK(lane) void watch(uint64_t address) { if (address % 4) luthier::atomicAdd(executed, 1); }
//
// Compiled to bitcode that belongs to no GPU target (docs/hooks.md; in CMake: luthier_hook_bitcode):
//
//   clang++-19 -x hip --cuda-device-only -nogpulib -nogpuinc --no-gpu-bundle-output --offload-arch=gfx900 -O2
//     -Xclang -disable-llvm-passes -emit-llvm -c hooks.hip -o hooks.bc
//
// HIP's headers are not needed, and may be included before or after. A hook becomes straight code inside the kernel:
// calls are inlined, what recurs becomes a loop, and local variables that do not fit into registers are in scratch
// beside the kernel's own. LUTHIER_LDS is its only LDS. What cannot be is refused by name.
// luthier/hostcall.h, included after this, is for hooks that print, or check what they expect.
#pragma once

#include <stdint.h>

#ifndef __device__
#define __device__ __attribute__((device))
#endif
#ifndef __constant__
#define __constant__ __attribute__((constant))
#endif

/// A hook. `lane`: runs for the lanes that are active at the point. `wave`: runs once per wave, by one lane, even where
/// no lane is active; its parameters and everything it reads are of the wave, not of a lane.
/// Parameters are numbers, pointers and structures; what they are bound to is said where the hook is inserted.
#define LUTHIER_HOOK(kind) __attribute__((device, used, annotate("luthier:hook:" #kind)))

/// A function that calls itself, directly or through others, says how many of its calls are active at a time at most (a
/// number; where several call each other, the largest counts). One more stops the kernel with a trap.
#define LUTHIER_RECURSION(depth) __attribute__((annotate("luthier:recursion:" #depth)))

/// Variables of the tool. A plain __device__ variable is LUTHIER_DEVICE.
#define LUTHIER_DEVICE __attribute__((device, used, annotate("luthier:variable:device")))
/// One copy for each launch of an instrumented kernel.
#define LUTHIER_PER_LAUNCH __attribute__((device, used, annotate("luthier:variable:per_launch")))
/// One copy for each wave, in scalar registers: no memory access. Shared by the hooks of that wave. Starts as zero and
/// takes no initializer; at most 64 bytes. Only wave hooks may write it.
#define LUTHIER_PER_WAVE __attribute__((device, used, annotate("luthier:variable:per_wave")))
/// One copy for each lane of each wave, in vector registers: no memory access. Shared by the hooks of that wave. Starts
/// as zero in all lanes and takes no initializer; at most 64 bytes. Lane hooks alone read and write it, each active
/// lane its own.
#define LUTHIER_PER_LANE __attribute__((device, used, annotate("luthier:variable:per_lane")))

/// One copy for each workgroup, in LDS behind the kernel's own: shared by the hooks of that workgroup's waves. Starts
/// as zero and takes no initializer. The kernel has that much less LDS left; where it needs that, hooks are refused.
#define LUTHIER_LDS __attribute__((shared, used, annotate("luthier:variable:lds")))
/// One copy for each workgroup, in device memory, which the host can read when the launch has finished. Starts as zero
/// and takes no initializer.
#define LUTHIER_PER_WORKGROUP __attribute__((device, used, annotate("luthier:variable:per_workgroup")))

/// One copy for each place where a hook that uses it is inserted, in device memory. Costs what LUTHIER_DEVICE costs;
/// Tool::read gives the copies with their instructions.
#define LUTHIER_PER_SITE __attribute__((device, used, annotate("luthier:variable:per_site")))

#define LUTHIER_INLINE_ __attribute__((device, always_inline)) static inline

// What the compiler of fragments provides; call the functions below instead.
extern "C" {
__device__ uint32_t __luthier_read_reg(uint32_t reg);
__device__ void __luthier_write_reg(uint32_t reg, uint32_t value);
__device__ uint32_t __luthier_launch32(uint32_t value);
__device__ uint64_t __luthier_launch64(uint32_t value);
__device__ uint64_t __luthier_exec();
__device__ uint64_t __luthier_active_lanes();
__device__ uint32_t __luthier_permute_lanes();
__device__ uint32_t __luthier_wave_size();
__device__ uint32_t __luthier_hardware_id();
}

namespace luthier {

// Lanes.

/// 32 or 64, as the instrumented kernel is compiled.
LUTHIER_INLINE_ uint32_t waveSize() { return __luthier_wave_size(); }
/// This lane's number in its wave. Of no use in a wave hook.
LUTHIER_INLINE_ uint32_t laneId() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
/// The lanes that are active: here in a lane hook, at the point of insertion in a wave hook. In a lane hook that is
/// fewer inside of a branch; activeLanes() is not.
LUTHIER_INLINE_ uint64_t exec() { return __luthier_exec(); }
/// The lanes that are active at the point of insertion, wherever in the hook this is asked.
LUTHIER_INLINE_ uint64_t activeLanes() { return __luthier_active_lanes(); }
/// The active lanes of a lane hook for which `condition` holds.
LUTHIER_INLINE_ uint64_t ballot(bool condition) { return __builtin_amdgcn_ballot_w64(condition); }
/// Whether `condition` holds for any, or for all, of the lanes of a lane hook that are active here.
LUTHIER_INLINE_ bool any(bool condition) { return ballot(condition) != 0; }
LUTHIER_INLINE_ bool all(bool condition) { return ballot(!condition) == 0; }

// Lanes exchange 32 bits at a time.
template <class T> struct Words_ {
  static_assert(sizeof(T) <= 8, "lanes exchange values of up to 64 bits");
  uint32_t low = 0, high = 0;
  __device__ explicit Words_(T value) {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    low = static_cast<uint32_t>(bits);
    high = static_cast<uint32_t>(bits >> 32);
  }
  __device__ T value() const {
    const uint64_t bits = low | static_cast<uint64_t>(high) << 32;
    T result;
    __builtin_memcpy(&result, &bits, sizeof result);
    return result;
  }
  template <class Move> __device__ T moved(Move move) {
    low = move(low);
    if (sizeof(T) > 4)
      high = move(high);
    return value();
  }
};
/// The value of the first active lane. These take any type of up to 64 bits.
template <class T> LUTHIER_INLINE_ T readFirstLane(T value) {
  return Words_<T>(value).moved(
      [](uint32_t word) { return static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(word))); });
}
/// The value of a lane, the same one for all lanes: `lane` is the first active lane's.
template <class T> LUTHIER_INLINE_ T readLane(T value, uint32_t lane) {
  return Words_<T>(value).moved([lane](uint32_t word) {
    return static_cast<uint32_t>(__builtin_amdgcn_readlane(static_cast<int>(word), static_cast<int>(lane)));
  });
}
/// The value of lane `lane`, which each lane chooses for itself; it counts modulo waveSize(). What an inactive lane has
/// means nothing.
template <class T> LUTHIER_INLINE_ T shuffle(T value, uint32_t lane) {
  lane &= waveSize() - 1;
  if (__luthier_permute_lanes() >= waveSize())
    return Words_<T>(value).moved([lane](uint32_t word) {
      return static_cast<uint32_t>(__builtin_amdgcn_ds_bpermute(static_cast<int>(lane << 2), static_cast<int>(word)));
    });
  T result{};
  for (bool done = false; !done;) { // once per lane that is read from
    const uint32_t from = readFirstLane(lane);
    const T moved = readLane(value, from);
    if (lane == from) {
      result = moved;
      done = true;
    }
  }
  return result;
}
/// The active lanes that have the same value, to the bit, as this one.
template <class T> LUTHIER_INLINE_ uint64_t match(T value) {
  const Words_<T> mine(value);
  uint64_t result = 0;
  for (bool done = false; !done;) { // once per value
    const uint32_t low = readFirstLane(mine.low), high = sizeof(T) > 4 ? readFirstLane(mine.high) : 0;
    const bool same = mine.low == low && mine.high == high;
    const uint64_t lanes = ballot(same);
    if (same) {
      result = lanes;
      done = true;
    }
  }
  return result;
}
/// Whether this is the first active lane.
LUTHIER_INLINE_ bool isFirstLane() { return laneId() == readFirstLane(laneId()); }
LUTHIER_INLINE_ uint32_t popcount(uint64_t bits) { return static_cast<uint32_t>(__builtin_popcountll(bits)); }

// Clocks.

/// Counts cycles of the shader clock. On gfx11 only 20 bits of it exist.
LUTHIER_INLINE_ uint64_t clock() { return __builtin_readcyclecounter(); }
/// Counts at a constant rate (100 MHz on most GPUs), the same for all waves of the GPU.
LUTHIER_INLINE_ uint64_t realTime() { return __builtin_readsteadycounter(); }

// Where the wave runs.

/// The bits of hardware register HW_ID (HW_ID1 from gfx10 on): wave slot, SIMD, compute unit, shader array and engine,
/// as the target's manual lays them out.
LUTHIER_INLINE_ uint32_t hardwareWaveId() { return __luthier_hardware_id(); }

// Atomics on device memory and LUTHIER_LDS: relaxed, for all waves of the GPU. Types of 32 and 64 bits. They return the
// old value; one that nobody looks at costs no wait.

#define LUTHIER_GLOBAL_(T) __attribute__((address_space(1))) T *
template <class T> struct SameType_ {
  using type = T;
};
template <class T> LUTHIER_INLINE_ T atomicAdd(T &variable, typename SameType_<T>::type value) {
  return __hip_atomic_fetch_add((LUTHIER_GLOBAL_(T))(&variable), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> LUTHIER_INLINE_ T atomicMin(T &variable, typename SameType_<T>::type value) {
  return __hip_atomic_fetch_min((LUTHIER_GLOBAL_(T))(&variable), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> LUTHIER_INLINE_ T atomicMax(T &variable, typename SameType_<T>::type value) {
  return __hip_atomic_fetch_max((LUTHIER_GLOBAL_(T))(&variable), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> LUTHIER_INLINE_ T atomicOr(T &variable, typename SameType_<T>::type value) {
  return __hip_atomic_fetch_or((LUTHIER_GLOBAL_(T))(&variable), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> LUTHIER_INLINE_ T atomicAnd(T &variable, typename SameType_<T>::type value) {
  return __hip_atomic_fetch_and((LUTHIER_GLOBAL_(T))(&variable), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> LUTHIER_INLINE_ T atomicExchange(T &variable, typename SameType_<T>::type value) {
  return __hip_atomic_exchange((LUTHIER_GLOBAL_(T))(&variable), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
/// Stores `value` if the variable is `expected`. Returns what it was.
template <class T>
LUTHIER_INLINE_ T atomicCompareExchange(T &variable, typename SameType_<T>::type expected,
                                        typename SameType_<T>::type value) {
  __hip_atomic_compare_exchange_strong((LUTHIER_GLOBAL_(T))(&variable), &expected, value, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}
template <class T> LUTHIER_INLINE_ T atomicLoad(const T &variable) {
  return __hip_atomic_load((LUTHIER_GLOBAL_(const T))(&variable), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> LUTHIER_INLINE_ void atomicStore(T &variable, typename SameType_<T>::type value) {
  __hip_atomic_store((LUTHIER_GLOBAL_(T))(&variable), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
#undef LUTHIER_GLOBAL_

// Registers of the instrumented kernel at the point of insertion. What is written is in the register when the kernel
// goes on; a lane hook writes vector registers of its active lanes. Scalar registers can be written by wave hooks only,
// vector registers be read and written by lane hooks only.

namespace reg {
constexpr uint32_t vccLo = 106, vccHi = 107, m0 = 124, execLo = 126, execHi = 127, scc = 128, v0 = 256, a0 = 512;
}
/// By the number that luthier/reg.h gives it: s0 is 0, v0 is 256, a0 is 512.
template <uint32_t Reg> LUTHIER_INLINE_ uint32_t readReg() { return __luthier_read_reg(Reg); }
template <uint32_t Reg> LUTHIER_INLINE_ void writeReg(uint32_t value) { __luthier_write_reg(Reg, value); }
template <uint32_t N> LUTHIER_INLINE_ uint32_t readSgpr() {
  static_assert(N < 106, "there are s0 to s105");
  return __luthier_read_reg(N);
}
template <uint32_t N> LUTHIER_INLINE_ void writeSgpr(uint32_t value) {
  static_assert(N < 106, "there are s0 to s105");
  __luthier_write_reg(N, value);
}
template <uint32_t N> LUTHIER_INLINE_ uint32_t readVgpr() {
  static_assert(N < 256, "there are v0 to v255");
  return __luthier_read_reg(reg::v0 + N);
}
template <uint32_t N> LUTHIER_INLINE_ void writeVgpr(uint32_t value) {
  static_assert(N < 256, "there are v0 to v255");
  __luthier_write_reg(reg::v0 + N, value);
}
template <uint32_t N> LUTHIER_INLINE_ uint32_t readAccVgpr() {
  static_assert(N < 256, "there are a0 to a255");
  return __luthier_read_reg(reg::a0 + N);
}
template <uint32_t N> LUTHIER_INLINE_ void writeAccVgpr(uint32_t value) {
  static_assert(N < 256, "there are a0 to a255");
  __luthier_write_reg(reg::a0 + N, value);
}

// Values of the launch, wherever in the kernel the hook is. `dimension` must be a constant 0, 1 or 2.

LUTHIER_INLINE_ uint32_t workgroupId(uint32_t dimension = 0) {
  return dimension == 0 ? __luthier_launch32(0) : dimension == 1 ? __luthier_launch32(1) : __luthier_launch32(2);
}
/// Lane hooks only.
LUTHIER_INLINE_ uint32_t workitemId(uint32_t dimension = 0) {
  return dimension == 0 ? __luthier_launch32(3) : dimension == 1 ? __luthier_launch32(4) : __luthier_launch32(5);
}
/// The packet that started the kernel (hsa_kernel_dispatch_packet_t).
LUTHIER_INLINE_ const void *dispatchPtr() { return reinterpret_cast<const void *>(__luthier_launch64(6)); }
/// The queue it came from (amd_queue_t).
LUTHIER_INLINE_ const void *queuePtr() { return reinterpret_cast<const void *>(__luthier_launch64(7)); }
/// The kernel's arguments.
LUTHIER_INLINE_ const void *kernargPtr() { return reinterpret_cast<const void *>(__luthier_launch64(8)); }
/// The number of the packet in its queue.
LUTHIER_INLINE_ uint64_t dispatchId() { return __luthier_launch64(9); }
/// The hostcall buffer that Luthier serves for this queue (luthier/hostcall.h).
LUTHIER_INLINE_ const void *hostcallBuffer() { return reinterpret_cast<const void *>(__luthier_launch64(10)); }
/// What Launch::number says on the host.
LUTHIER_INLINE_ uint64_t launchNumber() { return __luthier_launch64(11); }

} // namespace luthier

#undef LUTHIER_INLINE_

// What luthier/hostcall.h, included after this, calls when no buffer is named.
#ifdef LUTHIER_HOSTCALL_DEVICE
#error "luthier/hook.h must be included before luthier/hostcall.h"
#endif
#define LUTHIER_HOSTCALL_IN_HOOKS
#ifndef LUTHIER_HOSTCALL_BUFFER
#define LUTHIER_HOSTCALL_BUFFER ::luthier::hostcallBuffer()
#endif
