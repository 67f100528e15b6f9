// Every prefix of a code object, every changed byte of its tables: errors or other answers, never harm. Runs under the
// sanitizers too (cmake/LuthierSanitized.cmake), where harm would show.

#include "files.h"
#include "object/container.h"
#include "object/elf_writer.h"

#include <algorithm>
#include <elf.h>
#include <functional>

namespace luthier::object {
namespace {

/// Everything that can be asked of a code object.
void useAll(const CodeObject &object) {
  (void)object.overlaps();
  (void)object.metadata();
  (void)object.find("scratch");
  for (const Symbol &symbol : object.symbols()) {
    (void)object.find(symbol.name);
    if (symbol.function()) {
      (void)object.functionAt(symbol.address);
      (void)object.functionAt(symbol.end());
      if (auto code = object.code(symbol); code && !code->empty())
        EXPECT_GE(static_cast<unsigned>(code->front() + code->back()), 0u); // touches the ends
    }
    if (symbol.kind == SymbolKind::Kernel)
      if (auto descriptor = object.descriptor(symbol); descriptor && object.hasTarget())
        (void)descriptor->initialSgprs(object.target());
  }
  for (const Relocation &relocation : object.relocations())
    (void)object.functionAt(relocation.symbolAddress);
  // And written anew: what comes out may be as bad as what went in, but not bigger.
  if (auto writer = ElfWriter::of(object.file())) {
    const std::vector<std::byte> note(64);
    if (writer->replaceNote("AMDGPU", 32, note))
      if (auto bytes = writer->write()) {
        EXPECT_LT(bytes->size(), 3 * object.elf().size() + (1 << 16));
        (void)CodeObject::parse(*bytes, "written");
      }
  }
}

TEST(Corruption, EveryPrefixIsAnError) {
  for (const char *name : {"kernels_v3.co", "kernels_v4.co", "odd.co"}) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> whole = readTestFile(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      // A copy, so that a read beyond its end is noticed.
      const std::vector<std::byte> prefix(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_FALSE(CodeObject::parse(prefix, "prefix")) << size;
    }
  }
}

TEST(Corruption, EveryByteOfTheTablesMayChange) {
  const std::vector<std::byte> whole = readTestFile("kernels_v4.co");
  const auto elf = ElfFile::parse(whole);
  ASSERT_TRUE(elf);
  // All but code and debug information.
  std::vector<std::pair<size_t, size_t>> tables = {{0, 64 + 56 * elf->segments.size()}};
  tables.emplace_back(whole.size() - elf->sections.size() * 64, whole.size());
  for (const char *name : {".note", ".dynsym", ".symtab", ".dynstr", ".strtab", ".rela.dyn", ".rodata", ".shstrtab"})
    if (const Section *section = elf->section(name))
      tables.emplace_back(section->offset, section->offset + section->contents.size());
  size_t tried = 0, refused = 0;
  for (const auto &[begin, end] : tables)
    for (size_t at = begin; at < end; ++at)
      for (unsigned value : {0x00u, 0xffu, 0x80u, static_cast<unsigned>(whole[at]) + 1}) {
        std::vector<std::byte> bent = whole;
        bent[at] = static_cast<std::byte>(value);
        auto object = CodeObject::parse(bent, "bent");
        ++tried;
        if (object)
          useAll(*object);
        else
          ++refused;
      }
  EXPECT_GT(tried, 10000u);
  EXPECT_GT(refused, 100u);
}

TEST(Corruption, EveryPrefixOfAContainer) {
  for (const char *name : {"host_compressed.o", "packed.bin"}) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> whole = readTestFile(name);
    for (size_t size = 0; size < whole.size(); size += size < 4096 ? 1 : 61) {
      const std::vector<std::byte> prefix(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      auto container = Container::parse(prefix, "prefix");
      if (!container)
        continue; // a prefix of a row of packages may end between two
      for (const ImageGroup &group : container->groups())
        if (auto images = container->images(group))
          for (const Image &image : *images)
            (void)image.codeObject();
    }
  }
}

TEST(Corruption, EveryByteOfAContainersTablesMayChange) {
  for (const char *name : {"host_compressed.o", "packed.bin"}) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> whole = readTestFile(name);
    // The ELF header, the beginning of the section with the bundle, the section headers.
    const auto isTable = [&](size_t at) {
      return at < 64 || (at >= 4096 && at < 4096 + 384) || at + 1536 > whole.size();
    };
    for (size_t at = 0; at < whole.size(); ++at)
      for (unsigned value : {0x00u, 0xffu, static_cast<unsigned>(whole[at]) + 1}) {
        if (!isTable(at))
          continue;
        std::vector<std::byte> bent = whole;
        bent[at] = static_cast<std::byte>(value);
        auto container = Container::parse(bent, "bent", {.limits = {.bytes = 1 << 20}});
        if (!container)
          continue;
        if (auto images = container->images())
          for (const Image &image : *images)
            if (auto object = image.codeObject())
              (void)object->metadata();
      }
  }
}

TEST(Corruption, EveryPrefixOfTheMetadataIsAnError) {
  const ObjectFile file("kernels_v5.co");
  const ByteSpan note = file->metadataNote();
  for (size_t size = 0; size < note.size(); ++size) {
    const std::vector<std::byte> prefix(note.begin(), note.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(parseMetadata(prefix)) << size;
    EXPECT_FALSE(parseMetadata(prefix, MetadataParts::WithoutArguments)) << size;
  }
}

/// A code object whose symbol table has `count` functions: the first spans all, the others are as `place` says.
std::vector<std::byte> withFunctions(size_t count, const std::function<void(Elf64_Sym &, size_t)> &place) {
  std::vector<std::byte> bytes = readTestFile("odd.co");
  const auto elf = ElfFile::parse(bytes);
  const Section &table = *elf->sectionOfType(SHT_SYMTAB);
  const auto index = static_cast<size_t>(&table - elf->sections.data());
  const Section &text = *elf->section(".text");
  std::vector<Elf64_Sym> symbols(count);
  for (size_t n = 0; n < count; ++n) {
    symbols[n].st_name = 1;
    symbols[n].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[n].st_shndx = 7;
    symbols[n].st_value = text.address;
    symbols[n].st_size = text.size;
    if (n > 0)
      place(symbols[n], n);
  }
  const uint64_t offset = bytes.size(), size = count * sizeof(Elf64_Sym);
  bytes.resize(offset + size);
  memcpy(bytes.data() + offset, symbols.data(), size);
  uint64_t sections;
  memcpy(&sections, bytes.data() + offsetof(Elf64_Ehdr, e_shoff), 8);
  std::byte *header = bytes.data() + sections + index * sizeof(Elf64_Shdr);
  memcpy(header + offsetof(Elf64_Shdr, sh_offset), &offset, 8);
  memcpy(header + offsetof(Elf64_Shdr, sh_size), &size, 8);
  return bytes;
}

// Each would take minutes if look-ups or the search for overlaps went from function to function.
TEST(Corruption, HundredsOfThousandsOfOverlappingFunctions) {
  constexpr size_t kCount = 300'000;
  const auto aliases = [](Elf64_Sym &, size_t) {};
  const auto nested = [](Elf64_Sym &symbol, size_t n) { symbol.st_size -= std::min<uint64_t>(symbol.st_size - 1, n); };
  const auto small = [](Elf64_Sym &symbol, size_t n) {
    symbol.st_value += n % (symbol.st_size - 1);
    symbol.st_size = 1;
  };
  for (const std::function<void(Elf64_Sym &, size_t)> &place :
       {std::function<void(Elf64_Sym &, size_t)>(aliases), std::function<void(Elf64_Sym &, size_t)>(nested),
        std::function<void(Elf64_Sym &, size_t)>(small)}) {
    const std::vector<std::byte> bytes = withFunctions(kCount, place);
    auto object = CodeObject::parse(bytes, "many");
    ASSERT_TRUE(object) << object.error().message();
    ASSERT_GE(object->symbols(SymbolKind::DeviceFunction).size(), kCount);
    (void)object->overlaps();
    const Section &text = *object->section(".text");
    for (size_t n = 0; n < kCount; ++n)
      ASSERT_NE(object->functionAt(text.address + n % text.size), nullptr);
    EXPECT_EQ(object->functionAt(text.address + text.size), nullptr);
  }
}

} // namespace
} // namespace luthier::object
