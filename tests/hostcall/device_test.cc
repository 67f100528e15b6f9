// Kernels on the virtual GPU call our consumer: ours, with luthier/hostcall.h, and those of AMD's device libraries.
#include "consumer_fixture.h"

#include "hostcall/stacks.h"
#include "luthier/vgpu.h"
#include "object/code_object.h"
#include "object/mapped_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <latch>
#include <set>
#include <sstream>
#include <thread>

namespace luthier::hostcall {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using vgpu::Arguments;

/// A virtual GPU, and a consumer whose doorbell the GPU can reach.
class DeviceTest : public ConsumerTest {
protected:
  void SetUp() override {
    auto gpu = vgpu::VirtualGpu::create({.threads = 2});
    ASSERT_TRUE(gpu) << gpu.error().message();
    gpu_ = std::move(*gpu);
    load(HOSTCALL_KERNELS);
    consumer_ = launchConsumer(allocate<wire::Signal>(1));
  }
  void TearDown() override {
    consumer_.reset();
    module_.reset();
    gpu_.reset();
  }

  void load(const char *path) {
    auto module = gpu_->loadFile(path);
    ASSERT_TRUE(module) << module.error().message();
    module_ = std::move(*module);
  }

  template <class T> T *allocate(uint64_t count) {
    auto memory = gpu_->allocate<T>(count);
    EXPECT_TRUE(memory);
    return *memory;
  }
  /// A buffer in GPU memory, registered with a consumer unless there is none.
  void *makeBuffer(uint32_t packets, Consumer *consumer) {
    void *memory = allocate<char>(bufferBytes(packets));
    EXPECT_TRUE(initializeBuffer(memory, packets));
    if (consumer)
      EXPECT_TRUE(consumer->registerBuffer(memory));
    return memory;
  }
  void *makeBuffer(uint32_t packets = 64) { return makeBuffer(packets, consumer_.get()); }

  vgpu::RunningLaunch start(const char *kernel, uint32_t grid, uint32_t workgroup, const Arguments &arguments,
                            void *hidden = nullptr) {
    const vgpu::Kernel *found = module_->kernel(kernel);
    EXPECT_TRUE(found) << kernel;
    auto launch = gpu_->launch(*found, {.grid = {grid}, .workgroup = {workgroup}, .hostcallBuffer = hidden}, arguments);
    EXPECT_TRUE(launch) << launch.error().message();
    return *launch;
  }
  void run(const char *kernel, uint32_t grid, uint32_t workgroup, const Arguments &arguments, void *hidden = nullptr) {
    auto report = start(kernel, grid, workgroup, arguments, hidden).wait();
    EXPECT_TRUE(report) << report.error().message();
  }

  /// Service 42 answers with the sum of the words, and the first one; 43 with the first one and a half.
  void serveSums() {
    serve(42, [](uint32_t, uint64_t *payload) {
      const uint64_t first = payload[0];
      for (int n = 1; n < 8; ++n)
        payload[0] += payload[n];
      payload[0] += 1;
      payload[1] = first;
      return 0;
    });
    serve(43, [](uint32_t, uint64_t *payload) {
      payload[0] += 10 + payload[1];
      return 0;
    });
  }

