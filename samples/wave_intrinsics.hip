// What the lanes of one wave can do together: shuffles, votes, DPP moves and a DPP scan, LDS swizzles, lane reads and
// writes; and the bit intrinsics. Each row of the output is one intrinsic; the host computes the same row lane by lane.
// Wave64 only.
#include "sample.h"

#include <functional>

constexpr int Lanes = 64;

enum Row {
  Shuffle,
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  ShuffleWidth,
  ShuffleDouble,
  Ballot,
  BallotDivergent,
  AnyAll,
  LaneId,
  DppQuadPerm,
  DppRowShiftRight,
  DppRowShiftLeftZero,
  DppRowRotate,
  DppRowMirror,
  DppHalfMirror,
  DppWaveShiftRight,
  DppWaveRotateLeft,
  DppDivergent,
  DppScan,
  Swizzle,
  Permute,
  ReadLane,
  ReadFirstLane,
  WriteLane,
  Popcount,
  LeadingZeros,
  FirstSet,
  BitReverse,
  HighProduct,
  Product24,
  BytePermute,
  AbsoluteDifferences,
  Rows
};

// DPP control codes of GFX9 (quad_perm, row_shl, ... in assembly).
constexpr int QuadPerm3210 = 0x1b, RowShl4 = 0x104, RowRor3 = 0x123, WaveRol1 = 0x134, WaveShr1 = 0x138,
              RowMirror = 0x140, RowHalfMirror = 0x141, RowBroadcast15 = 0x142, RowBroadcast31 = 0x143;
constexpr int rowShr(int n) { return 0x110 + n; }

// Lanes without a source keep `old`, or get 0 when ZeroFill.
template <int Control, int RowMask = 0xf, bool ZeroFill = false> __device__ int dpp(int old, int value) {
#if defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX9__)
  // Later GPUs do not move lanes across rows. They skip this sample, but it must compile.
  if constexpr (Control >= 0x130 && Control != RowMirror && Control != RowHalfMirror)
    return old;
  else
#endif
    return __builtin_amdgcn_update_dpp(old, value, Control, RowMask, 0xf, ZeroFill);
}

__device__ int inclusiveScan(int value) {
  value += dpp<rowShr(1)>(0, value);
  value += dpp<rowShr(2)>(0, value);
  value += dpp<rowShr(4)>(0, value);
  value += dpp<rowShr(8)>(0, value);
  value += dpp<RowBroadcast15, 0xa>(0, value);
  value += dpp<RowBroadcast31, 0xc>(0, value);
  return value;
}

// clang-15 has no builtin for this one; the LLVM intrinsic is called by its name.
extern "C" __device__ int writeLane(int value, int lane, int old) __asm("llvm.amdgcn.writelane");

