// A byte histogram: atomics on LDS within a workgroup, then atomics on global memory to merge. Also the minimum,
// maximum, bitwise or, and 64-bit and floating-point sums of some values, each by the matching global atomic: the float
// sum by HIP's default compare-and-swap loop, the double sum by the hardware's own floating-point atomic.
#include "sample.h"

#include <algorithm>

constexpr int Bins = 256;

struct Summary {
  unsigned minimum, maximum, anyBit;
  float floatSum;
  unsigned long long sum;
  double doubleSum;
};

__global__ void histogram(const unsigned *values, int n, unsigned *bins, Summary *summary) {
  __shared__ unsigned local[Bins];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned value = values[i];
    atomicAdd(&local[value % Bins], 1u);
    if (i % 16 == 0) {
      atomicMin(&summary->minimum, value);
      atomicMax(&summary->maximum, value);
      atomicOr(&summary->anyBit, value);
      atomicAdd(&summary->sum, (unsigned long long)value);
      atomicAdd(&summary->floatSum, 0.5f);
      unsafeAtomicAdd(&summary->doubleSum, double(value) / 4);
    }
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 200'000);
  sample::Random random;
  std::vector<unsigned> values(n), expectedBins(Bins);
  Summary expected = {~0u, 0, 0, 0, 0, 0};
  for (int i = 0; i < n; ++i) {
    // The product of two small numbers: some bins are crowded, others empty.
    unsigned value = values[i] = 1 + random.below(300) * random.below(300) * 8;
    ++expectedBins[value % Bins];
    if (i % 16 == 0) {
      expected.minimum = std::min(expected.minimum, value);
      expected.maximum = std::max(expected.maximum, value);
      expected.anyBit |= value;
      expected.sum += value;
      expected.floatSum += 0.5f;
      expected.doubleSum += double(value) / 4;
    }
  }

  sample::DeviceArray<unsigned> deviceValues(values), bins(Bins);
  sample::DeviceArray<Summary> summary(std::vector<Summary>{{~0u, 0, 0, 0, 0, 0}});
  bins.zero();
  histogram<<<32, Bins>>>(deviceValues.data(), n, bins.data(), summary.data());
  HIP_CHECK(hipGetLastError());

  std::vector<unsigned> result = bins.toHost();
  for (int bin = 0; bin < Bins; ++bin)
    if (result[bin] != expectedBins[bin])
      sample::fail("bin %d holds %u, expected %u", bin, result[bin], expectedBins[bin]);
  Summary s = summary.toHost()[0];
  if (s.minimum != expected.minimum || s.maximum != expected.maximum || s.anyBit != expected.anyBit)
    sample::fail("min/max/or are %u/%u/%#x, expected %u/%u/%#x", s.minimum, s.maximum, s.anyBit, expected.minimum,
                 expected.maximum, expected.anyBit);
  // The addends are multiples of a power of two: the floating-point sums are exact in any order.
  if (s.sum != expected.sum || s.floatSum != expected.floatSum || s.doubleSum != expected.doubleSum)
    sample::fail("sums are %llu/%g/%.2f, expected %llu/%g/%.2f", s.sum, s.floatSum, s.doubleSum, expected.sum,
                 expected.floatSum, expected.doubleSum);
  std::printf("%d values in %d bins; the fullest bin holds %u\n", n, Bins,
              *std::max_element(result.begin(), result.end()));
  return sample::pass();
}
