// A cooperative launch: all workgroups are resident and meet at grid.sync(). In every round each thread reads what
// threads of other workgroups wrote in the round before, so one workgroup that runs ahead or sees stale data spoils the
// result.
#include "sample.h"

#include <hip/hip_cooperative_groups.h>

constexpr int GroupSize = 128;
constexpr int Rounds = 10;

__host__ __device__ unsigned combine(const unsigned *in, int i, int n, int round) {
  return in[i] * 5 + in[(i + GroupSize) % n] + in[(i + n / 2 + round) % n] * 3 + round;
}

__global__ void relax(unsigned *a, unsigned *b, int n) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  int i = grid.thread_rank();
  for (int round = 0; round < Rounds; ++round) {
    const unsigned *in = round % 2 == 0 ? a : b;
    unsigned *out = round % 2 == 0 ? b : a;
    out[i] = combine(in, i, n, round);
    grid.sync();
  }
}

int main(int argc, char **argv) {
  int groups = sample::sizeArgument(argc, argv, 16);
  hipDeviceProp_t properties;
  HIP_CHECK(hipGetDeviceProperties(&properties, 0));
  if (!properties.cooperativeLaunch)
    sample::fail("the device reports no cooperative launch");
  int perUnit = 0;
  HIP_CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&perUnit, relax, GroupSize, 0));
  if (groups > perUnit * properties.multiProcessorCount)
    sample::fail("%d workgroups do not fit on the device", groups);

  int n = groups * GroupSize;
  sample::Random random;
  std::vector<unsigned> a(n), b(n);
  for (unsigned &value : a)
    value = random.below(1000);
  sample::DeviceArray<unsigned> deviceA(a), deviceB(b);
  unsigned *pointerA = deviceA.data(), *pointerB = deviceB.data();
  void *arguments[] = {&pointerA, &pointerB, &n};
  HIP_CHECK(hipLaunchCooperativeKernel(relax, dim3(groups), dim3(GroupSize), arguments, 0, nullptr));

  std::vector<unsigned> result = (Rounds % 2 == 0 ? deviceA : deviceB).toHost();
  for (int round = 0; round < Rounds; ++round) {
    for (int i = 0; i < n; ++i)
      b[i] = combine(a.data(), i, n, round);
    a.swap(b);
  }
  for (int i = 0; i < n; ++i)
    if (result[i] != a[i])
      sample::fail("element %d is %u, expected %u", i, result[i], a[i]);
  std::printf("%d workgroups met %d times at the grid barrier\n", groups, Rounds);
  return sample::pass();
}