  std::vector<std::string> sortedLines() {
    std::vector<std::string> lines;
    std::istringstream text(standardOutput());
    for (std::string line; std::getline(text, line);)
      lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  static void expectAllFree(void *buffer) {
    auto view = BufferView::of(buffer);
    ASSERT_TRUE(view);
    std::set<wire::Header *> free;
    while (const uint64_t pointer = popFree(*view))
      free.insert(view->find(pointer));
    EXPECT_EQ(free.size(), view->packets());
  }

  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  std::unique_ptr<vgpu::Module> module_;
  std::unique_ptr<Consumer> consumer_;
};

template <class... T> std::string format(const char *text, T... values) {
  char line[512];
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
  snprintf(line, sizeof line, text, values...);
#pragma clang diagnostic pop
  return line;
}

TEST(HostcallHeader, NoKernelNeedsAStack) {
  for (const char *path : {HOSTCALL_KERNELS, HOSTCALL_KERNELS_V5, HOSTCALL_OTHER_KERNELS}) {
    auto file = object::MappedFile::open(path);
    ASSERT_TRUE(file) << file.error().message();
    auto code = object::CodeObject::parse(file->bytes(), path);
    ASSERT_TRUE(code) << code.error().message();
    auto metadata = code->metadata();
    ASSERT_TRUE(metadata) << metadata.error().message();
    EXPECT_GT(metadata->kernels.size(), 10u) << path;
    for (const object::KernelMetadata &kernel : metadata->kernels) {
      EXPECT_EQ(kernel.privateSegmentFixedSize, 0u) << path << ", " << kernel.name;
      EXPECT_FALSE(kernel.usesDynamicStack.value_or(false)) << path << ", " << kernel.name;
    }
  }
}

TEST_F(DeviceTest, OneWorkItem) {
  serveSums();
  auto *answers = allocate<uint64_t>(2);
  run("callAll", 1, 1, Arguments(makeBuffer(1), answers));
  EXPECT_EQ(answers[0], 0 + 28 + 1u);
  EXPECT_EQ(answers[1], 0u);
}

TEST_F(DeviceTest, ManyWaves) {
  serveSums();
  const uint32_t items = 100 * 256 + 17;
  auto *answers = allocate<uint64_t>(2 * items);
  void *buffer = makeBuffer(512);
  run("callAll", items, 256, Arguments(buffer, answers));
  for (uint32_t i = 0; i < items; ++i) {
    ASSERT_EQ(answers[2 * i], i + 29u);
    ASSERT_EQ(answers[2 * i + 1], i);
  }
  expectAllFree(buffer);
}

TEST_F(DeviceTest, MaskedLanes) {
  std::atomic<int> calls = 0;
  serve(42, [&](uint32_t, uint64_t *payload) {
    ++calls;
    payload[0] += 1000;
    return 0;
  });
  auto *answers = allocate<uint64_t>(64);
  void *buffer = makeBuffer();
  for (uint64_t mask : {uint64_t{0x8421}, uint64_t{1} << 63, UINT64_MAX, uint64_t{0xaaaaaaaa00000000}}) {
    calls = 0;
    std::fill_n(answers, 64, 7);
    run("callMasked", 64, 64, Arguments(buffer, mask, answers));
    EXPECT_EQ(calls, std::popcount(mask));
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(answers[lane], mask >> lane & 1 ? lane + 1000 : 7) << lane;
  }
}

TEST_F(DeviceTest, DivergentCallers) {
  serveSums();
  const uint32_t items = 1000;
  auto *answers = allocate<uint64_t>(items);
  void *buffer = makeBuffer();
  run("callDivergent", items, 128, Arguments(buffer, answers));
  for (uint32_t i = 0; i < items; ++i) {
    uint64_t value = i;
    for (uint32_t n = 0; n < i % 5; ++n) {
      value = i % 3 == 0 ? value + 1 : value + 10 + n;
      if (value % 7 == 0)
        break;
    }
    ASSERT_EQ(answers[i], value) << i;
  }
  expectAllFree(buffer);
}

TEST_F(DeviceTest, MoreWavesThanPackets) {
  serveSums();
  const uint32_t items = 64 * 200;
  auto *answers = allocate<uint64_t>(items);
  void *buffer = makeBuffer(2);
  run("callOften", items, 256, Arguments(buffer, 3u, answers));
  for (uint32_t i = 0; i < items; ++i)
    ASSERT_EQ(answers[i], i + 3);
  expectAllFree(buffer);
}

TEST_F(DeviceTest, TagsWrapAround) {
  serveSums();
  void *buffer = makeBuffer(3, nullptr);
  auto view = BufferView::of(buffer);
  for (int n = 0; n < 3; ++n)
    popFree(*view);
  const uint64_t high = UINT64_MAX - view->mask() - 4 * 10;
  for (uint64_t n = 0; n < 3; ++n)
    pushFree(*view, high | n);
  ASSERT_TRUE(consumer_->registerBuffer(buffer));
  auto *answers = allocate<uint64_t>(256);
  run("callOften", 256, 64, Arguments(buffer, 40u, answers));
  for (uint32_t i = 0; i < 256; ++i)
    ASSERT_EQ(answers[i], i + 40);
  EXPECT_LT(view->shared().freeStack, high);
  expectAllFree(buffer);
}

TEST_F(DeviceTest, WordsOfAllTypes) {
  std::mutex mutex; // ThreadSanitizer does not see that the kernel's end comes after its answers
  std::vector<uint64_t> words, none;
  serve(44, [&](uint32_t, uint64_t *payload) {
    std::lock_guard lock(mutex);
    words.assign(payload, payload + 8);
    return 0;
  });
  serve(45, [&](uint32_t, uint64_t *payload) {
    std::lock_guard lock(mutex);
    none.assign(payload, payload + 8);
    return 0;
  });
  void *buffer = makeBuffer();
  run("callTypes", 1, 1, Arguments(buffer, allocate<uint64_t>(1)));
  std::lock_guard lock(mutex);
  EXPECT_THAT(words,
              ElementsAre(static_cast<uint64_t>(-5), 3, std::bit_cast<uint64_t>(1.5), std::bit_cast<uint64_t>(2.25),
                          static_cast<uint64_t>(-3), reinterpret_cast<uintptr_t>(buffer), 1, 'x'));
  EXPECT_THAT(none, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_F(DeviceTest, HiddenArgument) {
  serveSums();
  for (const char *kernels : {HOSTCALL_KERNELS, HOSTCALL_KERNELS_V5}) {
    load(kernels);
    auto *answers = allocate<uint64_t>(64);
    run("callHidden", 64, 64, Arguments(answers), makeBuffer());
    EXPECT_EQ(answers[63], 64u);
  }
}

TEST_F(DeviceTest, DefaultHandler) {
  serve(0, [](uint32_t service, uint64_t *payload) {
    payload[0] = service;
    return 0;
  });
  auto *answers = allocate<uint64_t>(2);
  run("callAll", 1, 1, Arguments(makeBuffer(), answers));
  EXPECT_EQ(answers[0], 42u);
}

TEST_F(DeviceTest, UnknownService) {
  auto *answers = allocate<uint64_t>(2);
  run("callAll", 1, 1, Arguments(makeBuffer(), answers));
  ASSERT_EQ(errors().size(), 1u);
  EXPECT_EQ(errors()[0].text, "hostcall fatal error: no handler found for service 42");
}

TEST_F(DeviceTest, BlockedHandlerStallsOnlyItsQueue) {
  std::latch blocked(1), release(1);
  serve(42, [&](uint32_t, uint64_t *payload) {
    if (payload[0] == 0 && !blocked.try_wait()) {
      blocked.count_down();
      release.wait();
    }
    payload[0] += 1;
    return 0;
  });
  auto other = launchConsumer(allocate<wire::Signal>(1));
  auto *stalledAnswers = allocate<uint64_t>(64), *answers = allocate<uint64_t>(640);
  const auto stalled = start("callOften", 64, 64, Arguments(makeBuffer(), 1u, stalledAnswers));
  blocked.wait();
  run("callOften", 640, 64, Arguments(makeBuffer(16, other.get()), 20u, answers));
  EXPECT_EQ(answers[639], 639 + 20u);
  EXPECT_FALSE(stalled.finished());
  release.count_down();
  EXPECT_TRUE(stalled.wait());
  EXPECT_EQ(stalledAnswers[63], 64u);
}

TEST_F(DeviceTest, BufferMovesWhileAKernelRuns) {
  serveSums();
  auto other = launchConsumer(allocate<wire::Signal>(1));
  void *buffer = makeBuffer(8);
  auto *answers = allocate<uint64_t>(512);
  const auto running = start("callOften", 512, 64, Arguments(buffer, 200u, answers));
  Consumer *from = consumer_.get(), *to = other.get();
  while (!running.finished()) {
    ASSERT_TRUE(from->deregisterBuffer(buffer));
    ASSERT_TRUE(to->registerBuffer(buffer));
    std::swap(from, to);
    std::this_thread::yield();
  }
  EXPECT_TRUE(running.wait());
  for (uint32_t i = 0; i < 512; ++i)
    ASSERT_EQ(answers[i], i + 200);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(DeviceTest, PrintsPlainText) {
  auto *results = allocate<int>(3);
  run("printPlain", 3, 64, Arguments(makeBuffer(), results));
  EXPECT_EQ(standardOutput(), "hello\nhello\nhello\n");
  for (int n = 0; n < 3; ++n)
    EXPECT_EQ(results[n], 6);
}

TEST_F(DeviceTest, PrintsWords) {
  const uint32_t items = 200;
  auto *numbers = allocate<int>(items);
  auto *floats = allocate<float>(items);
  std::vector<std::string> expected;
  for (uint32_t i = 0; i < items; ++i) {
    const int number = numbers[i] = (static_cast<int>(i) - 100) * 37;
    floats[i] = static_cast<float>(number) / 8;
    expected.push_back(format("item %u: %d %5d|%-5d|%05d %#x %lld %.3f %e %c %p %%", i, number, number, number,
                              number < 0 ? 0 : number, static_cast<unsigned>(number),
                              static_cast<long long>(number) * (1ll << 32), floats[i], static_cast<double>(floats[i]),
                              'a' + static_cast<int>(i % 26), reinterpret_cast<void *>(i + 0x1000ul)));
  }
  std::sort(expected.begin(), expected.end());
  run("printWords", items, 64, Arguments(makeBuffer(), numbers, floats));
  EXPECT_EQ(sortedLines(), expected);
}

TEST_F(DeviceTest, PrintsStrings) {
  const uint32_t items = 130;
  auto **strings = allocate<const char *>(items);
  std::vector<std::string> expected;
  for (uint32_t i = 0; i < items; ++i) {
    char *text = allocate<char>(i + 1);
    for (uint32_t n = 0; n < i; ++n)
      text[n] = static_cast<char>('a' + (i + n) % 26);
    strings[i] = text;
    expected.push_back(
        format("<%s>%u<%10s><%.3s>%s", text, i, text, text,
               i % 2 ? "odd" : "an even number, which is a longer text than fits into one packet of 56 bytes"));
  }
  std::sort(expected.begin(), expected.end());
  run("printStrings", items, 64, Arguments(makeBuffer(), strings));
  EXPECT_EQ(sortedLines(), expected);
}

TEST_F(DeviceTest, PrintsLiteralsAndNull) {
  run("printLiteral", 1, 1, Arguments(makeBuffer(), static_cast<const char *>(nullptr)));
  EXPECT_EQ(standardOutput(), "hello, world!\n");
  EXPECT_EQ(standardError(), "14\n");
}

TEST_F(DeviceTest, PrintsFromSomeLanes) {
  run("printDivergent", 200, 128, Arguments(makeBuffer()));
  std::vector<std::string> expected;
  for (unsigned i = 0; i < 200; ++i)
    if (i % 3 == 1)
      expected.push_back(format("one %u", i));
    else if (i % 3 == 2)
      for (unsigned n = 0; n < i % 4; ++n)
        expected.push_back(format("two %u %u", i, n));
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(sortedLines(), expected);
}

TEST_F(DeviceTest, PrintfWithoutABufferSaysSo) {
  auto *result = allocate<int>(1);
  run("printNowhere", 1, 1, Arguments(result));
  EXPECT_EQ(*result, -1);
}

TEST_F(DeviceTest, AssertSaysWhereAndStops) {
  auto *numbers = allocate<int>(64);
  void *buffer = makeBuffer();
  run("assertSmall", 64, 64, Arguments(buffer, numbers));
  EXPECT_EQ(standardError(), "");
  numbers[17] = 50;
  const auto launch = start("assertSmall", 64, 64, Arguments(buffer, numbers));
  EXPECT_FALSE(launch.wait());
  EXPECT_EQ(launch.fault().kind, vgpu::FaultKind::Trap);
  EXPECT_THAT(standardError(), HasSubstr("kernels.hip:"));
  EXPECT_THAT(standardError(), HasSubstr(": assertion failed: numbers[i] % 100 < 50\n"));
  EXPECT_EQ(std::ranges::count(standardError(), '\n'), 1) << "one lane failed";
}

TEST_F(DeviceTest, AssertWithHiddenBuffer) {
  void *buffer = makeBuffer();
  run("assertHidden", 1, 1, Arguments(1), buffer);
  EXPECT_FALSE(start("assertHidden", 1, 1, Arguments(2), buffer).wait());
  EXPECT_THAT(standardError(), HasSubstr("number == 1 && \"a reason\""));
}

/// The same consumer for code that was compiled against AMD's device libraries, code objects of version 4 and 5.
class OcklTest : public DeviceTest, public testing::WithParamInterface<const char *> {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    load(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(CodeObject, OcklTest, testing::Values(HOSTCALL_OCKL_KERNELS_V4, HOSTCALL_OCKL_KERNELS_V5),
                         [](const auto &info) { return "V" + std::to_string(info.index + 4); });

TEST_P(OcklTest, Hostcall) {
  serveSums();
  const uint32_t items = 64 * 20 + 5;
  auto *answers = allocate<uint64_t>(2 * items);
  void *buffer = makeBuffer(64);
  run("ocklCall", items, 128, Arguments(answers), buffer);
  for (uint32_t i = 0; i < items; ++i) {
    ASSERT_EQ(answers[2 * i], i + 29u);
    ASSERT_EQ(answers[2 * i + 1], i);
  }
  expectAllFree(buffer);
}

TEST_P(OcklTest, HostcallOnAGivenBuffer) {
  serveSums();
  auto *answers = allocate<uint64_t>(64);
  run("ocklCallOn", 64, 64, Arguments(makeBuffer(64), answers));
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(answers[i], i % 2 ? i + 29u : 0);
}

void addWords(uint64_t *output, const uint64_t *input) {
  output[0] = input[0] + input[1] + input[2] + input[3] + input[4] + input[5] + input[6];
  output[1] = input[6];
}

TEST_P(OcklTest, FunctionCall) {
  auto *answers = allocate<uint64_t>(2 * 64);
  run("ocklFunction", 64, 64, Arguments(&addWords, answers), makeBuffer(64));
  for (uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(answers[2 * i], i + 210u);
    EXPECT_EQ(answers[2 * i + 1], 60u);
  }
}

TEST_P(OcklTest, HipPrintf) {
  const uint32_t items = 3 * 80;
  auto *numbers = allocate<int>(items);
  char *text = allocate<char>(16);
  strcpy(text, "abcdefgh"); // its end is in a word of its own
  std::vector<std::string> expected;
  for (uint32_t i = 0; i < items; ++i) {
    numbers[i] = static_cast<int>(i * 7 % 31) - 15;
    expected.push_back(numbers[i] % 2 == 0
                           ? format("item %03u: %s %d, %10.3s|%-8s|, %#llx, %.3f, %c", i, "even", numbers[i], text,
                                    text, 0x100000000ull + i, i / 8.0, 'a' + static_cast<int>(i % 26))
                           : format("item %03u: odd", i));
  }
  std::sort(expected.begin(), expected.end());
  run("hipPrintf", items, 80, Arguments(numbers, text), makeBuffer(64));
  EXPECT_EQ(sortedLines(), expected);
  EXPECT_THAT(errors(), IsEmpty());
}

} // namespace
} // namespace luthier::hostcall
