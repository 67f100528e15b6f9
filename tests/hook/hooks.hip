// Hooks of all kinds, compiled at build time and turned into fragments by the tests.

#include <luthier/hook.h>

LUTHIER_DEVICE uint64_t counters[16];
LUTHIER_DEVICE uint32_t initialized[3] = {7, 8, 9};
LUTHIER_DEVICE float sum;
__device__ uint32_t plain;
__constant__ uint32_t table[4] = {10, 20, 30, 40};
LUTHIER_PER_LAUNCH uint32_t first;
LUTHIER_PER_LAUNCH uint64_t launches;
LUTHIER_PER_WAVE uint64_t seen;
LUTHIER_PER_WAVE uint32_t last;

// Wave hooks.
LUTHIER_HOOK(wave) void empty() {}
LUTHIER_HOOK(wave) void countWave(uint32_t n) { seen += n; }
LUTHIER_HOOK(wave) void countAtomic() { luthier::atomicAdd(counters[0], 1); }
LUTHIER_HOOK(wave) void countAt(uint32_t index, uint64_t n) { luthier::atomicAdd(counters[index], n); }
LUTHIER_HOOK(wave) void countLaunch(uint32_t n) { luthier::atomicAdd(launches, n); }
LUTHIER_HOOK(wave) void countLanes() { luthier::atomicAdd(counters[1], luthier::popcount(luthier::exec())); }
LUTHIER_HOOK(wave) void flush() {
  if (seen)
    luthier::atomicAdd(counters[2], seen);
  seen = 0;
}
LUTHIER_HOOK(wave) uint32_t ticket() { return luthier::atomicAdd(plain, 1u); }
LUTHIER_HOOK(wave) void changeScalar() { luthier::writeSgpr<7>(luthier::readSgpr<5>() + luthier::readSgpr<7>()); }
LUTHIER_HOOK(wave) void branchy(uint32_t a, uint32_t b) {
  if (a > b)
    last = a;
  else
    seen += b;
}
// Variables that other hooks may change, read as uniformly as can be.
LUTHIER_HOOK(wave) uint32_t readsDevice() { return plain; }
LUTHIER_HOOK(wave) void readsLimit(uint32_t n) {
  if (counters[3] < initialized[1])
    seen += n;
}
LUTHIER_HOOK(wave) uint64_t readsLaunch() { return launches + first; }
__device__ uint8_t narrow;
__device__ uint16_t halfwords[2];
__device__ uint64_t *elsewhere;
typedef uint32_t Four __attribute__((ext_vector_type(4)));
__device__ Four wide;
LUTHIER_HOOK(wave) uint32_t readsNarrow() { return narrow + halfwords[1]; }
LUTHIER_HOOK(wave) void readsPointer() { last = static_cast<uint32_t>(reinterpret_cast<uint64_t>(elsewhere)); }
LUTHIER_HOOK(wave) uint32_t readsWide(uint32_t n) { return wide.x + wide.w * n; }
LUTHIER_HOOK(lane) uint32_t readsLane(uint32_t x) { return plain + x; }
LUTHIER_HOOK(wave) uint32_t readsMemory(const uint32_t *address) { return *address; }
LUTHIER_HOOK(wave) uint32_t lookUp(uint32_t n) { return table[n & 3]; }
LUTHIER_HOOK(wave) void loadsFirst() {
  for (uint32_t n = 0; n < 16; ++n)
    if (luthier::atomicLoad(counters[n]) == 0) {
      luthier::atomicStore(counters[n], luthier::dispatchId());
      break;
    }
}
LUTHIER_HOOK(wave) uint64_t same(uint64_t x) { return x; }
LUTHIER_HOOK(wave) uint64_t launchValues() {
  return luthier::workgroupId(0) + luthier::workgroupId(2) + reinterpret_cast<uint64_t>(luthier::kernargPtr());
}
LUTHIER_HOOK(wave) uint64_t times() { return luthier::clock() ^ luthier::realTime(); }
LUTHIER_HOOK(wave) uint32_t where() { return luthier::hardwareWaveId(); }
LUTHIER_HOOK(wave) uint32_t size() { return luthier::waveSize(); }

LUTHIER_PER_WAVE uint32_t array[4];
LUTHIER_HOOK(wave) void indexed(uint32_t n) { array[n & 3] += n; }
struct Pair {
  uint32_t a, b;
};
LUTHIER_PER_WAVE Pair pair;
LUTHIER_HOOK(wave) uint32_t structured(uint32_t n) {
  Pair copy = pair;
  (n & 1 ? copy.a : copy.b) += n;
  pair = copy;
  return pair.a * 1000 + pair.b;
}

// One value per lane.
LUTHIER_PER_LANE uint32_t visits;
LUTHIER_PER_LANE uint64_t laneSum;
LUTHIER_HOOK(lane) void visit() { visits += 1; }
LUTHIER_HOOK(lane) void addOdd(uint32_t n) {
  if (n & 1)
    laneSum += uint64_t{n} << 31;
}
LUTHIER_HOOK(lane) void flushLanes() {
  luthier::atomicAdd(counters[7], visits);
  luthier::atomicAdd(counters[8], laneSum);
  laneSum = 0;
}

