// Kernels of the virtual GPU's benchmark: built for the GPU alone, launched through the direct API. vgpu_kernels.cl has
// the same kernels for PoCL, statement by statement; change both.
#define GLOBAL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256)))
#define DEVICE static __attribute__((device))
#define LOCAL static __attribute__((shared))

DEVICE unsigned localId() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE unsigned groupId() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE unsigned globalId() { return groupId() * 256 + localId(); }
DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// 16 independent chains of fused multiply-adds: arithmetic only.
GLOBAL void fma_loop(float *out, int rounds, float factor, float summand) {
  float x[16];
  for (int k = 0; k < 16; ++k)
    x[k] = factor * k + globalId();
  for (int n = 0; n < rounds; ++n)
    for (int k = 0; k < 16; ++k)
      x[k] = __builtin_fmaf(x[k], factor, summand);
  float sum = 0;
  for (int k = 0; k < 16; ++k)
    sum += x[k];
  out[globalId()] = sum;
}

// y = a x + y: memory only.
GLOBAL void saxpy(const float *x, float *y, float a, unsigned n) {
  const unsigned i = globalId();
  if (i < n)
    y[i] = __builtin_fmaf(a, x[i], y[i]);
}

// c = a b for square matrices, a tile of 16 x 16 per workgroup through local memory.
GLOBAL void matmul(const float *a, const float *b, float *c, unsigned n) {
  LOCAL float tileA[16][16], tileB[16][16];
  const unsigned x = localId() % 16, y = localId() / 16;
  const unsigned row = groupId() / (n / 16) * 16 + y, column = groupId() % (n / 16) * 16 + x;
  float sum = 0;
  for (unsigned k = 0; k < n; k += 16) {
    tileA[y][x] = a[row * n + k + x];
    tileB[y][x] = b[(k + y) * n + column];
    barrier();
    for (unsigned m = 0; m < 16; ++m)
      sum = __builtin_fmaf(tileA[y][m], tileB[m][x], sum);
    barrier();
  }
  c[row * n + column] = sum;
}

// One sum per workgroup: each work-item adds `each` elements, then a tree in local memory.
GLOBAL void reduction(const float *in, float *out, unsigned each) {
  LOCAL float partial[256];
  const float *from = in + groupId() * 256 * each + localId();
  float sum = 0;
  for (unsigned k = 0; k < each; ++k)
    sum += from[k * 256];
  partial[localId()] = sum;
  barrier();
  for (unsigned step = 128; step > 0; step /= 2) {
    if (localId() < step)
      partial[localId()] += partial[localId() + step];
    barrier();
  }
  if (localId() == 0)
    out[groupId()] = partial[0];
}

// Accelerations of n bodies (x, y, z, mass), bodies in local memory 256 at a time.
typedef float Float4 __attribute__((ext_vector_type(4)));
GLOBAL void nbody(const Float4 *bodies, Float4 *out, unsigned n) {
  LOCAL Float4 tile[256];
  const Float4 self = bodies[globalId()];
  float ax = 0, ay = 0, az = 0;
  for (unsigned k = 0; k < n; k += 256) {
    tile[localId()] = bodies[k + localId()];
    barrier();
    for (unsigned m = 0; m < 256; ++m) {
      const Float4 other = tile[m];
      const float x = other.x - self.x, y = other.y - self.y, z = other.z - self.z;
      const float d = __builtin_fmaf(x, x, __builtin_fmaf(y, y, __builtin_fmaf(z, z, 0.01f)));
      const float r = __builtin_amdgcn_rsqf(d);
      const float s = other.w * (r * r * r);
      ax = __builtin_fmaf(x, s, ax);
      ay = __builtin_fmaf(y, s, ay);
      az = __builtin_fmaf(z, s, az);
    }
    barrier();
  }
  out[globalId()] = Float4{ax, ay, az, 0};
}

// 256 bins, counted in local memory, then added to the global ones.
GLOBAL void histogram(const unsigned *in, unsigned *bins, unsigned each) {
  LOCAL unsigned counts[256];
  const unsigned *from = in + groupId() * 256 * each + localId();
  counts[localId()] = 0;
  barrier();
  for (unsigned k = 0; k < each; ++k)
    __hip_atomic_fetch_add(&counts[from[k * 256] & 255], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  __hip_atomic_fetch_add(&bins[localId()], counts[localId()], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