__global__ void useIntrinsics(const int *in, uint64_t (*out)[Lanes]) {
  int lane = threadIdx.x;
  int v = in[lane];
  unsigned u = v, next = in[(lane + 1) % Lanes];
  auto put = [&](Row row, uint64_t value) { out[row][lane] = value; };

  put(Shuffle, unsigned(__shfl(v, lane * 7 % Lanes)));
  put(ShuffleUp, unsigned(__shfl_up(v, 5)));
  put(ShuffleDown, unsigned(__shfl_down(v, 9)));
  put(ShuffleXor, unsigned(__shfl_xor(v, 33)));
  put(ShuffleWidth, unsigned(__shfl_up(v, 3, 16)));
  put(ShuffleDouble, uint64_t(int64_t(__shfl_xor(double(v), 21) * 2)));
  put(Ballot, __ballot(v & 1));
  put(BallotDivergent, 0);
  put(DppDivergent, 0);
  put(ReadFirstLane, 0);
  if (lane % 3 == 1) {
    put(BallotDivergent, __ballot(v & 2));
    put(DppDivergent, unsigned(dpp<rowShr(1)>(lane, v)) ^ unsigned(dpp<rowShr(3)>(lane, v)));
    put(ReadFirstLane, unsigned(__builtin_amdgcn_readfirstlane(v)));
  }
  put(AnyAll, __any(v == in[17]) * 8 + __all(v == in[17]) * 4 + __any(lane == 64) * 2 + __all(lane < 64));
  put(LaneId, __lane_id());

  put(DppQuadPerm, unsigned(dpp<QuadPerm3210>(0, v)));
  put(DppRowShiftRight, unsigned(dpp<rowShr(2)>(lane, v)));
  put(DppRowShiftLeftZero, unsigned(dpp<RowShl4, 0xf, true>(lane, v)));
  put(DppRowRotate, unsigned(dpp<RowRor3>(0, v)));
  put(DppRowMirror, unsigned(dpp<RowMirror>(0, v)));
  put(DppHalfMirror, unsigned(dpp<RowHalfMirror>(0, v)));
  put(DppWaveShiftRight, unsigned(dpp<WaveShr1>(-1, v)));
  put(DppWaveRotateLeft, unsigned(dpp<WaveRol1>(0, v)));
  put(DppScan, unsigned(inclusiveScan(v)));
  put(Swizzle, __hip_ds_swizzle(u, 0x401f)); // swap halves of each group of 32
  put(Permute, __hip_ds_permute((lane * 5 % Lanes) * 4, u));
  put(ReadLane, unsigned(__builtin_amdgcn_readlane(v, __builtin_amdgcn_readfirstlane(v) & 63)));
  put(WriteLane, unsigned(writeLane(-7, 40, v)));

  put(Popcount, __popc(u) * 100 + __popcll(uint64_t(u) << 20 | u));
  put(LeadingZeros, __clz(v >> (lane % 32)) * 100 + __clzll(uint64_t(u) >> (lane % 32)));
  put(FirstSet, __ffs(u << (lane % 32)) * 100 + __ffsll((long long)(uint64_t(u) << (lane % 32))));
  put(BitReverse, __brevll(uint64_t(next) << 32 | u) + __brev(u));
  put(HighProduct, uint64_t(__umulhi(u, next)) << 32 | unsigned(__mulhi(v, int(next))));
  put(Product24, unsigned(__mul24(v, int(next))));
  put(BytePermute, __byte_perm(u, next, 0x5240));
  put(AbsoluteDifferences, __builtin_amdgcn_sad_u8(u, next, 1000));
}

int rowLane(int lane, int inRow) { return lane / 16 * 16 + inRow; }

unsigned reverseBits(unsigned value) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit)
    reversed |= (value >> bit & 1) << (31 - bit);
  return reversed;
}

