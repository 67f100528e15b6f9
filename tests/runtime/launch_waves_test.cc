#include "runtime/launch_waves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace luthier::runtime::test {
namespace {

TEST(LaunchWaves, WorkgroupsAtTheEndsAreSmaller) {
  EXPECT_EQ(wavesOf({500, 1, 1}, {256, 1, 1}, 64), 4u + 4u); // 256 and 244
  EXPECT_EQ(wavesOf({300, 1, 1}, {256, 1, 1}, 64), 4u + 1u);
  EXPECT_EQ(wavesOf({64, 1, 1}, {256, 1, 1}, 32), 2u);
  EXPECT_EQ(wavesOf({33, 17, 1}, {16, 16, 1}, 64), 2u * 4u + 1u + 2u * 1u + 1u);
}

TEST(LaunchWaves, OneByOne) {
  std::mt19937 random(1);
  const auto upTo = [&](uint32_t most) { return 1 + static_cast<uint32_t>(random() % most); };
  for (int round = 0; round < 300; ++round) {
    const Dim3 grid{upTo(40), upTo(20), upTo(10)};
    const Dim3 size{upTo(16), upTo(8), upTo(8)};
    const unsigned waveSize = round % 2 ? 64 : 32;
    uint64_t waves = 0, items = 0;
    for (uint32_t x = 0; x < grid.x; x += size.x)
      for (uint32_t y = 0; y < grid.y; y += size.y)
        for (uint32_t z = 0; z < grid.z; z += size.z) {
          const uint64_t here =
              uint64_t{std::min(size.x, grid.x - x)} * std::min(size.y, grid.y - y) * std::min(size.z, grid.z - z);
          waves += (here + waveSize - 1) / waveSize;
          items += here;
        }
    EXPECT_EQ(wavesOf(grid, size, waveSize), waves);
    EXPECT_EQ(workItemsOf(grid), items);
  }
}

} // namespace
} // namespace luthier::runtime::test
