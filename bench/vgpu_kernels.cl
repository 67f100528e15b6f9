// The kernels of vgpu_kernels.hip in OpenCL C, statement by statement, for PoCL. Change both.

kernel void fma_loop(global float *out, int rounds, float factor, float summand) {
  float x[16];
  for (int k = 0; k < 16; ++k)
    x[k] = factor * k + (uint)get_global_id(0);
  for (int n = 0; n < rounds; ++n)
    for (int k = 0; k < 16; ++k)
      x[k] = fma(x[k], factor, summand);
  float sum = 0;
  for (int k = 0; k < 16; ++k)
    sum += x[k];
  out[get_global_id(0)] = sum;
}

kernel void saxpy(global const float *x, global float *y, float a, uint n) {
  const uint i = get_global_id(0);
  if (i < n)
    y[i] = fma(a, x[i], y[i]);
}

kernel void matmul(global const float *a, global const float *b, global float *c, uint n) {
  local float tileA[16][16], tileB[16][16];
  const uint x = get_local_id(0) % 16, y = get_local_id(0) / 16;
  const uint row = get_group_id(0) / (n / 16) * 16 + y, column = get_group_id(0) % (n / 16) * 16 + x;
  float sum = 0;
  for (uint k = 0; k < n; k += 16) {
    tileA[y][x] = a[row * n + k + x];
    tileB[y][x] = b[(k + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint m = 0; m < 16; ++m)
      sum = fma(tileA[y][m], tileB[m][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

kernel void reduction(global const float *in, global float *out, uint each) {
  local float partial[256];
  global const float *from = in + get_group_id(0) * 256 * each + get_local_id(0);
  float sum = 0;
  for (uint k = 0; k < each; ++k)
    sum += from[k * 256];
  partial[get_local_id(0)] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 128; step > 0; step /= 2) {
    if (get_local_id(0) < step)
      partial[get_local_id(0)] += partial[get_local_id(0) + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (get_local_id(0) == 0)
    out[get_group_id(0)] = partial[0];
}

kernel void nbody(global const float4 *bodies, global float4 *out, uint n) {
  local float4 tile[256];
  const float4 self = bodies[get_global_id(0)];
  float ax = 0, ay = 0, az = 0;
  for (uint k = 0; k < n; k += 256) {
    tile[get_local_id(0)] = bodies[k + get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint m = 0; m < 256; ++m) {
      const float4 other = tile[m];
      const float x = other.x - self.x, y = other.y - self.y, z = other.z - self.z;
      const float d = fma(x, x, fma(y, y, fma(z, z, 0.01f)));
      const float r = rsqrt(d);
      const float s = other.w * (r * r * r);
      ax = fma(x, s, ax);
      ay = fma(y, s, ay);
      az = fma(z, s, az);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = (float4)(ax, ay, az, 0);
}

kernel void histogram(global const uint *in, global uint *bins, uint each) {
  local uint counts[256];
  global const uint *from = in + get_group_id(0) * 256 * each + get_local_id(0);
  counts[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 0; k < each; ++k)
    atomic_add(&counts[from[k * 256] & 255], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[get_local_id(0)], counts[get_local_id(0)]);
}
