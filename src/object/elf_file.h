// The frame of a 64-bit little-endian ELF file: its header, sections and segments.
//
// Both kinds of ELF come through here: host programs, which only carry GPU code, and code objects. The file is viewed,
// not copied. After parse() every section and segment is known to lie within the file.
#pragma once

#include "object/bytes.h"
#include "support/result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace luthier::object {

inline constexpr uint16_t kMachineAmdGpu = 224; ///< ElfFile::machine of code objects
/// Code objects are position independent and reach their data by 32-bit offsets: none is larger.
inline constexpr uint64_t kMaxImage = 1ull << 32;

struct Section {
  std::string_view name;
  uint32_t type = 0;    ///< SHT_*
  uint64_t flags = 0;   ///< SHF_*
  uint64_t address = 0; ///< 0 when it is not loaded
  uint64_t size = 0;    ///< in memory; equal to the contents' unless it is all zeros (SHT_NOBITS)
  uint64_t offset = 0;  ///< in the file
  ByteSpan contents;    ///< in the file
  uint32_t link = 0;    ///< another section, by index
  uint32_t info = 0;    ///< depends on the type
  uint64_t alignment = 0;
  uint64_t entry = 0; ///< size of one entry of a table

  bool executable() const { return flags & 4; }
  bool allocated() const { return flags & 2; }
};

struct ProgramHeader {
  uint32_t type = 0;  ///< PT_*
  uint32_t flags = 0; ///< PF_*
  uint64_t offset = 0, address = 0, size = 0;
  ByteSpan contents;
  uint64_t alignment = 0;
};

/// Whether these bytes begin as every ELF file does.
bool isElf(ByteSpan bytes);

struct ElfFile {
  uint16_t type = 0;    ///< ET_*
  uint16_t machine = 0; ///< EM_*
  uint8_t osAbi = 0, abiVersion = 0;
  uint32_t flags = 0;
  uint32_t names = 0; ///< the section with the sections' names
  ByteSpan bytes;
  std::vector<Section> sections; ///< in the file's order; number 0 is empty
  std::vector<ProgramHeader> segments;

  static Result<ElfFile> parse(ByteSpan bytes);

  /// The first of that name, or null.
  const Section *section(std::string_view name) const;
  /// The first of that type, or null.
  const Section *sectionOfType(uint32_t type) const;
};

} // namespace luthier::object
