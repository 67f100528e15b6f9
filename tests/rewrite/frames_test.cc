// Hooks with memory of their own, function pointers and recursion, on every generation: they compute what the same
// computation on the host does, and kernels do not notice.
#include "trace_fixture.h"

#include <algorithm>

namespace luthier::rewrite::test {
namespace {

struct Kind {
  const char *target;
  unsigned waveSize;
};
void PrintTo(const Kind &kind, std::ostream *out) { *out << kind.target << " wave" << kind.waveSize; }

// The truth: what the hooks of frame_hooks.hip say, said in another way.

uint32_t next(uint32_t random) { return random * 1664525 + 1013904223; }
uint32_t hashOfSorted(uint32_t random, unsigned count, unsigned shift) {
  std::vector<uint32_t> values(count);
  for (uint32_t &value : values)
    value = (random = next(random)) >> shift;
  std::ranges::sort(values);
  uint32_t sum = 0;
  for (const uint32_t value : values)
    sum = sum * 31 + value;
  return sum;
}
uint32_t sorted(uint32_t random) { return hashOfSorted(random, 9 + random % 16, 8); }
uint32_t quickSorted(uint32_t random) { return hashOfSorted(random, 12, 20); }
uint32_t either(uint32_t n) { return n & 4 ? n + (n & 3) : 1000 * ((n & 3) + 1); }
template <class T> uint64_t mixed(uint32_t n) {
  std::array<T, 8> values{};
  for (uint32_t i = 0; i < 8; ++i) {
    values.at((i * n | 1) & 7) = static_cast<T>(n * (i + 3));
    values.at((i * 2) & 7) = static_cast<T>(i - n);
  }
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 8; ++i)
    sum = sum * 3 + static_cast<uint64_t>(values.at((i + n) & 7));
  return sum;
}
uint64_t sizes(uint32_t n) { return mixed<uint8_t>(n) ^ mixed<uint16_t>(n) << 8 ^ mixed<uint64_t>(n); }
uint32_t vectors(uint32_t seed, uint32_t lane) {
  const auto at = [&](uint32_t n) { return n == ((seed + lane) & 15) ? 77 : (seed * n ^ lane); };
  return at(lane & 15) + at((lane + seed) & 15);
}
uint32_t operate(uint32_t n) {
  const uint32_t a = n, b = n + 5;
  switch (n & 8 ? 2 : n & 3) {
  case 0:
    return a + b;
  case 1:
    return a - b;
  case 2:
    return a * b;
  default:
    uint32_t result = 1;
    for (uint32_t k = 0; k < (b & 7); ++k)
      result *= a;
    return result + 1;
  }
}
uint32_t fibonacci(uint32_t n) { // from below
  uint32_t a = 0, b = 1;
  for (; n; --n)
    a = std::exchange(b, a + b);
  return a;
}
uint32_t ackermann(uint32_t m, uint32_t n) { return m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3; } // m < 3
uint32_t areas(uint32_t seed, uint32_t lane) { return lane % 2 ? 6 * lane * lane : seed * seed; }

/// Hooks by name; what they record for a seed and a lane.
struct Case {
  const char *hook;
  uint64_t (*expected)(uint32_t seed, uint32_t lane); ///< lane 0 for wave hooks
};
const Case kCases[] = {
    {"sortLane", [](uint32_t s, uint32_t l) -> uint64_t { return sorted(s + l); }},
    {"sortWave", [](uint32_t s, uint32_t) -> uint64_t { return sorted(s); }},
    {"eitherLane", [](uint32_t s, uint32_t l) -> uint64_t { return either(s + l); }},
    {"eitherWave", [](uint32_t s, uint32_t) -> uint64_t { return either(s); }},
    {"sizesLane", [](uint32_t s, uint32_t l) -> uint64_t { return sizes((s + l) | 1); }},
    {"vectorLane", [](uint32_t s, uint32_t l) -> uint64_t { return vectors(s, l); }},
    {"operateLane", [](uint32_t s, uint32_t l) -> uint64_t { return operate(s + l); }},
    {"operateWave", [](uint32_t s, uint32_t) -> uint64_t { return operate(s); }},
    {"virtualLane", [](uint32_t s, uint32_t l) -> uint64_t { return areas(s, l); }},
    {"fibonacciLane", [](uint32_t s, uint32_t l) -> uint64_t { return fibonacci((s + l) % 11); }},
    {"fibonacciWave", [](uint32_t s, uint32_t) -> uint64_t { return fibonacci(s % 13); }},
    {"ackermannLane", [](uint32_t s, uint32_t l) -> uint64_t { return ackermann(l % 3, (s + l) % 4); }},
    {"quickSortLane", [](uint32_t s, uint32_t l) -> uint64_t { return quickSorted(s + l); }},
    {"quickSortWave", [](uint32_t s, uint32_t) -> uint64_t { return quickSorted(s); }},
};

class FramesTest : public testing::TestWithParam<Kind> {
protected:
  FramesTest() : machine_(GetParam().target) {}

