// Waves of many workgroups contend for one global spin lock: lane 0 of each wave takes it by compare-and-swap, changes
// plain (non-atomic) shared data, and releases it. A lost update means two waves were inside at once or memory was not
// made visible.
#include "sample.h"

constexpr int WaveSize = 64;
constexpr int WavesPerGroup = 4;
constexpr int RoundsPerWave = 8;

struct Shared {
  int lock;
  int counter;
  unsigned hash; // of the sequence of owners: any interleaving inside the lock breaks it
};

__host__ __device__ unsigned mix(unsigned hash, int owner) { return (hash ^ owner) * 16777619u; }

__global__ void contend(Shared *shared, int *sequence, int rounds) {
  int wave = (blockIdx.x * blockDim.x + threadIdx.x) / WaveSize;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x % WaveSize == 0) {
      while (atomicCAS(&shared->lock, 0, 1) != 0)
        __builtin_amdgcn_s_sleep(1);
      __threadfence();
      volatile Shared *inside = shared;
      int turn = inside->counter;
      sequence[turn] = wave;
      inside->hash = mix(inside->hash, wave);
      inside->counter = turn + 1;
      __threadfence();
      atomicExch(&shared->lock, 0);
    }
  }
}

int main(int argc, char **argv) {
  int groups = sample::sizeArgument(argc, argv, 16);
  int waves = groups * WavesPerGroup;
  int acquisitions = waves * RoundsPerWave;
  sample::DeviceArray<Shared> shared(1);
  sample::DeviceArray<int> sequence(acquisitions);
  shared.zero();
  contend<<<groups, WavesPerGroup * WaveSize>>>(shared.data(), sequence.data(), RoundsPerWave);
  HIP_CHECK(hipGetLastError());

  Shared result = shared.toHost()[0];
  std::vector<int> owners = sequence.toHost();
  if (result.lock != 0 || result.counter != acquisitions)
    sample::fail("the lock is %d and the counter %d, expected 0 and %d", result.lock, result.counter, acquisitions);
  unsigned hash = 0;
  std::vector<int> turns(waves);
  for (int turn = 0; turn < acquisitions; ++turn) {
    int owner = owners[turn];
    if (owner < 0 || owner >= waves || ++turns[owner] > RoundsPerWave)
      sample::fail("turn %d went to wave %d", turn, owner);
    hash = mix(hash, owner);
  }
  if (hash != result.hash)
    sample::fail("the hash is %#x, expected %#x", result.hash, hash);
  std::printf("%d waves took the lock %d times each\n", waves, RoundsPerWave);
  return sample::pass();
}
