// Every prefix of a code object, every changed byte of its tables: errors or other answers, never harm. Runs under the
// sanitizers too (cmake/LuthierSanitized.cmake), where harm would show.

#include "files.h"
#include "object/container.h"

#include <algorithm>

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
    for (size_t at = 0; at < std::min<size_t>(whole.size(), 5120); ++at)
      for (unsigned value : {0x00u, 0xffu, static_cast<unsigned>(whole[at]) + 1}) {
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

} // namespace
} // namespace luthier::object
