// Hooks that write down what they see, and hooks that change it (state_test.cc, change_test.cc, position_test.cc).
#include <luthier/hook.h>

/// One line of what was seen. `what` is chosen where the hook is inserted.
struct Record {
  uint32_t what, lane;
  uint64_t value;
};
constexpr uint32_t kRecords = 1 << 17, kWholeWave = ~0u;

LUTHIER_DEVICE Record records[kRecords];
LUTHIER_DEVICE uint32_t recordCount;
LUTHIER_DEVICE uint64_t total;
LUTHIER_PER_LAUNCH uint64_t launchTotal;
LUTHIER_PER_WAVE uint32_t seen;
LUTHIER_PER_WAVE uint64_t seenWide;
LUTHIER_PER_WAVE uint32_t chosen;

LUTHIER_PER_LANE uint32_t laneSeen;
LUTHIER_PER_LANE uint64_t laneSeenWide;
LUTHIER_LDS uint32_t ldsBins[16];
LUTHIER_LDS uint64_t ldsWide;
LUTHIER_PER_WORKGROUP uint32_t groupTotal;

#define INLINE __attribute__((device, always_inline)) static inline

INLINE void record(uint32_t what, uint32_t lane, uint64_t value) {
  const uint32_t n = luthier::atomicAdd(recordCount, 1);
  if (n < kRecords)
    records[n] = {what, lane, value};
}

LUTHIER_HOOK(lane) void seeLane(uint32_t what, uint32_t value) { record(what, luthier::laneId(), value); }
LUTHIER_HOOK(lane) void seeLane64(uint32_t what, uint64_t value) { record(what, luthier::laneId(), value); }
LUTHIER_HOOK(wave) void seeWave(uint32_t what, uint32_t value) { record(what, kWholeWave, value); }
LUTHIER_HOOK(wave) void seeWave64(uint32_t what, uint64_t value) { record(what, kWholeWave, value); }

// Read by number instead of by argument.
LUTHIER_HOOK(lane) void readV2(uint32_t what) { record(what, luthier::laneId(), luthier::readVgpr<2>()); }
LUTHIER_HOOK(lane) void readA0(uint32_t what) { record(what, luthier::laneId(), luthier::readAccVgpr<0>()); }
LUTHIER_HOOK(wave) void readS20(uint32_t what) { record(what, kWholeWave, luthier::readSgpr<20>()); }
LUTHIER_HOOK(wave) void readExec(uint32_t what) { record(what, kWholeWave, luthier::exec()); }

LUTHIER_HOOK(lane) void ballotOdd(uint32_t what) {
  record(what, luthier::laneId(), luthier::ballot(luthier::laneId() & 1));
}
LUTHIER_HOOK(lane) void laneExec(uint32_t what) { record(what, luthier::laneId(), luthier::exec()); }

// Changes.
LUTHIER_HOOK(lane) uint32_t addSeven(uint32_t x) { return x + 7; }
LUTHIER_HOOK(lane) uint64_t swapHalves(uint64_t x) { return x << 32 | x >> 32; }
LUTHIER_HOOK(wave) uint32_t scalarAddSeven(uint32_t x) { return x + 7; }
LUTHIER_HOOK(wave) uint64_t invert(uint64_t x) { return ~x; }
LUTHIER_HOOK(wave) uint64_t lowest(uint64_t x) { return x & 0xff; }
LUTHIER_HOOK(wave) uint32_t flip(uint32_t x) { return x ^ 1; }
LUTHIER_HOOK(lane) void writeV2() { luthier::writeVgpr<2>(luthier::readVgpr<2>() * 3); }
LUTHIER_HOOK(lane) void writeA0() { luthier::writeAccVgpr<0>(luthier::readAccVgpr<0>() * 3); }
LUTHIER_HOOK(wave) void writeS20() { luthier::writeSgpr<20>(luthier::readSgpr<20>() * 3); }
/// The lower half only, by code that itself overwrites all of VCC.
LUTHIER_HOOK(wave) void writeVccLo(uint32_t value) {
  float scale = static_cast<float>(value);
  asm volatile("" : "+v"(scale));
  luthier::atomicAdd(total, scale / 3 > 7 ? 1 : 2);
  luthier::writeReg<luthier::reg::vccLo>(value);
}
LUTHIER_HOOK(lane) uint32_t product(uint32_t a, uint32_t b) { return a * b; }

