// Files that hold code objects: what hipcc and its helpers write, and what is broken.

#include "object/container.h"

#include "files.h"
#include "object/bundle.h"
#include "packing.h"

#include <gmock/gmock.h>

namespace luthier::object {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> targets(const Container &container, const char *wanted = nullptr) {
  std::optional<isa::TargetId> target;
  if (wanted)
    target = *isa::TargetId::parse(wanted);
  auto images = container.images(target);
  EXPECT_TRUE(images) << images.error().message();
  std::vector<std::string> result;
  for (const Image &image : *images) {
    result.push_back(image.target.text());
    auto object = image.codeObject();
    EXPECT_TRUE(object) << object.error().message();
    EXPECT_GE(object->kernels().size(), 1u);
  }
  return result;
}

struct Entry {
  std::string id;
  std::vector<std::byte> contents;
};

std::vector<std::byte> bundleOf(const std::vector<Entry> &entries, uint64_t alignment = 4096) {
  std::string table = "__CLANG_OFFLOAD_BUNDLE__";
  auto put = [&](uint64_t value) { table.append(reinterpret_cast<const char *>(&value), 8); };
  put(entries.size());
  uint64_t offset = alignment;
  for (const Entry &entry : entries) {
    put(offset);
    put(entry.contents.size());
    put(entry.id.size());
    table += entry.id;
    offset = (offset + entry.contents.size() + alignment - 1) / alignment * alignment;
  }
  std::vector<std::byte> bytes = bytesOf(table);
  for (const Entry &entry : entries) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    bytes.insert(bytes.end(), entry.contents.begin(), entry.contents.end());
  }
  return bytes;
}

std::string failure(ByteSpan bytes) {
  auto container = Container::parse(bytes, "file");
  if (!container)
    return container.error().message();
  for (const ImageGroup &group : container->groups())
    if (auto images = container->images(group); !images)
      return images.error().message();
  return "accepted";
}

TEST(Container, BareCodeObject) {
  auto container = Container::open(testFile("kernels_v5.co"));
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_THAT(targets(*container), ElementsAre("gfx90a"));
}

TEST(Container, HostObjects) {
  for (const char *name : {"host_plain.o", "host_compressed.o"}) {
    SCOPED_TRACE(name);
    auto container = Container::open(testFile(name));
    ASSERT_TRUE(container) << container.error().message();
    EXPECT_THAT(targets(*container), ElementsAre("gfx1100", "gfx90a:xnack+", "gfx90a:xnack-"));
    EXPECT_THAT(targets(*container, "gfx90a"), ElementsAre("gfx90a:xnack+", "gfx90a:xnack-"));
    EXPECT_THAT(targets(*container, "gfx90a:sramecc+:xnack-"), ElementsAre("gfx90a:xnack-"));
    EXPECT_THAT(targets(*container, "gfx906"), ElementsAre());
    container->forget(container->groups()[0]);
    EXPECT_EQ(targets(*container).size(), 3u);
  }
}

TEST(Container, OffloadPackager) {
  auto container = Container::open(testFile("packed.bin"));
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_THAT(targets(*container), ElementsAre("gfx90a", "gfx90a:xnack+"));
  auto images = container->images(container->groups()[0]);
  ASSERT_TRUE(images);
  EXPECT_EQ(images->front().entry, "hip-amdgcn-amd-amdhsa--gfx90a");
}

TEST(Container, SeveralBundlesInARow) {
  const std::vector<std::byte> object = readTestFile("kernels_v4.co");
  const std::vector<std::byte> one =
      bundleOf({{"host-x86_64-unknown-linux--", {}}, {"hip-amdgcn-amd-amdhsa-gfx90a", object}});
  const std::vector<std::byte> two =
      pack(bundleOf({{"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", object}}), 1, CompressedHeader::Method::Zlib);
  const std::vector<std::byte> three = bundleOf({{"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", object}});
  std::vector<std::byte> row = one;
  for (const auto *next : {&two, &three}) {
    row.resize((row.size() + 4095) / 4096 * 4096);
    row.insert(row.end(), next->begin(), next->end());
  }
  row.resize(row.size() + 100);
  auto container = Container::parse(row, "row");
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_EQ(container->groups().size(), 3u);
  EXPECT_THAT(targets(*container), ElementsAre("gfx90a", "gfx90a:xnack+", "gfx90a:xnack-"));
  row.back() = std::byte{'x'};
  EXPECT_THAT(failure(row), HasSubstr("file: no offload bundle at offset"));
}

