// The direct API from outside: compiled kernels, loaded, launched, counted, inspected and stepped.

#include "luthier/vgpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

namespace luthier::vgpu {
namespace {

/// Everything runs with the code objects of both versions: they pass sizes and apertures in different ways.
class ApiTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    auto made = VirtualGpu::create({.threads = 2});
    ASSERT_TRUE(made) << made.error().message();
    gpu = std::move(*made);
    auto loaded = gpu->loadFile(GetParam());
    ASSERT_TRUE(loaded) << loaded.error().message();
    module = std::move(*loaded);
  }
  const Kernel &kernel(std::string_view name) {
    const Kernel *found = module->kernel(name);
    EXPECT_NE(found, nullptr) << name;
    static const Kernel none;
    return found ? *found : none;
  }
  template <class T> T *allocate(uint64_t count) {
    auto memory = gpu->allocate<T>(count);
    EXPECT_TRUE(memory) << memory.error().message();
    return memory ? *memory : nullptr;
  }

  std::unique_ptr<VirtualGpu> gpu;
  std::unique_ptr<Module> module;
};

INSTANTIATE_TEST_SUITE_P(CodeObjects, ApiTest, testing::Values(API_KERNELS_V4, API_KERNELS_V5),
                         [](const auto &info) { return "v" + std::to_string(info.index + 4); });

TEST_P(ApiTest, VectorAdd) {
  const uint32_t count = 10'000;
  auto *a = allocate<float>(count), *b = allocate<float>(count), *c = allocate<float>(count);
  for (uint32_t n = 0; n < count; ++n)
    a[n] = static_cast<float>(n), b[n] = 0.5f;
  auto report = gpu->run(kernel("vector_add"), {.grid = {count}, .workgroup = {256}}, Arguments(a, b, c, count));
  ASSERT_TRUE(report) << report.error().message();
  for (uint32_t n = 0; n < count; ++n)
    ASSERT_EQ(c[n], static_cast<float>(n) + 0.5f);
  EXPECT_EQ(report->waves, 0u); // nobody counted
  EXPECT_TRUE(report->opcodes.empty());
}

TEST_P(ApiTest, KernelsAreDescribed) {
  const Kernel &add = kernel("vector_add");
  ASSERT_TRUE(add.hasMetadata);
  ASSERT_GE(add.arguments.size(), 4u);
  EXPECT_EQ(add.arguments[0].kind, "global_buffer");
  EXPECT_EQ(add.arguments[3].kind, "by_value");
  EXPECT_EQ(add.arguments[3].offset, 24u);
  EXPECT_EQ(add.explicitBytes(), 28u);
  EXPECT_GE(add.kernargBytes, 28u);
  EXPECT_EQ(kernel("generic_pointers").ldsBytes, 256u);
  EXPECT_GT(kernel("scratch_array").scratchBytes, 0u);
  EXPECT_EQ(module->kernel("vector_add.kd"), nullptr);
  EXPECT_EQ(module->kernel(""), nullptr);
  EXPECT_EQ(module->kernels().size(), 10u);
}

TEST_P(ApiTest, VariablesAndRelocations) {
  const auto counter = module->variable("counter");
  ASSERT_TRUE(counter);
  EXPECT_EQ(counter->bytes, 4u);
  auto &value = *reinterpret_cast<uint32_t *>(counter->address);
  EXPECT_EQ(value, 5u);
  value = 6;
  EXPECT_FALSE(module->variable("no_such_thing"));

  auto *out = allocate<uint32_t>(4);
  auto report = gpu->run(kernel("use_variables"), {}, Arguments(out));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(out[0], 6u);
  EXPECT_EQ(out[1], 10u);
  EXPECT_EQ(out[2], 30u);
  EXPECT_EQ(out[3], 6u);
  EXPECT_EQ(value, 99u);
}

TEST_P(ApiTest, ArgumentsHaveTheirNaturalAlignment) {
  struct Triple {
    char a;
    short b;
    double c;
  };
  auto *out = allocate<uint64_t>(7);
  auto report =
      gpu->run(kernel("mixed_arguments"), {}, Arguments(char{1}, short{2}, Triple{3, 4, 5.0}, out, 6.0f, char{7}));
  ASSERT_TRUE(report) << report.error().message();
  for (uint64_t n = 0; n < 7; ++n)
    EXPECT_EQ(out[n], n + 1);
}

