#include "vgpu/driver/loaded_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fmt/core.h>
#include <link.h>
#include <unistd.h>

namespace luthier::vgpu {
namespace {

// A little code object: one segment that is the whole file, and two symbols, one of which is a kernel descriptor.
std::vector<std::byte> smallElf(const std::string &kernel, uint64_t value) {
  const std::string strings = std::string(1, '\0') + kernel + ".kd" + '\0' + "other" + '\0';
  Elf64_Sym symbols[3]{};
  symbols[1].st_name = 1;
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  symbols[1].st_shndx = 1;
  symbols[1].st_value = value;
  symbols[1].st_size = 64;
  symbols[2].st_name = static_cast<Elf64_Word>(kernel.size() + 5);
  symbols[2].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  symbols[2].st_shndx = 1;
  Elf64_Shdr sections[3]{};
  Elf64_Phdr segment{};
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_OSABI] = 64;     // AMD HSA
  header.e_ident[EI_ABIVERSION] = 2; // code object v4
  header.e_type = ET_DYN;
  header.e_machine = 224; // AMD GPU
  header.e_flags = 0x3f;
  header.e_shoff = sizeof(header);
  header.e_shnum = 3;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_phoff = header.e_shoff + sizeof(sections);
  header.e_phnum = 1;
  header.e_phentsize = sizeof(Elf64_Phdr);
  sections[1].sh_type = SHT_DYNSYM;
  sections[1].sh_offset = header.e_phoff + sizeof(segment);
  sections[1].sh_size = sizeof(symbols);
  sections[1].sh_link = 2;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sections[1].sh_offset + sizeof(symbols);
  sections[2].sh_size = strings.size();
  std::vector<std::byte> elf(std::max<size_t>(sections[2].sh_offset + strings.size(), value + 64));
  segment.p_type = PT_LOAD;
  segment.p_filesz = segment.p_memsz = elf.size();
  std::memcpy(elf.data(), &header, sizeof(header));
  std::memcpy(elf.data() + header.e_shoff, sections, sizeof(sections));
  std::memcpy(elf.data() + header.e_phoff, &segment, sizeof(segment));
  std::memcpy(elf.data() + sections[1].sh_offset, symbols, sizeof(symbols));
  std::memcpy(elf.data() + sections[2].sh_offset, strings.data(), strings.size());
  return elf;
}

TEST(KernelSymbols, findsDescriptorsOnly) {
  const auto kernels = kernelSymbols(smallElf("vectorAdd", 0x640));
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].first, 0x640u);
  EXPECT_EQ(kernels[0].second, "vectorAdd");
}

TEST(KernelSymbols, survivesGarbage) {
  const std::vector<std::byte> whole = smallElf("k", 0);
  for (size_t size = 0; size < whole.size(); ++size)
    kernelSymbols(std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
  std::vector<std::byte> broken = whole;
  for (size_t i = SELFMAG; i < broken.size(); ++i) {
    broken[i] = std::byte{0xff};
    kernelSymbols(broken);
  }
}

struct LoadedList : testing::Test {
  std::vector<std::byte> inMemory = smallElf("first", 0x40);
  std::vector<std::byte> inFile = smallElf("second", 0x80);
  std::string memoryUri = fmt::format("memory://{}#offset={:#x}&size={}", getpid(),
                                      reinterpret_cast<uint64_t>(inMemory.data()), inMemory.size());
  // Of this process: other tests of this file may run at the same time.
  std::string path = fmt::format("{}{} loaded code+.bin", testing::TempDir(), getpid());
  std::string fileUri =
      fmt::format("file://{}{}%20loaded%20code%2B.bin#offset=3&size={}", testing::TempDir(), getpid(), inFile.size());
  link_map entries[2]{};
  r_debug list{};
  LoadedCode code;

  void SetUp() override {
    FILE *file = std::fopen(path.c_str(), "wb");
    std::fwrite("xyz", 1, 3, file);
    std::fwrite(inFile.data(), 1, inFile.size(), file);
    std::fclose(file);
    entries[0].l_addr = 0x10000;
    entries[0].l_name = memoryUri.data();
    entries[0].l_next = &entries[1];
    entries[1].l_addr = 0x20000;
    entries[1].l_name = fileUri.data();
    list.r_map = entries;
    code.setList(&list);
  }
  void TearDown() override { std::remove(path.c_str()); }
};

TEST_F(LoadedList, namesKernels) {
  EXPECT_EQ(code.kernelName(0x10040), "first");
  EXPECT_EQ(code.kernelName(0x20080), "second");
  EXPECT_EQ(code.kernelName(0x20040), "kernel@0x20040");
  EXPECT_EQ(code.kernelName(0x5000), "rocr_blit@0x5000");
}

TEST_F(LoadedList, knowsWhatIsMadeForXnack) {
  EXPECT_TRUE(code.madeForXnack(0x10040)) << "any";
  EXPECT_FALSE(code.madeForXnack(0x5000)) << "in no code object";
  Elf64_Ehdr header;
  std::memcpy(&header, inMemory.data(), sizeof header);
  header.e_flags = 0xe3f; // gfx90a:sramecc+:xnack-
  std::memcpy(inMemory.data(), &header, sizeof header);
  EXPECT_TRUE(code.madeForXnack(0x10040)) << "as it was";
  code.forget();
  EXPECT_FALSE(code.madeForXnack(0x10040));
}

TEST_F(LoadedList, forgetsWhatIsUnloaded) {
  EXPECT_EQ(code.kernelName(0x10040), "first");
  list.r_map = &entries[1];
  EXPECT_EQ(code.kernelName(0x10040), "first");
  code.forget();
  EXPECT_EQ(code.kernelName(0x10040), "kernel@0x10040");
}

TEST_F(LoadedList, danglingEntriesAreHarmless) {
  entries[0].l_name = reinterpret_cast<char *>(8);
  entries[0].l_next = reinterpret_cast<link_map *>(0x123456789000);
  EXPECT_EQ(code.kernelName(0x20080), "kernel@0x20080");
  code.setList(nullptr);
  EXPECT_EQ(code.kernelName(0x10040), "kernel@0x10040");
}

} // namespace
} // namespace luthier::vgpu
