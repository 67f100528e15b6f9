#include "cli/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temp_folder.h"

namespace luthier::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(GpuList, KnownNames) {
  EXPECT_THAT(*parseGpuList("gfx90a"), ElementsAre("gfx90a"));
  EXPECT_THAT(*parseGpuList("gfx90a,gfx90a"), ElementsAre("gfx90a", "gfx90a"));
  EXPECT_THAT(*parseGpuList("gfx90a,gfx908"), ElementsAre("gfx90a", "gfx908"));
}

TEST(GpuList, UnknownNameListsTheKnownOnes) {
  EXPECT_THAT(parseGpuList("gfx803").error().message(), HasSubstr("does not execute code of gfx803; known: gfx"));
  EXPECT_THAT(parseGpuList("gfx90a,gfx123").error().message(), HasSubstr("unknown GPU 'gfx123'; known: gfx"));
  EXPECT_FALSE(parseGpuList("GFX90A"));
  EXPECT_FALSE(parseGpuList("gfx90a,"));
  EXPECT_FALSE(parseGpuList(""));
}

TEST(FindVirtualGpu, BuildTreeThenInstallation) {
  TempFolder prefix;
  std::filesystem::path bin = prefix.path() / "bin";
  Result<std::filesystem::path> none = findVirtualGpu(bin);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr((prefix.path() / "lib/vgpu").string()));
  EXPECT_THAT(none.error().message(), HasSubstr((prefix.path() / "lib/luthier/vgpu").string()));

  prefix.write("lib/luthier/vgpu/libluthier-vgpu-driver.so", "");
  EXPECT_THAT(findVirtualGpu(bin).error().message(), HasSubstr("libluthier-vgpu.so"));
  prefix.write("lib/luthier/vgpu/libluthier-vgpu.so", "");
  EXPECT_EQ(*findVirtualGpu(bin), prefix.path() / "lib/luthier/vgpu");
  for (const char *file : {"lib/vgpu/libluthier-vgpu-driver.so", "lib/vgpu/libluthier-vgpu.so"})
    prefix.write(file, "");
  EXPECT_EQ(*findVirtualGpu(bin), prefix.path() / "lib/vgpu");
}

TEST(VirtualEnvironment, OnAnEmptyOne) {
  VirtualRun run{.driverFolder = "/opt/vgpu", .gpus = {"gfx90a"}, .statsFile = {}, .threads = {}};
  EXPECT_THAT(*virtualEnvironment(run, {}),
              ElementsAre(Pair("ASAN_OPTIONS", "verify_asan_link_order=0"),
                          Pair("LD_PRELOAD", "/opt/vgpu/libluthier-vgpu.so"), Pair("LUTHIER_VGPU_GPUS", "gfx90a")));
}

TEST(VirtualEnvironment, PassesTheOptions) {
  VirtualRun run{.driverFolder = "/opt/vgpu", .gpus = {"gfx90a", "gfx90a"}, .statsFile = "/tmp/s.json", .threads = 3};
  Environment set = *virtualEnvironment(run, {});
  EXPECT_EQ(set["LUTHIER_VGPU_GPUS"], "gfx90a,gfx90a");
  EXPECT_EQ(set["LUTHIER_VGPU_STATS"], "/tmp/s.json");
  EXPECT_EQ(set["LUTHIER_VGPU_THREADS"], "3");
}

TEST(VirtualEnvironment, PassesTraceAndStrictWaits) {
  VirtualRun run{.driverFolder = "/opt/vgpu", .gpus = {"gfx90a"}, .statsFile = {}, .threads = {}};
  run.traceFile = "/tmp/t.jsonl";
  run.traceKernel = "^saxpy";
  run.traceWave = "4-7";
  run.traceSums = true;
  run.strictWaits = true;
  run.poisonSeed = 5;
  run.strictSeed = 6;
  run.strictL1 = true;
  Environment set = *virtualEnvironment(run, {});
  EXPECT_EQ(set["LUTHIER_VGPU_TRACE"], "/tmp/t.jsonl");
  EXPECT_EQ(set["LUTHIER_VGPU_TRACE_KERNEL"], "^saxpy");
  EXPECT_EQ(set["LUTHIER_VGPU_TRACE_WAVE"], "4-7");
  EXPECT_EQ(set["LUTHIER_VGPU_TRACE_SUMS"], "1");
  EXPECT_EQ(set["LUTHIER_VGPU_STRICT_WAITS"], "1");
  EXPECT_EQ(set["LUTHIER_VGPU_POISON_DEAD"], "5");
  EXPECT_EQ(set["LUTHIER_VGPU_STRICT_RESOURCES"], "6");
  EXPECT_EQ(set["LUTHIER_VGPU_STRICT_L1"], "1");
}

