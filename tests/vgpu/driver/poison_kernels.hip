// Kernels whose values live across what makes liveness hard: divergence, loops, barriers, calls. All are launched with
// 128 work-items and the same arguments.
#define KERNEL __attribute__((global)) extern "C" void
#define LDS __attribute__((shared))
#define ID __builtin_amdgcn_workitem_id_x()
#define DEVICE __attribute__((device, noinline))

KERNEL straight(unsigned *out, const unsigned *in) { out[ID] = in[ID] * 3 + (in[ID + 128] ^ ID); }

// A value that only the lanes of the other side need lives through this one.
KERNEL divergent(unsigned *out, const unsigned *in) {
  unsigned a = in[ID] + 7, b = in[ID + 1] * 5, c;
  if (in[ID + 2] & 1)
    c = a * a + (in[ID + 64] >> 3);
  else
    c = b ^ (in[ID + 65] << 2);
  out[ID] = c + a - b;
}

KERNEL loops(unsigned *out, const unsigned *in, unsigned turns) {
  unsigned sum = in[ID], step = in[ID + 3];
  for (unsigned n = 0; n < (ID & 7) + turns; ++n) {
    if (sum & 4)
      sum = sum * step + n;
    else
      sum ^= in[(ID + n) & 127];
    if (sum % 11 == 3)
      break;
  }
  out[ID] = sum;
}

KERNEL exchange(unsigned *out, const unsigned *in) {
  LDS unsigned tile[128];
  const unsigned mine = in[ID] * 9;
  tile[ID] = mine;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[ID] = tile[127 - ID] + mine + __builtin_amdgcn_ds_bpermute((ID ^ 5) << 2, mine);
}

DEVICE unsigned mix(unsigned a, unsigned b) {
  for (unsigned n = 0; n < (b & 3); ++n)
    a = a * 33 + n;
  return a ^ b;
}

KERNEL calls(unsigned *out, const unsigned *in) {
  const unsigned kept = in[ID + 9];
  out[ID] = mix(in[ID], ID) + kept * mix(kept, 3);
}

KERNEL doubles(double *out, const unsigned *in) {
  double x = in[ID] * 0.5, y = in[ID + 1] + 1.0;
  out[ID] = x / y > 1 ? x * y : x - y;
}
