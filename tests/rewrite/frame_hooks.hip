// Hooks with memory of their own and with calls (frames_test.cc, which computes the same).
#include <luthier/hook.h>

struct Record {
  uint32_t what, lane;
  uint64_t value;
};
constexpr uint32_t kRecords = 1 << 17, kWholeWave = ~0u;

LUTHIER_DEVICE Record records[kRecords];
LUTHIER_DEVICE uint32_t recordCount;
LUTHIER_DEVICE uint32_t frameSink;
LUTHIER_DEVICE uint32_t frameGlobal[4] = {1000, 2000, 3000, 4000};
LUTHIER_PER_WAVE uint32_t counts[8];

#define INLINE __attribute__((device, always_inline)) static inline
#define NOINLINE __attribute__((device, noinline)) static

INLINE void record(uint32_t what, uint32_t lane, uint64_t value) {
  const uint32_t n = luthier::atomicAdd(recordCount, 1);
  if (n < kRecords)
    records[n] = {what, lane, value};
}

// Local arrays that are indexed by variables.

NOINLINE uint32_t next(uint32_t random) { return random * 1664525 + 1013904223; }
NOINLINE void exchange(uint32_t *a, uint32_t *b) {
  const uint32_t old = *a;
  *a = *b;
  *b = old;
}
INLINE uint32_t sorted(uint32_t random) {
  uint32_t values[24];
  const uint32_t count = 9 + random % 16;
  for (uint32_t n = 0; n < count; ++n)
    values[n] = (random = next(random)) >> 8;
  for (uint32_t n = 1; n < count; ++n)
    for (uint32_t i = n; i > 0 && values[i - 1] > values[i]; --i)
      exchange(&values[i - 1], &values[i]);
  uint32_t sum = 0;
  for (uint32_t n = 0; n < count; ++n)
    sum = sum * 31 + values[n];
  return sum;
}
LUTHIER_HOOK(lane) void sortLane(uint32_t what, uint32_t seed) {
  record(what, luthier::laneId(), sorted(seed + luthier::laneId()));
}
LUTHIER_HOOK(wave) void sortWave(uint32_t what, uint32_t seed) { record(what, kWholeWave, sorted(seed)); }

/// A pointer that is to a local variable or to one in memory: which is known only when it runs.
INLINE uint32_t either(uint32_t n) {
  uint32_t local[4] = {n, n + 1, n + 2, n + 3};
  uint32_t *pointer = n & 4 ? &local[n & 3] : &frameGlobal[n & 3];
  asm volatile("" : "+v"(pointer));
  return *pointer;
}
LUTHIER_HOOK(lane) void eitherLane(uint32_t what, uint32_t seed) {
  record(what, luthier::laneId(), either(seed + luthier::laneId()));
}
LUTHIER_HOOK(wave) void eitherWave(uint32_t what, uint32_t seed) { record(what, kWholeWave, either(seed)); }

/// Elements of all sizes.
template <class T> INLINE uint64_t mixed(uint32_t n) {
  T values[8];
  for (uint32_t i = 0; i < 8; ++i)
    values[(i * n | 1) & 7] = static_cast<T>(n * (i + 3)), values[(i * 2) & 7] = static_cast<T>(i - n);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 8; ++i)
    sum = sum * 3 + static_cast<uint64_t>(values[(i + n) & 7]);
  return sum;
}
LUTHIER_HOOK(lane) void sizesLane(uint32_t what, uint32_t seed) {
  const uint32_t n = (seed + luthier::laneId()) | 1;
  record(what, luthier::laneId(), mixed<uint8_t>(n) ^ mixed<uint16_t>(n) << 8 ^ mixed<uint64_t>(n));
}

typedef uint32_t Sixteen __attribute__((ext_vector_type(16)));
LUTHIER_HOOK(lane) void vectorLane(uint32_t what, uint32_t seed) {
  Sixteen values;
  const uint32_t lane = luthier::laneId();
#pragma unroll
  for (uint32_t n = 0; n < 16; ++n)
    values[n] = seed * n ^ lane;
  values[(seed + lane) & 15] = 77;
  record(what, lane, values[lane & 15] + values[(lane + seed) & 15]);
}

/// A variable per wave, indexed.
LUTHIER_HOOK(wave) void countIn(uint32_t bin, uint32_t by) { counts[bin & 7] += by; }
LUTHIER_HOOK(wave) void readBins(uint32_t what) {
  for (uint32_t n = 0; n < 8; ++n)
    record(what + n, kWholeWave, counts[n]);
}

// Function pointers.

NOINLINE uint32_t plus(uint32_t a, uint32_t b) { return a + b; }
NOINLINE uint32_t minus(uint32_t a, uint32_t b) { return a - b; }
NOINLINE uint32_t times(uint32_t a, uint32_t b) { return a * b; }
NOINLINE uint32_t power(uint32_t a, uint32_t b) {
  uint32_t result = 1;
  for (uint32_t n = 0; n < (b & 7); ++n)
    result *= a;
  return result;
}
using Operation = uint32_t (*)(uint32_t, uint32_t);
__constant__ Operation operations[4] = {plus, minus, times, power};
__device__ Operation chosen = times;
INLINE uint32_t operate(uint32_t n) {
  Operation operation = n & 8 ? chosen : operations[n & 3];
  return operation(n, n + 5) + (operation == power ? 1 : 0);
}
LUTHIER_HOOK(lane) void operateLane(uint32_t what, uint32_t seed) {
  record(what, luthier::laneId(), operate(seed + luthier::laneId()));
}
LUTHIER_HOOK(wave) void operateWave(uint32_t what, uint32_t seed) { record(what, kWholeWave, operate(seed)); }

