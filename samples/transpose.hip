// Transposes a rectangular matrix through a padded LDS tile, so that both the loads and the stores of a wave are
// contiguous.
#include "sample.h"

constexpr int Tile = 32;
constexpr int Rows = 8;

__global__ void transpose(const float *in, float *out, int width, int height) {
  __shared__ float tile[Tile][Tile + 1];
  int x = blockIdx.x * Tile + threadIdx.x;
  int y = blockIdx.y * Tile + threadIdx.y;
  for (int row = 0; row < Tile; row += Rows)
    if (x < width && y + row < height)
      tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
  __syncthreads();
  x = blockIdx.y * Tile + threadIdx.x;
  y = blockIdx.x * Tile + threadIdx.y;
  for (int row = 0; row < Tile; row += Rows)
    if (x < height && y + row < width)
      out[(y + row) * height + x] = tile[threadIdx.x][threadIdx.y + row];
}

int main(int argc, char **argv) {
  int width = sample::sizeArgument(argc, argv, 700);
  int height = width / 2 + 3;
  std::vector<float> in(width * height);
  for (int i = 0; i < width * height; ++i)
    in[i] = i;

  sample::DeviceArray<float> deviceIn(in), deviceOut(in.size());
  dim3 grid((width + Tile - 1) / Tile, (height + Tile - 1) / Tile);
  transpose<<<grid, dim3(Tile, Rows)>>>(deviceIn.data(), deviceOut.data(), width, height);
  HIP_CHECK(hipGetLastError());

  std::vector<float> out = deviceOut.toHost();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      if (out[x * height + y] != in[y * width + x])
        sample::fail("out[%d][%d] = %g, expected %g", x, y, out[x * height + y], in[y * width + x]);
  std::printf("transposed a %dx%d matrix\n", height, width);
  return sample::pass();
}