TEST(VirtualEnvironment, ChecksSeeRocrsTableAndKeepAllocationsApart) {
  VirtualRun run{.driverFolder = "/opt/vgpu", .gpus = {"gfx90a"}, .statsFile = {}, .threads = {}};
  run.check = CheckRun{.records = "/tmp/records", .checks = "memory", .leaks = true, .quarantine = 7};
  Environment set = *virtualEnvironment(run, {{"HSA_TOOLS_LIB", "/opt/other.so"}, {"LD_PRELOAD", "x.so"}});
  EXPECT_EQ(set["HSA_TOOLS_LIB"], "/opt/vgpu/libluthier-vgpu-driver.so /opt/other.so");
  EXPECT_EQ(set["HSA_TOOLS_ROCPROFILER_V1_TOOLS"], "1");
  EXPECT_EQ(set["LD_PRELOAD"], "/opt/vgpu/libluthier-check.so:/opt/vgpu/libluthier-vgpu.so:x.so");
  EXPECT_EQ(set["LUTHIER_CHECK_RECORDS"], "/tmp/records");
  EXPECT_EQ(set["LUTHIER_CHECKS"], "memory");
  EXPECT_EQ(set["LUTHIER_CHECK_LEAKS"], "1");
  EXPECT_FALSE(set.contains("ROC_ENABLE_LARGE_BAR"));
  EXPECT_EQ(set["LUTHIER_CHECK_QUARANTINE"], "7");
  EXPECT_EQ(set["HSA_DISABLE_FRAGMENT_ALLOCATOR"], "1");
  EXPECT_EQ(set["HSA_SVM_GUARD_PAGES"], "16");
}

TEST(MemoryCheckEnvironment, ToolSeesRocrsTableBehindTheRuntime) {
  const CheckRun check{.records = "/tmp/records", .checks = "memory", .instrument = true, .leaks = true};
  Environment set = memoryCheckEnvironment(check, "/opt/lib/memory.so", "/opt/vgpu", {{"LD_PRELOAD", "x.so"}});
  EXPECT_EQ(set["HSA_TOOLS_LIB"], "/opt/lib/memory.so");
  EXPECT_EQ(set["LD_PRELOAD"], "/opt/vgpu/libluthier-check.so:x.so");
  EXPECT_EQ(set["LUTHIER_CHECK_RECORDS"], "/tmp/records");
  EXPECT_EQ(set["LUTHIER_CHECK_LEAKS"], "1");
  EXPECT_EQ(set["HSA_DISABLE_FRAGMENT_ALLOCATOR"], "1");
  EXPECT_FALSE(set.contains("LUTHIER_CHECKS")); // or the virtual GPU would check too
  RuntimeRun run;
  run.library = "/opt/lib/libluthier.so";
  EXPECT_EQ((*runtimeEnvironment(run, set))["HSA_TOOLS_LIB"], "/opt/lib/libluthier.so /opt/lib/memory.so");
}

TEST(VirtualEnvironment, KeepsListsAndDoesNotGrowThem) {
  VirtualRun run{.driverFolder = "/opt/vgpu", .gpus = {"gfx90a"}, .statsFile = {}, .threads = {}};
  Environment current = {{"LD_LIBRARY_PATH", "/a:/b"}, {"LD_PRELOAD", "x.so y.so"}, {"ASAN_OPTIONS", "detect_leaks=0"}};
  Environment first = *virtualEnvironment(run, current);
  EXPECT_FALSE(first.contains("LD_LIBRARY_PATH"));
  EXPECT_EQ(first["LD_PRELOAD"], "/opt/vgpu/libluthier-vgpu.so:x.so:y.so");
  EXPECT_EQ(first["ASAN_OPTIONS"], "verify_asan_link_order=0:detect_leaks=0");
  EXPECT_EQ(*virtualEnvironment(run, first), first);
}

TEST(VirtualEnvironment, FoldersThatTheLoaderCannotName) {
  VirtualRun run{.driverFolder = "/opt/with space", .gpus = {"gfx90a"}, .statsFile = {}, .threads = {}};
  Environment set = *virtualEnvironment(run, {{"LD_LIBRARY_PATH", "/a"}});
  EXPECT_EQ(set["LD_PRELOAD"], "libluthier-vgpu.so");
  EXPECT_EQ(set["LD_LIBRARY_PATH"], "/opt/with space:/a");
  run.driverFolder = "/opt/a:b";
  EXPECT_THAT(virtualEnvironment(run, {}).error().message(), HasSubstr("/opt/a:b"));
}

} // namespace
} // namespace luthier::cli