TEST_P(ApiTest, KernelsKnowTheirSizes) {
  auto *out = allocate<uint32_t>(6);
  auto report = gpu->run(kernel("sizes"), {.grid = {64, 8, 4}, .workgroup = {16, 4, 2}}, Arguments(out));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(std::vector(out, out + 6), (std::vector<uint32_t>{16, 4, 2, 64, 8, 4}));
}

TEST_P(ApiTest, DynamicLds) {
  auto *data = allocate<uint32_t>(512);
  for (uint32_t n = 0; n < 512; ++n)
    data[n] = n;
  auto report = gpu->run(kernel("reverse"), {.grid = {512}, .workgroup = {256}, .dynamicLds = 1024}, Arguments(data));
  ASSERT_TRUE(report) << report.error().message();
  for (uint32_t n = 0; n < 512; ++n)
    ASSERT_EQ(data[n], (n & ~255u) + 255 - n % 256);
}

TEST_P(ApiTest, Scratch) {
  const uint32_t count = 2048;
  auto *indices = allocate<uint32_t>(count), *out = allocate<uint32_t>(count);
  for (uint32_t n = 0; n < count; ++n)
    indices[n] = n * 7;
  auto report = gpu->run(kernel("scratch_array"), {.grid = {count}, .workgroup = {128}}, Arguments(indices, out));
  ASSERT_TRUE(report) << report.error().message();
  for (uint32_t n = 0; n < count; ++n)
    ASSERT_EQ(out[n], n * 100 + (n * 7 & 31));
}

TEST_P(ApiTest, RecursionAfterSmallerScratch) {
  auto *indices = allocate<uint32_t>(64), *out = allocate<uint32_t>(256);
  ASSERT_TRUE(gpu->run(kernel("scratch_array"), {.grid = {64}, .workgroup = {64}}, Arguments(indices, out)));
  const Kernel &recursion = kernel("recursion");
  auto report = gpu->run(recursion, {.grid = {256}, .workgroup = {64}, .stackBytes = 8192}, Arguments(out));
  ASSERT_TRUE(report) << report.error().message();
  uint32_t fibonacci[12] = {0, 1};
  for (unsigned n = 2; n < 12; ++n)
    fibonacci[n] = fibonacci[n - 1] + fibonacci[n - 2];
  for (uint32_t n = 0; n < 256; ++n)
    ASSERT_EQ(out[n], fibonacci[n % 12]);
}

TEST_P(ApiTest, GenericPointersReachLdsScratchAndMemory) {
  auto *out = allocate<uint32_t>(128);
  for (uint32_t which = 0; which < 3; ++which) {
    std::fill_n(out, 128, 0);
    auto report = gpu->run(kernel("generic_pointers"), {.grid = {64}, .workgroup = {64}}, Arguments(out, which));
    ASSERT_TRUE(report) << report.error().message();
    for (uint32_t n = 0; n < 64; ++n) {
      ASSERT_EQ(out[n], 1000 + n) << which;
      ASSERT_EQ(out[64 + n], which == 2 ? 1000 + n : 0) << which;
    }
  }
}

TEST_P(ApiTest, StrictResources) {
  const uint32_t count = 2048;
  auto *indices = allocate<uint32_t>(count), *out = allocate<uint32_t>(count);
  for (uint32_t n = 0; n < count; ++n)
    indices[n] = n * 7;
  const Kernel &scratch = kernel("scratch_array");
  LaunchOptions options{.grid = {count}, .workgroup = {128}};
  for (const uint64_t seed : {1, 2}) {
    std::fill_n(out, count, 0);
    options.strictResources = seed;
    options.strictL1 = seed == 2;
    auto report = gpu->run(scratch, options, Arguments(indices, out));
    ASSERT_TRUE(report) << report.error().message();
    for (uint32_t n = 0; n < count; ++n)
      ASSERT_EQ(out[n], n * 100 + (n * 7 & 31));
  }
  // With four VGPRs it uses some that are not there.
  auto *rsrc1 = reinterpret_cast<uint32_t *>(scratch.descriptor + 48);
  auto *rsrc3 = reinterpret_cast<uint32_t *>(scratch.descriptor + 44);
  *rsrc1 &= ~0x3fu;
  *rsrc3 &= ~0x3fu;
  auto report = gpu->run(scratch, options, Arguments(indices, out));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), static_cast<int>(FaultKind::MissingRegister)) << report.error().message();
  EXPECT_NE(report.error().message().find("which the kernel has not allocated\n"), std::string::npos)
      << report.error().message();
  EXPECT_NE(report.error().message().find("4 VGPRs, 4 AccVGPRs\n  seed        2\n  kernel      scratch_array\n"),
            std::string::npos)
      << report.error().message();
  options.strictResources.reset();
  EXPECT_TRUE(gpu->run(scratch, options, Arguments(indices, out)));
}

