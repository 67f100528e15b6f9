// Metadata: read, written, read again; and documents that are not what they should be.

#include "object/metadata.h"

#include "files.h"
#include "object/msgpack.h"

#include <gmock/gmock.h>

namespace luthier::object {
namespace {

using testing::HasSubstr;

Metadata rich() {
  Metadata m;
  m.version = {1, 2};
  m.target = "amdgcn-amd-amdhsa--gfx90a";
  m.printf = {"1:1:4:%d\\n", "2:0:hello"};
  KernelMetadata &kernel = m.kernels.emplace_back();
  kernel.name = "k";
  kernel.symbol = "k.kd";
  kernel.language = "OpenCL C";
  kernel.languageVersion = {2, 0};
  kernel.requiredWorkgroupSize = {64, 1, 1};
  kernel.workgroupSizeHint = {32, 2, 1};
  kernel.vecTypeHint = "float4";
  kernel.deviceEnqueueSymbol = "k.runtime_handle";
  kernel.kernargSegmentSize = 300;
  kernel.groupSegmentFixedSize = 70000;
  kernel.privateSegmentFixedSize = 16;
  kernel.kernargSegmentAlign = 8;
  kernel.wavefrontSize = 64;
  kernel.sgprCount = 100;
  kernel.vgprCount = 200;
  kernel.agprCount = 0;
  kernel.maxFlatWorkgroupSize = 1024;
  kernel.sgprSpillCount = 3;
  kernel.vgprSpillCount = 0;
  kernel.kind = "init";
  kernel.maxWorkgroupsX = 5;
  kernel.maxWorkgroupsY = 6;
  kernel.maxWorkgroupsZ = 7;
  kernel.usesDynamicStack = false;
  kernel.workgroupProcessorMode = 1;
  kernel.uniformWorkgroupSize = 1;
  for (unsigned kind = 0; kind <= static_cast<unsigned>(ValueKind::Other); ++kind) {
    KernelArgument &argument = kernel.arguments.emplace_back();
    argument.valueKind.kind = static_cast<ValueKind>(kind);
    argument.size = 8;
    argument.offset = 8 * kind;
  }
  kernel.arguments.back().valueKind.other = "hidden_thing_to_come";
  KernelArgument &pointer = kernel.arguments[1];
  pointer.name = "data";
  pointer.typeName = "float*";
  pointer.valueType = "f32";
  pointer.pointeeAlign = 16;
  pointer.addressSpace = "global";
  pointer.access = "read_write";
  pointer.actualAccess = "read_only";
  pointer.isConst = true;
  pointer.isRestrict = false;
  pointer.isVolatile = true;
  pointer.isPipe = false;
  msgpack::Writer value;
  value.array(2);
  value.text("anything");
  value.number(1 << 20);
  m.extra = {{"vendor.key", value.bytes()}};
  kernel.extra = {{".aaa_first", value.bytes()}, {".zzz_last", value.bytes()}};
  pointer.extra = {{".new", value.bytes()}};
  return m;
}

std::string failure(const msgpack::Writer &writer) {
  const std::vector<std::byte> bytes = bytesOf(writer.bytes());
  auto metadata = parseMetadata(bytes);
  return metadata ? "accepted" : metadata.error().message();
}

TEST(Metadata, EverythingSurvivesWritingAndReading) {
  const Metadata before = rich();
  const std::vector<std::byte> bytes = serialise(before);
  auto after = parseMetadata(bytes);
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(*after, before);
  EXPECT_EQ(serialise(*after), bytes);
}

TEST(Metadata, WhatClangWroteIsWrittenByteForByte) {
  for (const char *name : {"kernels_v3.co", "kernels_v4.co", "kernels_v5.co", "kernels_v6.co"}) {
    SCOPED_TRACE(name);
    const ObjectFile file(name);
    const auto metadata = file->metadata();
    ASSERT_TRUE(metadata) << metadata.error().message();
    const std::vector<std::byte> written = serialise(*metadata);
    EXPECT_TRUE(std::ranges::equal(written, file->metadataNote()));
    for (const KernelMetadata &kernel : metadata->kernels) {
      EXPECT_TRUE(kernel.extra.empty()) << kernel.extra.front().key;
      for (const KernelArgument &argument : kernel.arguments)
        EXPECT_NE(argument.valueKind.kind, ValueKind::Other) << argument.valueKind.other;
    }
  }
}

TEST(Metadata, HiddenArguments) {
  const ObjectFile file("kernels_v5.co");
  const auto metadata = file->metadata();
  ASSERT_TRUE(metadata);
  const KernelMetadata &scale = *metadata->kernel("_Z5scalePffi.kd");
  size_t hidden = 0;
  for (const KernelArgument &argument : scale.arguments)
    hidden += argument.hidden();
  EXPECT_EQ(scale.arguments.size() - hidden, 3u);
  EXPECT_GE(hidden, 10u);
  EXPECT_EQ(scale.explicitArgumentBytes(), 16u);
  EXPECT_EQ(scale.arguments[3].valueKind.kind, ValueKind::HiddenBlockCountX);
  EXPECT_EQ(scale.arguments[3].offset, 16u);
}

TEST(Metadata, ArgumentsCanBeLeftOut) {
  const ObjectFile file("kernels_v5.co");
  const auto all = file->metadata(), some = file->metadata(MetadataParts::WithoutArguments);
  ASSERT_TRUE(all && some);
  ASSERT_EQ(all->kernels.size(), some->kernels.size());
  for (size_t n = 0; n < all->kernels.size(); ++n) {
    KernelMetadata without = all->kernels[n];
    without.arguments.clear();
    EXPECT_EQ(without, some->kernels[n]);
  }
}

TEST(Metadata, ErrorsNameTheKeyAndTheOffset) {
  msgpack::Writer noMap;
  noMap.array(0);
  EXPECT_THAT(failure(noMap), HasSubstr("the metadata is an array instead of a map, at offset 0x0"));

  msgpack::Writer wrongType;
  wrongType.map(1);
  wrongType.text("amdhsa.target");
  wrongType.number(5);
  EXPECT_THAT(failure(wrongType), HasSubstr("amdhsa.target is a number instead of a string, at offset 0xf"));

  msgpack::Writer tooLarge;
  tooLarge.map(1);
  tooLarge.text("amdhsa.version");
  tooLarge.array(2);
  tooLarge.number(1);
  tooLarge.number(uint64_t{1} << 32);
  EXPECT_THAT(failure(tooLarge), HasSubstr("amdhsa.version is 4294967296, which does not fit 32 bits"));

  msgpack::Writer nameless;
  nameless.map(1);
  nameless.text("amdhsa.kernels");
  nameless.array(1);
  nameless.map(0);
  EXPECT_THAT(failure(nameless), HasSubstr("has no .name"));

  msgpack::Writer numberAsKey;
  numberAsKey.map(1);
  numberAsKey.number(1);
  numberAsKey.number(1);
  EXPECT_THAT(failure(numberAsKey), HasSubstr("a key is a number instead of a string"));
}

TEST(Metadata, WhatFollowsIsNotIgnored) {
  std::vector<std::byte> bytes = serialise(rich());
  bytes.resize(bytes.size() + 3); // padding
  EXPECT_TRUE(parseMetadata(bytes));
  bytes.resize(bytes.size() + 1);
  EXPECT_FALSE(parseMetadata(bytes));
}

} // namespace
} // namespace luthier::object
