// What lanes read from each other, for waves of 32 and 64 lanes, against the same computed on the host.

#include "placed.h"

#include <bit>

namespace luthier::hook {
namespace {

using namespace test;
using vgpu::test::ExecTest;
using Kind = Port::Kind;

struct WaveKind {
  const char *target;
  unsigned lanes;
};
void PrintTo(const WaveKind &kind, std::ostream *out) { *out << kind.target << ", " << kind.lanes << " lanes"; }

class Lanes : public testing::TestWithParam<WaveKind> {
protected:
  void SetUp() override {
    module_ = load(LANES_HOOKS);
    ASSERT_TRUE(module_);
  }
  Placed place(const std::string &name) {
    return Placed(module_, plainRequest(*module_, name), GetParam().target, GetParam().lanes);
  }
  unsigned lanes() const { return GetParam().lanes; }
  /// Some lanes are off, in each half; and all are on.
  std::vector<uint64_t> execs() const {
    const uint64_t all = lanes() == 64 ? ~0ull : 0xffff'ffff;
    return {all, 0xa5f0'0ff3'3c0f'f5a4 & all, uint64_t{1} << (lanes() - 1), 0x10};
  }
  static unsigned firstOf(uint64_t mask) { return static_cast<unsigned>(std::countr_zero(mask)); }
  static bool has(uint64_t mask, unsigned lane) { return mask >> lane & 1; }
  /// Differs by lane, in both halves.
  static uint64_t wide(unsigned lane) { return 0x9e37'79b9'7f4a'7c15ull * (lane + 1); }

  std::shared_ptr<const HookModule> module_;
};

TEST_P(Lanes, FirstAndChosenLane) {
  for (const uint64_t exec : execs())
    for (const bool is64 : {false, true}) {
      Placed first = place(is64 ? "first64" : "first32");
      Placed chosen = place(is64 ? "lane64" : "lane32");
      const unsigned from = (firstOf(exec) + lanes() / 2 + 3) % lanes();
      for (Placed *placed : {&first, &chosen}) {
        placed->wave.exec(exec);
        for (unsigned lane = 0; lane < lanes(); ++lane)
          placed->setLane(placed->parameter(0), lane, wide(lane));
      }
      for (unsigned lane = 0; lane < lanes(); ++lane)
        chosen.setLane(chosen.parameter(1), lane, lane == firstOf(exec) ? from : lane);
      ASSERT_TRUE(first.run());
      ASSERT_TRUE(chosen.run());
      const uint64_t mask = is64 ? ~0ull : 0xffff'ffff;
      for (unsigned lane = 0; lane < lanes(); ++lane)
        if (has(exec, lane)) {
          EXPECT_EQ(first.get(first.output(Kind::Result), lane), wide(firstOf(exec)) & mask) << lane;
          EXPECT_EQ(chosen.get(chosen.output(Kind::Result), lane), wide(from) & mask) << lane;
        }
    }
}

TEST_P(Lanes, Shuffle) {
  for (const uint64_t exec : execs())
    for (const bool is64 : {false, true})
      for (const unsigned step : {1u, 7u, 32u, 37u}) {
        Placed placed = place(is64 ? "shuffle64" : "shuffle32");
        placed.wave.exec(exec);
        for (unsigned lane = 0; lane < lanes(); ++lane) {
          placed.setLane(placed.parameter(0), lane, wide(lane));
          placed.setLane(placed.parameter(1), lane, lane * step + lanes()); // modulo the size of the wave
        }
        ASSERT_TRUE(placed.run());
        for (unsigned lane = 0; lane < lanes(); ++lane)
          if (const unsigned from = lane * step % lanes(); has(exec, lane) && has(exec, from))
            EXPECT_EQ(placed.get(placed.output(Kind::Result), lane), wide(from) & (is64 ? ~0ull : 0xffff'ffff))
                << lane << " from " << from;
      }
}

TEST_P(Lanes, Match) {
  for (const uint64_t exec : execs())
    for (const bool is64 : {false, true}) {
      Placed placed = place(is64 ? "match64" : "match32");
      placed.wave.exec(exec);
      // NaNs of one kind are the same; what differs in one half only is not.
      const auto valueOf = [&](unsigned lane) -> uint64_t {
        return is64 ? uint64_t{lane % 3} << 32 | lane % 2 : lane % 5 ? lane % 5 : 0x7fc0'0000;
      };
      for (unsigned lane = 0; lane < lanes(); ++lane)
        placed.setLane(placed.parameter(0), lane, valueOf(lane));
      ASSERT_TRUE(placed.run());
      for (unsigned lane = 0; lane < lanes(); ++lane) {
        uint64_t same = 0;
        for (unsigned other = 0; other < lanes(); ++other)
          if (has(exec, other) && valueOf(other) == valueOf(lane))
            same |= uint64_t{1} << other;
        if (has(exec, lane))
          EXPECT_EQ(placed.get(placed.output(Kind::Result), lane), same) << lane;
      }
    }
}

TEST_P(Lanes, AnyAndAll) {
  for (const uint64_t exec : execs())
    for (const uint64_t values : {uint64_t{0}, exec, exec & ~(exec & -exec), exec & -exec, ~exec}) {
      Placed placed = place("anyAll");
      placed.wave.exec(exec);
      for (unsigned lane = 0; lane < lanes(); ++lane)
        placed.setLane(placed.parameter(0), lane, has(values, lane));
      ASSERT_TRUE(placed.run());
      const uint64_t expected = ((values & exec) != 0 ? 1 : 0) | ((values & exec) == exec ? 2 : 0);
      EXPECT_EQ(placed.get(placed.output(Kind::Result), firstOf(exec)), expected) << std::hex << values;
    }
}

TEST_P(Lanes, ActiveLanesWhereOneIsLeft) {
  for (const uint64_t exec : execs()) {
    Placed placed = place("active");
    placed.wave.exec(exec);
    ASSERT_TRUE(placed.run());
    const uint64_t masks = placed.variable("masks");
    EXPECT_EQ(ExecTest::load<uint64_t>(masks), exec);
    EXPECT_EQ(ExecTest::load<uint64_t>(masks + 8), exec & -exec);

    Placed wave = place("waveActive");
    wave.wave.exec(exec);
    wave.set(wave.input(Kind::Register), exec);
    ASSERT_TRUE(wave.run());
    EXPECT_EQ(wave.get(wave.output(Kind::Result)), exec);
  }
}

TEST_P(Lanes, OneLanePerValueAddsUp) {
  for (const uint64_t exec : execs()) {
    Placed placed = place("aggregate");
    placed.wave.exec(exec);
    std::array<uint32_t, 8> expected = {};
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      placed.setLane(placed.parameter(0), lane, lane * lane % 7);
      if (has(exec, lane))
        ++expected[lane * lane % 7];
    }
    ASSERT_TRUE(placed.run());
    for (unsigned n = 0; n < expected.size(); ++n)
      EXPECT_EQ(ExecTest::load<uint32_t>(placed.variable("perValue") + 4 * n), expected[n]) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Lanes,
                         testing::Values(WaveKind{"gfx90a", 64}, WaveKind{"gfx942", 64}, WaveKind{"gfx1030", 32},
                                         WaveKind{"gfx1030", 64}, WaveKind{"gfx1100", 32}, WaveKind{"gfx1100", 64},
                                         WaveKind{"gfx1201", 32}, WaveKind{"gfx1201", 64}));

} // namespace
} // namespace luthier::hook