  static std::string fileOf(const char *name) {
    return fmt::format("{}/{}_{}_{}.co", TARGET_KERNELS, name, GetParam().target, GetParam().waveSize);
  }
  /// The rewritten kernel computes the same, on all machines.
  Outcome expectTransparent(Subject &subject, std::string_view kernel, const std::vector<Insertion> &insertions) {
    const auto file = subject.rewritten(kernel, insertions);
    RunOptions options{.grid = {128}, .workgroup = {64}};
    options.resources = 7;
    expectSame(machine_, subject, file, kernel, options);
    options.resources.reset();
    return expectSame(machine_, subject, file, kernel, options);
  }

  Machine machine_;
};

/// At a kernel's start and end, in kernels without scratch of their own and with.
TEST_P(FramesTest, HooksCompute) {
  constexpr uint32_t kSeeds[] = {1, 6, 12345};
  for (const auto &[file, kernel] :
       {std::pair("assembled", "conditions"), std::pair("hard", "stack"), std::pair("hard", "recursive")}) {
    Subject subject(fileOf(file), FRAME_HOOKS);
    std::vector<Insertion> insertions;
    for (uint32_t n = 0; n < std::size(kCases); ++n)
      for (uint32_t s = 0; s < std::size(kSeeds); ++s)
        insertions.push_back(subject.at(s % 2 ? Position::KernelExit : Position::KernelEntry, 0, kCases[n].hook,
                                        {Argument::constant(n * 16 + s), Argument::constant(kSeeds[s])}));
    const Outcome outcome = expectTransparent(subject, kernel, insertions);
    std::vector<std::vector<unsigned>> seen(std::size(kCases), std::vector<unsigned>(std::size(kSeeds)));
    for (const Record &record : recordsOf(outcome)) {
      const uint32_t n = record.what / 16, s = record.what % 16;
      ASSERT_LT(n, std::size(kCases));
      ASSERT_LT(s, std::size(kSeeds));
      ++seen[n][s];
      ASSERT_EQ(record.value, kCases[n].expected(kSeeds[s], record.lane == kWholeWave ? 0 : record.lane))
          << kCases[n].hook << " with " << kSeeds[s] << " in lane " << record.lane << " of " << kernel;
    }
    for (uint32_t n = 0; n < std::size(kCases); ++n)
      for (uint32_t s = 0; s < std::size(kSeeds); ++s)
        EXPECT_EQ(seen[n][s], std::string_view(kCases[n].hook).ends_with("Wave") ? 128 / GetParam().waveSize : 128)
            << kCases[n].hook;
  }
}

/// A variable per wave that is indexed by a variable keeps its value from hook to hook.
TEST_P(FramesTest, IndexedPerWave) {
  Subject subject(fileOf("assembled"), FRAME_HOOKS);
  std::vector<Insertion> insertions;
  for (uint32_t n = 0; n < 20; ++n)
    insertions.push_back(
        subject.at(Position::KernelEntry, 0, "countIn", {Argument::constant(n), Argument::constant(n + 1)}));
  insertions.push_back(subject.at(Position::KernelExit, 0, "readBins", {Argument::constant(0)}));
  std::array<uint32_t, 8> expected{};
  for (uint32_t n = 0; n < 20; ++n)
    expected[n % 8] += n + 1;
  const auto records = recordsOf(expectTransparent(subject, "conditions", insertions));
  EXPECT_EQ(records.size(), 8u * 128 / GetParam().waveSize);
  for (const Record &record : records)
    EXPECT_EQ(record.value, expected.at(record.what));
}

/// Garbage in a frame, registers and calls, before every instruction.
TEST_P(FramesTest, Hostile) {
  for (const auto &[file, kernels] :
       {std::pair("assembled", std::vector{"conditions", "twoLeft", "sgprsOnly", "vgprsOnly"}),
        std::pair("hard", std::vector{"stack", "switches", "recursive"})}) {
    Subject subject(fileOf(file), FRAME_HOOKS);
    for (const char *kernel : kernels)
      for (const char *hook : {"hostileLane", "hostileWave"}) {
        SCOPED_TRACE(fmt::format("{} in {}", hook, kernel));
        unsigned n = 0;
        const bool crowded = kernel == std::string_view("twoLeft") || std::string_view(kernel).ends_with("Only");
        const unsigned every = kernel == std::string_view("recursive") ? 13 : 3; // it executes many
        const auto insertions = subject.everywhere(kernel, [&](const Instr &instr, auto &list) {
          if (crowded ? instr.mnemonic() == "s_nop" : n % every == 0)
            list.push_back(subject.before(instr, hook, {Argument::constant(n)}));
          ++n;
        });
        ASSERT_FALSE(insertions.empty());
        const object::KernelDescriptor before = must(subject.file.object.descriptor(subject.file.kernel(kernel)));
        const Rewrite rewrite = subject.rewrite(kernel, insertions);
        EXPECT_GE(rewrite.variant.descriptor.privateSegmentSize, before.privateSegmentSize + 512);
        EXPECT_EQ(rewrite.variant.metadata.privateSegmentFixedSize, rewrite.variant.descriptor.privateSegmentSize);
        expectTransparent(subject, kernel, insertions);
      }
  }
}

/// Behind a stack that grows as the kernel calls itself, where HooksCompute and Hostile put frames too.
TEST_P(FramesTest, BehindADynamicStack) {
  Subject subject(fileOf("hard"), FRAME_HOOKS);
  const object::KernelDescriptor before = must(subject.file.object.descriptor(subject.file.kernel("recursive")));
  ASSERT_TRUE(before.dynamicStack());
  const Insertion insertion =
      subject.at(Position::KernelEntry, 0, "sortLane", {Argument::constant(0), Argument::constant(1)});
  const Rewrite rewrite = subject.rewrite("recursive", {&insertion, 1});
  EXPECT_GE(rewrite.variant.descriptor.privateSegmentSize, before.privateSegmentSize + 96);
}

/// As deep as it says, and one call deeper.
TEST_P(FramesTest, TooDeep) {
  Subject subject(fileOf("assembled"), FRAME_HOOKS);
  for (const uint32_t seed : {0u, 1u}) {
    const std::vector<Insertion> insertions = {
        subject.at(Position::KernelEntry, 0, "deepLane", {Argument::constant(0), Argument::constant(seed)})};
    const Outcome outcome =
        machine_.run(subject.rewritten("conditions", insertions), "conditions", {.grid = {128}, .workgroup = {64}});
    if (seed)
      EXPECT_THAT(outcome.error, testing::HasSubstr("trap"));
    else
      EXPECT_EQ(outcome.error, "");
    for (const Record &record : recordsOf(outcome))
      EXPECT_EQ(record.value, 3u);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FramesTest,
                         testing::Values(Kind{"gfx908", 64}, Kind{"gfx90a", 64}, Kind{"gfx942", 64},
                                         Kind{"gfx1010", 32}, Kind{"gfx1030", 32}, Kind{"gfx1030", 64},
                                         Kind{"gfx1100", 32}, Kind{"gfx1100", 64}, Kind{"gfx1201", 32},
                                         Kind{"gfx1201", 64}),
                         [](const auto &info) { return fmt::format("{}_{}", info.param.target, info.param.waveSize); });

} // namespace
} // namespace luthier::rewrite::test