TEST_P(ApiTest, FaultsAreErrorsWithTheirText) {
  auto *data = allocate<uint32_t>(16);
  auto launch = gpu->launch(kernel("out_of_bounds"), {}, Arguments(data, uint64_t{1024}));
  ASSERT_TRUE(launch) << launch.error().message();
  auto report = launch->wait();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), static_cast<int>(FaultKind::Memory));
  EXPECT_NE(report.error().message().find("out_of_bounds"), std::string::npos) << report.error().message();
  const FaultInfo fault = launch->fault();
  EXPECT_EQ(fault.kind, FaultKind::Memory);
  EXPECT_EQ(fault.address, reinterpret_cast<uint64_t>(data + 1024));
  EXPECT_TRUE(fault.write);
  // The GPU is still usable.
  EXPECT_TRUE(gpu->run(kernel("out_of_bounds"), {}, Arguments(data, uint64_t{3})));
  EXPECT_EQ(data[3], 1u);
}

TEST_P(ApiTest, FreedMemoryFaults) {
  // Large, because the launch's own memory may take the freed place; the middle of it stays empty.
  const uint64_t count = 1 << 22;
  auto *data = allocate<uint32_t>(count);
  ASSERT_TRUE(gpu->free(data));
  auto report = gpu->run(kernel("out_of_bounds"), {}, Arguments(data, count / 2));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), static_cast<int>(FaultKind::Memory));
  EXPECT_FALSE(gpu->free(data)); // twice
}

TEST_P(ApiTest, HostMemoryCanBeMapped) {
  alignas(4096) static uint32_t host[1024];
  const Arguments arguments(host, uint64_t{1});
  EXPECT_FALSE(gpu->run(kernel("out_of_bounds"), {}, arguments));
  gpu->mapHost(host, sizeof host);
  auto report = gpu->run(kernel("out_of_bounds"), {}, arguments);
  EXPECT_TRUE(report) << report.error().message();
  EXPECT_EQ(host[1], 1u);
  gpu->unmapHost(host, sizeof host);
  EXPECT_FALSE(gpu->run(kernel("out_of_bounds"), {}, arguments));
}

TEST_P(ApiTest, EndlessLaunchesCanBeAborted) {
  auto *flag = allocate<uint32_t>(1);
  auto launch = gpu->launch(kernel("endless"), {}, Arguments(flag));
  ASSERT_TRUE(launch);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(launch->finished());
  launch->abort();
  auto report = launch->wait();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), static_cast<int>(FaultKind::Aborted));
  EXPECT_TRUE(launch->finished());
}

TEST_P(ApiTest, ModuleAndGpuMayGoWhileALaunchRuns) {
  auto *flag = allocate<uint32_t>(1);
  auto launch = gpu->launch(kernel("endless"), {}, Arguments(flag));
  ASSERT_TRUE(launch);
  module.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(launch->finished());
  gpu.reset();
  EXPECT_TRUE(launch->finished());
  EXPECT_EQ(launch->fault().kind, FaultKind::Aborted);
}

