// Bundles with other code objects in them; whole programs are tests/cli/instrumented_files.py's.

#include "object/replace_images.h"

#include "files.h"
#include "object/container.h"

#include <gmock/gmock.h>

namespace luthier::object {
namespace {

using testing::HasSubstr;

/// Each image of `file`: its entry, and its bytes.
std::vector<std::pair<std::string, std::vector<std::byte>>> imagesOf(ByteSpan file) {
  std::vector<std::pair<std::string, std::vector<std::byte>>> result;
  const auto container = Container::parse(file, "file");
  EXPECT_TRUE(container) << container.error().message();
  const auto images = container->images();
  EXPECT_TRUE(images) << images.error().message();
  for (const Image &image : *images)
    result.emplace_back(image.entry, std::vector(image.bytes.begin(), image.bytes.end()));
  return result;
}

TEST(ReplaceImages, BundlesPlainAndCompressed) {
  const std::vector<std::byte> other = readTestFile("kernels_v5.co");
  for (const char *name : {"host_plain.o", "host_compressed.o"}) {
    SCOPED_TRACE(name);
    const auto host = Container::open(testFile(name));
    ASSERT_TRUE(host) << host.error().message();
    const ByteSpan bundle = host->groups()[0].bytes;
    auto expected = imagesOf(bundle);
    ASSERT_EQ(expected.size(), 3u);
    expected[1].second = other;
    const auto replaced = replaceImages(bundle, name, {{2, other}});
    ASSERT_TRUE(replaced) << replaced.error().message();
    EXPECT_EQ(imagesOf(*replaced), expected);
    // Nothing to replace: nothing changes.
    const auto same = replaceImages(bundle, name, {});
    ASSERT_TRUE(same);
    EXPECT_EQ(imagesOf(*same), imagesOf(bundle));
  }
}

TEST(ReplaceImages, CodeObjectIsTheFile) {
  const std::vector<std::byte> old = readTestFile("kernels_v5.co"), other = readTestFile("kernels_v4.co");
  const auto replaced = replaceImages(old, "file", {{1, other}});
  ASSERT_TRUE(replaced) << replaced.error().message();
  EXPECT_EQ(*replaced, other);
}

TEST(ReplaceImages, WhatIsRefused) {
  const std::vector<std::byte> other = readTestFile("kernels_v5.co");
  const auto failure = [&](const char *name, uint64_t number) {
    const auto replaced = replaceImages(readTestFile(name), name, {{number, other}});
    return replaced ? "accepted" : replaced.error().message();
  };
  EXPECT_THAT(failure("host_plain.o", 1), HasSubstr("host_plain.o: it is not linked"));
  EXPECT_THAT(failure("packed.bin", 1), HasSubstr("(OpenMP) cannot be replaced"));
  EXPECT_THAT(failure("kernels_v5.co", 2), HasSubstr("there is no code object 2; it has 1"));
}

} // namespace
} // namespace luthier::object
