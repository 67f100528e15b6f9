// Element-wise kernels, as compilers write them: straight code that can be translated to the end. Each reads `in`,
// writes `out`, and has a bounds check.
#define GLOBAL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256)))
#define DEVICE static __attribute__((device))

DEVICE unsigned globalId() { return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); }

GLOBAL void integers(const unsigned *in, unsigned *out, unsigned n) {
  const unsigned i = globalId();
  if (i >= n)
    return;
  const unsigned x = in[i];
  out[i] = (x * 0x9e3779b9u ^ x >> 15) + (x << 7 | x >> 25) - __builtin_popcount(x) + (x > 1000 ? x & 0xff00ff : ~x);
}

GLOBAL void floats(const float *in, float *out, unsigned n) {
  const unsigned i = globalId();
  if (i >= n)
    return;
  const float x = in[i], y = __builtin_fmaf(x, 1.5f, 0.25f);
  out[i] = __builtin_fmaf(x * y, y, x) + (float)(int)i + __builtin_floorf(y) * 0.5f;
}

GLOBAL void doubles(const float *in, double *out, unsigned n) {
  const unsigned i = globalId();
  if (i >= n)
    return;
  const double x = in[i];
  out[i] = __builtin_fma(x, x, 3.0) + (double)i * x;
}

GLOBAL void longs(const unsigned *in, unsigned long *out, unsigned n) {
  const unsigned i = globalId();
  if (i >= n)
    return;
  const unsigned long x = (unsigned long)in[i] << 17 | i;
  out[i] = x * 0x123456789abcdefull + (x >> 9);
}

GLOBAL void bytes(const unsigned char *in, unsigned char *out, unsigned n) {
  const unsigned i = globalId();
  if (i < n)
    out[i] = in[i] * 3 + 1;
}

typedef unsigned Uint4 __attribute__((ext_vector_type(4)));
GLOBAL void vectors(const Uint4 *in, Uint4 *out, unsigned n) {
  const unsigned i = globalId();
  if (i < n)
    out[i] = in[i].wzyx * 3 + in[i];
}

// Two grid dimensions, no bounds check.
GLOBAL void plane(unsigned *out, unsigned width) {
  const unsigned y = __builtin_amdgcn_workgroup_id_y();
  out[y * width + globalId()] = y * 1000003 + globalId();
}
