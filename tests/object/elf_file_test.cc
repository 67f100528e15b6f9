// The frame of ELF files, where headers lie.

#include "object/elf_file.h"

#include "files.h"

#include <gmock/gmock.h>

#include <elf.h>

namespace luthier::object {
namespace {

using testing::HasSubstr;

/// A header and so many empty sections, whose number is where the format puts it when it is large.
std::vector<std::byte> manySections(uint64_t count) {
  std::vector<std::byte> bytes(sizeof(Elf64_Ehdr) + count * sizeof(Elf64_Shdr));
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = count < SHN_LORESERVE ? static_cast<Elf64_Half>(count) : 0;
  memcpy(bytes.data(), &header, sizeof header);
  Elf64_Shdr first{};
  first.sh_size = count < SHN_LORESERVE ? 0 : count;
  memcpy(bytes.data() + sizeof header, &first, sizeof first);
  return bytes;
}

std::string failure(ByteSpan bytes) {
  auto file = ElfFile::parse(bytes);
  return file ? "accepted" : file.error().message();
}

void patch(std::vector<std::byte> &bytes, size_t offset, uint64_t value, size_t size) {
  memcpy(bytes.data() + offset, &value, size);
}

TEST(ElfFile, SectionsAndSegments) {
  const std::vector<std::byte> bytes = readTestFile("kernels_v5.co");
  auto file = ElfFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  const Section *text = file->section(".text");
  ASSERT_NE(text, nullptr);
  EXPECT_TRUE(text->executable() && text->allocated());
  EXPECT_EQ(text->contents.size(), text->size);
  EXPECT_EQ(file->section(".nothing"), nullptr);
  EXPECT_EQ(file->sectionOfType(SHT_DYNSYM)->name, ".dynsym");
  EXPECT_GE(file->segments.size(), 4u);
}

TEST(ElfFile, MoreSectionsThanTheHeaderCanCount) {
  auto file = ElfFile::parse(manySections(0x10001));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->sections.size(), 0x10001u);
}

TEST(ElfFile, CountsThatTheFileCannotHold) {
  std::vector<std::byte> bytes = manySections(4);
  patch(bytes, offsetof(Elf64_Ehdr, e_shnum), 5, 2);
  EXPECT_THAT(failure(bytes), HasSubstr("the section headers (offset 0x40"));
  patch(bytes, offsetof(Elf64_Ehdr, e_shnum), 0, 2);
  patch(bytes, sizeof(Elf64_Ehdr) + offsetof(Elf64_Shdr, sh_size), UINT64_MAX / 64, 8);
  EXPECT_THAT(failure(bytes), HasSubstr("the section headers"));
}

TEST(ElfFile, OffsetsThatWrapAround) {
  std::vector<std::byte> bytes = manySections(4);
  patch(bytes, offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 63, 8);
  EXPECT_THAT(failure(bytes), HasSubstr("beyond the end"));
  bytes = manySections(4);
  const size_t second = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr);
  patch(bytes, second + offsetof(Elf64_Shdr, sh_type), SHT_PROGBITS, 4);
  patch(bytes, second + offsetof(Elf64_Shdr, sh_offset), 16, 8);
  patch(bytes, second + offsetof(Elf64_Shdr, sh_size), UINT64_MAX, 8);
  EXPECT_THAT(failure(bytes), HasSubstr("section 1: its contents (offset 0x10"));
}

TEST(ElfFile, EntrySizesMustBeTheUsual) {
  std::vector<std::byte> bytes = manySections(4);
  patch(bytes, offsetof(Elf64_Ehdr, e_shentsize), 1, 2);
  EXPECT_THAT(failure(bytes), HasSubstr("section headers have 1 bytes"));
}

TEST(ElfFile, NamesMustBeInTheirTable) {
  std::vector<std::byte> bytes = manySections(4);
  patch(bytes, offsetof(Elf64_Ehdr, e_shstrndx), 9, 2);
  EXPECT_THAT(failure(bytes), HasSubstr("in section 9 of 4"));
  patch(bytes, offsetof(Elf64_Ehdr, e_shstrndx), 1, 2);
  EXPECT_THAT(failure(bytes), HasSubstr("its name (offset 0x0)"));
}

} // namespace
} // namespace luthier::object