int main() {
  hipDeviceProp_t properties;
  HIP_CHECK(hipGetDeviceProperties(&properties, 0));
  if (properties.warpSize != Lanes)
    sample::skip("needs waves of 64 lanes");
  sample::Random random;
  std::vector<int> in(Lanes);
  for (int &value : in)
    value = int(random.bits());

  sample::DeviceArray<int> deviceIn(in);
  sample::DeviceArray<uint64_t> deviceOut(Rows * Lanes);
  useIntrinsics<<<1, Lanes>>>(deviceIn.data(), reinterpret_cast<uint64_t(*)[Lanes]>(deviceOut.data()));
  HIP_CHECK(hipGetLastError());
  std::vector<uint64_t> out = deviceOut.toHost();

  int checked = 0;
  auto expect = [&](const char *what, Row row, const std::function<uint64_t(int)> &expectedOf) {
    for (int lane = 0; lane < Lanes; ++lane)
      if (uint64_t got = out[row * Lanes + lane], expected = expectedOf(lane); got != expected)
        sample::fail("%s: lane %d got %#lx, expected %#lx", what, lane, got, expected);
    ++checked;
  };
  auto u = [&](int lane) { return unsigned(in[lane]); };
  auto next = [&](int lane) { return unsigned(in[(lane + 1) % Lanes]); };
  auto ballot = [&](const std::function<bool(int)> &vote) {
    uint64_t mask = 0;
    for (int lane = 0; lane < Lanes; ++lane)
      mask |= uint64_t(vote(lane)) << lane;
    return mask;
  };

  expect("__shfl", Shuffle, [&](int l) { return u(l * 7 % Lanes); });
  expect("__shfl_up", ShuffleUp, [&](int l) { return u(l < 5 ? l : l - 5); });
  expect("__shfl_down", ShuffleDown, [&](int l) { return u(l + 9 >= Lanes ? l : l + 9); });
  expect("__shfl_xor", ShuffleXor, [&](int l) { return u(l ^ 33); });
  expect("__shfl_up of width 16", ShuffleWidth, [&](int l) { return u(l % 16 < 3 ? l : l - 3); });
  expect("__shfl_xor of double", ShuffleDouble, [&](int l) { return uint64_t(int64_t(in[l ^ 21]) * 2); });
  expect("__ballot", Ballot, [&](int) { return ballot([&](int l) { return in[l] & 1; }); });
  expect("__ballot of some lanes", BallotDivergent,
         [&](int l) { return l % 3 == 1 ? ballot([&](int o) { return o % 3 == 1 && (in[o] & 2); }) : 0; });
  expect("__any and __all", AnyAll, [&](int) { return 8 + 1; });
  expect("__lane_id", LaneId, [&](int l) { return l; });

  expect("quad_perm", DppQuadPerm, [&](int l) { return u(l ^ 3); });
  expect("row_shr", DppRowShiftRight, [&](int l) { return l % 16 < 2 ? l : u(l - 2); });
  expect("row_shl with zero fill", DppRowShiftLeftZero, [&](int l) { return l % 16 >= 12 ? 0 : u(l + 4); });
  expect("row_ror", DppRowRotate, [&](int l) { return u(rowLane(l, (l + 13) % 16)); });
  expect("row_mirror", DppRowMirror, [&](int l) { return u(l ^ 15); });
  expect("row_half_mirror", DppHalfMirror, [&](int l) { return u(l ^ 7); });
  expect("wave_shr", DppWaveShiftRight, [&](int l) { return l == 0 ? ~0u : u(l - 1); });
  expect("wave_rol", DppWaveRotateLeft, [&](int l) { return next(l); });
  // The lane before an active lane is inactive, so it keeps its old value; the third before is active.
  expect("row_shr among some lanes", DppDivergent,
         [&](int l) { return l % 3 != 1 ? 0 : unsigned(l) ^ (l % 16 < 3 ? unsigned(l) : u(l - 3)); });
  expect("scan by DPP", DppScan, [&](int l) {
    unsigned sum = 0;
    for (int other = 0; other <= l; ++other)
      sum += u(other);
    return sum;
  });
  expect("ds_swizzle", Swizzle, [&](int l) { return u(l ^ 16); });
  // Lane l pushes to lane 5l, so lane l receives from 13l: 13 is the inverse of 5 modulo 64.
  expect("ds_permute", Permute, [&](int l) { return u(l * 13 % Lanes); });
  expect("readlane", ReadLane, [&](int) { return u(in[0] & 63); });
  expect("readfirstlane among some lanes", ReadFirstLane, [&](int l) { return l % 3 == 1 ? u(1) : 0; });
  expect("writelane", WriteLane, [&](int l) { return l == 40 ? unsigned(-7) : u(l); });

  expect("__popc", Popcount,
         [&](int l) { return __builtin_popcount(u(l)) * 100 + __builtin_popcountll(uint64_t(u(l)) << 20 | u(l)); });
  expect("__clz", LeadingZeros, [&](int l) {
    unsigned word = in[l] >> (l % 32);
    uint64_t wide = uint64_t(u(l)) >> (l % 32);
    return (word ? __builtin_clz(word) : 32) * 100 + (wide ? __builtin_clzll(wide) : 64);
  });
  expect("__ffs", FirstSet, [&](int l) {
    return __builtin_ffs(int(u(l) << (l % 32))) * 100 + __builtin_ffsll(int64_t(uint64_t(u(l)) << (l % 32)));
  });
  expect("__brev", BitReverse,
         [&](int l) { return (uint64_t(reverseBits(u(l))) << 32 | reverseBits(next(l))) + reverseBits(u(l)); });
  expect("__umulhi and __mulhi", HighProduct, [&](int l) {
    uint64_t high = uint64_t(u(l)) * next(l) >> 32;
    return high << 32 | unsigned(int64_t(in[l]) * int(next(l)) >> 32);
  });
  expect("__mul24", Product24, [&](int l) { return unsigned(int64_t(in[l] << 8 >> 8) * (int(next(l)) << 8 >> 8)); });
  expect("__byte_perm", BytePermute, [&](int l) {
    uint64_t bytes = uint64_t(next(l)) << 32 | u(l);
    unsigned result = 0;
    for (int byte = 0; byte < 4; ++byte)
      result |= unsigned(bytes >> (0x5240 >> 4 * byte & 7) * 8 & 0xff) << byte * 8;
    return result;
  });
  expect("sad_u8", AbsoluteDifferences, [&](int l) {
    unsigned sum = 1000;
    for (int byte = 0; byte < 32; byte += 8)
      sum += std::abs(int(u(l) >> byte & 0xff) - int(next(l) >> byte & 0xff));
    return sum;
  });
  if (checked != Rows)
    sample::fail("%d of %d intrinsics were checked", checked, int(Rows));
  std::printf("%d intrinsics agree with the host in all %d lanes\n", checked, Lanes);
  return sample::pass();
}