// Order, and variables.
LUTHIER_HOOK(wave) void note(uint32_t what) { record(what, kWholeWave, 0); }
LUTHIER_HOOK(wave) void count(uint32_t n) {
  seen += n;
  seenWide += uint64_t{n} << 30;
}
LUTHIER_HOOK(wave) void flush() {
  luthier::atomicAdd(total, seen + seenWide);
  luthier::atomicAdd(launchTotal, seen);
}
LUTHIER_HOOK(lane) void countLanes(uint32_t n) {
  laneSeen += n;
  laneSeenWide += uint64_t{n} << 31;
}
LUTHIER_HOOK(lane) void flushLanes() {
  luthier::atomicAdd(total, laneSeenWide);
  luthier::atomicAdd(launchTotal, laneSeen);
}
LUTHIER_HOOK(lane) void countLds() {
  luthier::atomicAdd(ldsBins[luthier::laneId() & 15], 1);
  luthier::atomicAdd(ldsWide, uint64_t{1} << 31);
}
LUTHIER_HOOK(wave) void flushLds() {
#pragma nounroll
  for (uint32_t n = 0; n < 16; ++n)
    luthier::atomicAdd(launchTotal, luthier::atomicExchange(ldsBins[n], 0));
  luthier::atomicAdd(total, luthier::atomicExchange(ldsWide, 0));
}
LUTHIER_HOOK(lane) void countGroup() { luthier::atomicAdd(groupTotal, 1); }
LUTHIER_HOOK(lane) void countLane() { luthier::atomicAdd(total, 1); }
LUTHIER_HOOK(wave) void countWave() { luthier::atomicAdd(total, 1); }
LUTHIER_HOOK(wave) void countLaunch() { luthier::atomicAdd(launchTotal, 1); }
LUTHIER_HOOK(wave) void choose(uint32_t group) { chosen = group % 3 == 0; }

// What decides whether others run.
LUTHIER_HOOK(lane) bool everyFourth(uint32_t x) { return x % 16 == 0; }
LUTHIER_HOOK(lane) bool inMask(uint64_t mask) { return mask >> luthier::laneId() & 1; }
LUTHIER_HOOK(lane) bool oddLane() { return luthier::laneId() & 1; }
LUTHIER_HOOK(wave) bool isTwo(uint32_t x) { return x == 2; }

// A structure that is indexed, so that it is in memory.
struct Weights {
  uint32_t first;
  uint16_t of[9];
};
LUTHIER_HOOK(lane) void weigh(uint32_t what, uint32_t x, Weights weights) {
  record(what, luthier::laneId(), weights.first + weights.of[x % 9]);
}

// Values of the launch.
LUTHIER_HOOK(wave) void launchWave(uint32_t what) {
  record(what + 0, kWholeWave, luthier::workgroupId(0));
  record(what + 1, kWholeWave, luthier::workgroupId(1));
  record(what + 2, kWholeWave, luthier::workgroupId(2));
  record(what + 3, kWholeWave, *static_cast<const uint64_t *>(luthier::kernargPtr()));
  record(what + 4, kWholeWave, static_cast<const uint32_t *>(luthier::dispatchPtr())[3]); // grid size x
}
LUTHIER_HOOK(lane) void launchLane(uint32_t what) {
  const uint32_t id = luthier::workitemId(0) | luthier::workitemId(1) << 10 | luthier::workitemId(2) << 20;
  record(what, luthier::laneId(), id);
}

/// Wants more of everything than there is: 40 vector and 40 scalar registers, VCC, SCC, M0, loops whose lanes part.
INLINE void hostile(uint32_t site, uint32_t lane) {
  uint32_t vector[40], scalar[40];
  const uint32_t wave = luthier::readFirstLane(site);
  asm volatile("" : "+v"(lane));
#pragma unroll
  for (uint32_t n = 0; n < 40; ++n) {
    scalar[n] = wave ^ n * 0x85ebca6bu;
    asm volatile("" : "+s"(scalar[n]));
    vector[n] = lane ^ n * 0x9e3779b9u;
    asm volatile("" : "+v"(vector[n]));
  }
  asm volatile("" : : "{m0}"(wave));
  uint32_t sum = 0;
#pragma nounroll
  for (uint32_t round = 0; round <= (wave & 1); ++round) {
    if ((lane + round) & 1) {
#pragma unroll
      for (uint32_t n = 0; n < 40; ++n) {
        vector[n] += scalar[n];
        asm volatile("" : "+v"(vector[n]));
      }
    } else
      sum += vector[0] * round;
#pragma unroll
    for (uint32_t n = 0; n < 40; ++n)
      asm volatile("" : "+s"(scalar[n]));
  }
#pragma unroll
  for (uint32_t n = 0; n < 40; ++n)
    sum += vector[n] > sum ? vector[n] ^ scalar[n] : 3;
  luthier::atomicAdd(total, sum == 12345 ? 2 : 1);
}
LUTHIER_HOOK(lane) void hostileLane(uint32_t site) { hostile(site, luthier::laneId()); }
LUTHIER_HOOK(wave) void hostileWave(uint32_t site) { hostile(site, site); }
