// Kernels with loads of all kinds, loops and branches, without HIP's headers: what compilers make of waits on every
// generation. wait_mutation.cc takes the waits away again.

#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

static inline __attribute__((device)) int item() { return __builtin_amdgcn_workitem_id_x(); }
static inline __attribute__((device)) int group() { return __builtin_amdgcn_workgroup_id_x(); }
static inline __attribute__((device)) void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KERNEL saxpy(float a, const float *x, float *y, int count) {
  for (int n = group() * 256 + item(); n < count; n += 65536)
    y[n] = a * x[n] + y[n];
}

KERNEL tiles(const float *a, const float *b, float *c, int size) {
  SHARED static float rows[16][16], columns[16][16];
  const int x = item() & 15, y = item() >> 4;
  float sum = 0;
  for (int k = 0; k < size; k += 16) {
    rows[y][x] = a[(group() * 16 + y) * size + k + x];
    columns[y][x] = b[(k + y) * size + x];
    barrier();
#pragma unroll 4
    for (int n = 0; n < 16; ++n)
      sum += rows[y][n] * columns[n][x];
    barrier();
  }
  c[(group() * 16 + y) * size + x] = sum;
}

KERNEL reduce(const int *in, int *out) {
  SHARED static int partial[256];
  partial[item()] = in[group() * 256 + item()];
  barrier();
  for (int half = 128; half > 0; half /= 2) {
    if (item() < half)
      partial[item()] += partial[item() + half];
    barrier();
  }
  if (item() == 0)
    __atomic_fetch_add(out, partial[0], __ATOMIC_RELAXED);
}

KERNEL generic(int *global, int **pointers, int choose) {
  SHARED static int local[64];
  local[item()] = global[item()];
  barrier();
  int *p = choose ? &local[63 - item()] : pointers[item()];
  const int old = *p;
  *p = old + global[old];
}

KERNEL branches(const int *in, const int *table, int *out, int count) {
  const int n = item();
  int value = in[n];
  const int other = in[n + 64];
  if (value & 1) {
    value = table[value] + other;
    if (value > 100)
      value += table[value & 63];
  } else {
    for (int k = 0; k < (value & 15); ++k)
      value += table[k] ^ other;
  }
  out[n] = value + table[count];
}

KERNEL halves(const _Float16 *in, _Float16 *out, float *sums) {
  const int n = item();
  const _Float16 a = in[n], b = in[n + 64], c = in[2 * n];
  out[n] = a * b + c;
  sums[n] += (float)a + (float)b;
}

KERNEL stack(const int *in, int *out, int count) {
  volatile int kept[32];
  for (int n = 0; n < 32; ++n)
    kept[n] = in[item() + n];
  int sum = 0;
  for (int n = 0; n < count; ++n)
    sum += kept[(in[n] ^ item()) & 31];
  out[item()] = sum;
}

typedef int Int4 __attribute__((ext_vector_type(4)));
KERNEL wide(const Int4 *in, Int4 *out) {
  const int n = item();
  out[n] = in[n] + in[n + 64] * in[n + 128] - in[n + 192];
}
