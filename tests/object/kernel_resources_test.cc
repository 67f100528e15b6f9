#include "object/kernel_resources.h"

#include "files.h"

namespace luthier::object {
namespace {

TEST(KernelResources, MetadataCountsAndDescriptorAllocates) {
  const ObjectFile file("kernels_v5.co");
  const auto metadata = file->metadata();
  ASSERT_TRUE(metadata);
  const Symbol &calls = *file->find("_Z5callsPi5Pointi");
  const auto resources = resourcesOf(*file, calls, metadata->kernel(calls.name));
  ASSERT_TRUE(resources);
  EXPECT_EQ(resources->vgprs, metadata->kernel(calls.name)->vgprCount);
  EXPECT_EQ(resources->allocatedVgprs, (resources->vgprs + 7) / 8 * 8);
  EXPECT_EQ(resources->lds, 256u);
  EXPECT_EQ(resources->maxWorkgroupSize, 64u);
  EXPECT_TRUE(resources->dynamicStack); // it calls through a pointer
  EXPECT_EQ(resources->waveSize, 64u);
}

TEST(KernelResources, WithoutMetadataTheDescriptorHasToDo) {
  const ObjectFile file("odd.co");
  const auto resources = resourcesOf(*file, *file->find("bare"), nullptr);
  ASSERT_TRUE(resources);
  EXPECT_EQ(resources->vgprs, 12u);
  EXPECT_EQ(resources->agprs, 4u); // what is left of the second block
  EXPECT_EQ(resources->sgprs, 32u);
  EXPECT_EQ(resources->lds, 1000u);
  EXPECT_EQ(resources->waveSize, 64u);
  EXPECT_EQ(resources->maxWorkgroupSize, 0u);
}

// Found by fuzz_elf: a size of LDS that cannot be rounded up was rounded to 0, and divided by.
TEST(KernelResources, OccupancyOfWildSizes) {
  KernelResources resources;
  for (const isa::Target &target : isa::targets())
    for (uint32_t wild : {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX / 2 + 1}) {
      resources = {};
      resources.lds = wild;
      EXPECT_EQ(isa::occupancy(target, resources.use()).wavesPerSimd, 0u);
      resources = {};
      resources.vgprs = resources.agprs = resources.sgprs = resources.maxWorkgroupSize = wild;
      EXPECT_EQ(isa::occupancy(target, resources.use()).wavesPerSimd, 0u);
      resources = {};
      resources.waveSize = resources.maxWorkgroupSize = wild;
      (void)isa::occupancy(target, resources.use());
    }
}

} // namespace
} // namespace luthier::object
