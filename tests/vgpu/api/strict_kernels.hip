// Kernels whose waits protect values: of global memory, LDS, scalar memory, atomics, and generic pointers.
#define KERNEL __attribute__((global)) extern "C" void
#define LDS __attribute__((shared))
#define ID __builtin_amdgcn_workitem_id_x()

KERNEL saxpy(float *y, const float *x, float a) { y[ID] = a * x[ID] + y[ID]; }

KERNEL stencil(float *out, const float *in) {
  float sum = 0;
#pragma unroll
  for (int n = 0; n < 8; ++n)
    sum = sum * 0.5f + in[ID + n * 64];
  out[ID] = sum;
}

KERNEL reverse(unsigned *out, const unsigned *in) {
  LDS unsigned tile[128];
  tile[ID] = in[ID];
  tile[ID + 64] = in[ID] * 3;
  __builtin_amdgcn_s_barrier();
  out[ID] = tile[63 - ID] + tile[127 - ID] * tile[ID ^ 1];
}

KERNEL chase(unsigned *out, const unsigned *next, unsigned steps) {
  unsigned at = ID;
  for (unsigned n = 0; n < steps; ++n)
    at = next[at];
  out[ID] = at;
}

KERNEL uniform(unsigned *out, const unsigned *table, unsigned first) {
  unsigned a = table[first], b = table[a & 15];
  out[ID] = a * ID + b;
}

KERNEL ticket(unsigned *out, unsigned *counter) {
  unsigned mine = __atomic_fetch_add(counter + (ID & 3), ID, __ATOMIC_RELAXED);
  out[ID] = mine ^ ID;
}

KERNEL generic(unsigned *out, const unsigned *in, unsigned which) {
  LDS unsigned tile[64];
  tile[ID] = in[ID] + 1;
  __builtin_amdgcn_s_barrier();
  const unsigned *from = which ? (const unsigned *)tile : in;
  asm volatile("" : "+v"(from));
  out[ID] = from[63 - ID];
}
