#include "object/elf_file.h"

#include <elf.h>

#include <algorithm>

namespace luthier::object {

namespace {

struct Counts {
  uint64_t sections = 0, segments = 0, names = 0;
};

/// Counts that do not fit the header's 16 bits are in section 0.
Result<Counts> countsOf(ByteSpan bytes, const Elf64_Ehdr &header) {
  Counts counts{header.e_shnum, header.e_phnum, header.e_shstrndx};
  if (header.e_shoff == 0)
    return Counts{0, header.e_phnum, 0};
  if (header.e_shnum != 0 && header.e_phnum != PN_XNUM && header.e_shstrndx != SHN_XINDEX)
    return counts;
  const auto first = LUTHIER_TRY(readAs<Elf64_Shdr>(bytes, header.e_shoff, "the first section header"));
  if (header.e_shnum == 0)
    counts.sections = first.sh_size;
  if (header.e_phnum == PN_XNUM)
    counts.segments = first.sh_info;
  if (header.e_shstrndx == SHN_XINDEX)
    counts.names = first.sh_link;
  return counts;
}

/// The table of `count` entries, which must lie in the file: so its count is no reason to fear for memory.
template <class Entry> Result<ByteSpan> table(ByteSpan bytes, uint64_t offset, uint64_t count, std::string_view what) {
  if (count > bytes.size() / sizeof(Entry))
    return makeError("{} (offset {:#x}, {} of them) reach beyond the end at {:#x}", what, offset, count, bytes.size());
  return rangeOf(bytes, offset, count * sizeof(Entry), what);
}

Result<void> readSections(ElfFile &file, uint64_t offset, const Counts &counts) {
  const ByteSpan headers = LUTHIER_TRY(table<Elf64_Shdr>(file.bytes, offset, counts.sections, "the section headers"));
  file.sections.reserve(counts.sections);
  for (uint64_t n = 0; n < counts.sections; ++n) {
    const auto header = loadAs<Elf64_Shdr>(headers.data() + n * sizeof(Elf64_Shdr));
    Section &section = file.sections.emplace_back();
    section.type = header.sh_type;
    section.flags = header.sh_flags;
    section.address = header.sh_addr;
    section.size = header.sh_size;
    section.offset = header.sh_offset;
    section.link = header.sh_link;
    section.info = header.sh_info;
    section.alignment = header.sh_addralign;
    section.entry = header.sh_entsize;
    if (header.sh_type != SHT_NULL && header.sh_type != SHT_NOBITS) {
      auto contents = rangeOf(file.bytes, header.sh_offset, header.sh_size, "its contents");
      if (!contents)
        return contents.error().withContext(fmt::format("section {}", n));
      section.contents = *contents;
    }
  }
  if (counts.names == 0)
    return {};
  file.names = static_cast<uint32_t>(counts.names);
  if (counts.names >= counts.sections)
    return makeError("the section names are said to be in section {} of {}", counts.names, counts.sections);
  const ByteSpan names = file.sections[counts.names].contents;
  // 64 KiB: far more than any name has, and what keeps many sections with one endless name from costing a lot of time.
  constexpr uint64_t kLongestName = 1 << 16;
  for (uint64_t n = 1; n < counts.sections; ++n) {
    const auto header = loadAs<Elf64_Shdr>(headers.data() + n * sizeof(Elf64_Shdr));
    const uint64_t end = std::min<uint64_t>(names.size(), header.sh_name + kLongestName);
    auto name = textAt(names.first(end), header.sh_name, "its name");
    if (!name)
      return name.error().withContext(fmt::format("section {}", n));
    file.sections[n].name = *name;
  }
  return {};
}

Result<void> readSegments(ElfFile &file, uint64_t offset, uint64_t count) {
  const ByteSpan headers = LUTHIER_TRY(table<Elf64_Phdr>(file.bytes, offset, count, "the program headers"));
  file.segments.reserve(count);
  for (uint64_t n = 0; n < count; ++n) {
    const auto header = loadAs<Elf64_Phdr>(headers.data() + n * sizeof(Elf64_Phdr));
    auto contents = rangeOf(file.bytes, header.p_offset, header.p_filesz, "its contents");
    if (!contents)
      return contents.error().withContext(fmt::format("segment {}", n));
    file.segments.push_back(
        {header.p_type, header.p_flags, header.p_offset, header.p_vaddr, header.p_memsz, *contents, header.p_align});
  }
  return {};
}

} // namespace

bool isElf(ByteSpan bytes) { return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0; }

Result<ElfFile> ElfFile::parse(ByteSpan bytes) {
  if (!isElf(bytes))
    return makeError("not an ELF file");
  const auto header = LUTHIER_TRY(readAs<Elf64_Ehdr>(bytes, 0, "the ELF header"));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return makeError("not a 64-bit little-endian ELF file");
  ElfFile file;
  file.bytes = bytes;
  file.type = header.e_type;
  file.machine = header.e_machine;
  file.osAbi = header.e_ident[EI_OSABI];
  file.abiVersion = header.e_ident[EI_ABIVERSION];
  file.flags = header.e_flags;
  const Counts counts = LUTHIER_TRY(countsOf(bytes, header));
  if (counts.sections && header.e_shentsize != sizeof(Elf64_Shdr))
    return makeError("section headers have {} bytes instead of {}", header.e_shentsize, sizeof(Elf64_Shdr));
  if (counts.segments && header.e_phentsize != sizeof(Elf64_Phdr))
    return makeError("program headers have {} bytes instead of {}", header.e_phentsize, sizeof(Elf64_Phdr));
  if (auto ok = readSections(file, header.e_shoff, counts); !ok)
    return ok.error();
  if (auto ok = readSegments(file, header.e_phoff, counts.segments); !ok)
    return ok.error();
  return file;
}

const Section *ElfFile::section(std::string_view name) const {
  const auto it = std::ranges::find(sections, name, &Section::name);
  return it == sections.end() ? nullptr : &*it;
}

const Section *ElfFile::sectionOfType(uint32_t wanted) const {
  const auto it = std::ranges::find(sections, wanted, &Section::type);
  return it == sections.end() ? nullptr : &*it;
}

} // namespace luthier::object
