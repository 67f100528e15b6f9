// y = a * x + y in double precision over a grid-stride loop. fma() rounds once on both sides, so results must agree bit
// for bit.
#include "sample.h"

#include <cmath>

__global__ void saxpy(double a, const double *x, double *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = fma(a, x[i], y[i]);
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 300'000);
  const double a = 1.0 / 3.0;
  sample::Random random;
  std::vector<double> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = random.uniform(-1e3, 1e3);
    y[i] = random.uniform(-1e3, 1e3);
  }

  sample::DeviceArray<double> deviceX(x), deviceY(y);
  saxpy<<<64, 256>>>(a, deviceX.data(), deviceY.data(), n);
  HIP_CHECK(hipGetLastError());

  std::vector<double> result = deviceY.toHost();
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    double expected = std::fma(a, x[i], y[i]);
    if (result[i] != expected)
      sample::fail("y[%d] = %.17g, expected %.17g", i, result[i], expected);
    sum += result[i];
  }
  std::printf("y = x/3 + y over %d doubles; their sum is %.6f\n", n, sum);
  return sample::pass();
}