TEST_P(ApiTest, WrongLaunchesAreRefused) {
  auto *out = allocate<uint32_t>(6);
  const Kernel &sizes = kernel("sizes");
  auto code = [&](const LaunchOptions &options, const Arguments &arguments) {
    auto report = gpu->run(sizes, options, arguments);
    return report ? 0 : report.error().code();
  };
  const int bad = static_cast<int>(FaultKind::BadLaunch);
  EXPECT_EQ(code({}, Arguments()), bad);
  EXPECT_EQ(code({}, Arguments(out, 1)), bad);
  EXPECT_EQ(code({.grid = {0}}, Arguments(out)), bad);
  EXPECT_EQ(code({.grid = {1}, .workgroup = {70000}}, Arguments(out)), bad);
  EXPECT_EQ(code({.grid = {1}, .workgroup = {1025}}, Arguments(out)), bad);
  EXPECT_EQ(code({.dynamicLds = 1 << 20}, Arguments(out)), bad);
  EXPECT_EQ(code({}, Arguments(out)), 0);
}

TEST_P(ApiTest, Counts) {
  const uint32_t count = 1000;
  auto *a = allocate<float>(count), *b = allocate<float>(count), *c = allocate<float>(count);
  auto report =
      gpu->run(kernel("vector_add"), {.grid = {1024}, .workgroup = {256}, .count = true}, Arguments(a, b, c, count));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->waves, 16u);
  EXPECT_EQ(report->opcodes["s_endpgm"].waves, 16u);
  EXPECT_EQ(report->opcodes["v_add_f32"].waves, 16u);
  EXPECT_EQ(report->opcodes["v_add_f32"].lanes, count); // the last wave's last lanes are switched off
  EXPECT_EQ(report->opcodes["global_load_dword"].lanes, 2u * count);
  uint64_t sum = 0;
  for (const auto &[name, opcode] : report->opcodes)
    sum += opcode.waves;
  EXPECT_EQ(report->instructions.waves, sum);
}

TEST_P(ApiTest, WavesAreShownWhenTheyEnd) {
  auto *data = allocate<uint32_t>(512);
  std::mutex mutex;
  std::set<std::pair<uint32_t, uint32_t>> seen;
  const LaunchOptions options{
      .grid = {512}, .workgroup = {256}, .dynamicLds = 1024, .onWaveEnd = [&](const WaveView &wave) {
        std::lock_guard lock(mutex);
        EXPECT_TRUE(wave.ended());
        EXPECT_EQ(wave.lanes(), 64u);
        EXPECT_EQ(wave.lds().size(), 1024u);
        seen.emplace(wave.workgroup()[0], wave.wave());
      }};
  ASSERT_TRUE(gpu->run(kernel("reverse"), options, Arguments(data)));
  EXPECT_EQ(seen.size(), 8u);
}

TEST_P(ApiTest, AFaultingWaveIsShownToo) {
  auto *data = allocate<uint32_t>(1);
  std::atomic<int> faulted{0};
  const LaunchOptions options{.onWaveEnd = [&](const WaveView &wave) {
    faulted += wave.faulted();
    EXPECT_EQ(wave.exec(), 1u);
  }};
  auto launch = gpu->launch(kernel("out_of_bounds"), options, Arguments(data, uint64_t{1 << 20}));
  ASSERT_TRUE(launch);
  EXPECT_FALSE(launch->wait());
  EXPECT_EQ(faulted, 1);
}

TEST_P(ApiTest, Steps) {
  auto *out = allocate<uint32_t>(6);
  auto made = gpu->step(kernel("sizes"), {.grid = {8}, .workgroup = {4}}, Arguments(out));
  ASSERT_TRUE(made) << made.error().message();
  Stepper &stepper = **made;
  ASSERT_EQ(stepper.waves(), 1u);
  uint64_t steps = 0;
  uint64_t pc = stepper.wave(0).pc();
  while (stepper.step(0) == StepState::Ready && steps < 1000) {
    EXPECT_GT(stepper.wave(0).pc(), pc); // no branches in this kernel
    pc = stepper.wave(0).pc();
    ++steps;
  }
  EXPECT_TRUE(stepper.wave(0).ended());
  EXPECT_EQ(stepper.instruction(0), "s_endpgm");
  EXPECT_GT(steps, 5u);
  EXPECT_EQ(out[0], 4u);
  EXPECT_EQ(out[3], 8u);
  EXPECT_EQ(stepper.step(0), StepState::Ended);
  ASSERT_TRUE(stepper.nextWorkgroup());
  EXPECT_EQ(stepper.wave(0).workgroup()[0], 1u);
  EXPECT_TRUE(stepper.finishWorkgroup());
  EXPECT_FALSE(stepper.nextWorkgroup());
}

