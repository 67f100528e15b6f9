// What is read from a code object: every version, every kind of symbol, and what only assemblers write.

#include "files.h"
#include "isa/generic_processor.h"

#include <gmock/gmock.h>

namespace luthier::object {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> names(std::span<const Symbol> symbols) {
  std::vector<std::string> result;
  for (const Symbol &symbol : symbols)
    // Not in the source: clang's own, and LDS that only debug information still refers to.
    if (!symbol.name.starts_with("__hip_cuid") && symbol.defined)
      result.emplace_back(symbol.name);
  return result;
}

class EveryVersion : public testing::TestWithParam<unsigned> {
protected:
  std::string name() const { return fmt::format("kernels_v{}.co", GetParam()); }
};

TEST_P(EveryVersion, SymbolsAreOfThreeKinds) {
  const ObjectFile file(name());
  EXPECT_EQ(file->version(), GetParam());
  EXPECT_EQ(file->parsedTargetId().processor, "gfx90a");
  ASSERT_TRUE(file->hasTarget());
  EXPECT_EQ(file->target().name, "gfx90a");
  EXPECT_THAT(names(file->kernels()), UnorderedElementsAre("_Z5scalePffi", "_Z5callsPi5Pointi", "scratch", "empty"));
  EXPECT_THAT(names(file->symbols(SymbolKind::DeviceFunction)), UnorderedElementsAre("_Z6triplei", "twice"));
  EXPECT_THAT(names(file->symbols(SymbolKind::Variable)), UnorderedElementsAre("counter", "table", "functions"));
}

TEST_P(EveryVersion, LookUpByNameAndAddress) {
  const ObjectFile file(name());
  for (const Symbol &symbol : file->symbols()) {
    EXPECT_EQ(file->find(symbol.name), &symbol);
    if (!symbol.function())
      continue;
    EXPECT_TRUE(symbol.sized) << symbol.name;
    EXPECT_EQ(file->functionAt(symbol.address), &symbol);
    EXPECT_EQ(file->functionAt(symbol.end() - 1), &symbol);
    EXPECT_NE(file->functionAt(symbol.end()), &symbol);
    auto code = file->code(symbol);
    ASSERT_TRUE(code) << code.error().message();
    EXPECT_EQ(code->size(), symbol.size);
  }
  EXPECT_EQ(file->find("scratch.kd"), file->find("scratch"));
  EXPECT_EQ(file->find("twice.kd"), nullptr);
  EXPECT_EQ(file->find("nothing"), nullptr);
  EXPECT_EQ(file->functionAt(0), nullptr);
  EXPECT_EQ(file->functionAt(UINT64_MAX), nullptr);
  EXPECT_TRUE(file->overlaps().empty());
}

TEST_P(EveryVersion, KernelsHaveDescriptorAndMetadata) {
  const ObjectFile file(name());
  const auto metadata = file->metadata();
  ASSERT_TRUE(metadata) << metadata.error().message();
  EXPECT_EQ(metadata->kernels.size(), 4u);
  EXPECT_THAT(metadata->version, ElementsAre(1, GetParam() < 6 ? GetParam() - 3 : 2));
  for (const Symbol &symbol : file->kernels()) {
    const auto descriptor = file->descriptor(symbol);
    ASSERT_TRUE(descriptor) << descriptor.error().message();
    EXPECT_EQ(symbol.descriptor + static_cast<uint64_t>(descriptor->entryOffset), symbol.address);
    const KernelMetadata *kernel = metadata->kernel(symbol.name);
    ASSERT_NE(kernel, nullptr) << symbol.name;
    EXPECT_EQ(kernel->groupSegmentFixedSize, descriptor->groupSegmentSize);
    EXPECT_EQ(kernel->privateSegmentFixedSize, descriptor->privateSegmentSize);
    EXPECT_EQ(descriptor->waveSize(file->target()), 64u);
  }
  const KernelMetadata &calls = *metadata->kernel("_Z5callsPi5Pointi");
  EXPECT_EQ(calls.groupSegmentFixedSize, 256u);
  EXPECT_EQ(calls.maxFlatWorkgroupSize, 64u);
  ASSERT_GE(calls.arguments.size(), 3u);
  EXPECT_EQ(calls.arguments[0].valueKind.kind, ValueKind::GlobalBuffer);
  EXPECT_EQ(calls.arguments[0].addressSpace, "global");
  EXPECT_EQ(calls.arguments[1].valueKind.kind, ValueKind::ByValue);
  EXPECT_EQ(calls.arguments[1].size, 12u);
  EXPECT_EQ(calls.arguments[2].offset, 20u);
  EXPECT_EQ(calls.explicitArgumentBytes(), 24u);
}

TEST_P(EveryVersion, PointersInDataAreRelocations) {
  const ObjectFile file(name());
  const Symbol *functions = file->find("functions");
  ASSERT_NE(functions, nullptr);
  const Relocation *first = file->relocationAt(functions->address);
  const Relocation *second = file->relocationAt(functions->address + 8);
  ASSERT_TRUE(first && second);
  auto target = [](const Relocation &r) { return r.symbolAddress + static_cast<uint64_t>(r.addend); };
  EXPECT_EQ(file->functionAt(target(*first)), file->find("_Z6triplei"));
  EXPECT_EQ(file->functionAt(target(*second)), file->find("twice"));
  EXPECT_EQ(file->relocationAt(functions->address + 4), nullptr);
}

TEST_P(EveryVersion, BytesOfTheImage) {
  const ObjectFile file(name());
  const Symbol *counter = file->find("counter");
  ASSERT_NE(counter, nullptr);
  const auto bytes = file->bytesAt(counter->address, 4);
  ASSERT_TRUE(bytes) << bytes.error().message();
  EXPECT_EQ(loadAs<uint32_t>(bytes->data()), 7u);
  EXPECT_FALSE(file->bytesAt(file->imageSize(), 1));
  EXPECT_FALSE(file->bytesAt(0, UINT64_MAX));
  EXPECT_FALSE(file->bytesAt(UINT64_MAX, 1));
  EXPECT_FALSE(file->bytesAt(UINT64_MAX, UINT64_MAX));
}

INSTANTIATE_TEST_SUITE_P(CodeObject, EveryVersion, testing::Values(3, 4, 5, 6));

TEST(CodeObject, TargetIdOfEachVersion) {
  // Version 3 has bits for features that are on; from 4 on, "any" is a value of its own.
  EXPECT_EQ(ObjectFile("kernels_v3.co")->targetId(), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(ObjectFile("kernels_v4.co")->targetId(), "gfx90a");
}

TEST(CodeObject, GenericProcessors) {
  for (const std::string name : {OBJECT_TEST_GENERIC}) {
    SCOPED_TRACE(name);
    const ObjectFile file(name + ".co");
    EXPECT_EQ(file->version(), 6u);
    EXPECT_EQ(file->targetId(), name);
    EXPECT_GE(isa::genericVersion(file->file().flags), 1u);
    EXPECT_EQ(file->kernels().size(), 4u);
    EXPECT_TRUE(file->hasTarget()) << "a member's row stands for it";
  }
  EXPECT_EQ(isa::genericVersion(ObjectFile("kernels_v6.co")->file().flags), 0u);
}

TEST(CodeObject, FunctionsWithoutSizeReachToTheNext) {
  const ObjectFile file("odd.co");
  const Symbol *first = file->find("unsized_first"), *second = file->find("unsized_second");
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->sized);
  EXPECT_EQ(first->size, 12u);
  EXPECT_EQ(second->size, 8u);
  EXPECT_EQ(file->functionAt(first->address + 11), first);
  EXPECT_EQ(file->functionAt(first->address + 12), second);
}

TEST(CodeObject, OverlappingFunctionsAreFound) {
  const ObjectFile file("odd.co");
  const Symbol *outer = file->find("outer"), *inner = file->find("inner"), *alias = file->find("alias");
  ASSERT_TRUE(outer && inner && alias);
  // The innermost, also behind the inner's end.
  EXPECT_EQ(file->functionAt(outer->address), outer);
  EXPECT_EQ(file->functionAt(inner->address + 4)->address, inner->address);
  EXPECT_EQ(file->functionAt(inner->end()), outer);
  // An alias is the same function by another name.
  EXPECT_THAT(file->overlaps(), ElementsAre(std::pair(outer, inner)));
}

TEST(CodeObject, KernelWithoutFunctionSymbol) {
  const ObjectFile file("odd.co");
  const Symbol *bare = file->find("bare");
  ASSERT_NE(bare, nullptr);
  EXPECT_EQ(bare->kind, SymbolKind::Kernel);
  EXPECT_FALSE(bare->sized);
  EXPECT_EQ(bare->size, 8u); // up to the section's end
  const auto code = file->code(*bare);
  ASSERT_TRUE(code);
  EXPECT_EQ(loadAs<uint32_t>(reinterpret_cast<const std::byte *>(code->data())), 0xbf810000u); // s_endpgm
}

TEST(CodeObject, UndefinedSymbols) {
  const ObjectFile file("odd.co");
  const Symbol *elsewhere = file->find("elsewhere"), *perhaps = file->find("perhaps");
  ASSERT_TRUE(elsewhere && perhaps);
  EXPECT_FALSE(elsewhere->defined);
  EXPECT_FALSE(elsewhere->weak);
  EXPECT_TRUE(perhaps->weak);
  const uint64_t pointers = file->find("pointers")->address;
  const Relocation *undefined = file->relocationAt(pointers), *weak = file->relocationAt(pointers + 8);
  ASSERT_TRUE(undefined && weak);
  EXPECT_EQ(undefined->symbol, "elsewhere");
  EXPECT_FALSE(undefined->defined);
  EXPECT_TRUE(weak->weak);
  EXPECT_EQ(file->relocationAt(pointers + 16)->symbolAddress, file->find("outer")->address);
  EXPECT_FALSE(file->code(*elsewhere));
}

TEST(CodeObject, WithoutMetadataThereIsNone) {
  const ObjectFile file("odd.co");
  const auto metadata = file->metadata();
  ASSERT_TRUE(metadata) << metadata.error().message();
  EXPECT_TRUE(metadata->kernel("bare") == nullptr);
}

TEST(CodeObject, MachinesWithoutARowAreNamed) {
  std::vector<std::byte> bytes = readTestFile("kernels_v5.co");
  bytes[48] = std::byte{0x37}; // EF_AMDGPU_MACH: gfx1031
  auto object = CodeObject::parse(bytes, "changed");
  ASSERT_TRUE(object) << object.error().message();
  EXPECT_EQ(object->targetId(), "gfx1031");
  EXPECT_FALSE(object->hasTarget());
  EXPECT_EQ(object->kernels().size(), 4u);
}

TEST(CodeObject, RefusesWhatItIsNot) {
  std::vector<std::byte> bytes = readTestFile("kernels_v5.co");
  auto refusal = [&](size_t offset, unsigned value) {
    std::vector<std::byte> changed = bytes;
    changed[offset] = static_cast<std::byte>(value);
    auto object = CodeObject::parse(changed, "file.so");
    return object ? std::string("accepted") : object.error().message();
  };
  EXPECT_EQ(refusal(0, 0), "file.so: not an ELF file");
  EXPECT_THAT(refusal(4, 1), HasSubstr("file.so: not a 64-bit"));
  EXPECT_THAT(refusal(18, 62), HasSubstr("not an AMD GPU code object"));
  EXPECT_THAT(refusal(7, 0), HasSubstr("not a code object for HSA"));
  EXPECT_THAT(refusal(8, 0), HasSubstr("version 2 is not supported"));
  EXPECT_THAT(refusal(8, 9), HasSubstr("version 11 is not supported"));
  EXPECT_THAT(refusal(16, 1), HasSubstr("not linked"));
}

} // namespace
} // namespace luthier::object