// Of the workgroup.
LUTHIER_LDS uint32_t bins[16];
LUTHIER_LDS uint64_t binSum;
LUTHIER_PER_WORKGROUP uint32_t groupFirst;
LUTHIER_PER_WORKGROUP uint64_t groupSum;
LUTHIER_HOOK(lane) void countBin(uint32_t n) {
  luthier::atomicAdd(bins[n & 15], 1);
  luthier::atomicAdd(binSum, n);
}
LUTHIER_HOOK(lane) uint32_t readBin(uint32_t n) { return bins[n & 15]; }
LUTHIER_HOOK(wave) uint32_t takeBin(uint32_t n) {
  return luthier::atomicExchange(bins[n & 15], 7) + luthier::atomicLoad(bins[n & 15]) * 1000 +
         luthier::atomicCompareExchange(bins[n & 15], 7, 0) * 100000;
}
LUTHIER_HOOK(wave) void clearBins() {
  for (uint32_t &bin : bins)
    bin = 0;
}
LUTHIER_HOOK(lane) void countGroup(uint32_t n) { luthier::atomicAdd(groupSum, n); }

// Lane hooks.
namespace my {
LUTHIER_HOOK(lane) void count(uint32_t n) { luthier::atomicAdd(counters[3], n); }
LUTHIER_HOOK(lane) void count(uint64_t n) { luthier::atomicAdd(counters[4], n); }
} // namespace my
LUTHIER_HOOK(lane) void countLane() { luthier::atomicAdd(counters[5], 1); }
LUTHIER_HOOK(lane) void histogram(uint32_t value) { luthier::atomicAdd(counters[value & 15], 1); }
LUTHIER_HOOK(lane) uint32_t twice(uint32_t x) { return 2 * x; }
LUTHIER_HOOK(lane) uint64_t same64(uint64_t x) { return x; }
LUTHIER_HOOK(lane) uint32_t same32(uint32_t x) { return x; }
LUTHIER_HOOK(lane) void storeAddress(uint64_t address, uint64_t *to) {
  ((__attribute__((address_space(1))) uint64_t *)to)[luthier::laneId()] = address;
}
LUTHIER_HOOK(lane) void watch(uint64_t address, uint64_t low, uint64_t size) {
  if (address - low < size)
    luthier::atomicMax(counters[6], address);
}
LUTHIER_HOOK(lane) uint32_t lanes(uint32_t x) {
  return luthier::laneId() + 100 * luthier::popcount(luthier::ballot(x & 1)) +
         10000 * luthier::popcount(luthier::exec());
}
LUTHIER_HOOK(lane) void changeVector() {
  if (luthier::laneId() & 1)
    luthier::writeVgpr<9>(luthier::readVgpr<9>() + luthier::readVgpr<4>());
}
LUTHIER_HOOK(lane) uint32_t workitem() { return luthier::workitemId(0) + 1000 * luthier::workitemId(1); }
LUTHIER_HOOK(lane) void addFloat(float x) { luthier::atomicAdd(sum, x); }
LUTHIER_HOOK(lane) double mixed(float x, _Float16 h, bool b, int16_t s, double d, uint8_t u) {
  return b ? x + h + s + d + u : d;
}
LUTHIER_HOOK(lane) uint32_t peek(const uint32_t *address) { return *address + static_cast<uint32_t>(seen); }
LUTHIER_HOOK(lane) uint32_t loop(uint32_t n) {
  uint32_t x = 1;
  for (uint32_t i = 0; i < n; ++i)
    x = x * 3 + i;
  return x;
}
LUTHIER_HOOK(lane) void first_only(uint32_t x) {
  if (luthier::isFirstLane())
    luthier::atomicExchange(plain, x);
}
LUTHIER_HOOK(lane) uint32_t swap(uint32_t expected, uint32_t value) {
  return luthier::atomicCompareExchange(plain, expected, value);
}
LUTHIER_DEVICE uint32_t large[100000];
LUTHIER_HOOK(lane) void far(uint32_t x) { large[77777 + (x & 1)] = x; }
LUTHIER_HOOK(lane) float divide(float a, float b) { return a / b; }
LUTHIER_HOOK(lane) double divide64(double a, double b) { return a / b; }
LUTHIER_HOOK(lane) float smaller(float a, float b) { return __builtin_fminf(a, b); }
LUTHIER_HOOK(wave) uint64_t remainder(uint64_t a, uint64_t b) { return a % b; }
typedef uint32_t Four __attribute__((ext_vector_type(4)));
LUTHIER_HOOK(lane) uint32_t addFour(Four data) { return data.x + data.y + data.z + data.w; }
LUTHIER_PER_WAVE uint32_t plainWave;
// Structures, in all the ways in which Clang passes them: packed into a number, into two, larger ones than the
// structure, member by member, by reference.
struct Small {
  uint16_t a;
  uint8_t b;
};
struct Odd {
  uint16_t a, b, c;
};
struct Bounds {
  uint64_t begin, end;
  struct {
    float scale;
    uint8_t id;
  } inner;
  bool inverted;
};
struct Table {
  uint32_t words[20];
};
LUTHIER_HOOK(lane) uint32_t within(uint64_t address, Bounds bounds) {
  const bool inside = address >= bounds.begin && address < bounds.end;
  return inside != bounds.inverted ? bounds.inner.id : static_cast<uint32_t>(bounds.inner.scale);
}
LUTHIER_HOOK(wave) uint32_t odd(Odd odd, Small small, const Small again) {
  return odd.a + 10 * odd.b + 100 * odd.c + 1000 * small.b + again.a;
}
LUTHIER_HOOK(wave) uint32_t ends(Table table, uint32_t more) { return table.words[0] * 1000 + table.words[19] + more; }
// A condition as a number, which LLVM makes in vector registers.
LUTHIER_HOOK(wave) uint32_t conditions(uint32_t x) {
  plainWave += x % 3 == 0;
  return (x == 7) + 2 * (x > 100);
}
// Names that a demangler would take for types.
LUTHIER_DEVICE uint32_t n;
LUTHIER_DEVICE uint32_t x;
LUTHIER_DEVICE uint32_t i;
