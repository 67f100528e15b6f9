// Debian's librocrand.so.1: seven code objects of 80 kernels each, read fully. Descriptor and metadata are two accounts
// of the same kernel by the same compiler and must agree.

#include "files.h"
#include "isa/occupancy.h"
#include "object/container.h"
#include "object/kernel_resources.h"

#include <gmock/gmock.h>

#include <map>

namespace luthier::object {
namespace {

constexpr const char *kLibrary = "/usr/lib/x86_64-linux-gnu/librocrand.so.1";

uint32_t roundedUp(uint32_t value, uint32_t to) { return (std::max(value, 1u) + to - 1) / to * to; }

struct RocRand : testing::Test {
  Result<Container> container = Container::open(kLibrary);
  Result<std::vector<Image>> images = makeError("not read");

  void SetUp() override {
    ASSERT_TRUE(container) << container.error().message();
    images = container->images();
    ASSERT_TRUE(images) << images.error().message();
  }
};

TEST_F(RocRand, SevenTargets) {
  std::vector<std::string> targets;
  for (const Image &image : *images) {
    auto object = image.codeObject();
    ASSERT_TRUE(object) << object.error().message();
    targets.push_back(object->targetId());
    EXPECT_EQ(image.target.text(), object->targetId());
    EXPECT_EQ(object->version(), 4u);
    EXPECT_EQ(object->kernels().size(), 80u);
    EXPECT_TRUE(object->overlaps().empty());
  }
  EXPECT_THAT(targets, testing::ElementsAre("gfx1030", "gfx803", "gfx900:xnack-", "gfx906:xnack-", "gfx908:xnack-",
                                            "gfx90a:xnack+", "gfx90a:xnack-"));
  auto one = container->images(*isa::TargetId::parse("gfx90a:sramecc+:xnack+"));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size(), 1u);
}

TEST_F(RocRand, DescriptorAndMetadataAgree) {
  size_t kernels = 0, known = 0;
  for (const Image &image : *images) {
    SCOPED_TRACE(image.origin);
    const auto object = image.codeObject();
    ASSERT_TRUE(object);
    const auto metadata = object->metadata();
    ASSERT_TRUE(metadata) << metadata.error().message();
    EXPECT_EQ(metadata->kernels.size(), 80u);
    EXPECT_EQ(metadata->target, "amdgcn-amd-amdhsa--" + object->targetId());
    for (const Symbol &symbol : object->kernels()) {
      SCOPED_TRACE(symbol.name);
      ++kernels;
      const KernelMetadata *kernel = metadata->kernel(symbol.name);
      ASSERT_NE(kernel, nullptr);
      const auto d = object->descriptor(symbol);
      ASSERT_TRUE(d);
      EXPECT_EQ(d->groupSegmentSize, kernel->groupSegmentFixedSize);
      EXPECT_EQ(d->privateSegmentSize, kernel->privateSegmentFixedSize);
      EXPECT_EQ(d->kernargSize, kernel->kernargSegmentSize);
      EXPECT_EQ(d->wave32() ? 32u : 64u, kernel->wavefrontSize);
      EXPECT_TRUE(symbol.sized);
      EXPECT_EQ(object->functionAt(symbol.address), &symbol);
      ASSERT_TRUE(object->code(symbol));
      EXPECT_GE(symbol.size, 8u);
      EXPECT_LE(kernel->explicitArgumentBytes(), kernel->kernargSegmentSize);
      if (!object->hasTarget())
        continue;
      ++known;
      const isa::Target &target = object->target();
      EXPECT_EQ(d->vgprs(target),
                roundedUp(kernel->vgprCount, isa::vgprDescriptorGranule(target, kernel->wavefrontSize)));
      if (target.name == "gfx803")
        EXPECT_EQ(d->sgprs(target), roundedUp(kernel->sgprCount, 8));
      else if (target.countsSgprs())
        EXPECT_EQ(d->sgprs(target), roundedUp(kernel->sgprCount, 16));
      const InitialSgprs sgprs = d->initialSgprs(target);
      EXPECT_EQ(static_cast<bool>(sgprs[InitialSgpr::KernargSegmentPtr]), !kernel->arguments.empty());
      EXPECT_LE(sgprs.total, std::max(kernel->sgprCount, 1u) + 16);
      const auto resources = resourcesOf(*object, symbol, kernel);
      ASSERT_TRUE(resources);
      EXPECT_EQ(resources->vgprs + (target.unifiedVgprs ? resources->agprs : 0), kernel->vgprCount);
    }
  }
  EXPECT_EQ(kernels, 560u);
  EXPECT_EQ(known, 560u);
}

TEST_F(RocRand, DescriptorsAndMetadataAreWrittenAsTheyWere) {
  for (const Image &image : *images) {
    const auto object = image.codeObject();
    ASSERT_TRUE(object);
    for (const Symbol &symbol : object->kernels()) {
      const auto bytes = object->bytesAt(symbol.descriptor, KernelDescriptor::kBytes);
      ASSERT_TRUE(bytes);
      std::array<std::byte, KernelDescriptor::kBytes> written;
      object->descriptor(symbol)->write(written);
      EXPECT_TRUE(std::ranges::equal(written, *bytes)) << symbol.name;
    }
    const auto metadata = object->metadata();
    ASSERT_TRUE(metadata);
    EXPECT_TRUE(std::ranges::equal(serialise(*metadata), object->metadataNote())) << image.origin;
  }
}

} // namespace
} // namespace luthier::object