TEST(Container, EntriesThatAreNoMachineCodeAreLeftOut) {
  const std::vector<std::byte> object = readTestFile("kernels_v4.co");
  const std::vector<std::byte> bundle = bundleOf({{"host-x86_64-unknown-linux-gnu-", object},
                                                  {"hip-spirv64-amd-amdhsa--amdgcnspirv", object},
                                                  {"hipv4-amdgcn-amd-amdhsa--gfx90a", object}});
  auto container = Container::parse(bundle, "bundle");
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_THAT(targets(*container), ElementsAre("gfx90a"));
}

TEST(Container, GenericCodeAnswersToItsMembers) {
  std::vector<Entry> entries;
  for (const std::string processor : {OBJECT_TEST_GENERIC})
    entries.push_back({"hipv4-amdgcn-amd-amdhsa--" + processor, readTestFile(processor + ".co")});
  entries.push_back({"hipv4-amdgcn-amd-amdhsa--gfx90a", readTestFile("kernels_v6.co")});
  const std::vector<std::byte> plain = bundleOf(entries);
  for (const std::vector<std::byte> &file :
       {plain, pack(plain, 2, CompressedHeader::Method::Zstd), pack(plain, 3, CompressedHeader::Method::Zlib)}) {
    auto container = Container::parse(file, "bundle");
    ASSERT_TRUE(container) << container.error().message();
    EXPECT_EQ(targets(*container).size(), entries.size());
    EXPECT_THAT(targets(*container, "gfx906:sramecc+:xnack-"), ElementsAre("gfx9-generic"));
    EXPECT_THAT(targets(*container, "gfx90a:sramecc+:xnack-"), ElementsAre("gfx90a"));
    EXPECT_THAT(targets(*container, "gfx1151"), ElementsAre("gfx11-generic"));
    EXPECT_THAT(targets(*container, "gfx1030"), ElementsAre("gfx10-3-generic"));
    EXPECT_THAT(targets(*container, "gfx908"), ElementsAre());
  }
}

TEST(Container, WhatIsNoneSaysSo) {
  EXPECT_EQ(failure(bytesOf("")), "file: neither an ELF file nor an offload bundle");
  EXPECT_EQ(failure(bytesOf("#!/bin/sh\n")), "file: neither an ELF file nor an offload bundle");
  auto program = Container::open("/proc/self/exe");
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message(), HasSubstr("no GPU code in it"));
  auto folder = Container::open("/");
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message(), HasSubstr("not a regular file"));
  auto missing = Container::open("/nowhere/at/all");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("cannot open /nowhere/at/all: No such file"));
}

TEST(Container, BrokenBundlesNameTheOffset) {
  const std::vector<std::byte> object = readTestFile("kernels_v4.co");
  const std::vector<std::byte> good = bundleOf({{"hipv4-amdgcn-amd-amdhsa--gfx90a", object}});
  ASSERT_EQ(failure(good), "accepted");
  auto changed = [&](size_t offset, uint64_t value) {
    std::vector<std::byte> bytes = good;
    memcpy(bytes.data() + offset, &value, 8);
    return failure(bytes);
  };
  EXPECT_THAT(changed(24, UINT64_MAX),
              HasSubstr("file: bundle at offset 0x0: a bundle of 18446744073709551615 entries"));
  EXPECT_THAT(changed(32, UINT64_MAX), HasSubstr("bundle entry 0 (hipv4-amdgcn-amd-amdhsa--gfx90a): its contents"));
  EXPECT_THAT(changed(40, UINT64_MAX), HasSubstr("beyond the end"));
  EXPECT_THAT(changed(48, UINT64_MAX), HasSubstr("a bundle entry's id"));
  // Many entries of the same bytes.
  std::vector<Entry> entries(100, {"hipv4-amdgcn-amd-amdhsa--gfx90a", {}});
  std::vector<std::byte> overlapping = bundleOf(entries);
  overlapping.resize(8192);
  for (size_t n = 0; n < entries.size(); ++n) {
    const uint64_t row[] = {0, 4096};
    memcpy(overlapping.data() + 32 + n * (24 + entries[0].id.size()), row, sizeof row);
  }
  EXPECT_THAT(failure(overlapping), HasSubstr("the entries overlap"));
}

TEST(Container, BrokenObjectsNameTheBundle) {
  std::vector<std::byte> object = readTestFile("kernels_v4.co");
  object.resize(object.size() / 2);
  const std::vector<std::byte> bundle = bundleOf({{"hipv4-amdgcn-amd-amdhsa--gfx90a", object}});
  auto container = Container::parse(bundle, "file");
  ASSERT_TRUE(container);
  auto images = container->images();
  ASSERT_TRUE(images);
  auto parsed = images->front().codeObject();
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message(),
              HasSubstr("file: bundle at offset 0x0, hipv4-amdgcn-amd-amdhsa--gfx90a: the section headers (offset"));
}

} // namespace
} // namespace luthier::object
