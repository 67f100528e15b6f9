// Kernels whose arguments are in registers when they start (-amdgpu-kernarg-preload-count).

#define __global__ __attribute__((global))

extern "C" __global__ void preloaded(unsigned *out, unsigned factor, unsigned long long sum, unsigned count) {
  const unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < count)
    out[i] = i * factor + (unsigned)(sum >> 32) + (unsigned)sum;
}
