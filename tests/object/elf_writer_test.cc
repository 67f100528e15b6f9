// A file taken apart and written again says the same; what is added is there.
#include "files.h"
#include "object/elf_writer.h"
#include "object/source_lines.h"

#include <gmock/gmock.h>

namespace luthier::object {
namespace {

using testing::HasSubstr;

std::vector<std::byte> written(ElfWriter &writer) {
  auto bytes = writer.write();
  EXPECT_TRUE(bytes) << bytes.error().message();
  return bytes ? *std::move(bytes) : std::vector<std::byte>();
}

ElfWriter writerOf(const CodeObject &object) {
  auto writer = ElfWriter::of(object.file());
  EXPECT_TRUE(writer) << writer.error().message();
  return *std::move(writer);
}

CodeObject parsed(const std::vector<std::byte> &bytes) {
  auto object = CodeObject::parse(bytes, "written");
  EXPECT_TRUE(object) << object.error().message();
  return *std::move(object);
}

class ElfWriterTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Files, ElfWriterTest,
                         testing::Values("kernels_v3.co", "kernels_v4.co", "kernels_v5.co", "kernels_v6.co", "odd.co"),
                         [](const auto &info) { return info.param.substr(0, info.param.find('.')); });

TEST_P(ElfWriterTest, SaysTheSameAgain) {
  const ObjectFile file(GetParam());
  ElfWriter writer = writerOf(*file);
  const std::vector<std::byte> bytes = written(writer);
  const CodeObject again = parsed(bytes);
  EXPECT_EQ(again.targetId(), file->targetId());
  ASSERT_EQ(again.symbols().size(), file->symbols().size());
  for (size_t n = 0; n < again.symbols().size(); ++n) {
    const Symbol &a = again.symbols()[n], &b = file->symbols()[n];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(std::tuple(a.kind, a.address, a.size, a.descriptor), std::tuple(b.kind, b.address, b.size, b.descriptor));
    EXPECT_EQ(std::tuple(a.defined, a.external, a.weak, a.sized), std::tuple(b.defined, b.external, b.weak, b.sized));
  }
  ASSERT_EQ(again.relocations().size(), file->relocations().size());
  for (size_t n = 0; n < again.relocations().size(); ++n) {
    const Relocation &a = again.relocations()[n], &b = file->relocations()[n];
    EXPECT_EQ(std::tuple(a.address, a.type, a.symbol, a.symbolAddress, a.addend, a.defined, a.weak),
              std::tuple(b.address, b.type, b.symbol, b.symbolAddress, b.addend, b.defined, b.weak));
  }
  EXPECT_TRUE(std::ranges::equal(again.metadataNote(), file->metadataNote()));
  for (const Segment &segment : file->segments()) {
    auto now = again.bytesAt(segment.address, segment.contents.size());
    ASSERT_TRUE(now) << now.error().message();
    // The ELF header is loaded too, and says where the headers are now.
    const size_t skip = segment.address == 0 ? sizeof(Elf64_Ehdr) : 0;
    EXPECT_TRUE(std::ranges::equal(now->subspan(skip), segment.contents.subspan(skip))) << segment.address;
  }
  EXPECT_EQ(SourceLines::of(again).operator bool(), SourceLines::of(*file).operator bool());
}

TEST_P(ElfWriterTest, WhatIsAddedIsThere) {
  const ObjectFile file(GetParam());
  ElfWriter writer = writerOf(*file);
  const std::vector<std::byte> contents(100, std::byte{7}), note(300, std::byte{0xc0});
  auto code = writer.add({.name = ".more",
                          .type = SHT_PROGBITS,
                          .flags = SHF_ALLOC | SHF_EXECINSTR,
                          .alignment = 256,
                          .contents = contents,
                          .size = 0});
  auto zeros = writer.add({.name = ".zeros",
                           .type = SHT_NOBITS,
                           .flags = SHF_ALLOC | SHF_WRITE,
                           .alignment = 64,
                           .contents = {},
                           .size = 1 << 20});
  auto aside = writer.add(
      {.name = ".aside", .type = SHT_PROGBITS, .flags = 0, .alignment = 1, .contents = bytesOf("text"), .size = 0});
  ASSERT_TRUE(code && zeros && aside);
  EXPECT_EQ(writer.address(*code) % 256, 0u);
  EXPECT_GE(writer.address(*code), file->imageSize());
  // A local symbol moves all global ones in the table.
  writer.dynamicSymbols.push_back(
      {"here",
       {0, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, static_cast<Elf64_Section>(*zeros), writer.address(*zeros), 8}});
  writer.relocate(writer.address(*code) + 8, static_cast<uint32_t>(RelocationType::Abs64),
                  static_cast<uint32_t>(writer.dynamicSymbols.size() - 1), 5);
  const bool hadNote = !file->metadataNote().empty();
  ASSERT_TRUE(writer.replaceNote("AMDGPU", 32, note));
  const std::vector<std::byte> bytes = written(writer);
  EXPECT_LT(bytes.size(), file.bytes.size() + (1 << 16)) << "zeros need no room";
  const CodeObject again = parsed(bytes);
  ASSERT_TRUE(again.section(".more") && again.section(".zeros") && again.section(".aside"));
  EXPECT_TRUE(std::ranges::equal(again.section(".aside")->contents, bytesOf("text")));
  EXPECT_TRUE(std::ranges::equal(*again.bytesAt(writer.address(*code), 100), contents));
  EXPECT_TRUE(std::ranges::equal(again.metadataNote(), note));
  EXPECT_EQ(std::ranges::count(again.sections(), std::string_view(".note"), &Section::name), 1) << hadNote;
  const Section *section = again.section(".note");
  EXPECT_TRUE(section->contents.data() <= again.metadataNote().data() &&
              section->contents.data() + section->contents.size() >= again.metadataNote().data() + note.size());
  ASSERT_EQ(again.relocations().size(), file->relocations().size() + 1);
  for (const Relocation &old : file->relocations()) {
    const Relocation *now = again.relocationAt(old.address);
    ASSERT_TRUE(now);
    EXPECT_EQ(std::tuple(now->symbol, now->type, now->addend), std::tuple(old.symbol, old.type, old.addend));
  }
  const Relocation *added = again.relocationAt(writer.address(*code) + 8);
  ASSERT_TRUE(added);
  EXPECT_EQ(added->symbolAddress, writer.address(*zeros));
  EXPECT_EQ(added->addend, 5);
}

TEST(ElfWriter, SizesThatDoNotFit) {
  const ObjectFile file("kernels_v4.co");
  ElfWriter writer = writerOf(*file);
  auto section = writer.add({.name = ".huge",
                             .type = SHT_NOBITS,
                             .flags = SHF_ALLOC | SHF_WRITE,
                             .alignment = 1,
                             .contents = {},
                             .size = 1ull << 32});
  ASSERT_FALSE(section);
  EXPECT_THAT(section.error().message(), HasSubstr(".huge: 0x100000000 more bytes"));
  const std::vector<std::byte> four(4);
  auto outside = writer.overwrite(file->imageSize(), four);
  ASSERT_FALSE(outside);
  EXPECT_THAT(outside.error().message(), HasSubstr("are not in the file"));
}

} // namespace
} // namespace luthier::object
