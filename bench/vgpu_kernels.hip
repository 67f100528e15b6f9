// Kernels of the virtual GPU's benchmark: built for the GPU alone, launched through the direct API.
#define GLOBAL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256)))
#define DEVICE static __attribute__((device))

DEVICE unsigned globalId() { return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); }

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