struct FrameShape {
  uint32_t side;
  __device__ virtual uint32_t area() const = 0;
};
struct FrameSquare : FrameShape {
  __device__ uint32_t area() const override { return side * side; }
};
struct FrameCube : FrameShape {
  __device__ uint32_t area() const override { return 6 * side * side; }
};
LUTHIER_HOOK(lane) void virtualLane(uint32_t what, uint32_t seed) {
  const uint32_t lane = luthier::laneId();
  FrameSquare square;
  FrameCube cube;
  square.side = seed, cube.side = lane;
  const FrameShape *shapes[] = {&square, &cube};
  record(what, lane, shapes[lane % 2]->area());
}

// Recursion.

LUTHIER_RECURSION(16) NOINLINE uint32_t fibonacci(uint32_t n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
LUTHIER_HOOK(lane) void fibonacciLane(uint32_t what, uint32_t seed) {
  record(what, luthier::laneId(), fibonacci((seed + luthier::laneId()) % 11));
}
LUTHIER_HOOK(wave) void fibonacciWave(uint32_t what, uint32_t seed) { record(what, kWholeWave, fibonacci(seed % 13)); }

LUTHIER_RECURSION(40) NOINLINE uint32_t ackermann(uint32_t m, uint32_t n) {
  if (m == 0)
    return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
LUTHIER_HOOK(lane) void ackermannLane(uint32_t what, uint32_t seed) {
  const uint32_t lane = luthier::laneId();
  record(what, lane, ackermann(lane % 3, (seed + lane) % 4));
}

/// Through each other, and with pointers to what callers have in their frames.
NOINLINE void quickSort(uint32_t *values, int32_t first, int32_t last);
LUTHIER_RECURSION(24) NOINLINE void sortRest(uint32_t *values, int32_t first, int32_t last) {
  if (first < last)
    quickSort(values, first, last);
}
NOINLINE void quickSort(uint32_t *values, int32_t first, int32_t last) {
  int32_t low = first, high = last;
  const uint32_t pivot = values[(first + last) / 2];
  while (low <= high) {
    while (values[low] < pivot)
      ++low;
    while (pivot < values[high])
      --high;
    if (low <= high)
      exchange(&values[low++], &values[high--]);
  }
  sortRest(values, first, high);
  sortRest(values, low, last);
}
INLINE uint32_t quickSorted(uint32_t random) {
  uint32_t values[12];
  for (uint32_t n = 0; n < 12; ++n)
    values[n] = (random = next(random)) >> 20;
  quickSort(values, 0, 11);
  uint32_t sum = 0;
  for (uint32_t n = 0; n < 12; ++n)
    sum = sum * 31 + values[n];
  return sum;
}
LUTHIER_HOOK(lane) void quickSortLane(uint32_t what, uint32_t seed) {
  record(what, luthier::laneId(), quickSorted(seed + luthier::laneId()));
}
LUTHIER_HOOK(wave) void quickSortWave(uint32_t what, uint32_t seed) { record(what, kWholeWave, quickSorted(seed)); }

/// Deeper than it says, for odd seeds.
LUTHIER_RECURSION(4) NOINLINE uint32_t depth(uint32_t n) { return n ? 1 + depth(n - 1) : 0; }
LUTHIER_HOOK(lane) void deepLane(uint32_t what, uint32_t seed) {
  record(what, luthier::laneId(), depth(seed & 1 ? 4 : 3));
}

// Garbage all over a frame, and in registers meanwhile.

INLINE void hostile(uint32_t site, uint32_t lane) {
  uint32_t garbage[128], vector[24];
  asm volatile("" : "+v"(lane));
#pragma unroll
  for (uint32_t n = 0; n < 24; ++n) {
    vector[n] = lane ^ n * 0x9e3779b9u;
    asm volatile("" : "+v"(vector[n]));
  }
#pragma nounroll
  for (uint32_t n = 0; n < 128; ++n)
    garbage[n] = 0xdead0000 + site + n;
  uint32_t sum = garbage[lane & 127];
  exchange(&garbage[lane & 127], &garbage[site & 127]);
  sum += operations[(site + lane) & 3](garbage[site & 127], lane) + fibonacci(site & 3);
#pragma unroll
  for (uint32_t n = 0; n < 24; ++n)
    sum += vector[n];
  luthier::atomicExchange(frameSink, sum);
}
LUTHIER_HOOK(lane) void hostileLane(uint32_t site) { hostile(site, luthier::laneId()); }
LUTHIER_HOOK(wave) void hostileWave(uint32_t site) { hostile(site, site); }
