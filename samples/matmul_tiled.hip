// C = A * B with 16x16 tiles of A and B staged in LDS. The default size is no multiple of the tile, so border tiles are
// padded with zeros. The inputs are small integers: every sum is exact and the comparison needs no tolerance.
#include "sample.h"

constexpr int Tile = 16;

__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tileA[Tile][Tile];
  __shared__ float tileB[Tile][Tile];
  int row = blockIdx.y * Tile + threadIdx.y;
  int column = blockIdx.x * Tile + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < n; start += Tile) {
    int k = start + threadIdx.x;
    int l = start + threadIdx.y;
    tileA[threadIdx.y][threadIdx.x] = row < n && k < n ? a[row * n + k] : 0;
    tileB[threadIdx.y][threadIdx.x] = l < n && column < n ? b[l * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < Tile; ++i)
      sum += tileA[threadIdx.y][i] * tileB[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n)
    c[row * n + column] = sum;
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 120);
  sample::Random random;
  std::vector<float> a(n * n), b(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = int(random.below(17)) - 8;
    b[i] = int(random.below(17)) - 8;
  }

  sample::DeviceArray<float> deviceA(a), deviceB(b), deviceC(n * n);
  int tiles = (n + Tile - 1) / Tile;
  matmul<<<dim3(tiles, tiles), dim3(Tile, Tile)>>>(deviceA.data(), deviceB.data(), deviceC.data(), n);
  HIP_CHECK(hipGetLastError());

  std::vector<float> c = deviceC.toHost();
  double trace = 0;
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) {
      float expected = 0;
      for (int k = 0; k < n; ++k)
        expected += a[row * n + k] * b[k * n + column];
      if (c[row * n + column] != expected)
        sample::fail("C[%d][%d] = %g, expected %g", row, column, c[row * n + column], expected);
      if (row == column)
        trace += expected;
    }
  std::printf("multiplied two %dx%d matrices; the trace of the product is %g\n", n, n, trace);
  return sample::pass();
}
