// What compilers make of the same source for every generation: loads in groups, LDS and barriers, atomics, lanes that
// part, lanes that look at each other, and arithmetic that is a sequence of instructions with masks in between. All
// take two pointers, out and in, and run in workgroups of 64.
using uint = unsigned int;
using ulong = unsigned long;
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define LDS __attribute__((shared))

DEVICE uint item() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE uint group() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE uint lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

KERNEL manyLoads(uint *out, uint *in) {
  const uint n = group() * 64 + item();
  uint sum = 0;
#pragma unroll
  for (uint i = 0; i < 24; ++i)
    sum = sum * 3 + in[n + 64 * i];
  out[n] = sum;
  out[n + 1024] = sum ^ in[n];
}

KERNEL scan(uint *out, uint *in) {
  LDS static uint sums[64];
  const uint n = item();
  sums[n] = in[group() * 64 + n];
  for (uint step = 1; step < 64; step *= 2) {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    const uint add = n >= step ? sums[n - step] : 0;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    sums[n] += add;
  }
  out[group() * 64 + n] = sums[n];
}

/// LDS that the launch adds behind the kernel's own, of 64 words or more.
extern LDS uint dynamic[];
KERNEL dynamicLds(uint *out, uint *in) {
  LDS static uint first[64];
  const uint n = item();
  first[n & 63] = n & 63;
  dynamic[n] = in[group() * 64 + n];
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  out[group() * 256 + n] = dynamic[n ^ 31] + first[n & 63];
}

KERNEL atomics(uint *out, uint *in) {
  const uint n = group() * 64 + item();
  __hip_atomic_fetch_add(&out[in[n] & 31], in[n], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  uint expected = in[n];
  __hip_atomic_compare_exchange_strong(&in[n], &expected, expected * 3, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  out[n + 64] = expected + __hip_atomic_fetch_max(&in[n], 1u << 20, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL collatz(uint *out, uint *in) {
  const uint n = group() * 64 + item();
  uint x = in[n] % 1000 + 1, steps = 0;
  while (x != 1) {
    x = x & 1 ? 3 * x + 1 : x / 2;
    if (++steps > 60)
      break;
  }
  out[n] = steps | x << 8;
}

KERNEL crossLane(uint *out, uint *in) {
  const uint n = group() * 64 + item();
  uint x = in[n];
  x += static_cast<uint>(__builtin_amdgcn_ds_bpermute(static_cast<int>((lane() ^ 5) * 4), static_cast<int>(x)));
  x ^= static_cast<uint>(__builtin_amdgcn_ds_swizzle(static_cast<int>(x), 0x041f));
  x += static_cast<uint>(__builtin_amdgcn_update_dpp(7, static_cast<int>(x), 0x111, 0xf, 0xf, false)); // row_shr:1
  if (x & 4)
    x += static_cast<uint>(__builtin_amdgcn_readfirstlane(static_cast<int>(x)));
  const bool odd = x & 1;
  uint count = 0;
  for (uint i = 0; i < 4; ++i)
    count += static_cast<uint>(__builtin_amdgcn_readlane(static_cast<int>(odd), static_cast<int>(i * 7)));
  out[n] = x + count;
}

KERNEL floats(float *out, uint *in) {
  const uint n = group() * 64 + item();
  const float a = static_cast<float>(in[n] & 0xffff) + 0.5f, b = static_cast<float>(in[n] >> 16) + 0.25f;
  const double c = static_cast<double>(a) / (b + 3.0) + __builtin_sqrt(static_cast<double>(b));
  out[n] = a / b + __builtin_sqrtf(a) * b;
  out[n + 1024] = static_cast<float>(c);
  const _Float16 h = static_cast<_Float16>(a / 100000), k = static_cast<_Float16>(b / 100000);
  out[n + 2048] = static_cast<float>(h * k + h) + static_cast<float>(h > k ? h : k);
}

KERNEL wide(ulong *out, ulong *in) {
  const uint n = group() * 64 + item();
  const ulong a = in[n], b = in[n + 64];
  out[n] = a * b + (a << (b & 63));
  out[n + 1024] = a / (b % 1000 + 1);
}

DEVICE __attribute__((noinline)) uint helper(uint x, uint y) { return x % (y + 3) + (x ^ y); }
KERNEL calls(uint *out, uint *in) {
  const uint n = group() * 64 + item();
  uint x = in[n];
  for (uint i = 0; i < 4; ++i)
    x = helper(x, in[n + i]) + i;
  out[n] = x;
}

KERNEL bytes(unsigned char *out, unsigned short *in) {
  const uint n = group() * 64 + item();
  unsigned short sum = 0;
#pragma unroll
  for (uint i = 0; i < 8; ++i)
    sum = static_cast<unsigned short>(sum * 5 + in[n * 3 + i]);
  out[n] = static_cast<unsigned char>(sum >> 3);
  out[n + 4096] = static_cast<unsigned char>(sum);
}

// Ten arguments, of which a wave may be given all in SGPRs.
KERNEL manyArguments(uint *out, uint *in, uint a, uint b, uint c, uint d, ulong e, ulong f) {
  const uint n = group() * 64 + item();
  out[n] = in[n] * a + (b ^ n) + c * d + static_cast<uint>(e >> 7) + static_cast<uint>(f);
}