TEST_P(ApiTest, SteppedWavesMeetAtBarriers) {
  auto *data = allocate<uint32_t>(128);
  for (uint32_t n = 0; n < 128; ++n)
    data[n] = n;
  auto made = gpu->step(kernel("reverse"), {.grid = {128}, .workgroup = {128}, .dynamicLds = 512}, Arguments(data));
  ASSERT_TRUE(made) << made.error().message();
  Stepper &stepper = **made;
  ASSERT_EQ(stepper.waves(), 2u);
  EXPECT_EQ(stepper.stepMany(0, 10'000), StepState::Barrier);
  EXPECT_EQ(stepper.step(0), StepState::Barrier);
  EXPECT_EQ(data[0], 0u);
  // Wave 1 arrives and both go on.
  EXPECT_EQ(stepper.stepMany(1, 10'000), StepState::Ended);
  EXPECT_EQ(data[64], 63u);
  EXPECT_EQ(data[0], 0u);
  EXPECT_TRUE(stepper.finishWorkgroup());
  EXPECT_EQ(data[0], 127u);
}

TEST_P(ApiTest, SteppedWavesCanBeChanged) {
  auto *data = allocate<uint32_t>(16);
  auto made = gpu->step(kernel("out_of_bounds"), {.grid = {4}, .workgroup = {4}}, Arguments(data, uint64_t{2}));
  ASSERT_TRUE(made) << made.error().message();
  WaveRef wave = (*made)->wave(0);
  EXPECT_EQ(wave.exec(), 0xfu);
  wave.setExec(0);
  EXPECT_TRUE((*made)->finishWorkgroup());
  EXPECT_EQ(data[2], 0u);
}

TEST_P(ApiTest, SteppedFaults) {
  auto *data = allocate<uint32_t>(16);
  auto made = gpu->step(kernel("out_of_bounds"), {}, Arguments(data, uint64_t{1} << 30));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ((*made)->stepMany(0, 1000), StepState::Faulted);
  EXPECT_EQ((*made)->fault().kind, FaultKind::Memory);
  EXPECT_EQ((*made)->step(0), StepState::Faulted);
  EXPECT_FALSE((*made)->finishWorkgroup());
  EXPECT_FALSE((*made)->nextWorkgroup());
}

TEST_P(ApiTest, ModulesCanBeLoadedAgainAndAgain) {
  auto *out = allocate<uint32_t>(4);
  for (int n = 0; n < 100; ++n) {
    auto again = gpu->loadFile(GetParam());
    ASSERT_TRUE(again);
    ASSERT_TRUE(gpu->run(*(*again)->kernel("use_variables"), {}, Arguments(out)));
    EXPECT_EQ(out[0], 5u); // a variable of this copy
  }
}

TEST(VirtualGpu, UnknownTargetsAreRefused) {
  auto gpu = VirtualGpu::create({.target = "gfx1"});
  ASSERT_FALSE(gpu);
  EXPECT_NE(gpu.error().message().find("gfx1"), std::string::npos);
}

TEST(VirtualGpu, WhatIsNoCodeObjectIsRefused) {
  auto gpu = VirtualGpu::create({.threads = 1});
  ASSERT_TRUE(gpu);
  EXPECT_EQ((*gpu)->target(), "gfx90a");
  EXPECT_EQ((*gpu)->threads(), 1u);
  EXPECT_FALSE((*gpu)->load({}));
  const std::vector<std::byte> zeros(1000);
  EXPECT_FALSE((*gpu)->load(zeros));
  auto missing = (*gpu)->loadFile("/no/such/file");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("/no/such/file"), std::string::npos);
  auto host = (*gpu)->loadFile("/proc/self/exe");
  ASSERT_FALSE(host);
  EXPECT_NE(host.error().message().find("not an AMD GPU code object"), std::string::npos) << host.error().message();
}

} // namespace
} // namespace luthier::vgpu
