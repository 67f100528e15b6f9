// Functions of ROCm's device library in hooks, against the host's.

#include "placed.h"

#include <bit>
#include <cmath>

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

class DeviceLibrary : public testing::TestWithParam<WaveKind> {
protected:
  void SetUp() override {
    if (std::string(MATH_HOOKS).empty())
      GTEST_SKIP() << "HIP's headers or the device library are not installed";
    module_ = load(MATH_HOOKS);
    ASSERT_TRUE(module_);
  }
  Placed place(const std::string &name) {
    return Placed(module_, plainRequest(*module_, name), GetParam().target, GetParam().lanes);
  }
  /// Lane by lane, with `ulps` units of the last place between the two.
  template <class T> void compare(const std::string &name, T (*host)(T), double ulps, T from, T to) {
    SCOPED_TRACE(name);
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    Placed placed = place(name);
    const auto input = [&](unsigned lane) {
      return from + (to - from) * static_cast<T>(lane) / static_cast<T>(GetParam().lanes);
    };
    for (unsigned lane = 0; lane < GetParam().lanes; ++lane)
      placed.setLane(placed.parameter(0), lane, std::bit_cast<Bits>(input(lane)));
    ASSERT_TRUE(placed.run());
    for (unsigned lane = 0; lane < GetParam().lanes; ++lane) {
      const T got = std::bit_cast<T>(static_cast<Bits>(placed.get(placed.output(Kind::Result), lane)));
      const T expected = host(input(lane));
      const T unit = std::abs(std::nextafter(expected, T(INFINITY)) - expected);
      EXPECT_NEAR(got, expected, ulps * unit) << input(lane);
    }
  }

  std::shared_ptr<const HookModule> module_;
};

TEST_P(DeviceLibrary, MathFunctions) {
  compare<float>("sine", std::sin, 4, -30.0f, 1e6f); // large ones need the long way
  compare<float>("exponential", std::exp, 2, -80.0f, 80.0f);
  compare<double>("logarithm", std::log, 2, 1e-300, 1e300);
  Placed power = place("power"), hypotenuse = place("hypotenuse");
  for (Placed *placed : {&power, &hypotenuse})
    for (unsigned lane = 0; lane < GetParam().lanes; ++lane) {
      placed->setLane(placed->parameter(0), lane, std::bit_cast<uint32_t>(0.5f + static_cast<float>(lane)));
      placed->setLane(placed->parameter(1), lane, std::bit_cast<uint32_t>(2.25f - 0.125f * static_cast<float>(lane)));
    }
  ASSERT_TRUE(power.run());
  ASSERT_TRUE(hypotenuse.run());
  for (unsigned lane = 0; lane < GetParam().lanes; ++lane) {
    const float x = 0.5f + static_cast<float>(lane), y = 2.25f - 0.125f * static_cast<float>(lane);
    const auto result = [&](Placed &placed) {
      return std::bit_cast<float>(static_cast<uint32_t>(placed.get(placed.output(Kind::Result), lane)));
    };
    EXPECT_NEAR(result(power) / std::pow(x, y), 1, 1e-6) << lane;
    EXPECT_NEAR(result(hypotenuse) / std::hypot(x, y), 1, 1e-6) << lane;
  }
}

TEST_P(DeviceLibrary, ValuesOfTheLaunch) {
  Placed placed = place("globalId");
  const uint64_t packet = placed.wave.buffer(64);
  ExecTest::at<uint16_t>(packet)[2] = 48;  // workgroup_size_x
  ExecTest::at<uint32_t>(packet)[3] = 480; // grid_size_x
  for (const Port &port : placed.fragment->inputs) {
    ASSERT_EQ(port.kind, Kind::Launch);
    switch (static_cast<LaunchValue>(port.launch)) {
    case LaunchValue::WorkgroupIdX:
      placed.set(port, 3);
      break;
    case LaunchValue::WorkitemIdX:
      for (unsigned lane = 0; lane < GetParam().lanes; ++lane)
        placed.setLane(port, lane, 100 + lane);
      break;
    case LaunchValue::DispatchPtr:
      placed.set(port, packet);
      break;
    default:
      FAIL() << "asks for " << kLaunchValueNames[port.launch];
    }
  }
  ASSERT_TRUE(placed.run());
  for (unsigned lane = 0; lane < GetParam().lanes; ++lane)
    EXPECT_EQ(placed.get(placed.output(Kind::Result), lane), 3 * 48 + 100 + lane);
}

TEST_P(DeviceLibrary, WaveHooks) {
  Placed root = place("root");
  root.wave.exec(1);
  root.set(root.parameter(0), std::bit_cast<uint32_t>(2.0f));
  ASSERT_TRUE(root.run());
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(root.get(root.output(Kind::Result)))), std::sqrt(2.0f));
  Placed zeros = place("leadingZeros");
  for (unsigned lane = 0; lane < GetParam().lanes; ++lane)
    zeros.setLane(zeros.parameter(0), lane, 1u << lane % 32);
  ASSERT_TRUE(zeros.run());
  for (unsigned lane = 0; lane < GetParam().lanes; ++lane)
    EXPECT_EQ(zeros.get(zeros.output(Kind::Result), lane), 31 - lane % 32);
}

INSTANTIATE_TEST_SUITE_P(Targets, DeviceLibrary,
                         testing::Values(WaveKind{"gfx90a", 64}, WaveKind{"gfx1030", 32}, WaveKind{"gfx1030", 64},
                                         WaveKind{"gfx1100", 32}, WaveKind{"gfx1201", 32}));

} // namespace
} // namespace luthier::hook
