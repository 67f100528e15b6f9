// Kernels that compilers make different code of for each target: how waves start, private memory, halves of registers,
// division, matrices.

#include "kernels.hip"

using u16 = unsigned short;

extern "C" __global__ void item_ids(u32 *out) {
  const u32 sizeX = __builtin_amdgcn_workgroup_size_x(), sizeY = __builtin_amdgcn_workgroup_size_y(),
            sizeZ = __builtin_amdgcn_workgroup_size_z();
  const u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(),
            z = __builtin_amdgcn_workitem_id_z();
  const u32 groupX = __builtin_amdgcn_workgroup_id_x(), groupY = __builtin_amdgcn_workgroup_id_y(),
            groupZ = __builtin_amdgcn_workgroup_id_z();
  const u32 groupsX = __builtin_amdgcn_grid_size_x() / sizeX, groupsY = __builtin_amdgcn_grid_size_y() / sizeY;
  const u32 group = (groupZ * groupsY + groupY) * groupsX + groupX;
  out[group * sizeX * sizeY * sizeZ + (z * sizeY + y) * sizeX + x] =
      x | y << 5 | z << 10 | groupX << 15 | groupY << 20 | groupZ << 25;
}

// Loads of 16 bits into both halves of a register.
typedef short Pair __attribute__((ext_vector_type(2)));
extern "C" __global__ void halves(const short *a, const short *b, Pair *out) {
  const u32 i = globalId();
  const Pair both = {a[i], b[i]};
  out[i] = both * both + both;
}
typedef _Float16 HalfPair __attribute__((ext_vector_type(2)));
extern "C" __global__ void half_floats(const _Float16 *a, const _Float16 *b, HalfPair *out, _Float16 *single) {
  const u32 i = globalId();
  const HalfPair both = {a[i], b[i]};
  out[i] = both * (_Float16)2 + both;
  single[i] = (_Float16)((float)a[i] * (float)b[i] + 1.0f);
}

extern "C" __global__ void divisions(const double *a, const double *b, double *out, const float *c, float *quotients) {
  const u32 i = globalId();
  out[i] = a[i] / b[i];
  quotients[i] = c[i] / (float)b[i];
}

extern "C" __global__ void atomics(u32 *count, float *sum, u64 *greatest) {
  __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(sum, 0.5f, __ATOMIC_RELAXED);
  __atomic_fetch_max(greatest, (u64)globalId() << 33, __ATOMIC_RELAXED);
}

#if __has_builtin(__builtin_amdgcn_mfma_f32_4x4x1f32)
typedef float Vector4 __attribute__((ext_vector_type(4)));
typedef float Vector32 __attribute__((ext_vector_type(32)));
// D = A B + C of 16 blocks, and of 2 large ones.
extern "C" __global__ void matrices(const float *a, const float *b, float *small, float *large) {
  const u32 i = localId();
  const Vector4 c = {1, 2, 3, 4};
  const Vector4 d = __builtin_amdgcn_mfma_f32_4x4x1f32(a[i], b[i], c, 0, 0, 0);
  for (u32 n = 0; n < 4; ++n)
    small[n * 64 + i] = d[n];
  Vector32 sum = {};
  for (u32 step = 0; step < 4; ++step)
    sum = __builtin_amdgcn_mfma_f32_32x32x1f32(a[i], b[i], sum, 0, 0, 0);
  for (u32 n = 0; n < 32; ++n)
    large[n * 64 + i] = sum[n];
}
#endif
