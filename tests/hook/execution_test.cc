// Fragments do what the hooks say, executed on the virtual GPU.

#include "placed.h"

#include <bit>

namespace luthier::hook {
namespace {

using namespace test;
using vgpu::test::ExecTest;
using Kind = Port::Kind;

class Execution : public testing::Test {
protected:
  void SetUp() override {
    module = load();
    ASSERT_TRUE(module);
  }
  Placed place(const std::string &name) { return Placed(module, plainRequest(*module, name)); }
  uint64_t counter(Placed &placed, unsigned n) { return ExecTest::load<uint64_t>(placed.variable("counters") + 8 * n); }
  unsigned indexOf(std::string_view variable) const {
    return static_cast<unsigned>(module->findVariable(variable) - module->variables().data());
  }
  std::shared_ptr<const HookModule> module;
};

TEST_F(Execution, PerWaveCounterCarries) {
  Placed placed = place("countWave");
  placed.set(placed.input(Kind::WaveVariable, indexOf("seen")), 0xffff'ffff);
  placed.set(placed.parameter(0), 3);
  placed.wave.exec(0);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(placed.get(placed.output(Kind::WaveVariable, indexOf("seen"))), 0x1'0000'0002u);
}

TEST_F(Execution, WaveAtomics) {
  Placed placed = place("countAt");
  placed.wave.exec(1);
  placed.set(placed.parameter(0), 7);
  placed.set(placed.parameter(1), 0x1'0000'0005);
  ASSERT_TRUE(placed.run());
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(counter(placed, 7), 0x2'0000'000au);
  EXPECT_EQ(counter(placed, 0), 0u);
}

TEST_F(Execution, WaveAtomicReturnsTheOldValue) {
  Placed placed = place("ticket");
  placed.wave.exec(1ull << 17);
  for (unsigned n = 0; n < 3; ++n) {
    ASSERT_TRUE(placed.run());
    EXPECT_EQ(placed.get(placed.output(Kind::Result)), n);
  }
}

TEST_F(Execution, Flush) {
  Placed placed = place("flush");
  placed.wave.exec(1);
  for (const uint64_t seen : {uint64_t{5}, uint64_t{0}, uint64_t{1} << 40}) {
    placed.set(placed.input(Kind::WaveVariable, indexOf("seen")), seen);
    ASSERT_TRUE(placed.run());
    EXPECT_EQ(placed.get(placed.output(Kind::WaveVariable, indexOf("seen"))), 0u);
  }
  EXPECT_EQ(counter(placed, 2), 5 + (uint64_t{1} << 40));
}

TEST_F(Execution, PerLaunchVariables) {
  Placed placed = place("countLaunch");
  placed.wave.exec(1);
  const uint64_t block = placed.wave.buffer(module->perLaunchBytes());
  placed.set(placed.input(Kind::LaunchBlock), block);
  placed.set(placed.parameter(0), 9);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(ExecTest::load<uint64_t>(block), 0u);
  EXPECT_EQ(ExecTest::load<uint64_t>(block + module->findVariable("launches")->offset), 9u);
}

TEST_F(Execution, GuestExecInAWaveHook) {
  Placed placed = place("countLanes");
  placed.set(placed.input(Kind::Register), 0xf000'0000'0000'0003);
  placed.wave.exec(1);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(counter(placed, 1), 6u);
}

TEST_F(Execution, Branches) {
  Placed placed = place("branchy");
  for (const auto &[a, b] : {std::pair(5u, 3u), std::pair(3u, 5u), std::pair(4u, 4u)}) {
    placed.set(placed.input(Kind::WaveVariable, indexOf("seen")), 100);
    placed.set(placed.input(Kind::WaveVariable, indexOf("last")), 50);
    placed.set(placed.parameter(0), a);
    placed.set(placed.parameter(1), b);
    ASSERT_TRUE(placed.run());
    EXPECT_EQ(placed.get(placed.output(Kind::WaveVariable, indexOf("seen"))), a > b ? 100 : 100 + b);
    EXPECT_EQ(placed.get(placed.output(Kind::WaveVariable, indexOf("last"))), a > b ? a : 50);
  }
}

/// Lanes that are off keep what they have, whether it is the guest or the hook that turned them off.
TEST_F(Execution, PerLaneVariables) {
  constexpr uint64_t kExec = 0xf0f0'0000'1111'8001;
  const auto start = [](unsigned lane) { return 0xffff'fff0 + lane; };
  Placed visit = place("visit"), odd = place("addOdd"), flush = place("flushLanes");
  const Port counter_ = visit.input(Kind::LaneVariable, indexOf("visits"));
  const Port sum = odd.input(Kind::LaneVariable, indexOf("laneSum"));
  ASSERT_EQ(visit.output(Kind::LaneVariable, indexOf("visits")).regs, counter_.regs);
  ASSERT_EQ(odd.output(Kind::LaneVariable, indexOf("laneSum")).regs, sum.regs);
  visit.wave.exec(kExec);
  odd.wave.exec(kExec);
  for (unsigned lane = 0; lane < 64; ++lane) {
    visit.setLane(counter_, lane, start(lane));
    odd.setLane(odd.parameter(0), lane, lane);
    odd.setLane(sum, lane, start(lane));
  }
  ASSERT_TRUE(visit.run());
  ASSERT_TRUE(odd.run());
  for (unsigned lane = 0; lane < 64; ++lane) {
    const bool on = kExec >> lane & 1;
    EXPECT_EQ(visit.get(counter_, lane), static_cast<uint32_t>(start(lane) + on)) << lane;
    EXPECT_EQ(odd.get(sum, lane), start(lane) + (on && lane & 1 ? uint64_t{lane} << 31 : 0)) << lane;
  }
  flush.wave.exec(kExec);
  uint64_t visits = 0, sums = 0;
  const Port flushed = flush.output(Kind::LaneVariable, indexOf("laneSum"));
  for (unsigned lane = 0; lane < 64; ++lane) {
    flush.setLane(flush.input(Kind::LaneVariable, indexOf("visits")), lane, lane);
    flush.setLane(flushed, lane, uint64_t{lane} << 33);
    if (kExec >> lane & 1) {
      visits += lane;
      sums += uint64_t{lane} << 33;
    }
  }
  ASSERT_TRUE(flush.run());
  EXPECT_EQ(counter(flush, 7), visits);
  EXPECT_EQ(counter(flush, 8), sums);
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(flush.get(flushed, lane), kExec >> lane & 1 ? 0 : uint64_t{lane} << 33) << lane;
}

/// LDS at an address that the fragment is given.
TEST_F(Execution, Lds) {
  constexpr uint32_t kBase = 1024;
  constexpr uint64_t kExec = 0xf0f0'0000'1111'8001;
  Placed count = place("countBin");
  count.wave.lds(2 * kBase);
  count.set(count.input(Kind::LdsBlock), kBase);
  count.wave.exec(kExec);
  uint32_t expected[16] = {};
  uint64_t sum = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    count.setLane(count.parameter(0), lane, lane * 3);
    if (kExec >> lane & 1) {
      ++expected[lane * 3 % 16];
      sum += lane * 3;
    }
  }
  ASSERT_TRUE(count.run());
  for (unsigned n = 0; n < 16; ++n)
    EXPECT_EQ(count.wave.ldsWord(kBase + 4 * n), expected[n]) << n;
  EXPECT_EQ(count.wave.ldsWord(kBase + 64), sum);

  Placed take = place("takeBin");
  take.wave.exec(1);
  take.wave.lds(2 * kBase);
  take.wave.setLdsWord(kBase + 12, 55);
  take.set(take.input(Kind::LdsBlock), kBase);
  take.set(take.parameter(0), 3);
  ASSERT_TRUE(take.run());
  EXPECT_EQ(take.get(take.output(Kind::Result)), 55u + 7000 + 700000);
  EXPECT_EQ(take.wave.ldsWord(kBase + 12), 0u);
}

TEST_F(Execution, PerWorkgroupVariables) {
  Placed placed = place("countGroup");
  const uint64_t block = placed.wave.buffer(16);
  placed.set(placed.input(Kind::GroupBlock), block);
  placed.set(placed.parameter(0), 3);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(ExecTest::load<uint32_t>(block), 0u);
  EXPECT_EQ(ExecTest::load<uint64_t>(block + 8), 3u * 64);
}

TEST_F(Execution, PerWaveArray) {
  Placed placed = place("indexed");
  placed.wave.exec(1);
  const Port &array = placed.output(Kind::WaveVariable, indexOf("array"));
  ASSERT_EQ(array.regs.count, 4u);
  for (unsigned n = 0; n < 4; ++n)
    placed.wave.s(number(array.regs.first) + n) = 100 * n;
  for (unsigned n = 0; n < 8; ++n) {
    placed.set(placed.parameter(0), n);
    ASSERT_TRUE(placed.run());
  }
  for (unsigned n = 0; n < 4; ++n)
    EXPECT_EQ(placed.wave.s(number(array.regs.first) + n), 100 * n + n + n + 4);
}

TEST_F(Execution, PerWaveStructure) {
  Placed placed = place("structured");
  placed.wave.exec(1);
  const Port pair = placed.input(Kind::WaveVariable, indexOf("pair"));
  ASSERT_EQ(pair.regs.count, 2u);
  placed.set(pair, 0x00000002'00000001);
  placed.set(placed.parameter(0), 5);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(placed.get(placed.output(Kind::Result)), 6002u);
  placed.set(placed.parameter(0), 6);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(placed.get(placed.output(Kind::Result)), 6008u);
  EXPECT_EQ(placed.get(pair), 0x00000008'00000006u);
}

TEST_F(Execution, Tables) {
  Placed placed = place("lookUp");
  for (unsigned n = 0; n < 5; ++n) {
    placed.set(placed.parameter(0), n);
    ASSERT_TRUE(placed.run());
    EXPECT_EQ(placed.get(placed.output(Kind::Result)), 10 * (n % 4 + 1));
  }
}

TEST_F(Execution, UniformLoop) {
  Placed placed = place("loadsFirst");
  placed.wave.exec(1);
  const uint64_t counters = placed.variable("counters");
  for (unsigned n = 0; n < 3; ++n) {
    placed.set(placed.input(Kind::Launch), 70 + n);
    ASSERT_TRUE(placed.run());
    EXPECT_EQ(ExecTest::load<uint64_t>(counters + 8 * n), 70 + n);
    EXPECT_EQ(ExecTest::load<uint64_t>(counters + 8 * (n + 1)), 0u);
  }
}

TEST_F(Execution, LaneAtomicsCountActiveLanes) {
  for (const uint64_t exec : {uint64_t{0}, uint64_t{1}, uint64_t{0x8000'0000'0000'0001}, ~uint64_t{0}}) {
    Placed placed = place("countLane");
    placed.wave.exec(exec);
    ASSERT_TRUE(placed.run());
    EXPECT_EQ(counter(placed, 5), static_cast<uint64_t>(std::popcount(exec)));
  }
}

TEST_F(Execution, LaneAtomicsAddUp) {
  Placed placed = place("my::count(unsigned int)");
  const uint64_t exec = 0xa5a5'0000'ffff'1234;
  placed.wave.exec(exec);
  uint64_t expected = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    placed.setLane(placed.parameter(0), lane, 0xf000'0000 + lane);
    if (exec >> lane & 1)
      expected += 0xf000'0000 + lane;
  }
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(counter(placed, 3), expected);
}

TEST_F(Execution, Histogram) {
  Placed placed = place("histogram");
  const uint64_t exec = 0x0000'ffff'ffff'fff0;
  placed.wave.exec(exec);
  for (unsigned lane = 0; lane < 64; ++lane)
    placed.setLane(placed.parameter(0), lane, 5 * lane);
  ASSERT_TRUE(placed.run());
  uint64_t expected[16] = {};
  for (unsigned lane = 4; lane < 48; ++lane)
    ++expected[5 * lane % 16];
  for (unsigned n = 0; n < 16; ++n)
    EXPECT_EQ(counter(placed, n), expected[n]) << n;
}

TEST_F(Execution, LaneHelpers) {
  Placed placed = place("lanes");
  const uint64_t exec = 0xff00'0000'00f0'000f;
  placed.wave.exec(exec);
  unsigned odd = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    placed.setLane(placed.parameter(0), lane, lane % 3);
    odd += (exec >> lane & 1) && lane % 3 == 1;
  }
  ASSERT_TRUE(placed.run());
  for (unsigned lane = 0; lane < 64; ++lane)
    if (exec >> lane & 1)
      EXPECT_EQ(placed.get(placed.output(Kind::Result), lane), lane + 100 * odd + 10000 * 16);
}

TEST_F(Execution, WrittenRegistersOfSomeLanes) {
  Placed placed = place("changeVector");
  placed.wave.exec(0xff);
  const Port &own = *findPort(placed.fragment->outputs, Kind::Register);
  ASSERT_EQ(own.guest.first, vgpr(9));
  for (const Port &port : placed.fragment->inputs)
    for (unsigned lane = 0; lane < 64; ++lane)
      placed.setLane(port, lane, port.guest.first == vgpr(9) ? 1000 + lane : 1);
  ASSERT_TRUE(placed.run());
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(placed.get(own, lane), 1000 + lane + (lane < 8 && lane % 2)) << lane;
}

TEST_F(Execution, WrittenScalarRegister) {
  Placed placed = place("changeScalar");
  placed.set(placed.fragment->inputs[0], 40);
  placed.set(placed.fragment->inputs[1], 2);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(placed.get(placed.fragment->outputs[0]), 42u);
}

TEST_F(Execution, DivergentLoop) {
  Placed placed = place("loop");
  const uint64_t exec = 0xf0f0'f0f0'f0f0'f0f0;
  placed.wave.exec(exec);
  for (unsigned lane = 0; lane < 64; ++lane)
    placed.setLane(placed.parameter(0), lane, lane % 11);
  ASSERT_TRUE(placed.run());
  for (unsigned lane = 0; lane < 64; ++lane) {
    uint32_t expected = 1;
    for (uint32_t i = 0; i < lane % 11; ++i)
      expected = expected * 3 + i;
    if (exec >> lane & 1)
      EXPECT_EQ(placed.get(placed.output(Kind::Result), lane), expected) << lane;
  }
}

TEST_F(Execution, FirstLaneOnly) {
  Placed placed = place("first_only");
  placed.wave.exec(0xfff0);
  for (unsigned lane = 0; lane < 64; ++lane)
    placed.setLane(placed.parameter(0), lane, 100 + lane);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(ExecTest::load<uint32_t>(placed.variable("plain")), 104u);
}

TEST_F(Execution, CompareAndExchange) {
  Placed placed = place("swap");
  placed.wave.exec(1);
  placed.set(placed.parameter(0), 0);
  placed.set(placed.parameter(1), 5);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(placed.get(placed.output(Kind::Result)), 0u);
  placed.set(placed.parameter(0), 0);
  placed.set(placed.parameter(1), 6);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(placed.get(placed.output(Kind::Result)), 5u);
  EXPECT_EQ(ExecTest::load<uint32_t>(placed.variable("plain")), 5u);
}

TEST_F(Execution, FloatSum) {
  Placed placed = place("addFloat");
  for (unsigned lane = 0; lane < 64; ++lane)
    placed.setLane(placed.parameter(0), lane, std::bit_cast<uint32_t>(0.25f * static_cast<float>(lane)));
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(ExecTest::load<float>(placed.variable("sum")), 0.25f * 63 * 64 / 2);
}

TEST_F(Execution, SmallAndLargeParameters) {
  Placed placed = place("mixed");
  placed.set(placed.parameter(0), std::bit_cast<uint32_t>(1.5f));
  placed.set(placed.parameter(1), 0xabcd'0000 | vgpu::test::f16(0.25f)); // what is above a small value does not matter
  placed.set(placed.parameter(2), 0xffff'ff01);
  placed.set(placed.parameter(3), 0x1234'0000 | static_cast<uint16_t>(-3));
  placed.set(placed.parameter(4), std::bit_cast<uint64_t>(100.0));
  placed.set(placed.parameter(5), 0x5555'5507);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(std::bit_cast<double>(placed.get(placed.output(Kind::Result), 63)), 1.5 + 0.25 - 3 + 100 + 7);

  Placed four = place("addFour");
  for (unsigned n = 0; n < 4; ++n)
    four.wave.setVector(number(four.parameter(0).regs.first) - number(Reg::V0) + n, 1u << n);
  ASSERT_TRUE(four.run());
  EXPECT_EQ(four.get(four.output(Kind::Result), 5), 15u);
}

TEST_F(Execution, ConditionsAsNumbers) {
  Placed placed = place("conditions");
  placed.wave.exec(1);
  const Port &variable = placed.input(Kind::WaveVariable, indexOf("plainWave"));
  placed.set(variable, 5);
  for (const uint32_t x : {7u, 9u, 200u, 201u}) {
    placed.set(placed.parameter(0), x);
    ASSERT_TRUE(placed.run());
    EXPECT_EQ(placed.get(placed.output(Kind::Result)), (x == 7) + 2u * (x > 100)) << x;
  }
  EXPECT_EQ(placed.get(variable), 7u);
}

TEST_F(Execution, Structures) {
  const auto words = [](const auto &structure) {
    std::vector<uint32_t> result((sizeof structure + 3) / 4);
    std::memcpy(result.data(), &structure, sizeof structure);
    return result;
  };
  struct Bounds {
    uint64_t begin = 0x1'0000'0000, end = 0x2'0000'0000;
    struct {
      float scale = 77;
      uint8_t id = 200;
    } inner;
    bool inverted = false;
  } bounds;
  Placed within = place("within");
  for (unsigned lane = 0; lane < 64; ++lane)
    within.setLane(within.parameter(0), lane, 0x1000'0000ull * lane);
  within.setWords(within.parameter(1), words(bounds));
  ASSERT_TRUE(within.run());
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(within.get(within.output(Kind::Result), lane), lane >= 16 && lane < 32 ? 200u : 77u) << lane;
  bounds.inverted = true;
  within.setWords(within.parameter(1), words(bounds));
  ASSERT_TRUE(within.run());
  EXPECT_EQ(within.get(within.output(Kind::Result), 20), 77u);

  Placed odd = place("odd");
  odd.wave.exec(1);
  odd.setWords(odd.parameter(0), words(std::array<uint16_t, 3>{1, 2, 3}));
  odd.set(odd.parameter(1), 0xee04'ffff); // what is above a small member does not matter
  odd.set(odd.parameter(2), 0x0000'4e20);
  ASSERT_TRUE(odd.run());
  EXPECT_EQ(odd.get(odd.output(Kind::Result)), 1u + 20 + 300 + 4000 + 20000);

  Placed ends = place("ends");
  ends.wave.exec(1);
  std::array<uint32_t, 20> table = {};
  table[0] = 5;
  table[19] = 6;
  ends.setWords(ends.parameter(0), table);
  ends.set(ends.parameter(1), 100);
  ASSERT_TRUE(ends.run());
  EXPECT_EQ(ends.get(ends.output(Kind::Result)), 5106u);
}

TEST_F(Execution, FarPartsOfVariables) {
  Placed placed = place("far");
  placed.wave.exec(2);
  placed.set(placed.parameter(0), 0x1235);
  ASSERT_TRUE(placed.run());
  EXPECT_EQ(ExecTest::load<uint32_t>(placed.variable("large") + 4 * 77778), 0x1235u);
}

TEST_F(Execution, Arithmetic) {
  Placed divide = place("divide");
  const std::vector<std::pair<float, float>> floats = {{1.0f, 3.0f},   {-7.5f, 0.1f}, {1e38f, 1e-5f},
                                                       {1e-40f, 3.0f}, {0.0f, 0.0f},  {2.0f, -0.0f}};
  for (unsigned lane = 0; lane < floats.size(); ++lane) {
    divide.setLane(divide.parameter(0), lane, std::bit_cast<uint32_t>(floats[lane].first));
    divide.setLane(divide.parameter(1), lane, std::bit_cast<uint32_t>(floats[lane].second));
  }
  ASSERT_TRUE(divide.run());
  for (unsigned lane = 0; lane < floats.size(); ++lane) {
    const float expected = floats[lane].first / floats[lane].second;
    const auto got = std::bit_cast<float>(static_cast<uint32_t>(divide.get(divide.output(Kind::Result), lane)));
    if (expected != expected)
      EXPECT_NE(got, got);
    else
      EXPECT_EQ(got, expected) << lane;
  }

  Placed wide = place("divide64");
  wide.set(wide.parameter(0), std::bit_cast<uint64_t>(1.0));
  wide.set(wide.parameter(1), std::bit_cast<uint64_t>(3.0));
  ASSERT_TRUE(wide.run());
  EXPECT_EQ(std::bit_cast<double>(wide.get(wide.output(Kind::Result), 9)), 1.0 / 3.0);

  Placed remainder = place("remainder");
  remainder.wave.exec(1);
  for (const auto &[a, b] :
       {std::pair<uint64_t, uint64_t>(1'000'000'007, 10), {0xdead'beef'dead'beef, 0x1'2345'6789}}) {
    remainder.set(remainder.parameter(0), a);
    remainder.set(remainder.parameter(1), b);
    ASSERT_TRUE(remainder.run());
    EXPECT_EQ(remainder.get(remainder.output(Kind::Result)), a % b);
  }
}

/// Placed::run looks at EXEC. Inputs are there at the end as well, in all lanes.
TEST_F(Execution, ExecAndInputsSurvive) {
  for (const Hook &hook : module->hooks())
    for (const uint64_t exec : {uint64_t{1} << 40, uint64_t{0xf0f0'0000'1111'8001}, ~uint64_t{0}}) {
      SCOPED_TRACE(hook.name);
      Placed placed = place(hook.name);
      ASSERT_TRUE(placed.fragment);
      placed.wave.exec(exec);
      const uint64_t memory = placed.wave.buffer(4096);
      placed.wave.lds(4096);
      std::vector<std::pair<Port, uint64_t>> kept;
      for (const Port &port : placed.fragment->inputs) {
        const uint64_t value = port.regs.count == 2 ? memory : port.kind == Kind::LdsBlock ? 512 : 11;
        placed.set(port, value);
        if (!findPort(placed.fragment->outputs, port.kind, port.index))
          kept.emplace_back(port, value);
      }
      ASSERT_TRUE(placed.run());
      for (const auto &[port, value] : kept)
        if (port.regs.count <= 2)
          for (unsigned lane = 0; lane < 64; ++lane)
            ASSERT_EQ(placed.get(port, lane), value) << toString(port.regs) << " lane " << lane;
    }
}

/// With no lane active, a fragment that says so does nothing at all.
TEST_F(Execution, SafeWhenEmpty) {
  for (const Hook &hook : module->hooks()) {
    Placed placed = place(hook.name);
    ASSERT_TRUE(placed.fragment);
    if (!placed.fragment->safeWhenEmpty)
      continue;
    SCOPED_TRACE(hook.name);
    placed.wave.exec(0);
    for (const Port &port : placed.fragment->inputs)
      placed.set(port, 0x1111'1111'1111'1111);
    std::vector<uint64_t> before;
    for (const Port &port : placed.fragment->outputs)
      before.push_back(placed.get(port, 3));
    ASSERT_TRUE(placed.run());
    for (size_t n = 0; n < before.size(); ++n)
      EXPECT_EQ(placed.get(placed.fragment->outputs[n], 3), before[n]);
    for (const FragmentRelocation &relocation : placed.fragment->relocations) {
      const Variable &variable = module->variables()[relocation.variable];
      const uint64_t address = placed.variable(variable.name);
      for (uint64_t n = 0; n < variable.size; ++n)
        EXPECT_EQ(ExecTest::load<uint8_t>(address + n),
                  variable.contents.empty() ? 0 : static_cast<uint8_t>(variable.contents[n]));
    }
  }
}

} // namespace
} // namespace luthier::hook
