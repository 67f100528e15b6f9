// Writes ELF files: a changed copy of one, or a new one.
//
// A changed copy keeps every byte of the old file at its offset and every loaded address; new sections and segments
// follow behind. What cannot stay, because it grows, is written anew behind the old file, and headers then point there:
// the program headers, the symbol tables and all that hangs on them (strings, hashes, relocations, .dynamic), notes,
// and the section headers, which come last. Their old bytes stay as dead weight: this is what makes it safe, since
// nothing needs to be known about code and data that refer to each other.
//
// Section numbers of the old file stay what they were. Symbols are known by their place in `symbols` or
// `dynamicSymbols`, whose order in the file is made by `write`.
#pragma once

#include "object/elf_file.h"
#include "object/elf_tables.h"
#include "support/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::object {

class ElfWriter {
public:
  /// Alignment of loaded segments, as lld's for AMD GPUs.
  static constexpr uint64_t kPage = 0x1000;

  /// Takes a file apart. Its bytes must live until `write`.
  static Result<ElfWriter> of(const ElfFile &file);
  /// An empty file with the same header: machine, ABI, flags.
  static ElfWriter like(const ElfFile &file);

  struct NewSection {
    std::string name;
    uint32_t type = SHT_PROGBITS;
    uint64_t flags = 0; ///< with SHF_ALLOC it is loaded
    uint64_t alignment = 1;
    std::vector<std::byte> contents;
    uint64_t size = 0; ///< SHT_NOBITS: its size
  };
  /// Adds a section and returns its number. A loaded one has its address from then on: consecutive ones with the same
  /// access share a segment.
  Result<uint32_t> add(NewSection section);
  uint64_t address(uint32_t section) const { return sections_[section].header.sh_addr; }
  /// To be filled in: of a section made by `add`.
  std::span<std::byte> contents(uint32_t section) { return sections_[section].contents; }
  /// Replaces the contents of a section that is not loaded.
  void replace(uint32_t section, std::vector<std::byte> contents);

  /// Changes bytes of the old file by their address.
  Result<void> overwrite(uint64_t address, ByteSpan bytes);

  bool hasSymbols() const { return symtab_ != 0; } ///< .symtab; not in a stripped file
  std::vector<WriterSymbol> symbols{1};            ///< of .symtab
  std::vector<WriterSymbol> dynamicSymbols{1};     ///< of .dynsym

  /// To be done by the loader; `symbol` is a place in dynamicSymbols.
  void relocate(uint64_t address, uint32_t type, uint32_t symbol, int64_t addend);

  /// Puts a note in the place of the one of that owner and type, or adds it where there is none.
  Result<void> replaceNote(std::string_view owner, uint32_t type, ByteSpan description);

  /// At most once.
  Result<std::vector<std::byte>> write();

private:
  struct OutSection {
    std::string name;
    Elf64_Shdr header{};
    std::vector<std::byte> contents;
    bool moved = false; ///< `contents` are to be written, instead of what the old file has
  };
  /// Sections that share a new segment.
  struct Group {
    std::vector<uint32_t> sections;
    uint64_t flags = 0; ///< SHF_*
    uint64_t address = 0, fileBytes = 0, bytes = 0;
    uint64_t offset = 0;
  };
  /// The old notes with one of them changed.
  struct Notes {
    size_t segment = 0; ///< in segments_
    std::vector<std::byte> bytes;
    uint64_t begin = 0;    ///< of the changed one
    uint64_t oldBytes = 0; ///< of it, before
    uint64_t address = 0;
  };

  ElfWriter() = default;

  Result<std::vector<WriterSymbol>> readSymbols(uint32_t table) const;
  uint32_t ensure(uint32_t &number, const char *name, uint32_t type, uint64_t flags, uint64_t alignment,
                  uint64_t entry);
  void set(uint32_t section, std::vector<std::byte> contents);
  StringTable &strings(uint32_t section);
  /// Room of that size in the last group, and its address.
  Result<uint64_t> reserve(uint64_t bytes, uint64_t alignment, bool inFile);
  void openGroup(uint64_t flags);
  Result<void> place(uint32_t section);
  EncodedSymbols encode(uint32_t table);
  void encodeTables();
  void renumber(uint32_t table, const std::vector<uint32_t> &places);
  std::vector<std::byte> dynamicEntries() const;
  Result<void> placeTables();
  void moveNoteSections();
  std::vector<Elf64_Phdr> programHeaders() const;
  std::vector<std::byte> assemble();

  Elf64_Ehdr header_{};
  std::vector<std::byte> old_; ///< the old file, changed in place
  std::vector<OutSection> sections_{1};
  std::vector<Elf64_Phdr> segments_; ///< of the old file
  std::vector<Group> groups_;        ///< new segments
  std::vector<Elf64_Rela> relocations_;
  std::optional<Notes> notes_;
  std::map<uint32_t, StringTable> strings_; ///< by section
  uint64_t imageEnd_ = 0;
  // Numbers of sections; 0: there is none.
  uint32_t names_ = 0, symtab_ = 0, dynsym_ = 0, hash_ = 0, gnuHash_ = 0, rela_ = 0, dynamic_ = 0, note_ = 0;
};

} // namespace luthier::object
