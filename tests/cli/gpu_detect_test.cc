#include "cli/gpu_detect.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace luthier::cli {
namespace {

constexpr const char *cpuNode = "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n";
constexpr const char *gpuNode = "cpu_cores_count 0\nsimd_count 440\nmem_banks_count 1\ngfx_target_version 90010\n";

std::string node(int index) { return "sys/class/kfd/kfd/topology/nodes/" + std::to_string(index) + "/properties"; }

TEST(GpuDetect, NothingThere) {
  TempFolder root;
  EXPECT_FALSE(realGpuPresent(root.path()));
}

TEST(GpuDetect, CpuAndGpu) {
  TempFolder root;
  root.write("dev/kfd", "");
  root.write(node(0), cpuNode);
  root.write(node(1), gpuNode);
  EXPECT_TRUE(realGpuPresent(root.path()));
}

TEST(GpuDetect, DriverWithoutGpu) {
  TempFolder root;
  root.write("dev/kfd", "");
  EXPECT_FALSE(realGpuPresent(root.path()));
  root.write(node(0), cpuNode);
  EXPECT_FALSE(realGpuPresent(root.path()));
}

TEST(GpuDetect, TopologyWithoutDevice) {
  TempFolder root;
  root.write(node(0), gpuNode);
  EXPECT_FALSE(realGpuPresent(root.path()));
}

// An old driver has no gfx_target_version; ROCr cannot use such a node.
TEST(GpuDetect, SimdsWithoutGfxVersion) {
  TempFolder root;
  root.write("dev/kfd", "");
  root.write(node(0), "simd_count 440\n");
  EXPECT_FALSE(realGpuPresent(root.path()));
}

TEST(GpuDetect, UnreadableNodesAreSkipped) {
  TempFolder root;
  root.write("dev/kfd", "");
  root.write(node(0), "garbage");
  root.write("sys/class/kfd/kfd/topology/nodes/1/other", "");
  root.write(node(2), gpuNode);
  EXPECT_TRUE(realGpuPresent(root.path()));
}

} // namespace
} // namespace luthier::cli
